"""Steps of a run: what the run loop, evaluations and checkpoints call, and what all trainers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from ludus.evaluation.results import EvalResult
from ludus.flow import GameSpec
from ludus.storage import Checkpoint
from ludus.training.run_context import RunContext
from ludus.training.run_evaluator import PlayerFactory, RunEvaluator
from ludus.training.run_state import RunState
from ludus.training.stopping import progress


class RunSteps(ABC):
    """Part of a run that each trainer implements. Between two rounds no match or update is in progress."""

    state: RunState

    def __init__(
        self, context: RunContext, spec: GameSpec, params: dict[str, str], against: tuple[str, ...]
    ) -> None:
        """Evaluate the game ``spec`` under ``params`` against the players ``against``."""
        self.preset, self.context, self.report = context.preset, context, context.report
        self.run_dir = context.directory
        self.run_evaluator = RunEvaluator(
            context.preset, spec, params, against, context.log, context.interrupted
        )
        self._saved: object = None  # moment of the newest checkpoint

    @property
    def progress(self) -> float:
        """Share of the budget that is used."""
        return progress(self.preset.run, self.state.budget)

    @property
    @abstractmethod
    def version(self) -> int:
        """Version of the newest weights."""

    @abstractmethod
    def doing(self) -> str:
        """Return a description of the round's present work. Any thread may call it and :meth:`share`."""

    def share(self) -> float | None:
        """Return the share of the round's present work that is done, 0..1; None if it is not known."""
        return None

    @abstractmethod
    def why_untrained(self) -> str:
        """Return the reason why the run has made no gradient step; empty after the first."""

    @abstractmethod
    def close(self) -> None:
        """Stop all threads and close all files. Idempotent."""

    # ---- the loop --------------------------------------------------------------------------------

    def before_learning(self, evaluate: Callable[[], None]) -> None:
        """Call ``evaluate``, or keep the initial weights, which are then evaluated with the first evaluation.

        If none comes they are evaluated at the end. Called if the run has no such evaluation yet.

        Args:
            evaluate: Evaluates the initial weights; it takes no minutes of the budget.
        """
        evaluate()

    def initial_player(self) -> tuple[int, PlayerFactory] | None:
        """Return the initial weights as a player, and their version; None where nothing has them any more.

        Raises:
            StorageError: A file that cannot be read.
        """
        return self.player(None) if self.version == 0 else None

    def initial_evaluated(self) -> None:  # noqa: B027
        """Give up what was kept for the evaluation of the initial weights."""

    def prepare_round(self) -> None:  # noqa: B027
        """Update opponents and curricula to the newest weights."""

    def ask(self) -> None:  # noqa: B027
        """Ask for the slab of the prepared round if other processes play it."""

    def owes(self) -> bool:
        """Return whether an interrupt left a part of the last round undone; it is done despite the budget."""
        return False

    @abstractmethod
    def round(self, evaluate: Callable[[], None] | None) -> None:
        """Play matches and learn, until the run can be saved.

        Args:
            evaluate: Called once, while the acting weights do not change; None if no evaluation is due.
        """

    @abstractmethod
    def paused(self) -> AbstractContextManager[None]:
        """Return a context in which nothing is played."""

    # ---- evaluation ------------------------------------------------------------------------------

    def on_evaluation(self, results: tuple[EvalResult, ...]) -> None:  # noqa: B027
        """Take the results of acting weights inside training, one for each opponent."""

    @abstractmethod
    def player(self, version: int | None) -> tuple[int, PlayerFactory]:
        """Return weights as a player, and their version.

        Args:
            version: Version of a checkpoint, whose weights are used if it exists; None for the acting
                weights. In a league they are those of the member that is evaluated.

        Raises:
            StorageError: A checkpoint that cannot be read.
        """

    def held_out(self, version: int) -> dict[str, float]:
        """Return the agreement of weights with recorded decisions that they did not learn, by metric.

        Args:
            version: Version of a checkpoint, or of the weights that act.

        Returns:
            Nothing, unless the run learns from recorded matches.
        """
        return {}

    # ---- files -----------------------------------------------------------------------------------

    @abstractmethod
    def moment(self) -> object:
        """Return a value that differs after everything worth a checkpoint."""

    @abstractmethod
    def make_checkpoint(self) -> Checkpoint:
        """Return the state between two rounds."""

    @abstractmethod
    def referred_to(self) -> set[Path]:
        """Return files outside the checkpoint without which the current state cannot be resumed."""

    @abstractmethod
    def after_checkpoint(self) -> None:
        """Remove files that no checkpoint on disk needs."""

    def saved_already(self) -> bool:
        """Return whether the current state is on disk, or nothing has happened yet."""
        return self.moment() == self._saved

    def write_checkpoint(self, taken: Callable[[], None] | None = None) -> Path:
        """Write a checkpoint and return its path. Raises ``OSError``.

        Args:
            taken: Called when the state has been taken, before it is written.
        """
        self.state.log_sizes = self.context.log.sync()
        checkpoint = self.make_checkpoint()
        if taken is not None:
            taken()
        path = self.run_dir.checkpoints.save(checkpoint)
        self._saved = self.moment()
        return path
