"""Run loop: rounds until the budget is used up, with evaluations and checkpoints between them."""

from __future__ import annotations

import time
from collections.abc import Callable

from ludus.evaluation.results import EvalResult
from ludus.flow.inputs.shown import shell
from ludus.league.rules.errors import RuleError
from ludus.pool import MatchError, PoolError
from ludus.presets.errors import RunFailed, RunUnsaved
from ludus.reporting.changes import options
from ludus.reporting.report import write_report
from ludus.storage import StorageError
from ludus.training.evaluations import Evaluations
from ludus.training.run_context import RunContext
from ludus.training.steps import RunSteps
from ludus.training.stopping import more_budget, reason_to_stop


class Saver:
    """Writes the checkpoints of one run."""

    def __init__(self, steps: RunSteps, context: RunContext) -> None:
        """Start the clock of the run that ``steps`` train."""
        self._steps, self._store = steps, context.directory.checkpoints
        self._needed, self._report = context.needed, context.report
        self._every_minutes = context.preset.run.checkpoint_every_minutes
        self._saved_at = time.perf_counter()
        self.refused = ""  #: why the last attempt failed; empty if it did not

    def due(self) -> bool:
        """Return whether enough time has passed since the last attempt."""
        return (time.perf_counter() - self._saved_at) / 60.0 >= self._every_minutes > 0

    def save(self, taken: Callable[[], None] | None = None, *, last: bool = False) -> bool:
        """Write a checkpoint. Returns False after a failure, which is reported (:attr:`refused`).

        Args:
            taken: See :meth:`RunSteps.write_checkpoint`.
            last: The run ends after this one.
        """
        steps = self._steps
        self.refused = ""
        with steps.paused():
            if steps.saved_already():
                return True
            try:
                self._needed.write_refused(steps.referred_to())
                path = steps.write_checkpoint(taken)
            except OSError as error:
                self.refused = error.strerror or str(error)
                before = "the one before it stands" if self._store.versions() else "there is none before it"
                self._report.problem(
                    f"checkpoint of version {steps.version} was not written ({self.refused}); "
                    f"{before}{'' if last else ', the run continues'}"
                )
                return False
            finally:
                self._saved_at = time.perf_counter()
            steps.after_checkpoint()
            self._report.checkpoint(path, steps.version)
            return True


class RunLoop:
    """Drives a trainer through one run."""

    def __init__(self, steps: RunSteps, context: RunContext) -> None:
        """Prepare a loop over the rounds of ``steps``."""
        self.steps, self.context = steps, context
        self.evaluations = Evaluations(steps, context)
        self.saver = Saver(steps, context)
        self.reason = ""  #: why training ended
        self._evaluated_initial = False
        self._saved = -1  # version that was saved before the due evaluation; -1 for none

    def run(self) -> tuple[EvalResult, ...]:
        """Train until a budget is used up, then evaluate the best weights and return that evaluation.

        Raises:
            Interrupted: Ctrl-C; the run was saved.
            RunUnsaved: The last state, or the record of the end, is not on disk.
            RunFailed: Training cannot continue.
            RuleError: A rule of a league's member failed; the run was saved.
        """
        steps, context = self.steps, self.context
        context.clock.lap()
        self.evaluations.pin_candidates()
        with context.interrupt.signals():
            self._report_used_up_budget()
            self._evaluated_initial = not self.evaluations.initial_due()
            if not self._evaluated_initial:
                steps.before_learning(self._evaluate_initial)
            while not self._is_over():
                self._prepare_round()
                context.report_machines()
                evaluate = self._evaluate if self.evaluations.due() else None
                self._leave_if_interrupted()
                if evaluate or self.saver.due():
                    self._saved = steps.version if self.saver.save(taken=steps.ask) else -1
                steps.round(evaluate)
            context.report_machines()
            context.report.message(f"training ends: {self.reason}")
            if why := steps.why_untrained():
                context.report.problem(f"nothing was learned, the weights are the initial ones: {why}")
            self._save_last()
            if not self._evaluated_initial:
                self._evaluate_initial()
                self._save_last()  # with that result
            final = self._final()
            self._record_end()
            return final

    def _prepare_round(self) -> None:
        """Prepare a round. A rule of one's own that fails leaves a run that is saved and can be resumed."""
        try:
            self.steps.prepare_round()
        except RuleError as error:
            saved = self.saver.save(last=True) and self.context.directory.checkpoints.versions()
            stands = "the run was saved" if saved else "no checkpoint was saved"
            run = self.context.directory.path
            more = f"; {stands}; once the rule is corrected: ludus resume {shell(str(run))}"
            raise RuleError(error, more=more) from error

    def _save_last(self) -> None:
        """Save the weights at the end: what is lost gets no result. Raises ``RunUnsaved``."""
        if not self.saver.save(last=True):
            raise self._unsaved(f"training ended ({self.reason})")

    def doing(self) -> str:
        """Return a description of the run's present work. Any thread may call it."""
        return self.steps.run_evaluator.doing or self.steps.doing()

    def share(self) -> float | None:
        """Return the share of that work that is done, 0..1; None if it is not known."""
        evaluated = self.steps.run_evaluator.share
        return self.steps.share() if evaluated is None else evaluated

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
            if self.steps.version > 0:
                raise
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
        if not self._evaluated_initial:
            self._evaluate_initial()
        self.evaluations.evaluate()
        if self._saved >= 0 and self.steps.state.evaluation_due:
            self.context.stop_if_interrupted(self._saved)

    def _leave_if_interrupted(self) -> None:
        if not self.context.interrupted():
            return
        if not self.saver.save(last=True):
            raise self._unsaved("interrupted")
        self.context.stop_if_interrupted(self.steps.version)
