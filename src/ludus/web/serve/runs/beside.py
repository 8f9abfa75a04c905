"""Several runs beside each other: the measures that they share, and the settings in which they differ."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ludus.reporting.measures import Kind, Line, Measure, titled
from ludus.reporting.run_view import stamp_of
from ludus.reporting.settings import text_of_value
from ludus.storage.errors import StorageError
from ludus.storage.rundir import RunDirectory
from ludus.sweep.comparison import differing_settings, short_names
from ludus.sweep.results import run_leaves
from ludus.web.serve.library import Run, UnknownId
from ludus.web.serve.runs.lines import RunLine, line_of
from ludus.web.serve.runs.pages import measures_at

MOST_BESIDE = 8  # runs: as many as there are colours
MOST_DIFFERING = 60
MOST_GROUPED, MOST_GROUPS = 400, 12
_LISTED = ("title", "game.name", "algorithm.name")  # separate columns and groups


class RunLabel(msgspec.Struct, frozen=True):
    """A run with the settings that tell it from the others, and its seed."""

    about: RunLine
    label: str


class DifferingSetting(msgspec.Struct, frozen=True):
    """A setting in which runs differ. ``values``: of each run as text; None: it has no such setting."""

    path: str
    name: str
    values: tuple[str | None, ...]


class SharedMeasure(msgspec.Struct, frozen=True):
    """One plot: a line for each run that has this measure. ``runs``: their places in the list."""

    title: str
    kind: Kind
    runs: tuple[int, ...]
    lines: tuple[Line, ...]


class RunsBeside(msgspec.Struct, frozen=True):
    """Runs beside each other."""

    runs: tuple[RunLabel, ...]
    settings: tuple[DifferingSetting, ...]
    measures: tuple[SharedMeasure, ...]


class RunGroups(msgspec.Struct, frozen=True):
    """A setting by which runs can be grouped. ``values``: by the id of the run."""

    path: str
    name: str
    values: dict[str, str]


class RunGrouping(msgspec.Struct, frozen=True):
    """Settings in which the runs of a list differ."""

    settings: tuple[RunGroups, ...]


class _RunSettings(msgspec.Struct, frozen=True):
    settings: dict[str, Any]


def beside(runs: Sequence[Run]) -> RunsBeside:
    """Return what several runs show together. Raises :class:`UnknownId` for one that has been removed."""
    lines = [line_of(run) for run in runs]
    for run, line in zip(runs, lines, strict=True):
        if line.problem:
            raise UnknownId(f"{run.name}: {line.problem}")
    configured = [_RunSettings(_leaves(run.path, stamp_of(run.directory.config))) for run in runs]
    differing = [p for p in differing_settings(configured) if p != "title"]
    paths = sorted(differing, key=lambda p: any(p not in c.settings for c in configured))[:MOST_DIFFERING]
    names = short_names(paths)
    settings = tuple(
        DifferingSetting(p, names[p], tuple(_shown(c.settings.get(p)) for c in configured)) for p in paths
    )
    return RunsBeside(
        runs=tuple(RunLabel(line, _label(place, settings)) for place, line in enumerate(lines)),
        settings=settings,
        measures=tuple(_shared([measures_at(run) for run in runs])),
    )


def grouping(runs: Sequence[Run]) -> RunGrouping:
    """Return the settings by which a list of runs can be grouped, with the value of each run.

    A setting with another value in almost every run divides them into no groups.
    """
    newest = list(runs)[:MOST_GROUPED]
    configured = [_RunSettings(_leaves(run.path, stamp_of(run.directory.config))) for run in newest]
    found: dict[str, dict[str, str]] = {}
    for path in differing_settings(configured):
        values = {run.id: c.settings.get(path) for run, c in zip(newest, configured, strict=True)}
        texts = {name: _shown(value) or "-" for name, value in values.items()}
        if path not in _LISTED and 1 < len(set(texts.values())) <= MOST_GROUPS:
            found[path] = texts
    paths = sorted(found, key=lambda path: len(set(found[path].values())))[:MOST_DIFFERING]
    names = short_names(paths)
    return RunGrouping(tuple(RunGroups(path, names[path], found[path]) for path in sorted(paths)))


def _shared(measures: Sequence[Sequence[Measure]]) -> list[SharedMeasure]:
    """Return a plot for each opponent, those first that most runs have."""
    found: dict[tuple[str, Kind, str], dict[int, Line]] = {}
    for place, of_run in enumerate(measures):
        for measure in of_run:
            for line in measure.lines:
                found.setdefault((measure.player, measure.kind, line.name), {})[place] = line
    made = [
        SharedMeasure(titled(kind, player, [name]), kind, tuple(by_run), tuple(by_run.values()))
        for (player, kind, name), by_run in found.items()
    ]
    return sorted(made, key=lambda shared: -len(shared.runs))[:24]


def _label(place: int, settings: Sequence[DifferingSetting]) -> str:
    """Return ``learning_rate=0.001, lag=sync``: the first settings in which a run differs."""
    told = [s for s in settings if s.path != "game.name" and None not in s.values][:3]
    return ", ".join(f"{s.name}={(s.values[place] or '')[:40]}" for s in told)


def _shown(value: object) -> str | None:
    return None if value is None else text_of_value(value)


@functools.lru_cache(maxsize=MOST_GROUPED)
def _leaves(path: Path, stamp: tuple[int, int]) -> dict[str, Any]:
    try:
        return run_leaves(RunDirectory(path))
    except (StorageError, ValueError, OSError):
        return {}
