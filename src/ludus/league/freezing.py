"""When a member is frozen: one function from its rule and its standing to a reason, or none.

Steps and updates count from the member's own last freeze or reset. They are never inherited: a member that
continues from another's copy starts its period again.
"""

from __future__ import annotations

import numpy as np

from ludus.league import config as cfg
from ludus.league.events import Reason
from ludus.league.payoff import Indices
from ludus.league.standings import MAINS, PERIOD, MemberStanding, Standings


def due(rule: cfg.AnyFreeze, me: MemberStanding, standings: Standings) -> Reason | None:
    """Why a copy of ``me`` is to be frozen now; None if it is not."""
    steps, updates = me.steps - me.frozen_steps, me.updates - me.frozen_updates
    if isinstance(rule, cfg.Period):
        return "period" if steps >= me.hyper.get(PERIOD, rule.steps) else None
    if isinstance(rule, cfg.Updates):
        return "updates" if updates >= rule.every else None
    if isinstance(rule, (cfg.Never, cfg.FreezeOfRole)):
        return None
    if steps < rule.min_steps or steps <= 0:
        return None
    if beats(rule, me, standings):
        return "beats"
    return "timeout" if rule.max_steps and steps >= rule.max_steps else None


def beats(rule: cfg.Beats, me: MemberStanding, standings: Standings) -> bool:
    """Return whether ``me`` beats all players that the rule names. True before there are any.

    A pair that never met has a rate of 1/2, so it does not count as beaten.
    """
    others = _against(rule, me, standings)
    if not len(others):
        return True
    payoff = standings.payoff
    return bool(
        payoff.rates(me.player, others).min() > rule.rate
        and payoff.matches(me.player, others).min() >= rule.matches
    )


def _against(rule: cfg.Beats, me: MemberStanding, standings: Standings) -> Indices:
    frozen = standings.frozen(tuple(name for name in rule.against if name != MAINS))
    if MAINS not in rule.against:
        return frozen
    mains = standings.live("main")
    return np.concatenate([frozen, mains[mains != me.player]])
