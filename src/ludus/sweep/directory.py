"""A sweep's directory, its only memory: a sweep that was killed resumes from it.

sweep.json         what the sweep varies; a directory belongs to one sweep
sweep.toml         the file, as it was given
runs/NAME/         a run directory for each run
greedy/NAME/       results of greedy matches, a file for each opponent
logs/NAME.txt      what the processes of a run wrote to stderr
points.jsonl       points that a search asked for
processes.jsonl    a line for each process that ended: exit code, processor time
report.md  report.html  curves.svg  values.svg  results.json
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from ludus.flow.inputs.decode import from_json, to_json
from ludus.flow.problem import Argument, quoted
from ludus.reporting.run_view import RunView
from ludus.storage.errors import CorruptFile, RunExists, RunNotFound, StorageError
from ludus.storage.files import (
    file_part,
    fsync_directory,
    own_folder,
    read_bounded,
    remove_tree,
    write_atomic,
)
from ludus.storage.jsonl import JsonlWriter, Row, read_jsonl, rows_from
from ludus.storage.lock import RunBusy, RunLock, this_process
from ludus.storage.references import is_run
from ludus.storage.rundir import RunDirectory, is_aside, utc_now
from ludus.sweep.config import FLOORS, MAX_RUNS, SweepConfig, run_count
from ludus.sweep.ranges import Range, Value

SCHEMA = 1
MAX_BYTES = 1 << 24
RunState = Literal["absent", "started", "finished"]


class SweepInfo(msgspec.Struct, frozen=True):
    """Content of ``sweep.json``. ``config``: as it was last given; ``presets``: SHA-256 of their files."""

    schema: int
    package_version: str
    started: str
    config: SweepConfig
    presets: dict[str, str]


class SweepDirectory:
    """Paths and files of one sweep."""

    def __init__(self, path: Path) -> None:
        """Name the files of the sweep at ``path``, without reading or making them."""
        self.path = path
        self.info_path = path / "sweep.json"
        self.file = path / "sweep.toml"
        self.runs = path / "runs"
        self.greedy = path / "greedy"
        self.logs = path / "logs"
        self.locks = path / "locks"
        self.points = path / "points.jsonl"
        self.processes = path / "processes.jsonl"

    @classmethod
    def open(cls, path: Path, config: SweepConfig, presets: Mapping[str, str]) -> SweepDirectory:
        """Make a new directory, or open the one of the same sweep. ``presets``: hashes of the presets' files.

        Raises:
            RunExists: Something else is there, or another sweep.
            CorruptFile: The directory's files are damaged.
            OSError: It cannot be made.
        """
        from ludus.version import __version__

        sweep = cls(path)
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise RunExists(f"{path}: is no directory; expected a new one, or one of this sweep")
        info = SweepInfo(SCHEMA, __version__, utc_now(), config, dict(presets))
        if sweep.info_path.is_file():
            before = sweep.info()
            info = msgspec.structs.replace(before, config=config)
            if difference := _difference(before, info, presets):
                raise RunExists(
                    f"{path}: a directory of another sweep: {difference} in {config.source}; "
                    "expected the same, or another ",
                    Argument("run_dir"),
                )
        elif path.exists() and any(path.iterdir()):
            raise RunExists(
                f"{path}: exists already and holds no sweep (no sweep.json in it); choose another ",
                Argument("run_dir"),
            )
        for folder in (path, sweep.runs, sweep.greedy, sweep.logs, sweep.locks):
            own_folder(folder, make=True)
        write_atomic(sweep.info_path, msgspec.json.format(to_json(info)) + b"\n")
        write_atomic(sweep.file, read_bounded(Path(config.source), MAX_BYTES))
        fsync_directory(path)
        return sweep

    def info(self) -> SweepInfo:
        """Return the content of ``sweep.json``. Raises ``CorruptFile``."""
        try:
            info = from_json(read_bounded(self.info_path, MAX_BYTES), SweepInfo)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CorruptFile(f"{self.info_path}: {error}") from error
        if info.schema != SCHEMA:
            raise CorruptFile(f"{self.info_path}: schema {info.schema}, this version of ludus reads {SCHEMA}")
        if (count := run_count(info.config)) > MAX_RUNS:
            raise CorruptFile(f"{self.info_path}: {count:,} runs; expected at most {MAX_RUNS:,}")
        return info

    def lock(self) -> RunLock:
        """Keep other processes from running the same sweep. Raises ``RunBusy``."""
        try:
            return RunLock(self.path / "lock", this_process(utc_now()))
        except RunBusy as error:
            raise RunBusy(f"{self.path}: another process runs this sweep ({error})") from None

    def run(self, name: str) -> RunDirectory:
        """Return the directory of the run ``name``."""
        return RunDirectory(self.runs / name)

    def log(self, name: str) -> Path:
        """Return the file with the stderr of the run ``name``."""
        return self.logs / f"{name}.txt"

    def lock_of(self, name: str) -> Path:
        """Return the file that the process of a run keeps locked while it lives."""
        return self.locks / name

    def greedy_result(self, name: str, against: str) -> Path:
        """Return the file of a result of greedy matches; it exists only when it is whole."""
        return self.greedy / name / f"{file_part(against)}.json"

    def state(self, name: str) -> RunState:
        """Return how far a run is, from its directory; one that was never whole is removed.

        A run whose last state is not on disk is not finished, whatever it recorded.

        Raises ``CorruptFile`` if it is a link.
        """
        run = self.run(name)
        own_folder(run.path)
        if not run.path.exists():
            return "absent"
        if not run.info_path.is_file():
            shutil.rmtree(run.path)
            return "absent"
        return "finished" if RunView(run).is_finished() else "started"

    def drop_greedy_results(self, name: str) -> None:
        """Remove the results of greedy matches of weights that training replaces. Raises ``OSError``."""
        own_folder(self.greedy / name)
        remove_tree(self.greedy / name)

    def add_point(self, index: int, point: Mapping[str, Value]) -> None:
        """Record a point before any of its runs starts. Raises ``OSError``."""
        self._append(self.points, {"index": index, "point": dict(point)})

    def asked_points(self, space: Mapping[str, Range]) -> list[dict[str, Value]]:
        """Return points that a search asked for, in their order. Raises ``CorruptFile``."""
        points: list[dict[str, Value]] = []
        for row in read_jsonl(self.points):
            point = row.get("point")
            if row.get("index") != len(points) or not isinstance(point, dict) or set(point) != set(space):
                raise CorruptFile(f"{self.points}: line {len(points) + 1}: not a point of this sweep")
            points.append(point)
        return points

    def add_process(self, row: Row) -> None:
        """Record a process that has ended. Raises ``OSError``."""
        self._append(self.processes, {"time": utc_now(), **row})

    def ended_processes(self) -> Iterator[Row]:
        """Yield a row for each process of a run that has ended."""
        for _, row in rows_from(self.processes):
            yield row

    def _append(self, path: Path, row: Row) -> None:
        writer = JsonlWriter(path)
        try:
            writer.append(row)
            writer.sync()
        finally:
            writer.close()


def is_sweep(path: Path) -> bool:
    """Whether ``path`` is the directory of a sweep."""
    return (path / "sweep.json").is_file()


def reported_folders(path: Path) -> list[Path]:
    """Return ``path`` if it is a run or a sweep, or the runs and sweeps in it, by name.

    Raises:
        RunNotFound: There is none.
    """
    if is_sweep(path) or is_run(str(path)) or not path.is_dir() or is_aside(path.name):
        return [path]
    inside = [p for p in sorted(path.iterdir()) if p.is_dir() and not p.is_symlink() and not is_aside(p.name)]
    found = [p for p in inside if is_sweep(p) or is_run(str(p))]
    if not found:
        raise RunNotFound(f"{path}: not a run, a sweep or a folder of them")
    return found


def identity_of(config: SweepConfig) -> dict[str, Any]:
    """Return the part of a sweep's settings that may not change when it is resumed.

    That is all but title, seeds, workers, baseline, greedy matches, count and floors: more seeds are more
    runs, and floors train nothing.
    """
    identity: dict[str, Any] = {f"settings.{k}": v for k, v in config.settings.items() if k not in FLOORS}
    for name, cell in config.cells.items():
        at = f"cells.{name}" if name else "cell"
        identity[f"{at}.preset"] = cell.preset
        identity |= {f"{at}.{k}": v for k, v in cell.settings.items() if k not in FLOORS}
    identity |= {f"grid.{k}": list(v) for k, v in config.grid.items()}
    identity |= {f"random.{k}": [r.kind, *r.values] for k, r in config.random.items()}
    if config.random:
        identity |= {"search": config.search, "search_seed": config.search_seed}
    plain: dict[str, Any] = from_json(msgspec.json.encode(identity))
    return plain


def _difference(before: SweepInfo, after: SweepInfo, presets: Mapping[str, str]) -> str:
    """Return the first difference of a directory's sweep and another; "" where they are the same."""
    there, here = identity_of(before.config), identity_of(after.config)
    for key in dict.fromkeys([*there, *here]):
        if key not in here:
            return f"{key} = {quoted(there[key])} there and not set"
        if key not in there:
            return f"{key} is not set there and {quoted(here[key])}"
        if there[key] != here[key]:
            return f"{key} = {quoted(there[key])} there and {quoted(here[key])}"
    for preset, digest in presets.items():
        if before.presets.get(preset, digest) != digest:
            kind = "method" if preset.endswith(".py") else "preset"
            return f"the {kind} {preset} had another content when the sweep started, which is used"
    return ""


def open_sweep(path: Path) -> SweepDirectory:
    """Open the directory of a sweep to read it. Raises ``StorageError``."""
    sweep = SweepDirectory(path)
    if not sweep.info_path.is_file():
        raise StorageError(f"{path}: not the directory of a sweep (no sweep.json in it)")
    sweep.info()
    return sweep
