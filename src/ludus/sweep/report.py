"""The report of a sweep, or of several runs: Markdown, curves as SVG, both as one page, numbers as JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from ludus.flow.inputs.decode import to_json
from ludus.flow.inputs.shown import markdown
from ludus.flow.names import did_you_mean
from ludus.flow.problem import quoted
from ludus.presets.errors import ConfigError
from ludus.reporting.changes import code_marks
from ludus.reporting.page import page
from ludus.reporting.paper_figure import PaperLine, can_draw, paper_figure
from ludus.reporting.run_view import RunView
from ludus.storage.errors import CorruptFile
from ludus.storage.files import write_atomic
from ludus.storage.rundir import RunDirectory
from ludus.sweep.by_value import by_value, value_plot
from ludus.sweep.comparison import (
    CellBudget,
    CellResult,
    budgets,
    cell_names,
    compare,
    differing_settings,
    game_of,
)
from ludus.sweep.curves import Curve, cell_curve, counts_help, curves_plot, curves_table
from ludus.sweep.directory import SweepDirectory, is_sweep, open_sweep
from ludus.sweep.floors import CellFloor, cell_floors
from ludus.sweep.plan import known_points, planned_cells, runs_of
from ludus.sweep.results import RunSummary, greedy_results, read_run
from ludus.sweep.tables import (
    budget_table,
    cell_settings_table,
    code_lines,
    result_table,
    unfinished_table,
)
from ludus.version import __version__

REPORT, PAGE, RESULTS = "report.md", "report.html", "results.json"
CURVES, RETURNS, VALUES, POINTS = "curves.svg", "returns.svg", "values.svg", "curves.csv"
NOTE = (
    "Each seed's result comes from its final matches. *centre* is the mean with Student's 95% interval; from "
    "ten seeds on the interquartile mean (IQM) with the percentile interval of a stratified bootstrap. No "
    "interval is narrower than the counting noise of the matches. "
    "*± one run* is the standard deviation of single runs."
)
FLOOR_NOTE = (
    "*floor* is a result without training in the same setting: of the runs' initial weights, of actions "
    "drawn, and uniform play over the legal choices."
)
HELP_NOTE = (
    "The first part of a curve is too high, and its fall is no loss: without evaluations inside training "
    "(`evaluation.every_steps`) it is of the training matches, in which a curriculum's bot plays the first "
    "ticks for the policy. Cells:"
)
BASELINE_NOTE = (
    "*P(better)* is the probability that a run of the cell beats one of the baseline; *difference* is the "
    "mean over shared seeds with its 95% interval."
)


class SweepReport(msgspec.Struct, frozen=True):
    """All numbers of a report."""

    title: str
    package_version: str
    baseline: str
    results: tuple[CellResult, ...]
    budgets: tuple[CellBudget, ...]
    curves: dict[str, Curve]
    runs: tuple[RunSummary, ...]
    settings: dict[str, dict[str, object]]  # cell -> the settings in which it differs
    missing: tuple[str, ...]  # runs of the sweep that never started
    floors: tuple[CellFloor, ...] = ()
    helped: tuple[str, ...] = ()  # cells whose curves count a curriculum's help
    games: dict[str, str] = {}  # cell -> game
    damaged: tuple[str, ...] = ()  # runs left out, whose files hold what no run writes: file, place, value


class _ReadRuns(msgspec.Struct, frozen=True):
    title: str
    runs: list[RunSummary]
    missing: list[str]
    baseline: str = ""
    damaged: list[str] = []


def read_report(paths: Sequence[Path], baseline: str = "") -> SweepReport:
    """Return the results of the sweeps and runs at ``paths``.

    Args:
        paths: Directories of sweeps and of runs.
        baseline: A cell; by default the sweep's.

    Raises:
        StorageError: There is no run, or it is damaged.
        ConfigError: There is no such cell.
    """
    sweeps = [_read_sweep(open_sweep(p)) for p in paths if is_sweep(p)]
    single = [RunDirectory.open(p) for p in paths if not is_sweep(p)]
    read = [*sweeps, *([_read_runs(single)] if single else [])]
    names = [{r.cell for r in part.runs} for part in read]
    runs: list[RunSummary] = []
    for i, part in enumerate(read):
        others = set().union(*(n for j, n in enumerate(names) if j != i))
        for run in part.runs:
            cell = f"{part.title}: {run.cell}" if run.cell in others else run.cell
            runs.append(msgspec.structs.replace(run, cell=cell))
    if not baseline and len(read) == 1:
        baseline = read[0].baseline
    cells = list(dict.fromkeys(r.cell for r in runs))
    if baseline and runs and baseline not in cells:
        near = did_you_mean(baseline, cells, "cells")
        raise ConfigError(f"baseline = {quoted(baseline)}: expected the name of a cell{near}")
    curves, helped = _curves(runs)
    return SweepReport(
        title=read[0].title if len(read) == 1 else "Comparison of runs",
        package_version=__version__,
        baseline=baseline,
        results=tuple(compare(runs, baseline)),
        budgets=tuple(budgets(runs)),
        curves=curves,
        runs=tuple(runs),
        settings=_settings(runs),
        missing=tuple(name for part in read for name in part.missing),
        damaged=tuple(text for part in read for text in part.damaged),
        floors=tuple(cell_floors(runs)),
        helped=tuple(helped),
        games={r.cell: game_of(r) for r in runs},
    )


def _read_sweep(sweep: SweepDirectory) -> _ReadRuns:
    config = sweep.info().config
    points = sweep.asked_points(config.random) if config.search == "tpe" else known_points(config)
    runs, missing, damaged = [], [], []
    cells = planned_cells(config, points)
    for run in (run for cell in cells for run in runs_of([cell], config.seeds)):
        if not sweep.run(run.name).info_path.is_file():
            missing.append(run.name)
            continue
        try:
            greedy = greedy_results(sweep, run.name)
            runs.append(read_run(sweep.run(run.name), run.cell, greedy))
        except CorruptFile as error:
            damaged.append(str(error))
    title = config.title or sweep.path.resolve().name
    return _ReadRuns(title, runs, missing, config.baseline, damaged)


def _read_runs(directories: Sequence[RunDirectory]) -> _ReadRuns:
    """Read runs without a sweep: runs that differ only in the seed are a cell."""
    runs, damaged = [], []
    for directory in directories:
        try:
            runs.append(read_run(directory, ""))
        except CorruptFile as error:
            damaged.append(str(error))
    if not runs:
        raise CorruptFile("; ".join(damaged))
    named = [
        msgspec.structs.replace(run, cell=name) for run, name in zip(runs, cell_names(runs), strict=True)
    ]
    return _ReadRuns("Comparison of runs", named, [], damaged=damaged)


def _curves(runs: Sequence[RunSummary]) -> tuple[dict[str, Curve], list[str]]:
    """Return a curve for each cell, of its finished runs, and the cells whose curves count a bot's help."""
    curves, helped = {}, []
    for cell in dict.fromkeys(r.cell for r in runs):
        of = [r for r in runs if r.cell == cell and r.finished]
        records = [RunView(RunDirectory(Path(r.path))).metrics() for r in of]
        slots = max((r.slots for r in of), default=0)
        curve = cell_curve(records, max((r.steps for r in of), default=0), slots)
        if curve is not None:
            curves[cell] = curve
            helped += [cell] if any(map(counts_help, records)) else []
    return curves, helped


def _settings(runs: Sequence[RunSummary]) -> dict[str, dict[str, object]]:
    paths = differing_settings(runs)
    first = {r.cell: r for r in reversed(runs)}
    return {
        cell: {p: first[cell].settings.get(p) for p in paths} for cell in dict.fromkeys(r.cell for r in runs)
    }


def report_text(report: SweepReport) -> str:
    """Return the report as Markdown."""
    finished = sum(r.finished for r in report.runs)
    total = len(report.runs) + len(report.missing) + len(report.damaged)
    lines = [f"# {markdown(report.title)}", "", f"{finished} of {total} runs are finished.", ""]
    if report.results:
        notes = [
            NOTE,
            *([FLOOR_NOTE] if report.floors else []),
            *([BASELINE_NOTE] if report.baseline else []),
        ]
        lines += [" ".join(notes), ""]
    several = len(_games(report)) > 1
    for of in result_groups(report):
        game = of[0].game if several else ""
        lines += [*result_table(of, report.baseline, report.floors, game), ""]
    if values := value_figures(report):
        figures = (f"![Results over the values of a setting]({name})" for name in values)
        lines += ["## Results over a setting", "", *(part for figure in figures for part in (figure, ""))]
    if report.curves:
        figures = (f"![Mean over seeds with its band]({name})" for name in curve_figures(report))
        lines += ["## Learning curves", "", *(part for figure in figures for part in (figure, ""))]
    if report.helped:
        lines += [f"{HELP_NOTE} {', '.join(map(markdown, report.helped))}.", ""]
    if report.budgets:
        lines += ["## Budget", "", *budget_table(report.budgets), ""]
    lines += code_lines(report.runs)
    lines += cell_settings_table(report.settings)
    if report.damaged:
        lines += ["## Left out", "", *(f"- {markdown(text)}" for text in report.damaged), ""]
    lines += unfinished_table([r for r in report.runs if not r.finished], report.missing)
    return "\n".join(lines).rstrip() + "\n"


def result_groups(report: SweepReport) -> list[list[CellResult]]:
    """Return the results that compare: of one game, one way to play and one opponent."""
    groups: dict[tuple[str, str, str], list[CellResult]] = {}
    for result in report.results:
        groups.setdefault((result.game, result.play, result.against), []).append(result)
    return list(groups.values())


def _games(report: SweepReport) -> list[str]:
    return list(dict.fromkeys([*report.games.values(), *(r.game for r in report.results)]))


def _of_game(name: str, game: str, games: Sequence[str]) -> str:
    """Return the file name of a game's plot: ``curves.svg``, or ``curves-GAME.svg`` beside others."""
    if len(games) < 2:
        return name
    words = [re.sub(r"[^a-z0-9]+", "-", g.lower()).strip("-")[:60] or "game" for g in games]
    word = words[games.index(game)]
    number = f"-{games.index(game) + 1}" if words.count(word) > 1 else ""
    stem, dot, end = name.partition(".")
    return f"{stem}-{word}{number}{dot}{end}"


def value_figures(report: SweepReport) -> dict[str, str]:
    """Return results over the values of one setting as SVG by file name, actions drawn: a plot a game.

    Empty where no setting has three numbers. With several opponents it shows the mean over them.
    """
    games = _games(report)
    found = {}
    for game in games:
        cells = {cell: own for cell, own in report.settings.items() if report.games.get(cell, "") == game}
        varied = [
            p for p in next(iter(cells.values()), {}) if len({repr(own.get(p)) for own in cells.values()}) > 1
        ]
        over = by_value({cell: {p: own.get(p) for p in varied} for cell, own in cells.items()})
        drawn = [r for r in report.results if r.play == "drawn" and r.game == game]
        if over is not None and drawn:
            shown = [r for r in drawn if r.against == drawn[-1].against]
            found[_of_game(VALUES, game, games)] = value_plot(over, shown)
    return found


class _Plot(NamedTuple):
    """Curves of one plot. ``name``: of its file; ``title``: of the game, among several."""

    name: str
    title: str
    rates: bool
    curves: dict[str, Curve]


def _plots(report: SweepReport) -> list[_Plot]:
    """Return the plots of learning curves: one a game, and one each of win rates and returns."""
    alone = {r.cell for r in report.results if r.alone}
    games = _games(report)
    plots = []
    for game in games:
        own = {cell: curve for cell, curve in report.curves.items() if report.games.get(cell, "") == game}
        kinds = {
            rates: {cell: curve for cell, curve in own.items() if (cell not in alone) is rates}
            for rates in (True, False)
        }
        found = {rates: curves for rates, curves in kinds.items() if curves}
        title = f"{game}: " if len(games) > 1 else ""
        for rates, curves in found.items():
            name = CURVES if rates or len(found) == 1 else RETURNS
            plots.append(_Plot(_of_game(name, game, games), title, rates, curves))
    return plots


def curve_figures(report: SweepReport) -> dict[str, str]:
    """Return learning curves as SVG by file name: a plot a game, and one each of win rates and returns."""
    figures = {}
    for plot in _plots(report):
        what = f"{_measure(plot)} over decisions: mean over seeds, 95% interval"
        curves = curves_plot(plot.curves, f"{plot.title}{what}", rates=plot.rates, marks=_marks(report, plot))
        figures[plot.name] = curves
    return figures


def paper_figures(report: SweepReport) -> dict[str, bytes]:
    """Return the plots of :func:`curve_figures` for papers, as SVG and PDF, if matplotlib is installed."""
    figures: dict[str, bytes] = {}
    for plot in _plots(report) if can_draw() else ():
        lines = [
            PaperLine(cell, c.steps, c.mean, *((c.low, c.high) if c.seeds > 1 else ()))
            for cell, c in plot.curves.items()
        ]
        up = f"{plot.title}{_measure(plot).lower()}"
        across, marks = "decisions of the policy", _marks(report, plot)
        drawn = paper_figure(lines, up, across, rates=plot.rates, marks=marks)
        figures |= {f"{plot.name.removesuffix('.svg')}{end}": data for end, data in drawn.items()}
    return figures


def _marks(report: SweepReport, plot: _Plot) -> list[tuple[int, str]]:
    """Return the steps at which runs of a plot continued under other code, with what changed."""
    return [mark for run in report.runs if run.cell in plot.curves for mark in code_marks(run.changes)]


def _measure(plot: _Plot) -> str:
    return "Win rate" if plot.rates else "Mean return"


def write_sweep_report(report: SweepReport, folder: Path) -> list[Path]:
    """Write ``report.md``, its plots, ``report.html`` with all of them, ``results.json`` and ``curves.csv``.

    With matplotlib the curves are figures for papers, as SVG and PDF.

    Raises ``OSError``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    plots = curve_figures(report) | value_figures(report)
    files = {RESULTS: msgspec.json.format(to_json(report)) + b"\n"}
    files |= {name: figure.encode() for name, figure in plots.items()} | paper_figures(report)
    if report.curves:
        files[POINTS] = curves_table(report.curves, report.games).encode()
    text = report_text(report)
    files |= {REPORT: text.encode(), PAGE: page(text, plots).encode()}
    for name, data in files.items():
        write_atomic(folder / name, data)
    return [folder / name for name in files]
