"""The other end of the process that plays: started, asked, and ended where it hangs."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from types import TracebackType

from ludus.games import registry
from ludus.games.checks.agent_order import SAME_HASHES
from ludus.games.names import is_typed
from ludus.web.frames.messages import (
    At,
    Begun,
    Frame,
    GameOrder,
    Late,
    MatchEnded,
    NoMatch,
    PlayAgain,
    PlayLive,
    receive,
    send,
)

CALL_S = 30.0  # of one call of the game; torch is loaded within the first
START_S = 120.0  # for the game to be made
#: pygame draws without a screen, and a small network is evaluated without waiting for other threads.
_MODEST = {
    "SDL_VIDEODRIVER": "dummy",
    "SDL_AUDIODRIVER": "dummy",
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
_RUN = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; "
    "from ludus.web.frames.worker import main; main(*map(int, sys.argv[1:]))"
)


class ShowError(ValueError):
    """No match can be shown, with the reason in one sentence."""


class RenderFails(ShowError):
    """``render()`` of the game ended the process, or did not return where Python cannot interrupt it."""


class Stage:
    """A process that plays matches of one game, one at a time. Close it when done."""

    def __init__(self, game: str, params: Mapping[str, str], *, quiet: bool = False) -> None:
        """Start it.

        Args:
            game: The game's reference; one that a person has named, or of an installed game.
            params: Parameters of its rules.
            quiet: Whether what the game prints is dropped; else it goes to stderr.

        Raises:
            ParamError: A game that may not be loaded.
        """
        order = GameOrder(registry.python_reference(game), is_typed(game), dict(params))
        asked, self._asking = os.pipe()
        self._answers, answering = os.pipe()
        environment = {**os.environ, **SAME_HASHES, **_MODEST}
        environment["PYTHONPATH"] = os.pathsep.join(p or os.getcwd() for p in sys.path)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _RUN, str(asked), str(answering)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL if quiet else 2,
                stderr=subprocess.DEVNULL if quiet else None,
                pass_fds=(asked, answering),
                env=environment,
                start_new_session=True,
            )
        finally:
            os.close(asked)
            os.close(answering)
        self.game = game
        self._place: At = At(0, "making the game")
        self._send(order)

    def play(self, task: PlayAgain | PlayLive) -> Iterator[Begun | Frame | MatchEnded]:
        """Play a match and yield its messages; the last is an ``MatchEnded``.

        Raises:
            ShowError: It cannot be played, or the process is gone.
        """
        self._send(task)
        while True:
            limit = START_S if self._place.place in ("making the game", "thinking") else CALL_S
            try:
                message = receive(self._answers, limit)
            except Late:
                self.close()
                raise self._error()(f"{self._called()} did not return within {limit:g} s") from None
            if message is None:
                raise self._error()(f"{self._called()} ended the process ({self._end()})")
            if isinstance(message, NoMatch):
                raise ShowError(message.why)
            if isinstance(message, At):
                self._place = message
                continue
            yield message
            if isinstance(message, MatchEnded):
                return

    def _error(self) -> type[ShowError]:
        return RenderFails if self._place.place == "render()" else ShowError

    def _called(self) -> str:
        at = self._place
        return at.place if at.place == "making the game" else f"{at.place} at tick {at.tick}"

    def _send(self, message: GameOrder | PlayAgain | PlayLive) -> None:
        try:
            send(self._asking, message)
        except OSError:
            raise ShowError(f"{self._called()} ended the process ({self._end()})") from None

    def _end(self) -> str:
        try:
            code = self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            return "its output is closed"
        return f"exit code {code}" if code >= 0 else signal.Signals(-code).name

    def close(self) -> None:
        """End the process; idempotent."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for name in ("_asking", "_answers"):
            if (file := getattr(self, name)) >= 0:
                os.close(file)
                setattr(self, name, -1)

    def __enter__(self) -> Stage:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()
