"""Run loop: rounds until the budget is used up, with evaluations and checkpoints between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ludus.evaluation.results import EvalResult
from ludus.flow.inputs.shown import shell
from ludus.pool import MatchError, PoolError
from ludus.presets.errors import RunFailed, RunUnsaved
from ludus.reporting.changes import options
from ludus.reporting.report import write_report
from ludus.storage import StorageError
from ludus.training.evaluations import Evaluable, Evaluations
from ludus.training.run_context import RunContext
from ludus.training.saving import Checkpointable, Saver
from ludus.training.stopping import more_budget, reason_to_stop


class Steps(Evaluable, Checkpointable, Protocol):
    """Part of a run that each trainer implements. Between two rounds no match or update is in progress."""

    def doing(self) -> str:
        """Return a description of the round's present work. Any thread may call it."""
        ...

    def prepare_round(self) -> None:
        """Update opponents and curricula to the newest weights."""
        ...

    def before_learning(self, evaluate: Callable[[], None]) -> None:
        """Call ``evaluate`` before the first update: now, or where matches take minutes after the first ones.

        Args:
            evaluate: Evaluates the initial weights; it takes no minutes of the budget.
        """
        ...

    def ask(self) -> None:
        """Ask for the slab of the prepared round, where other processes play it from now on."""
        ...

    def owes(self) -> bool:
        """Return whether an interrupt left a part of the last round undone; it is done despite the budget."""
        ...

    def why_untrained(self) -> str:
        """Return the reason why the run has made no gradient step; empty after the first."""
        ...

    def round(self, evaluate: Callable[[], None] | None) -> None:
        """Play matches and learn, until the run can be saved.

        Args:
            evaluate: Called once, while the acting weights do not change; None where no evaluation is due.
        """
        ...


class RunLoop:
    """Drives a trainer through one run."""

    def __init__(self, steps: Steps, context: RunContext) -> None:
        """Prepare a loop over the rounds of ``steps``."""
        self.steps, self.context = steps, context
        self.evaluations = Evaluations(steps, context)
        self.saver = Saver(
            steps,
            context.directory.checkpoints,
            context.needed,
            context.report,
            context.preset.run.checkpoint_every_minutes,
        )
        self.reason = ""  #: why training ended
        self._evaluated_initial = False
        self._saved = -1  # version that was saved before the due evaluation; -1 for none

    def run(self) -> tuple[EvalResult, ...]:
        """Train until a budget is used up, then evaluate the best weights and return that evaluation.

        Raises:
            Interrupted: Ctrl-C; the run was saved.
            RunUnsaved: The last state, or the record of the end, is not on disk.
            RunFailed: Training cannot continue.
        """
        steps, context = self.steps, self.context
        context.clock.lap()
        self.evaluations.pin_candidates()
        with context.interrupt.signals():
            self._report_used_up_budget()
            steps.before_learning(self._evaluate_initial)
            while not self._is_over():
                steps.prepare_round()
                evaluate = self._evaluate if self.evaluations.due() else None
                self._leave_if_interrupted()
                if evaluate or self.saver.due():
                    self._saved = steps.version if self.saver.save(taken=steps.ask) else -1
                steps.round(evaluate)
            if not self._evaluated_initial:
                self._evaluate_initial()
            context.report.message(f"training ends: {self.reason}")
            if why := steps.why_untrained():
                context.report.problem(f"nothing was learned, the weights are the initial ones: {why}")
            if not self.saver.save(last=True):  # weights that are lost get no result
                raise self._unsaved(f"training ended ({self.reason})")
            final = self._final()
            self._record_end()
            return final

    def doing(self) -> str:
        """Return a description of the run's present work. Any thread may call it."""
        return self.steps.run_evaluator.doing or self.steps.doing()

    def write_report(self) -> bool:
        """Write ``report.md`` and return whether it is there; a failure is reported, the run ends well."""
        directory = self.context.directory
        try:
            write_report(directory, self.context.preset, self.reason)
        except (OSError, StorageError) as error:
            what = error.strerror if isinstance(error, OSError) else None
            self.context.report.problem(f"{directory.report} was not written: {what or error}")
            return False
        return True

    def _final(self) -> tuple[EvalResult, ...]:
        """Evaluate the weights that were saved.

        Raises:
            Interrupted: Ctrl-C; the run was saved.
            RunUnsaved: The results or the name of the best weights are not on disk.
        """
        log = self.context.log
        before = log.lost["metrics"]
        final = self.evaluations.final()
        if log.lost["metrics"] > before:
            raise self._unrecorded(f"the last evaluation could not be recorded ({log.problem})")
        if refused := self.evaluations.point_again():
            raise self._unrecorded(f"the best weights could not be named ({refused})")
        return final

    def _record_end(self) -> None:
        """Record that the run has finished. Raises ``RunUnsaved``."""
        log, best = self.context.log, self.context.directory.checkpoints.best()
        refused = ""
        if not log.event("finished", reason=self.reason, best=0 if best is None else best.weights):
            refused = log.problem
        else:
            try:
                log.sync()
            except OSError as error:
                refused = error.strerror or str(error)
        if refused:
            raise self._unrecorded(f"the end could not be recorded ({refused})")

    def _unsaved(self, why: str) -> RunUnsaved:
        return self._incomplete(f"{why}, and the last rounds could not be saved ({self.saver.refused})")

    def _unrecorded(self, missing: str) -> RunUnsaved:
        return self._incomplete(f"training ended ({self.reason}), and {missing}")

    def _incomplete(self, missing: str) -> RunUnsaved:
        directory = self.context.directory
        versions = directory.checkpoints.versions()
        return RunUnsaved(directory.path, missing, versions[-1] if versions else None)

    def _evaluate_initial(self) -> None:
        """Evaluate the initial weights; that takes no minutes of the budget."""
        self._evaluated_initial = True
        try:
            with self.steps.paused():
                self.evaluations.initial()
        except (MatchError, PoolError) as error:
            raise RunFailed(f"{error}; nothing has been trained") from error
        self.context.clock.lap()

    def _is_over(self) -> bool:
        run, report = self.context.preset.run, self.context.report
        self.reason = reason_to_stop(run, self.steps.state.budget) or report.stop_reason
        return bool(self.reason) and not self.steps.owes()

    def _report_used_up_budget(self) -> None:
        run, budget = self.context.preset.run, self.steps.state.budget
        alone = self.steps.run_evaluator.spec.seats == 1
        more, path = more_budget(self.context.preset, budget, alone), str(self.context.directory.path)
        if (used_up := reason_to_stop(run, budget)) and not self.steps.owes():
            self.context.report.message(
                f"nothing is left to train: {used_up}; more: ludus resume {shell(path)} {options(more)}"
            )

    def _evaluate(self) -> None:
        """Evaluate the acting weights. An interrupted run ends here, since the round changes them."""
        self.evaluations.evaluate()
        if self._saved >= 0 and self.steps.state.evaluation_due:
            self.context.stop_if_interrupted(self._saved)

    def _leave_if_interrupted(self) -> None:
        if not self.context.interrupted():
            return
        if not self.saver.save(last=True):
            raise self._unsaved("interrupted")
        self.context.stop_if_interrupted(self.steps.version)
