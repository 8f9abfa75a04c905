"""A process that ends what Ray leaves behind where the controller is killed.

Ray's servers end with the process that started them, but two agents of each machine wait for a minute. The
reaper holds one end of a pipe and ends them when the other end closes.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ludus.cluster.processes.own_process import command_of

PROC = Path("/proc")


def start(before: Mapping[int, int], folder: str = "") -> subprocess.Popen[bytes] | None:
    """Start the reaper of this process's descendants; None without descendants or ``/proc``.

    Args:
        before: Descendants from before Ray was started (:func:`descendants`); the reaper spares them.
        folder: Their private folder, removed after their end; empty = none.
    """
    started = {p: time for p, time in descendants(os.getpid()).items() if before.get(p) != time}
    if not started:
        return None
    named = [f"{pid}:{time}" for pid, time in started.items()]
    command = command_of("ludus.cluster.processes.reaper", folder, *named)
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


def main() -> None:
    """Wait for the end of the standard input, then end the processes of the command line."""
    folder, *named = sys.argv[1:]
    sys.stdin.read()
    reap({int(pid): int(time) for pid, time in (text.split(":") for text in named)})
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def reap(started: Mapping[int, int]) -> None:
    """End processes; one of the same number that started at another time is another process."""
    for pid, time in started.items():
        if (now := _stat(pid)) is not None and now[1] == time:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def descendants(ancestor: int) -> dict[int, int]:
    """Return the start times of all processes below ``ancestor``, by process id."""
    every = {int(p.name): stat for p in PROC.glob("[0-9]*") if (stat := _stat(int(p.name))) is not None}
    found = {ancestor}
    while more := {pid for pid, (parent, _) in every.items() if parent in found} - found:
        found |= more
    return {pid: every[pid][1] for pid in found if pid != ancestor and pid in every}


def _stat(pid: int) -> tuple[int, int] | None:
    """Return the parent and the start time of a process; None if it has ended."""
    try:
        fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[1]), int(fields[19])
