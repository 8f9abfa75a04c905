r"""Signals that ask a process to end in order.

They come from a person (Ctrl-C, Ctrl-\), from the end of a terminal or connection (SIGHUP), and from
programs that start processes: SIGTERM. Schedulers of clusters send SIGUSR1, SIGUSR2 or SIGXCPU before they
kill a job, by default or by choice (Slurm, Grid Engine, LSF). SIGPWR reports a power failure.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Handler = Callable[[int, FrameType | None], object]


#: Besides SIGINT and SIGTERM; some are missing on some systems.
_OTHERS = ("SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGXCPU", "SIGPWR")


def every_stop_signal() -> tuple[int, ...]:
    """Return all stop signals that this system has."""
    others = (getattr(signal, name, None) for name in _OTHERS)
    return (signal.SIGINT, signal.SIGTERM, *(s for s in others if s is not None))


def stop_signals() -> tuple[int, ...]:
    """Return the signals that end this process in order.

    Left out are others than SIGINT and SIGTERM that are ignored: ``nohup`` lets a program outlive SIGHUP.
    """
    first, second, *others = every_stop_signal()
    return (first, second, *(s for s in others if signal.getsignal(s) is not signal.SIG_IGN))


def leave_to_parent() -> None:
    """Ignore the stop signals in a worker: the parent gets them too and ends its workers.

    Programs that this process starts have the signals' default actions.
    """
    for number in every_stop_signal():
        signal.signal(number, _nothing)


def _nothing(number: int, frame: FrameType | None) -> None:
    pass


@contextmanager
def on_stop(handler: Handler) -> Iterator[None]:
    """Call ``handler`` for these signals while open. Does nothing outside of the main thread."""
    with kept_handlers():
        if threading.current_thread() is threading.main_thread():
            for number in stop_signals():
                signal.signal(number, handler)
        yield


@contextmanager
def kept_handlers() -> Iterator[None]:
    """Restore the handlers of these signals at the end. Does nothing outside of the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in every_stop_signal()}
    try:
        yield
    finally:
        for number, former in before.items():
            if signal.getsignal(number) is not former:
                signal.signal(number, signal.SIG_DFL if former is None else former)


def _raise(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextmanager
def like_ctrl_c() -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` for each of these signals while open, as every command does."""
    with on_stop(_raise):
        yield
