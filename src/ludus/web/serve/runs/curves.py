"""Curves of runs: columns that are kept and read on, and their buckets."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.reporting.columns import Columns
from ludus.reporting.run_view import RunView
from ludus.storage.rundir import RunDirectory
from ludus.web.serve.library import Run, UnknownId

MOST_SERIES, MOST_POINTS = 64, 4000
KEPT = 12  # columns of runs that stay in memory
XAxis = Literal["steps", "minutes"]
_X: Mapping[XAxis, str] = {"steps": "steps", "minutes": "time/minutes"}
Floats = npt.NDArray[np.float64]
Values = tuple[float | None, ...]


class Bucket(msgspec.Struct, frozen=True):
    """One series of a curve: mean, least and greatest value of each bucket; null where it has none."""

    mean: Values
    low: Values
    high: Values


class Curves(msgspec.Struct, frozen=True):
    """Curves of a run.

    ``x``: middle of each bucket; ``offset``: bytes of the log that were read; ``stamp``: of the rows;
    ``unchanged``: the page knows this stamp, and there are no curves in this answer.
    """

    x: tuple[float, ...]
    series: dict[str, Bucket]
    names: tuple[str, ...]
    offset: int
    stamp: str = ""
    unchanged: bool = False


def curves_of(
    run: Run, series: Sequence[str], x: XAxis, points: int, *, known: str = "", player: str = ""
) -> Curves:
    """Return curves of a run.

    Args:
        run: The run.
        series: Names of numbers; none: only the names that there are.
        x: The axis: decisions or minutes of training.
        points: Most buckets.
        known: Stamp of an earlier answer to the same question, or empty.
        player: Member of a league; empty: all rows of the log.

    Raises:
        UnknownId: The run has been removed.
    """
    view = RunView(run.directory)
    try:
        size = view.source.stat().st_size
    except OSError:
        raise UnknownId("the run has been removed") from None
    wanted = tuple(dict.fromkeys(series))[:MOST_SERIES]
    names = view.names()
    if not wanted:
        return Curves((), {}, names, size)
    columns = _columns(run.path, wanted, player)
    version = columns.read()
    if known and known == columns.stamp:
        return Curves((), {}, (), columns.offset, known, unchanged=True)
    middles, made = _buckets(columns, version, wanted, _X[x], max(1, min(points, MOST_POINTS)))
    return Curves(middles, made, names, columns.offset, columns.stamp)


def minutes_at(run: Run, player: str, steps: Sequence[float]) -> list[float | None]:
    """Return the minutes of training at ``steps`` by the updates of a run, None without updates.

    ``player``: member of a league that has made these steps, or empty.
    """
    columns = _columns(run.path, (), player)
    columns.read()
    at, (minutes,) = columns.table(tuple(_X.values()))
    known = np.isfinite(at) & np.isfinite(minutes)
    if not known.any():
        return [None] * len(steps)
    at, minutes = np.maximum.accumulate(at[known]), minutes[known]
    return [float(m) for m in np.interp(steps, [0.0, *at], [0.0, *minutes])]


@functools.lru_cache(maxsize=KEPT)
def _columns(path: Path, wanted: tuple[str, ...], player: str) -> Columns:
    return RunView(RunDirectory(path)).columns(wanted, player)


@functools.lru_cache(maxsize=KEPT)
def _buckets(
    columns: Columns, version: int, wanted: tuple[str, ...], axis: str, points: int
) -> tuple[tuple[float, ...], dict[str, Bucket]]:
    """Return the middles of the buckets and each series in them; ``version``: of the columns."""
    places, values = columns.table((axis, *wanted))
    known = np.isfinite(places)
    xs, rows = np.unique(places[known], return_inverse=True)  # an update and its evaluation share a point
    if not xs.size:
        return (), {name: Bucket((), (), ()) for name in wanted}
    starts = np.arange(0, xs.size, max(1, math.ceil(xs.size / points)))
    counts = np.diff(np.append(starts, xs.size))
    middles = np.add.reduceat(xs, starts) / counts
    made = {}
    for name, column in zip(wanted, values, strict=True):
        merged = np.full(xs.size, np.nan)
        there = np.isfinite(column[known])
        merged[rows[there]] = column[known][there]
        made[name] = _bucket(merged, starts)
    return tuple(middles.tolist()), made


def _bucket(values: Floats, starts: npt.NDArray[np.int64]) -> Bucket:
    there = np.isfinite(values)
    count = np.add.reduceat(there.astype(np.int64), starts)
    known = np.where(there, values, 0.0)
    sizes = np.maximum(count, 1)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.add.reduceat(known, starts) / sizes
        if not np.isfinite(mean).all():  # the sum is too large for a number, the mean is not
            shares = known / np.repeat(sizes, np.diff(np.append(starts, values.size)))
            mean = np.where(np.isfinite(mean), mean, np.add.reduceat(shares, starts))
    low = np.minimum.reduceat(np.where(there, values, np.inf), starts)
    high = np.maximum.reduceat(np.where(there, values, -np.inf), starts)
    return Bucket(*(_listed(ends, count > 0) for ends in (mean, low, high)))


def _listed(values: Floats, there: npt.NDArray[np.bool_]) -> Values:
    finite = there & np.isfinite(values)
    return tuple(v if known else None for v, known in zip(values.tolist(), finite.tolist(), strict=True))
