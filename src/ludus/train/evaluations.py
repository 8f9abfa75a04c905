"""The evaluations of a run: when they are made, what they decide, and the final matches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from ludus.evaluation.play import Player
from ludus.evaluation.results import ALONE, EvalResult
from ludus.presets.errors import EndlessMatch
from ludus.storage import StorageError, read_jsonl
from ludus.train.candidates import BestWeights, Ranked, score_of
from ludus.train.changes import run_settings
from ludus.train.reporting.floors import floors_of
from ludus.train.reporting.metrics import EvaluationMetrics, metrics_of
from ludus.train.run_context import RunContext
from ludus.train.run_evaluator import FINAL, INITIAL, PLAYOFF, RunEvaluator
from ludus.train.stopping import Budget

RECORDED = 32  # matches of a final evaluation that keep a replay

#: Weights as a player whose draws come from a seed.
Seeded = Callable[[int], Player]


class EvaluationState(Ranked, Protocol):
    """What the state of a run counts of its evaluations."""

    budget: Budget
    evaluations: int
    evaluated_steps: int
    evaluation_due: bool


class Evaluated(Protocol):
    """The part of a trainer that is evaluated."""

    run_evaluator: RunEvaluator

    @property
    def state(self) -> EvaluationState: ...

    @property
    def version(self) -> int:
        """Of the newest weights."""
        ...

    def player(self, version: int | None) -> tuple[int, Seeded]:
        """Weights as evaluations want them, and their version: those that act (None), or those of a
        checkpoint where it is there and they are others. Raises ``StorageError``.
        """
        ...


class Evaluations:
    """Of one run."""

    def __init__(self, steps: Evaluated, context: RunContext) -> None:
        self._steps, self._context, self._report = steps, context, context.report
        self._config = context.preset.evaluation
        self._best = BestWeights(context.directory, context.report)

    def begin(self) -> None:
        """Keeps the checkpoints that the state refers to."""
        self._best.pin(self._steps.state.candidates)

    def initial(self) -> None:
        """Evaluates the weights that the run begins with, once in the life of a run.

        They are no candidate for the best weights and reach no target: a run without this evaluation trains
        and ends the same way.
        """
        matches = self._floor_matches()
        if matches == 0 or self._steps.version > 0 or self._initial_row():
            return
        version, player = self._steps.player(None)
        try:
            results = self._steps.run_evaluator.rate(player, version, INITIAL, matches)
        except EndlessMatch as error:  # untrained weights may never end a match that trained ones do
            self._report.problem(f"the initial weights were not evaluated: {error}")
            return
        if results is not None:
            self._report.evaluation(self._metrics(version, score_of(results), False, results, initial=True))

    def _floor_matches(self) -> int:
        return (self._config.floor_matches or self._config.matches) if self._config.initial else 0

    def _initial_row(self) -> EvaluationMetrics | None:
        """The initial evaluation in the log, which a resumed run shortens to its checkpoint."""
        try:
            for row in read_jsonl(self._context.directory.metrics):
                if row.get("initial") is True and isinstance(found := metrics_of(row), EvaluationMetrics):
                    return found
        except (StorageError, ValueError):  # a damaged log, which the report is about
            pass
        return None

    def due(self) -> bool:
        """Whether an evaluation is to be made now. Remembered until it was made."""
        state = self._steps.state
        every = self._config.every_steps if self._config.matches > 0 else 0
        if every > 0 and state.budget.steps - state.evaluated_steps >= every:
            state.evaluated_steps = state.budget.steps
            state.evaluation_due = True
        return state.evaluation_due

    def evaluate(self) -> None:
        """Evaluates the weights that act now; the checkpoint that was saved just before has the same."""
        state = self._steps.state
        version, player = self._steps.player(None)
        results = self._steps.run_evaluator.rate(player, version, state.evaluations, self._config.matches)
        if results is None:  # interrupted: it is made again after the run is resumed
            return
        state.evaluations += 1
        state.evaluation_due = False
        score = score_of(results)
        best = self._best.consider(state, version, score)
        self._reached(results)
        self._report.evaluation(self._metrics(version, score, best, results))

    def final(self) -> tuple[EvalResult, ...]:
        """The last weights are evaluated as well, then the best of a play-off play their final matches.

        Raises ``Interrupted``.
        """
        state, matches = self._steps.state, self._config.final_matches
        if self._config.matches > 0 and self._steps.version > 0:
            state.evaluation_due = True
            self.evaluate()
            self._stop_if_interrupted()
        if matches == 0:
            return ()
        best, player = self._play_off()
        uniform = self._uniform()
        self._report.message(f"final evaluation of version {best}: {matches} matches{self._each()}")
        results = self._rate(player, best, FINAL, matches, record=RECORDED)
        score = score_of(results)
        state.best_version = best
        self._best.point(best, score)
        self._reached(results)
        final = self._metrics(best, score, True, results, final=True, uniform=uniform)
        self._report.evaluation(final)
        self._say_floors(final)
        for problem in self._steps.run_evaluator.keep_replays(self._context.directory.replays):
            self._report.problem(problem)
        return results

    def _uniform(self) -> tuple[EvalResult, ...]:
        """What uniform play reaches in the setting of the final matches. Raises ``Interrupted``."""
        matches = self._floor_matches()
        try:
            results = self._steps.run_evaluator.uniform(matches) if matches else ()
        except EndlessMatch as error:
            self._report.problem(f"uniform play was not measured: {error}")
            return ()
        self._stop_if_interrupted()
        return results or ()

    def _say_floors(self, final: EvaluationMetrics) -> None:
        first = self._initial_row()
        floors = floors_of([final] if first is None else [first, final])
        for result in final.results:
            if text := floors.text(result.against):
                self._report.message(f"floor{'' if result.alone else f' against {result.against}'}: {text}")

    def _play_off(self) -> tuple[int, Seeded]:
        """The weights that the final matches rate.

        The best of many noisy evaluations is mostly the luckiest. So the candidates meet the same fresh
        matches, which alone decide; and because the best of several is lucky again, its own final matches are
        fresh once more.
        """
        state = self._steps.state
        players: list[tuple[int, Seeded]] = []
        for candidate in state.candidates:
            try:
                players.append(self._steps.player(candidate.version))
            except StorageError as error:
                self._report.problem(
                    f"version {candidate.version} cannot be read and is no candidate: {error}"
                )
        if len(players) < 2:
            return players[0] if players else self._steps.player(None)
        matches = math.ceil(self._config.final_matches / 2)
        named = ", ".join(str(version) for version, _ in players)
        self._report.message(f"play-off of versions {named}: {matches} matches each{self._each()}")
        scores: list[float] = []
        for version, player in players:
            results = self._rate(player, version, PLAYOFF, matches)
            scores.append(score_of(results))
            self._report.evaluation(self._metrics(version, scores[-1], False, results, playoff=True))
        return max(zip(scores, players, strict=True), key=lambda pair: (pair[0], pair[1][0]))[1]

    def _rate(
        self, player: Seeded, version: int, number: int, matches: int, record: int = 0
    ) -> tuple[EvalResult, ...]:
        """Raises ``Interrupted``."""
        results = self._steps.run_evaluator.rate(player, version, number, matches, record=record)
        self._stop_if_interrupted()
        assert results is not None
        return results

    def _metrics(
        self,
        version: int,
        score: float,
        best: bool,
        results: tuple[EvalResult, ...],
        *,
        final: bool = False,
        playoff: bool = False,
        initial: bool = False,
        uniform: tuple[EvalResult, ...] = (),
    ) -> EvaluationMetrics:
        return EvaluationMetrics(
            version=version,
            steps=self._steps.state.budget.steps,
            score=score,
            best=best,
            results=results,
            final=final,
            playoff=playoff,
            initial=initial,
            uniform=uniform,
            begins_with=self._begins_with() if initial else "",
            player=self._context.evaluated,
        )

    def _begins_with(self) -> str:
        """The weights of another run, as the preset named them when the run was started."""
        return self._context.begins_with or run_settings(self._context.directory).preset.run.start

    def _reached(self, results: tuple[EvalResult, ...]) -> None:
        """Remembers how near to the target the run has come."""
        lowest = min(r.measure_low for r in results)
        budget = self._steps.state.budget
        known = budget.best_lower_bound
        budget.best_lower_bound = lowest if known is None else max(known, lowest)

    def _stop_if_interrupted(self) -> None:
        self._context.stop_if_interrupted(self._steps.version)

    def _each(self) -> str:
        return "" if self._steps.run_evaluator.against == (ALONE,) else " an opponent"
