"""A sweep as pages show it: its cells with results, floors and curves, and the state of each run.

All numbers come from the reader of ``ludus report``. Everything is read, nothing written.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ludus.flow.inputs.shown import terminal, visible
from ludus.reporting.run_view import RunView, number, stamp_of
from ludus.storage.errors import CorruptFile, StorageError
from ludus.storage.files import own_folder, read_bounded
from ludus.storage.lock import is_locked
from ludus.storage.rundir import RunDirectory
from ludus.sweep.config import SweepConfig, run_count
from ludus.sweep.curves import Curve, cell_curve
from ludus.sweep.directory import SweepDirectory, open_sweep
from ludus.sweep.plan import PlannedRun, known_points, planned_cells, runs_of
from ludus.sweep.report import PAGE, REPORT, SweepReport, read_report
from ludus.web.serve.compare.remade import Remade
from ludus.web.serve.library import Library, UnknownId
from ludus.web.serve.sentences import sentence

MOST_RUNS = 2000  # of a sweep on a page
MAX_REPORT_BYTES, MAX_PAGE_BYTES = 1 << 20, 16 << 20
LONGEST = 300  # characters of a text
_WELL = ("running", "finished")  # states without a message
#: Parts of a report that a page shows; its runs are listed with their present state.
_SHOWN = ("baseline", "results", "budgets", "curves", "settings", "floors", "helped", "games", "damaged")


class SweepRun(msgspec.Struct, frozen=True):
    """A run of a sweep.

    ``id``: name of its page, empty before its start; ``progress``: 0..1 of its budget; ``message``: the
    reason if it failed.
    """

    name: str
    id: str
    cell: str
    seed: int
    state: str
    progress: float = 0.0
    steps: int = 0
    minutes: float = 0.0
    message: str = ""


class SweepNumbers(msgspec.Struct, frozen=True):
    """Results of a sweep.

    ``so_far``: curves of cells without a finished run. ``problem``: the reason if there are no results.
    """

    report: dict[str, Any] = {}
    so_far: dict[str, Any] = {}
    problem: str = ""


class SweepPage(msgspec.Struct, frozen=True):
    """A sweep with all that its page shows.

    ``minutes_left``: None where it is not known; ``text``: its report in Markdown; ``page``: whether it has a
    report as a page.
    """

    title: str
    state: str
    started: str
    runs: tuple[SweepRun, ...]
    finished: int
    minutes_left: float | None
    numbers: SweepNumbers
    text: str
    page: bool


class _States(msgspec.Struct, frozen=True):
    state: str
    started: str
    title: str
    runs: tuple[SweepRun, ...]
    minutes_left: float | None
    stamp: tuple[object, ...]


class Sweeps:
    """The sweeps of a served folder. Threads may share it."""

    def __init__(self, library: Library) -> None:
        """Show the sweeps in ``library``."""
        self._library = library
        self._states = Remade[_States]()
        self._numbers = Remade[SweepNumbers]()

    def page(self, name: str) -> SweepPage:
        """Return the page of a sweep. Raises :class:`UnknownId` and ``StorageError``."""
        path = self._path(name)
        states = self._states.get(str(path), time.monotonic(), lambda: self._read_states(path))
        numbers = self._numbers.get(str(path), states.stamp, lambda: _numbers(path))
        return SweepPage(
            title=states.title,
            state=states.state,
            started=states.started,
            runs=states.runs,
            finished=sum(run.state == "finished" for run in states.runs),
            minutes_left=states.minutes_left,
            numbers=numbers,
            text=_text(path / REPORT),
            page=_is_file(path / PAGE),
        )

    def report_page(self, name: str) -> bytes:
        """Return the bytes of the sweep's ``report.html``. Raises as :meth:`page`."""
        page = self._path(name) / PAGE
        if not _is_file(page):
            raise UnknownId("this sweep has no report.html")
        return read_bounded(page, MAX_PAGE_BYTES)

    def _path(self, name: str) -> Path:
        path = self._library.sweeps().get(name)
        if path is None or not _is_file(path / "sweep.json"):
            raise UnknownId("there is no such sweep; it may have been removed")
        return path

    def _read_states(self, path: Path) -> _States:
        sweep = open_sweep(path)
        info = sweep.info()
        ids = {run.path: run.id for run in self._library.runs().values()}
        planned = _planned(sweep, info.config)
        ended = _ended(sweep)
        never = _Ended()
        runs = tuple(_run(sweep.run(r.name), r, ids, ended.get(r.name, never).failure) for r in planned)
        states = {run.state for run in runs}
        over = "failed" if "failed" in states else "finished"
        state = over if states <= {"finished", "failed"} else "interrupted"
        return _States(
            state="running" if is_locked(path / "lock") else state,
            started=visible(info.started[:LONGEST]),
            title=visible((info.config.title or path.name)[:LONGEST]),
            runs=runs,
            minutes_left=_minutes_left(runs, [ended.get(r.name, never).minutes for r in planned]),
            stamp=tuple(_stamp(sweep, run) for run in planned),
        )


def _planned(sweep: SweepDirectory, config: SweepConfig) -> list[PlannedRun]:
    """Return the runs of a sweep in the order of its report. Raises ``CorruptFile``."""
    if (count := run_count(config)) > MOST_RUNS:
        raise CorruptFile(
            f"{sweep.info_path.name}: {count:,} runs; a page shows at most {MOST_RUNS:,}, ludus report all"
        )
    try:
        points = sweep.asked_points(config.random) if config.search == "tpe" else known_points(config)
        cells = planned_cells(config, points)
        return [run for cell in cells for run in runs_of([cell], config.seeds)]
    except (ArithmeticError, AssertionError, LookupError, TypeError) as error:
        raise CorruptFile(f"{sweep.info_path.name}: values that no sweep writes") from error


class _Ended(msgspec.Struct):
    """Processes of a run that have ended. ``failure``: reason of the last one, empty if it did not fail."""

    failure: str = ""
    minutes: float = 0.0


def _ended(sweep: SweepDirectory) -> dict[str, _Ended]:
    found: dict[str, _Ended] = {}
    for row in sweep.ended_processes():
        name, message = row.get("run"), row.get("message")
        if isinstance(name, str) and len(found) <= MOST_RUNS:
            run = found.setdefault(name, _Ended())
            why = message if isinstance(message, str) and message else "failed"
            run.failure = _shown(why) if row.get("code") != 0 else ""
            run.minutes += max(0.0, number(row.get("seconds")) or 0.0) / 60.0
    return found


def _run(directory: RunDirectory, run: PlannedRun, ids: Mapping[Path, str], failure: str) -> SweepRun:
    shown = SweepRun(
        name=_shown(run.name),
        id=ids.get(directory.path, ""),
        cell=_shown(run.cell),
        seed=run.seed,
        state="failed" if failure else "waiting",
        message=failure,
    )
    if directory.path.is_symlink() or not _is_file(directory.info_path):
        return shown
    view = RunView(directory)
    try:
        _refuse_links(directory.path)
        update = view.newest_update()
        state: str = view.status().state
        if state == "finished" and not view.is_finished():  # its last weights are not on disk
            state = "interrupted"
    except (ValueError, OSError, StorageError):
        return msgspec.structs.replace(shown, state="damaged")
    shown = msgspec.structs.replace(shown, state=state, message=failure if state not in _WELL else "")
    if update is None:
        return shown
    progress = 1.0 if state == "finished" else min(1.0, max(0.0, update.progress))
    minutes = update.numbers.get("time/minutes", 0.0)
    return msgspec.structs.replace(shown, progress=progress, steps=update.steps, minutes=minutes)


def _minutes_left(runs: Sequence[SweepRun], processes: Sequence[float]) -> float | None:
    """Return the minutes that the running processes need for what is left; None if they are not known.

    ``processes``: minutes of the ended processes of each run, with their start and their evaluations. Before
    a run is finished, minutes of training stand for them.
    """
    running = sum(run.state == "running" for run in runs)
    each = [
        minutes for run, minutes in zip(runs, processes, strict=True) if run.state == "finished" and minutes
    ]
    each = each or [run.minutes / run.progress for run in runs if run.progress > 0.05 and run.minutes > 0]
    if not running or not each:
        return None
    left = sum(1.0 - run.progress for run in runs if run.state not in ("finished", "failed"))
    return left * sum(each) / len(each) / running


def _numbers(path: Path) -> SweepNumbers:
    """Return the numbers of the report; for a sweep that cannot be compared, the reason."""
    sweep = SweepDirectory(path)
    try:
        for folder in (sweep.runs, sweep.greedy, *_inside(sweep.runs), *_inside(sweep.greedy)):
            own_folder(folder)
        for folder in (*_inside(sweep.runs), *_inside(sweep.greedy)):
            _refuse_links(folder)
        report = read_report([path])
        document: dict[str, Any] = msgspec.to_builtins(report)
        shown = {name: _cleaned(document[name]) for name in _SHOWN}
        return SweepNumbers(shown, _cleaned(msgspec.to_builtins(_so_far(report))))
    except (ValueError, OSError, StorageError) as error:
        return SweepNumbers(problem=sentence(error))


def _so_far(report: SweepReport) -> dict[str, Curve]:
    """Return curves of the cells without a finished run, as far as all their runs have come."""
    found = {}
    for cell in dict.fromkeys(run.cell for run in report.runs):
        runs = [run for run in report.runs if run.cell == cell]
        if any(run.finished for run in runs):
            continue
        with contextlib.suppress(StorageError):
            records = [RunView(RunDirectory(Path(run.path))).metrics() for run in runs]
            curve = cell_curve(records, max(run.steps for run in runs), max(run.slots for run in runs))
            if curve is not None:
                found[cell] = curve
    return found


def _cleaned(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a document whose texts, which may be anyone's, can be shown."""
    if isinstance(value, str):
        return _shown(value)
    if isinstance(value, dict):
        return {_shown(str(name)): _cleaned(item) for name, item in value.items()}
    return [_cleaned(item) for item in value] if isinstance(value, list | tuple) else value


def _shown(text: str) -> str:
    return visible(text[:LONGEST])


def _stamp(sweep: SweepDirectory, run: PlannedRun) -> tuple[object, ...]:
    """Return what changes when the results of a run change."""
    return (*RunView(sweep.run(run.name)).stamps, stamp_of(sweep.greedy / run.name))


def _inside(folder: Path) -> list[Path]:
    try:
        return [folder / name for name in os.listdir(folder)]
    except OSError:
        return []


def _refuse_links(folder: Path) -> None:
    """Raise ``CorruptFile`` for a link among the files of a run, which may lead out of the served folder."""
    for path in _inside(folder):
        if path.is_symlink():
            raise CorruptFile(f"{folder.name}/{path.name}: a link; links are not followed")


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _text(path: Path) -> str:
    with contextlib.suppress(OSError, StorageError):
        if _is_file(path):
            return terminal(read_bounded(path, MAX_REPORT_BYTES).decode("utf-8", "backslashreplace"))
    return ""
