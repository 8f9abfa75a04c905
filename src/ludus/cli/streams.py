"""stdin, stdout and stderr, usable however the process was started.

A stream may be closed (daemons, cron, ``>&-``), its reader may have exited (``| head -1``), and its disk may
be full. Progress on stderr that cannot be written is left out. A result that cannot be written is an error,
except where its reader has exited: then the command does the rest of its work without output.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import TextIO

from ludus.cli.errors import CommandError

_NAMES = ("stdin", "stdout", "stderr")
_written = False  # a result was written to stdout


def prepare() -> None:
    """Open the null device for each closed stream, under the stream's own number.

    Without it the next opened file would get that number, and receive the printed text. A character that the
    encoding of stdout lacks is printed as an escape.
    """
    global _written
    _written = False
    for number, name in enumerate(_NAMES):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, _nothing(number))
        elif number and isinstance(stream, io.TextIOWrapper):
            if stream.errors == "strict":
                stream.reconfigure(errors="backslashreplace")
            with suppress(OSError, ValueError):  # a terminal that another program set to not wait
                os.set_blocking(stream.fileno(), True)


def _nothing(number: int) -> TextIO:
    try:
        os.fstat(number)
        fd = os.open(os.devnull, os.O_RDWR)  # a library has taken the number
    except OSError:
        fd = os.open(os.devnull, os.O_RDWR)
        if fd != number:
            os.dup2(fd, number)
            os.close(fd)
            fd = number
        os.set_inheritable(fd, True)  # child processes have three streams, too
    return open(fd, "r" if number == 0 else "w", encoding="utf-8", errors="backslashreplace", closefd=False)


def write_out(text: str) -> None:
    """Write to stdout at once. Raise :class:`CommandError` if the result cannot be written."""
    global _written
    _written = True
    try:
        _reopen()
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)
    except OSError as error:
        discard(sys.stdout)
        raise CommandError(f"stdout: {error.strerror}; the result was not written") from None


def has_result() -> bool:
    """Return whether the command has written to stdout."""
    return _written


def write_err(text: str) -> None:
    """Write to stderr at once; text that cannot be written is left out."""
    with suppress(OSError, ValueError):
        _reopen()
        sys.stderr.write(text)
        sys.stderr.flush()


def _reopen() -> None:
    """Open stdout and stderr again where other code has closed the object, but not the descriptor."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream = getattr(sys, name)
        if stream is None or stream.closed:
            opened = open(number, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115
            setattr(sys, name, opened)


def stdout_failed() -> str:
    """Return why stdout takes no more output, in the system's words; "" while it does.

    The reader's exit is ``"closed"``. Further output is discarded then.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        discard(sys.stdout)
        return "closed" if error.errno == errno.EPIPE else str(error.strerror)
    return ""


def settle() -> None:
    """Discard text that could not be written, at the end of the process: Python would fail on it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            discard(stream)
        except ValueError:  # closed by other code
            continue


def discard(stream: TextIO) -> None:
    """Redirect ``stream`` to the null device, with the text still in its buffer."""
    with suppress(OSError, ValueError):
        fd = os.open(os.devnull, os.O_WRONLY)
        os.dup2(fd, stream.fileno())
        os.close(fd)
        stream.flush()
