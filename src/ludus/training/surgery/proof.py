"""Proofs before anything is written: both networks side by side, and old against new in matches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import msgspec

from ludus.evaluation.play import RANDOM, MatchPlayer, opponent, play_matches
from ludus.evaluation.progress import MatchProgress
from ludus.evaluation.results import ALONE, EvalResult, seat_of_plan, summarise
from ludus.evaluation.settings import MatchHooks, MatchSettings
from ludus.evaluation.weights import network_of
from ludus.flow import MatchResult, Weights
from ludus.flow.problem import Argument
from ludus.flow.process.as_found import as_found
from ludus.flow.seeds import SEED_SURGERY, derive_seed
from ludus.policies.actions.outputs import gives_q_values
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.ratings.equal import ERROR, LOOKS, MARGIN, Equality, Verdict, judge, stages
from ludus.rollouts.network_actor import NetworkActor
from ludus.surgery.plan import SurgeryError
from ludus.surgery.verify import TOLERANCE, LargestDifferences
from ludus.training.opponents import bot_opponents, measured_against, opponent_skip, opponents_of
from ludus.training.surgery.conversion import Pair
from ludus.training.surgery.record import measure

MATCHES = Argument("matches", command="surgery")


class Strength(msgspec.Struct, frozen=True):
    """Matches of one player against an opponent that both players meet, each under its own game.

    ``share``: of won matches, with its 95% interval; in a game of one seat the mean return.
    """

    player: str
    against: str
    matches: int
    share: float
    interval: tuple[float, float]
    alone: bool = False

    def text(self) -> str:
        """Return the result in words."""
        low, high = self.interval
        if self.alone:
            return f"{self.player}: mean return {self.share:.3g} ({low:.3g} to {high:.3g})"
        rate = f"{100 * self.share:.1f}% ({100 * low:.1f} to {100 * high:.1f}%)"
        return f"{self.player} won {rate} of {self.matches} against {self.against}"


class Proof(msgspec.Struct, frozen=True):
    """Results of a verification.

    ``differences``: None where none was asked for. ``matches``: number of matches that each side played.
    ``decided``: matches with a winner, and ``won`` those of the new network, with the 95% interval of their
    share. ``apart``: where the two networks play different games, the old and the new one against the same
    opponent; then a match is decided if its result differs between the two, and won if the new one's is
    better. ``verdict`` and ``repeat``: see :class:`ludus.ratings.equal.Equality`; the number of matches that
    would decide, 0 where they did. ``failure``: why it failed, empty if it passed.
    """

    differences: LargestDifferences | None = None
    matches: int = 0
    decided: int = 0
    won: int = 0
    interval: tuple[float, float] = (0.0, 1.0)
    apart: tuple[Strength, ...] = ()
    verdict: Literal["", Verdict] = ""
    repeat: int = 0
    failure: str = ""

    def lines(self) -> list[str]:
        """Return what was shown, a line each."""
        out: list[str] = []
        if (d := self.differences) is not None:
            what = f"logits {d.logits:.1e}, values {d.value:.1e}, memory {d.memory:.1e}"
            out.append(
                f"{d.decisions:,} decisions: {what}" if d.decisions else "weights are equal, bit by bit"
            )
        out += [strength.text() for strength in self.apart]
        if self.verdict:
            out.append(f"{self.counted()}: {self.conclusion()}")
        return out

    def counted(self) -> str:
        """Return the results of the matches."""
        if not self.decided:
            same = "the same result in" if self.apart else "no winner in"
            return f"{same} all {self.matches:,} matches"
        low, high = (100 * x for x in self.interval)
        share = f"({low:.1f} to {high:.1f}%)"
        if self.apart:
            worse = self.decided - self.won
            return f"new was better in {self.won} of {self.matches} matches, worse in {worse} {share}"
        return f"new won {self.won} of {self.decided} decided matches {share}"

    def conclusion(self) -> str:
        """Return what the matches say."""
        points = round(100 * MARGIN)
        if self.verdict == "equal":
            return "equal" if not self.decided else f"equal within {points} points"
        if self.verdict == "differ":
            return f"equal networks differ so far in fewer than 1 of {round(1 / ERROR):,} tests"
        return f"undecided, a difference of {points} points may be missed; repeat with {self.repeat} matches"


@as_found()
def prove(
    pair: Pair, *, verify: bool, matches: int, watch: Callable[[MatchProgress], None] = lambda _: None
) -> Proof:
    """Compare the networks before and after surgery.

    Args:
        pair: Weights before and after.
        verify: Whether outputs are compared.
        matches: Number of matches between the two, 0 for none.
        watch: Receives the progress of the matches before the first is played.

    Raises:
        SurgeryError: The two cannot be compared.
    """
    plan = pair.conversion.plan
    apart = plan is not None and plan.old_spec != plan.new_spec
    if matches and apart and pair.before is None:
        raise SurgeryError(
            MATCHES, matches, "0: a weights file does not name the game's parameters; RUN@best does"
        )
    exact = plan is None or plan.exact
    proof = Proof(_differences(pair) if verify else None)
    if proof.differences is not None and (failure := _too_different(proof.differences, exact)):
        return msgspec.structs.replace(proof, failure=failure)
    if not matches:
        return proof
    spec, _ = resolve_spec(pair.preset)
    if spec.seats == 1 and not apart:
        raise SurgeryError(MATCHES, matches, f"0: {spec.name} has one seat, so no one plays against another")
    progress = MatchProgress(2 * matches if apart else matches)
    progress.started(spec)
    watch(progress)
    return _played(pair, proof, matches, _Apart(pair) if apart else _Together(pair), progress.hooks())


def _differences(pair: Pair) -> LargestDifferences:
    plan = pair.conversion.plan
    if plan is not None:
        return measure(plan, pair)
    old, new = pair.old.tensors, pair.new.tensors
    odd = [n for n in old if n not in new or old[n].tobytes() != new[n].tobytes()]
    far = math.inf if odd else 0.0
    return LargestDifferences(0, 0.0, 0.0, 0.0, 0.0, far, odd[0] if odd else "")


def _too_different(found: LargestDifferences, exact: bool) -> str:
    """Return what differs by more than :data:`TOLERANCE`, relative to outputs above 1; empty if nothing.

    Outputs of a conversion that is not ``exact`` may differ, its numbers may not.
    """
    if not exact and found.parameters <= TOLERANCE:
        return ""
    bound = TOLERANCE * max(1.0, found.scale)
    if math.isfinite(found.largest) and found.largest <= bound:
        return ""
    worst = f", the worst parameter is {found.worst}" if found.worst else ""
    return (
        f"verification failed: logits differ by {found.logits:.2g}, values by {found.value:.2g}, memory by "
        f"{found.memory:.2g}, expected at most {bound:.2g}{worst}"
    )


def _played(pair: Pair, proof: Proof, matches: int, players: _Together | _Apart, hooks: MatchHooks) -> Proof:
    """Play matches until a look at the results finds the networks different."""
    better = worse = played = 0
    parts = stages(matches)
    for stage, count in enumerate(parts):
        seed = derive_seed(pair.preset.run.seed, SEED_SURGERY, stage) if stage else pair.preset.run.seed
        more, less = players.play(MatchSettings(matches=count, seed=seed), 1 + 2 * stage, hooks)
        better, worse, played = better + more, worse + less, played + count
        found = judge(better, worse, stage if len(parts) > 1 else len(LOOKS) - 1)
        if found.verdict == "differ":
            break
    bounds = found.interval
    proof = msgspec.structs.replace(
        proof,
        matches=played,
        decided=better + worse,
        won=better,
        interval=(bounds.low, bounds.high),
        apart=players.strengths(),
        verdict=found.verdict,
        repeat=_repeat(found, played) if found.verdict == "undecided" else 0,
    )
    if found.verdict != "differ":
        return proof
    sides = "".join(f"{strength.text()}, " for strength in proof.apart)
    failure = f"verification failed: {sides}{proof.counted()}: {proof.conclusion()}"
    return msgspec.structs.replace(proof, failure=failure)


def _repeat(found: Equality, played: int) -> int:
    """Return the number of matches that would decide, rounded up to two digits."""
    decided = found.better + found.worse
    matches = max(1.05 * found.decided * played / decided, 1.2 * played)
    unit = 10.0 ** max(0, math.ceil(math.log10(matches)) - 2)
    return round(math.ceil(matches / unit) * unit)


def _player(preset: Preset, weights: Weights, name: str, seed: int) -> MatchPlayer:
    """Return a network that draws its decisions."""
    network = network_of(weights, resolve_spec(preset)[0], name)
    actor = NetworkActor(network, seed, weights.meta.version, gives_q_values(network.config))
    return MatchPlayer(name, actor=actor, frame_skip=preset.game.frame_skip)


class _Together:
    """Matches of the new network against the old one, under rules that both know."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair

    def play(self, settings: MatchSettings, draws: int, hooks: MatchHooks) -> tuple[int, int]:
        """Return how many matches the new network has won and lost; ``draws``: seed of its decisions."""
        pair = self._pair
        spec, params = resolve_spec(pair.preset)
        new = _player(pair.preset, pair.new, "new", draws + 1)
        old = _player(pair.preset, pair.old, "old", draws)
        results = play_matches(spec, params, new, old, settings, hooks)
        scores = [r.outcome[seat_of_plan(r, 0)] for r in results if not r.error]
        return sum(s > 0 for s in scores), sum(s < 0 for s in scores)

    def strengths(self) -> tuple[Strength, ...]:
        """Return nothing: the two have met each other."""
        return ()


class _Apart:
    """Matches of each network under its own game, with equal seeds, against an opponent of both games."""

    def __init__(self, pair: Pair) -> None:
        assert pair.before is not None
        self._name = _opponent_of_both(pair.before, pair.preset)
        self._sides = (pair.before, pair.old, "old"), (pair.preset, pair.new, "new")
        self._results: list[list[MatchResult]] = [[], []]

    def play(self, settings: MatchSettings, draws: int, hooks: MatchHooks) -> tuple[int, int]:
        """Return in how many matches the new network's result was better, and worse, than the old one's."""
        found: list[dict[int, float]] = []
        for (preset, weights, name), kept in zip(self._sides, self._results, strict=True):
            spec, params = resolve_spec(preset)
            player = _player(preset, weights, name, draws)
            skip = opponent_skip(preset, self._name)
            other = opponent(self._name, spec, params, preset.run.seed, skip)
            results = play_matches(spec, params, player, other, settings, hooks)
            kept += results
            found.append({r.match: _result(r) for r in results if not r.error})
        old, new = found
        both = old.keys() & new.keys()
        if not both:
            raise SurgeryError(
                MATCHES, settings.matches, f"matches that can be played; {self._failed().nothing_played}"
            )
        return sum(new[m] > old[m] for m in both), sum(new[m] < old[m] for m in both)

    def _failed(self) -> EvalResult:
        """Return the result of the side that has played no match to its end."""
        return min((self._summary(k) for k in range(2)), key=lambda r: r.matches)

    def _summary(self, k: int) -> EvalResult:
        preset, _, name = self._sides[k]
        return summarise(self._results[k], player=name, against=self._name, game=preset.game.name, seed=0)

    def strengths(self) -> tuple[Strength, ...]:
        """Return the results of the old and of the new network."""
        results = [self._summary(k) for k in range(2)]
        return tuple(_strength(r, r.player, self._name) for r in results)


def _result(result: MatchResult) -> float:
    """Return the outcome for plan 0, or the return in a game of one seat."""
    seat = seat_of_plan(result, 0)
    return result.returns[seat] if len(result.outcome) == 1 else result.outcome[seat]


def _opponent_of_both(old: Preset, new: Preset) -> str:
    """Return the first opponent of evaluations that both games have."""
    spec = resolve_spec(new)[0]
    bots = {b.name for b in resolve_spec(old)[0].bots} & {b.name for b in spec.bots}
    names = measured_against(spec, new, bot_opponents(opponents_of(spec, new)))
    both = [n for n in names if n in {*bots, RANDOM, ALONE}]
    return both[0] if both else RANDOM


def _strength(result: EvalResult, player: str, against: str) -> Strength:
    if result.win_rate is None or result.ci_low is None or result.ci_high is None:
        interval = result.return_low, result.return_high
        return Strength(player, against, result.matches, result.mean_return, interval, alone=True)
    interval = result.ci_low, result.ci_high
    return Strength(player, against, result.matches, result.win_rate, interval)
