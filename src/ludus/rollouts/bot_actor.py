"""The actor of rows that show a bot of the core: the pool decides for them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec
from ludus.flow.slab import Array
from ludus.rollouts.actor import ActInput, Decision


class BotActor:
    """Writes zeros. The pool writes the bot's decisions over them.

    See :class:`ludus.flow.Controller` with ``bot`` and ``policy``.
    """

    def __init__(self, spec: GameSpec) -> None:
        """Decide in the shapes of ``spec``."""
        self.version = 0
        self.memory_shape: tuple[int, ...] | None = None
        self._heads = len(spec.heads)

    def act(self, batch: ActInput) -> Decision:
        """See :meth:`ludus.rollouts.actor.Actor.act`."""
        rows = len(batch.rows)
        zeros = np.zeros(rows, np.float32)
        return Decision(np.zeros((rows, self._heads), np.int32), zeros, zeros.copy(), None)

    def value(
        self, obs: Mapping[str, Array], memory: Array | None, is_first: Array
    ) -> npt.NDArray[np.float32]:
        """Return zeros: a bot estimates no value."""
        return np.zeros(len(is_first), np.float32)
