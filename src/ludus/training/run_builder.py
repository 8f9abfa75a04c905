"""Interface between a method's trainer and the code that starts and resumes runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ludus.flow import GameSpec
from ludus.presets.config import Preset
from ludus.storage import Checkpoint
from ludus.training.machines import Machines
from ludus.training.run_context import RunContext
from ludus.training.steps import RunSteps


@dataclass(frozen=True, slots=True)
class RunBuilder:
    """The components of a run that has not started yet.

    Attributes:
        spec: The game.
        start: Returns the steps of the run in its directory; they own the components from then on.
        close: Releases the components where the run does not start.
    """

    spec: GameSpec
    start: Callable[[RunContext], RunSteps]
    close: Callable[[], None]


class RunBuilderFactory(Protocol):
    """A method's trainer: builds the components of a run."""

    def __call__(self, preset: Preset, checkpoint: Checkpoint | None, machines: Machines) -> RunBuilder:
        """Return the components of a new run, or of one that resumes from ``checkpoint``.

        Args:
            preset: Settings of the run.
            checkpoint: Checkpoint to resume from; None: a new run.
            machines: Makes what plays the matches.

        Raises:
            ConfigError: Settings that do not fit together.
            CorruptFile: A checkpoint that cannot be read.
        """
        ...
