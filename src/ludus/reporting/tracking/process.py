"""Process of a tracker: a run's sink is fed from outside, so that it can neither slow nor end the training.

``python -m ludus.reporting.tracking.process RUN NAME`` feeds the sink ``NAME`` until its standard input ends
or brings a line, or until no process trains the run. What it prints are messages of the run.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from ludus.flow.inputs.shown import shell, visible
from ludus.presets.config import Preset, TrackingConfig
from ludus.presets.errors import ConfigError
from ludus.reporting.metrics import EvaluationMetrics, UpdateMetrics
from ludus.reporting.sinks import PROBLEM, RunStart, Sink
from ludus.reporting.tracking.facts import tracking_of_run
from ludus.reporting.tracking.feeder import Feeder, SinkFailed
from ludus.reporting.tracking.registry import sink_class, sink_classes
from ludus.storage.errors import StorageError
from ludus.storage.files import file_part, open_own, own_folder
from ludus.storage.lock import RunBusy, is_locked
from ludus.storage.rundir import RunDirectory

POLL_S = 2.0  # between two looks at the log
NOTE_S, CLOSE_S = 5.0, 60.0  # for the end of a tracker: a message, and its end by force
GRACE_S = 2.0  # between its two signals
MOST_LINES, MOST_LINE = 50, 500  # of messages of a tracker


def sinks_of(preset: Preset) -> list[Sink]:
    """Return the sinks that a preset names. Raises ``ConfigError`` for one that cannot be used."""
    found = sink_classes(preset.tracking.sinks)
    return [kind() if kind.in_process else TrackingProcess(name) for name, kind in found.items()]


def track(
    run: RunDirectory,
    name: str,
    tracking: TrackingConfig,
    say: Callable[[str], None],
    ended: Callable[[], bool] | None = None,
) -> int:
    """Feed the sink ``name`` with a run, and return the number of rows that it received.

    Args:
        run: The run.
        name: Name of a sink.
        tracking: Settings of trackers.
        say: Shows a line to the user.
        ended: Waits a while and returns whether the run has ended; None for the rows that are there now.

    Raises:
        ConfigError: There is no such sink.
        SinkFailed: The sink raised an error. What it has received is recorded.
        StorageError: A file of the run is damaged, or another process feeds the sink.
        OSError: The record cannot be written.
    """
    feeder = Feeder(run, name, sink_class(name), tracking, say)
    try:
        feeder.start()
        feeder.feed()
        while ended is not None and not ended():
            feeder.feed()
        feeder.feed()
        feeder.finish()
    finally:
        feeder.close()
    return feeder.given


class TrackingProcess(Sink):
    """Sink of a preset in another process. The log of the run is its queue: no row waits in memory."""

    def __init__(self, name: str) -> None:
        """Name the sink; :meth:`start` starts its process."""
        self._name = name
        self._process: subprocess.Popen[bytes] | None = None
        self._run: RunStart | None = None
        self._lines = 0
        self._part = b""

    def start(self, run: RunStart) -> None:
        """Start the process, which survives Ctrl-C in the terminal and ends after the run."""
        if self._process is not None and self._process.poll() is None:
            return
        self._run = run
        folder = RunDirectory(run.path).tracking
        own_folder(folder, make=True)
        path = os.pathsep.join(p for p in sys.path if p)
        with os.fdopen(open_own(folder / f"{file_part(self._name)}.log", os.O_WRONLY), "wb") as log:
            log.truncate(0)
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(run.path), self._name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"},
                start_new_session=True,
            )
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)

    def update(self, metrics: UpdateMetrics) -> None:
        """Show what the process has printed; it reads the numbers from the log."""
        self._look()

    def evaluation(self, evaluation: EvaluationMetrics) -> None:
        """Show what the process has printed."""
        self._look()

    def close(self) -> None:
        """Wait for the process, which sends the rest and the results, but not for ever."""
        process, run = self._process, self._run
        if process is None or run is None:
            return
        with contextlib.suppress(OSError):
            _pipe(process.stdin).close()
        try:
            self._wait(process, run)
        except KeyboardInterrupt:
            self._kill(process)
            run.say(f"{self._name}: left before its end{self._rest(run)}")
        finally:
            self._process = None
            _pipe(process.stdout).close()

    def _wait(self, process: subprocess.Popen[bytes], run: RunStart) -> None:
        started, noted = time.monotonic(), False
        while process.poll() is None:
            waited = time.monotonic() - started
            if waited > CLOSE_S:
                self._kill(process)
                run.say(f"{PROBLEM}{self._name}: no end within {CLOSE_S:.0f} s{self._rest(run)}")
                return
            if waited > NOTE_S and not noted:
                noted = True
                run.say(f"{self._name}: sending the rest; Ctrl-C leaves it")
            self._relay(process, run)
            time.sleep(0.05)
        self._look()

    def _look(self) -> None:
        """Show what the process has printed, and once that it has ended by an error."""
        process, run = self._process, self._run
        if process is None or run is None:
            return
        code = process.poll()
        self._relay(process, run)
        if code is not None:
            _pipe(process.stdout).close()
            with contextlib.suppress(OSError):
                _pipe(process.stdin).close()
            self._process = None
            if code:
                how = f"signal {-code}" if code < 0 else f"exit code {code}"
                log = RunDirectory(run.path).tracking / f"{file_part(self._name)}.log"
                run.say(f"{PROBLEM}{self._name}: tracking ended ({how}, see {log}){self._rest(run)}")

    def _relay(self, process: subprocess.Popen[bytes], run: RunStart) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(_pipe(process.stdout).fileno(), 1 << 16):
                *lines, self._part = (self._part + data).split(b"\n")
                self._part = self._part[-MOST_LINE:]
                for line in lines[: MOST_LINES - self._lines]:
                    self._lines += 1
                    run.say(visible(line.decode(errors="replace"))[:MOST_LINE])

    def _rest(self, run: RunStart) -> str:
        return f"; the run is whole without it; to send the rest: {track_command(run.path, self._name)}"

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        """End the process and those that it started."""
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)


def track_command(run: Path, name: str) -> str:
    """Return the command that gives a sink the rows that it lacks."""
    return f"ludus track {shell(str(run))} --to {shell(name)}"


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def until_closed(run: RunDirectory, fd: int) -> Callable[[], bool]:
    """Return a wait for the end of a run: ``fd`` has data or its end, or the run's process is gone."""
    watched = is_locked(run.lock_path)

    def ended() -> bool:
        ready, _, _ = select.select([fd], [], [], POLL_S)
        return bool(ready) or (watched and not is_locked(run.lock_path))

    return ended


def main(arguments: list[str]) -> int:
    """Feed a sink until the run ends."""
    path, name = arguments
    with contextlib.suppress(OSError):
        os.nice(5)  # training goes first

    def say(text: str) -> None:
        with contextlib.suppress(OSError):  # the process that trained is gone
            print(visible(text), flush=True)  # noqa: T201

    try:
        run = RunDirectory.open(Path(path))
        _track_in_turn(run, name, say)
    except (ConfigError, StorageError, SinkFailed, OSError) as error:
        say(f"{PROBLEM}{error}")
        return 1
    return 0


def _track_in_turn(run: RunDirectory, name: str, say: Callable[[str], None]) -> None:
    """Track until the run ends, after the process of a killed one has sent the rest."""
    ended = until_closed(run, sys.stdin.fileno())
    while True:
        try:
            track(run, name, tracking_of_run(run), say, ended)
        except RunBusy:
            if ended():
                raise
        else:
            return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
