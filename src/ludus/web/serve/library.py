"""Runs and replays in the served folder, by ids that pages use. No path ever comes from a page.

The folder may hold other people's files: links are not followed, sizes and numbers are bounded, and whatever
cannot be read is listed with its reason.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from ludus.flow.inputs.shown import utf8, visible
from ludus.games import replays
from ludus.games.replays import ReplayInfo
from ludus.storage.errors import CorruptFile, StorageError
from ludus.storage.files import read_bounded
from ludus.storage.replay_files import SUFFIX, keep_replay, prune_replays, replay_title, written_order
from ludus.storage.rundir import RunDirectory, is_aside
from ludus.web.serve.sentences import sentence

MAX_REPLAY_BYTES = 64 << 20
MAX_REPORT_BYTES = 32 << 20
MAX_RUNS, MAX_REPLAYS = 2000, 5000
MAX_LISTED = 500  # replays of one answer
MAX_READ_BYTES = 512 << 20  # of replays that one answer reads for the first time
MAX_NAME = 200
WATCHED = "watched"  #: last part of the names of matches that follow one another
PLAYED, PLAYS = "played", "plays"  #: folders of matches: in a run, and in the served folder
SCAN_S = 1.0  # a scan is used again so long
#: Ids that are the folder's own name.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
#: Names of weights behind ``RUN@``.
_WEIGHTS = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}(:([0-9]{1,18}|last))?")

Found = TypeVar("Found")


class UnknownId(ValueError):
    """An id that is not in the table: of a run or file that never was there, or is gone."""


class Run(msgspec.Struct, frozen=True):
    """A run in the table. ``name``: as people read it; ``sweep``: id of the sweep it belongs to, or empty."""

    id: str
    name: str
    path: Path
    sweep: str = ""

    @property
    def directory(self) -> RunDirectory:
        """The run's files."""
        return RunDirectory(self.path)


class Replay(msgspec.Struct, frozen=True):
    """A replay in the table. ``run``: id of its run, or empty."""

    id: str
    name: str
    path: Path
    run: str
    size: int
    modified: float


class ReplayLine(msgspec.Struct, frozen=True):
    """A replay in a list.

    ``problem``: why it cannot be read, or empty; ``returns``: of each seat, in games written in Python;
    ``title``: its name in words.
    """

    id: str
    name: str
    run: str
    bytes: int
    modified: float
    game: str = ""
    players: tuple[str, ...] = ()
    outcome: tuple[float, ...] = ()
    over: bool = False
    ticks: int = 0
    problem: str = ""
    returns: tuple[float, ...] = ()
    title: str = ""


class Library:
    """The table of a served folder. Threads may share it: each scan replaces the whole table."""

    def __init__(self, root: Path) -> None:
        """Serve ``root``: a folder of runs and sweeps, or one run."""
        self.root = root.resolve()
        self._files: dict[str, Replay] = {}  # replays that the command line names
        self._runs: dict[str, Run] = {}
        self._sweeps: dict[str, Path] = {}
        self._replays: dict[str, Replay] = {}
        self._scanned = {"runs": -SCAN_S, "replays": -SCAN_S}
        self._scanning = threading.RLock()  # others wait for a scan: before the first one, the table is empty
        self._infos: dict[tuple[str, int, float], ReplayInfo | str] = {}

    # Runs.

    def runs(self) -> dict[str, Run]:
        """Return the runs by id."""
        with self._scanning:
            if self._old("runs"):
                self._runs = self._find_runs()
            return self._runs

    def run(self, name: str) -> Run:
        """Return a run by id. Raises :class:`UnknownId`."""
        found = self.runs().get(name)
        if found is None or not (found.path / "run.json").is_file():
            raise UnknownId("there is no such run; it may have been removed")
        return found

    def sweeps(self) -> dict[str, Path]:
        """Return the directories of the sweeps by id, the ``sweep`` of their runs."""
        self.runs()
        return self._sweeps

    def run_at(self, path: Path) -> Run:
        """Return the run in the folder ``path``. Raises :class:`UnknownId`."""
        wanted = path.resolve()
        for run in self.runs().values():
            if run.path == wanted:
                return run
        raise UnknownId(f"{path}: not a run of the served folder {self.root}")

    def weights(self, run: Run, reference: str) -> str:
        """Return the name by which :func:`ludus.storage.resolve_weights` finds weights of a run.

        Raises as :meth:`weights_path`.
        """
        self.weights_path(run, reference)
        return _weights_name(run, reference)

    def weights_path(self, run: Run, reference: str) -> Path:
        """Return the file of weights of a run.

        Raises:
            UnknownId: ``reference`` has another form than ``best``, ``last``, VERSION, PLAYER or
                PLAYER:VERSION, or its file is a link out of the run.
            StorageError: There are no such weights.
        """
        from ludus.storage import resolve_weights

        if not _WEIGHTS.fullmatch(reference):
            raise UnknownId(f"{visible(reference[:80])}: expected best, last, VERSION or PLAYER:VERSION")
        path = resolve_weights(_weights_name(run, reference))
        self._inside(path)
        return path

    def report(self, run: Run) -> bytes:
        """Return the ``report.html`` of a run. Raises :class:`UnknownId`, ``StorageError`` or ``OSError``."""
        path = run.directory.page
        self._inside(path)
        return read_bounded(path, MAX_REPORT_BYTES)

    def _find_runs(self) -> dict[str, Run]:
        found: dict[str, Run] = {}
        sweeps: dict[str, Path] = {}
        inside = _has_file(self.root, "sweep.json") and not _has_file(self.root, "run.json")

        def add(path: Path, sweep: str = "") -> None:
            if len(found) < MAX_RUNS:
                plain = path.name if not sweep or inside else f"{sweep}.{path.name}"
                made = plain if _PLAIN.fullmatch(plain) and plain not in found else _digest(path)
                found[made] = Run(made, visible(utf8(path.name))[:MAX_NAME], path, sweep)

        if _has_file(self.root, "run.json"):
            add(self.root)
            self._sweeps = sweeps
            return found
        if inside:
            sweeps[_sweep_id(self.root)] = self.root
        for folder in _folders(self.root / "runs" if inside else self.root):
            if _has_file(folder, "run.json"):
                add(folder, _sweep_id(self.root) if inside else "")
            elif _has_file(folder, "sweep.json") and len(sweeps) < MAX_RUNS:
                named = _sweep_id(folder)
                sweeps[named] = folder
                for path in _folders(folder / "runs"):
                    if _has_file(path, "run.json"):
                        add(path, named)
        self._sweeps = sweeps
        return found

    # Replays.

    def replays(self) -> dict[str, Replay]:
        """Return the replays by id."""
        with self._scanning:
            if self._old("replays"):
                self._replays = {replay.id: replay for replay in self._find_replays()}
            return {**self._replays, **self._files}

    def replay(self, name: str) -> Replay:
        """Return a replay by id. Raises :class:`UnknownId`."""
        found = self.replays().get(name)
        if found is None:
            self._scanned["replays"] = -SCAN_S  # it may have been written since the last scan
            found = self.replays().get(name)
        if found is None:
            raise UnknownId("there is no such replay; it may have been removed")
        return found

    def add_file(self, path: Path) -> Replay:
        """Add a replay that the command line names, wherever it is. Raises ``OSError``."""
        about = path.stat()
        real = path.resolve()
        made = Replay(_digest(real), _name(real), real, "", about.st_size, about.st_mtime)
        self._files[made.id] = made
        return made

    def read(self, replay: Replay) -> bytes:
        """Return the bytes of a replay. Raises :class:`UnknownId` or ``StorageError``."""
        if replay.id not in self._files:
            self._inside(replay.path)
        try:
            return read_bounded(replay.path, MAX_REPLAY_BYTES)
        except FileNotFoundError:
            raise UnknownId("there is no such replay; it may have been removed") from None
        except OSError as error:
            raise CorruptFile(f"{replay.name}: {error.strerror or error}") from None

    def listed(self, fits: Callable[[ReplayLine], bool] = lambda line: True) -> tuple[list[ReplayLine], int]:
        """Return the newest replays that fit, and the number of older ones that were not looked at."""
        now = time.time()
        newest = sorted(self.replays().values(), key=lambda r: r.id)
        newest.sort(key=lambda r: written_order(r.path.name, r.modified, now)[:-1], reverse=True)
        lines: list[ReplayLine] = []
        unread = MAX_READ_BYTES
        for number, replay in enumerate(newest):
            if len(lines) >= MAX_LISTED or unread <= 0:
                return lines, len(newest) - number
            if (replay.id, replay.size, replay.modified) not in self._infos:
                unread -= replay.size
            line = self._line(replay)
            if fits(line):
                lines.append(line)
        return lines, 0

    def _line(self, replay: Replay) -> ReplayLine:
        key = (replay.id, replay.size, replay.modified)
        info = self._infos.get(key)
        if info is None:
            info = self._info(replay)
            if len(self._infos) >= 2 * MAX_REPLAYS:
                self._infos.clear()
            self._infos[key] = info
        line = ReplayLine(replay.id, replay.name, replay.run, replay.size, replay.modified)
        if isinstance(info, str):
            return msgspec.structs.replace(line, problem=info)
        players = tuple(visible(p)[:MAX_NAME] for p in info.players)
        return msgspec.structs.replace(
            line,
            game=visible(info.game),
            title=replay_title(replay.name, players),
            players=players,
            outcome=info.outcome if info.over else (),
            over=info.over,
            ticks=info.ticks,
            returns=info.returns,
        )

    def _info(self, replay: Replay) -> ReplayInfo | str:
        try:
            return replays.info(self.read(replay))
        except (ValueError, StorageError) as error:
            return sentence(error)

    def _find_replays(self) -> list[Replay]:
        found: list[Replay] = []

        def add(folder: Path, run: str = "") -> None:
            for entry in _entries(folder):
                if len(found) >= MAX_REPLAYS:
                    return
                if not entry.name.endswith(SUFFIX) or not entry.is_file(follow_symlinks=False):
                    continue
                try:
                    about = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                path = Path(entry.path)
                made = Replay(_digest(path), _name(path), path, run, about.st_size, about.st_mtime)
                found.append(made)

        add(self.root)
        _unless_link(self.root / PLAYS, add)
        for run in self.runs().values():
            for name in ("replays", PLAYED):
                _unless_link(run.path / name, lambda folder, of=run.id: add(folder, of))  # type: ignore[misc]
        return found

    # Matches that were played.

    def keep(self, replay: bytes, game: str, run: str = "", newest: int | None = None) -> Replay:
        """Write a match that was played, whole or not at all.

        Args:
            replay: Its bytes.
            game: Name of its game.
            run: Id of the run whose weights played; empty, or gone: the served folder.
            newest: For one of the matches that follow one another to be watched: how many of them stay, 0 for
                all. Matches that persons started are never removed.

        Raises:
            OSError: It cannot be written.
            CorruptFile: The folder is a link.
        """
        known = self.runs().get(run)
        home = known.path if known is not None and (known.path / "run.json").is_file() else None
        folder = self.root / PLAYS if home is None else home / PLAYED
        watched = () if newest is None else (WATCHED,)
        path = keep_replay(folder, replay, game, time.strftime("%Y%m%d-%H%M%S", time.gmtime()), *watched)
        if newest:
            prune_replays(folder, WATCHED, newest, path)
        self._scanned["replays"] = -SCAN_S
        owner = "" if home is None else run
        return Replay(_digest(path), _name(path), path, owner, len(replay), time.time())

    def _inside(self, path: Path) -> None:
        """Raise :class:`UnknownId` where a link leads to ``path``, or from it."""
        try:
            real = path.resolve(strict=True)
        except OSError:
            raise UnknownId("there is no such file; it may have been removed") from None
        if real != path or not real.is_relative_to(self.root):
            raise UnknownId("the file is a link; links are not followed")

    def _old(self, table: str) -> bool:
        now = time.monotonic()
        if now - self._scanned[table] < SCAN_S:
            return False
        self._scanned[table] = now
        return True


def _weights_name(run: Run, reference: str) -> str:
    return f"{run.path}@{reference}"


def _sweep_id(folder: Path) -> str:
    return folder.name if _PLAIN.fullmatch(folder.name) else _digest(folder)


def _digest(path: Path) -> str:
    return hashlib.blake2b(os.fsencode(path), digest_size=8).hexdigest()


def _name(path: Path) -> str:
    return visible(utf8(path.name))[:MAX_NAME]


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            yield from sorted(found, key=lambda entry: entry.name)
    except OSError:
        return


def _folders(folder: Path) -> list[Path]:
    if folder.is_symlink():
        return []
    found = (e for e in _entries(folder) if e.is_dir(follow_symlinks=False))
    return [Path(e.path) for e in found if not is_aside(e.name)]


def _has_file(folder: Path, name: str) -> bool:
    try:
        return stat.S_ISREG((folder / name).lstat().st_mode)
    except OSError:
        return False


def _unless_link(folder: Path, use: Callable[[Path], None]) -> None:
    if not folder.is_symlink():
        use(folder)
