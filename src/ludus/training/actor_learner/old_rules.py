"""Schedule of ``game.before``: the share of the slabs that are played under the old rules.

The share moves from its first to its last value as the budget is used. When an evaluation is much lower than
the highest one before, it goes back by a step and moves at half the speed from there.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ludus.evaluation.results import EvalResult
from ludus.flow import Terms
from ludus.presets.checks.before import before_text
from ludus.presets.config import BeforeConfig, RunConfig
from ludus.training.actor_learner.rollout_summary import RolloutSummary
from ludus.training.actor_learner.schedule import Schedule
from ludus.training.actor_learner.state import OldRules
from ludus.training.stopping import Budget, progress

STEP = 0.1  # of the way, by which a setback goes back
SLOWER = 0.5  # factor of the speed after a setback
DONE = 1.0 - 1e-9  # of the way: all of it but for rounding


class OldRulesShare(Schedule):
    """Schedule of the share of slabs under the old rules."""

    def text(self) -> str:
        """See :class:`Schedule`."""
        before, state = self.preset.game.before, self.state.before
        if before is None:
            return ""
        now = f"; now {before.share_at(state.way):.1%}" if state is not None else ""
        return f"{before_text(before)}{now}"

    def terms(self, terms: Terms, used: Budget) -> Terms:
        """Move the share to where it is when ``used`` of the budget is used."""
        before = self.preset.game.before
        if before is None:
            return terms
        state = self.state.before = moved(before, self.preset.run, used, self.state.before)
        return msgspec.structs.replace(terms, old_share=before.share_at(state.way))

    def on_update(self, summary: RolloutSummary, used: Budget) -> None:
        """Count the decisions under the old rules."""
        if (state := self.state.before) is not None:
            self.state.before = msgspec.structs.replace(state, steps=state.steps + summary.before_steps)

    def on_evaluation(self, results: Sequence[EvalResult]) -> str:
        """Set the new rules back after a fall."""
        before, state = self.preset.game.before, self.state.before
        if before is None or state is None:
            return ""
        now = self.state.before = evaluated(before, state, results)
        if now.setbacks == state.setbacks:
            return ""
        return (
            f"the evaluation fell by more than game.before.setback = {before.setback:g}: old rules in "
            f"{before.share_at(now.way):.1%} of the slabs, a share that moves at half the speed from now on"
        )

    def numbers(self, used: Budget) -> dict[str, float]:
        """See :class:`Schedule`."""
        before, state = self.preset.game.before, self.state.before
        if before is None or state is None:
            return {}
        numbers = {"game/before_share": before.share_at(state.way), "game/before_steps": float(state.steps)}
        return numbers | ({"game/before_setbacks": float(state.setbacks)} if before.setback else {})


def clock_of(config: BeforeConfig, run: RunConfig, used: Budget) -> float:
    """Return steps, or the share of the budget, that are used."""
    return float(used.steps) if config.over_steps else progress(run, used)


def moved(config: BeforeConfig, run: RunConfig, used: Budget, state: OldRules | None) -> OldRules:
    """Return the schedule when ``used`` of the budget is used; it starts there where ``state`` is None.

    A larger budget in a resume moves nothing back: the share continues at the pace that follows from it.
    """
    now = clock_of(config, run, used)
    if state is None:
        state = OldRules(float(config.over_steps) or config.until * (1.0 - now), now)
    if state.span <= 0.0:
        return msgspec.structs.replace(state, way=1.0, clock=now)
    way = state.way + state.speed * max(0.0, now - state.clock) / state.span
    return msgspec.structs.replace(state, way=way if way < DONE else 1.0, clock=now)


def evaluated(config: BeforeConfig, state: OldRules, results: Sequence[EvalResult]) -> OldRules:
    """Return the schedule after an evaluation, which sets it back if its measure has fallen too far.

    An evaluation without a match that ended changes nothing.

    Args:
        config: With ``setback``; 0 = no evaluation changes anything.
        state: The schedule before it.
        results: Results against each opponent under the new rules; one or more.
    """
    if config.setback <= 0.0 or any(r.nothing_played for r in results):
        return state
    measure = sum(r.measure for r in results) / len(results)
    if state.highest is None or measure >= state.highest:
        return msgspec.structs.replace(state, highest=measure)
    if state.highest - measure <= config.setback:
        return state
    return msgspec.structs.replace(
        state,
        way=max(0.0, state.way - STEP),
        speed=state.speed * SLOWER,
        highest=measure,
        setbacks=state.setbacks + 1,
    )
