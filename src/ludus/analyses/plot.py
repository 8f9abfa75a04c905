"""Plots of an analysis: columns of its tables, with the ends of intervals."""

from __future__ import annotations

from collections.abc import Sequence

from ludus.analyses.analysis import TableCurve
from ludus.analyses.record import Cell, RecordTable
from ludus.reporting.svg import COLOURS, PANEL, WIDTH, Panel, drawing, legend, short

_MARK = 12  # shown characters of a name below a panel
_MOST_MARKS = 12  # names below a panel that do not overlap
_SPREAD = 0.06  # between the intervals of neighbouring curves, in places


class _Curve:
    """Points of one curve: place, value, and the ends of the interval where it has one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.points: list[tuple[float, float]] = []
        self.bars: list[tuple[float, float, float]] = []

    def add(self, x: float, y: Cell, low: Cell, high: Cell) -> None:
        if _is_number(y):
            self.points.append((x, float(y or 0.0)))
            if _is_number(low) and _is_number(high):
                self.bars.append((x, float(low or 0.0), float(high or 0.0)))


def plot(curve: TableCurve, tables: Sequence[RecordTable]) -> str:
    """Return the SVG of a curve; empty where its table has no number."""
    table = tables[curve.table]
    across = table.column(curve.across)
    up = [table.column(name) for name in curve.up] or [k for k in range(len(table.columns)) if k != across]
    low = table.column(curve.low) if curve.low else -1
    high = table.column(curve.high) if curve.high else -1
    by = table.column(curve.by) if curve.by else -1
    rows = [row for row in table.rows if row[across] is not None]
    names = [row[across] for row in rows]
    numeric = all(isinstance(name, int) and not isinstance(name, bool) for name in names)
    places = {name: k for k, name in enumerate(dict.fromkeys(names))}
    curves: dict[str, _Curve] = {}
    for row in rows:
        where = row[across]
        x = float(where) if numeric and isinstance(where, int) else float(places[where])
        for k in up:
            name = str(row[by]) if by >= 0 else table.columns[k].name
            found = curves.setdefault(name, _Curve(name))
            found.add(x, row[k], row[low] if low >= 0 else None, row[high] if high >= 0 else None)
    curves = {name: found for name, found in curves.items() if found.points}
    if not curves:
        return ""
    values = [y for found in curves.values() for _, y in found.points]
    values += [end for found in curves.values() for _, *ends in found.bars for end in ends]
    values += [curve.level] if curve.level is not None else []
    widest = max(x for found in curves.values() for x, _ in found.points)
    rates = table.columns[up[0]].unit == "%"
    log = curve.log and min(values) > 0.0
    panel = Panel(0.0, min(values), max(values), max(1, round(widest)), log=log, rates=rates)
    label = table.columns[up[0]].name if len(up) == 1 else ""
    marks = [] if numeric else _marks([str(place) for place in places])
    parts = panel.axes(label, curve.across, marks=marks)
    if curve.level is not None:
        parts += panel.level(curve.level, curve.level_name)
    shift = max(1.0, widest) * _SPREAD / max(8, len(names))
    for k, found in enumerate(curves.values()):
        colour = COLOURS[k % len(COLOURS)]
        moved = shift * (k - (len(curves) - 1) / 2) if len(curves) > 1 else 0.0
        if numeric:
            parts += panel.line(sorted(found.points), colour)
        parts += panel.bars([(x + moved, a, b) for x, a, b in found.bars], colour)
        parts += [panel.dot((x, y), f"{found.name}: {y:g}", fill=colour) for x, y in found.points]
        if len(curves) > 1:
            parts.append(legend(k, found.name, colour, 0.0))
    return drawing(WIDTH, PANEL, table.title, parts)


def _marks(names: Sequence[str]) -> list[str]:
    """Return the names below a panel; where they would overlap every second, third, ... alone."""
    step = -(-len(names) // _MOST_MARKS)
    return [short(name, _MARK) if k % step == 0 else "" for k, name in enumerate(names)]


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)
