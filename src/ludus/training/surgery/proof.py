"""Proofs before anything is written: both networks side by side, and old against new in matches."""

from __future__ import annotations

import math

import msgspec

from ludus.evaluation.play import RANDOM, MatchPlayer, opponent, play_evaluation
from ludus.evaluation.results import ALONE, EvalResult
from ludus.evaluation.settings import MatchSettings
from ludus.evaluation.weights import network_of
from ludus.policies.outputs import gives_q_values
from ludus.presets.config import Preset
from ludus.presets.game_checks import resolve_spec
from ludus.ratings.interval import wilson_interval
from ludus.rollouts.network_actor import NetworkActor
from ludus.surgery.plan import SurgeryError
from ludus.surgery.verify import TOLERANCE, Verification
from ludus.training.opponents import bot_opponents, measured_against, opponent_skip, opponents_of
from ludus.training.surgery.conversion import Pair
from ludus.training.surgery.record import measure


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

    ``differences``: None where none was asked for. ``decided``: matches with a winner, and ``won`` those of
    the new network, with the 95% interval of their share. ``apart``: where the two networks play different
    games, the old and the new one against the same opponent. ``failure``: why it failed, empty if it passed.
    """

    differences: Verification | None = None
    decided: int = 0
    won: int = 0
    interval: tuple[float, float] = (0.0, 1.0)
    apart: tuple[Strength, ...] = ()
    failure: str = ""

    def lines(self) -> list[str]:
        """Return what was shown, a line each."""
        out: list[str] = []
        if (d := self.differences) is not None:
            what = f"logits {d.logits:.1e}, values {d.value:.1e}, memory {d.memory:.1e}"
            out.append(
                f"{d.decisions:,} decisions: {what}" if d.decisions else "weights are equal, bit by bit"
            )
        if self.decided:
            low, high = (100 * x for x in self.interval)
            out.append(f"new won {self.won} of {self.decided} decided matches ({low:.1f} to {high:.1f}%)")
        return out + [strength.text() for strength in self.apart]


def prove(pair: Pair, *, verify: bool, matches: int) -> Proof:
    """Compare the networks before and after surgery.

    Args:
        pair: Weights before and after.
        verify: Whether outputs are compared.
        matches: Number of matches between the two, 0 for none.

    Raises:
        SurgeryError: The two cannot be compared.
    """
    plan = pair.conversion.plan
    apart = plan is not None and plan.old_spec != plan.new_spec
    if matches and apart and pair.before is None:
        raise SurgeryError(
            "--matches", matches, "0: a weights file does not name the game's parameters; RUN@best does"
        )
    exact = plan is None or plan.exact
    proof = Proof(_differences(pair) if verify else None)
    if proof.differences is not None and (failure := _too_different(proof.differences, exact)):
        return msgspec.structs.replace(proof, failure=failure)
    if not matches:
        return proof
    return _played_apart(pair, proof, matches) if apart else _played(pair, proof, matches)


def _differences(pair: Pair) -> Verification:
    plan = pair.conversion.plan
    if plan is not None:
        return measure(plan, pair)
    old, new = pair.old.tensors, pair.new.tensors
    odd = [n for n in old if n not in new or old[n].tobytes() != new[n].tobytes()]
    far = math.inf if odd else 0.0
    return Verification(0, 0.0, 0.0, 0.0, 0.0, far, odd[0] if odd else "")


def _too_different(found: Verification, exact: bool) -> str:
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


def _played(pair: Pair, proof: Proof, matches: int) -> Proof:
    """Play matches, in which both networks draw their decisions."""
    preset = pair.preset
    spec, params = resolve_spec(preset)
    if spec.seats == 1:
        raise SurgeryError(
            "--matches", matches, f"0: {spec.name} has one seat, so no one plays against another"
        )

    def player(name: str, new: bool) -> MatchPlayer:
        weights = pair.new if new else pair.old
        network = network_of(weights, spec, name)
        actor = NetworkActor(network, 1 + new, weights.meta.version, gives_q_values(network.config))
        return MatchPlayer(name, actor=actor, frame_skip=preset.game.frame_skip)

    settings = MatchSettings(matches=matches, seed=preset.run.seed)
    result, _ = play_evaluation(spec, params, player("new", True), player("old", False), settings)
    won, lost = result.wins or 0, result.losses or 0
    bounds = wilson_interval(won, won + lost) if won + lost else None
    low, high = (bounds.low, bounds.high) if bounds is not None else (0.0, 1.0)
    failure = ""
    if not low <= 0.5 <= high:
        share = f"{100 * low:.1f} to {100 * high:.1f}%"
        failure = f"verification failed: new won {won} of {won + lost} decided matches ({share})"
    return msgspec.structs.replace(proof, decided=won + lost, won=won, interval=(low, high), failure=failure)


def _played_apart(pair: Pair, proof: Proof, matches: int) -> Proof:
    """Let each network play its own game, with equal seeds, against an opponent of both games.

    They differ if the intervals of the two shares have no number in common.
    """
    assert pair.before is not None
    sides = ((pair.before, pair.old, "old"), (pair.preset, pair.new, "new"))
    name = _opponent_of_both(pair.before, pair.preset)
    found: list[Strength] = []
    for preset, weights, which in sides:
        spec, params = resolve_spec(preset)
        network = network_of(weights, spec, which)
        actor = NetworkActor(network, 1, weights.meta.version, gives_q_values(network.config))
        player = MatchPlayer(which, actor=actor, frame_skip=preset.game.frame_skip)
        other = opponent(name, spec, params, preset.run.seed, opponent_skip(preset, name))
        settings = MatchSettings(matches=matches, seed=pair.preset.run.seed)
        result, _ = play_evaluation(spec, params, player, other, settings)
        if result.nothing_played:
            raise SurgeryError("--matches", matches, f"matches that can be played; {result.nothing_played}")
        found.append(_strength(result, which, name))
    (low, high), (lowest, highest) = (x.interval for x in found)
    differ = highest < low or high < lowest
    failure = f"verification failed: {found[0].text()}, {found[1].text()}" if differ else ""
    return msgspec.structs.replace(proof, apart=tuple(found), failure=failure)


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
