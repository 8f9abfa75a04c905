"""What a method's trainer offers to the code that starts and resumes runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ludus.flow import GameSpec
from ludus.presets.config import Preset
from ludus.storage import Checkpoint
from ludus.training.run_context import RunContext
from ludus.training.run_loop import Steps


class ClosableSteps(Steps, Protocol):
    """The steps of a run, with threads and files."""

    def close(self) -> None:
        """Stops and closes everything. Idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run whose parts are put together and that has not begun.

    Args:
        begin: Gives the steps of the run, in its directory. They own the parts from then on.
        close: Gives the parts up, where the run does not begin.
    """

    spec: GameSpec
    begin: Callable[[RunContext], ClosableSteps]
    close: Callable[[], None]


class Prepare(Protocol):
    """A method's trainer."""

    def __call__(self, preset: Preset, checkpoint: Checkpoint | None) -> Prepared:
        """The parts of a new run, or of one that goes on. Raises ``ConfigError`` and ``CorruptFile``."""
        ...
