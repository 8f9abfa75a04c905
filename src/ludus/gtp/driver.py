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
from ludus.pool.hosted.watch import Patience

MAX_ANSWER = 1 << 20
LOOK_S = 0.5  # maximum time between two readings of the clock


class ProgramError(RuntimeError):
    """An engine ended, does not answer, or breaks the protocol."""


class CommandFailure(ProgramError):
    """The program answered a command with ``?``."""


class GtpProgram:
    """A GTP engine as a child process. Use it as a context manager.

    Time in which this process stood still (Ctrl-Z, a suspended machine) counts neither for ``timeout_s`` nor
    in ``waited_s``: the engine may have stood still too.

    Attributes:
        name: The engine's name and version.
        waited_s: Seconds waited for answers so far.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        timeout_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the engine.

        Args:
            command: The command and its arguments, as a shell line or a list.
            timeout_s: Time limit of an answer in seconds.
            clock: Source of seconds.

        Raises:
            ProgramError: The engine does not start or does not answer.
        """
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
        except CommandFailure:
            pass
        except ProgramError:
            self.close()
            raise

    def _read(self) -> None:  # runs in its own thread
        out = self._process.stdout
        assert out is not None
        while line := out.readline(MAX_ANSWER):
            self._lines.put(line.decode("utf-8", errors="replace"))
        self._lines.put(None)

    def ask(self, command: str) -> str:
        """Return the answer to a command. Raise :class:`CommandFailure` or :class:`ProgramError`."""
        (text,) = self.ask_all([command])
        return text

    def ask_all(self, commands: Sequence[str]) -> list[str]:
        """Send several commands at once and return their answers. Raises as :meth:`ask`."""
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
                raise CommandFailure(f"{self.command}: {command}: {answer}")
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
        """Return the next line; None at the end of the output."""
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
        """Send ``quit``, then end the process."""
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

    def __enter__(self) -> GtpProgram:
        """Return the running engine."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the engine."""
        self.close()


@dataclass(slots=True)
class ProgramMatch:
    """A match between two programs.

    Attributes:
        moves: Pairs of seat and point.
        winner: The seat that won; None = drawn or not decided.
        points: Black's points less White's and komi, by ``counted_by``; None = not counted.
        by: End of the match: resignation, count, length or illegal move.
        counted_by: Name of the program that counted.
        seconds: Thinking time of each seat.
    """

    moves: list[tuple[int, int]] = field(default_factory=list)  # seat, point
    winner: int | None = None  # seat; None = drawn or not decided
    points: float | None = None
    by: str = ""  # resignation, count, length, illegal move
    counted_by: str = ""
    seconds: tuple[float, float] = (0.0, 0.0)  # of each seat

    @property
    def result(self) -> str:
        """The result as in SGF."""
        if self.winner is None:
            return "0" if self.points == 0 else "Void"
        if self.points is None:
            return f"{'BW'[self.winner]}+{'R' if self.by == 'resignation' else 'F'}"
        return go.score_text(self.points)


def score_points(text: str) -> float:
    """Return ``B+3.5`` as 3.5, ``W+12`` as -12, ``0`` as 0. Raise ``ValueError`` for other text."""
    word = text.split()[0] if text.split() else ""
    if word in ("0", "Draw", "draw", "Jigo"):
        return 0.0
    sign = {"B+": 1.0, "W+": -1.0}.get(word[:2].upper())
    if sign is None:
        raise ValueError(f"not a score: {text[:40]!r}")
    return sign * float(word[2:])


@dataclass(frozen=True, slots=True)
class MatchRules:
    """Board and rules of a match.

    Attributes:
        size: Lines of the board.
        komi: Points for White.
        ko: The ko rule, as the parameter of the game ``go``.
        max_moves: Limit of moves; 0 = 3 per point.
    """

    size: int = 9
    komi: float = 7.5
    ko: str = "positional"
    max_moves: int = 0

    @property
    def params(self) -> dict[str, int | float | str]:
        """The parameters of the game ``go``."""
        most = self.max_moves or 3 * self.size * self.size
        return {"size": self.size, "komi": self.komi, "ko": self.ko, "max_moves": most}


DEFAULT_RULES = MatchRules()


def play_match(
    black: GtpProgram,
    white: GtpProgram,
    rules: MatchRules = DEFAULT_RULES,
    *,
    referee: GtpProgram | None = None,
    time_s: int = 0,
    opening: Sequence[int] = (),
) -> ProgramMatch:
    """Play a match from an empty board. Ludus checks every move; an illegal move loses.

    Args:
        black: The engine of seat 0.
        white: The engine of seat 1.
        rules: Board and rules.
        referee: The engine that counts the score. Without one Ludus counts, with all stones alive.
        time_s: Main time of each engine in seconds; 0 = no limit.
        opening: Points to play first, Black's first move included.

    Raises:
        GameError: An illegal opening move.
        ProgramError: An engine breaks the protocol.
    """
    match, size = Match("go", rules.params), rules.size
    programs = (black, white)
    receivers = [black, white, *([referee] if referee else [])]
    for program in receivers:
        program.ask_all([f"boardsize {size}", "clear_board", f"komi {rules.komi:g}"])
        if time_s:
            program.ask(f"time_settings {time_s} 0 0")
    played = ProgramMatch()
    seconds = [0.0, 0.0]

    def record(seat: int, point: int, mover: GtpProgram | None = None) -> None:
        played.moves.append((seat, point))
        for program in receivers:
            if program is not mover:
                program.ask(f"play {'bw'[seat]} {go.vertex(point, size)}")

    for placed in opening:
        (seat,) = match.to_act
        match.play(placed)
        record(seat, placed)
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
        record(seat, point, programs[seat])
    played.seconds = (seconds[0], seconds[1])
    if not played.by:
        played.by = "count" if len(played.moves) >= 2 and played.moves[-1][1] == size * size else "length"
        played.counted_by = referee.name if referee else "ludus"
        played.points = score_points(referee.ask("final_score")) if referee else go.margin(match)
        played.winner = None if played.points == 0 else (go.BLACK if played.points > 0 else go.WHITE)
    return played
