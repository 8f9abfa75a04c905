"""Report, page, sweep and the document of ``--json`` show equal numbers of one run."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from ludus.cli import __main__ as cli
from ludus.evaluation.results import EvalResult
from ludus.flow.inputs.decode import to_json
from ludus.reporting.measures import Value, floor_levels, measures_of, point_of
from ludus.reporting.run_view import RunView
from ludus.storage import RunDirectory
from ludus.sweep.results import read_run
from ludus.training.runs import start_run
from ludus.web.serve.library import Run, UnknownId
from ludus.web.serve.runs import Curves, RunPage, curves_of, page_of
from tests.unit.training.runs import small_preset
from tests.web.small_runs import make_run


def test_all_surfaces_show_equal_numbers_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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

    (measure,) = page.measures
    (line,) = measure.lines
    inside = [(e.steps, e.results[0].won) for e in metrics.inside]
    drawn = [(s, (v.value, v.low, v.high)) for s, v in zip(line.steps, line.values, strict=True)]
    assert drawn == inside
    (drawn_in_report,) = measures_of(map(point_of, metrics.inside), floor_levels(metrics.evaluations))
    assert (measure.title, measure.levels) == (drawn_in_report.title, drawn_in_report.levels)
    assert line.values == drawn_in_report.lines[0].values
    stages = {row.stage: row.result.value for row in page.results}
    assert stages[f"Final matches of version {result.best_version}"] == Value(*shown[0].won)
    assert stages["Uniform legal play"].value == floors[-1][1].measure
    assert page.about.results[0].value == Value(*shown[0].won)

    capsys.readouterr()
    assert cli.main(["report", str(path), "--json"]) == 0
    document = msgspec.json.decode(capsys.readouterr().out)
    assert document["results"][0]["summary"]["centre"] == page.about.results[0].value.value
    assert document["budgets"][0]["steps"] == page.about.steps
    assert document["budgets"][0]["minutes"] == page.about.minutes

    read = [(e.steps, e.version, e.best) for e in metrics.evaluations]
    assert [(row["steps"], row["version"], row["best"]) for row in page.evaluations] == read
    last = metrics.updates[-1]
    names = [name for name in last.numbers if name != "time/minutes"]
    newest = curves_of(Run("run", "run", path), names, "steps", 4000)
    place = newest.x.index(last.steps)
    assert {name: newest.series[name].mean[place] for name in names} == {n: last.numbers[n] for n in names}
    assert {plot.name for plot in page.plots} >= {n for n in names if not n.startswith("final/")}

    curves = curves_of(Run("run", "run", path), ["eval/random/win_rate"], "steps", 4000)
    rates = {e.steps: e.results[0].win_rate for e in metrics.inside if not e.initial}
    seen = dict(zip(curves.x, curves.series["eval/random/win_rate"].mean, strict=True))
    assert {steps: rate for steps, rate in seen.items() if rate is not None} == rates
    for steps, rate in rates.items():
        assert any(f"| {steps:,} |" in line and f"{rate:.1%}" in line for line in report.splitlines())


def numbers_of(path: Path) -> tuple[RunPage, Curves]:
    run = Run("run", "run", path)
    return page_of(run), curves_of(run, ["loss/value"], "steps", 4000)


def test_pages_keep_the_numbers_of_a_log_that_is_half_written_cut_or_odd(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", versions=(1, 2, 3))
    log = RunView(run).source
    whole = log.read_bytes()
    before = numbers_of(run.path)

    log.write_bytes(whole + b'{"schema":2,"kind":"update","steps":900,"loss/val')  # half a last line
    page, curves = numbers_of(run.path)
    assert (page.about.steps, page.measures) == (before[0].about.steps, before[0].measures)
    assert curves.series == before[1].series

    odd = b'{"schema":2,"kind":"update","steps":400,"loss/value":%s}\n'
    for value, shown in ((b"null", None), (b"1e308", 1e308), (b"-1.7e308", -1.7e308), (b'"NaN"', None)):
        log.write_bytes(whole + odd % value)
        curves = numbers_of(run.path)[1]
        assert (curves.series["loss/value"].mean[3:] or (None,)) == (shown,)
        to_json(curves)
    log.write_bytes(whole + odd % b"NaN" + odd % b"5.0")  # no JSON: the log ends there
    page, curves = numbers_of(run.path)
    assert (curves.series, page.measures) == (before[1].series, before[0].measures)

    rows = whole.splitlines(keepends=True)
    log.write_bytes(b"".join(rows[:2]))  # a resume cut the log
    page, curves = numbers_of(run.path)
    assert (page.about.steps, curves.x, len(page.evaluations)) == (100, (100.0,), 1)
    assert len(page.measures[0].lines[0].values) == 1

    shutil.rmtree(run.path)
    for ask in (page_of, lambda gone: curves_of(gone, ["loss/value"], "steps", 10)):
        with pytest.raises(UnknownId, match="has been removed"):
            ask(Run("run", "run", run.path))


def test_sums_of_huge_numbers_are_no_gap_in_a_curve(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", versions=())
    row = '{"kind":"update","steps":%d,"loss/value":1.5e308}\n'
    RunView(run).source.write_text("".join(row % steps for steps in range(8)))
    bucket = curves_of(Run("run", "run", run.path), ["loss/value"], "steps", 2).series["loss/value"]
    assert bucket.mean == bucket.low == bucket.high == (1.5e308, 1.5e308)
