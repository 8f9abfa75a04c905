"""Pieces of plots as SVG files; no library draws them.

Every name is escaped, and nothing in a file points elsewhere. Colours are those of Okabe and Ito, which
colour-blind people can tell apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ludus.flow.shown import markup

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
WIDTH, PANEL = 720, 260
LEFT, RIGHT, TOP, BOTTOM = 64, 150, 24, 28
NAME = 28  # characters of a name that are shown
LABEL = 18  # of one beside a panel


class Panel:
    """Axes of one plot: steps to the right, values upwards."""

    def __init__(self, top: float, low: float, high: float, steps: int, *, log: bool = False) -> None:
        self.log = log
        self.low, self.high = self._scaled(low), self._scaled(high)
        if self.high - self.low < 1e-12:
            spread = abs(self.high) * 0.1 or 1.0
            self.low, self.high = self.low - spread, self.high + spread
        self.steps = max(1, steps)
        self.top, self.bottom = top + TOP, top + PANEL - BOTTOM

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self.log else value

    def x(self, steps: float) -> str:
        return f"{LEFT + (WIDTH - LEFT - RIGHT) * steps / self.steps:.1f}"

    def y(self, value: float) -> str:
        share = (self._scaled(value) - self.low) / (self.high - self.low)
        return f"{self.bottom - (self.bottom - self.top) * min(max(share, 0.0), 1.0):.1f}"

    def axes(self, marks: Sequence[str] = ()) -> list[str]:
        """Lines of the values with their numbers, and the ends of the steps.

        ``marks``: names at steps 0, 1, ... instead, for a panel whose steps are positions.
        """
        out = []
        right = WIDTH - RIGHT
        for value, label in self._ticks():
            out.append(f'<path d="M{LEFT} {self.y(value)}H{right}" stroke="#ddd"/>')
            out.append(
                f'<text x="{LEFT - 6}" y="{float(self.y(value)) + 4:.1f}" text-anchor="end">{label}</text>'
            )
        base = self.bottom + 16
        if marks:
            return out + [
                f'<text x="{self.x(i)}" y="{base:.1f}" text-anchor="middle">{markup(mark)}</text>'
                for i, mark in enumerate(marks)
            ]
        out.append(f'<text x="{LEFT}" y="{base:.1f}">0</text>')
        out.append(f'<text x="{right}" y="{base:.1f}" text-anchor="end">{self.steps:,} steps</text>')
        return out

    def _ticks(self) -> list[tuple[float, str]]:
        if self.log:
            decades = range(math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9) + 1)
            exact = [10.0**d for d in decades]
            values = exact if len(exact) > 1 else [10.0**self.low, *exact, 10.0**self.high]
            return [(v, f"{v:.2g}") for v in dict.fromkeys(values)]
        raw = (self.high - self.low) / 5
        size = 10.0 ** math.floor(math.log10(raw))
        step = next(size * k for k in (1, 2, 5, 10) if size * k >= raw * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        return [(k * step, f"{k * step:.4g}") for k in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def line(self, points: Sequence[tuple[int, float]], colour: str) -> list[str]:
        path = " ".join(f"{self.x(s)},{self.y(v)}" for s, v in points)
        return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>']

    def level(self, value: float, name: str) -> list[str]:
        """A dashed line for a player whose strength stays."""
        y, right = self.y(value), WIDTH - RIGHT
        return [
            f'<path d="M{LEFT} {y}H{right}" stroke="#555" stroke-dasharray="5 4"/>',
            f'<text x="{right - 4}" y="{float(y) - 4:.1f}" text-anchor="end" fill="#555">'
            f"{markup(short(name))}</text>",
        ]


def legend(index: int, name: str, colour: str, top: float, most: int = LABEL) -> str:
    """The name of a line, of at most ``most`` characters, right of a panel."""
    y = top + TOP + 12 + 16 * index
    if y > top + PANEL - 4:
        return ""
    return (
        f'<rect x="{WIDTH - RIGHT + 10}" y="{y - 9:.1f}" width="10" height="10" fill="{colour}"/>'
        f'<text x="{WIDTH - RIGHT + 25}" y="{y:.1f}">{markup(short(name, most))}</text>'
    )


def short(name: str, most: int = NAME) -> str:
    return name if len(name) <= most else name[: most - 3] + "..."


def head(width: float, height: float, title: str) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="sans-serif" font-size="11">'
        f"<title>{markup(title)}</title>"
        f'<rect width="100%" height="100%" fill="#ffffff"/>'
        f'<text x="8" y="14" font-size="12">{markup(title)}</text>'
    ]


def whole(parts: Sequence[str]) -> str:
    return "\n".join(p for p in parts if p) + "\n</svg>\n"
