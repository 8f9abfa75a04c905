"""The caller's process stays as it was found: a public function restores what Ludus sets for its own work.

Global random generators are not restored, because Ludus never draws from them: a program may do so in
another thread, or in a callback, meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from types import ModuleType

#: Variables that Ludus sets for libraries in this process.
_VARIABLES = ("CUBLAS_WORKSPACE_CONFIG",)
_CUDNN = ("deterministic", "benchmark", "allow_tf32")


class _Inside:
    """Calls of public functions that are in progress, in any thread."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.calls = 0
        self.threads = 0  # torch's, before the first of the calls; 0 = torch was not loaded


_inside = _Inside()


def _torch() -> ModuleType | None:
    """Return torch if it is loaded. This layer does not import it."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "get_num_threads") else None  # not while it is being imported


def one_thread() -> None:
    """Let operations of torch, if it is loaded, use the calling thread only.

    Parallel work is done by threads that help each other, never by OpenMP.
    """
    torch = _torch()
    if torch is None:
        return
    with _inside.lock:
        _inside.threads = _inside.threads or torch.get_num_threads()
    torch.set_num_threads(1)


@contextlib.contextmanager
def as_found() -> Iterator[None]:
    """Restore, after the body, the number of torch's threads, cuDNN's switches and environment variables.

    A number of threads belongs to the calling thread and, as a default, to every thread that starts later.
    """
    torch = _torch()
    with _inside.lock:
        threads = 0 if torch is None else torch.get_num_threads()
        if _inside.calls == 0:
            _inside.threads = threads
        elif threads == 1:  # the default of a new thread, which another call has changed
            threads = _inside.threads
        _inside.calls += 1
    switches = _switches()
    variables = {name: os.environ.get(name) for name in _VARIABLES}
    try:
        yield
    finally:
        _restore(variables, switches)
        torch = _torch()
        with _inside.lock:
            _inside.calls -= 1
            if torch is not None:
                before = threads or _inside.threads or torch.get_num_threads()
                if torch.get_num_threads() != before or _inside.calls == 0:
                    torch.set_num_threads(before)


def _switches() -> dict[str, bool]:
    torch = _torch()
    return {} if torch is None else {name: getattr(torch.backends.cudnn, name) for name in _CUDNN}


def _restore(variables: dict[str, str | None], switches: dict[str, bool]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    torch = _torch()
    for name, before in switches.items():
        if torch is not None and getattr(torch.backends.cudnn, name) != before:
            setattr(torch.backends.cudnn, name, before)
