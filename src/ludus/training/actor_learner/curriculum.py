"""ELF's curriculum: a bot plays the first ticks of the learner's matches, ever fewer of them.

The bot plays k ticks, k ~ U{0..n}; n falls linearly to zero (ELF, section 4: "the built-in AI
played the first k ticks ... k ~ U(0, 1000) and was decayed"), or by steps as the learner wins.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ludus.flow import SeatPlan, Terms
from ludus.presets.config import CurriculumConfig
from ludus.training.actor_learner.rollout_summary import Opening, RolloutSummary
from ludus.training.actor_learner.schedule import Schedule
from ludus.training.actor_learner.state import Handover
from ludus.training.stopping import Budget

TICKS = "rollout/handover_ticks"  # metric: the most ticks that a bot plays first


def with_curriculum(plan: SeatPlan, config: CurriculumConfig) -> SeatPlan:
    """Return ``plan`` with the bot of ``config`` before its policy."""
    ticks = config.ticks if config.bot else 0
    return msgspec.structs.replace(plan, handover_bot=config.bot, handover_ticks=ticks)


class Curriculum(Schedule):
    """Schedule of the ticks that the bot plays first."""

    def terms(self, terms: Terms, used: Budget) -> Terms:
        """See :class:`Schedule`."""
        if not self.preset.curriculum.bot:
            return terms
        return msgspec.structs.replace(terms, handover=self._ticks(used))

    def on_update(self, summary: RolloutSummary, used: Budget) -> None:
        """Move a curriculum that advances by win rate. Win rates with and without the bot never mix."""
        config, state = self.preset.curriculum, self.state
        helped = self._ticks(used) > 0
        if helped != state.helped:
            state.helped, state.win_rate = helped, {}
            if not state.opening.over:
                state.opening = Opening()
        if config.bot and config.advance > 0.0:
            state.handover = advanced(config, state.handover, summary.outcomes)

    def numbers(self, used: Budget) -> dict[str, float]:
        """See :class:`Schedule`."""
        if not self.preset.curriculum.bot:
            return {}
        numbers = {TICKS: float(self._ticks(used))}
        if self.state.handover.ticks >= 0:
            numbers["rollout/handover_win_rate"] = self.state.handover.win_rate
        return numbers

    def _ticks(self, used: Budget) -> int:
        return handover_ticks(self.preset.curriculum, self.progress(used), self.state.handover)


def handover_ticks(config: CurriculumConfig, done: float, handover: Handover | None = None) -> int:
    """Return ``n`` when the share ``done`` (0..1) of the budget is used, or that of ``handover``."""
    if not config.bot:
        return 0
    if config.advance > 0.0:
        return config.ticks if handover is None or handover.ticks < 0 else handover.ticks
    return config.ticks_at(done)


def advanced(
    config: CurriculumConfig, handover: Handover, outcomes: Mapping[str, tuple[int, int, int]]
) -> Handover:
    """Return the curriculum after the matches of one slab.

    The win rate runs over about ``config.matches`` matches. Once so many have ended under the present n and
    it is at least ``config.advance``, n falls by ``config.step`` and the win rate is measured again.

    Args:
        config: with ``advance`` above 0.
        handover: before these matches.
        outcomes: opponent -> won, drawn, lost.
    """
    ticks = handover_ticks(config, 0.0, handover)
    won = sum(w for w, _, _ in outcomes.values())
    played = sum(map(sum, outcomes.values()))
    if played == 0:
        return Handover(ticks, handover.matches, handover.win_rate)
    matches = handover.matches + played
    weight = min(1.0, played / min(matches, config.matches))
    win_rate = handover.win_rate + weight * (won / played - handover.win_rate)
    if ticks > 0 and matches >= config.matches and win_rate >= config.advance:
        return Handover(max(0, ticks - config.step))
    return Handover(ticks, matches, win_rate)
