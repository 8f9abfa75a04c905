"""The run directory: all of one run, in files of standard formats.

config.toml  run.json  metrics.jsonl  events.jsonl  matches.jsonl  log.txt
checkpoints/  snapshots/  replays/  self_play/  results.jsonl  changes.jsonl  lock
report.md  report.html  report.svg
start.safetensors  weights of another run that this one started from
teacher.safetensors  weights that the learner stays near
Of a league: league.sqlite  snapshots/PLAYER/VERSION.safetensors  league_payoff.svg and others
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from ludus.flow.inputs.decode import from_json, to_json
from ludus.flow.inputs.shown import shell, utf8
from ludus.flow.weights import Provenance, Weights
from ludus.storage.checkpoints import DIGITS, CheckpointStore
from ludus.storage.errors import CorruptFile, RunExists, RunNotFound
from ludus.storage.files import (
    TEMPORARY,
    fsync_directory,
    open_own,
    own_folder,
    read_bounded,
    remove_tree,
    write_atomic,
)
from ludus.storage.frozen import FrozenPlayers
from ludus.storage.jsonl import JsonlWriter, Row, lines_of, read_jsonl
from ludus.storage.lock import RunBusy, RunLock, is_abandoned, is_locked, read_holder, this_process
from ludus.storage.run_info import AFTER, RunInfo, RunState, RunStatus
from ludus.storage.tensors import encode_weights, read_weights

SCHEMA = 1
MAX_INFO_BYTES = 1 << 20
MAX_CONFIG_BYTES = 1 << 20
SUFFIX = ".safetensors"
LOCK_TRIES = 5
ASIDE = ".aside"  # in the name of a run directory that is being written
_VERSION = re.compile(rf"[0-9]{{{DIGITS},18}}")


_TAKEN = errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR  # the target of a rename is there


def aside_of(path: Path) -> Path:
    """Return where the run ``path`` is written before it appears."""
    return path.with_name(f".{path.name}{ASIDE}{TEMPORARY}")


def is_aside(name: str) -> bool:
    """Return whether a folder of this name is a run that is being written, or half of one that never was."""
    return name.startswith(".") and name.endswith(f"{ASIDE}{TEMPORARY}")


def remove_abandoned(folder: Path) -> None:
    """Remove halves of runs in ``folder`` whose makers were killed; what cannot be removed stays."""
    for aside in folder.glob(f".*{ASIDE}{TEMPORARY}"):
        if aside.is_symlink() or not aside.is_dir():
            continue
        lock_path = RunDirectory(aside).lock_path
        with contextlib.suppress(OSError, RunBusy, CorruptFile):
            if is_abandoned(lock_path):
                with RunLock(lock_path, this_process(utc_now())) as lock:
                    if lock.holds(aside):
                        remove_tree(aside)


class RunDirectory:
    """Paths and files of one run. :meth:`create` makes a new one, :meth:`open` finds an existing one."""

    def __init__(self, path: Path, keep_checkpoints: int = 3) -> None:
        """Name the files of the run at ``path``; nothing is read or made."""
        self.path = path
        self.config = path / "config.toml"
        self.info_path = path / "run.json"
        self.metrics_path = path / "metrics.jsonl"
        self.events_path = path / "events.jsonl"
        self.matches = path / "matches.jsonl"
        self.log = path / "log.txt"
        self.changes = path / "changes.jsonl"  # of settings, when the run was resumed
        self.lock_path = path / "lock"
        self.start = path / f"start{SUFFIX}"  # initial weights; only of a run.start
        self.teacher = path / f"teacher{SUFFIX}"  # weights that the learner stays near
        self.report = path / "report.md"
        self.page = path / "report.html"  # the same with its plots, for a browser
        self.curve = path / "report.svg"  # the plot that report.md shows
        self.results = path / "results.jsonl"  # of evaluations after training
        self.snapshots = path / "snapshots"
        self.league = path / "league.sqlite"  # the journal of a league; only a run with one has it
        self.frozen = FrozenPlayers(self.snapshots)
        self.replays = path / "replays"
        self.self_play = path / "self_play"  # recorded matches; made when there are any
        self.tensorboard = path / "tensorboard"  # where its package is installed
        self.tracking = path / "tracking"  # state and local files of trackers; made when there are any
        self.checkpoints = CheckpointStore(path / "checkpoints", keep_checkpoints, self._identity)

    def write_provenance(self, provenance: Provenance) -> None:
        """Write ``provenance`` into all weights that follow."""
        self.checkpoints.provenance = self.frozen.provenance = provenance

    @property
    def folders(self) -> tuple[Path, ...]:
        """Folders that a run writes into."""
        own = (self.checkpoints.directory, self.snapshots, self.replays, self.self_play)
        return (*own, self.tensorboard, self.tracking)

    @classmethod
    def create(cls, path: Path, config: str, info: RunInfo, keep_checkpoints: int = 3) -> RunDirectory:
        """Make a new run directory. Raises ``RunExists`` if ``path`` exists."""
        run = cls(path, keep_checkpoints)
        try:
            path.mkdir(parents=True)
        except FileExistsError as error:
            raise RunExists(f"{path}: exists already; {run.hint()}") from error
        run._start(config, info)
        return run

    def _start(self, config: str, info: RunInfo) -> None:
        """Write the first files of a run into its empty folder."""
        for folder in (self.checkpoints.directory, self.snapshots, self.replays):
            folder.mkdir()
        fsync_directory(self.path.parent)
        write_atomic(self.config, config.encode())
        write_atomic(self.info_path, msgspec.json.format(to_json(info)) + b"\n")

    @staticmethod
    def refuse_existing(path: Path) -> None:
        """Raise ``RunExists`` if ``path`` is there."""
        if path.exists() or path.is_symlink():
            raise RunExists(f"{path}: exists already; {RunDirectory(path).hint()}")

    @classmethod
    def create_whole(
        cls,
        path: Path,
        config: str,
        info: RunInfo,
        fill: Callable[[RunDirectory], None],
        keep_checkpoints: int = 3,
    ) -> RunDirectory:
        """Make a new run directory with the files that ``fill`` writes, which appears with all of them.

        It is written beside ``path`` under another name (:func:`is_aside`). The next call for any run in the
        same folder removes what a kill left there.

        Args:
            path: The directory, which does not exist.
            config: Content of ``config.toml``.
            info: Content of ``run.json``.
            fill: Writes into the run's directory, which this process has locked. What it raises ends all.
            keep_checkpoints: As for the constructor.

        Raises:
            RunExists: ``path`` exists.
            RunBusy: Another process makes it.
            OSError: It cannot be written.
        """
        aside = aside_of(path)
        run = cls(aside, keep_checkpoints)
        run.refuse_existing(path)
        lock = cls._lock_aside(path)
        with lock:
            if not lock.holds(aside):  # another process was ready in between
                raise RunBusy(f"{path}: another process has made it just now")
            remove_abandoned(path.parent)
            try:
                run.refuse_existing(path)
                for left in aside.iterdir():
                    if left != run.lock_path:
                        remove_tree(left)
                run._start(config, info)
                for folder in run.folders:
                    own_folder(folder)
                fill(run)
                fsync_directory(aside)
                os.rename(aside, path)
            except BaseException as error:
                remove_tree(aside)
                if isinstance(error, OSError) and error.errno in _TAKEN:
                    raise RunExists(f"{path}: exists already; choose another directory") from error
                raise
        fsync_directory(path.parent)
        return cls(path, keep_checkpoints)

    @staticmethod
    def _lock_aside(path: Path) -> RunLock:
        """Make the folder beside ``path`` and lock it.

        Raises:
            RunBusy: Another process makes the run.
            OSError: It cannot be made.
        """
        aside = aside_of(path)
        lock_path = RunDirectory(aside).lock_path
        for tries_left in reversed(range(LOCK_TRIES)):
            if aside.is_symlink() or not aside.is_dir():
                remove_tree(aside)
                aside.mkdir(parents=True, exist_ok=True)
            try:
                return RunLock(lock_path, this_process(utc_now()))
            except FileNotFoundError:  # a process that clears away took it for one that was left
                if not tries_left:
                    raise
            except RunBusy as error:
                raise RunBusy(f"{path}: {read_holder(lock_path) or 'another process'} makes it") from error
        raise AssertionError

    @classmethod
    def open(cls, path: Path, keep_checkpoints: int = 3) -> RunDirectory:
        """Open an existing run directory. Raises ``RunNotFound`` if there is none, or half of one."""
        run = cls(path, keep_checkpoints)
        if is_aside(path.name):
            raise RunNotFound(f"{path}: half a run, which ludus surgery did not finish; it may be removed")
        if not run.info_path.is_file() or not run.config.is_file():
            name, at, _ = path.name.rpartition("@")
            if at and (path.with_name(name) / "run.json").is_file():
                raise RunNotFound(f"{path}: a player, not a run (did you mean {path.with_name(name)}?)")
            raise RunNotFound(f"{path}: not a run directory (no run.json and config.toml in it)")
        return run

    def hint(self) -> str:
        """Return advice about an existing directory."""
        if not self.info_path.is_file():
            return "choose another directory"
        status = self.status()
        if status.state == "running":
            return f"{status.holder or 'another process'} trains it; choose another directory"
        return f"to resume it: ludus resume {shell(str(self.path))}"

    def lock(self) -> RunLock:
        """Lock the run for this process, which may write into it then.

        Raises ``RunBusy``, ``OSError``, and ``CorruptFile`` where a folder of the run is a link.
        """
        for folder in self.folders:
            own_folder(folder)
        return RunLock(self.lock_path, this_process(utc_now()))

    def status(self) -> RunStatus:
        """Whether a process trains the run, and how the last one ended."""
        state: RunState = "lost"
        if is_locked(self.lock_path):
            state = "running"
        else:
            with contextlib.suppress(CorruptFile):  # the events before a damaged one count
                for row in read_jsonl(self.events_path):
                    state = AFTER.get(str(row.get("event")), state)
        return RunStatus(state, read_holder(self.lock_path))

    def _identity(self) -> str:
        """Return the unique identity of this run, for the signatures of its checkpoints."""
        info = self.info()
        parts = (info.run_id, info.game, info.spec_hash, info.seed, info.started)
        return msgspec.json.encode(parts).decode()

    def info(self) -> RunInfo:
        """Return the content of ``run.json``. Raises ``CorruptFile``."""
        try:
            info = from_json(read_bounded(self.info_path, MAX_INFO_BYTES), RunInfo)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CorruptFile(f"{self.info_path}: {error}") from error
        if info.schema != SCHEMA:
            raise CorruptFile(f"{self.info_path}: schema {info.schema}, this version of ludus reads {SCHEMA}")
        return info

    def config_bytes(self) -> bytes:
        """Return the content of ``config.toml``. Raises ``CorruptFile`` if it is too large."""
        return read_bounded(self.config, MAX_CONFIG_BYTES)

    def reference(self, version: int, player: str = "") -> str:
        """Return the name of weights in all results: ``RUN@VERSION``, in a league ``RUN@PLAYER:VERSION``."""
        return f"{utf8(self.path.resolve().name)}@{player + ':' if player else ''}{version}"

    def add_result(self, row: Row) -> None:
        """Append a line to ``results.jsonl``. Raises ``OSError``."""
        writer = JsonlWriter(self.results)
        try:
            writer.append({"time": utc_now(), **row})
        finally:
            writer.close()

    def add_event(self, kind: str, **detail: object) -> None:
        """Append an event to ``events.jsonl`` of a run that no process trains. Raises ``OSError``."""
        writer = JsonlWriter(self.events_path)
        try:
            writer.append({"time": utc_now(), "event": kind, **detail})
            writer.sync()
        finally:
            writer.close()

    def clear_log(self) -> list[str]:
        """Remove the rows of a run that starts from the beginning; return what was removed, in words."""
        paths = (self.metrics_path, self.matches)
        removed = [text for path in paths if (text := lines_of(path).text(path.name))]
        for path in paths:
            path.unlink(missing_ok=True)
        return removed

    def save_start(self, weights: bytes) -> None:
        """Keep the file of the weights that the run starts with."""
        write_atomic(self.start, weights)

    def save_teacher(self, weights: bytes) -> None:
        """Keep the file of the weights that the learner stays near."""
        write_atomic(self.teacher, weights)

    def snapshot_path(self, version: int) -> Path:
        """Return where frozen weights of ``version`` lie."""
        return self.snapshots / f"{version:0{DIGITS}d}{SUFFIX}"

    def save_snapshot(self, weights: Weights) -> Path:
        """Write frozen weights of a past opponent."""
        own_folder(self.snapshots)
        path = self.snapshot_path(weights.meta.version)
        write_atomic(path, encode_weights(weights, self.checkpoints.provenance))
        return path

    def load_snapshot(self, version: int) -> Weights:
        """Return frozen weights. Raises ``RunNotFound`` or ``CorruptFile``."""
        return read_weights(self.snapshot_path(version))

    def drop_snapshots(self, keep: set[int]) -> None:
        """Remove frozen weights of every version that is not in ``keep``; files of other names stay."""
        own_folder(self.snapshots)
        for path in self.snapshots.glob("*" + SUFFIX):
            if _VERSION.fullmatch(path.stem) and int(path.stem) not in keep:
                path.unlink(missing_ok=True)


class RunLog:
    """The append-only files of a run that is being written.

    A row that the disk refuses is lost, and the run continues: :attr:`problem` has the reason and
    :attr:`lost` the number of lost rows by file.
    """

    def __init__(self, run: RunDirectory) -> None:
        """Open the files of ``run`` to append to them. Raises ``OSError`` or ``CorruptFile``."""
        self._metrics = JsonlWriter(run.metrics_path)
        self._events = JsonlWriter(run.events_path)
        self._matches = JsonlWriter(run.matches)
        self._log_path = run.log
        os.close(open_own(self._log_path, os.O_WRONLY))
        self.lost = {writer.path.stem: 0 for writer in (self._metrics, self._events, self._matches)}
        self.problem: str = ""
        #: Lines removed from the ends of the files, in words: torn by a kill, or after the
        #: checkpoint that a run resumed from. The reader clears it.
        self.removed = [
            f"an unfinished line of {w.path.name} ({w.torn:,} bytes)"
            for w in (self._metrics, self._events, self._matches)
            if w.torn
        ]

    def metrics(self, row: Row) -> None:
        """Append a row to ``metrics.jsonl``."""
        self._try(self._metrics, [row])

    def event(self, kind: str, **detail: object) -> bool:
        """Append an event of ``kind`` with the present time to ``events.jsonl``; return whether it was."""
        return self._try(self._events, [{"time": utc_now(), "event": kind, **detail}])

    def matches(self, rows: list[Row]) -> None:
        """Append rows to ``matches.jsonl``."""
        if rows:
            self._try(self._matches, rows)

    def message(self, text: str) -> None:
        """Append a line to ``log.txt``."""
        try:
            fd = open_own(self._log_path, os.O_WRONLY | os.O_APPEND)
            with os.fdopen(fd, "a", encoding="utf-8") as file:
                file.write(f"{utc_now()} {text}\n")
        except CorruptFile as error:
            self.problem = str(error)
        except OSError as error:
            self.problem = f"{self._log_path}: {error.strerror or error}"

    def sync(self) -> dict[str, int]:
        """Sync every row to the disk and return the file sizes that belong to a checkpoint.

        After a power cut the files have at least the rows that the checkpoint records. Raises ``OSError``.
        """
        for writer in (self._metrics, self._events, self._matches):
            writer.sync()
        fsync_directory(self._metrics.path.parent)
        return {name: writer.size() for name, writer in self._rewound().items()}

    def rewind(self, sizes: dict[str, int]) -> list[str]:
        """Truncate the files to a checkpoint: later rows will be written again (:attr:`removed`).

        Returns:
            A message for every file that is shorter than at the checkpoint: it lost rows.
        """
        lost = []
        for name, writer in self._rewound().items():
            recorded, found = sizes.get(name, 0), writer.size()
            if found < recorded:
                size = f"{found} bytes, the checkpoint recorded {recorded}"
                lost.append(f"{writer.path}: {size}; the rows between are lost, the run continues")
            cut = writer.truncate(sizes.get(name, found))
            if text := cut.text(writer.path.name):
                self.removed.append(text)
        return lost

    def close(self) -> None:
        """Close the files."""
        for writer in (self._metrics, self._events, self._matches):
            writer.close()

    def _rewound(self) -> dict[str, JsonlWriter]:
        """Return the files that a checkpoint truncates."""
        return {"metrics": self._metrics, "matches": self._matches}

    def _try(self, writer: JsonlWriter, rows: list[Row]) -> bool:
        try:
            writer.append_many(list(rows))
        except OSError as error:
            self.lost[writer.path.stem] += len(rows)
            self.problem = f"{writer.path}: {error.strerror or error}"
            return False
        return True


def utc_now() -> str:
    """Return the UTC time in seconds, ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
