"""Learning curves of the cells of a sweep: the mean over seeds with a band, on a grid of decisions."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.ratings.interval import mean_interval
from ludus.reporting.metrics import UpdateMetrics
from ludus.reporting.metrics_table import csv_text
from ludus.reporting.run_view import RunMetrics
from ludus.reporting.svg import COLOURS, NAME, PANEL, WIDTH, Panel, drawing, hint, legend, short

POINTS = 40  # of a curve
LINES = 8  # of a panel
WIDER = 140  # room for longer names beside a panel
LABEL = 40  # characters of them
NAMED = 20  # added height of a panel with a name
Floats = npt.NDArray[np.float64]


class Curve(msgspec.Struct, frozen=True):
    """A cell's mean over ``seeds`` runs at ``steps``, with Student's 95% interval from two runs on."""

    steps: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    seeds: int


def has_evaluations(record: RunMetrics) -> bool:
    """Whether a run has evaluations enough for a curve."""
    return sum(not e.initial for e in record.inside) >= 3


def counts_help(record: RunMetrics) -> bool:
    """Whether a run's curve is of training matches in which a curriculum's bot played for the policy."""
    return not has_evaluations(record) and any(u.training_rates[1] for u in record.updates)


def run_curve(record: RunMetrics, grid: Floats, evaluated: bool, settled: int = 0) -> Floats:
    """Return a run's results at ``grid: [G]`` decisions, NaN without results.

    Args:
        record: Updates and evaluations of the run.
        grid: Decisions ``[G]``, ascending.
        evaluated: Whether the results come from its evaluations, joined by lines. Otherwise they come from
            the training matches: between two points of the grid the win rate, or in games of one seat the
            running mean of returns.
        settled: Number of first matches to leave out if there are later ones: the first to end are the
            shortest.
    """
    updates = record.updates
    if evaluated:
        inside = record.inside
        steps = np.array([e.steps for e in inside], np.float64)
        values = np.array([np.mean([r.measure for r in e.results]) for e in inside], np.float64)
        return _between(grid, steps, values)
    steps = np.array([0, *(u.steps for u in updates)], np.float64)
    if any(u.outcomes for u in updates):
        won = np.cumsum([0, *(sum(o[0] for o in u.outcomes.values()) for u in updates)])
        over = np.cumsum([0, *(sum(map(sum, u.outcomes.values())) for u in updates)])
        edges = np.concatenate([[0.0], grid])
        wins, matches = (np.diff(np.interp(edges, steps, counts)) for counts in (won, over))
        known = (matches > 0) & (grid <= steps[-1] * (1 + 1e-9))
        late = known & (np.interp(edges[:-1], steps, over) >= settled)
        known = late if late.any() else known
        return np.where(known, wins / np.maximum(matches, 1e-9), np.nan)
    returns = [(u.steps, u.numbers["rollout/running_return"]) for u in updates if _has_return(u)]
    if not returns:
        return np.full(grid.shape, np.nan)
    pairs = np.array(returns, np.float64)
    return _between(grid, pairs[:, 0], pairs[:, 1])


def _has_return(update: UpdateMetrics) -> bool:
    return "rollout/running_return" in update.numbers


def _between(grid: Floats, steps: Floats, values: Floats) -> Floats:
    inside = (grid >= steps[0]) & (grid <= steps[-1] * (1 + 1e-9))
    return np.where(inside, np.interp(grid, steps, values), np.nan)


def _are_rates(records: Sequence[RunMetrics], *, evaluated: bool) -> bool:
    """Whether the values of :func:`run_curve` are win rates."""
    if evaluated:
        return not any(r.alone for record in records for e in record.inside for r in e.results)
    return any(u.outcomes for record in records for u in record.updates)


def cell_curve(records: Sequence[RunMetrics], most: int, settled: int = 0) -> Curve | None:
    """Return the curve of a cell's runs up to ``most`` decisions, where all of them have a result.

    None for no such point. ``settled``: see :func:`run_curve`.
    """
    evaluated = all(has_evaluations(r) for r in records)
    grid = np.linspace(0.0, float(most), POINTS + 1)[0 if evaluated else 1 :]  # only evaluations know step 0
    runs = np.array([run_curve(r, grid, evaluated, settled) for r in records if r.updates])
    if not runs.size:
        return None
    known = ~np.isnan(runs).any(axis=0)
    if not known.any():
        return None
    bands = [mean_interval(runs[:, k]) for k in np.flatnonzero(known)]
    # Of win rates Student's interval is cut at 0 and 1.
    least, most_value = (0.0, 1.0) if _are_rates(records, evaluated=evaluated) else (-np.inf, np.inf)
    return Curve(
        steps=tuple(round(s) for s in grid[known]),
        mean=tuple(b.mean for b in bands),
        low=tuple(max(least, b.low) for b in bands),
        high=tuple(min(most_value, b.high) for b in bands),
        seeds=len(runs),
    )


def curves_plot(
    curves: Mapping[str, Curve], title: str, *, rates: bool, marks: Sequence[tuple[int, str]] = ()
) -> str:
    """Return a panel for each eight cells.

    ``rates``: the values are win rates in 0..1. ``marks``: steps with a label each.
    """
    names = list(curves)
    groups = [names[i : i + LINES] for i in range(0, len(names), LINES)]
    most = max(c.steps[-1] for c in curves.values())
    lowest, highest = (0.0, 1.0) if rates else _bounds(list(curves.values()))
    out = []
    for row, group in enumerate(groups):
        top = row * (PANEL + NAMED)
        panel = Panel(top, lowest, highest, most, rates=rates)
        out += panel.axes("win rate" if rates else "mean return")
        for index, name in enumerate(group):
            out.append(_line(panel, curves[name], name, COLOURS[index % len(COLOURS)]))
            out.append(legend(index, name, COLOURS[index % len(COLOURS)], top, LABEL))
        out += panel.marks(marks)
    return drawing(WIDTH + WIDER, len(groups) * (PANEL + NAMED), title, out)


def _bounds(curves: Sequence[Curve]) -> tuple[float, float]:
    """Return the range of an axis: all means, and bands up to a quarter of it beyond them."""
    lowest, highest = min(min(c.mean) for c in curves), max(max(c.mean) for c in curves)
    room = (highest - lowest) / 4
    least, most = min(min(c.low) for c in curves), max(max(c.high) for c in curves)
    return max(least, lowest - room), min(most, highest + room)


def curves_table(curves: Mapping[str, Curve], games: Mapping[str, str]) -> str:
    """Return the points of the curves as CSV, with a row of names. ``games``: cell -> game."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(("game", "cell", "seeds", "decisions", "mean", "low", "high"))
    for cell, c in curves.items():
        for point in zip(c.steps, c.mean, c.low, c.high, strict=True):
            rows.writerow([csv_text(games.get(cell, "")), csv_text(cell), c.seeds, *point])
    return out.getvalue()


def _line(panel: Panel, curve: Curve, name: str, colour: str) -> str:
    points = panel.line(list(zip(curve.steps, curve.mean, strict=True)), colour)
    if curve.seeds > 1:
        upper, lower = (list(zip(curve.steps, ends, strict=True)) for ends in (curve.high, curve.low))
        points = panel.band(upper, lower, colour) + points
    return hint("".join(points), f"{short(name, 2 * NAME)}, {curve.seeds} seeds")
