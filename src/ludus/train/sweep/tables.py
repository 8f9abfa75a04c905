"""Markdown tables of a sweep's report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ludus.flow.shown import code, markdown
from ludus.train.sweep.comparison import CellBudget, CellResult
from ludus.train.sweep.floors import CellFloor
from ludus.train.sweep.results import RunRecord

PLAYS = {"drawn": "actions drawn", "greedy": "likeliest actions"}
MAX_SETTINGS = 12  # columns


def result_table(results: Sequence[CellResult], baseline: str, floors: Sequence[CellFloor] = ()) -> list[str]:
    """Cells against one opponent, with the floors that are known against it."""
    known = {f.cell: f.text() for f in floors if f.against == results[0].against}
    first = results[0]
    what = "Mean return" if first.alone else f"Win rate against {markdown(first.against)}"
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
            _measure(s.deviation, r.alone) if len(s.values) > 1 else "-",
        ]
        if known:
            row.append(known.get(r.cell, "-"))
        if baseline:
            row += _better(r, baseline)
        lines.append("| " + " | ".join(row) + " |")
    return lines


def interval_text(result: CellResult) -> str:
    """The interval; of win rates within 0 and 1, which Student's may exceed."""
    s = result.summary
    if len(s.values) < 2:
        return "-"
    bounds = (s.low, s.high) if result.alone else (max(0.0, s.low), min(1.0, s.high))
    return " to ".join(_measure(b, result.alone) for b in bounds)


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
    """What a finished run of each cell used, on average."""
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
    """The settings in which cells differ; nothing where there are none."""
    paths = next(iter(settings.values()), {})
    if not paths or len(settings) < 2:
        return []
    shown = list(paths)[:MAX_SETTINGS]
    head = ["cell", *(code(p) for p in shown)]
    lines = ["## Settings", "", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for cell, values in settings.items():
        row = [markdown(cell), *(markdown("" if values[p] is None else str(values[p])) for p in shown)]
        lines.append("| " + " | ".join(row) + " |")
    if len(paths) > len(shown):
        lines += ["", f"{len(paths) - len(shown)} more settings differ; results.json has them all."]
    return [*lines, ""]


def unfinished_table(runs: Sequence[RunRecord], missing: Sequence[str]) -> list[str]:
    """Runs that are not in the tables."""
    if not runs and not missing:
        return []
    lines = ["## Not finished", "", "| run | decisions |", "|---|---|"]
    lines += [f"| {markdown(r.name)} | {r.steps:,} |" for r in runs]
    lines += [f"| {markdown(name)} | did not begin |" for name in missing]
    return [*lines, ""]
