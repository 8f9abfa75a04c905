"""stdout carries results, stderr everything else."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import msgspec


def result(text: str) -> None:
    """Prints a result as text."""
    print(text, file=sys.stdout, flush=True)


def document(value: object) -> None:
    """Prints a result as one JSON document, indented on a terminal."""
    data = msgspec.json.encode(value)
    if sys.stdout.isatty():
        data = msgspec.json.format(data, indent=2)
    print(data.decode(), file=sys.stdout, flush=True)


def note(text: str) -> None:
    """Prints a line of progress or explanation on stderr."""
    print(text, file=sys.stderr, flush=True)


def table(rows: Sequence[Sequence[str]], head: Sequence[str] = (), indent: str = "") -> str:
    """Aligned columns; the last one is not padded."""
    everything = [list(head), *map(list, rows)] if head else [list(r) for r in rows]
    widths = [max(len(row[i]) for row in everything) for i in range(len(everything[0]))] if everything else []
    lines = []
    for row in everything:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append(indent + "  ".join(cells).rstrip())
    return "\n".join(lines)


def filled(rows: Sequence[Sequence[str]], head: Sequence[str]) -> str:
    """:func:`table` without the columns in which every row has a dash: nothing there applies."""
    kept = [k for k in range(len(head)) if not rows or any(row[k] != "-" for row in rows)]
    return table([[row[k] for k in kept] for row in rows], [head[k] for k in kept])


def si(value: float) -> str:
    """1234567 -> ``1.23 M``."""
    for bound, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= bound:
            return f"{value / bound:.3g}{unit}"
    return f"{value:.3g}"


def percent(share: float) -> str:
    """0.684 -> ``68.4%``."""
    return f"{100 * share:.1f}%"


def duration(minutes: float) -> str:
    """Minutes as ``1:05 h`` or ``4:30 min``."""
    seconds = max(0, round(minutes * 60))
    if seconds >= 3600:
        return f"{seconds // 3600}:{seconds % 3600 // 60:02d} h"
    return f"{seconds // 60}:{seconds % 60:02d} min"
