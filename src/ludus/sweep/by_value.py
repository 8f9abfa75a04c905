"""Results over the values of one setting, such as the win rate over the length of a queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeGuard

import msgspec

from ludus.reporting.svg import COLOURS, PANEL, WIDTH, Panel, drawing, legend, short
from ludus.sweep.comparison import MAX_NAME, CellResult, setting_text
from ludus.sweep.curves import LABEL, WIDER

FEWEST = 3  # values that a plot needs


class ByValue(msgspec.Struct, frozen=True):
    """Cells that differ only in ``path`` are a line. ``lines``: its name -> value -> cell."""

    path: str
    values: tuple[float, ...]
    lines: dict[str, dict[float, str]]


def by_value(settings: Mapping[str, Mapping[str, object]]) -> ByValue | None:
    """Return the setting over which cells are compared: the one with the most values, at least three numbers.

    None without such a setting. ``settings``: cell -> the settings in which cells differ.
    """
    paths = next(iter(settings.values()), {})
    numbers = {p: sorted({v for v in (c[p] for c in settings.values()) if _is_number(v)}) for p in paths}
    numbers = {p: v for p, v in numbers.items() if len(v) >= FEWEST}
    if not numbers:
        return None
    path = max(numbers, key=lambda p: len(numbers[p]))
    lines: dict[str, dict[float, str]] = {}
    for cell, own in settings.items():
        value = own[path]
        if _is_number(value):
            others = ", ".join(setting_text(p, own[p]) for p in paths if p != path)
            lines.setdefault(others or "all", {})[float(value)] = cell
    if not any(len(line) >= FEWEST for line in lines.values()):
        return None
    named = {
        name if len(name) <= MAX_NAME else next(iter(line.values())): line for name, line in lines.items()
    }
    return ByValue(path, tuple(float(v) for v in numbers[path]), named)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def value_plot(over: ByValue, results: Sequence[CellResult]) -> str:
    """Return centre and interval of ``results`` of one opponent over the values, evenly spaced, in order."""
    found = {r.cell: r for r in results}
    first = results[0]
    summaries = [r.summary for r in results]
    numbers = [v for s in summaries for v in (s.centre, s.low, s.high) if v is not None]
    low, high = (min(numbers), max(numbers)) if first.alone else (0.0, 1.0)
    what = "Mean return" if first.alone else f"Win rate against {first.against}"
    panel = Panel(0.0, low, high, len(over.values) - 1)
    out = panel.axes(what.lower(), over.path, marks=[f"{v:g}" for v in over.values])
    for index, (name, cells) in enumerate(over.lines.items()):
        colour = COLOURS[index % len(COLOURS)]
        points = [
            (over.values.index(value), found[cell].summary, cell)
            for value, cell in sorted(cells.items())
            if cell in found
        ]
        ends = [(x, s.low, s.high) for x, s, _ in points if s.low is not None and s.high is not None]
        out += panel.bars(ends, colour)
        out += panel.line([(x, s.centre) for x, s, _ in points], colour)
        out += [
            panel.dot((x, s.centre), f"{short(cell, 60)}: {s.centre:.4g}", fill=colour)
            for x, s, cell in points
        ]
        out.append(legend(index, name, colour, 0.0, LABEL))
    return drawing(WIDTH + WIDER, PANEL, f"{what} over {over.path}, with 95% intervals", out)
