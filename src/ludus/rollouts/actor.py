"""What a collector asks of whoever decides. Arrays in, arrays out: a network, a search, a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ludus.flow.slab import Array

Rows = npt.NDArray[np.int32]


class Decision(NamedTuple):
    """Of ``N`` rows. ``memory`` is None for a policy without one."""

    actions: npt.NDArray[np.int32]  # [N, K]
    log_prob: npt.NDArray[np.float32]  # [N], of the whole decision
    value: npt.NDArray[np.float32]  # [N]
    memory: Array | None  # [N, *memory_shape], after the decision


class Actor(Protocol):
    """One policy id's decisions. Called by one thread at a time."""

    @property
    def version(self) -> int:
        """Of the weights that decide now."""
        ...

    @property
    def memory_shape(self) -> tuple[int, ...] | None: ...

    def act(
        self,
        obs: Mapping[str, Array],
        mask: Array,
        memory: Array | None,
        first: Array,
        step: int,
        rows: Rows,
    ) -> Decision:
        """Decides. ``obs[name]: packed[N, ...]``, ``mask: uint8[N, A]``, ``first: uint8[N]``.

        What is drawn depends on (the actor's seed, ``step``, row number) alone, never on what else
        is in the batch.
        """
        ...

    def value(self, obs: Mapping[str, Array], memory: Array | None, first: Array) -> npt.NDArray[np.float32]:
        """``float32[N]``: values in the game's own units, without deciding anything."""
        ...
