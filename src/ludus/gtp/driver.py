"""GTP controller: runs engines as child processes and plays matches between them."""

from __future__ import annotations

import queue
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ludus.games import go
from ludus.games.match import GameError, Match
from ludus.pool.watch import Patience

MAX_ANSWER = 1 << 20
LOOK_S = 0.5  # the longest time between two looks at the clock


class ProgramError(RuntimeError):
    """An engine that ended, does not answer, or breaks the protocol."""


class Refused(ProgramError):
    """A command that the program answered with ``?``."""


class Program:
    """A GTP engine as a child process. ``timeout_s`` is for one answer. Use it as a context manager.

    ``waited_s``: seconds waited for answers so far. Time in which this process stood still (Ctrl-Z, a
    suspended machine) counts neither there nor for ``timeout_s``: the engine may have stood still too.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        timeout_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        words = shlex.split(command) if isinstance(command, str) else list(command)
        self.timeout_s = timeout_s
        self.command = " ".join(words)
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            raise ProgramError(f"{self.command}: {error.strerror or error}") from None
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True, name="gtp program").start()
        self._number = 0
        self._clock = clock
        self.waited_s = 0.0
        self.name = self.command
        try:
            self.name = f"{self.ask('name')} {self.ask('version')}"
        except Refused:
            pass
        except ProgramError:
            self.close()
            raise

    def _read(self) -> None:
        out = self._process.stdout
        assert out is not None
        while line := out.readline(MAX_ANSWER):
            self._lines.put(line.decode("utf-8", errors="replace"))
        self._lines.put(None)

    def ask(self, command: str) -> str:
        """The answer to a command. Raises :class:`Refused` or :class:`ProgramError`."""
        (text,) = self.ask_all([command])
        return text

    def ask_all(self, commands: Sequence[str]) -> list[str]:
        """The answers to several commands, which are sent at once. Raises as :meth:`ask`."""
        first = self._number + 1
        self._number += len(commands)
        text = "".join(f"{first + i} {c}\n" for i, c in enumerate(commands))
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(text.encode())
            stdin.flush()
        except OSError:
            raise ProgramError(f"{self.command}: it has ended") from None
        answers = [self._answer(first + i) for i in range(len(commands))]
        for command, (good, answer) in zip(commands, answers, strict=True):
            if not good:
                raise Refused(f"{self.command}: {command}: {answer}")
        return [answer for _, answer in answers]

    def _answer(self, number: int) -> tuple[bool, str]:
        lines: list[str] = []
        patience = Patience(min(LOOK_S, self.timeout_s / 4), self._clock)
        while True:
            line = self._line(patience)
            if line is None:
                raise ProgramError(f"{self.command}: it has ended")
            line = line.rstrip("\r\n")
            if line:
                lines.append(line)
            elif lines:
                break
        head = lines[0]
        mark = f"{head[0]}{number}"
        if head[0] not in "=?" or not (head == mark or head.startswith(mark + " ")):
            raise ProgramError(f"{self.command}: expected an answer to command {number}, got {head[:80]!r}")
        return head[0] == "=", "\n".join([head[len(mark) :].strip(), *lines[1:]]).strip()

    def _line(self, patience: Patience) -> str | None:
        """The next line; None at the end of the output."""
        before = patience.waited_s
        while True:
            try:
                return self._lines.get(timeout=min(LOOK_S, self.timeout_s / 4))
            except queue.Empty:
                pass
            finally:
                patience.look()
                self.waited_s += patience.waited_s - before
                before = patience.waited_s
            if patience.waited_s >= self.timeout_s:
                raise ProgramError(f"{self.command}: no answer within {self.timeout_s:g} s")

    def close(self) -> None:
        """Sends ``quit``, then ends the process."""
        process = self._process
        if process.poll() is None:
            try:
                assert process.stdin is not None
                process.stdin.write(b"quit\n")
                process.stdin.close()
                process.wait(2.0)
            except (OSError, subprocess.TimeoutExpired):
                process.kill()
                process.wait()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(slots=True)
class Played:
    """A match between two programs. ``points``: Black's less White's and komi, by ``counted_by``."""

    moves: list[tuple[int, int]] = field(default_factory=list)  # seat, point
    winner: int | None = None  # seat; None = drawn or not decided
    points: float | None = None
    by: str = ""  # resignation, count, length, illegal move
    counted_by: str = ""
    seconds: tuple[float, float] = (0.0, 0.0)  # of each seat

    @property
    def result(self) -> str:
        """As in SGF."""
        if self.winner is None:
            return "0" if self.points == 0 else "Void"
        if self.points is None:
            return f"{'BW'[self.winner]}+{'R' if self.by == 'resignation' else 'F'}"
        return go.score_text(self.points)


def score_points(text: str) -> float:
    """``B+3.5`` -> 3.5, ``W+12`` -> -12, ``0`` -> 0. Raises ``ValueError``."""
    word = text.split()[0] if text.split() else ""
    if word in ("0", "Draw", "draw", "Jigo"):
        return 0.0
    sign = {"B+": 1.0, "W+": -1.0}.get(word[:2].upper())
    if sign is None:
        raise ValueError(f"not a score: {text[:40]!r}")
    return sign * float(word[2:])


def play_match(
    black: Program,
    white: Program,
    *,
    size: int = 9,
    komi: float = 7.5,
    ko: str = "positional",
    max_moves: int = 0,
    referee: Program | None = None,
    time_s: int = 0,
    opening: Sequence[int] = (),
) -> Played:
    """Plays a match from an empty board. Ludus checks every move; an illegal move loses.

    Args:
        black: The engine of seat 0.
        white: The engine of seat 1.
        size: Lines of the board.
        komi: Points for White.
        ko: The ko rule, as the parameter of the game ``go``.
        max_moves: Limit of moves; 0 = 3 per point.
        referee: The engine that counts the score. Without one Ludus counts, with all stones alive.
        time_s: Main time of each engine in seconds; 0 = no limit.
        opening: Points to play first, Black's first move included.

    Raises:
        GameError: An illegal opening move.
        ProgramError: An engine breaks the protocol.
    """
    match = Match("go", {"size": size, "komi": komi, "ko": ko, "max_moves": max_moves or 3 * size * size})
    programs = (black, white)
    everyone = [black, white, *([referee] if referee else [])]
    for program in everyone:
        program.ask_all([f"boardsize {size}", "clear_board", f"komi {komi:g}"])
        if time_s:
            program.ask(f"time_settings {time_s} 0 0")
    played = Played()
    seconds = [0.0, 0.0]

    def tell(seat: int, point: int, deaf: Program | None = None) -> None:
        played.moves.append((seat, point))
        for program in everyone:
            if program is not deaf:
                program.ask(f"play {'bw'[seat]} {go.vertex(point, size)}")

    for placed in opening:
        (seat,) = match.to_act
        match.play(placed)
        tell(seat, placed)
    while not match.over:
        (seat,) = match.to_act
        before = programs[seat].waited_s
        answer = programs[seat].ask(f"genmove {'bw'[seat]}")
        seconds[seat] += programs[seat].waited_s - before
        if answer.lower() == "resign":
            played.winner, played.by = 1 - seat, "resignation"
            break
        point = go.point_of(answer, size)
        if point is None:
            raise ProgramError(f"{programs[seat].command}: genmove answered {answer[:40]!r}")
        try:
            match.play(point)
        except GameError:
            played.winner, played.by = 1 - seat, f"illegal move {answer}"
            break
        tell(seat, point, programs[seat])
    played.seconds = (seconds[0], seconds[1])
    if not played.by:
        played.by = "count" if len(played.moves) >= 2 and played.moves[-1][1] == size * size else "length"
        played.counted_by = referee.name if referee else "ludus"
        played.points = score_points(referee.ask("final_score")) if referee else go.margin(match)
        played.winner = None if played.points == 0 else (go.BLACK if played.points > 0 else go.WHITE)
    return played
