"""Takes the moments of a match: as the game draws them, else as what its seats observe. Bounded in bytes."""

from __future__ import annotations

import contextlib
import math
import signal
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any

import numpy as np

from ludus.flow.slab import Array
from ludus.flow.spec import GameSpec
from ludus.games.python_game import PythonGame
from ludus.web.frames.looks import Look, PictureEncoder, Pixels, checked, observed_picture, table
from ludus.web.frames.messages import At, Frame, Message

MOST_FRAMES = 4000  # of a match
MOST_FILM = 8 << 20  # bytes of a match: the page has a third more
MOST_RATE = 30.0  # moments a second of a match that is watched live
RENDER_S = 5.0  # of one picture
INSTEAD = "the table shows what the seats observe"

Observed = Mapping[int, Mapping[str, Array]]


class Camera:
    """Sends the moments of one match. ``notes``: sentences about them."""

    def __init__(
        self, game: PythonGame, spec: GameSpec, send: Callable[[Message], None], *, fast: bool = False
    ) -> None:
        """Look at ``game``, whose ``render`` is called where it has one.

        ``fast``: pictures take little time, and more bytes.
        """
        self.notes: list[str] = []
        self.stride = 1
        self._spec, self._send, self._encoder = spec, send, PictureEncoder(fast=fast)
        self._render: Callable[[], Any] | None = getattr(game, "render", None)
        self._kept: list[tuple[int, int, int]] = []  # tick, number of its look, bytes of that
        self._looks = 0
        self._bytes = 0  # as _size() counts them
        self._last: Pixels | str | bytes | None = None
        self._drew = False

    def start(self, ticks: int, draw: bool, pace: float = 0.0) -> None:
        """Prepare for a match.

        Args:
            ticks: Its length; 0 where no one knows.
            draw: Whether to render.
            pace: Ticks a second that are shown at once, of which no more than ``MOST_RATE`` are kept.
        """
        self.stride = max(1, -(-ticks // MOST_FRAMES), math.ceil(pace / MOST_RATE))
        if not draw:
            self._render = None
            self.notes.append(f"render() did not return, or ended the process: {INSTEAD}")
        elif not callable(self._render):
            self._render = None
            self.notes.append(f"this game draws nothing: {INSTEAD}")

    def take(self, tick: int, observed: Observed, returns: Array, last: bool) -> None:
        """Send the moment after ``tick`` ticks, unless it is one that is left out."""
        if (tick % self.stride and not last) or (self._kept and self._kept[-1][0] == tick):
            return
        look = self._look(tick, observed)
        if look.kind != "same":
            self._looks += 1
        size = len(look.data) if look.kind != "same" else self._kept[-1][2]
        if not self._kept or self._kept[-1][1] != self._looks:
            self._bytes += size
        self._kept.append((tick, self._looks, size))
        while len(self._kept) > max(2, MOST_FRAMES) or self._bytes > MOST_FILM and len(self._kept) > 2:
            self.stride *= 2
            self._kept = [kept for kept in self._kept if kept[0] % self.stride == 0]
            self._bytes = self._size()
        kept = tuple(float(r) for r in returns)
        self._send(Frame(tick, self.stride, look.kind, look.data, kept))

    def _size(self) -> int:
        """Return the bytes of the moments that are kept; those that look the same count once."""
        return sum({number: size for _, number, size in self._kept}.values())

    def _look(self, tick: int, observed: Observed) -> Look:
        drawn = self._drawn(tick)
        if drawn is None and observed:
            drawn = observed_picture(self._spec, next(iter(observed.values())))
        shown: Pixels | str | bytes = table(self._spec, observed) if drawn is None else drawn
        last, self._last = self._last, shown
        if type(last) is type(shown) and np.array_equal(shown, last):
            return Look("same", b"")
        if isinstance(shown, np.ndarray):
            return Look("picture", self._encoder.encode(shown))
        if isinstance(shown, str):
            return Look("text", shown.encode())
        return Look("table", shown)

    def _drawn(self, tick: int) -> Pixels | str | None:
        if self._render is None:
            return None
        self._send(At(tick, "render()"))
        try:
            with _limited(RENDER_S):
                value = self._render()
            drawn = checked(value)
        except (Exception, SystemExit) as error:
            named = str(error) if str(error).startswith("render()") else f"render(): {_line(error)}"
            self.notes.append(f"{named} at tick {tick}; {INSTEAD}")
            self._render = None
            return None
        if drawn is None and not self._drew:
            self.notes.append(f"this game draws nothing: {INSTEAD}")
            self._render = None
        self._drew = True
        return drawn


class _Late(BaseException):
    """Leaves the game's code past its ``except Exception``."""


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Limit the time of the body, code that Python can interrupt. Raises ``TimeoutError``.

    It costs little at every tick; the process has nothing else that a game could change.
    """

    def late(number: int, frame: FrameType | None) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again where the game catches it
    try:
        yield
    except _Late:
        raise TimeoutError(f"did not return within {seconds:g} s") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before if before is not None else signal.SIG_DFL)


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
