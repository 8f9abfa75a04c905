"""Engines without a voice: they print what their network does to the terminal of who started them."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator

_OUT = (1, 2)  # standard output and error of this process, which engines inherit

_lock = threading.Lock()
_starting = 0  # nested or parallel uses
_kept: list[int] = []  # copies of _OUT meanwhile


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Let programs that start meanwhile, and native code of this process, print to nowhere."""
    _silence()
    try:
        yield
    finally:
        _restore()


def _silence() -> None:
    global _starting
    with _lock:
        _starting += 1
        if _starting > 1:
            return
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                stream.flush()
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
        except OSError:  # out of descriptors: the engines are loud
            return
        try:
            for out in _OUT:
                _kept.append(os.dup(out))
                os.dup2(nowhere, out)
        except OSError:
            _give_back()
        finally:
            os.close(nowhere)


def _restore() -> None:
    global _starting
    with _lock:
        _starting -= 1
        if _starting == 0:
            _give_back()


def _give_back() -> None:
    for out, copy in zip(_OUT, _kept, strict=False):
        os.dup2(copy, out)
        os.close(copy)
    _kept.clear()
