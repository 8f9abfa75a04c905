"""ELF's curriculum: a bot plays the first ticks of the learner's matches, ever fewer of them.

The bot plays k ticks, k ~ U{0..n}; n falls linearly to zero (ELF, section 4: "the built-in AI
played the first k ticks ... k ~ U(0, 1000) and was decayed").
"""

from __future__ import annotations

from ludus.presets.config import CurriculumConfig


def handover_ticks(config: CurriculumConfig, done: float) -> int:
    """``n`` when the share ``done`` (0..1) of the budget is used."""
    if not config.bot or config.ticks <= 0 or config.share <= 0.0:
        return 0
    return round(config.ticks * max(0.0, 1.0 - done / config.share))
