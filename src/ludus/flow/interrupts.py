"""Signals that ask a process to end in order: Ctrl-C, SIGTERM, and the end of its terminal or connection."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], object]


def stop_signals() -> tuple[int, ...]:
    """SIGINT, SIGTERM and SIGHUP; not SIGHUP where it is ignored: ``nohup`` lets a program outlive it."""
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is None or signal.getsignal(hangup) is signal.SIG_IGN:
        return signal.SIGINT, signal.SIGTERM
    return signal.SIGINT, signal.SIGTERM, hangup


@contextmanager
def on_stop(handler: Handler) -> Iterator[None]:
    """While it is open, ``handler`` gets these signals. Does nothing outside of the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {s: signal.signal(s, handler) for s in stop_signals()}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, signal.SIG_DFL if former is None else former)


def _raise(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextmanager
def like_ctrl_c() -> Iterator[None]:
    """While it is open, each of these signals raises ``KeyboardInterrupt``."""
    with on_stop(_raise):
        yield
