"""A run with everything that its page shows. Everything is read, nothing is written."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ludus.evaluation import ladder
from ludus.evaluation.play import UNIFORM
from ludus.flow.inputs.decode import from_json
from ludus.flow.inputs.shown import shell, terminal, visible
from ludus.ratings.ladder import LadderRating
from ludus.reporting.changes import code_marks
from ludus.reporting.floors import INITIAL_WEIGHTS
from ludus.reporting.measures import (
    FINAL,
    INSIDE,
    MOST_NAME,
    EvaluationPoint,
    Level,
    Measure,
    Value,
    measures_of,
)
from ludus.reporting.report import thinned
from ludus.reporting.run_view import RunView, number, stamp_of
from ludus.reporting.series import MOST_SERIES, SeriesInfo, series_of
from ludus.reporting.settings import RunSetting, settings_of
from ludus.storage.errors import StorageError
from ludus.storage.files import read_bounded
from ludus.storage.jsonl import Row, tail
from ludus.storage.rundir import RunDirectory
from ludus.web.serve.library import Run, UnknownId
from ludus.web.serve.runs.curves import minutes_at
from ludus.web.serve.runs.lines import RunLine, ShownResult, line_of, refuse_links, results_of, view_at

MAX_REPORT_BYTES = 1 << 20
MOST_EVENTS, MOST_EVALUATIONS, MOST_ROWS, MOST_VERSIONS = 200, 500, 60, 300
MOST_TIMED = 8  # members of a league whose evaluations have minutes
MOST_SPARSE = 2000  # evaluations of a run that are kept in memory, beside the newest
_COUNTS = ("matches", "wins", "draws", "losses", "mean_ticks")


class EvaluatedRate(NamedTuple):
    """Win rate of some weights against ``against``, with its interval."""

    against: str
    rate: float
    low: float
    high: float


class RunVersion(msgspec.Struct, frozen=True):
    """Weights of a run by name, in a league ``PLAYER:VERSION``, with their last evaluation."""

    name: str
    steps: int | None = None
    results: tuple[ShownResult, ...] = ()


class ResultRow(msgspec.Struct, frozen=True):
    """A row of the table of results: final matches, play-off, floors."""

    stage: str
    result: ShownResult
    counts: dict[str, float]


class RunPage(msgspec.Struct, frozen=True):
    """A run with everything that its page shows.

    ``measures``: its plots; ``players``: members of a league; ``marks``: steps at which it continued under
    other code; ``log``: its end; ``has_report``: whether there is a ``report.html``; ``told``: how it ended;
    ``strength``: its strength among plain searches in the newest evaluation, a sentence; ``stamp``: see
    :func:`page_stamp`.
    """

    about: RunLine
    config: str
    info: dict[str, Any]
    versions: tuple[str, ...]
    weights: tuple[RunVersion, ...]
    evaluations: tuple[Row, ...]
    measures: tuple[Measure, ...]
    marks: tuple[tuple[int, str], ...]
    results: tuple[ResultRow, ...]
    settings: tuple[RunSetting, ...]
    events: tuple[Row, ...]
    log: str
    report: str
    has_report: bool
    series: tuple[str, ...]
    plots: tuple[SeriesInfo, ...]
    players: tuple[str, ...]
    told: str = ""
    strength: str = ""
    stamp: str = ""


class UnchangedPage(msgspec.Struct, frozen=True):
    """Answer to a page that knows the newest stamp."""

    stamp: str
    unchanged: bool = True


def page_of(run: Run) -> RunPage:
    """Return everything about a run. Raises :class:`UnknownId` for one that has been removed."""
    view = view_at(run.path)
    refuse_links(view.directory)
    stamp, line = page_stamp(run), line_of(run)
    directory = view.directory
    rows = _evaluations(run.path, stamp_of(view.source))
    if not directory.info_path.is_file():
        raise UnknownId("the run has been removed")
    versions = [str(v) for v in directory.checkpoints.versions()]
    with contextlib.suppress(StorageError, OSError):
        versions += [
            f"{p}:{v}" for p in directory.frozen.players() for v in directory.frozen.versions(p)[-50:]
        ]
    evaluations = rows[-MOST_EVALUATIONS:]
    names, events = view.names(evaluations), view.events(MOST_EVENTS)
    return RunPage(
        about=line,
        config=_text(directory.config),
        info=_json(directory.info_path),
        versions=tuple(versions),
        weights=tuple(_weights(names_of_weights(directory, versions, line.best), rows)),
        evaluations=evaluations,
        measures=measures_at(run),
        marks=_marks(view),
        results=tuple(_table(rows)),
        settings=_settings(directory),
        events=events,
        log=terminal(tail(directory.log).decode("utf-8", "backslashreplace")),
        report=_text(directory.report),
        has_report=directory.page.is_file() and not directory.page.is_symlink(),
        series=names[:MOST_SERIES],
        plots=tuple(series_of(names)),
        players=view.players(evaluations),
        told=_told(run, line.state, events),
        strength=_strength_in_words(evaluations),
        stamp=stamp,
    )


def page_if_changed(run: Run, known: str) -> RunPage | UnchangedPage:
    """Return the page of a run unless ``known`` is its stamp. Raises :class:`UnknownId`."""
    stamp = page_stamp(run)
    return UnchangedPage(stamp) if known and known == stamp else page_of(run)


def page_stamp(run: Run) -> str:
    """Return a text that changes with everything that the page of a run shows."""
    view = view_at(run.path)
    with contextlib.suppress(StorageError, OSError):
        if view.directory.info_path.is_file():
            return hashlib.blake2b(repr(view.stamp()).encode(), digest_size=12).hexdigest()
    raise UnknownId("the run has been removed")


def measures_at(run: Run) -> tuple[Measure, ...]:
    """Return the measures of a run, of at most :data:`MOST_EVALUATIONS` evaluations."""
    rows = _evaluations(run.path, stamp_of(view_at(run.path).source))
    return tuple(measures_of(_points(run, rows), _levels(rows)))


def _strength_in_words(rows: tuple[Row, ...]) -> str:
    """Return how strong the newest evaluated weights are among plain searches; empty if it is not known."""
    for row in reversed(rows):
        if row.get("playoff") is True or "ladder" not in row:
            continue
        with contextlib.suppress(msgspec.ValidationError, OverflowError):
            if words := ladder.in_words(msgspec.convert(row["ladder"], LadderRating)):
                player, version = _named(row.get("player")), number(row.get("version")) or 0.0
                return f"Version {f'{player}:' if player else ''}{version:.0f} {words}."
        return ""
    return ""


def _told(run: Run, state: str, events: tuple[Row, ...]) -> str:
    """Return how the run ended and what continues it, in one sentence; empty while it trains."""
    last = events[-1] if events else {}
    resume = f"Continue it: ludus resume {shell(str(run.path))}"
    why = next((visible(text)[:400] for n in ("reason", "text") if isinstance(text := last.get(n), str)), "")
    if state == "finished":
        return f"It has ended: {why}." if why else "It has ended."
    if state == "failed":
        return f"It failed: {why or 'its events say no more'}. {resume}"
    if state == "lost":
        return f"Its process ended without a word: it was killed, or the power failed. {resume}"
    return f"It was interrupted. {resume}" if state == "interrupted" else ""


@functools.lru_cache(maxsize=4)
def _evaluations(path: Path, stamp: tuple[int, int]) -> tuple[Row, ...]:
    """Return the rows of evaluations: all of a usual log, of a long one the newest and some of the others."""
    sparse: dict[int, Row] = {}
    ends: deque[tuple[int, Row]] = deque(maxlen=MOST_EVALUATIONS)  # first, final matches, play-off
    newest: deque[tuple[int, Row]] = deque(maxlen=MOST_EVALUATIONS)
    stride = 1
    for place, row in enumerate(view_at(path).evaluations()):
        newest.append((place, row))
        if any(row.get(name) is True for name in ("initial", "final", "playoff")):
            ends.append((place, row))
        elif place % stride == 0:
            sparse[place] = row
            if len(sparse) > MOST_SPARSE:
                stride *= 2
                sparse = {at: kept for at, kept in sparse.items() if at % stride == 0}
    kept = {**sparse, **dict(ends), **dict(newest)}
    return tuple(kept[place] for place in sorted(kept))


def _points(run: Run, rows: tuple[Row, ...]) -> Iterator[EvaluationPoint]:
    """Yield the evaluations while training, with the minutes of the updates near them."""
    inside = [row for row in rows if row.get("final") is not True and row.get("playoff") is not True]
    by_player: dict[str, list[Row]] = {}
    for row in thinned(inside, MOST_EVALUATIONS):
        by_player.setdefault(str(row.get("player") or ""), []).append(row)
    for count, (player, own) in enumerate(by_player.items()):
        steps = [number(row.get("steps")) or 0.0 for row in own]
        read = count < MOST_TIMED  # the log is read for each
        minutes = minutes_at(run, player, steps) if read else [None] * len(own)
        for row, at, spent in zip(own, steps, minutes, strict=True):
            yield EvaluationPoint(at, _numbers(row), _named(player), spent)


def _numbers(row: Row) -> dict[str, float]:
    return {name: made for name, value in row.items() if (made := number(value)) is not None}


def _named(value: object) -> str:
    return visible(value[:MOST_NAME]) if isinstance(value, str) else ""


def _levels(rows: tuple[Row, ...]) -> list[Level]:
    """Return the floors: initial weights and uniform legal play, as far as they were measured."""
    found: list[Level] = []
    initial = [row.get("results") for row in rows if row.get("initial") is True]
    uniform = [row.get("uniform") for row in rows if row.get("uniform")]
    for what, listed in ((INITIAL_WEIGHTS, initial[-1:]), (UNIFORM, uniform[-1:])):
        for results in listed:
            known = map(_result, results if isinstance(results, list) else ())
            found += [Level(what, made.against, made.value) for made in known if made is not None]
    return found


def _result(result: object) -> ShownResult | None:
    """Return an entry of the ``results`` of a row, of a file that may have anything in it."""
    if not isinstance(result, dict):
        return None
    alone = result.get("alone") is True
    names = ("mean_return", "return_low", "return_high") if alone else ("win_rate", "ci_low", "ci_high")
    middle, low, high = (number(result.get(name)) for name in names)
    against = result.get("against")
    if not isinstance(against, str) or middle is None or (alone and not number(result.get("matches"))):
        return None
    return ShownResult(visible(against)[:MOST_NAME], "return" if alone else "rate", Value(middle, low, high))


def _table(rows: tuple[Row, ...]) -> Iterator[ResultRow]:
    """Yield results of final matches, floors in their setting, and the play-off of the candidates."""
    final = [row for row in rows if row.get("final") is True][-1:]
    playoff = [row for row in rows if row.get("playoff") is True][-MOST_ROWS:]
    initial = [row for row in rows if row.get("initial") is True][-1:] if final else []
    for listed, key, words in (
        (final, "results", "Final matches of version {}"),
        (initial, "results", INITIAL_WEIGHTS.capitalize()),
        (final, "uniform", "Uniform legal play"),
        (playoff, "results", "Play-off, version {}"),
    ):
        for row in listed:
            found = row.get(key)
            player, version = _named(row.get("player")), number(row.get("version"))
            name = f"{player}:{version:.0f}" if player else f"{version or 0:.0f}"
            for result in (found if isinstance(found, list) else [])[:MOST_ROWS]:
                if (made := _result(result)) is not None:
                    counts = {n: v for n in _COUNTS if (v := number(result.get(n))) is not None}
                    yield ResultRow(words.format(name), made, counts)


def names_of_weights(directory: RunDirectory, versions: list[str], best: str) -> list[str]:
    """Return the names of the newest weights that a person may want; a league's are of its members."""
    if not directory.league.is_file():
        return versions[-MOST_VERSIONS:]
    frozen = [name for name in versions if ":" in name]
    members = list(dict.fromkeys(name.partition(":")[0] for name in frozen))
    return [*frozen[-MOST_VERSIONS:], *members, *([best] if best and best not in frozen else [])]


def _weights(versions: list[str], rows: tuple[Row, ...]) -> Iterator[RunVersion]:
    """Yield the kept weights with their last evaluation; final matches count most."""
    known: dict[str, tuple[int | None, tuple[ShownResult, ...]]] = {}
    for row in rows:
        version = row.get("version")
        if not isinstance(version, int) or row.get("playoff") is True:
            continue
        player, steps = _named(row.get("player")), number(row.get("steps"))
        found = results_of(row, FINAL if row.get("final") is True else INSIDE)
        name = f"{player}:{version}" if player else str(version)
        at = None if steps is None else int(steps)
        known[name] = (known.get(name, (at, ()))[0], found)  # final matches are later than the weights
        if player and row.get("final") is not True:
            known[player] = (at, found)  # its newest weights
    for version in versions:
        yield RunVersion(version, *known.get(version, (None, ())))


def _marks(view: RunView) -> tuple[tuple[int, str], ...]:
    try:
        return tuple((steps, visible(label)[:MOST_NAME]) for steps, label in code_marks(view.changes()))
    except (StorageError, ValueError, OSError):
        return ()


def _settings(directory: RunDirectory) -> tuple[RunSetting, ...]:
    stamps = stamp_of(directory.config), stamp_of(directory.changes), stamp_of(directory.info_path)
    return _settings_at(directory.path, stamps)


@functools.lru_cache(maxsize=64)
def _settings_at(path: Path, stamps: tuple[tuple[int, int], ...]) -> tuple[RunSetting, ...]:
    try:
        return tuple(settings_of(RunDirectory(path)))
    except (ValueError, OSError, StorageError):
        return ()


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
