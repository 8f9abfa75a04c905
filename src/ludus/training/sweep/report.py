"""The report of a sweep, or of several runs: Markdown, curves as SVG, both as one page, numbers as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from ludus.flow.decode import to_json
from ludus.flow.names import did_you_mean
from ludus.flow.shown import markdown
from ludus.presets.errors import ConfigError
from ludus.presets.schema import quoted
from ludus.storage.files import write_atomic
from ludus.storage.rundir import RunDirectory
from ludus.training.reporting.metrics import read_metrics
from ludus.training.reporting.page import page
from ludus.training.sweep.by_value import by_value, value_plot
from ludus.training.sweep.comparison import (
    CellBudget,
    CellResult,
    budgets,
    cell_names,
    compare,
    differing_settings,
)
from ludus.training.sweep.curves import Curve, cell_curve, counts_help, curves_plot
from ludus.training.sweep.directory import SweepDirectory, is_sweep, open_sweep
from ludus.training.sweep.floors import CellFloor, cell_floors
from ludus.training.sweep.plan import known_points, planned_cells, runs_of
from ludus.training.sweep.results import RunSummary, greedy_results, read_run
from ludus.training.sweep.tables import budget_table, cell_settings_table, result_table, unfinished_table
from ludus.version import __version__

REPORT, PAGE, RESULTS = "report.md", "report.html", "results.json"
CURVES, RETURNS, VALUES = "curves.svg", "returns.svg", "values.svg"
NOTE = (
    "Each seed's result is that of its final matches. *centre* is the mean with Student's 95% interval; from "
    "five seeds on the interquartile mean (IQM) with the percentile interval of a stratified bootstrap. "
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


class _Read(msgspec.Struct, frozen=True):
    title: str
    runs: list[RunSummary]
    missing: list[str]
    baseline: str = ""


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
        floors=tuple(cell_floors(runs)),
        helped=tuple(helped),
    )


def _read_sweep(sweep: SweepDirectory) -> _Read:
    config = sweep.info().config
    points = sweep.asked_points(config.random) if config.search == "tpe" else known_points(config)
    runs, missing = [], []
    cells = planned_cells(config, points)
    for run in (run for cell in cells for run in runs_of([cell], config.seeds)):
        if sweep.run(run.name).info_path.is_file():
            greedy = greedy_results(sweep, run.name)
            runs.append(read_run(sweep.run(run.name), run.cell, greedy))
        else:
            missing.append(run.name)
    return _Read(config.title or sweep.path.resolve().name, runs, missing, config.baseline)


def _read_runs(directories: Sequence[RunDirectory]) -> _Read:
    """Read runs without a sweep: those that differ in the seed alone are a cell."""
    runs = [read_run(d, "") for d in directories]
    named = [
        msgspec.structs.replace(run, cell=name) for run, name in zip(runs, cell_names(runs), strict=True)
    ]
    return _Read("Comparison of runs", named, [])


def _curves(runs: Sequence[RunSummary]) -> tuple[dict[str, Curve], list[str]]:
    """Return a curve for each cell, of its finished runs, and the cells whose curves count a bot's help."""
    curves, helped = {}, []
    for cell in dict.fromkeys(r.cell for r in runs):
        of = [r for r in runs if r.cell == cell and r.finished]
        records = [read_metrics(RunDirectory(Path(r.path))) for r in of]
        slots = max((int(r.settings.get("pool.slots", 0)) for r in of), default=0)
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
    total = len(report.runs) + len(report.missing)
    lines = [f"# {markdown(report.title)}", "", f"{finished} of {total} runs are finished.", ""]
    if report.results:
        notes = [
            NOTE,
            *([FLOOR_NOTE] if report.floors else []),
            *([BASELINE_NOTE] if report.baseline else []),
        ]
        lines += [" ".join(notes), ""]
    for play, against in dict.fromkeys((r.play, r.against) for r in report.results):
        of = [r for r in report.results if (r.play, r.against) == (play, against)]
        lines += [*result_table(of, report.baseline, report.floors), ""]
    if value_figure(report):
        lines += ["## Results over a setting", "", f"![Results over the values of a setting]({VALUES})", ""]
    if report.curves:
        figures = (f"![Mean over seeds with its band]({name})" for name in curve_figures(report))
        lines += ["## Learning curves", "", *(part for figure in figures for part in (figure, ""))]
    if report.helped:
        lines += [f"{HELP_NOTE} {', '.join(map(markdown, report.helped))}.", ""]
    if report.budgets:
        lines += ["## Budget", "", *budget_table(report.budgets), ""]
    lines += cell_settings_table(report.settings)
    lines += unfinished_table([r for r in report.runs if not r.finished], report.missing)
    return "\n".join(lines).rstrip() + "\n"


def value_figure(report: SweepReport) -> str:
    """Return results over the values of one setting as SVG, actions drawn.

    Empty where no setting has three numbers.

    With several opponents it shows the mean over them.
    """
    over = by_value(report.settings)
    drawn = [r for r in report.results if r.play == "drawn"]
    if over is None or not drawn:
        return ""
    return value_plot(over, [r for r in drawn if r.against == drawn[-1].against])


def curve_figures(report: SweepReport) -> dict[str, str]:
    """Return learning curves as SVG by file name: win rates and returns have a plot each."""
    alone = {r.cell for r in report.results if r.alone}
    kinds = {
        rates: {cell: curve for cell, curve in report.curves.items() if (cell not in alone) is rates}
        for rates in (True, False)
    }
    found = {rates: curves for rates, curves in kinds.items() if curves}
    return {
        CURVES if rates or len(found) == 1 else RETURNS: curves_plot(
            curves,
            f"{'Win rate' if rates else 'Mean return'} over decisions: mean over seeds, 95% interval",
            rates=rates,
        )
        for rates, curves in found.items()
    }


def write_sweep_report(report: SweepReport, folder: Path) -> list[Path]:
    """Write ``report.md``, its plots, ``report.html`` with all of them, and ``results.json``.

    Raises ``OSError``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {RESULTS: msgspec.json.format(to_json(report)) + b"\n"}
    files |= {name: figure.encode() for name, figure in curve_figures(report).items()}
    if figure := value_figure(report):
        files[VALUES] = figure.encode()
    text = report_text(report)
    plots = {name: data.decode() for name, data in files.items() if name.endswith(".svg")}
    files |= {REPORT: text.encode(), PAGE: page(text, plots).encode()}
    for name, data in files.items():
        write_atomic(folder / name, data)
    return [folder / name for name in files]
