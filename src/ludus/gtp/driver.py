"""GTP controller: plays matches between engines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ludus.flow.inputs.shown import shown, visible
from ludus.games import go
from ludus.games.match import GameError, Match
from ludus.gtp.program import CommandFailure, GtpProgram, ProgramError
from ludus.gtp.program_match import ProgramMatch

GRACE_S = 1.0  # that an engine may take beyond its time: for communication
MOST_POINTS = 10_000  # of a score


def score_points(text: str) -> float:
    """Return ``B+3.5`` as 3.5, ``W+12`` as -12, ``0`` as 0. Raise ``ValueError`` for other text."""
    word = text.split()[0] if text.split() else ""
    if word in ("0", "Draw", "draw", "Jigo"):
        return 0.0
    sign = {"B+": 1.0, "W+": -1.0}.get(word[:2].upper())
    if sign is None:
        raise ValueError(f"not a score: {text[:40]!r}")
    points = float(word[2:])
    if not math.isfinite(points) or abs(points) > MOST_POINTS:
        raise ValueError(f"not a score: {text[:40]!r}")
    return sign * points


@dataclass(frozen=True, slots=True)
class MatchRules:
    """Board and rules of a match.

    Attributes:
        size: Lines of the board.
        komi: Points for White.
        ko: The ko rule, as the parameter of the game ``go``.
        max_moves: Limit of moves; 0 = 3 per point, as far as the game allows.
    """

    size: int = 9
    komi: float = 7.5
    ko: str = "positional"
    max_moves: int = 0

    @property
    def params(self) -> dict[str, int | float | str]:
        """The parameters of the game ``go``."""
        most = self.max_moves or min(3 * self.size * self.size, go.MOST_MOVES)
        return {"size": self.size, "komi": self.komi, "ko": self.ko, "max_moves": most}


DEFAULT_RULES = MatchRules()


@dataclass(frozen=True, slots=True)
class TimeControl:
    """Time of each engine.

    Attributes:
        main: Seconds for all moves of a match; 0 = no such limit.
        move: Seconds for each move; 0 = no such limit.
    """

    main: int = 0
    move: int = 0

    def settings(self) -> str:
        """Return the command for an engine; empty without a limit."""
        if self.move:
            return f"time_settings 0 {self.move} 1"
        return f"time_settings {self.main} 0 0" if self.main else ""

    def left(self, used: float) -> tuple[int, int]:
        """Return seconds and stones for ``time_left``, after ``used`` seconds."""
        return (self.move, 1) if self.move else (max(0, math.floor(self.main - used)), 0)

    def exceeded(self, used: float, last: float) -> bool:
        """Return whether an engine lost by time: ``used`` seconds, ``last`` of them for its last move."""
        if self.move:
            return last > self.move + GRACE_S
        return bool(self.main) and used > self.main + GRACE_S


NO_LIMIT = TimeControl()


def play_match(
    black: GtpProgram,
    white: GtpProgram,
    rules: MatchRules = DEFAULT_RULES,
    *,
    referee: GtpProgram | None = None,
    time: TimeControl = NO_LIMIT,
    opening: Sequence[int] = (),
) -> ProgramMatch:
    """Play a match from an empty board. Ludus checks every move; an illegal move loses.

    Args:
        black: The engine of seat 0.
        white: The engine of seat 1.
        rules: Board and rules.
        referee: The engine that counts the score. Without one Ludus counts, with all stones alive.
        time: Time of each engine. One that takes more loses.
        opening: Points to play first, Black's first move included.

    Raises:
        GameError: An illegal opening move.
        ProgramError: An engine breaks the protocol; the error names it and has the match up to then.
    """
    table = _MatchTable((black, white), rules, referee, time)
    try:
        table.set_up()
        for placed in opening:
            (seat,) = table.match.to_act
            table.match.play(placed)
            table.tell(seat, placed)
        while not table.match.over and not table.played.by:
            table.move()
        if not table.played.by:
            table.count()
    except ProgramError as error:
        error.played = table.played
        raise
    finally:
        table.played.seconds = (table.seconds[0], table.seconds[1])
    return table.played


class _MatchTable:
    """A match in play."""

    def __init__(
        self,
        programs: tuple[GtpProgram, GtpProgram],
        rules: MatchRules,
        referee: GtpProgram | None,
        control: TimeControl,
    ) -> None:
        self.match, self.rules = Match("go", rules.params), rules
        self.programs, self.referee, self.control = programs, referee, control
        self.played, self.seconds = ProgramMatch(), [0.0, 0.0]
        self._told = [True, True]  # whether an engine takes time_left

    def set_up(self) -> None:
        """Clear the boards, and set komi and time."""
        for program in self._receivers():
            program.ask_all([f"boardsize {self.rules.size}", "clear_board", f"komi {self.rules.komi:g}"])
        if settings := self.control.settings():
            for program in self.programs:
                program.ask(settings)

    def _receivers(self) -> list[GtpProgram]:
        return [*self.programs, *([self.referee] if self.referee else [])]

    def tell(self, seat: int, point: int, mover: GtpProgram | None = None) -> None:
        """Tell the move to all but its ``mover``."""
        self.played.moves.append((seat, point))
        for program in self._receivers():
            if program is not mover:
                program.ask(f"play {'bw'[seat]} {go.vertex(point, self.rules.size)}")

    def move(self) -> None:
        """Ask for the next move and play it, or end the match."""
        (seat,) = self.match.to_act
        program, played = self.programs[seat], self.played
        self._tell_time(seat)
        before = program.waited_s
        try:
            answer = program.ask(f"genmove {'bw'[seat]}")
        finally:
            last = program.waited_s - before
            self.seconds[seat] += last
        if answer.lower() == "resign":
            played.winner, played.by = 1 - seat, "resignation"
            return
        point = go.point_of(answer, self.rules.size)
        if point is None:
            text = f"{visible(program.command)}: genmove answered {shown(answer)}"
            raise ProgramError(text, program, "nonsense")
        if self.control.exceeded(self.seconds[seat], last):
            played.winner, played.by = 1 - seat, "time"
            return
        try:
            self.match.play(point)
        except GameError:
            played.winner, played.by = 1 - seat, f"illegal move {answer}"
            return
        self.tell(seat, point, program)

    def _tell_time(self, seat: int) -> None:
        if not self._told[seat] or self.control == NO_LIMIT:
            return
        seconds, stones = self.control.left(self.seconds[seat])
        try:
            self.programs[seat].ask(f"time_left {'bw'[seat]} {seconds} {stones}")
        except CommandFailure:  # it keeps its own clock
            self._told[seat] = False

    def count(self) -> None:
        """Count the score of the ended match."""
        played, referee = self.played, self.referee
        passed = len(played.moves) >= 2 and played.moves[-1][1] == self.rules.size**2
        played.by = "count" if passed else "length"
        played.counted_by = referee.name if referee else "ludus"
        if referee is None:
            played.points = go.margin(self.match)
        else:
            text = referee.ask("final_score")
            try:
                played.points = score_points(text)
            except ValueError:
                played.by = ""
                command = visible(referee.command)
                why = f"{command}: final_score answered {shown(text)}"
                raise ProgramError(why, referee, "nonsense") from None
        played.winner = None if played.points == 0 else (go.BLACK if played.points > 0 else go.WHITE)
