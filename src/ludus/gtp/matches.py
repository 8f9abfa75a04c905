"""Matches of Go between GTP programs: pairs with colours in turn, several opponents, faults that count.

Matches come in pairs that start with the same stones, drawn for each pair inside the second line, once with
either colour: programs that answer alike would repeat matches otherwise. A program that ends, does not answer
or breaks the protocol loses its match; where the referee does, the match is void. The other matches continue.
"""

from __future__ import annotations

import os
import queue
import random
import shlex
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from ludus.flow.inputs.shown import shown
from ludus.games import go
from ludus.games.match import GameError, Match
from ludus.games.records import go_record, go_record_text, sgf
from ludus.gtp.driver import NO_LIMIT, MatchRules, TimeControl, play_match
from ludus.gtp.program import Fault, GtpProgram, ProgramError
from ludus.gtp.program_match import ProgramMatch

GNU_GO = f"{shlex.quote(shutil.which('gnugo') or '/usr/games/gnugo')} --mode gtp"
CHINESE = "--chinese-rules --positional-superko"
WEAKEST = f"{GNU_GO} --level 1 {CHINESE}"
REFEREE = f"{GNU_GO} {CHINESE}"
MOST_FAULTS = 3  # one after the other, after which a program plays no more
ASKED_S = 0.2  # between two questions whether to stop

GNU = "gnugo"  # GNU Go, as opponent and as referee; ``gnugo:5``: at a level
LEVELS = tuple(map(str, range(1, 11)))

Role = Literal["player", "against", "referee"]
Outcome = Literal["won", "drawn", "lost", "void"]


def gnu_go_found() -> bool:
    """Return whether GNU Go is installed."""
    return bool(shutil.which("gnugo") or shutil.which("/usr/games/gnugo"))


def gnu_go(level: int) -> str:
    """Return the command of GNU Go at a level, 1 to 10, under the rules of these matches."""
    return f"{GNU_GO} --level {level} {CHINESE}"


def command(player: str) -> list[str]:
    """Return the words of a player's command.

    Args:
        player: ``gnugo`` or ``gnugo:LEVEL``; a command, which has a space or is an executable file; or one of
            ours, as for ``ludus gtp``.

    Raises:
        ValueError: A command with an open quote, or a level that GNU Go does not have.
    """
    player = player.strip()
    name, colon, level = player.partition(":")
    if name == GNU and not colon:
        return shlex.split(REFEREE)
    if name == GNU:
        if level not in LEVELS:
            raise ValueError(f"level {shown(level)}, expected {GNU}:1 to {GNU}:10")
        return shlex.split(gnu_go(int(level)))
    if " " in player:
        return shlex.split(player)
    path = Path(player)
    if path.is_file() and os.access(path, os.X_OK):
        return [str(path.absolute())]
    return [sys.executable, "-m", "ludus.cli", "gtp", player, "--quiet"]


@dataclass(frozen=True, slots=True)
class MatchConditions:
    """Rules and conditions of matches between programs.

    Attributes:
        size: Lines of the board.
        komi: Points for White.
        opening: Stones that are drawn before a pair of matches starts.
        seed: Seed of the openings.
        referee: Player or command that counts the score; empty: Ludus counts, with all stones alive.
        timeout: Seconds for one answer.
        time: Time of each program.
    """

    size: int = 9
    komi: float = 7.5
    opening: int = 4
    seed: int = 1
    referee: str = REFEREE
    timeout: float = 600.0
    time: TimeControl = NO_LIMIT


class Pairing(NamedTuple):
    """Two programs that meet: a player and its opponent, as :func:`command` reads them."""

    player: str
    against: str


class Fixture(NamedTuple):
    """A match to be played: its pairing, and its number there. The player has Black in even ones."""

    pairing: int
    number: int


@dataclass(frozen=True, slots=True)
class PlayedFixture:
    """A match that is over.

    Attributes:
        fixture: Which one.
        match: Its moves, result and times.
        names: Name and version of the player's program and of the opponent's.
        faulty: Who failed, if anyone.
        fault: How: ``start``, ``ended``, ``silent``, ``nonsense`` or ``illegal``; empty without a fault.
        text: The error in words.
    """

    fixture: Fixture
    match: ProgramMatch
    names: tuple[str, str]
    faulty: Role | None = None
    fault: Fault | Literal["illegal", ""] = ""
    text: str = ""

    @property
    def outcome(self) -> Outcome:
        """The result for the player."""
        if self.match.result == "Void":
            return "void"
        if self.match.winner is None:
            return "drawn"
        return "won" if self.match.winner == self.fixture.number % 2 else "lost"


def opening(size: int, plies: int, seed: int, pair: int) -> list[int]:
    """Return different points inside the second line, as ``y * size + x``; fewer where one is illegal."""
    inner = [y * size + x for y in range(2, size - 2) for x in range(2, size - 2)]
    drawn = random.Random(f"{seed} {pair}").sample(inner, min(plies, len(inner)))
    match, points = Match("go", {"size": size}), []
    for point in drawn:
        try:
            match.play(point)
        except GameError:
            continue
        points.append(point)
    return points


def record(played: ProgramMatch, size: int, komi: float, black: str, white: str) -> str:
    """Return a match as SGF; ``black`` and ``white`` are the players' names."""
    moves = [("BW"[s], None if p == size * size else (p % size, p // size)) for s, p in played.moves]
    info = {"PB": black, "PW": white, "RU": "Chinese"}
    return sgf.write(
        go_record_text.tree(go_record.GoRecord(size, komi, moves=moves, result=played.result, info=info))
    )


def check_program(player: str, conditions: MatchConditions) -> str:
    """Start a program, tell it the conditions, end it, and return its name. Raises ``ProgramError``."""
    with _started(player, conditions.timeout) as program:
        rules = [f"boardsize {conditions.size}", "clear_board", f"komi {conditions.komi:g}"]
        settings = conditions.time.settings()
        program.ask_all([*rules, *([settings] if settings else [])])
        return program.name


def _started(player: str, timeout: float, stopped: Callable[[], bool] = lambda: False) -> GtpProgram:
    try:
        return GtpProgram(command(player), timeout, stopped=stopped)
    except ValueError as error:
        raise ProgramError(f"{player}: {error}") from None


@dataclass(slots=True)
class Contest:
    """Matches of pairings, some of them at a time.

    Attributes:
        pairings: Who meets.
        conditions: Rules and conditions.
        matches: Matches of each pairing.
        jobs: Matches at a time, each with its own programs.
        over: Matches that are over already, and are not played again.
        left_out: Programs that failed :data:`MOST_FAULTS` times one after the other, and play no more.
    """

    pairings: Sequence[Pairing]
    conditions: MatchConditions
    matches: int
    jobs: int = 1
    over: Collection[Fixture] = ()
    left_out: set[str] = field(default_factory=set)
    _strikes: Counter[str] = field(default_factory=Counter)
    _waiting: list[list[Fixture]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _done: queue.Queue[PlayedFixture | Exception | None] = field(default_factory=queue.Queue)

    def schedule(self) -> list[list[Fixture]]:
        """Return the pairs of matches in the order of play, without those that are over."""
        over = set(self.over)
        pairs = [
            [Fixture(k, n) for n in (first, first + 1) if n < self.matches and Fixture(k, n) not in over]
            for first in range(0, self.matches, 2)
            for k in range(len(self.pairings))
        ]
        return [pair for pair in pairs if pair]

    def play(
        self, on_played: Callable[[PlayedFixture], None], should_stop: Callable[[], bool] = lambda: False
    ) -> None:
        """Play the matches.

        Args:
            on_played: Gets each match when it is over, in this thread.
            should_stop: Asked several times a second; True ends the matches in play without a result.
        """
        self._waiting = self.schedule()[::-1]
        self._stopped.clear()
        workers = [_MatchWorker(self) for _ in range(max(1, min(self.jobs, len(self._waiting))))]
        for worker in workers:
            worker.start()
        working = len(workers)
        try:
            while working:
                try:
                    done = self._done.get(timeout=ASKED_S)
                except queue.Empty:
                    if should_stop():
                        break
                    continue
                if isinstance(done, Exception):
                    raise done
                if done is None:
                    working -= 1
                else:
                    on_played(done)
        finally:
            self._stopped.set()
            for worker in workers:
                worker.join()

    def _next(self) -> list[Fixture]:
        """Return the next pair for a worker; empty at the end."""
        with self._lock:
            while self._waiting and not self._stopped.is_set():
                pair = self._waiting.pop()
                if not self.left_out.intersection(self.pairings[pair[0].pairing]):
                    return pair
        return []

    def _count(self, players: Pairing, faulty: Role | None) -> None:
        """Count the faults of programs, one after the other."""
        with self._lock:
            for role, player in (("player", players.player), ("against", players.against)):
                self._strikes[player] = self._strikes[player] + 1 if role == faulty else 0
                if self._strikes[player] >= MOST_FAULTS:
                    self.left_out.add(player)


class _MatchWorker(threading.Thread):
    """Plays matches with separate programs, which stay from match to match."""

    def __init__(self, contest: Contest) -> None:
        super().__init__(daemon=True, name="gtp matches")
        self.contest = contest
        self._programs: dict[str, GtpProgram] = {}

    def run(self) -> None:
        """Play until no match is left or the contest is stopped."""
        contest = self.contest
        try:
            while pair := contest._next():
                for fixture in pair:
                    if contest._stopped.is_set() or contest.left_out.intersection(
                        contest.pairings[fixture.pairing]
                    ):
                        break
                    played = self._play(fixture)
                    if contest._stopped.is_set():
                        return
                    contest._done.put(played)
        except Exception as error:
            contest._done.put(error)
        finally:
            for program in self._programs.values():
                program.close(0.0 if contest._stopped.is_set() else 2.0)
            contest._done.put(None)

    def _program(self, player: str, key: str) -> GtpProgram:
        if key not in self._programs:
            contest = self.contest
            self._programs[key] = _started(player, contest.conditions.timeout, contest._stopped.is_set)
        return self._programs[key]

    def _drop(self, key: str) -> None:
        if program := self._programs.pop(key, None):
            program.close(0.0)

    def _play(self, fixture: Fixture) -> PlayedFixture:
        """Play one match. A program that fails in it is ended, and starts again for its next one."""
        contest, conditions = self.contest, self.contest.conditions
        players = contest.pairings[fixture.pairing]
        keys: dict[Role, str] = {
            "player": f"player {players.player}",
            "against": f"against {players.against}",
            "referee": "referee",
        }
        seat = fixture.number % 2
        at: dict[Role, GtpProgram] = {}
        role: Role = "player"
        try:
            for role, player in (
                ("player", players.player),
                ("against", players.against),
                ("referee", conditions.referee),
            ):
                if player:
                    at[role] = self._program(player, keys[role])
            black, white = (at["player"], at["against"])[:: 1 - 2 * seat]
            match = play_match(
                black,
                white,
                MatchRules(conditions.size, conditions.komi),
                referee=at.get("referee"),
                time=conditions.time,
                opening=opening(conditions.size, conditions.opening, conditions.seed, fixture.number // 2),
            )
        except ProgramError as error:
            role = next((r for r, program in at.items() if program is error.program), role)
            self._drop(keys[role])
            contest._count(players, role)
            match = error.played or ProgramMatch()
            match.by, match.points = error.fault, None
            match.winner = {"player": 1 - seat, "against": seat}.get(role)
            return PlayedFixture(fixture, match, _names(players, at), role, error.fault, str(error))
        contest._count(players, None)
        names = _names(players, at)
        if match.by.startswith("illegal") and match.winner is not None:
            role = "against" if match.winner == seat else "player"
            return PlayedFixture(fixture, match, names, role, "illegal", f"{at[role].command}: {match.by}")
        return PlayedFixture(fixture, match, names)


def _names(players: Pairing, programs: dict[Role, GtpProgram]) -> tuple[str, str]:
    one, other = programs.get("player"), programs.get("against")
    return one.name if one else players.player, other.name if other else players.against


def vertices(played: ProgramMatch, size: int) -> str:
    """Return the moves of a match: ``D4 C3 pass``."""
    return " ".join(go.vertex(point, size) for _, point in played.moves)
