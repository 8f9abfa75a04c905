"""Report, page, sweep and the document of ``--json`` show equal numbers of one run."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ludus.evaluation.results import EvalResult
from ludus.reporting.run_view import RunView
from ludus.storage import RunDirectory
from ludus.sweep.results import read_run
from ludus.training.runs import start_run
from ludus.web.serve.library import Run
from ludus.web.serve.runs import curves_of, page_of
from tests.unit.training.runs import small_preset


def test_all_surfaces_show_equal_numbers_of_a_run(tmp_path: Path) -> None:
    path = tmp_path / "run"
    result = start_run(small_preset(), path)
    page, report = page_of(Run("run", "run", path)), (path / "report.md").read_text()
    summary, metrics = read_run(RunDirectory.open(path), ""), RunView.open(path).metrics()

    assert page.about.steps == summary.steps == result.steps == metrics.totals.steps
    assert f"{result.steps:,} decisions ({result.ticks:,} ticks, {metrics.totals.matches:,}" in report
    assert page.about.minutes == summary.minutes == metrics.totals.minutes
    assert page.about.best == str(result.best_version)
    assert page.about.state == "finished"
    assert page.report == report

    final = [row for row in page.evaluations if row["final"]]
    shown = msgspec.convert(final[-1]["results"], tuple[EvalResult, ...])
    assert shown == result.final == summary.final
    assert f"| {shown[0].win_rate:.1%} |" in report
    assert summary.floors == result.floors == metrics.floors
    floors = result.floors.against("random")
    assert floors
    for what, floor in floors:
        assert f"{what} {floor.measure:.1%} (" in report

    read = [(e.steps, e.version, e.best) for e in metrics.evaluations]
    assert [(row["steps"], row["version"], row["best"]) for row in page.evaluations] == read
    curves = curves_of(Run("run", "run", path), ["eval/random/win_rate"], "steps", 4000)
    rates = {e.steps: e.results[0].win_rate for e in metrics.inside if not e.initial}
    seen = dict(zip(curves.x, curves.series["eval/random/win_rate"].mean, strict=True))
    assert {steps: rate for steps, rate in seen.items() if rate is not None} == rates
    for steps, rate in rates.items():
        assert any(f"| {steps:,} |" in line and f"{rate:.1%}" in line for line in report.splitlines())
