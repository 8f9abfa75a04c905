"""``report.md`` and ``report.html``: what a run did, for people, from its own files."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TypeVar

from ludus.evaluation import ladder
from ludus.evaluation.results import EvalResult
from ludus.flow.inputs.shown import fenced, markdown, visible
from ludus.presets.config import Preset
from ludus.reporting.changes import Change, code_marks, lines_of
from ludus.reporting.floors import Floors
from ludus.reporting.league_report import league_part
from ludus.reporting.measures import Level, Value, floor_levels, floor_text, measures_of, point_of
from ludus.reporting.metrics import (
    DECISIONS,
    STAGES,
    TOP1,
    TOP5,
    UNIFORM,
    VALUE_ERROR,
    EvaluationMetrics,
    UpdateMetrics,
)
from ludus.reporting.page import page
from ludus.reporting.run_view import RunView, Totals
from ludus.reporting.svg import COLOURS, PANEL, WIDTH, Panel, drawing, legend
from ludus.storage import RunDirectory
from ludus.storage.files import write_atomic

Item = TypeVar("Item")

CURVE_ROWS = 24
STRENGTH = "strength"  # a column
LEARNING = ("loss", "policy", "value", "learner")  # namespaces of the first table of numbers

_HELD_OUT = {
    TOP1: "agree",
    TOP5: "among 5",
    **{f"{TOP1}/{stage}": stage for stage in STAGES},
    UNIFORM: "uniform choice",
    VALUE_ERROR: "error of the value",
}


def write_report(run: RunDirectory, preset: Preset, reason: str) -> None:
    """Write ``report.md``, its plots, and ``report.html``, which holds all of them.

    A file that cannot be written leaves the older one.
    """
    view = RunView(run)
    metrics = view.metrics()
    inside, evaluations = metrics.inside, metrics.evaluations
    league, plots = league_part(view.league()) if run.league.is_file() else ([], {})
    if inside:
        plots[run.curve.name] = curve_plot(inside, code_marks(view.changes()), floor_levels(evaluations))
    for name, plot in plots.items():
        write_atomic(run.path / name, plot.encode())
    text = report_text(run, preset, reason, league)
    write_atomic(run.report, text.encode())
    write_atomic(run.page, page(text, plots).encode())


def report_text(run: RunDirectory, preset: Preset, reason: str, league: Sequence[str] = ()) -> str:
    """Return Markdown: results first, then the curve, then the commands that repeat the run.

    ``league``: lines about it.
    """
    view = RunView(run)
    metrics, changes, info = view.metrics(), view.changes(), view.info()
    updates, final, inside = metrics.updates, metrics.final, metrics.inside
    evaluations = metrics.evaluations
    lines = [f"# {markdown(preset.title or run.path.name)}", ""]
    if updates:
        lines += [_totals(metrics.totals, reason), ""]
    if final is not None:
        lines += [
            f"## Final matches of version {final.named}",
            "",
            *_result_table(final.results),
            "",
            *_score_table(final.results),
            *_strength_lines(final),
            *_floor_lines(final.results, metrics.floors),
            *_play_off_table(metrics.playoff),
        ]
    if inside:
        title = "Mean return" if inside[0].results[0].alone else "Win rate"
        plot = f"![{title} over steps]({run.curve.name})"
        table = _curve_table(inside, code_marks(changes))
        lines += [f"## {title} while training", "", plot, "", *table, ""]
        lines += _score_curve(inside)
    lines += _held_out_table(evaluations)
    lines += league
    for player in dict.fromkeys(u.player for u in updates):
        own, of = [u for u in updates if u.player == player], f" of {markdown(player)}" if player else ""
        lines += [f"## Learning{of}", "", *_number_table(own, learning=True), ""]
        lines += [f"## Playing{of}", "", *_number_table(own, learning=False), ""]
    lines += ["## How to get it again", "", *fenced(visible(shlex.join(info.command))), ""]
    facts = [
        f"seed {info.seed}, game {info.game} (spec {info.spec_hash}), started {info.started}",
        f"ludus {info.package_version}; " + ", ".join(f"{k} {v}" for k, v in info.versions.items()),
        ", ".join(f"{k}: {v}" for k, v in info.host.items()),
        *(_resumed(c, line) for c in changes for line in lines_of(c)),
    ]
    lines += [f"- {markdown(fact)}" for fact in facts]
    lines += [""]
    lines += [*fenced(run.config_bytes().decode().rstrip(), "toml"), ""]
    return "\n".join(lines)


def _resumed(change: Change, line: str) -> str:
    after = f", after {change.steps:,} decisions" if change.steps else ""
    return f"changed when it was resumed, {change.time}{after}: {line}"


def _totals(total: Totals, reason: str) -> str:
    """Return the totals of the run."""
    return (
        f"{total.steps:,} decisions ({total.ticks:,} ticks, {total.matches:,} matches) "
        f"in {total.minutes:.1f} minutes, {total.updates:,} updates. Ended: {markdown(reason)}."
    )


def _measure(value: float, alone: bool) -> str:
    return f"{value:,.1f}" if alone else f"{value:.1%}"


def _return_table(results: Sequence[EvalResult]) -> list[str]:
    lines = [
        "| matches | mean return | 95% interval | deviation | mean ticks | won |",
        "|---|---|---|---|---|---|",
    ]
    for r in results:
        if r.nothing_played:
            lines.append(f"| 0 | {markdown(r.nothing_played)} | - | - | - | - |")
            continue
        rate, low, high = r.won
        won = f"{rate:.1%} ({low:.1%} to {high:.1%})" if r.decided else "-"
        lines.append(
            f"| {r.matches} | {r.mean_return:,.2f} | {r.return_low:,.2f} to {r.return_high:,.2f} "
            f"| {r.return_deviation:,.2f} | {r.mean_ticks:,.0f} | {won} |"
        )
    return lines


def _result_table(results: Sequence[EvalResult]) -> list[str]:
    if results[0].alone:
        return _return_table(results)
    lines = [
        "| against | matches | won | drawn | lost | win rate | 95% interval | mean ticks | by seat |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for r in results:
        if r.nothing_played:
            lines.append(
                f"| {markdown(r.against)} | 0 | - | - | - | {markdown(r.nothing_played)} | - | - | - |"
            )
            continue
        seats = " / ".join(f"{share:.1%}" for share in r.win_rate_by_seat)
        rate, low, high = r.won
        lines.append(
            f"| {markdown(r.against)} | {r.matches} | {r.wins} | {r.draws} | {r.losses} | {rate:.1%} "
            f"| {low:.1%} to {high:.1%} | {r.mean_ticks:,.0f} | {seats} |"
        )
    return lines


def _score_table(results: Sequence[EvalResult]) -> list[str]:
    """Return the means of the game's named scores; nothing for a game without."""
    if not any(r.named_scores for r in results):
        return []
    lines = ["| against | score | mean | 95% interval | deviation |", "|---|---|---|---|---|"]
    lines += [
        f"| {markdown(r.against)} | {markdown(s.name)} | {s.mean:,.2f} | {s.low:,.2f} to {s.high:,.2f} "
        f"| {s.deviation:,.2f} |"
        for r in results
        for s in r.named_scores
    ]
    return [*lines, ""]


def _score_curve(evaluations: Sequence[EvaluationMetrics]) -> list[str]:
    """Return the means of the named scores over steps; nothing for a game without."""
    results = [r for e in evaluations for r in e.results]
    columns = list(dict.fromkeys((r.against, s.name) for r in results for s in r.named_scores))
    if not columns:
        return []
    several = len({against for against, _ in columns}) > 1
    names = [markdown(f"{name}, {against}" if several else name) for against, name in columns]
    lines = ["## Scores while training", ""]
    lines += ["| steps | version | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    for e in thinned(evaluations, CURVE_ROWS):
        found = {(r.against, s.name): s for r in e.results for s in r.named_scores}
        cells = [
            f"{s.mean:,.1f} ({s.low:,.1f} to {s.high:,.1f})" if (s := found.get(column)) else ""
            for column in columns
        ]
        lines.append(f"| {e.steps:,} | {e.named} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def _strength_lines(final: EvaluationMetrics) -> list[str]:
    """Return the strength among plain searches, if there were any among the opponents."""
    if final.ladder is None:
        return []
    words = ladder.in_words(final.ladder)
    said = f"Version {final.named} {words}. " if words else ""
    return [f"{said}{ladder.elo_in_words(final.ladder)}.", ""]


def _floor_lines(results: Sequence[EvalResult], floors: Floors) -> list[str]:
    """Return the results without any training in the same setting, if they were measured."""
    lines = []
    for r in results:
        known = [f"{what} {_interval(f)} of {f.matches:,}" for what, f in floors.against(r.against)]
        if known:
            lines += [f"Floor{'' if r.alone else f' against {r.against}'}: {', '.join(known)}.", ""]
    return lines


def _play_off_table(candidates: Sequence[EvaluationMetrics]) -> list[str]:
    """Return how the version of the final matches was chosen; nothing where there was no choice."""
    if not candidates:
        return []
    names = _names(candidates)
    lines = [
        "Chosen by a play-off of the versions that did best while training. The final matches are fresh: "
        "no choice was made by them.",
        "",
        "| candidate | matches | " + " | ".join(map(markdown, names)) + " |",
        "|---|---|" + "---|" * len(names),
    ]
    for e in candidates:
        rates = (_interval(r) for r in e.results)
        lines.append(f"| version {e.named} | {e.results[0].matches} | " + " | ".join(rates) + " |")
    return [*lines, ""]


def _interval(r: EvalResult) -> str:
    if r.nothing_played:
        return "no match was played to its end"
    low, high = _measure(r.measure_low, r.alone), _measure(r.measure_high, r.alone)
    return f"{_measure(r.measure, r.alone)} ({low} to {high})"


def _names(evaluations: Sequence[EvaluationMetrics]) -> list[str]:
    return list(dict.fromkeys(r.against for e in evaluations for r in e.results))


def _curve_table(
    evaluations: Sequence[EvaluationMetrics], marks: Sequence[tuple[int, str]] = ()
) -> list[str]:
    """Return results over steps; ``marks``: labels of steps, which get a row each."""
    names = _names(evaluations)
    rated = [STRENGTH] if any(e.ladder for e in evaluations) else []
    lines = [
        "| steps | version | " + " | ".join([*map(markdown, names), *rated]) + " |",
        "|---|---|" + "---|" * len([*names, *rated]),
    ]
    waiting = list(marks)
    for e in thinned(evaluations, CURVE_ROWS):
        while waiting and waiting[0][0] < e.steps:
            lines.append(_mark_row(*waiting.pop(0), len([*names, *rated])))
        rates = {r.against: _interval(r) for r in e.results} | {STRENGTH: _strength(e)}
        mark = ", initial weights" if e.initial else " *" if e.best else ""
        lines.append(
            f"| {e.steps:,} | {e.named}{mark} | "
            + " | ".join(rates.get(n, "") for n in [*names, *rated])
            + " |"
        )
    lines += [_mark_row(*mark, len([*names, *rated])) for mark in waiting]
    lines += ["", "\\* the best so far, by the mean lower bound of its intervals"]
    if source := next((e.initial_weights for e in evaluations if e.initial_weights), ""):
        lines += ["", f"The run started from the weights `{source}`."]
    return lines


def _strength(e: EvaluationMetrics) -> str:
    """Return ``plays about as mcts:190; Elo 320 (250 to 390), mcts:50 = 0``."""
    if e.ladder is None:
        return ""
    return "; ".join(filter(None, (ladder.brief(e.ladder), ladder.elo_in_words(e.ladder))))


def _mark_row(steps: int, label: str, columns: int) -> str:
    return f"| {steps:,} | {markdown(label)} |" + " |" * columns


def curve_plot(
    evaluations: Sequence[EvaluationMetrics],
    marks: Sequence[tuple[int, str]] = (),
    floors: Sequence[Level] = (),
) -> str:
    """Return win rates (or returns) over steps as SVG: a line for each opponent, its interval as a band.

    ``marks``: steps at which the run continued under other code, each with a label. ``floors``: dashed
    lines of what is reached without training.
    """
    measures = measures_of(map(point_of, evaluations), floors)
    out: list[str] = []
    for row, measure in enumerate(measures):
        top, rates = row * PANEL, measure.kind in ("rate", "agreement")
        values = [v for line in measure.lines for v in line.values] + [f.value for f in measure.levels]
        lowest, highest = (0.0, 1.0) if rates else (min(map(_low, values)), max(map(_high, values)))
        panel = Panel(top, lowest, highest, max(e.steps for e in evaluations), rates=rates)
        out += panel.axes(measure.axis)
        for index, line in enumerate(measure.lines):
            colour = COLOURS[index % len(COLOURS)]
            steps = [int(s) for s in line.steps]
            upper, lower = (list(zip(steps, map(of, line.values), strict=True)) for of in (_high, _low))
            out += panel.band(upper, lower, colour)
            out += panel.line([(s, v.value) for s, v in zip(steps, line.values, strict=True)], colour)
            out.append(legend(index, line.name, colour, top))
        for level in measure.levels:
            out += panel.level(level.value.value, floor_text(level, measure))
        out += panel.marks(marks)
    name = "Mean return" if evaluations[0].results[0].alone else "Win rate"
    height = PANEL * max(1, len(measures))
    return drawing(WIDTH, height, f"{name} over decisions, with intervals", out)


def _low(value: Value) -> float:
    return value.value if value.low is None else value.low


def _high(value: Value) -> float:
    return value.value if value.high is None else value.high


def _held_out_table(evaluations: Sequence[EvaluationMetrics]) -> list[str]:
    """Return a table of the evaluations that measured held-out decisions; empty without any."""
    measured = [e for e in evaluations if TOP1 in e.held_out]
    if not measured:
        return []
    names = [n for n in _HELD_OUT if any(n in e.held_out for e in measured)]
    lines = [
        "## Held-out decisions",
        "",
        "Recorded decisions that were not learned: the share whose likeliest choice is the recorded one.",
        "",
        "| weights | steps | decisions | " + " | ".join(_HELD_OUT[n] for n in names) + " |",
        "|---|---|---|" + "---|" * len(names),
    ]
    for e in measured:
        cells = " | ".join(_held_out_cell(n, e.held_out.get(n)) for n in names)
        lines.append(f"| {e.whose} | {e.steps:,} | {e.held_out.get(DECISIONS, 0.0):,.0f} | {cells} |")
    return [*lines, ""]


def _held_out_cell(name: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if name == VALUE_ERROR else f"{value:.1%}"


def _number_table(updates: Sequence[UpdateMetrics], learning: bool) -> list[str]:
    """Return numbers over steps: learning's, or the rest without times.

    Columns are the numbers that are there: which these are is the learning method's choice.
    """
    rows = thinned(updates, CURVE_ROWS)
    found = dict.fromkeys(name for u in rows for name in u.numbers)
    spaces = {name: name.partition("/")[0] for name in found}
    names = [n for n, space in spaces.items() if space != "time" and (space in LEARNING) == learning]
    lines = [
        "| steps | minutes | " + " | ".join(map(markdown, names)) + " |",
        "|---|---|" + "---|" * len(names),
    ]
    for u in rows:
        values = " | ".join(_number(u.numbers.get(name)) for name in names)
        lines.append(f"| {u.steps:,} | {u.numbers.get('time/minutes', 0.0):.2f} | {values} |")
    return lines


def _number(value: float | None) -> str:
    """Return about three digits, and none too many before the point."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def thinned(items: Sequence[Item], count: int) -> list[Item]:
    """Return at most ``count`` of ``items``, evenly spaced, the first and the last among them."""
    if len(items) <= count:
        return list(items)
    return [items[round(i * (len(items) - 1) / (count - 1))] for i in range(count)]
