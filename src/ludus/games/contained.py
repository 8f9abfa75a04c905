"""Running a game's code inside this process without letting it act on the process.

Matches are played by worker processes. But a game is created once in the parent, to read its spec, and
recorded matches are played again there. :func:`contained` is the gate to that code: its output goes to
stderr, its changes of the process are undone, and its exit or its hanging is an error of the game.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import random
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType, ModuleType
from typing import IO, TYPE_CHECKING, Any, TextIO

import numpy as np

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

START_S = 60.0  # for a game to be made in this process
CLOSE_S, AGAIN_S = 5.0, 0.5  # for its close(), and for the next ones of a process in which one has hung
NO_LIMIT_S = 1e7
TORCH = "default dtype, gradient mode or threads of torch"
RANDOM = "global random state"
ENVIRONMENT, FILTERS = "environment variables", "filters of warnings"

#: Reads a state of the process, and puts it back.
_Read = Callable[[], Any]
_Write = Callable[[Any], object]


class GameExit(RuntimeError):
    """A game tried to end its process."""


class GameHangs(RuntimeError):
    """A call of a game did not return in time."""


class _Stop(BaseException):
    """Exception that leaves a game's code, past its ``except Exception``."""

    def __init__(self, error: RuntimeError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(slots=True)
class ProcessChanges:
    """Changes that the game's code made in the process."""

    states: list[str] = field(default_factory=list)


@contextlib.contextmanager
def contained(limit_s: float = 0.0, printed: IO[bytes] | None = None) -> Iterator[ProcessChanges]:
    """Run the body, code of a game, without letting it act on this process.

    Raises :class:`GameExit` if it calls ``sys.exit`` or ``os._exit``, and :class:`GameHangs` if it takes
    longer than ``limit_s`` (0 = no limit; only code that Python can interrupt). Its other errors pass. Its
    stdout goes to the file ``printed``, or stderr.

    Outside the main thread only ``sys.exit`` is contained.
    """
    changes = ProcessChanges()
    if not _in_main_thread():  # the state belongs to other threads too
        try:
            yield changes
        except SystemExit as error:
            raise GameExit(exit_text(error)) from None
        return
    states = _read_states()
    with _guest_streams(printed), _no_exit():
        try:
            with _limited(limit_s):
                yield changes
        except _Stop as stop:
            raise stop.error from None
        except SystemExit as error:
            raise GameExit(exit_text(error)) from None
        finally:
            changes.states += _restore_states(states)


def exit_text(error: SystemExit) -> str:
    """Return the message about a game that called ``sys.exit``."""
    return f"the game called sys.exit({'' if error.code is None else repr(error.code)})"


#: One entry once a close has hung: others of the game will, and get little time.
_hung: list[float] = []


def close_quietly(thing: object, limit_s: float = CLOSE_S) -> str:
    """Close a game or an environment, if it can be closed. Returns the error, which no match needs."""
    close = getattr(thing, "close", None)
    if not callable(close):
        return ""
    limit_s = min([limit_s, *_hung])
    try:
        with contained(limit_s):
            close()
    except GameHangs:
        _hung[:] = [AGAIN_S]
        return f"close() did not return within {limit_s:g} s"
    except GameExit as error:
        return f"close(): {error}"
    except Exception as error:
        return f"close() raised {type(error).__name__}: {error}"
    return ""


# ---- the process's state ---------------------------------------------------------------------------


def _torch() -> ModuleType | None:
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "get_num_threads") else None  # not while it is being imported


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _handlers() -> dict[int, Any]:
    return {int(n): signal.getsignal(n) for n in signal.valid_signals()}


def _set_handlers(handlers: dict[int, Any]) -> None:
    for number, handler in handlers.items():
        if handler is not None and signal.getsignal(number) is not handler:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, handler)


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def _torch_settings() -> tuple[Any, ...] | None:
    torch = _torch()
    if torch is None:
        return None
    return torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_num_threads()


def _set_torch(settings: tuple[Any, ...]) -> None:
    torch = _torch()
    assert torch is not None
    dtype, grad, threads = settings
    torch.set_default_dtype(dtype)
    torch.set_grad_enabled(grad)
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)


def _random_states() -> tuple[Any, ...]:
    torch = _torch()
    name, key, *rest = np.random.get_state(legacy=True)
    of_torch = None if torch is None else torch.get_rng_state().numpy().tobytes()
    return random.getstate(), (name, np.asarray(key).tobytes(), *rest), of_torch


def _set_random_states(states: tuple[Any, ...]) -> None:
    of_python, of_numpy, of_torch = states
    random.setstate(of_python)
    np.random.set_state((of_numpy[0], np.frombuffer(of_numpy[1], np.uint32), *of_numpy[2:]))
    torch = _torch()
    if torch is not None and of_torch is not None:
        torch.set_rng_state(torch.frombuffer(bytearray(of_torch), dtype=torch.uint8))


def _set_collecting(on: bool) -> None:
    if on:
        gc.enable()
    else:
        gc.disable()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _set_environment(before: dict[str, str]) -> None:
    """Restore the variables that were there.

    New ones stay: libraries pass them to their own parts.
    """
    os.environ.update(before)


def _set_filters(before: list[Any]) -> None:
    warnings.filters[:] = before  # type: ignore[index]
    warnings.simplefilter("default", append=True)  # clears Python's cache of decisions
    warnings.filters[:] = before  # type: ignore[index]


def _timeout() -> tuple[float | None]:
    return (socket.getdefaulttimeout(),)


#: name -> read, write. A state that reads None is not there yet, or not this thread's.
_STATES: dict[str, tuple[_Read, _Write]] = {
    "current folder": (_folder, os.chdir),
    "signal handlers": (_handlers, _set_handlers),
    TORCH: (_torch_settings, _set_torch),
    "error handling of numpy": (np.geterr, lambda errors: np.seterr(**errors)),
    RANDOM: (_random_states, _set_random_states),
    "recursion limit": (sys.getrecursionlimit, sys.setrecursionlimit),
    "hook for exceptions": (lambda: sys.excepthook, lambda hook: setattr(sys, "excepthook", hook)),
    "default timeout of sockets": (_timeout, lambda before: socket.setdefaulttimeout(*before)),
    "garbage collection": (gc.isenabled, _set_collecting),
    "mask of new files": (_umask, os.umask),
    ENVIRONMENT: (lambda: dict(os.environ), _set_environment),
    FILTERS: (lambda: list(warnings.filters), _set_filters),
}


def _read_states() -> dict[str, Any]:
    return {name: read() for name, (read, _) in _STATES.items()}


def _restore_states(states: dict[str, Any]) -> list[str]:
    """Restore what differs. Returns the names of these states."""
    changed = []
    for name, (read, write) in _STATES.items():
        before, now = states[name], read()
        if name == TORCH and before is None and now is not None:  # the game has loaded it
            before = (sys.modules["torch"].float32, True, now[2])
        if name == RANDOM and before[2] is None:
            now = (*now[:2], None)
        if name == ENVIRONMENT:
            now = {key: now.get(key) for key in before}
        if before is None or now == before:
            continue
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            write(before)
            changed.append(name)
    return changed


# ---- standard streams -----------------------------------------------------------------------------------


class _GuestStream(io.RawIOBase):
    """Stream that passes its text to one of ours, or to a file, which stays open when this is closed."""

    def __init__(self, text: TextIO | None, file: IO[bytes] | None = None) -> None:
        super().__init__()
        self._text, self._file = text, file

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        written = bytes(data)
        with contextlib.suppress(OSError, ValueError):  # ours is closed or full
            if self._file is not None:
                self._file.write(written)
                self._file.flush()
            elif self._text is not None:
                self._text.write(written.decode("utf-8", "replace"))
                self._text.flush()
        return len(written)

    def fileno(self) -> int:
        owner = self._text if self._file is None else self._file
        return super().fileno() if owner is None else owner.fileno()

    def isatty(self) -> bool:
        return self._file is None and self._text is not None and self._text.isatty()


def _guest_stream(text: TextIO | None, file: IO[bytes] | None = None) -> TextIO:
    raw = _GuestStream(text, file)
    return io.TextIOWrapper(raw, "utf-8", "backslashreplace", write_through=True)  # type: ignore[type-var]


_STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")


@contextlib.contextmanager
def _guest_streams(printed: IO[bytes] | None) -> Iterator[None]:
    """Give the game's code separate streams: it may close or replace them, and their descriptors.

    stdout is for results: output of a game, its libraries and its child processes goes to stderr. stdin
    may belong to another program, so a game's is empty.
    """
    streams = {name: getattr(sys, name) for name in _STREAMS}
    kept = _keep_descriptors(None if printed is None else printed.fileno())
    replacements = {
        "stdin": open(os.devnull, encoding="utf-8"),  # noqa: SIM115 - closed below
        "stdout": _guest_stream(sys.stderr, printed),
        "stderr": _guest_stream(sys.stderr),
    }
    for name, stream in replacements.items():
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    try:
        yield
    finally:
        replacements["stdin"].close()
        for name, before in streams.items():
            setattr(sys, name, before)
        if 1 in kept:
            _flush_c()
        for number, copy in kept.items():
            os.dup2(copy, number)
            os.close(copy)


def _keep_descriptors(target: int | None) -> dict[int, int]:
    """Empty descriptor 0 and make 1 that of ``target``, or stderr's. Returns copies of 0, 1 and 2."""
    kept = {}
    with contextlib.suppress(OSError, ValueError):
        if sys.stdout is not None:
            sys.stdout.flush()
    _flush_c()
    for number in range(3):
        with contextlib.suppress(OSError):
            kept[number] = os.dup(number)
    nowhere = os.open(os.devnull, os.O_RDWR)
    if 0 in kept:
        os.dup2(nowhere, 0)
    if 1 in kept:
        try:
            os.dup2(2 if target is None else target, 1)
        except OSError:  # stderr is closed
            os.dup2(nowhere, 1)
    if nowhere > 2:
        os.close(nowhere)
    return kept


def _flush_c() -> None:
    """Write out the text that C libraries have buffered."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)


# ---- exits and hanging calls ------------------------------------------------------------------------


#: Functions of ``os`` that end the process, or replace its program.
_ENDINGS = ("_exit", "abort", "execv", "execve", "execvp", "execvpe", "execl", "execle", "execlp", "execlpe")
_FATAL = set(signal.valid_signals()) - {
    getattr(signal, name, None) for name in ("SIGCHLD", "SIGURG", "SIGWINCH", "SIGCONT")
}
_inside: list[int] = []  # the process, once for each gate that its main thread is in


def _is_guest() -> bool:
    """Return whether the caller is a game's code. Its children are not: they exit as they like."""
    return bool(_inside) and os.getpid() == _inside[-1]


def _guarded(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def leave(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the real one
        if not _is_guest():  # a module may have taken hold of ours
            return real(*args, **kwargs)
        raise _Stop(GameExit(f"the game called os.{name}({', '.join(map(repr, args))})"))

    return leave


def _kill(pid: int, number: int) -> None:
    if _is_guest() and pid == os.getpid() and number in _FATAL and signal.getsignal(number) == signal.SIG_DFL:
        raise _Stop(GameExit(f"the game called os.kill(os.getpid(), {int(number)})"))
    _REAL["kill"](pid, number)


_REAL: dict[str, Callable[..., Any]] = {n: getattr(os, n) for n in (*_ENDINGS, "kill") if hasattr(os, n)}
_OURS = {**{n: _guarded(n, _REAL[n]) for n in _ENDINGS if n in _REAL}, "kill": _kill}


@contextlib.contextmanager
def _no_exit() -> Iterator[None]:
    """Make ``os._exit`` and the like leave the game's code, not the process."""
    before = {name: getattr(os, name) for name in _OURS}
    for name, function in _OURS.items():
        setattr(os, name, function)
    _inside.append(os.getpid())
    try:
        yield
    finally:
        _inside.pop()
        for name, function in before.items():
            setattr(os, name, function)


@contextlib.contextmanager
def _limited(limit_s: float) -> Iterator[None]:
    """Limit the time of the body, and keep alarms of the game's own from the process."""
    if not hasattr(signal, "setitimer"):  # pragma: no cover - other systems
        yield
        return
    limit_s = limit_s or NO_LIMIT_S
    start = time.monotonic()
    in_body = True

    def late(number: int, frame: FrameType | None) -> None:
        left = limit_s - (time.monotonic() - start)
        if left > 0:  # an alarm of the game's own
            signal.setitimer(signal.ITIMER_REAL, left, 1.0)
        elif in_body:
            raise _Stop(GameHangs(f"did not return within {limit_s:g} s"))

    handler = signal.signal(signal.SIGALRM, late)
    before, every = signal.setitimer(signal.ITIMER_REAL, limit_s, 1.0)  # again where the game catches it
    try:
        yield
    finally:
        in_body = False
        left = max(0.001, before - (time.monotonic() - start)) if before else 0.0
        signal.setitimer(signal.ITIMER_REAL, left, every)
        signal.signal(signal.SIGALRM, handler if handler is not None else signal.SIG_DFL)
