"""Output of commands: stdout carries results, stderr everything else.

Text is escaped here, at the exit: nothing in a file or a name acts on the terminal.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from ludus.cli.streams import write_err, write_out
from ludus.flow.inputs.decode import to_json
from ludus.flow.inputs.shown import terminal, visible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType


_ODD = re.compile(r"[^ -~\n]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def result(text: str) -> None:
    """Print a result as text."""
    write_out(f"{terminal(text)}\n")


def document(value: object) -> None:
    """Print a result as one JSON document, indented on a terminal."""
    data = to_json(value)
    if sys.stdout.isatty():
        data = msgspec.json.format(data, indent=2)
    text = _escaped(data.decode())
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # a terminal without Unicode: JSON has escapes
        text = _NOT_ASCII.sub(lambda found: _json_escape(found[0]), text)
    write_out(f"{text}\n")


def note(text: str) -> None:
    """Print a line of progress or explanation on stderr."""
    write_err(f"{terminal(text)}\n")


def draw(text: str) -> None:
    """Write text with control sequences of this program to the terminal behind stderr, not escaped."""
    write_err(text)


def redraws() -> bool:
    """Whether stderr is a terminal on which text can be drawn over."""
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")


def table(rows: Sequence[Sequence[str]], head: Sequence[str] = (), indent: str = "") -> str:
    """Return aligned columns; the last one is not padded."""
    everything = [[visible(cell) for cell in row] for row in ([head, *rows] if head else rows)]
    widths = [max(len(row[i]) for row in everything) for i in range(len(everything[0]))] if everything else []
    lines = []
    for row in everything:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append(indent + "  ".join(cells).rstrip())
    return "\n".join(lines)


def filled(rows: Sequence[Sequence[str]], head: Sequence[str]) -> str:
    """Return :func:`table` without the columns in which every row has a dash: nothing there applies."""
    kept = [k for k in range(len(head)) if not rows or any(row[k] != "-" for row in rows)]
    return table([[row[k] for k in kept] for row in rows], [head[k] for k in kept])


def board() -> Console:
    """Return a rich console on stderr that interprets no markup and escapes text as :func:`note` does."""
    from rich.console import Console
    from rich.segment import Segment

    class Board(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterator[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else terminal(text), style, control)

    return Board(stderr=True, highlight=False, markup=False, emoji=False)


def _escaped(text: str) -> str:
    """Return JSON text in which everything that acts on a terminal is a JSON escape: the same document."""
    return _ODD.sub(lambda found: found[0] if found[0].isprintable() else _json_escape(found[0]), text)


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def si(value: float) -> str:
    """Return 1234567 as ``1.23 M``."""
    for bound, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= bound:
            return f"{value / bound:.3g}{unit}"
    return f"{value:.3g}"


def percent(share: float) -> str:
    """Return 0.684 as ``68.4%``."""
    return f"{100 * share:.1f}%"


def duration(minutes: float) -> str:
    """Return minutes as ``1:05 h`` or ``4:30 min``."""
    seconds = max(0, round(minutes * 60))
    if seconds >= 3600:
        return f"{seconds // 3600}:{seconds % 3600 // 60:02d} h"
    return f"{seconds // 60}:{seconds % 60:02d} min"
