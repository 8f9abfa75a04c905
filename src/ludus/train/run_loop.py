"""What every kind of run has: the loop around its rounds, its files, its messages, its signals, the judgement
of evaluations.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import FrameType
from typing import Protocol

import msgspec

from ludus.evaluation.play import Player
from ludus.evaluation.results import ALONE, EvalResult
from ludus.presets.config import Preset
from ludus.presets.errors import Interrupted, RunFailed
from ludus.storage import Pointer, RunDirectory, RunLog, StorageError
from ludus.train.candidates import Candidate, best_candidates, score_of
from ludus.train.changes import options
from ludus.train.reporting.observer import EvaluationMetrics, Observer, UpdateMetrics
from ludus.train.reporting.report import write_report
from ludus.train.reporting.sinks import Sink
from ludus.train.run_evaluator import FINAL, PLAYOFF, RunEvaluator
from ludus.train.stopping import Budget, more_budget, progress, reason_to_stop

RECORDED = 32  # matches of a final evaluation that keep a replay

#: Weights as a player whose draws come from a seed.
Seeded = Callable[[int], Player]


class RunState(Protocol):
    """What the loop counts, in the state that a run's checkpoints keep."""

    budget: Budget
    evaluations: int
    evaluated_steps: int
    evaluation_due: bool
    best_score: float | None
    best_version: int
    candidates: list[Candidate]


class RunBase(ABC):
    """Owns a run's files while it runs. Made, run once, closed."""

    state: RunState
    run_evaluator: RunEvaluator

    def __init__(
        self, preset: Preset, run: RunDirectory, observer: Observer, sinks: tuple[Sink, ...]
    ) -> None:
        self.preset, self.run_dir, self.observer, self.sinks = preset, run, observer, sinks
        self.log = RunLog(run)
        self.reason = ""
        self._interrupted = False
        self._reported_problem = ""
        self._unwritten: dict[Path, Callable[[], object]] = {}
        self._mark = self._saved_at = time.perf_counter()

    # ---- what a kind of run does its own way -----------------------------------------------------

    @property
    @abstractmethod
    def version(self) -> int:
        """Of the newest weights."""

    @abstractmethod
    def _round(self) -> None:
        """Matches and learning, until a moment at which the run can be saved."""

    @abstractmethod
    def _resting(self) -> AbstractContextManager[None]:
        """While it is open nobody plays on."""

    @abstractmethod
    def _saved_already(self) -> bool:
        """The present moment is on disk, or nothing has happened yet."""

    @abstractmethod
    def _write_checkpoint(self) -> Path:
        """Raises ``OSError``."""

    @abstractmethod
    def _referred_to(self) -> set[Path]:
        """Files outside the checkpoint without which the present state cannot be resumed."""

    @abstractmethod
    def _after_checkpoint(self) -> None:
        """Removes what no checkpoint on disk needs any more."""

    @abstractmethod
    def _player(self, version: int | None) -> tuple[int, Seeded]:
        """Weights as evaluations want them, and their version: those that act (None), or those of a
        checkpoint where it is there and they are others. Raises ``StorageError``.
        """

    # ---- the loop --------------------------------------------------------------------------------

    def run(self) -> tuple[EvalResult, ...]:
        """Trains until a budget is used up, then evaluates the best weights. Returns that evaluation.

        Raises ``Interrupted`` after Ctrl-C (the run was saved) and ``RunFailed`` when training cannot go on.
        """
        self._mark = time.perf_counter()
        self._pin_candidates()
        with self._signals():
            if used_up := reason_to_stop(self.preset.run, self.state.budget):
                more = options(more_budget(self.preset.run, self.state.budget))
                self._say(
                    f"nothing is left to train: {used_up}; more: ludus resume {self.run_dir.path} {more}"
                )
            while not (reason := reason_to_stop(self.preset.run, self.state.budget)):
                self._between_rounds()
                self._round()
            self.reason = reason
            self._say(f"training ends: {reason}")
            self._save()
            final = self._final()
            self.log.event("finished", reason=reason, best=max(self.state.best_version, 0))
            return final

    def _progress(self) -> float:
        return progress(self.preset.run, self.state.budget)

    def _between_rounds(self) -> None:
        """Decides whether to evaluate, leaves after Ctrl-C, saves where it is time."""
        state = self.state
        every = self.preset.evaluation.every_steps if self.preset.evaluation.matches > 0 else 0
        if every > 0 and state.budget.steps - state.evaluated_steps >= every:
            state.evaluated_steps = state.budget.steps
            state.evaluation_due = True
        if self._interrupted:
            saved = self._save()
            self.log.event("interrupted", version=self.version)
            if not saved:
                raise RunFailed(
                    "interrupted, and the last moments could not be saved; the newest checkpoint stands"
                )
            raise Interrupted(self.run_dir.path, self.version)
        minutes = (time.perf_counter() - self._saved_at) / 60.0
        if state.evaluation_due or minutes >= self.preset.run.checkpoint_every_minutes > 0:
            self._save()

    def _evaluate(self) -> None:
        """Evaluates the weights that act now; the checkpoint that was saved just before has the same."""
        state, number = self.state, self.state.evaluations
        version, player = self._player(None)
        results = self.run_evaluator.rate(player, version, number, self.preset.evaluation.matches)
        if results is None:  # interrupted: it is made again after the run is resumed
            return
        state.evaluations += 1
        state.evaluation_due = False
        score = score_of(results)
        # Weights that no checkpoint has (the disk was full) cannot become the best.
        saved = version in self.run_dir.checkpoints.versions()
        best = saved and (state.best_score is None or score > state.best_score)
        if saved:
            known = state.candidates
            if not known and state.best_score is not None:  # a checkpoint of before there were candidates
                known = [Candidate(state.best_version, state.best_score)]
            state.candidates = best_candidates(known, Candidate(version, score))
            self._pin_candidates()
        if best:
            state.best_score, state.best_version = score, version
            self._point_best(version, score)
        self._judged(EvaluationMetrics(version, state.budget.steps, score, best, results))

    def _final(self) -> tuple[EvalResult, ...]:
        """The last weights are evaluated as well, then the best of a play-off play their final matches."""
        evaluation, state = self.preset.evaluation, self.state
        if evaluation.matches > 0 and self.version > 0:
            state.evaluation_due = True
            self._evaluate()
            self._stop_if_interrupted()
        if evaluation.final_matches == 0:
            return ()
        best, player = self._play_off()
        self._say(
            f"final evaluation of version {best}: {evaluation.final_matches} matches{self._an_opponent()}"
        )
        results = self.run_evaluator.rate(player, best, FINAL, evaluation.final_matches, record=RECORDED)
        self._stop_if_interrupted()
        assert results is not None
        score = score_of(results)
        state.best_version = best
        self._point_best(best, score)
        self._judged(EvaluationMetrics(best, state.budget.steps, score, True, results, final=True))
        for problem in self.run_evaluator.keep_replays(self.run_dir.replays):
            self._problem(problem)
        return results

    def _play_off(self) -> tuple[int, Seeded]:
        """The weights that the final matches rate.

        The best of many noisy evaluations is mostly the luckiest. So the candidates meet the same fresh
        matches, which alone decide; and because the best of several is lucky again, its own final matches are
        fresh once more.
        """
        players: list[tuple[int, Seeded]] = []
        for candidate in self.state.candidates:
            try:
                players.append(self._player(candidate.version))
            except StorageError as error:
                self._problem(f"version {candidate.version} cannot be read and is no candidate: {error}")
        if len(players) < 2:
            return players[0] if players else self._player(None)
        matches = math.ceil(self.preset.evaluation.final_matches / 2)
        named = ", ".join(str(version) for version, _ in players)
        self._say(f"play-off of versions {named}: {matches} matches each{self._an_opponent()}")
        scores: list[float] = []
        for version, player in players:
            results = self.run_evaluator.rate(player, version, PLAYOFF, matches)
            self._stop_if_interrupted()
            assert results is not None
            scores.append(score_of(results))
            steps = self.state.budget.steps
            self._tell(EvaluationMetrics(version, steps, scores[-1], False, results, playoff=True))
        return max(zip(scores, players, strict=True), key=lambda pair: (pair[0], pair[1][0]))[1]

    def _an_opponent(self) -> str:
        return "" if self.run_evaluator.against == (ALONE,) else " an opponent"

    def _save(self) -> bool:
        """Writes a checkpoint. A failure is reported and the run goes on; False then."""
        with self._resting():
            if self._saved_already():
                return True
            try:
                self._write_what_was_refused()
                path = self._write_checkpoint()
            except OSError as error:
                self._problem(
                    f"checkpoint of version {self.version} was not written ({error.strerror or error}); "
                    "the one before it stands, the run goes on"
                )
                return False
            finally:
                self._saved_at = time.perf_counter()
            self._after_checkpoint()
            self.observer.on_checkpoint(path, self.version)
            return True

    def _write_needed(self, path: Path, write: Callable[[], object]) -> None:
        """Writes a file that the state refers to. No checkpoint is written while the disk refuses it."""
        try:
            write()
        except OSError as error:
            self._unwritten[path] = write
            self._problem(
                f"{path} was not written ({error.strerror or error}); "
                "it is tried again before the next checkpoint"
            )
        else:
            self._unwritten.pop(path, None)

    def _write_what_was_refused(self) -> None:
        """Raises ``OSError`` where a file that a checkpoint would refer to still cannot be written."""
        needed = self._referred_to()
        for path, write in list(self._unwritten.items()):
            if path in needed:
                try:
                    write()
                except OSError as error:
                    raise OSError(error.errno, f"it needs {path}: {error.strerror or error}") from error
            del self._unwritten[path]

    # ---- telling ---------------------------------------------------------------------------------

    def _pin_candidates(self) -> None:
        self.run_dir.checkpoints.pinned = frozenset(c.version for c in self.state.candidates)

    def _point_best(self, version: int, score: float) -> None:
        if version not in self.run_dir.checkpoints.versions():
            return
        try:
            self.run_dir.checkpoints.point("best", Pointer(version, score))
        except OSError as error:
            self._problem(f"best.json was not written: {error.strerror or error}")

    def _judged(self, evaluation: EvaluationMetrics) -> None:
        """Tells an evaluation, and whether it reaches the target."""
        lowest = min(r.measure_low for r in evaluation.results)
        budget = self.state.budget
        known = budget.best_lower_bound
        budget.best_lower_bound = lowest if known is None else max(known, lowest)
        self._tell(evaluation)

    def _record(self, metrics: UpdateMetrics) -> None:
        """One update, to whoever keeps or shows it."""
        self.log.metrics(msgspec.to_builtins(metrics, str_keys=True))
        self._report_log_problem()
        self._feed(lambda sink: sink.update(metrics))
        self.observer.on_update(metrics)

    def _tell(self, evaluation: EvaluationMetrics) -> None:
        self.log.metrics(msgspec.to_builtins(evaluation, str_keys=True))
        self._report_log_problem()
        self._feed(lambda sink: sink.evaluation(evaluation))
        self.observer.on_evaluation(evaluation)

    def _feed(self, give: Callable[[Sink], None]) -> None:
        """A sink that fails is left out from then on; ``metrics.jsonl`` has it all."""
        for sink in self.sinks:
            try:
                give(sink)
            except Exception as error:
                self.sinks = tuple(s for s in self.sinks if s is not sink)
                self._problem(f"{type(sink).__name__} is left out from now on: {error}")

    def _stop_if_interrupted(self) -> None:
        if self._interrupted:
            self.log.event("interrupted", version=self.version)
            raise Interrupted(self.run_dir.path, self.version)

    def write_report(self) -> None:
        """``report.md``; where that fails the run is as good without it."""
        try:
            write_report(self.run_dir, self.preset, self.reason)
        except OSError as error:
            self._problem(f"{self.run_dir.report} was not written: {error.strerror or error}")

    def _rewind_log(self, sizes: dict[str, int]) -> None:
        """Back to the rows of a checkpoint; rows that are not there are reported."""
        for lost in self.log.rewind(sizes):
            self._problem(lost)

    def _report_log_problem(self) -> None:
        if self.log.problem and self.log.problem != self._reported_problem:
            self._reported_problem = self.log.problem
            self.observer.on_message(f"problem: {self.log.problem}; the run goes on without these lines")

    def _problem(self, text: str) -> None:
        self.log.event("problem", text=text)
        self._say(f"problem: {text}")

    def _say(self, text: str) -> None:
        self.log.message(text)
        self.observer.on_message(text)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C (and SIGTERM) end the run after the round that is under way; a second Ctrl-C at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(number: int, frame: FrameType | None) -> None:
            if self._interrupted and number == signal.SIGINT:
                raise KeyboardInterrupt
            self._interrupted = True

        before = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
