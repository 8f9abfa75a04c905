"""GTP engine: lines in, answers out.

One line in, one answer out: :meth:`Engine.handle`. Every line gets a valid answer of the protocol, and the
engine continues. Diagnostics go to ``log``, never into answers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from ludus.flow.names import did_you_mean, nearest
from ludus.games import go
from ludus.games.match import Match
from ludus.gtp.analysis import AnalysisOptions, kata_line, leela_line, read_options
from ludus.gtp.commands import COMMANDS, GENMOVES, STREAMS, WITH_PATH
from ludus.gtp.played_match import PlayedMatch
from ludus.gtp.players import (
    RESIGN,
    Analyst,
    Expectation,
    GoPlayer,
    SearchReport,
)
from ludus.gtp.protocol import GtpError, answer, read_command

#: Exceptions that a bug in a player or a command may raise.
FAULTS = (ArithmeticError, LookupError, TypeError, ValueError, RuntimeError)


class Engine(PlayedMatch):
    """A player and the match of a controller, driven by lines of GTP."""

    def handle(self, line: str) -> str:
        """Return the whole answer to a line; empty for a line without a command.

        A command that streams (``lz-analyze``) gives its first report only; see :meth:`stream`.
        """
        text = ""
        for part in self.stream(line):
            text += part
            if part.startswith("info ") and not GENMOVES.intersection(line.split()):
                return text + "\n"
        return text

    def stream(self, line: str) -> Iterator[str]:
        """Yield the answer in parts. To end a streaming command, stop iterating, then write an empty line."""
        command = read_command(line)
        if command is None:
            return
        try:
            handler = COMMANDS.get(command.name)
            if handler is not None:
                whole = (command.rest,) if command.name in WITH_PATH and command.rest else command.arguments
                yield answer(command.number, handler(self, whole))
            elif command.name in STREAMS:
                yield from self._analysis(command.number, command.name, command.arguments)
            else:
                valid = [*COMMANDS, *STREAMS]
                near = did_you_mean(command.name, valid) if nearest(command.name, valid) else ""
                yield answer(command.number, f"unknown command{near}", failed=True)
        except GtpError as error:
            yield answer(command.number, str(error), failed=True)
        except FAULTS as error:
            # An internal error costs this answer, not the match; the log has the exception.
            self.log(f"internal error in {command.name}: {error!r}")
            yield answer(command.number, f"internal error: {type(error).__name__}", failed=True)

    def ponder(self, seconds: float = 0.05) -> Iterator[None]:
        """Ponder: search the position after the player's move, ``seconds`` per step.

        The search keeps the subtree of the opponent's answer. It ends if the player cannot ponder or the
        search is complete.
        """
        session, player = self.session, self.player
        if self.chosen == 0 or self.chosen != len(session.moves) or session.match.over:
            return
        if not _is_analyst(player):
            return
        try:
            visits = -1
            for report in player.analyse(session.turn_of(session.to_move), seconds):
                before, visits = visits, report.visits
                if visits == before:
                    return
                yield
        except FAULTS as error:
            self.log(f"internal error while pondering: {error!r}")

    def _analysis(self, number: str, name: str, arguments: Sequence[str]) -> Iterator[str]:
        session = self.session
        options = read_options(arguments, session.to_move, session.size)
        player = self.player
        if not _is_analyst(player):
            raise GtpError(f"{player.name} cannot analyse")
        match = session.turn_of(options.seat)
        kata = name.startswith("kata")
        if "genmove" in name:
            yield f"={number}\n"
            yield from self._reported_move(player, match, options, kata)
            return
        reports = player.analyse(match, options.pace, options.restrictions)
        yield f"={number}\n"
        for report in reports:
            yield self._line(player, match, report, options, kata)

    def _reported_move(
        self, player: Analyst, match: Match, options: AnalysisOptions, kata: bool
    ) -> Iterator[str]:
        """Yield reports until a move is chosen (interval 0: only the last), then the move."""
        session, seat = self.session, options.seat
        self.check_length()
        limit = self.clock.seconds(seat, session.size**2, len(session.moves))
        started = time.monotonic()
        interval = options.pace if options.interval > 0 else math.inf
        for report in player.deliberate(match, limit, interval, options.restrictions):
            yield self._line(player, match, report, options, kata)
        move = self.settle(seat, match, player.decide(match), time.monotonic() - started, keep=True)
        yield f"play {'resign' if move == RESIGN else go.vertex(move, session.size)}\n\n"

    def _line(
        self, player: Analyst, match: Match, report: SearchReport, options: AnalysisOptions, kata: bool
    ) -> str:
        if not kata:
            return leela_line(report, options, self.session.size)

        def after(moves: Sequence[int]) -> Sequence[Expectation]:
            played = [match.clone() for _ in moves]
            for one, move in zip(played, moves, strict=True):
                one.play(move)
            return player.expect(played)

        (root,) = player.expect([match])
        return kata_line(report, options, self.session.size, root, after)


def _is_analyst(player: GoPlayer) -> TypeGuard[Analyst]:
    return hasattr(player, "analyse")


__all__ = ["COMMANDS", "STREAMS", "Engine"]
