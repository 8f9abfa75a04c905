"""Weights that a member continues from after a freeze: its own, its seed's, or a frozen player's."""

from __future__ import annotations

import numpy as np

from ludus.league import config as cfg
from ludus.league.events import ITSELF, SEED, Reason
from ludus.league.meeting import meta_strategy
from ludus.league.payoff import Floats, Indices
from ludus.league.roles import choices_of
from ludus.league.standings import MemberStanding, RandomStream, Standings


def source(
    rule: cfg.AnyOrigin, reason: Reason, me: MemberStanding, standings: Standings, stream: RandomStream
) -> str:
    """``ITSELF``, ``SEED`` or the name of a frozen player. The member's newest copy is frozen already."""
    if isinstance(rule, (cfg.Itself, cfg.OriginOfRole)) or (rule.only_after_timeout and reason != "timeout"):
        return ITSELF
    if isinstance(rule, cfg.Seed):
        return SEED if stream.uniform() < rule.probability else ITSELF
    if isinstance(rule, cfg.Best):
        kin = _kin(me, standings)
        return _name(standings, kin[int(np.argmin(_mains_rates(kin, standings)))]) if len(kin) else SEED
    if isinstance(rule, cfg.Nearest):
        return _nearest(rule, me, standings)
    if isinstance(rule, cfg.Cycle):
        leaves = _leaves(me, standings)
        return SEED if len(leaves) < rule.leaves else _name(standings, leaves[0])
    players, shares = standings.meta.get((rule.solver, rule.last)) or meta_strategy(
        standings, rule.solver, rule.last
    )
    known = [k for k, i in enumerate(players) if not standings.players[i].retired]
    if not known:
        return ITSELF
    sums = np.cumsum(shares[known])
    return _name(standings, players[known[int(np.searchsorted(sums, stream.uniform() * sums[-1], "right"))]])


def members_reset_to(config: cfg.LeagueConfig) -> frozenset[str]:
    """Return the members to whose frozen players some member may be reset, besides first weights."""
    found: set[str] = set()
    for player in config.members:
        rule = choices_of(player).origin
        if isinstance(rule, (cfg.Best, cfg.Nearest)):
            found |= {p.name for p in config.members if p.role == player.role}
        elif isinstance(rule, cfg.Cycle):
            found.add(player.name)
        elif player.rule or isinstance(rule, cfg.Meta):
            found |= {p.name for p in config.members}
    return frozenset(found)


def _nearest(rule: cfg.Nearest, me: MemberStanding, standings: Standings) -> str:
    kin = _kin(me, standings)
    rates = _mains_rates(kin, standings)
    inside = (rates > rule.low) & (rates < rule.high)
    if not inside.any():
        return SEED
    away = np.where(inside, np.abs(rates - rule.to), np.inf)
    return _name(standings, kin[int(np.argmin(away))])


def _kin(me: MemberStanding, standings: Standings) -> Indices:
    """Frozen players of the member's role."""
    players = standings.frozen()
    return np.array([i for i in players if standings.players[i].role == me.role], np.int64)


def _mains_rates(players: Indices, standings: Standings) -> Floats:
    """Mean rate ``[N]`` at which live mains beat ``players: [N]``; of all frozen ones where no main lives."""
    mains = standings.live("main")
    judges = mains if len(mains) else standings.frozen()
    if not len(judges):
        return np.full(len(players), 0.5)
    rates: Floats = np.mean([standings.payoff.rates(int(j), players) for j in judges], axis=0)
    return rates


def _leaves(me: MemberStanding, standings: Standings) -> list[int]:
    """Return the member's frozen players that no other of them came from, oldest first."""
    own = [int(i) for i in standings.frozen((me.name,))]
    parents = {standings.players[i].parent for i in own}
    return [i for i in own if standings.players[i].name not in parents]


def _name(standings: Standings, index: int) -> str:
    return standings.players[index].name
