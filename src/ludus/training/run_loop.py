"""Run loop: rounds until the budget is used up, with evaluations and checkpoints between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ludus.evaluation.results import EvalResult
from ludus.flow.shown import shell
from ludus.pool import MatchError, PoolError
from ludus.presets.errors import RunFailed
from ludus.storage import StorageError
from ludus.training.changes import options
from ludus.training.evaluations import Evaluable, Evaluations
from ludus.training.reporting.report import write_report
from ludus.training.run_context import RunContext
from ludus.training.saving import Checkpointable, Saver
from ludus.training.stopping import more_budget, reason_to_stop


class Steps(Evaluable, Checkpointable, Protocol):
    """What a trainer does its own way. Between two rounds nothing is under way."""

    def doing(self) -> str:
        """What happens in a round now, in words. Any thread may ask."""
        ...

    def prepare_round(self) -> None:
        """Follows the newest weights: opponents, curricula."""
        ...

    def owes(self) -> bool:
        """Whether an interrupt has left a part of the last round undone: it is done whatever the budget."""
        ...

    def why_untrained(self) -> str:
        """Why the run has made no gradient step yet; empty after the first."""
        ...

    def round(self, evaluate: Callable[[], None] | None) -> None:
        """Matches and learning, until a moment at which the run can be saved.

        ``evaluate``: called once, while the weights that act do not change.
        """
        ...


class RunLoop:
    """Drives a trainer through one run."""

    def __init__(self, steps: Steps, context: RunContext) -> None:
        self.steps, self.context = steps, context
        self.evaluations = Evaluations(steps, context)
        self.saver = Saver(steps, context.needed, context.report, context.preset.run.checkpoint_every_minutes)
        self.reason = ""  # why training has ended
        self._saved = -1  # version that was saved before the evaluation that is due; -1 if it was not

    def run(self) -> tuple[EvalResult, ...]:
        """Trains until a budget is used up, then evaluates the best weights. Returns that evaluation.

        Raises ``Interrupted`` after Ctrl-C (the run was saved) and ``RunFailed`` when training cannot go on.
        """
        steps, context = self.steps, self.context
        context.clock.lap()
        self.evaluations.pin_candidates()
        with context.interrupt.signals():
            self._say_what_would_go_on()
            self._evaluate_initial()
            while not self._is_over():
                steps.prepare_round()
                evaluate = self._evaluate if self.evaluations.due() else None
                self._leave_if_interrupted()
                if evaluate or self.saver.due():
                    self._saved = steps.version if self.saver.save() else -1
                steps.round(evaluate)
            context.report.message(f"training ends: {self.reason}")
            if why := steps.why_untrained():
                context.report.problem(f"nothing was learned, the weights are the initial ones: {why}")
            self.saver.save()
            final = self.evaluations.final()
            context.report.event("finished", reason=self.reason, best=max(steps.state.best_version, 0))
            return final

    def doing(self) -> str:
        """What the run does now, in words. Any thread may ask."""
        return self.steps.run_evaluator.doing or self.steps.doing()

    def write_report(self) -> None:
        """``report.md``; where that fails the run is as good without it."""
        directory = self.context.directory
        try:
            write_report(directory, self.context.preset, self.reason)
        except (OSError, StorageError) as error:
            what = error.strerror if isinstance(error, OSError) else None
            self.context.report.problem(f"{directory.report} was not written: {what or error}")

    def _evaluate_initial(self) -> None:
        """Takes no minutes of the budget: training is the same without it."""
        try:
            with self.steps.paused():
                self.evaluations.initial()
        except (MatchError, PoolError) as error:
            raise RunFailed(f"{error}; nothing has been trained") from error
        self.context.clock.lap()

    def _is_over(self) -> bool:
        run, report = self.context.preset.run, self.context.report
        self.reason = reason_to_stop(run, self.steps.state.budget) or report.wants_to_stop
        return bool(self.reason) and not self.steps.owes()

    def _say_what_would_go_on(self) -> None:
        run, budget = self.context.preset.run, self.steps.state.budget
        alone = self.steps.run_evaluator.spec.seats == 1
        more, path = more_budget(self.context.preset, budget, alone), str(self.context.directory.path)
        if (used_up := reason_to_stop(run, budget)) and not self.steps.owes():
            self.context.report.message(
                f"nothing is left to train: {used_up}; more: ludus resume {shell(path)} {options(more)}"
            )

    def _evaluate(self) -> None:
        """Interrupted, the run ends here: after this round the weights would not be those that are due."""
        self.evaluations.evaluate()
        if self._saved >= 0 and self.steps.state.evaluation_due:
            self.context.stop_if_interrupted(self._saved)

    def _leave_if_interrupted(self) -> None:
        if not self.context.interrupted():
            return
        if not self.saver.save():
            self.context.report.event("interrupted", version=self.steps.version)
            raise RunFailed(
                "interrupted, and the last moments could not be saved; the newest checkpoint stands"
            )
        self.context.stop_if_interrupted(self.steps.version)
