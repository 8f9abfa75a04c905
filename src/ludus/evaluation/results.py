"""Results of an evaluation: win rate, or mean return of a single seat, with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from ludus.evaluation.scores import NamedScore, seats_of
from ludus.flow import MatchResult
from ludus.flow.inputs.bounds import Count, Number
from ludus.ratings import mean_interval, wilson_interval

ALONE = "alone"  # ``against`` of a game with one seat
_OF_WINNERS = ("win_rate", "ci_low", "ci_high", "wins", "draws", "losses", "score")


class EvalResult(msgspec.Struct, frozen=True):
    """Player A against player B over whole matches; seats alternate. Rates are in 0..1.

    ``win_rate`` counts a draw as not won; ``score`` counts it as half. A game of one seat has no opponent:
    ``alone`` is true, and ``mean_return`` with its interval is the result. Unless such a game has winners
    (``decided``), no one wins: win rate, its interval, the counts and the score are None, as they
    are without a match: ``first_error`` has the reason.

    With several seats in a match (``own_plans``) a player wins where one of them does; its return is their
    mean.
    """

    player: str
    against: str
    game: str
    matches: Count
    win_rate: Number | None
    ci_low: Number | None
    ci_high: Number | None
    wins: Count | None
    draws: Count | None
    losses: Count | None
    score: Number | None
    mean_ticks: Number
    mean_return: Number
    errors: Count
    seed: int
    params: dict[str, str] = {}
    confidence: Number = 0.95
    win_rate_by_seat: tuple[Number, ...] = ()
    alone: bool = False
    return_low: Number = 0.0  # interval of the mean return
    return_high: Number = 0.0
    return_deviation: Number = 0.0  # of single matches
    interrupted: bool = False  # only finished matches count, which biases the result to short ones
    first_error: str = ""  # of the matches that ended with an error, with its match and tick
    named_scores: tuple[NamedScore, ...] = ()  # of the player, in the order of the game's spec
    seats: Count = 0  # of a match; 0 in results of older versions
    own_plans: tuple[Count, ...] = (0,)  # plans of player A; B has the rest

    @property
    def nothing_played(self) -> str:
        """Reason why there is no result; empty if a match was played to its end."""
        return (
            "" if self.matches or not self.errors else f"no match was played to its end: {self.first_error}"
        )

    def __post_init__(self) -> None:
        """Set to None what counts winners where no match has any."""
        if not self.matches or (self.alone and not self.decided):
            for name in _OF_WINNERS:
                msgspec.structs.force_setattr(self, name, None)
            msgspec.structs.force_setattr(self, "win_rate_by_seat", ())

    @property
    def decided(self) -> bool:
        """Whether some match was won or lost. Many games of one seat have returns only."""
        return (self.wins or 0) + (self.losses or 0) > 0

    @property
    def counts(self) -> tuple[int, int, int]:
        """Matches won, drawn and lost; all 0 in games without winners."""
        return self.wins or 0, self.draws or 0, self.losses or 0

    @property
    def won(self) -> tuple[float, float, float]:
        """Win rate and its interval, of a game with winners; 0 in [0, 1] without."""
        if self.win_rate is None or self.ci_low is None or self.ci_high is None:
            return 0.0, 0.0, 1.0
        return self.win_rate, self.ci_low, self.ci_high

    @property
    def measure(self) -> float:
        """The measure of a run: the win rate, or the mean return in a game of one seat."""
        return self.mean_return if self.alone else self.won[0]

    @property
    def measure_low(self) -> float:
        """Lower bound of :attr:`measure`."""
        return self.return_low if self.alone else self.won[1]

    @property
    def measure_high(self) -> float:
        """Upper bound of :attr:`measure`."""
        return self.return_high if self.alone else self.won[2]


def lower_bound(result: EvalResult, score: str = "") -> float:
    """Return the lower bound by which weights are compared: of the measure, or of the named ``score``."""
    if not score:
        return result.measure_low
    return next((s.low for s in result.named_scores if s.name == score), 0.0)


def seat_of_plan(result: MatchResult, plan: int) -> int:
    """Return the first seat that ``plan`` filled."""
    return result.plan_of_seat.index(plan)


def summarise(
    results: Sequence[MatchResult],
    *,
    player: str,
    against: str,
    game: str,
    seed: int,
    params: dict[str, str] | None = None,
    confidence: float = 0.95,
    own_plans: Sequence[int] = (0,),
) -> EvalResult:
    """Return counts and intervals for the player of plan 0.

    Args:
        results: Matches; failed ones count only in ``errors``.
        player: Name of the player of plan 0.
        against: Name of its opponent, or ``alone``.
        game: Name of the game.
        seed: Seed of the matches.
        params: Parameters of the game.
        confidence: Confidence level of the intervals, in 0..1.
        own_plans: Plans of that player, plan 0 first.
    """
    whole = [r for r in results if not r.error]
    seats = [seat_of_plan(r, 0) for r in whole]
    own = [seats_of(r, own_plans) for r in whole]
    outcomes = [max(r.outcome[seat] for seat in of) for r, of in zip(whole, own, strict=True)]
    wins = sum(o > 0 for o in outcomes)
    losses = sum(o < 0 for o in outcomes)
    draws = len(whole) - wins - losses
    interval = wilson_interval(wins, len(whole), confidence)
    count = max(1, len(whole))
    failed = min((r for r in results if r.error), key=lambda r: r.match, default=None)
    earned = np.array([np.mean([r.returns[s] for s in of]) for r, of in zip(whole, own, strict=True)])
    returns = mean_interval(earned, confidence)
    by_seat: list[float] = []
    for seat in sorted(set(seats)):
        there = [o > 0 for o, s in zip(outcomes, seats, strict=True) if s == seat]
        by_seat.append(sum(there) / len(there))
    return EvalResult(
        player=player,
        against=against,
        game=game,
        matches=len(whole),
        win_rate=interval.rate,
        ci_low=interval.low,
        ci_high=interval.high,
        wins=wins,
        draws=draws,
        losses=losses,
        score=(wins + 0.5 * draws) / count,
        mean_ticks=sum(r.ticks for r in whole) / count,
        mean_return=returns.mean,
        errors=len(results) - len(whole),
        seed=seed,
        params=dict(params or {}),
        confidence=confidence,
        win_rate_by_seat=tuple(by_seat),
        alone=against == ALONE,
        return_low=returns.low,
        return_high=returns.high,
        return_deviation=returns.deviation,
        first_error="" if failed is None else f"match {failed.match}, tick {failed.ticks}: {failed.error}",
        seats=len(results[0].plan_of_seat) if results else 0,
        own_plans=tuple(own_plans),
    )
