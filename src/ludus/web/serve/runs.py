"""Runs as pages show them: state, configuration, evaluations, curves. Everything is read, nothing written."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.flow.inputs.shown import terminal, visible
from ludus.presets.checks.game import params_text
from ludus.presets.stored_game import parse_game
from ludus.reporting.run_view import RunView, number
from ludus.storage.errors import StorageError
from ludus.storage.files import read_bounded
from ludus.storage.jsonl import Row, tail
from ludus.storage.rundir import RunDirectory
from ludus.web.serve.games import is_playable
from ludus.web.serve.library import MAX_RUNS, Run, UnknownId
from ludus.web.serve.messages import linked
from ludus.web.serve.sentences import sentence

MAX_REPORT_BYTES = 1 << 20
MOST_EVENTS, MOST_EVALUATIONS = 200, 500
MOST_SERIES, MOST_POINTS = 64, 4000
_X: Mapping[str, str] = {"steps": "steps", "minutes": "time/minutes"}

XAxis = Literal["steps", "minutes"]


class EvaluatedRate(NamedTuple):
    """Win rate of some weights against ``against``, with its interval."""

    against: str
    rate: float
    low: float
    high: float


class RunLine(msgspec.Struct, frozen=True):
    """A run in a list.

    ``age_s``: seconds since its files changed; ``problem``: why it cannot be read; ``params``: parameters of
    its game; ``playable``: whether pages play the game.
    """

    id: str
    name: str
    sweep: str
    game: str = ""
    method: str = ""
    state: str = ""
    started: str = ""
    steps: int | None = None
    minutes: float | None = None
    best: str = ""
    bytes: int = 0
    age_s: float = 0.0
    problem: str = ""
    params: dict[str, str] = {}
    playable: bool = False


class RunPage(msgspec.Struct, frozen=True):
    """A run with everything that its page shows."""

    about: RunLine
    config: str
    info: dict[str, Any]
    versions: tuple[str, ...]
    evaluations: tuple[Row, ...]
    events: tuple[Row, ...]
    log: str
    report: str
    series: tuple[str, ...]


class Bucket(msgspec.Struct, frozen=True):
    """One series of a curve: mean, least and greatest value of each bucket; null where it has none."""

    mean: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]


class Curves(msgspec.Struct, frozen=True):
    """Curves of a run. ``x``: middle of each bucket; ``offset``: bytes of the file that were read."""

    x: tuple[float, ...]
    series: dict[str, Bucket]
    names: tuple[str, ...]
    offset: int


def line_of(run: Run) -> RunLine:
    """Return the line of a run; a run that cannot be read has a problem."""
    line = RunLine(run.id, run.name, run.sweep)
    try:
        view = _view(run.path)
        directory, info, newest = view.directory, view.info(), view.newest()
        size, changed = _weigh(run.path)
        return msgspec.structs.replace(
            line,
            game=visible(info.game),
            method=visible(info.method or _method(directory)),
            state=view.status().state,
            started=visible(info.started),
            steps=newest.steps,
            minutes=newest.minutes,
            best=view.best(),
            bytes=size,
            age_s=max(0.0, time.time() - changed),
            params=_params(directory),
            playable=is_playable(info.game),
        )
    except (ValueError, OSError, StorageError) as error:
        return msgspec.structs.replace(line, problem=_reason(run, error))


@functools.lru_cache(maxsize=MAX_RUNS)
def _view(path: Path) -> RunView:
    """Return the view of a run, which remembers what it has read."""
    return RunView(RunDirectory(path))


def page_of(run: Run) -> RunPage:
    """Return everything about a run. Raises :class:`UnknownId` for one that has been removed."""
    line = line_of(run)
    view = _view(run.path)
    directory = view.directory
    evaluations = tuple(view.evaluations())[-MOST_EVALUATIONS:]
    if not directory.info_path.is_file():
        raise UnknownId("the run has been removed")
    versions = [str(v) for v in directory.checkpoints.versions()]
    with contextlib.suppress(StorageError, OSError):
        versions += [
            f"{p}:{v}" for p in directory.frozen.players() for v in directory.frozen.versions(p)[-50:]
        ]
    return RunPage(
        about=line,
        config=_text(directory.config),
        info=_json(directory.info_path),
        versions=tuple(versions),
        evaluations=evaluations,
        events=view.events(MOST_EVENTS),
        log=terminal(tail(directory.log).decode("utf-8", "backslashreplace")),
        report=_text(directory.report),
        series=view.names(evaluations),
    )


def strengths(directory: RunDirectory) -> dict[str, EvaluatedRate]:
    """Return the last evaluation of each version (in a league ``PLAYER:VERSION``) against one opponent.

    The opponent is the one that most evaluations have.
    """
    try:
        about = RunView(directory).source.stat()
    except OSError:
        return {}
    return _strengths(directory.path, about.st_mtime_ns, about.st_size)


@functools.lru_cache(maxsize=512)
def _strengths(run: Path, modified: int, size: int) -> dict[str, EvaluatedRate]:
    found: list[tuple[str, dict[str, EvaluatedRate]]] = []
    for row in RunView(RunDirectory(run)).evaluations():
        version, player, results = row.get("version"), row.get("player"), row.get("results")
        if not isinstance(version, int) or not isinstance(results, list):
            continue
        named = f"{player}:{version}" if isinstance(player, str) and player else str(version)
        found.append((named, {s.against: s for r in results if (s := _strength(r)) is not None}))
    counts: dict[str, int] = {}
    for _, by_opponent in found:
        for name in by_opponent:
            counts[name] = counts.get(name, 0) + 1
    if not counts:
        return {}
    against = max(counts, key=lambda name: counts[name])
    return {version: by_opponent[against] for version, by_opponent in found if against in by_opponent}


def curves_of(run: Run, series: Sequence[str], x: XAxis, points: int) -> Curves:
    """Return curves of a run.

    Args:
        run: The run.
        series: Names of numbers; none: only the names that there are.
        x: The axis: decisions or minutes of training.
        points: Most buckets.

    Raises:
        UnknownId: The run has been removed.
    """
    try:
        about = RunView(run.directory).source.stat()
    except OSError:
        raise UnknownId("the run has been removed") from None
    wanted = tuple(dict.fromkeys(series))[:MOST_SERIES]
    stamp = about.st_mtime_ns, about.st_size
    return _curves(run.path, stamp, wanted, _X[x], max(1, min(points, MOST_POINTS)))


@functools.lru_cache(maxsize=16)
def _curves(path: Path, stamp: tuple[int, int], wanted: tuple[str, ...], axis: str, points: int) -> Curves:
    """Return the curves of a run; ``stamp``: time and size of its log."""
    places: dict[float, int] = {}  # of each x; evaluations may be written after later updates
    values: dict[str, list[float | None]] = {name: [] for name in wanted}
    series = RunView(RunDirectory(path)).series(wanted)
    for point in series:
        if (at := point.get(axis)) is None:
            continue
        place = places.setdefault(at, len(places))
        for name in wanted:  # an update and its evaluation share a point
            if place == len(values[name]):
                values[name].append(None)
            if (value := point.get(name)) is not None:
                values[name][place] = value
    xs = sorted(places)
    order = [places[x] for x in xs]
    edges, middles = _buckets(xs, points)
    made = {name: _bucketed([values[name][place] for place in order], edges) for name in wanted}
    return Curves(tuple(middles), made, tuple(sorted(series.found)), stamp[1])


def _buckets(xs: Sequence[float], points: int) -> tuple[list[tuple[int, int]], list[float]]:
    """Return the rows of each bucket, of about equal numbers, and the mean x of each."""
    size = max(1, math.ceil(len(xs) / points))
    edges = [(start, min(start + size, len(xs))) for start in range(0, len(xs), size)]
    return edges, [sum(xs[a:b]) / (b - a) for a, b in edges]


def _bucketed(values: Sequence[float | None], edges: Sequence[tuple[int, int]]) -> Bucket:
    mean: list[float | None] = []
    low: list[float | None] = []
    high: list[float | None] = []
    for a, b in edges:
        there = [v for v in values[a:b] if v is not None]
        mean.append(sum(there) / len(there) if there else None)
        low.append(min(there) if there else None)
        high.append(max(there) if there else None)
    return Bucket(tuple(mean), tuple(low), tuple(high))


def _strength(result: object) -> EvaluatedRate | None:
    if not isinstance(result, dict):
        return None
    numbers = [number(result.get(name)) for name in ("win_rate", "ci_low", "ci_high")]
    against = result.get("against")
    if not isinstance(against, str) or any(n is None for n in numbers):
        return None
    rate, low, high = (n for n in numbers if n is not None)
    return EvaluatedRate(against[:200], rate, low, high)


def _text(path: Path) -> str:
    try:
        return terminal(read_bounded(path, MAX_REPORT_BYTES).decode("utf-8", "backslashreplace"))
    except (OSError, StorageError):
        return ""


def _json(path: Path) -> dict[str, Any]:
    try:
        return from_json(read_bounded(path, MAX_REPORT_BYTES), dict[str, Any])
    except (OSError, ValueError, StorageError):
        return {}


def _method(directory: RunDirectory) -> str:
    """Return the learning method that the configuration names."""
    from ludus.flow.inputs.decode import TomlError, from_toml

    try:
        document = from_toml(directory.config_bytes().decode("utf-8", "replace"))
    except (TomlError, OSError, StorageError):
        return ""
    algorithm = document.get("algorithm")
    name = algorithm.get("name") if isinstance(algorithm, dict) else None
    return name[:80] if isinstance(name, str) else ""


def _params(directory: RunDirectory) -> dict[str, str]:
    """Return the parameters of the run's game, for a link to its players; empty if they fit no link."""
    try:
        about = directory.config.stat()
        return _configured(directory.config, about.st_mtime_ns, about.st_size)
    except (ValueError, OSError, StorageError):
        return {}


@functools.lru_cache(maxsize=MAX_RUNS)
def _configured(config: Path, modified: int, size: int) -> dict[str, str]:
    return linked(params_text(parse_game(RunDirectory(config.parent).config_bytes(), str(config)).params))


def _weigh(path: Path) -> tuple[int, float]:
    """Return the bytes of the files in a folder and the folders in it, and when the newest changed."""
    size, changed, folders = 0, 0.0, [(path, 0)]
    while folders:
        folder, depth = folders.pop()
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                about = entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False) and depth < 2:
                    folders.append((Path(entry.path), depth + 1))
                elif entry.is_file(follow_symlinks=False):
                    size, changed = size + about.st_size, max(changed, about.st_mtime)
    return size, changed


def _reason(run: Run, error: Exception) -> str:
    if not (run.path / "run.json").is_file():
        return "the run has been removed"
    return sentence(error)
