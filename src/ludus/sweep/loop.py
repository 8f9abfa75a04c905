"""Runs a sweep: starts its processes, as many at a time as asked, until every run is over."""

from __future__ import annotations

import re
import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Literal, Protocol

import msgspec

from ludus.flow.inputs.shown import shown
from ludus.flow.process.interrupts import on_stop
from ludus.games.names import is_bot_file, is_installed_name
from ludus.presets.config import Preset
from ludus.presets.method_file import method_file
from ludus.presets.options import option_of
from ludus.reporting.run_view import RunView
from ludus.storage.errors import CorruptFile, StorageError
from ludus.sweep.config import SweepConfig
from ludus.sweep.directory import SweepDirectory
from ludus.sweep.plan import PlannedRun, known_points, loaded_run, planned_cells, runs_of
from ludus.sweep.processes import Process, ProcessCommand, ProcessEnd, launch
from ludus.sweep.results import score_of_run
from ludus.sweep.search import Trial, ask
from ludus.training.opponents import opponent_skip

POLL_S = 0.2
EVAL_SEED = 1  # of greedy matches, the same for all runs
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_:;,.=+ -]*")
State = Literal["finished", "failed", "interrupted"]


class Outcome(msgspec.Struct, frozen=True):
    """How a run ended in this process. ``message``: of a failure, one line."""

    run: PlannedRun
    state: State
    message: str = ""


class Active(msgspec.Struct):
    """A run under way. ``process``: None while a process of an earlier sweep works on it."""

    run: PlannedRun
    process: Process | None
    command: ProcessCommand


class SweepObserver(Protocol):
    """Shows the progress of a sweep."""

    def show(self, loop: SweepLoop) -> None:
        """Draw the sweep. Called some times a second."""
        ...

    def ended(self, loop: SweepLoop, outcome: Outcome) -> None:
        """Show that a run has ended."""
        ...


class SweepLoop:
    """One sweep in one directory. Owns the processes that it starts."""

    def __init__(
        self, config: SweepConfig, directory: SweepDirectory, workers: int, view: SweepObserver
    ) -> None:
        """Plan the runs of ``config``, of which ``directory`` may have some.

        Args:
            config: The sweep.
            directory: Its directory, which this process has locked.
            workers: Processes at a time.
            view: Shows the progress.
        """
        self.config, self.directory, self.workers, self.view = config, directory, workers, view
        self.points = known_points(config)
        if config.search == "tpe":
            self.points = directory.asked_points(config.random)
        self.pending = deque(self._runs(len(self.points)))
        self.active: dict[str, Active] = {}
        self.outcomes: dict[str, Outcome] = {}
        self.stopping = False
        self.problem = ""  #: why the record of processes is not whole; empty if it is
        self._presets: dict[str, Preset] = {}

    @property
    def total(self) -> int:
        """Runs of the whole sweep."""
        if self.config.search == "tpe":
            return self.config.count * len(self.config.seeds)
        return len(self.pending) + len(self.active) + len(self.outcomes)

    def run(self) -> list[Outcome]:
        """Run until every run has ended, or a signal comes. Failures are in the outcomes."""
        try:
            with self._signals():
                self._fill()
                while self.active:
                    self.view.show(self)
                    time.sleep(POLL_S)
                    for active in list(self.active.values()):
                        self._poll(active)
                    self._fill()
        except BaseException:
            for active in self.active.values():
                if active.process:
                    active.process.stop(signal.SIGKILL)
            raise
        return list(self.outcomes.values())

    def preset(self, run: PlannedRun) -> Preset:
        """Return the checked settings of a run."""
        if run.name not in self._presets:
            self._presets[run.name] = loaded_run(run).preset
        return self._presets[run.name]

    def _runs(self, count: int) -> list[PlannedRun]:
        """Return the runs of the first ``count`` points, of those that a search asked for point by point."""
        cells = planned_cells(self.config, self.points[:count])
        if self.config.search != "tpe":
            return runs_of(cells, self.config.seeds)
        return [run for cell in cells for run in runs_of([cell], self.config.seeds)]

    def _fill(self) -> None:
        """Start runs while there is room."""
        while not self.stopping and len(self.active) < self.workers:
            if not self.pending and not self._ask():
                return
            run = self.pending.popleft()
            self._continue(run, before=None)

    def _continue(self, run: PlannedRun, before: ProcessCommand | None) -> None:
        """Start the next process of a run, or count it as finished."""
        try:
            command = next_command(run, self.directory, self.preset(run), self.config.greedy)
            if command is None:
                self._end(run, "finished")
            elif before is not None and (command == before or command.what == before.what != "greedy"):
                self._end(run, "failed", f"ludus {before.what} ended, and the run is not finished")
            else:
                if command.what != "greedy":
                    self.directory.drop_greedy_results(run.name)
                process = launch(command, self.directory.lock_of(run.name), self.directory.log(run.name))
                self.active[run.name] = Active(run, process, command)
                if self.stopping and process is not None:  # the signal came while it was started
                    process.stop()
        except (StorageError, OSError, ValueError) as error:
            self._end(run, "failed", " ".join(str(error).split()))

    def _poll(self, active: Active) -> None:
        run = active.run
        if active.process is None:
            if self.stopping:
                self._end(run, "interrupted")
            else:
                self._continue(run, before=None)
            return
        ended = active.process.poll()
        if ended is None:
            return
        self._note(run, active.command, ended)
        if ended.code == 0 and not self.stopping:
            self._continue(run, before=active.command)
        elif self.stopping and ended.code != 0:
            self._end(run, "interrupted")
        elif ended.code != 0:
            self._end(run, "failed", ended.message)
        else:
            self._continue_after_stop(run)

    def _continue_after_stop(self, run: PlannedRun) -> None:
        rest = next_command(run, self.directory, self.preset(run), self.config.greedy)
        self._end(run, "interrupted" if rest else "finished")

    def _end(self, run: PlannedRun, state: State, message: str = "") -> None:
        self.active.pop(run.name, None)
        outcome = self.outcomes[run.name] = Outcome(run, state, message)
        self.view.ended(self, outcome)

    def _note(self, run: PlannedRun, command: ProcessCommand, ended: ProcessEnd) -> None:
        """Record the end of a process. A full disk must not end the other processes."""
        row: dict[str, object] = {
            "run": run.name,
            "what": command.what,
            "code": ended.code,
            "cpu_s": round(ended.cpu_s, 3),
            "seconds": round(ended.seconds, 3),
            "message": ended.message,
        }
        try:
            self.directory.add_process(row)
        except OSError as error:
            self.problem = f"{self.directory.processes} was not written: {error.strerror or error}"

    def _ask(self) -> bool:
        """Ask a search for a point and append its runs; return False where no more are needed."""
        if self.config.search != "tpe" or len(self.points) >= self.config.count:
            return False
        point = ask(self.config.random, self._tried(), self.config.search_seed)
        self.directory.add_point(len(self.points), point)
        self.points.append(point)
        self.pending.extend(r for r in self._runs(len(self.points)) if r.point == len(self.points) - 1)
        return True

    def _tried(self) -> list[Trial]:
        """Return every point with the mean result of its seeds, NaN where one of them failed."""
        runs = self._runs(len(self.points))
        tried: list[Trial] = []
        for index, point in enumerate(self.points):
            outcomes = [self.outcomes.get(r.name) for r in runs if r.point == index]
            result: float | None = None
            if any(o is not None and o.state == "failed" for o in outcomes):
                result = float("nan")
            elif all(o is not None for o in outcomes):
                scores = [score_of_run(self.directory.run(r.name)) for r in runs if r.point == index]
                result = sum(scores) / len(scores)
            tried.append((point, result))
        return tried

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Handle Ctrl-C, SIGTERM and SIGHUP: every run saves and ends; a second Ctrl-C kills them."""

        def stop(number: int, frame: FrameType | None) -> None:
            if self.stopping and number == signal.SIGINT:
                raise KeyboardInterrupt
            self.stopping = True
            for active in self.active.values():
                if active.process:
                    active.process.stop()

        with on_stop(stop):
            yield


def next_command(
    run: PlannedRun, directory: SweepDirectory, preset: Preset, greedy: bool
) -> ProcessCommand | None:
    """Return the command that a run needs next, by its directory; None for none. Raises ``StorageError``."""
    path = directory.run(run.name).path
    state = directory.state(run.name)
    quiet = ("--quiet", "--json")
    if state == "started":
        return ProcessCommand(
            "resume", ("resume", str(path), *game_words(preset), *method_words(preset), *quiet)
        )
    if state == "absent":
        settings = [f"{option_of(key)}={text}" for key, text in run.settings.items()]
        words = ("train", run.preset, "--run-dir", str(path), *method_words(preset), *quiet)
        return ProcessCommand("train", (*words, *settings, f"--run.seed={run.seed}"))
    if not greedy:
        return None
    view = RunView(directory.run(run.name))
    for result in view.metrics().results:
        if not _plain(result.against):
            raise CorruptFile(
                f"{view.source}: against = {shown(result.against)}: expected a bot or "
                "a search, as a preset names them"
            )
        target = directory.greedy_result(run.name, result.against)
        if not target.is_file():
            return ProcessCommand(
                "greedy", greedy_words(str(path), preset, result.against, result.alone), str(target)
            )
    return None


def _plain(against: str) -> bool:
    """Return whether a name from a run's record may become a word of a command and a file's name.

    It is no path, no option and no reference, and loads no code.
    """
    return _NAME.fullmatch(against) is not None and not is_bot_file(against)


def greedy_words(path: str, preset: Preset, against: str, alone: bool) -> tuple[str, ...]:
    """Return the command that lets the measured weights play their likeliest actions."""
    skip = opponent_skip(preset, against)
    return (
        "eval",
        f"{path}@best",
        *(() if alone else ("--against", against)),
        *game_words(preset),
        *(("--against-frame-skip", str(skip)) if skip and not alone else ()),
        *(("--max-ticks", str(preset.evaluation.max_ticks)) if preset.evaluation.max_ticks else ()),
        *("--matches", str(preset.evaluation.final_matches), "--seed", str(EVAL_SEED), "--greedy", "--json"),
    )


def game_words(preset: Preset) -> Sequence[str]:
    """Return ``--game``, where the game is neither built in nor installed."""
    return () if is_installed_name(preset.game.name) else ("--game", preset.game.name)


def method_words(preset: Preset) -> Sequence[str]:
    """Return ``--method FILE.py`` for a method from a file."""
    file = method_file(preset.algorithm)
    return () if file is None else ("--method", file.path)
