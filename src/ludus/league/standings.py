"""Standings: players, members and what is known about them. The state that rules read and events change.

Players are indices everywhere inside; names appear at the edges only. A player is never removed: a retired
one is met no more and keeps its results.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from ludus.flow.seeds import SEED_LEAGUE, derive_seed
from ludus.league.events import Kind, Method, Request
from ludus.league.payoff import Floats, Indices, Payoff
from ludus.league.roles import Choices, RoleKind

T = TypeVar("T")

ALL, MAINS, EXPLOITERS, BOTS = "all", "mains", "exploiters", "bots"
GROUPS = (ALL, MAINS, EXPLOITERS, BOTS)  #: what ``among`` may say beside names
_KINDS: dict[str, tuple[RoleKind, ...]] = {
    ALL: ("main", "exploiter", "population"),
    MAINS: ("main",),
    EXPLOITERS: ("exploiter",),
}

#: Settings of a member's own rules that a population may change, by path.
SIGMA, PERIOD = "meet.elo.sigma", "freeze.steps"

NO_PLAYERS: Indices = np.zeros(0, np.int64)


class RandomStream:
    """Random numbers of one decision.

    They depend on the seed and on what is decided, not on earlier draws.
    """

    def __init__(self, seed: int, *parts: int) -> None:
        """Start the stream of the decision that ``parts`` number."""
        self._seed = derive_seed(seed, SEED_LEAGUE, *parts)
        self._drawn = 0

    def uniform(self) -> float:
        """Draw a number in [0, 1)."""
        self._drawn += 1
        return (derive_seed(self._seed, self._drawn) >> 10) / (1 << 53)

    def pick(self, items: list[T]) -> T:
        """Draw one of ``items``, each as likely."""
        return items[int(self.uniform() * len(items))]


@dataclass(slots=True)
class PlayerState:
    """``member``, ``role``: whose player it is, empty for a bot. ``parent``: the frozen one it came from."""

    name: str
    kind: Kind
    member: str = ""
    role: str = ""
    version: int = 0
    parent: str = ""
    retired: bool = False
    elo: float = 0.0


@dataclass(slots=True)
class MemberStanding:
    """A learner. ``player``: index of its live weights; ``order``: its place among the members.

    ``frozen_steps``, ``frozen_updates``: its totals at the last freeze or reset; ``exploit_steps``: at the
    last exploit step of the population's rule. ``pending``: a request that was not reported yet.
    ``rule``: the rule of one's own that decides for it, with the hash of its file; ``awaited``: what that is
    asked next.
    ``withdrawn``: why it plays no more; empty while it does.
    """

    name: str
    order: int
    player: int
    role: str
    choices: Choices
    share: float
    hyper: dict[str, float]
    steps: int = 0
    updates: int = 0
    version: int = 0
    rounds: int = 0  # all rounds below it were counted
    rounds_ahead: set[int] = field(default_factory=set)
    orders: int = 0
    freezes: int = 0
    exploits: int = 0
    frozen_steps: int = 0
    frozen_updates: int = 0
    exploit_steps: int = 0
    parent: str = ""
    pending: Request | None = None
    withdrawn: str = ""
    quality: dict[int, float] = field(default_factory=dict)
    returns: float = 0.0  # decayed sum
    episodes: float = 0.0  # decayed count
    rule: str = ""
    rule_sha256: str = ""
    awaited: Method | None = None

    def mean_return(self) -> float | None:
        """Return the decayed mean of the member's returns a match; None before the first."""
        return self.returns / self.episodes if self.episodes > 0 else None


class Standings:
    """Who is there, and how each fares."""

    def __init__(self, decay: float) -> None:
        """Start without players. ``decay``: see :class:`ludus.league.payoff.Payoff`."""
        self.payoff = Payoff(decay)
        self.players: list[PlayerState] = []
        self.members: dict[str, MemberStanding] = {}
        self.meta: dict[tuple[str, int], tuple[Indices, Floats]] = {}
        self._index: dict[str, int] = {}
        self._frozen: dict[tuple[str, ...], Indices] = {}
        self._kind: dict[str, RoleKind] = {}

    def add(self, state: PlayerState, parent: int | None = None) -> int:
        """Add a player, which expects the rates of ``parent``, and return its index."""
        index = self.payoff.add(state.kind == "learner", parent)
        self.players.append(state)
        self._index[state.name] = index
        self._frozen.clear()
        return index

    def add_member(self, state: MemberStanding) -> None:
        """Add a member, whose player is there already."""
        self.members[state.name] = state
        self._kind[state.name] = state.choices.kind
        self._frozen.clear()

    def retire(self, index: int) -> None:
        """Meet the player at ``index`` no more."""
        self.players[index].retired = True
        self._frozen.clear()

    def find(self, name: str) -> int | None:
        """Index of the player called ``name``."""
        return self._index.get(name)

    def kind_of(self, index: int) -> RoleKind | None:
        """Kind of the role of the player's member; None for a bot."""
        return self._kind.get(self.players[index].member)

    def frozen(self, among: tuple[str, ...] = (ALL,)) -> Indices:
        """Frozen players that can be met, oldest first: of groups, of members by name, and bots by name."""
        found = self._frozen.get(among)
        if found is None:
            kinds = {kind for name in among for kind in _KINDS.get(name, ())}
            chosen = [
                i
                for i, p in enumerate(self.players)
                if not p.retired
                and (
                    (p.kind == "frozen" and (self._kind.get(p.member) in kinds or p.member in among))
                    or (p.kind == "bot" and (p.name in among or BOTS in among))
                )
            ]
            found = self._frozen[among] = np.array(chosen, np.int64)
        return found

    def anchored(self) -> Indices:
        """Everything whose strength stays: frozen players and bots."""
        return self.frozen((ALL, BOTS))

    def live(self, kind: RoleKind) -> Indices:
        """Live players whose role is of this kind, in the order of the members."""
        return np.array([m.player for m in self.playing() if m.choices.kind == kind], np.int64)

    def playing(self) -> list[MemberStanding]:
        """Members that were not withdrawn, in their order."""
        return [m for m in self.members.values() if not m.withdrawn]
