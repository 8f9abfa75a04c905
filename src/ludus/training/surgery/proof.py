"""Proofs before anything is written: both networks side by side, and old against new in matches."""

from __future__ import annotations

import math

import msgspec

from ludus.evaluation.play import MatchPlayer, play_evaluation
from ludus.evaluation.settings import MatchSettings
from ludus.evaluation.weights import network_of
from ludus.policies.outputs import gives_q_values
from ludus.presets.game_checks import resolve_spec
from ludus.ratings.interval import wilson_interval
from ludus.rollouts.network_actor import NetworkActor
from ludus.surgery.plan import SurgeryError
from ludus.surgery.verify import TOLERANCE, Verification
from ludus.training.surgery.conversion import Pair
from ludus.training.surgery.record import measure


class Proof(msgspec.Struct, frozen=True):
    """Results of a verification.

    ``differences``: None where none was asked for. ``decided``: matches with a winner, and ``won`` those of
    the new network, with the 95% interval of their share. ``failure``: why it failed, empty if it passed.
    """

    differences: Verification | None = None
    decided: int = 0
    won: int = 0
    interval: tuple[float, float] = (0.0, 1.0)
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
        return out


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
    if matches and plan is not None and plan.old_spec != plan.new_spec:
        raise SurgeryError(
            "--matches", matches, "0: the old network cannot play the new game; --verify compares both"
        )
    exact = plan is None or plan.exact
    proof = Proof(_differences(pair) if verify else None)
    if proof.differences is not None and (failure := _too_different(proof.differences, exact)):
        return msgspec.structs.replace(proof, failure=failure)
    return _played(pair, proof, matches) if matches else proof


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
