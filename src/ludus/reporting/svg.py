"""Writer of SVG files: elements, and panels with axes. No library draws them.

Every name is escaped, and nothing in a file points elsewhere. Colours come from Okabe and Ito;
colour-blind people can tell them apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ludus.flow.inputs.shown import markup

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
WIDTH, PANEL = 720, 276
LEFT, RIGHT, TOP, BOTTOM = 76, 150, 24, 44
TICKS = 5  # steps between numbers of an axis, about
NAME = 28  # shown characters of a name
LABEL = 18  # of one beside a panel
_FURTHEST = 1e300  # differences of values up to this one are finite

Point = tuple[float, float]


def element(tag: str, *content: str, **attributes: str | float) -> str:
    """Return one element.

    Args:
        tag: Its name.
        content: Elements inside, as this module makes them. Words go through :func:`text` or :func:`title`.
        attributes: Values by name, ``_`` for ``-``. Numbers get one decimal at most, strings are escaped.
    """
    listed = "".join(f' {name.replace("_", "-")}="{_value(value)}"' for name, value in attributes.items())
    return f"<{tag}{listed}>{''.join(content)}</{tag}>" if content else f"<{tag}{listed}/>"


def _value(value: str | float) -> str:
    return markup(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")


def title(words: str) -> str:
    """Return the title of an element, which browsers show under the pointer."""
    return element("title", markup(words))


def text(x: float, y: float, words: str, **attributes: str | float) -> str:
    """Return ``words`` in one line that starts at ``x``, or as ``text_anchor`` puts it."""
    return element("text", markup(words), x=x, y=y, **attributes)


def rectangle(
    x: float, y: float, width: float, height: float, *content: str, **attributes: str | float
) -> str:
    """Return a rectangle whose upper left corner is at ``x``, ``y``; ``content``: its title."""
    return element("rect", *content, x=x, y=y, width=width, height=height, **attributes)


def hint(drawn: str, words: str) -> str:
    """Return ``drawn`` with a title."""
    return element("g", title(words), drawn)


#: Ink of a file, which has no ground, on a dark page. A page that holds the plot has its own style.
_STYLE = element(
    "style",
    '@media (prefers-color-scheme: dark) { text:not([fill]), rect[fill="#000000"] { fill: #e6ebf2 } '
    'text[fill="#555"] { fill: #98a3b3 } circle[fill="#ffffff"] { fill: #11161d } '
    '[stroke="#ddd"] { stroke: #3a4452 } [stroke="#000000"] { stroke: #e6ebf2 } }',
)


def without_style(drawn: str) -> str:
    """Return a file of :func:`drawing` for a page that has a style for it."""
    return drawn.replace(_STYLE, "", 1)


def tick_step(span: float) -> float:
    """Return a round step that divides ``span`` into about :data:`TICKS` parts."""
    raw = span / TICKS
    size = 10.0 ** math.floor(math.log10(raw))
    return next(size * k for k in (1, 2, 2.5, 5, 10) if size * k >= raw * 0.999)


def count_text(number: float) -> str:
    """Return a number of decisions in few characters: ``20k``, ``1.5M``."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:g}{name}"
    return f"{number:g}"


class Panel:
    """Axes of one plot: steps to the right, values upwards.

    Attributes:
        top: Upper end of the area in which values are drawn.
        bottom: Its lower end.
    """

    def __init__(
        self, top: float, low: float, high: float, steps: int, *, log: bool = False, rates: bool = False
    ) -> None:
        """Put a panel at ``top``.

        Args:
            top: Upper end of the panel in the drawing.
            low: Lowest value; the axis starts at the round number at or below it.
            high: Highest value; the axis ends at the round number at or above it.
            steps: Step at the right edge; the left one is 0.
            log: Whether the scale is logarithmic. Values are above 0 then.
            rates: Whether labels are percentages.
        """
        self._log, self._rates = log, rates
        self._low, self._high = self._scaled(low), self._scaled(high)
        if self._high - self._low < 1e-12 * max(1.0, abs(self._high)):
            spread = abs(self._high) * 0.1 or 1.0
            self._low, self._high = self._low - spread, self._high + spread
        if not log:
            step = tick_step(self._high - self._low)
            self._low = math.floor(self._low / step + 1e-9) * step
            self._high = math.ceil(self._high / step - 1e-9) * step
        self._steps = max(1, steps)
        self.top, self.bottom = top + TOP, top + PANEL - BOTTOM

    def _scaled(self, value: float) -> float:
        bounded = min(max(value, -_FURTHEST), _FURTHEST)
        return math.log10(bounded) if self._log else bounded

    def x(self, steps: float) -> float:
        """Return where ``steps`` is."""
        return LEFT + (WIDTH - LEFT - RIGHT) * steps / self._steps

    def y(self, value: float) -> float:
        """Return where ``value`` is."""
        share = (self._scaled(value) - self._low) / (self._high - self._low)
        return self.bottom - (self.bottom - self.top) * min(max(share, 0.0), 1.0)

    def axes(
        self, up: str = "", across: str = "decisions of the policy", *, marks: Sequence[str] = ()
    ) -> list[str]:
        """Return lines of the values with their numbers, numbers of the steps, and the titles of both axes.

        Args:
            up: Title of the values.
            across: Title of the steps.
            marks: Names at steps 0, 1, ... instead of numbers, for a panel whose steps are positions.
        """
        out = []
        right = WIDTH - RIGHT
        for value, label in self._ticks():
            y = self.y(value)
            out.append(element("path", d=f"M{LEFT} {y:.1f}H{right}", stroke="#ddd"))
            out.append(text(LEFT - 6, y + 4, label, text_anchor="end"))
        base, middle = self.bottom + 16, (self.top + self.bottom) / 2
        out.append(text((LEFT + right) / 2, base + 18, short(across, 60), text_anchor="middle"))
        if up:
            turned = f"rotate(-90 12 {middle:.0f})"
            out.append(text(12, middle, short(up, 36), text_anchor="middle", transform=turned))
        if marks:
            return out + [text(self.x(i), base, mark, text_anchor="middle") for i, mark in enumerate(marks)]
        step = max(1.0, tick_step(self._steps))
        for k in range(math.floor(self._steps / step + 1e-9) + 1):
            x = self.x(k * step)
            out.append(element("path", d=f"M{x:.1f} {self.bottom:.1f}v4", stroke="#999"))
            out.append(text(x, base, count_text(k * step), text_anchor="middle"))
        return out

    def _ticks(self) -> list[tuple[float, str]]:
        if self._log:
            decades = range(math.ceil(self._low - 1e-9), math.floor(self._high + 1e-9) + 1)
            exact = [10.0**d for d in decades]
            values = exact if len(exact) > 1 else [10.0**self._low, *exact, 10.0**self._high]
            return [(v, f"{v:.2g}") for v in dict.fromkeys(values)]
        step = tick_step(self._high - self._low)
        first, last = math.ceil(self._low / step - 1e-9), math.floor(self._high / step + 1e-9)
        values = [k * step for k in range(first, last + 1)]
        return [(v, f"{v:.0%}" if self._rates else f"{v:.4g}") for v in values]

    def _points(self, points: Sequence[Point]) -> str:
        return " ".join(f"{self.x(s):.1f},{self.y(v):.1f}" for s, v in points)

    def line(self, points: Sequence[Point], colour: str) -> list[str]:
        """Return a line through ``points`` (step, value)."""
        shape = self._points(points)
        return [element("polyline", points=shape, fill="none", stroke=colour, stroke_width=2)]

    def band(self, upper: Sequence[Point], lower: Sequence[Point], colour: str) -> list[str]:
        """Return the area between two lines whose steps ascend."""
        return [
            element("polygon", points=self._points([*upper, *reversed(lower)]), fill=colour, opacity="0.15")
        ]

    def bars(self, ends: Sequence[tuple[float, float, float]], colour: str) -> list[str]:
        """Return vertical bars (step, low, high)."""
        drawn = [element("path", d=f"M{self.x(s):.1f} {self.y(h):.1f}V{self.y(v):.1f}") for s, v, h in ends]
        return [element("g", *drawn, stroke=colour, opacity="0.45", stroke_width=2)] if drawn else []

    def dot(self, point: Point, words: str, **attributes: str | float) -> str:
        """Return a dot at ``point`` with ``words`` as its title."""
        return element("circle", title(words), cx=self.x(point[0]), cy=self.y(point[1]), r=3, **attributes)

    def level(self, value: float, name: str) -> list[str]:
        """Return a dashed line for a player whose strength stays."""
        y, right = self.y(value), WIDTH - RIGHT
        return [
            element("path", d=f"M{LEFT} {y:.1f}H{right}", stroke="#555", stroke_dasharray="5 4"),
            text(right - 4, y - 4, short(name), text_anchor="end", fill="#555"),
        ]

    def marks(self, marks: Sequence[tuple[int, str]]) -> list[str]:
        """Return a dashed line with its label at each of these steps, one label below the other."""
        out = []
        for index, (steps, label) in enumerate(marks):
            x = self.x(min(max(steps, 0), self._steps))
            late = x > (LEFT + WIDTH - RIGHT) / 2
            line = element(
                "path", d=f"M{x:.1f} {self.top:.1f}V{self.bottom:.1f}", stroke="#555", stroke_dasharray="2 3"
            )
            at, anchor = (x - 4, "end") if late else (x + 4, "start")
            words = text(at, self.top + 10 + 13 * index, short(label), text_anchor=anchor, fill="#555")
            out.append(element("g", title(f"{label}, at {steps:,} decisions"), line, words))
        return out


def legend(index: int, name: str, colour: str, top: float, most: int = LABEL) -> str:
    """Return the name of a line, of at most ``most`` characters, right of a panel; empty below its end."""
    y = top + TOP + 12 + 16 * index
    if y > top + PANEL - 4:
        return ""
    box = rectangle(WIDTH - RIGHT + 10, y - 9, 10, 10, fill=colour)
    return box + text(WIDTH - RIGHT + 25, y, short(name, most))


def short(name: str, most: int = NAME) -> str:
    """Return ``name``, cut to ``most`` characters."""
    return name if len(name) <= most else name[: most - 3] + "..."


def drawing(width: float, height: float, name: str, parts: Sequence[str]) -> str:
    """Return the file: ``parts`` without ground under the title ``name``."""
    shown = "\n".join([title(name) + _STYLE + text(8, 14, name, font_size=12), *(p for p in parts if p), ""])
    whole = element(
        "svg",
        shown,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        font_family="sans-serif",
        font_size=11,
    )
    return whole + "\n"
