"""End of a command's process: it does not wait for threads and processes that a game left running."""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

GRACE_S = 2.0  # for threads and child processes to end by themselves

Main = Callable[[Sequence[str] | None], int]


def exits_process(main: Main) -> Callable[..., int]:
    """Make the process of ``main()`` end with its exit code, whatever still runs in it."""

    @functools.wraps(main)
    def exiting(argv: Sequence[str] | None = None) -> int:
        code = main(argv)
        if argv is None and "ludus.games.contained" in sys.modules:  # code of a game has run here
            threading.Thread(target=_exit_process, args=(code,), daemon=True).start()
        return code

    return exiting


def _exit_process(code: int) -> None:
    """End the process after ``GRACE_S``: Python would wait for threads and child processes."""
    from ludus.cli import console  # not before a command is known

    time.sleep(GRACE_S)
    threads = [f"thread {t.name!r}" for t in threading.enumerate() if not t.daemon and t.is_alive()]
    names = [name for name in threads if name != "thread 'MainThread'"]
    multiprocessing = sys.modules.get("multiprocessing")
    children = multiprocessing.active_children() if multiprocessing is not None else []
    names += [f"process {child.pid}" for child in children]
    with suppress(OSError, ValueError):
        if names:
            console.note(f"left running by the game: {', '.join(names)}; expected close() to end them")
        sys.stderr.flush()
    for child in children:
        with suppress(OSError, ValueError):
            child.kill()
    os._exit(code)
