"""Evaluators of positions: a network, or any other object that answers batches.

A search writes packed observations into the arrays of a :class:`LeafBatch`. An :class:`Evaluator`
reads them and returns, for each row, a number per move (any positive scale) and a value in [-1, 1] for the
seat to move. Uniform answers and random rollouts are part of the core and need no batch.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec
from ludus.flow.slab import Array

Floats = npt.NDArray[np.float32]

#: Evaluators inside the core: all moves equal and value 0; the same with observations written, for
#: benchmarks; and the mean outcome of random matches.
CORE_EVALUATORS = ("uniform", "null", "rollout")


class LeafBatch:
    """Rows for the observations of leaves. The core borrows the arrays, which are allocated once."""

    def __init__(self, spec: GameSpec, rows: int) -> None:
        """Allocate ``rows`` rows, at least 1, for the observations of ``spec``."""
        if rows < 1:
            raise ValueError(f"a batch needs rows >= 1, got rows={rows}")
        self.rows = rows
        #: name -> packed[rows, *packed_shape]
        self.obs: dict[str, Array] = {
            t.name: np.zeros((rows, *t.packed_shape), t.packed_dtype) for t in spec.observation
        }

    def arrays(self) -> list[Array]:
        """Return the arrays in the order of the spec."""
        return list(self.obs.values())


class Evaluator(Protocol):
    """Evaluator of positions in batches. Called by one thread at a time.

    A call may overwrite the answers of the call before.
    """

    def evaluate(self, batch: LeafBatch, count: int) -> tuple[Floats, Floats]:
        """Evaluate the first ``count`` rows of ``batch``.

        Returns:
            ``policy: float32[count, A]`` (not negative, any scale) and ``value: float32[count]`` in [-1, 1].
        """
        ...


class UniformEvaluator:
    """Evaluator that gives all moves the same number, and value 0."""

    def __init__(self, spec: GameSpec) -> None:
        """Evaluate positions of the game of ``spec``."""
        self._choices = spec.mask_size

    def evaluate(self, batch: LeafBatch, count: int) -> tuple[Floats, Floats]:
        """Return ones and zeros, as :class:`Evaluator`."""
        return np.ones((count, self._choices), np.float32), np.zeros(count, np.float32)
