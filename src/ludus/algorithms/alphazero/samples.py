"""Positions to learn from, and ends of matches, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ludus.flow.slab import Array


@dataclass(slots=True)
class Ends:
    """Ends of ``N`` matches, or of the matches of ``N`` positions, for one seat.

    A match that was resigned or cut off was not counted: its other entries are 0 and mean nothing.
    """

    counted: npt.NDArray[np.uint8]  # [N], 0 or 1
    ownership: npt.NDArray[np.int8]  # [N, cells]: +1 own, 0 without an owner, -1 the opponent's
    score: npt.NDArray[np.float32]  # [N], own points less the opponent's, komi included

    @classmethod
    def empty(cls, count: int, cells: int) -> Ends:
        """Return ends of ``count`` matches that were not counted."""
        return cls(np.zeros(count, np.uint8), np.zeros((count, cells), np.int8), np.zeros(count, np.float32))

    @classmethod
    def join(cls, parts: Sequence[Ends]) -> Ends:
        """Concatenate ``parts``."""
        return cls(
            np.concatenate([p.counted for p in parts]),
            np.concatenate([p.ownership for p in parts]),
            np.concatenate([p.score for p in parts]),
        )

    def take(self, index: npt.NDArray[np.int64] | slice) -> Ends:
        """Return those at ``index``."""
        return Ends(self.counted[index], self.ownership[index], self.score[index])

    def seen_by(self, seat: npt.NDArray[np.uint8]) -> Ends:
        """Convert ends for seat 0 to ends for ``seat: [N]``."""
        sign = np.where(seat == 0, 1, -1)
        ownership = self.ownership * sign.astype(np.int8)[:, None]
        return Ends(self.counted, ownership, self.score * sign.astype(np.float32))


@dataclass(slots=True)
class Positions:
    """``N`` positions: packed observations, legal moves, and targets of the search and the match."""

    obs: dict[str, Array]  # packed[N, ...]
    mask: npt.NDArray[np.uint8]  # [N, A]
    policy: npt.NDArray[np.float32]  # [N, A], sums to 1
    value: npt.NDArray[np.float32]  # [N], for the seat that decides
    ends: Ends | None = None  # for the seat that decides; None where they are not learned

    def __len__(self) -> int:
        """Return the number of positions, N."""
        return len(self.value)

    def take(self, index: npt.NDArray[np.int64] | slice) -> Positions:
        """Return those at ``index``."""
        obs = {name: a[index] for name, a in self.obs.items()}
        ends = None if self.ends is None else self.ends.take(index)
        return Positions(obs, self.mask[index], self.policy[index], self.value[index], ends)

    def batches(self, size: int) -> Iterator[Positions]:
        """Yield whole minibatches in order; the last incomplete one is left out."""
        for start in range(0, len(self) - size + 1, size):
            yield self.take(slice(start, start + size))
