"""A league as pages show it: members, players, payoff, ratings, lineage, and the matches of two players."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from ludus.flow.inputs.shown import shell
from ludus.flow.names import did_you_mean
from ludus.league.record import Milestone, Record
from ludus.league.strengths import Strengths, strengths
from ludus.league.summary import (
    MeetingRow,
    PayoffPairs,
    PlayerRow,
    Status,
    lineage,
    meetings,
    payoff_pairs,
    players,
    status,
)
from ludus.reporting.followed_league import FollowedLeague
from ludus.reporting.run_view import RunView
from ludus.storage.errors import RunNotFound
from ludus.storage.rundir import RunDirectory
from ludus.web.serve.compare.remade import Remade
from ludus.web.serve.library import PLAYED, Library, ReplayLine, Run, UnknownId
from ludus.web.serve.matches import UnplayableMatch, rules_of
from ludus.web.serve.runs import RunLine, line_of

MOST_SHOWN = 600  # players of a payoff that is sent at once
NEWEST = 60  # frozen players of each member that a payoff has unless a page asks for another number
MOST_EVENTS = 2000  # of a lineage
MOST_OPEN, MOST_PLAYERS = 8, 6000  # leagues that are kept open, and players of all of them
IDLE_S = 120.0  # until a league that no page asks for is forgotten


class LeaguePage(msgspec.Struct, frozen=True):
    """A league with all that its page shows at once.

    ``meetings``: opponents of the members; ``lineage``: the newest milestones, of ``milestones`` in all.
    """

    about: RunLine
    status: Status
    players: tuple[PlayerRow, ...]
    meetings: tuple[MeetingRow, ...]
    lineage: tuple[Milestone, ...]
    milestones: int


class ShownRatings(msgspec.Struct, frozen=True):
    """Ratings of all players. ``events``: events of the journal that they count."""

    events: int
    ratings: Strengths


class ShownPayoff(msgspec.Struct, frozen=True):
    """Results of some players against each other. ``left``: frozen players that are not among them."""

    events: int
    pairs: PayoffPairs
    left: int


class PairMatches(msgspec.Struct, frozen=True):
    """Recorded matches of two players.

    ``record``: the command that plays and records one; empty if it cannot be played, and ``why`` is the
    reason. ``seats``: the players as a match on a page names them; empty where pages cannot play it.
    """

    replays: tuple[ReplayLine, ...]
    left_off: int
    record: str
    why: str
    seats: tuple[str, ...]


class _OpenLeague:
    """A record that a page looks at."""

    def __init__(self, run: Run) -> None:
        self.lock = threading.Lock()
        self.followed = FollowedLeague(run.directory)
        self.players = 0
        self.used = time.monotonic()


class Leagues:
    """The leagues of a served folder. Threads may share it."""

    def __init__(self, library: Library) -> None:
        """Show the leagues of the runs in ``library``."""
        self._library = library
        self._lock = threading.Lock()
        self._open: OrderedDict[str, _OpenLeague] = OrderedDict()
        self._timer: threading.Timer | None = None
        self._ratings = Remade[ShownRatings]()

    def page(self, name: str) -> LeaguePage:
        """Return the page of a league. All methods raise :class:`UnknownId` and ``StorageError``."""
        with self._record(name) as (run, record):
            about = line_of(run)
            events = lineage(record)
            found = RunView(run.directory).newest_rates().items()
            rates = {name: (rate.received_per_s, rate.consumed_per_s) for name, rate in found}
            return LeaguePage(
                about=about,
                status=status(record, about.state, rates),
                players=players(record, _files(run.directory)),
                meetings=meetings(record),
                lineage=events[-MOST_EVENTS:],
                milestones=len(events),
            )

    def ratings(self, name: str) -> ShownRatings:
        """Return the ratings of all players; while the league runs, they may be some events old."""
        with self._record(name) as (run, record):
            number = record.league.number

            def made() -> ShownRatings:
                return ShownRatings(number, strengths(record))

            return self._ratings.get(str(run.path), (number, record.last_time), made)

    def payoff(self, name: str, newest: int = NEWEST) -> ShownPayoff:
        """Return results of the members, the bots that were met, and the newest frozen players.

        ``newest``: how many of each member; fewer where all of them are more than :data:`MOST_SHOWN`.
        """
        with self._record(name) as (_, record):
            names, left = _shown(record, newest)
            return ShownPayoff(record.league.number, payoff_pairs(record, names), left)

    def matches(self, name: str, a: str, b: str) -> PairMatches:
        """Return the recorded matches of two players."""
        with self._record(name) as (run, record):
            state = {p.name: p for p in record.players}
            for player in (a, b):
                if player not in state:
                    hint = did_you_mean(player[:200], list(state), "players")
                    raise UnknownId(f"{player[:80]}: no such player in this league{hint}")
            kinds = {player: state[player].kind for player in (a, b)}
            gone = [p for p in (a, b) if state[p].retired or (kinds[p] == "frozen" and not _has(run, p))]
        sides = [_side(run, player, set(state), kinds[player]) for player in (a, b)]

        def fits(line: ReplayLine) -> bool:
            return not line.problem and _are_sides(line, sides, run)

        lines, left = self._library.listed(fits)
        about = line_of(run)
        if gone:
            return PairMatches(tuple(lines), left, "", f"the weights of {gone[0]} are gone", ())
        names = [p if kinds[p] == "bot" else f"{run.id}@{p}" for p in (a, b)]
        command = _command(run, about, (a, b), kinds)
        return PairMatches(tuple(lines), left, command, "", _seats(about, names))

    @contextlib.contextmanager
    def _record(self, name: str) -> Iterator[tuple[Run, Record]]:
        """Yield a run and the record of its league, which no other thread uses meanwhile."""
        run = self._library.run(name)
        key = str(run.path)
        with self._lock:
            opened = self._open.setdefault(key, _OpenLeague(run))
            self._open.move_to_end(key)
            opened.used = time.monotonic()
        with opened.lock:
            try:
                record = opened.followed.read()
            except RunNotFound:
                raise UnknownId("this run has no league") from None
            opened.players = len(record.players)
            self._close_others(key)
            yield run, record

    def _close_others(self, key: str) -> None:
        """Forget leagues that are too large together, the one that was asked for least recently first."""
        with self._lock:
            for other in [k for k in self._open if k != key]:
                kept = self._open.values()
                if len(kept) > MOST_OPEN or sum(o.players for o in kept) > MOST_PLAYERS:
                    del self._open[other]
            if self._timer is None:
                self._timer = threading.Timer(IDLE_S, self._close_idle)
                self._timer.daemon = True
                self._timer.start()

    def _close_idle(self) -> None:
        """Forget leagues that no page looks at: thousands of players take a gigabyte."""
        with self._lock:
            self._timer = None
            now = time.monotonic()
            for key in [k for k, o in self._open.items() if now - o.used > IDLE_S]:
                del self._open[key]
            rest = bool(self._open)
        if rest:
            self._close_others("")


def _shown(record: Record, newest: int) -> tuple[list[str], int]:
    """Return members, bots that were met, and the newest frozen players by member; and how many are left."""
    members = [m.name for m in record.members]
    met = {name for key in record.league.counts for name in key[:2]}
    bots = [p.name for p in record.players if p.kind == "bot" and p.name in met]
    first = [*members, *bots][:MOST_SHOWN]
    frozen: dict[str, list[str]] = {m: [] for m in members}
    for player in record.players:
        if player.kind == "frozen":
            frozen[player.member].append(player.name)
    lines = [line for line in frozen.values() if line]
    most = min(newest, (MOST_SHOWN - len(first)) // max(1, len(lines)))
    chosen = [name for line in lines for name in line[max(0, len(line) - most) :]]
    return [*first, *chosen], sum(map(len, lines)) - len(chosen)


def _files(run: RunDirectory) -> set[str]:
    return {f"{p}:{v}" for p in run.frozen.players() for v in run.frozen.versions(p)}


def _has(run: Run, player: str) -> bool:
    member, _, version = player.rpartition(":")
    frozen = run.directory.frozen
    return member in frozen.players() and int(version) in frozen.versions(member)


class _Side(msgspec.Struct, frozen=True):
    """Names that a player has in replays. ``others``: players whose weights are not this one's."""

    name: str
    kind: str
    reference: str
    others: set[str]

    def is_seat(self, seat: str, own: bool) -> bool:
        """Return whether ``seat`` of a replay was this player. ``own``: the replay is in the run's folder."""
        if self.kind == "bot":
            return seat == self.name
        folder, at, weights = seat.rpartition("@")
        if not at or not (own or folder == self.reference):
            return False
        if self.kind == "frozen":
            return weights == self.name
        member, colon, version = weights.partition(":")
        return member == self.name and weights not in self.others and (not colon or version.isdecimal())


def _side(run: Run, player: str, everyone: set[str], kind: str) -> _Side:
    reference = run.directory.reference(0).rpartition("@")[0]
    return _Side(player, kind, reference, everyone - {player})


def _are_sides(line: ReplayLine, sides: list[_Side], run: Run) -> bool:
    """Return whether all seats of a replay were one of two players, and both played."""
    own = line.run == run.id
    seats = [[side.is_seat(seat, own) for side in sides] for seat in line.players]
    return all(map(any, seats)) and all(any(seat[k] for seat in seats) for k in (0, 1))


def _seats(about: RunLine, names: Sequence[str]) -> tuple[str, ...]:
    """Return the player of each seat, the first one in the team of seat 0; empty if pages play no match."""
    if not about.playable:
        return ()
    try:
        spec = rules_of(about.game, about.params).spec
    except UnplayableMatch:
        return ()
    return tuple(names[not spec.together(0, p)] for p in range(spec.seats)) if spec.seats > 1 else ()


def _command(run: Run, about: RunLine, pair: tuple[str, str], kinds: Mapping[str, str]) -> str:
    """Return the command that plays one match of two players and records it."""
    path = os.path.relpath(run.path)
    path = str(run.path) if path.startswith("..") else path
    ordered = sorted(pair, key=lambda p: kinds[p] == "bot")  # weights know their game
    first, second = (p if kinds[p] == "bot" else f"{path}@{p}" for p in ordered)
    folder = f"{path}/{PLAYED}"
    if all(kind == "bot" for kind in kinds.values()):
        return (
            f"ludus eval {shell(first)} --against {shell(second)} --game {shell(about.game)} "
            f"--matches 1 --record {shell(folder)}"
        )
    return f"ludus eval {shell(first)} --against {shell(second)} --matches 1 --record {shell(folder)}"
