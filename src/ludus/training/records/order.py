"""The order in which an epoch reads recorded matches, and matches that are decoded ahead of it."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from ludus.flow.inputs.shown import visible
from ludus.presets.errors import RunFailed
from ludus.training.records.recorded import Entries, Ints, Records, SeatRecord

WINDOW = (
    4096  # neighbouring matches that are shuffled among each other: a part of the files is read at a time
)


def epoch_order(entries: Entries, seed: int, epoch: int) -> Ints:
    """Return the numbers of ``entries`` in the order of an epoch; each occurs once.

    Windows of neighbouring matches are shuffled, and the matches within each. The seats of a match stay
    together.

    Args:
        entries: Decisions that are learned, in the order of the matches.
        seed: Seed of the run's records.
        epoch: Number of the epoch, from 0.

    Returns:
        ``int64[N]``.
    """
    random = np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 1, epoch]))
    _, first, counts = np.unique(entries.match, return_index=True, return_counts=True)
    windows = [np.arange(s, min(s + WINDOW, len(first))) for s in range(0, len(first), WINDOW)]
    order = [random.permutation(windows[i]) for i in random.permutation(len(windows))]
    matches = np.concatenate(order)
    taken = counts[matches]
    before = np.cumsum(taken) - taken  # entries of the matches before, in the new order
    return np.repeat(first[matches] - before, taken) + np.arange(len(entries), dtype=np.int64)


class RowReader:
    """Decoded matches: those that rows read, and some ahead of them. One thread calls it."""

    def __init__(self, records: Records, threads: int) -> None:
        """Decode in ``threads`` threads."""
        self._records = records
        self._pool = ThreadPoolExecutor(max(1, threads), "records")
        self._decoded: dict[int, Future[dict[int, SeatRecord]]] = {}

    def keep(self, matches: Iterable[int]) -> None:
        """Decode these matches, and drop all others."""
        wanted = dict.fromkeys(matches)
        for match in [m for m in self._decoded if m not in wanted]:
            self._decoded.pop(match).cancel()
        for match in wanted:
            if match not in self._decoded:
                self._decode(match)

    def record(self, match: int, seat: int) -> SeatRecord:
        """Return the decisions of a seat of a match. Raises ``RunFailed`` for a damaged record."""
        if match not in self._decoded:
            self._decode(match)
        try:
            return self._decoded[match].result()[seat]
        except (ValueError, KeyError) as error:
            raise RunFailed(f"match {match}: {visible(str(error))}", where=self._records.where) from error

    def _decode(self, match: int) -> None:
        """Let a thread decode the seats of a match that are learned."""
        entries = self._records.trained
        first, end = np.searchsorted(entries.match, [match, match + 1])
        seats = tuple(entries.seat[first:end].tolist())
        self._decoded[match] = self._pool.submit(self._records.read, match, seats)

    def close(self) -> None:
        """Stop the threads. Idempotent."""
        self._pool.shutdown(cancel_futures=True)
