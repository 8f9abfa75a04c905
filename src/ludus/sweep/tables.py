"""Markdown tables of a sweep's report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ludus.flow.inputs.shown import code, markdown
from ludus.flow.process.code_files import SHORT
from ludus.reporting.changes import code_in_words
from ludus.reporting.svg import short
from ludus.sweep.comparison import CellBudget, CellResult, short_names, value_text
from ludus.sweep.floors import CellFloor
from ludus.sweep.results import RunSummary

PLAYS = {"drawn": "actions drawn", "greedy": "likeliest actions"}
MAX_VALUE = 60  # characters of a setting's value


def result_table(
    results: Sequence[CellResult], baseline: str, floors: Sequence[CellFloor] = (), game: str = ""
) -> list[str]:
    """Return cells against one opponent, with the floors known against it.

    ``game``: named in the heading of a report of several games.
    """
    first = results[0]
    cells = {r.cell for r in results}
    known = {f.cell: f.text() for f in floors if f.against == first.against and f.cell in cells}
    what = "Mean return" if first.alone else f"Win rate against {markdown(first.against)}"
    what = f"{markdown(game)}: {what[0].lower()}{what[1:]}" if game else what
    lines = [f"## {what}, {PLAYS[first.play]}, {first.matches:,} matches a seed", ""]
    names = ["cell", "seeds", "each seed", "median", "centre", "95% interval", "± one run"]
    names += ["floor"] if known else []
    names += ["P(better)", "difference"] if baseline else []
    lines += ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    for r in results:
        s = r.summary
        shown = " ".join(_measure(v, r.alone) for v in s.values)
        kind = "IQM" if s.kind == "iqm" else "mean"
        row = [
            markdown(r.cell),
            str(len(r.seeds)),
            shown,
            _measure(s.median, r.alone),
            f"{kind} {_measure(s.centre, r.alone)}",
            interval_text(r),
            _measure(s.deviation, r.alone) if s.deviation is not None else "-",
        ]
        if known:
            row.append(known.get(r.cell, "-"))
        if baseline:
            row += _better(r, baseline)
        lines.append("| " + " | ".join(row) + " |")
    return lines


def interval_text(result: CellResult) -> str:
    """Return the interval of a cell's centre."""
    s = result.summary
    if s.low is None or s.high is None:
        return "-"
    return " to ".join(_measure(b, result.alone) for b in (s.low, s.high))


def _better(result: CellResult, baseline: str) -> list[str]:
    better = result.improvement
    if better is None:
        return ["baseline" if result.cell == baseline else "-", ""]
    probability = f"{better.probability:.2f}"
    if better.low is not None and better.high is not None:
        probability += f" ({better.low:.2f} to {better.high:.2f})"
    d = better.difference
    if d is None:
        return [probability, "-"]
    values = [_measure(v, result.alone) for v in (d.mean, d.low, d.high)]
    return [probability, f"{values[0]} ({values[1]} to {values[2]})"]


def _measure(value: float, alone: bool) -> str:
    return f"{value:,.1f}" if alone else f"{100 * value:.1f}%"


def budget_table(budgets: Sequence[CellBudget]) -> list[str]:
    """Return the resources that a finished run of each cell used, on average."""
    names = ["cell", "runs", "decisions", "updates", "gradient steps", "minutes", "processor minutes"]
    lines = ["Means over finished runs.", "", "| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    for b in budgets:
        cpu = "-" if b.cpu_minutes is None else f"{b.cpu_minutes:.2f}"
        lines.append(
            f"| {markdown(b.cell)} | {b.runs} | {b.steps:,.0f} | {b.updates:,.0f} "
            f"| {b.gradient_steps:,.0f} | {b.minutes:.2f} | {cpu} |"
        )
    return lines


def cell_settings_table(settings: Mapping[str, Mapping[str, object]]) -> list[str]:
    """Return the settings in which cells differ, if there are any."""
    paths = next(iter(settings.values()), {})
    if not paths or len(settings) < 2:
        return []
    texts = {
        cell: {p: markdown(short(value_text(v), MAX_VALUE)) for p, v in values.items()}
        for cell, values in settings.items()
    }
    if len(paths) > len(settings):  # a row for each setting: no table gets wider than its cells
        head = ["setting", *map(markdown, settings)]
        shared = [all(values[p] is not None for values in settings.values()) for p in paths]
        ordered = [p for want in (True, False) for p, has in zip(paths, shared, strict=True) if has is want]
        rows = [[code(p), *(values[p] for values in texts.values())] for p in ordered]
    else:
        names = short_names(list(paths))
        head = ["cell", *(code(names[p]) for p in paths)]
        rows = [[markdown(cell), *values.values()] for cell, values in texts.items()]
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    return ["## Settings", "", lines[0], "|---" * len(head) + "|", *lines[1:], ""]


def code_lines(runs: Sequence[RunSummary]) -> list[str]:
    """Return the runs that continued under other code, and the files in which runs differ."""
    lines = [
        f"- {markdown(run.name)}, after {change.steps:,} decisions: {markdown(text)}"
        for run in runs
        for change in run.changes
        for text in code_in_words(change)
    ]
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for run in runs:
        for file in run.code:
            by_hash = found.setdefault((file.setting, file.name), {})
            by_hash.setdefault(file.sha256[:SHORT], []).append(run.name)
    for (setting, name), by_hash in found.items():
        if len(by_hash) > 1:
            parts = (f"sha256 {digest} in {len(names)}" for digest, names in by_hash.items())
            text = f"{setting}: {name} is not the same in all runs: {', '.join(parts)} of them"
            lines.append(f"- {markdown(text)}")
    return ["## Changed code", "", *lines, ""] if lines else []


def unfinished_table(runs: Sequence[RunSummary], missing: Sequence[str]) -> list[str]:
    """Return the runs missing in the tables."""
    if not runs and not missing:
        return []
    lines = ["## Not finished", "", "| run | decisions |", "|---|---|"]
    lines += [f"| {markdown(r.name)} | {r.steps:,} |" for r in runs]
    lines += [f"| {markdown(name)} | did not start |" for name in missing]
    return [*lines, ""]
