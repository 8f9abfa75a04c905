"""View that a rule of one's own has of a league: its member, the players, their ratings and the payoff.

Everything is a copy or read-only. Players are names. Retired players, who cannot be met, are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ludus.flow.names import did_you_mean
from ludus.league.events import Kind
from ludus.league.standings import MemberStanding, Standings


@dataclass(frozen=True, slots=True)
class SeenPlayer:
    """A player that can be met.

    Args:
        name: ``main`` (live weights), ``main:1200`` (frozen ones) or a bot of the game.
        kind: ``learner``, ``frozen`` or ``bot``.
        member: The member whose weights they are; "" for a bot.
        role: Role of that member; "" for a bot.
        version: Version of frozen weights.
        parent: The frozen player that they came from; "" for first weights.
    """

    name: str
    kind: Kind
    member: str
    role: str
    version: int
    parent: str


@dataclass(frozen=True, slots=True)
class SeenMember:
    """The member that the rule decides for.

    Args:
        name: Its name, which is also the player with its live weights.
        role: Its role.
        version: Version of its newest weights.
        steps: Decisions that it has learned from.
        updates: Updates that it has made.
        steps_since: Decisions since its last freeze or reset.
        updates_since: Updates since then.
        freezes: How often it was frozen.
    """

    name: str
    role: str
    version: int
    steps: int
    updates: int
    steps_since: int
    updates_since: int
    freezes: int


class SeenPayoff:
    """Results between players.

    A rate is the share of matches won, draws counted half, with a prior of two matches; 1/2 without any.
    """

    def __init__(self, standings: Standings) -> None:
        """Read ``standings``, which never change while a rule decides."""
        self._standings = standings

    def rate(self, player: str, opponent: str) -> float:
        """Return the rate in (0, 1) at which ``player`` scores against ``opponent``."""
        return self._standings.payoff.rate(self._index(player), self._index(opponent))

    def rates(self, player: str, opponents: Sequence[str]) -> list[float]:
        """Return :meth:`rate` for each of ``opponents``, in one call."""
        others = np.array([self._index(name) for name in opponents], np.int64)
        return [float(rate) for rate in self._standings.payoff.rates(self._index(player), others)]

    def matches(self, player: str, opponent: str) -> int:
        """Return how many matches the two have played."""
        return sum(self._standings.payoff.score(self._index(player), self._index(opponent)))

    def _index(self, name: str) -> int:
        found = self._standings.find(name)
        if found is None:
            names = [player.name for player in self._standings.players]
            raise ValueError(f"{name!r}: no player of the league{did_you_mean(name, names, 'players')}")
        return found


@dataclass(frozen=True, slots=True)
class LeagueView:
    """The view of a league for one decision.

    Args:
        me: The member that the rule decides for.
        players: All players that can be met, in the order in which they joined.
        ratings: Elo rating of each of them, by name; new members and bots start with 0.
        payoff: Results between them.
    """

    me: SeenMember
    players: tuple[SeenPlayer, ...]
    ratings: Mapping[str, float]
    payoff: SeenPayoff

    def frozen(self, *members: str) -> list[str]:
        """Return the names of frozen players, oldest first: of these members, or of all."""
        return [p.name for p in self.players if p.kind == "frozen" and (not members or p.member in members)]


def view_of(standings: Standings, me: MemberStanding) -> LeagueView:
    """Return what the rule of ``me`` sees."""
    known = [p for p in standings.players if not p.retired]
    return LeagueView(
        SeenMember(
            me.name,
            me.role,
            me.version,
            me.steps,
            me.updates,
            me.steps - me.frozen_steps,
            me.updates - me.frozen_updates,
            me.freezes,
        ),
        tuple(SeenPlayer(p.name, p.kind, p.member, p.role, p.version, p.parent) for p in known),
        MappingProxyType({p.name: p.elo for p in known}),
        SeenPayoff(standings),
    )
