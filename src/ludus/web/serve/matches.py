"""The matches of a server: made as a page or the command line asks, bounded in number, saved at their end."""

from __future__ import annotations

import contextlib
import math
import secrets
import threading
from collections.abc import Callable, Mapping
from typing import Annotated, Literal

import msgspec

from ludus.evaluation.play import limit_of
from ludus.flow.inputs.shown import shown
from ludus.flow.names import did_you_mean
from ludus.flow.problem import HasProblems
from ludus.flow.spec import GameSpec
from ludus.games import registry, replays
from ludus.games.match import Match
from ludus.games.names import UnknownGame, is_installed_name
from ludus.games.registry import list_games, text_params
from ludus.mcts.text import SUFFIX
from ludus.storage.errors import StorageError
from ludus.web.analysis.advisor import Advisor, advisor_of
from ludus.web.analysis.positions import MatchStart, ReplayPoint, start_at
from ludus.web.serve.library import Library
from ludus.web.serve.live.ends import Saved
from ludus.web.serve.messages import BEAT_S
from ludus.web.serve.players import PERSON, PlayerError, Rules, can_search, seat_of
from ludus.web.serve.seats import ActorSeat, Person, Seat
from ludus.web.serve.sentences import sentence
from ludus.web.serve.session import Session
from ludus.web.serve.table import Table

MAX_MATCHES = 4  # that are played at a time
MAX_KEPT = 64  # sessions of matches that are over
MAX_SEATS, MAX_PARAMS, MAX_PARAM = 16, 64, 1 << 16
RATES = (0.05, 20.0)

Text = Annotated[str, msgspec.Meta(max_length=300)]
Start = Literal["now", "order"]


class UnplayableMatch(HasProblems, ValueError):
    """A match that cannot be played, with the reason in one sentence."""


class NoRoom(UnplayableMatch):
    """As many matches are played as the server allows."""


class NewMatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A match that a page asks for.

    Args:
        game: Name of an installed game.
        params: Parameters of its rules.
        seats: ``person`` or a player's name for each seat.
        rate: Speed, in times of the game's own.
        clock_s: Seconds a decision of a person, where the game waits; 0 = any time.
        seed: Seed of the match and its players; 0 = a random one.
        origin: Moment of a recorded match to play from (``from`` in JSON); its parameters replace ``params``.
        start: When a game in real time starts: at once, or with the first decision of a person.
    """

    game: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    seats: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1, max_length=MAX_SEATS)]
    params: Annotated[dict[str, str | int | float], msgspec.Meta(max_length=MAX_PARAMS)] = {}
    rate: Annotated[float, msgspec.Meta(ge=RATES[0], le=RATES[1])] = 1.0
    clock_s: Annotated[float, msgspec.Meta(ge=0, le=86_400)] = 0.0
    seed: Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)] = 0
    origin: ReplayPoint | None = msgspec.field(default=None, name="from")
    start: Start = "now"


class Rematch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another match with the players of one that a page has played.

    Args:
        match: Id of that match.
        key: Its key.
        swap: Whether the players change sides.
    """

    match: Annotated[str, msgspec.Meta(max_length=64)]
    key: Annotated[str, msgspec.Meta(max_length=64)]
    swap: bool = False


def rules_of(game: str, params: Mapping[str, object], *, typed: bool = False) -> Rules:
    """Return a compiled game under its parameters.

    Args:
        game: Its name; with ``typed`` any reference that a person may give.
        params: Parameters of its rules.
        typed: Whether the command line names it.

    Raises:
        MatchError: No such game, a wrong parameter, or a game that pages cannot play.
    """
    try:
        if not typed and (not is_installed_name(game) or "/" in game):
            raise UnknownGame(game)
        text = text_params(params)
        if not typed and any(len(value) > MAX_PARAM for value in text.values()):
            raise UnplayableMatch(f"a parameter of more than {MAX_PARAM} characters")
        if registry.is_python(game):
            raise UnplayableMatch(
                f"{shown(game)}: written in Python, which no person plays on a page; ludus watch RUN shows "
                "how the weights of a run play it"
            )
        found = registry.find(game)
        spec = registry.spec(game, text)
        return Rules(found.name, text, spec, spec.spec_hash)
    except UnplayableMatch:
        raise
    except UnknownGame:
        raise UnplayableMatch(
            f"{shown(game)}: no such game{did_you_mean(game, list_games(), 'games')}"
        ) from None
    except ValueError as error:
        raise UnplayableMatch(error) from None


class Sessions:
    """Sessions by id. Threads may share it."""

    def __init__(self, library: Library, device: str = "auto", beat_s: float = BEAT_S) -> None:
        """Play matches with players and files of ``library``; networks are on ``device``.

        ``beat_s``: seconds between two signs of life of a page.
        """
        self.library, self.device, self.beat_s = library, device, beat_s
        self._sessions: dict[str, Session] = {}
        self._asked: dict[str, tuple[NewMatch, bool]] = {}  # id -> as it was asked for, whether typed
        self._lock = threading.Lock()

    def create(self, asked: NewMatch, *, typed: bool = False) -> Session:
        """Start a match; it waits until a page is connected.

        Args:
            asked: The match.
            typed: Whether the command line asks: its players may be any file.

        Raises:
            MatchError: It cannot be played.
        """
        origin = self._origin(asked)
        params = asked.params if origin is None else origin.match.params
        rules = rules_of(asked.game, params, typed=typed)
        if len(asked.seats) != rules.spec.seats:
            raise UnplayableMatch(f"{len(asked.seats)} players, {rules.game} has {rules.spec.seats} seats")
        _check_clock(asked, rules.spec)
        library = None if typed else self.library
        seed = asked.seed or secrets.randbelow(2**31 - 1) + 1
        self._room()
        try:
            players = [
                seat_of(text, rules, seed + k, library, self.device) for k, text in enumerate(asked.seats)
            ]
        except PlayerError as error:
            raise UnplayableMatch(error) from None

        advisor = self._advisor(rules, players)

        def deal() -> Table:
            match, moves = origin or (_match(rules, seed), ())
            table = Table(match, players, limit_of(rules.spec), moves)
            table.advisor = advisor
            return table

        owner = self._owner(asked.seats, typed=typed)
        return self._open(deal, owner, rate=asked.rate, clock_s=asked.clock_s, asked=(asked, typed))

    def rematch(self, wanted: Rematch) -> Session:
        """Start another match with the same players, and another seed.

        Raises:
            UnplayableMatch: There is no such match, or the key is another's.
        """
        session = self.get(wanted.match)
        asked, typed = self._asked.get(wanted.match, (None, False))
        if (
            session is None
            or asked is None
            or not secrets.compare_digest(wanted.key.encode(), session.key.encode())
        ):
            raise UnplayableMatch("this match is gone, or the page does not play it: start a new one")
        if not session.closed:
            raise UnplayableMatch("the match is still played: end it first")
        seats = _swapped(asked.seats, session.table.match.spec) if wanted.swap else asked.seats
        return self.create(msgspec.structs.replace(asked, seats=seats, seed=0), typed=typed)

    def _advisor(self, rules: Rules, players: list[Seat]) -> Advisor | None:
        """Return who gives hints to persons: a network of the match, a search, or weights that fit."""
        if not any(isinstance(seat, Person) for seat in players):
            return None
        networks = [seat for seat in players if isinstance(seat, ActorSeat) and seat.weights]
        weights = [(seat.name, seat.weights) for seat in networks if seat.actor.memory_shape is None]
        searches = rules.spec.perfect_information and can_search(rules)
        if not weights and not searches:
            weights = self._fitting(rules)
        return advisor_of(rules.spec, rules.params, weights, searches, self.device)

    def _fitting(self, rules: Rules) -> list[tuple[str, str]]:
        """Return names and references of weights that were trained by these rules, without loading them."""
        found = []
        for run in self.library.runs().values():
            with contextlib.suppress(OSError, ValueError, StorageError):  # half written, or gone
                info = run.directory.info()
                if (info.game, info.spec_hash) == (rules.game, rules.hash):
                    found.append((f"{run.id}@best", self.library.weights(run, "best")))
        return found

    def _origin(self, asked: NewMatch) -> MatchStart | None:
        """Return the match to play from, or None. Raises :class:`UnplayableMatch`."""
        if asked.origin is None:
            return None
        replay = self.library.read(self.library.replay(asked.origin.replay))
        game = replays.info(replay).game
        if game != asked.game:
            raise UnplayableMatch(f"the replay is of {shown(game)}, the match of {shown(asked.game)}")
        rules_of(game, replays.info(replay).params)  # an unknown game is reported first
        try:
            return start_at(replay, asked.origin.tick)
        except ValueError as error:
            raise UnplayableMatch(error) from None

    def watch(self, deal: Callable[[], Table], owner: str, rate: float = 1.0, newest: int = 0) -> Session:
        """Start matches that follow one another.

        Args:
            deal: Makes each of them.
            owner: Id of a run, or empty.
            rate: Speed, in times of the game's own.
            newest: How many of such matches stay as files, 0 for all.

        Raises:
            MatchError: It cannot be played.
        """
        self._room()
        return self._open(deal, owner, rate=rate, clock_s=0.0, newest=newest)

    def get(self, match: str) -> Session | None:
        """Return a session by id, or None."""
        with self._lock:
            return self._sessions.get(match)

    def listed(self) -> list[Session]:
        """Return all sessions, the newest last."""
        with self._lock:
            return list(self._sessions.values())

    def stop(self, seconds: float) -> None:
        """End all matches and wait until they are saved, at most ``seconds``."""
        sessions = self.listed()
        for session in sessions:
            session.stop()
        for session in sessions:
            session.join(seconds)

    def _open(
        self,
        deal: Callable[[], Table],
        owner: str,
        *,
        rate: float,
        clock_s: float,
        newest: int | None = None,
        asked: tuple[NewMatch, bool] | None = None,
    ) -> Session:
        """Open a session; with ``newest`` its matches follow one another."""
        match, key = secrets.token_hex(8), secrets.token_urlsafe(16)

        def save(table: Table) -> Saved:
            return self._save(table, owner, newest)

        try:
            session = Session(
                match,
                key,
                deal,
                save,
                rate=rate,
                clock_s=clock_s,
                repeats=newest is not None,
                beat_s=self.beat_s,
            )
        except (ValueError, StorageError) as error:
            raise UnplayableMatch(error) from None
        session.again = asked is not None
        if asked is not None and asked[0].start == "order":
            session.wait_for_order()
        with self._lock:
            if (unvisited := self._check_room()) is not None:
                self._forget(unvisited.match).stop("another match takes its place")
            self._sessions[match] = session
            if asked is not None:
                self._asked[match] = asked
            over = [name for name, s in self._sessions.items() if s.closed]
            for name in over[:-MAX_KEPT]:
                self._forget(name).stop()
        session.start()
        return session

    def _forget(self, match: str) -> Session:
        self._asked.pop(match, None)
        return self._sessions.pop(match)

    def _room(self) -> None:
        with self._lock:
            self._check_room()

    def _check_room(self) -> Session | None:
        """Return the match that has to end before the next one starts, or None.

        It is the oldest that no page has ever joined. Raises :class:`NoRoom` without one.
        """
        playing = [s for s in self._sessions.values() if not s.closed and not s.stopping]
        if len(playing) < MAX_MATCHES:
            return None
        for session in playing:
            if not session.visited and not session.repeats:
                return session
        raise NoRoom(
            f"{len(playing)} matches are played already, at most {MAX_MATCHES} at a time; end one first"
        )

    def _save(self, table: Table, owner: str, newest: int | None) -> Saved:
        if table.match.tick == table.started_at:
            return Saved(None, "")
        try:
            replay = self.library.keep(table.replay(), table.match.game, owner, newest)
        except (OSError, ValueError, StorageError) as error:
            reason = error.strerror if isinstance(error, OSError) else sentence(error)
            return Saved(None, "", f"the match was not saved: {reason}")
        return Saved(replay.id, f"/replay/{replay.id}")

    def _owner(self, seats: tuple[str, ...], *, typed: bool) -> str:
        """Return the id of the run whose weights play first, or an empty text."""
        for text in seats:
            name = text.partition(SUFFIX)[0].rpartition("@")[0]
            if not typed and name in self.library.runs():
                return name
            if typed and text != PERSON and (run := run_behind(text, self.library)):
                return run
        return ""


def run_behind(text: str, library: Library) -> str:
    """Return the id of the run whose weights the command line names, or an empty text."""
    from ludus.storage import is_reference, resolve_weights, run_of

    name = text.rpartition(SUFFIX)[0] if SUFFIX in text else text
    try:
        run = run_of(resolve_weights(name)) if is_reference(name) else None
        return "" if run is None else library.run_at(run.path).id
    except (OSError, ValueError, StorageError):
        return ""


def watched(
    rules: Rules, seats: Callable[[], list[str]], library: Library, device: str = "auto"
) -> Callable[[], Table]:
    """Return the maker of matches that follow one another, with thoughts.

    Args:
        rules: The game.
        seats: Returns the players of the next match.
        library: Table of their names.
        device: Device of their networks.
    """

    def deal() -> Table:
        seed = secrets.randbelow(2**31 - 1) + 1
        players = [seat_of(text, rules, seed + k, library, device) for k, text in enumerate(seats())]
        table = Table(_match(rules, seed), players, limit_of(rules.spec))
        table.watch()
        return table

    return deal


def _swapped(seats: tuple[str, ...], spec: GameSpec) -> tuple[str, ...]:
    """Return the players on other sides: moved on until the first one has left its team."""
    others = [k for k in range(1, spec.seats) if not spec.together(0, k)]
    by = others[0] if others else 0
    return seats[-by:] + seats[:-by] if by else seats


def _match(rules: Rules, seed: int) -> Match:
    return Match(rules.game, rules.params, seed=seed, record=True)


def _check_clock(asked: NewMatch, spec: GameSpec) -> None:
    if not math.isfinite(asked.rate) or not math.isfinite(asked.clock_s):
        raise UnplayableMatch("rate and clock_s: expected finite numbers")
    if asked.clock_s and PERSON not in asked.seats:
        raise UnplayableMatch("clock_s: only a person has a clock, and none plays here")
