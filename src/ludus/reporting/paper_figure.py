"""Learning curves as figures for a paper: SVG and PDF of the same drawing, by matplotlib.

Texts stay texts in both, nothing has a ground, and the same numbers make the same bytes. Reports and pages
have other drawings (:mod:`ludus.reporting.svg`).
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from ludus.flow.inputs.shown import visible
from ludus.reporting.svg import COLOURS, count_text, element, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 5.5, 3.0  # inches of a panel
LINES = len(COLOURS)  # of a panel
NAME = 60
_SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "text.parse_math": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "ludus",
    "pdf.fonttype": 42,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
}
#: Ink on a dark page, as in :mod:`ludus.reporting.svg`.
_STYLE = element(
    "style",
    "@media (prefers-color-scheme: dark) { text { fill: #e6ebf2 } "
    '[style*="stroke: #000000"] { stroke: #e6ebf2 !important } '
    '[style*="stroke: #dddddd"] { stroke: #3a4452 !important } }',
)
_ROOT = "svg"


class PaperLine(NamedTuple):
    """A curve; ``low`` and ``high`` are its band, empty without one."""

    name: str
    steps: Sequence[float]
    mean: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def paper_figure(
    lines: Sequence[PaperLine], up: str, across: str, *, rates: bool, marks: Sequence[tuple[int, str]] = ()
) -> dict[str, bytes]:
    """Return the figure by the end of its file's name: ``.svg`` and ``.pdf``.

    Args:
        lines: Curves, of which a panel has at most :data:`LINES`.
        up: Title of the values, with their unit.
        across: Title of the steps, with their unit.
        rates: Whether the values are shares in 0..1, shown as percentages.
        marks: Steps that get a dashed line, with their labels.
    """
    import matplotlib
    from matplotlib.figure import Figure

    panels = [lines[i : i + LINES] for i in range(0, len(lines), LINES)]
    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that no font has
        figure = Figure(figsize=(WIDTH, HEIGHT * len(panels)), layout="constrained")
        for place, own in enumerate(panels, 1):
            axes = figure.add_subplot(len(panels), 1, place)
            _panel(axes, own, up, across, rates=rates)
            _mark(axes, marks)
        svg, pdf = io.BytesIO(), io.BytesIO()
        figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None, "Creator": "ludus"})
        figure.savefig(
            pdf, format="pdf", transparent=True, metadata={"CreationDate": None, "Creator": "ludus"}
        )
    drawn = svg.getvalue().decode()
    root = drawn[drawn.index(f"<{_ROOT}") :]  # without the document type, which names another file
    return {".svg": re.sub(r">", f">{_STYLE}", root, count=1).encode(), ".pdf": pdf.getvalue()}


def _mark(axes: Axes, marks: Sequence[tuple[int, str]]) -> None:
    """Draw a dashed line with its label at each of these steps, one label below the other."""
    for row, (steps, label) in enumerate(marks):
        axes.axvline(steps, color="#555555", linewidth=0.8, linestyle=":")
        words = f" {short(visible(label), NAME)}, at {steps:,} decisions"
        axes.text(steps, 0.97 - 0.07 * row, words, transform=axes.get_xaxis_transform(), fontsize=7, va="top")


def _panel(axes: Axes, lines: Sequence[PaperLine], up: str, across: str, *, rates: bool) -> None:
    from matplotlib.ticker import FuncFormatter, PercentFormatter

    drawn = []
    for line, colour in zip(lines, COLOURS, strict=False):
        drawn += axes.plot(line.steps, line.mean, color=colour, linewidth=1.4)
        if line.low and line.high:
            axes.fill_between(line.steps, line.low, line.high, color=colour, alpha=0.18, linewidth=0)
    axes.set_xlabel(visible(across))
    axes.set_ylabel(visible(up))
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: count_text(value)))
    if rates:
        axes.set_ylim(0.0, 1.0)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    names = [f" {short(visible(line.name), NAME)}" for line in lines]  # a name with _ first would be hidden
    columns = 2 if max(map(len, names)) < NAME / 2 and len(names) > 1 else 1
    axes.legend(drawn, names, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=columns)
