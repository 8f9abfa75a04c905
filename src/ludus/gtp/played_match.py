"""A player and the match of a GTP controller, as commands read and change it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ludus.games import go
from ludus.games.go import BLACK, WHITE
from ludus.games.match import Match
from ludus.gtp import rules
from ludus.gtp.clock import Clock
from ludus.gtp.players import RESIGN, GoPlayer, MoveCandidate, MoveChoice
from ludus.gtp.protocol import GtpError
from ludus.gtp.session import GtpSession
from ludus.version import __version__


class PlayedMatch:
    """A player and the match of a controller."""

    def __init__(
        self,
        player: GoPlayer,
        params: Mapping[str, str] | None = None,
        *,
        seed: int = 1,
        resign: float = 0.0,
        log: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Set up an empty board.

        Args:
            player: The player that chooses the moves.
            params: Parameters of the game ``go``; those that the player needs replace them.
            seed: Seed of the match.
            resign: The engine resigns if its value falls below ``-resign``; 0 = never.
            log: Receiver of diagnostics.

        Raises:
            ValueError: The player cannot play under ``params``.
        """
        self.player, self.resign, self.log = player, resign, log
        self.session = GtpSession({**(params or {}), **player.needs}, seed)
        self.clock = Clock()
        self.done = False
        #: Moves of the match after the player's last one.
        self.chosen = 0
        self._own: set[int] = set()  # seats that the player has moved for
        self._resigned: int | None = None  # the seat that resigned
        player.prepare(self.session.base)

    def forget_players(self) -> None:
        """Reset the moves of the player and the resignation for a new match."""
        self.chosen, self._own, self._resigned = 0, set(), None

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Prepare the player for the match after the body. On ``GtpError`` every change is undone."""
        player, before = self.player, (self.chosen, self._own, self._resigned)
        try:
            with self.session.restored():
                yield
                try:
                    player.prepare(self.session.base)
                except ValueError as error:
                    raise GtpError(str(error)) from None
        except GtpError:
            self.chosen, self._own, self._resigned = before
            player.prepare(self.session.base)
            raise

    def undo(self) -> None:
        """Undo a resignation, else the last move."""
        if self._resigned is not None:
            self._resigned = None
            return
        self.session.undo()

    def facts(self) -> dict[str, str]:
        """Return properties of the root of an SGF record: rules, players, the result of an ended match."""
        session, info = self.session, self.session.loaded.info
        own = f"Ludus {self.player.name}"
        facts = {"AP": f"ludus:{__version__}", "RU": rules.name_of(session.base)}
        for seat, name in ((BLACK, "PB"), (WHITE, "PW")):
            facts[name] = own if seat in self._own else info.get(name) or "Opponent"
        if session.unchanged and "RU" in info:
            facts["RU"] = info["RU"]
        if self._resigned is not None:
            facts["RE"] = "W+R" if self._resigned == BLACK else "B+R"
        elif session.match.over and not (session.unchanged and session.loaded.result):
            facts["RE"] = go.score_text(session.score())
        return facts

    def choose(self, seat: int, *, keep: bool) -> int:
        """Return the player's move for a seat, and play it if ``keep``."""
        session = self.session
        self.check_length()
        match = session.turn_of(seat)
        started = time.monotonic()
        choice = self.player.choose(match, self.clock.seconds(seat, session.size**2, len(session.moves)))
        return self.settle(seat, match, choice, time.monotonic() - started, keep=keep)

    def check_length(self) -> None:
        """Refuse another move of a match that has reached the limit. Raise ``GtpError``."""
        if self.session.is_full:
            raise GtpError(f"the match has reached {go.MOST_MOVES} moves")

    def settle(self, seat: int, match: Match, choice: MoveChoice, took: float, *, keep: bool) -> int:
        """Handle a choice that took ``took`` seconds: return the move, played if ``keep``."""
        session = self.session
        self.clock.spent(seat, took)
        move = choice.move
        if move != RESIGN and not go.is_legal(session.match, seat, move):
            self.log(f"{self.player.name} chose an illegal move ({move}); passing instead")
            move, match = session.size**2, session.turn_of(seat)
        if choice.value is not None and self.resign > 0 and choice.value < -self.resign:
            move = RESIGN
        self._log_choice(move, took, choice.value, choice.candidates)
        if keep:
            self._own.add(seat)
            self._resigned = seat if move == RESIGN else None
        if keep and move != RESIGN:
            session.play(seat, move, match if match.tick > session.match.tick else None)
            self.chosen = len(session.moves)
        return move

    def _log_choice(
        self, move: int, took: float, value: float | None, candidates: Sequence[MoveCandidate]
    ) -> None:
        size = self.session.size
        text = "resign" if move == RESIGN else go.vertex(move, size)
        if value is not None:
            text += f"  value {value:+.3f}"
        if candidates:
            best = candidates[0]
            text += f"  visits {sum(c.visits for c in candidates)}  line "
            text += " ".join(go.vertex(m, size) for m in best.line[:8])
        self.log(f"{self.player.name}: {text}  {took:.2f} s")
