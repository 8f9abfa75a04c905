"""ELF's curriculum: a bot plays the first ticks of the learner's matches, ever fewer of them.

What a run's schedules set of a match, the curriculum among them, is one :class:`ludus.flow.Terms`.

The bot plays k ticks, k ~ U{0..n}; n falls linearly to zero (ELF, section 4: "the built-in AI
played the first k ticks ... k ~ U(0, 1000) and was decayed"), or by steps as the learner wins.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ludus.flow import SeatPlan, Terms
from ludus.presets.config import CurriculumConfig, Preset, TeamConfig
from ludus.training.actor_learner.old_rules import OldRules

TICKS = "rollout/handover_ticks"  # metric: the most ticks that a bot plays first


class Handover(msgspec.Struct, frozen=True):
    """Progress of a curriculum that advances by win rate.

    ``ticks``: n, -1 before the first match. ``matches``: number of matches that ended under it;
    ``win_rate``: their win rate.
    """

    ticks: int = -1
    matches: int = 0
    win_rate: float = 0.0


def with_curriculum(plan: SeatPlan, config: CurriculumConfig) -> SeatPlan:
    """Return ``plan`` with the bot of ``config`` before its policy."""
    ticks = config.ticks if config.bot else 0
    return msgspec.structs.replace(plan, handover_bot=config.bot, handover_ticks=ticks)


def terms_at(preset: Preset, done: float, handover: Handover, before: OldRules | None) -> Terms:
    """Return the conditions of play when the share ``done`` (0..1) of the budget is used."""
    ticks, rules, shared = preset.curriculum, preset.game.before, preset.team
    return Terms(
        handover=handover_ticks(ticks, done, handover) if ticks.bot else None,
        spirit=shared.spirit_at(done) if shared.changes else None,
        old_share=rules.share_at(before.way) if rules is not None and before is not None else None,
    )


def terms_numbers(preset: Preset, done: float, handover: Handover) -> dict[str, float]:
    """Return the metrics of curriculum and shared rewards when the share ``done`` of the budget is used."""
    numbers: dict[str, float] = {}
    if preset.curriculum.bot:
        numbers[TICKS] = float(handover_ticks(preset.curriculum, done, handover))
        if handover.ticks >= 0:
            numbers["rollout/handover_win_rate"] = handover.win_rate
    if preset.team != TeamConfig():
        numbers["team/spirit"] = preset.team.spirit_at(done)
    return numbers


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
