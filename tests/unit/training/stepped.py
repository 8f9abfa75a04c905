"""Self-play that advances by calls, not by time: rounds always end at the same move.

AlphaZero's threads play on while the process that waits for them is not scheduled. On a busy machine a whole
run may fit into its first round. A test that counts rounds, chunks, versions or checkpoints steps instead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from ludus.training.alphazero import workers
from ludus.training.alphazero.workers import Workers


class Stepped(Workers):
    """Workers of which each plays one batch at every turn of the wait."""

    def start(self) -> None: ...

    def pause(self) -> None: ...

    def play_until(self, moves: int, stopping: Callable[[], bool]) -> None:
        self.start()
        while self.moves() < moves and not stopping():
            for worker in self.workers:
                worker.run(Once())


class Once(threading.Event):
    """Event that is unset at the first query and set at the second."""

    def is_set(self) -> bool:
        asked = super().is_set()
        self.set()
        return asked


def step_self_play(patch: pytest.MonkeyPatch) -> None:
    """Make AlphaZero runs of this process step until ``patch`` is undone."""
    patch.setattr(workers, "Workers", Stepped)
