"""RunView: the one reader of a run, for reports, pages, sweeps, benchmarks and the command line.

Two ways to read what a run has logged: :meth:`RunView.metrics` is strict, and a damaged line is an error
with its place. What is shown while a run trains (newest numbers, series, events) is lenient and bounded: a
damaged line ends it or is left out. Both read the same rows, so that all surfaces show equal numbers.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from ludus.evaluation.results import EvalResult
from ludus.flow.inputs.bounds import Count
from ludus.league.record import Record
from ludus.reporting.changes import Change, read_changes
from ludus.reporting.columns import Columns
from ludus.reporting.floors import Floors, floors_of
from ludus.reporting.followed_league import FollowedLeague
from ludus.reporting.metrics import EvaluationMetrics, UpdateMetrics, metrics_of
from ludus.reporting.rates import LearnerRates, learner_rates
from ludus.storage import CorruptFile, RunDirectory, StorageError, read_jsonl
from ludus.storage.files import open_regular
from ludus.storage.jsonl import TAIL_BYTES, Row, last_rows, rows_back, rows_from
from ludus.storage.last_state import is_finished
from ludus.storage.run_info import RunInfo, RunStatus

MOST_MEMBERS, LONGEST_NAME = 10_000, 200
_MOST_SHOWN = 400  # members on a page
_EVALUATION = b'"kind":"evaluation"'
_UPDATE = b'"update"'
_MATCH = b'"players"'
_INITIAL = b'"initial":true'
_MARK_BYTES = 96  # by which a log that was cut and written again is recognised
_MOST_BACK = 8 << 20  # bytes of the end of a log in which the newest evaluations are looked for


class RunMetrics(NamedTuple):
    """All updates and evaluations that a run has logged, each in their order."""

    updates: Sequence[UpdateMetrics] = ()
    evaluations: Sequence[EvaluationMetrics] = ()

    @property
    def inside(self) -> list[EvaluationMetrics]:
        """Evaluations while training."""
        return [e for e in self.evaluations if not e.final and not e.playoff]

    @property
    def playoff(self) -> list[EvaluationMetrics]:
        """Evaluations of the candidates for the final matches."""
        return [e for e in self.evaluations if e.playoff]

    @property
    def final(self) -> EvaluationMetrics | None:
        """The final matches; None before the end of the run."""
        return next((e for e in reversed(self.evaluations) if e.final), None)

    @property
    def results(self) -> tuple[EvalResult, ...]:
        """Results of the final matches; empty before the end of the run."""
        return self.final.results if self.final else ()

    @property
    def floors(self) -> Floors:
        """Results without training, in the setting of the final matches."""
        return floors_of(self.evaluations)

    @property
    def totals(self) -> Totals:
        """Counters of the run so far."""
        last = {u.player: u for u in self.updates}.values()
        return Totals(
            steps=sum(u.steps for u in last),
            ticks=sum(u.ticks for u in last),
            matches=sum(u.matches for u in last),
            updates=sum(u.version for u in last),
            minutes=max((u.numbers.get("time/minutes", 0.0) for u in last), default=0.0),
        )


class Totals(NamedTuple):
    """Counters of a run; in a league summed over its members."""

    steps: int
    ticks: int
    matches: int
    updates: int
    minutes: float


class LogPlace(msgspec.Struct, frozen=True):
    """A place between two rows of ``metrics.jsonl``: the byte after the first, and a checksum of its end."""

    offset: Count = 0
    checksum: Count = 0


class Newest(NamedTuple):
    """How far a run is by its newest updates. None: not logged yet."""

    steps: int | None = None
    minutes: float | None = None


class RunView:
    """A run, as its files show it now. Reads only; safe in several threads."""

    def __init__(self, directory: RunDirectory) -> None:
        """View the run in ``directory``, without reading it yet."""
        self.directory = directory
        self._members: tuple[int, dict[str, Row]] = (0, {})  # bytes read, newest update by player

    @classmethod
    def open(cls, path: Path) -> RunView:
        """View the run at ``path``. Raises ``RunNotFound``."""
        return cls(RunDirectory.open(path))

    @property
    def stamps(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Time and size of the numbers and of the events, which change with them."""
        return stamp_of(self.directory.metrics_path), stamp_of(self.directory.events_path)

    @property
    def source(self) -> Path:
        """File of the numbers, for messages."""
        return self.directory.metrics_path

    def files(self) -> tuple[Path, ...]:
        """Return the files of text that are shown of a run."""
        run = self.directory
        return (self.source, run.events_path, run.log, run.config, run.changes, run.report, run.info_path)

    def stamp(self) -> tuple[object, ...]:
        """Return a value that changes with the run's files and its state. Raises ``StorageError``."""
        run = self.directory
        folders = (run.checkpoints.directory, run.snapshots)
        return (self.status().state, *map(stamp_of, (*self.files(), *folders)))

    def info(self) -> RunInfo:
        """Return the provenance. Raises ``CorruptFile``."""
        return self.directory.info()

    def status(self) -> RunStatus:
        """Return whether a process trains the run, and how the last one ended."""
        return self.directory.status()

    def is_finished(self) -> bool:
        """Return whether the run recorded its end, and a whole checkpoint has its last update."""
        return is_finished(self.directory)

    def changes(self) -> list[Change]:
        """Return the changes of settings and code at resumes, oldest first. Raises ``CorruptFile``."""
        return read_changes(self.directory)

    def best(self) -> str:
        """Return the version of the best weights, in a league ``PLAYER:VERSION``; empty without any."""
        with contextlib.suppress(StorageError, OSError, ValueError):
            pointer = self.directory.checkpoints.pointer("best")
            if pointer is not None and pointer.player:
                return f"{pointer.player}:{pointer.own}"
            return str(self.directory.checkpoints.resolve("best"))
        return ""

    def metrics(self) -> RunMetrics:
        """Return all updates and evaluations. Raises ``CorruptFile`` with the line of any damage."""
        updates: list[UpdateMetrics] = []
        evaluations: list[EvaluationMetrics] = []
        for number, row in enumerate(read_jsonl(self.source), 1):
            try:
                metrics = metrics_of(row)
            except ValueError as error:
                raise CorruptFile(f"{self.source}:{number}: {error}") from error
            if isinstance(metrics, EvaluationMetrics):
                evaluations.append(metrics)
            else:
                updates.append(metrics)
        return RunMetrics(updates, evaluations)

    def metrics_from(self, place: LogPlace) -> Iterator[tuple[LogPlace, UpdateMetrics | EvaluationMetrics]]:
        """Yield updates and evaluations after ``place``, each with the place after it.

        They start from the first row where the log was cut at a resume, and end before a damaged line.

        Raises:
            CorruptFile: A row is not one of this version's.
        """
        start = place.offset if place.offset and self._end(place.offset) == place.checksum else 0
        for offset, row in rows_from(self.source, start):
            try:
                metrics = metrics_of(row)
            except ValueError as error:
                raise CorruptFile(f"{self.source}: the row that ends at byte {offset}: {error}") from error
            yield LogPlace(offset, self._end(offset)), metrics

    def _end(self, offset: int) -> int:
        """Return a checksum of the bytes before ``offset``; -1 where the log is shorter."""
        with contextlib.suppress(OSError, StorageError), open_regular(self.source) as file:
            start = max(0, offset - _MARK_BYTES)
            file.seek(start)
            data = file.read(offset - start)
            return zlib.crc32(data) if len(data) == offset - start else -1
        return -1

    def floors(self) -> Floors:
        """Return the results without training; empty for a damaged log, which the report describes."""
        try:
            return self.metrics().floors
        except StorageError:
            return Floors()

    def initial(self) -> EvaluationMetrics | None:
        """Return the evaluation of the initial weights; None if the log has none."""
        for _, row in rows_from(self.source, mark=_INITIAL):
            if row.get("initial") is True:
                with contextlib.suppress(ValueError):
                    if isinstance(found := metrics_of(row), EvaluationMetrics):
                        return found
        return None

    def evaluations(self) -> Iterator[Row]:
        """Yield the rows of evaluations up to the first damaged line."""
        return (row for _, row in rows_from(self.source, mark=_EVALUATION))

    def updates(self) -> Iterator[Row]:
        """Yield the rows of updates up to the first damaged line."""
        rows = (row for _, row in rows_from(self.source, mark=_UPDATE))
        return (row for row in rows if row.get("kind") == "update")

    def newest_evaluations(self) -> Iterator[Row]:
        """Yield the rows of evaluations near the end of the log, the newest first."""
        return rows_back(self.source, _EVALUATION, _MOST_BACK)

    def newest_update(self) -> UpdateMetrics | None:
        """Return the last update, from the end of the log; None if there is none."""
        for row in reversed(last_rows(self.source)):
            with contextlib.suppress(ValueError):
                if isinstance(found := metrics_of(row), UpdateMetrics):
                    return found
        return None

    def newest_rates(self) -> dict[str, LearnerRates]:
        """Return the rates of each learner, by the updates at the end of the log."""
        found: list[UpdateMetrics] = []
        for row in last_rows(self.source):
            with contextlib.suppress(ValueError):
                if isinstance(metrics := metrics_of(row), UpdateMetrics):
                    found.append(metrics)
        return learner_rates((update.player, update.numbers) for update in found)

    def newest(self) -> Newest:
        """Return how far the run is; the steps of a league are summed over its members."""
        if self.directory.league.is_file():
            last = list(self._newest_members().values())
        else:
            rows = rows_back(self.source, _UPDATE, TAIL_BYTES)
            last = list(itertools.islice((r for r in rows if r.get("kind") == "update"), 1))
        steps = [int(s) for row in last if (s := number(row.get("steps"))) is not None]
        minutes = [m for row in last if (m := number(row.get("time/minutes"))) is not None]
        return Newest(sum(steps) if steps else None, max(minutes, default=None))

    def _newest_members(self) -> dict[str, Row]:
        """Return the newest update of each member; only rows since the last call are read."""
        offset, members = self._members
        with contextlib.suppress(OSError):
            if self.source.stat().st_size < offset:  # a resume cut the log
                offset, members = 0, {}
        members = dict(members)
        for read, row in rows_from(self.source, offset):
            offset = read
            _note(members, row)
        for row in last_rows(self.source):  # also those after a damaged line
            _note(members, row)
        self._members = offset, members
        return members

    def columns(self, names: Sequence[str], player: str = "") -> Columns:
        """Return the numbers ``names`` over steps as arrays, not yet read; ``player``: of a league."""
        return Columns(self.source, names, player)

    def players(self, more: Sequence[Row] = ()) -> tuple[str, ...]:
        """Return the members of a league in the newest rows and in ``more``, within bounds."""
        found = dict.fromkeys(p for row in (*more, *last_rows(self.source)) if (p := row.get("player")))
        return tuple(p for p in found if isinstance(p, str) and len(p) <= LONGEST_NAME)[:_MOST_SHOWN]

    def names(self, more: Sequence[Row] = ()) -> tuple[str, ...]:
        """Return the sorted names of the numbers in the newest rows and in ``more``."""
        rows = [*last_rows(self.source), *more]
        found = {n for row in rows for n, v in row.items() if "/" in n and number(v) is not None}
        return tuple(sorted(found))

    def events(self, most: int) -> tuple[Row, ...]:
        """Return the last ``most`` events before the first damaged line."""
        found: deque[Row] = deque(maxlen=most)
        with contextlib.suppress(OSError, StorageError):
            found.extend(read_jsonl(self.directory.events_path))
        return tuple(found)

    def newest_matches(self, most_bytes: int) -> Iterator[Row]:
        """Yield the rows of evaluated matches, newest first, of the last ``most_bytes`` of their list.

        Raises:
            CorruptFile: The list is a link.
        """
        path = self.directory.matches
        if path.is_symlink():
            raise CorruptFile(f"{path.name} is a link; links are not followed")
        return rows_back(path, _MATCH, most_bytes)

    def league(self) -> Record:
        """Return the record of the league's journal up to now, without delaying the process that writes it.

        Raises ``RunNotFound`` if the run has no league, and ``CorruptFile`` (damaged, or of a newer ludus).
        """
        return FollowedLeague(self.directory).read()


def stamp_of(path: Path) -> tuple[int, int]:
    """Return time and size of a file, which change with its content; zeros for one that is not there."""
    try:
        about = path.lstat()
    except OSError:
        return 0, 0
    return about.st_mtime_ns, about.st_size


def _note(members: dict[str, Row], row: Row) -> None:
    """Keep how far a member is by an update, within bounds: a log may come from another user."""
    player = str(row.get("player", ""))[:LONGEST_NAME]
    if row.get("kind") == "update" and (player in members or len(members) < MOST_MEMBERS):
        members[player] = {name: row[name] for name in ("steps", "time/minutes") if name in row}


def number(value: object) -> float | None:
    """Return a finite number; None for anything else."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return None
