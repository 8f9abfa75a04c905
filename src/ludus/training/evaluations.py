"""Evaluations of a run: their schedule, the choice of the best weights, and the final matches."""

from __future__ import annotations

import contextlib
import math
from typing import NamedTuple

from ludus.evaluation import ladder
from ludus.evaluation.results import ALONE, EvalResult, lower_bound
from ludus.presets.errors import EndlessMatch
from ludus.ratings.ladder import LadderRating
from ludus.reporting.changes import run_settings
from ludus.reporting.floors import floors_of
from ludus.reporting.metrics import EvaluationMetrics, held_out_text, metrics_of
from ludus.reporting.run_view import RunView
from ludus.storage import StorageError
from ludus.training.candidates import BestWeights, score_of
from ludus.training.run_context import RunContext
from ludus.training.run_evaluator import FINAL, INITIAL, PLAYOFF, PlayerFactory
from ludus.training.steps import RunSteps

RECORDED = 32  # matches of a final evaluation that keep a replay


class PlayOffEntrant(NamedTuple):
    """Weights in a play-off; ``member``: their member of a league, or empty."""

    member: str
    version: int
    player: PlayerFactory

    @property
    def named(self) -> str:
        """Name in messages: ``12``, in a league ``main:12``."""
        return f"{self.member}:{self.version}" if self.member else str(self.version)


class Evaluations:
    """Evaluations of one run."""

    def __init__(self, steps: RunSteps, context: RunContext) -> None:
        """Prepare the evaluations of the run that ``steps`` trains."""
        self._steps, self._context, self._report = steps, context, context.report
        self._config = context.preset.evaluation
        self._best = BestWeights(context.directory, context.report)
        self.strength: LadderRating | None = None  #: of the final matches, among plain searches
        self._earlier: list[tuple[EvalResult, ...]] | None = None  # results of the run so far, once read

    def pin_candidates(self) -> None:
        """Keep the checkpoints of the candidates on disk."""
        self._best.pin(self._steps.state.candidates)

    def point_again(self) -> str:
        """Write ``best.json`` if it was refused last time; return why it is refused again, or empty."""
        return self._best.point_again()

    def initial(self) -> None:
        """Evaluate the initial weights, once in the life of a run.

        They are no candidate for the best weights and reach no target: a run without this evaluation trains
        and ends the same way.
        """
        matches = self._floor_matches()
        try:
            known = self._steps.initial_player() if self.initial_due() else None
        except StorageError as error:
            self._report.problem(f"the initial weights were not evaluated: {error}")
            return
        if known is None:
            return
        version, player = known
        try:
            results = self._steps.run_evaluator.rate(player, version, INITIAL, matches)
        except EndlessMatch as error:  # untrained weights may never end a match that trained ones do
            self._report.problem(error.problems[0].within("the initial weights were not evaluated"))
            return
        if results is not None:
            self._report.evaluation(
                self._metrics(version, score_of(results, self._config.score), False, results, initial=True)
            )
            self._context.describe_weights()
            self._steps.initial_evaluated()

    def initial_due(self) -> bool:
        """Return whether the evaluation of the initial weights is wanted and missing."""
        return self._floor_matches() > 0 and self._initial_row() is None

    def _floor_matches(self) -> int:
        return (self._config.floor_matches or self._config.matches) if self._config.initial else 0

    def _initial_row(self) -> EvaluationMetrics | None:
        """Return the initial evaluation in the log; None if it has none."""
        return RunView(self._context.directory).initial()

    def due(self) -> bool:
        """Return whether an evaluation is due; it stays due until it was made."""
        state = self._steps.state
        every = self._config.every_steps if self._config.matches > 0 else 0
        if every > 0 and state.budget.steps - state.evaluated_steps >= every:
            state.evaluated_steps = state.budget.steps
            state.evaluation_due = True
        return state.evaluation_due

    def evaluate(self) -> None:
        """Evaluate the acting weights, which the checkpoint saved just before has too.

        In a league, the members that may become its best are rated in turn.
        """
        state, contenders = self._steps.state, self._context.contenders
        member = self._context.evaluated = contenders[state.evaluations % len(contenders)]
        version, player = self._steps.player(None)
        results = self._steps.run_evaluator.rate(player, version, state.evaluations, self._config.matches)
        if results is None:  # interrupted: the resumed run makes it again
            return
        state.evaluations += 1
        state.evaluation_due = False
        score = score_of(results, self._config.score)
        best = self._best.consider(state, version, score, member)
        self._reached(results)
        self._steps.on_evaluation(results)
        self._report.evaluation(self._metrics(version, score, best, results))

    def final(self) -> tuple[EvalResult, ...]:
        """Evaluate the last weights; then the winner of a play-off plays the final matches.

        Where several members may be the best, the play-off replaces the evaluations of their last weights.

        Raises:
            Interrupted: Ctrl-C; the run was saved.
        """
        state, matches = self._steps.state, self._config.final_matches
        several = len(self._context.contenders) > 1
        if self._config.matches > 0 and self._steps.version > 0 and not (several and matches):
            for _ in self._context.contenders:
                state.evaluation_due = True
                self.evaluate()
                self._stop_if_interrupted()
        if matches == 0:
            return ()
        chosen = self._play_off()
        member, best, player = chosen
        uniform = self._uniform()
        self._context.evaluated = member
        self._report.message(f"final evaluation of version {chosen.named}: {matches} matches{self._each()}")
        results = self._rate(player, best, FINAL, matches, record=RECORDED)
        score = score_of(results, self._config.score)
        state.best_version, state.best_player = best, member
        self._best.point(best, score, member)
        self._reached(results)
        final = self._metrics(best, score, True, results, final=True, uniform=uniform)
        self.strength = final.ladder
        self._report.evaluation(final)
        self._report_floors(final)
        for problem in self._steps.run_evaluator.keep_replays(self._context.directory.replays):
            self._report.problem(problem)
        return results

    def _uniform(self) -> tuple[EvalResult, ...]:
        """Return the results of uniform play against the opponents of the final matches."""
        matches = self._floor_matches()
        try:
            results = self._steps.run_evaluator.uniform(matches) if matches else ()
        except EndlessMatch as error:
            self._report.problem(error.problems[0].within("uniform play was not measured"))
            return ()
        self._stop_if_interrupted()
        return results or ()

    def _report_floors(self, final: EvaluationMetrics) -> None:
        first = self._initial_row()
        floors = floors_of([final] if first is None else [first, final])
        for result in final.results:
            if text := floors.text(result.against):
                self._report.message(f"floor{'' if result.alone else f' against {result.against}'}: {text}")

    def _play_off(self) -> PlayOffEntrant:
        """Return the weights that play the final matches.

        The best of many noisy evaluations is mostly the luckiest. So the candidates play the same new
        matches, which alone decide; and because the best of several is lucky again, its final matches are
        new once more. Each member of a league that may be its best enters with its last weights as well.
        """
        entrants: list[PlayOffEntrant] = []
        for candidate in self._steps.state.candidates:
            try:
                entrants.append(self._entrant(candidate.player, candidate.version))
            except StorageError as error:
                self._report.problem(
                    f"version {candidate.version} cannot be read and is no candidate: {error}"
                )
        contenders = self._context.contenders
        if len(contenders) > 1 or not entrants:
            known = {(e.member, e.version) for e in entrants}
            last = [self._entrant(member, None) for member in contenders]
            entrants += [e for e in last if (e.member, e.version) not in known]
        if len(entrants) < 2:
            return entrants[0]
        matches = math.ceil(self._config.final_matches / 2)
        named = ", ".join(e.named for e in entrants)
        self._report.message(f"play-off of versions {named}: {matches} matches each{self._each()}")
        scores: list[float] = []
        for entrant in entrants:
            self._context.evaluated = entrant.member
            results = self._rate(entrant.player, entrant.version, PLAYOFF, matches)
            scores.append(score_of(results, self._config.score))
            self._report.evaluation(self._metrics(entrant.version, scores[-1], False, results, playoff=True))
        return max(zip(scores, entrants, strict=True), key=lambda pair: (pair[0], pair[1].version))[1]

    def _entrant(self, member: str, version: int | None) -> PlayOffEntrant:
        """Return the weights ``version`` of a member, None for its acting weights.

        Raises:
            StorageError: A checkpoint that cannot be read.
        """
        self._context.evaluated = member
        return PlayOffEntrant(member, *self._steps.player(version))

    def _rate(
        self, player: PlayerFactory, version: int, number: int, matches: int, record: int = 0
    ) -> tuple[EvalResult, ...]:
        """Return the results of an evaluation.

        Raises:
            Interrupted: Ctrl-C; the run was saved.
        """
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
            steps=0 if initial else self._steps.state.budget.steps,  # self-play may come before
            score=score,
            best=best,
            results=results,
            final=final,
            playoff=playoff,
            initial=initial,
            uniform=uniform,
            ladder=self._strength(results),
            initial_weights=self._initial_weights() if initial else "",
            player=self._context.evaluated,
            held_out={} if playoff else self._held_out(version),
        )

    def _held_out(self, version: int) -> dict[str, float]:
        """Measure and report the agreement with recorded decisions, of runs that learn from them."""
        numbers = self._steps.held_out(version)
        if text := held_out_text(numbers):
            self._report.message(f"version {version}: {text}")
        return numbers

    def _strength(self, results: tuple[EvalResult, ...]) -> LadderRating | None:
        """Return the strength among plain searches, rated together with the evaluations before."""
        if all(ladder.visits_of(r.against) is None for r in results):
            return None
        if self._earlier is None:
            self._earlier = []
            for row in RunView(self._context.directory).evaluations():
                with contextlib.suppress(ValueError):
                    if isinstance(found := metrics_of(row), EvaluationMetrics):
                        self._earlier.append(found.results)
        self._earlier.append(results)
        return ladder.rate(self._earlier)

    def _initial_weights(self) -> str:
        """Return the initial weights, as the preset named them when the run was started."""
        return self._context.initial_weights or run_settings(self._context.directory).preset.run.start

    def _reached(self, results: tuple[EvalResult, ...]) -> None:
        """Record the highest lower bound so far, which the target is compared with."""
        lowest = min(lower_bound(r, self._config.score) for r in results)
        budget = self._steps.state.budget
        known = budget.best_lower_bound
        budget.best_lower_bound = lowest if known is None else max(known, lowest)

    def _stop_if_interrupted(self) -> None:
        self._context.stop_if_interrupted(self._steps.version)

    def _each(self) -> str:
        return "" if self._steps.run_evaluator.against == (ALONE,) else " an opponent"
