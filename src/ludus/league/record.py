"""Record of a league for people, from its journal: players, results, and the life of each member.

A :class:`Record` needs only the journal, not the settings of the run: it applies the rows to a league whose
members ask for nothing. It adds what the live league does not keep: the milestones of each member, and
results by *entrant*. An entrant is what a rating is about: a bot, a frozen player, or the live weights of a
member from one freeze to the next, which are a separate player since they keep changing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ludus.flow.league import JournalRow, Tally
from ludus.league import config as cfg
from ludus.league.events import (
    SEED,
    Answered,
    AnyEvent,
    Copied,
    Frozen,
    Joined,
    Mutated,
    Ordered,
    Reset,
    Results,
    Ruled,
    Withdrawn,
    from_row,
    merge,
)
from ludus.league.league import League
from ludus.league.payoff import DECAY, Floats
from ludus.league.players import player_of
from ludus.league.roles import ROLES
from ludus.league.standings import MemberStanding, PlayerState
from ludus.ratings.sparse import Pairs

MAX_PLAYERS = 4096  # tables grow with the square

MAKE_PLAYERS = ("joined", "frozen")  # kinds of events

What = Literal["joined", "frozen", "reset", "copied", "mutated", "withdrawn"]


@dataclass(frozen=True, slots=True)
class Milestone:
    """Something that happened to a member at ``steps`` of its decisions. ``time``: seconds since 1970.

    ``detail``: the frozen player and why, what the member continued from, or why it was withdrawn.
    ``parent``: the frozen player that its weights come from then, empty for first weights.
    """

    member: str
    what: What
    steps: int
    time: float
    detail: str
    hyper: dict[str, float]
    parent: str = ""


@dataclass(slots=True)
class Entrant:
    """``player``: index in the standings. ``shown``: False for live weights of the past.

    ``steps``: the member's decisions, None for a bot.
    """

    name: str
    player: int
    shown: bool = True
    steps: int | None = None


@dataclass(slots=True)
class Began:
    """Start of entrant ``new``, as strong as ``old``; None: of unknown strength."""

    new: int
    old: int | None


@dataclass(slots=True)
class Met:
    """Results of entrant ``i`` against entrant ``j``."""

    i: int
    j: int
    wins: int
    draws: int
    losses: int


@dataclass(slots=True)
class Record:
    """Contents of a journal. ``add`` its rows in order."""

    decay: float = DECAY
    league: League = field(init=False)
    milestones: list[Milestone] = field(default_factory=list)
    entrants: list[Entrant] = field(default_factory=list)
    history: list[Began | Met] = field(default_factory=list)
    first_time: float = 0.0
    last_time: float = 0.0
    _entrant: dict[str, int] = field(default_factory=dict)  # of bots, frozen players and members, by name

    def __post_init__(self) -> None:
        """Start a league whose members request nothing."""
        self.league = League(cfg.LeagueConfig(freeze_first=False, decay=self.decay), 0)

    @property
    def players(self) -> list[PlayerState]:
        """All players, in the order in which they joined."""
        return self.league.standings.players

    @property
    def members(self) -> list[MemberStanding]:
        """Members, in the order in which they joined."""
        return list(self.league.standings.members.values())

    def read(self, rows: Iterable[JournalRow], players: int = 0) -> Record:
        """Add all ``rows``. Raises ``ValueError`` for rows that no league wrote.

        ``players``: how many they make, about; tables of that size need no copies.
        """
        self.league.standings.payoff.reserve(min(MAX_PLAYERS, players))
        for row in rows:
            self.add(row)
        return self

    def add(self, row: JournalRow) -> None:
        """Add the next row of the journal. Raises ``ValueError``."""
        event = from_row(row)
        _check_names(row.number, event)
        self.first_time = self.first_time or row.time
        self.last_time = row.time
        if isinstance(event, Results):
            self._results(event)
            return
        before = len(self.players)
        if isinstance(event, Joined) and event.kind == "learner":
            self._admit(row.number, event)
        ignored = sum(self.league.ignored.values())
        self.league.apply(event)
        if sum(self.league.ignored.values()) > ignored:
            return
        if len(self.players) > before:
            self._enter(before)
        if len(self.players) > MAX_PLAYERS:
            raise ValueError(f"event {row.number}: more than {MAX_PLAYERS} players")
        self._note(event, row.time)

    def _admit(self, number: int, event: Joined) -> None:
        if event.role not in ROLES:
            raise ValueError(f"event {number}: unknown role {event.role[:80]!r}")
        # Its own rules decide nothing here: what they decided is in the journal.
        idle = cfg.PlayerConfig(
            event.player, event.role, meet=(cfg.Latest(),), freeze=cfg.Never(), origin=cfg.Itself()
        )
        self.league.admit(idle)

    def _enter(self, player: int) -> None:
        state = self.players[player]
        steps = None if state.kind == "bot" else self._steps(state.member)
        self._entrant[state.name] = len(self.entrants)
        self.entrants.append(Entrant(state.name, player, steps=steps))

    def _steps(self, member: str) -> int:
        state = self.league.standings.members.get(member)
        return state.steps if state is not None else 0

    def _note(self, event: AnyEvent, time: float) -> None:
        """Add the member's milestone, and the new entrant of its live weights."""
        if isinstance(event, Joined):
            if event.kind == "learner":
                self._milestone("joined", event.player, time, event.role)
        elif isinstance(event, Frozen):
            name = player_of(event.member, event.version)
            self._milestone("frozen", event.member, time, f"{name} ({event.reason})")
            live = self._entrant[event.member]
            self.history.append(Began(self._entrant[name], live))
            self._renew(event.member, live)
        elif isinstance(event, Reset):
            self._milestone("reset", event.member, time, event.source)
            first = player_of(event.member, 0)
            self._renew(event.member, self._entrant.get(first if event.source == SEED else event.source))
        elif isinstance(event, Copied):
            self._milestone("copied", event.member, time, event.source)
            self._renew(event.member, self._entrant[event.source])
        elif isinstance(event, Mutated):
            self._milestone("mutated", event.member, time, "")
        elif isinstance(event, Withdrawn):
            self._milestone("withdrawn", event.member, time, event.why)

    def _milestone(self, what: What, member: str, time: float, detail: str) -> None:
        state = self.league.standings.members[member]
        hyper = dict(state.hyper)
        self.milestones.append(Milestone(member, what, state.steps, time, detail, hyper, state.parent))

    def _renew(self, member: str, like: int | None) -> None:
        """Make the live weights of ``member`` a new entrant, as strong as entrant ``like``."""
        old = self._entrant[member]
        self.entrants[old].shown = False
        self._entrant[member] = len(self.entrants)
        self.entrants.append(Entrant(member, self.entrants[old].player, steps=self._steps(member)))
        self.history.append(Began(self._entrant[member], like))

    def _results(self, event: Results) -> None:
        counts = self.league.counts
        tallies = merge(event.tallies)
        before = [sum(counts.get(_key(t), ())) for t in tallies]
        self.league.apply(event)
        for tally, was in zip(tallies, before, strict=True):
            if tally.player != tally.opponent and sum(counts.get(_key(tally), ())) > was:
                i, j = self._entrant[tally.player], self._entrant[tally.opponent]
                self.history.append(Met(i, j, tally.wins, tally.draws, tally.losses))
        if event.member in self._entrant:
            self.entrants[self._entrant[event.member]].steps = self._steps(event.member)

    def points(self) -> tuple[Floats, Floats]:
        """``points`` and ``matches: [N, N]`` of the entrants, as ``ludus.ratings`` takes them."""
        count = len(self.entrants)
        points, matches = np.zeros((count, count)), np.zeros((count, count))
        for met in self.history:
            if isinstance(met, Met):
                played = met.wins + met.draws + met.losses
                points[met.i, met.j] += met.wins + 0.5 * met.draws
                points[met.j, met.i] += met.losses + 0.5 * met.draws
                matches[met.i, met.j] += played
                matches[met.j, met.i] += played
        return points, matches

    def pairs(self) -> Pairs:
        """Return the results of :meth:`points` by pairs of entrants that met."""
        sums: dict[tuple[int, int], list[float]] = {}
        for met in self.history:
            if isinstance(met, Met):
                i, j, wins = (met.i, met.j, met.wins) if met.i < met.j else (met.j, met.i, met.losses)
                total = sums.setdefault((i, j), [0.0, 0.0])
                total[0] += wins + 0.5 * met.draws
                total[1] += met.wins + met.draws + met.losses
        places = np.array(list(sums), np.int64).reshape(-1, 2)
        numbers = np.array(list(sums.values()), np.float64).reshape(-1, 2)
        return Pairs(places[:, 0], places[:, 1], numbers[:, 0], numbers[:, 1])

    def anybody_met(self) -> bool:
        """Whether two players have met: never in a game of one seat."""
        return any(isinstance(entry, Met) for entry in self.history)

    def frozen_at(self) -> dict[str, Milestone]:
        """Return the milestone at which each frozen player was made, by its name."""
        return {m.detail.partition(" ")[0]: m for m in self.milestones if m.what == "frozen"}

    def children(self) -> dict[str, list[str]]:
        """Frozen players by the one that they came from; ``""``: from first weights."""
        found: dict[str, list[str]] = {}
        for player in self.players:
            if player.kind == "frozen":
                found.setdefault(player.parent, []).append(player.name)
        return found


def _key(tally: Tally) -> tuple[str, str, int, str]:
    return tally.player, tally.opponent, tally.seat, tally.tag


def _names(event: AnyEvent) -> Iterator[str]:
    if isinstance(event, Joined):
        yield from (event.player, event.role, *event.hyper)
    elif isinstance(event, Results):
        for tally in event.tallies:
            yield from (tally.player, tally.opponent, tally.tag)
    elif isinstance(event, (Copied, Mutated)):
        yield from event.hyper
    elif isinstance(event, Ordered):
        yield from event.weights
    elif isinstance(event, Ruled):
        yield from (event.rule, event.sha256)
    elif isinstance(event, Answered):
        yield event.answer
    if isinstance(event, (Reset, Copied)):
        yield event.source


def _check_names(number: int, event: AnyEvent) -> None:
    """Refuse names that a terminal or a page must not show. Raises ``ValueError``."""
    if isinstance(event, Withdrawn) and not event.why.isprintable():
        raise ValueError(f"event {number}: a reason that cannot be shown: {event.why[:40]!r}")
    for name in _names(event):
        if not name.isprintable() or len(name) > 128:
            raise ValueError(f"event {number}: a name that cannot be shown: {name[:40]!r}")
