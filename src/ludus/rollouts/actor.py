"""Actor: a policy as the collector sees it. Arrays in, arrays out: a network, a search, a script."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ludus.flow.slab import Array

Rows = npt.NDArray[np.int32]


class ActInput(NamedTuple):
    """Input of a decision: ``N`` rows at one time step. Views of a slab where the rows adjoin."""

    obs: Mapping[str, Array]  # name -> packed[N, ...]
    mask: Array  # uint8[N, A], 1 = legal
    memory: Array | None  # [N, *memory_shape], before the decision; None for a policy without memory
    is_first: Array  # uint8[N]: first decision of the row in its match
    step: int  # time steps since the start of the run
    rows: Rows  # [N]: agent indices in the pool
    policies: tuple[tuple[int, int], ...] = ()  # (policy id, number of its rows), in the order of ``rows``


class Decision(NamedTuple):
    """Of ``N`` rows. ``memory`` is None for a policy without one."""

    actions: npt.NDArray[np.int32]  # [N, K]
    log_prob: npt.NDArray[np.float32]  # [N], of the whole decision
    value: npt.NDArray[np.float32]  # [N]
    memory: Array | None  # [N, *memory_shape], after the decision
    versions: npt.NDArray[np.int32] | None = None  # [N]; None: the actor's version decided all


class Actor(Protocol):
    """Decisions of one policy id, or of several. Called by one thread at a time.

    An actor that stands for several policy ids gets their rows in one call, sorted by ``ActInput.policies``.
    """

    @property
    def version(self) -> int:
        """Version of the weights that decide now."""
        ...

    @property
    def memory_shape(self) -> tuple[int, ...] | None:
        """Shape of a row's memory; None without one."""
        ...

    def act(self, batch: ActInput) -> Decision:
        """Decides for every row of ``batch``.

        Draws depend only on (the actor's seed, ``batch.step``, row number), never on the other rows of the
        batch.
        """
        ...

    def value(
        self, obs: Mapping[str, Array], memory: Array | None, is_first: Array
    ) -> npt.NDArray[np.float32]:
        """``float32[N]``: values in the game's own units, without deciding anything."""
        ...
