"""Two trainings that take turns on one machine: while one runs, the other is stopped.

Each is a process (with whatever processes it starts) that appends lines ``monotonic_ns frames`` to a file,
``frames`` being all that it has trained on so far. Stopping costs neither of them its warm-up, and what else
the machine does falls on both alike.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

POLL_S = 0.05
TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


class SideError(RuntimeError):
    """A training that ended, or that does not get on."""


@dataclass(slots=True)
class Tally:
    """Counts over all turns of one side, between the first and the last line of each turn."""

    frames: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0  # processors' seconds of all its processes
    foreign_s: float = 0.0  # processors' seconds of everything else on the machine
    turns: list[float] = field(default_factory=list)  # frames a second of each turn

    @property
    def rate(self) -> float:
        """Frames a second of wall time."""
        return self.frames / self.seconds if self.seconds else 0.0

    @property
    def cpu_rate(self) -> float:
        """Frames a second of processor time."""
        return self.frames / self.cpu_s if self.cpu_s else 0.0

    @property
    def cores(self) -> float:
        """Processors that it had on average."""
        return self.cpu_s / self.seconds if self.seconds else 0.0

    @property
    def foreign(self) -> float:
        """Processors that others had in its turns."""
        return self.foreign_s / self.seconds if self.seconds else 0.0


class Side:
    """One training, started by its warm-up. ``close`` ends it and all that it started."""

    def __init__(
        self, name: str, command: Sequence[str], folder: Path, environment: dict[str, str] | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name, self.tally = name, Tally()
        self.progress, self.log = folder / "progress", folder / "log.txt"
        self.progress.touch()
        self.spans: list[tuple[int, int]] = []  # monotonic ns between which it ran
        self._command, self._folder = [*command, "--progress", str(self.progress)], folder
        # One intra-op thread a process, for both sides: OpenMP collapses where a core is shared.
        one = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self._environment = {**os.environ, **one, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """Process of the training, once it is started."""
        assert self._process is not None
        return self._process

    def warm_up(self, lines: int, limit_s: float) -> None:
        """Start the side; stop it once it has written its progress ``lines`` times."""
        started = time.monotonic_ns()
        with self.log.open("wb") as out:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self._environment,
                cwd=self._folder,
            )
        self._wait(lambda: len(self._lines()) >= lines, limit_s)
        self._signal(signal.SIGSTOP)
        self.spans.append((started, time.monotonic_ns()))

    def turn(self, seconds: float, limit_s: float) -> None:
        """Run for ``seconds``, and until there is something to count."""
        started = time.monotonic_ns()
        self._signal(signal.SIGCONT)
        first: tuple[int, int] | None = None
        last: tuple[int, int] | None = None
        cpu = machine = cpu_last = machine_last = 0.0

        def done() -> bool:
            nonlocal first, last, cpu, machine, cpu_last, machine_last
            lines = [line for line in self._lines() if line[0] > started]
            if lines and lines[-1] != last:
                last, cpu_last, machine_last = lines[-1], tree_seconds(self.process.pid), busy_seconds()
                if first is None:
                    first, cpu, machine = last, cpu_last, machine_last
            enough = first is not None and last is not None and last[0] - first[0] > 0.5e9 * seconds
            return enough and time.monotonic_ns() - started > 1e9 * seconds

        self._wait(done, limit_s)
        self._signal(signal.SIGSTOP)
        self.spans.append((started, time.monotonic_ns()))
        assert first is not None
        assert last is not None
        took = (last[0] - first[0]) / 1e9
        frames = last[1] - first[1]
        tally = self.tally
        tally.frames += frames
        tally.seconds += took
        tally.cpu_s += cpu_last - cpu
        tally.foreign_s += max(0.0, machine_last - machine - (cpu_last - cpu))
        tally.turns.append(frames / took)

    def run(self, seconds: float) -> None:
        """Run for ``seconds``, whatever it has to show for them."""
        started = time.monotonic_ns()
        self._signal(signal.SIGCONT)
        self._wait(lambda: time.monotonic_ns() - started >= 1e9 * seconds, seconds + 60.0)
        self._signal(signal.SIGSTOP)
        self.spans.append((started, time.monotonic_ns()))

    def ran_s(self, at: int) -> float:
        """Return the seconds that the side had run at ``at`` (monotonic ns), without its pauses."""
        return sum(min(end, at) - start for start, end in self.spans if start < at) / 1e9

    def close(self) -> None:
        """End every process of the side, by number. Idempotent."""
        if self._process is None:
            return
        all_of_it = tree(self.process.pid)  # once it has ended, its children have no parent
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            self.process.send_signal(
                signal.SIGTERM
            )  # before it continues, so that it can release shared resources
            self._signal(signal.SIGCONT)
            self.process.wait(10.0)
        for pid in reversed(all_of_it + tree(self.process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def _signal(self, number: signal.Signals) -> None:
        for pid in tree(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _lines(self) -> list[tuple[int, int]]:
        """Return the last lines of progress; a line that is being written is left for the next look."""
        with self.progress.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - (1 << 16)))
            text = file.read().decode()
        whole = text[: text.rfind("\n") + 1].splitlines()[1 if size > 1 << 16 else 0 :]
        return [(int(at), int(frames)) for at, frames in (line.split() for line in whole)]

    def _wait(self, done: object, limit_s: float) -> None:
        assert callable(done)
        deadline = time.monotonic() + limit_s
        while not done():
            if self.process.poll() is not None:
                raise SideError(f"{self.name} ended with code {self.process.returncode}: {self._tail()}")
            if time.monotonic() > deadline:
                raise SideError(f"{self.name} wrote no progress within {limit_s:g} s: {self._tail()}")
            time.sleep(POLL_S)

    def _tail(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return " | ".join(lines[-4:]) or "no output"


def alternate(sides: Sequence[Side], seconds: float, turns: int, warm_lines: int, limit_s: float) -> None:
    """Warms every side up and gives them ``turns`` turns each. Raises :class:`SideError`."""
    for side in sides:
        side.warm_up(warm_lines, limit_s)
    for _ in range(turns):
        for side in sides:
            side.turn(seconds, limit_s)


def tree(root: int) -> list[int]:
    """``root`` and all processes below it, parents first."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            fields = path.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def tree_seconds(root: int) -> float:
    """Processors' seconds of ``root``, of all below it, and of those that they have waited for."""
    total = 0
    for pid in tree(root):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(int(x) for x in fields[11:15])
    return total * TICK_S


def busy_seconds() -> float:
    """Processors' seconds of the whole machine since it started, idle time left out."""
    numbers = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    idle = numbers[3] + numbers[4]
    return (sum(numbers) - idle) * TICK_S
