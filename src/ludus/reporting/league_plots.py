"""Plots of a league as SVG files: payoff, ratings over steps, settings over steps.

The payoff goes from orange (lost) over white (even) to blue (won).
"""

from __future__ import annotations

from collections.abc import Sequence

from ludus.league.record import Record
from ludus.league.strengths import Z95, PlayerStrength, Strengths
from ludus.league.summary import PayoffTable
from ludus.reporting.svg import (
    COLOURS,
    LEFT,
    PANEL,
    TOP,
    WIDTH,
    Panel,
    drawing,
    element,
    legend,
    rectangle,
    short,
    text,
    title,
)

LOST, EVEN, WON, UNMET = (213, 94, 0), (255, 255, 255), (0, 114, 178), "#eeeeee"
NAMED = 20  # added height of a panel with a name
CELL, LETTER = 30, 6.6
SMALL_CELL, NUMBERED = 16, 24  # cells of a table of more players, which has no numbers in it


def heat_map(table: PayoffTable) -> str:
    """Return ``rate[i][j]`` of the row's player against the column's, in percent; grey: they have not met."""
    names = [short(name) for name in table.players]
    count = len(names)
    cell = CELL if count <= NUMBERED else SMALL_CELL
    margin = 28 + LETTER * max(map(len, names), default=0)
    width, height = margin + cell * count + 16, margin + cell * count + 44
    out = []
    for i, name in enumerate(names):
        middle = margin + cell * (i + 0.5)
        out.append(text(margin - 6, middle + 4, name, text_anchor="end"))
        turned = f"translate({middle + 4:.1f} {margin - 6:.1f}) rotate(-90)"
        out.append(element("g", text(0, 0, name), transform=turned))
        for j, other in enumerate(names):
            out.append(
                _cell(table, i, j, margin + cell * j, margin + cell * i, cell, f"{name} against {other}")
            )
    out += _key(margin, margin + cell * count + 14)
    return drawing(max(width, 320), height, "Payoff: how often the row's player beats the column's", out)


def _cell(table: PayoffTable, i: int, j: int, x: float, y: float, size: int, pair: str) -> str:
    met = table.wins[i][j] + table.draws[i][j] + table.losses[i][j]
    if i == j:
        return ""
    rate = table.rate[i][j]
    fill = _shade(rate) if met else UNMET
    words = f"{pair}: {rate:.0%} of {met:,} matches" if met else f"{pair}: not met"
    box = rectangle(x, y, size - 1, size - 1, title(words), fill=fill)
    if not met or size < CELL:
        return box
    ink = "#ffffff" if abs(rate - 0.5) > 0.33 else "#000000"
    return box + text(x + size / 2, y + size / 2 + 4, f"{100 * rate:.0f}", text_anchor="middle", fill=ink)


def _shade(rate: float) -> str:
    end = WON if rate > 0.5 else LOST
    share = min(1.0, abs(2.0 * rate - 1.0))
    return "#" + "".join(f"{round(e + (t - e) * share):02x}" for e, t in zip(EVEN, end, strict=True))


def _key(x: float, y: float) -> list[str]:
    labels = ((0, "start", "0%"), (77, "middle", "50%"), (154, "end", "100%"))
    return [
        *(rectangle(x + 14 * k, y, 14, 10, fill=_shade(k / 10), stroke="#ccc") for k in range(11)),
        *(text(x + dx, y + 23, words, text_anchor=anchor) for dx, anchor, words in labels),
        rectangle(x + 174, y, 14, 10, fill=UNMET, stroke="#ccc"),
        text(x + 193, y + 9, "not met"),
    ]


def ratings_plot(rated: Strengths, members: Sequence[str]) -> str:
    """Return Bradley-Terry ratings of frozen players over steps; current ratings of ``members`` are rings.

    Bars are 95% intervals, cut where they are far longer than the ratings differ.
    """
    known = [s for s in rated.players if s.rating is not None]
    players = [s for s in known if s.steps is not None]
    lines = {m: sorted((s for s in players if s.member == m), key=_steps) for m in members}
    lines = {m: line for m, line in lines.items() if line}
    levels = [s.rating or 0.0 for s in known] or [0.0]
    lowest = max(min((_low(s) for s in known), default=0.0), min(levels) - 400.0)
    highest = min(max((_high(s) for s in known), default=0.0), max(levels) + 400.0)
    plot = Panel(0.0, lowest, highest, max((_steps(s) for s in players), default=1))
    heading = "Elo over steps, with 95% intervals" + ("" if rated.anchors else "; the mean of all is 0")
    out = plot.axes("Elo", "decisions of the member")
    for bot in (s for s in known if s.kind == "bot"):
        out += plot.level(bot.rating or 0.0, bot.player)
    for index, (member, line) in enumerate(lines.items()):
        colour = COLOURS[index % len(COLOURS)]
        out += plot.bars([(_steps(s), _low(s), _high(s)) for s in line], colour)
        out += plot.line([(_steps(s), s.rating or 0.0) for s in line if s.kind == "frozen"], colour)
        out += [
            plot.dot(
                (_steps(s), s.rating or 0.0),
                f"{short(s.player)}: {s.rating:+.0f}",
                stroke=colour,
                stroke_width=2,
                fill=colour if s.kind == "frozen" else "#ffffff",
            )
            for s in line
        ]
        out.append(legend(index, member, colour, 0.0))
    return drawing(WIDTH, PANEL, heading, out)


def settings_plot(record: Record) -> str:
    """Return a panel for each setting that a population changes: its value for each member over steps."""
    lives = {m.name: [e for e in record.milestones if e.member == m.name and e.hyper] for m in record.members}
    lives = {name: milestones for name, milestones in lives.items() if milestones}
    ends = {m.name: m.steps for m in record.members}
    paths = sorted({path for milestones in lives.values() for e in milestones for path in e.hyper})
    out = []
    most = max((ends[name] for name in lives), default=1)
    for row, path in enumerate(paths):
        values = [e.hyper[path] for milestones in lives.values() for e in milestones if path in e.hyper]
        log = min(values) > 0 and max(values) / min(values) >= 10
        top = NAMED + row * (PANEL + NAMED)
        plot = Panel(top, min(values), max(values), most, log=log)
        out += plot.axes(short(path, 36), "decisions of the member")
        scale = ", logarithmic" if log else ""
        out.append(text(LEFT, top + TOP - 10, short(path, 60) + scale, font_weight="bold"))
        for index, (name, milestones) in enumerate(lives.items()):
            colour = COLOURS[index % len(COLOURS)]
            steps: list[tuple[int, float]] = []
            for milestone in (e for e in milestones if path in e.hyper):
                if steps:
                    steps.append((milestone.steps, steps[-1][1]))
                steps.append((milestone.steps, milestone.hyper[path]))
            if steps:
                out += plot.line([*steps, (ends[name], steps[-1][1])], colour)
            out.append(legend(index, name, colour, top))
    height = NAMED + max(1, len(paths)) * (PANEL + NAMED)
    return drawing(WIDTH, height, "Settings of the members over steps", out)


def _steps(player: PlayerStrength) -> int:
    return player.steps or 0


def _low(player: PlayerStrength) -> float:
    return (player.rating or 0.0) - Z95 * (player.error or 0.0)


def _high(player: PlayerStrength) -> float:
    return (player.rating or 0.0) + Z95 * (player.error or 0.0)
