"""Comparison of cells, learning curves, plots and tables, from made-up records."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import msgspec
import numpy as np
import pytest

from ludus.evaluation.results import EvalResult
from ludus.ratings import wilson_interval
from ludus.ratings.compare import improvement_interval, summarise_runs
from ludus.reporting.floors import Floors
from ludus.reporting.metrics import EvaluationMetrics, UpdateMetrics
from ludus.reporting.run_view import RunMetrics
from ludus.sweep.by_value import by_value, value_plot
from ludus.sweep.comparison import TOGETHER, budgets, compare, differing_settings
from ludus.sweep.curves import (
    POINTS,
    Curve,
    cell_curve,
    counts_help,
    curves_plot,
    curves_table,
    run_curve,
)
from ludus.sweep.floors import cell_floors
from ludus.sweep.report import SweepReport, curve_figures, report_text, value_figures
from ludus.sweep.results import RunSummary
from ludus.sweep.tables import result_table


def result(against: str, rate: float, alone: bool = False) -> EvalResult:
    return EvalResult(
        player="p",
        against=against,
        game="g",
        matches=100,
        win_rate=rate,
        ci_low=rate,
        ci_high=rate,
        wins=0,
        draws=0,
        losses=0,
        score=rate,
        mean_ticks=1.0,
        mean_return=10 * rate,
        errors=0,
        seed=1,
        alone=alone,
        return_low=0.0,
        return_high=1.0,
    )


def record(
    cell: str, seed: int, *rates: float, greedy: float | None = None, **settings: object
) -> RunSummary:
    names = ["simple", "hit_and_run"][: len(rates)]
    return RunSummary(
        name=f"{cell},seed={seed}",
        cell=cell,
        seed=seed,
        path="",
        finished=True,
        final=tuple(result(n, r) for n, r in zip(names, rates, strict=True)),
        greedy=() if greedy is None else (result("simple", greedy),),
        steps=1000 * seed,
        ticks=0,
        updates=10,
        gradient_steps=80,
        minutes=1.0,
        cpu_minutes=0.5 * seed,
        settings={"run.seed": seed, **settings},
    )


def test_cells_are_compared_against_each_opponent_and_all_of_them() -> None:
    runs = [record("a", s, 0.5 + s / 100, 0.3, greedy=0.9) for s in (1, 2, 3)]
    runs += [record("b", s, 0.6 + s / 50, 0.1) for s in (2, 3, 4)]
    found = {(r.cell, r.against, r.play): r for r in compare(runs, "a")}
    b = found["b", "simple", "drawn"]
    assert b.seeds == (2, 3, 4)
    rate = wilson_interval(64 + 66 + 68, 300)
    noise = rate.rate - rate.low, rate.high - rate.rate
    assert b.summary == summarise_runs([0.6 + s / 50 for s in (2, 3, 4)], noise=noise)
    assert b.summary.low == pytest.approx(rate.low)
    assert b.summary.high == pytest.approx(rate.high)
    assert b.improvement is not None
    assert (b.improvement.probability, b.improvement.low) == (1.0, None)
    assert b.improvement.difference is not None
    assert b.improvement.difference.mean == pytest.approx((0.64 - 0.52 + 0.66 - 0.53) / 2)
    assert found["a", "simple", "drawn"].improvement is None
    assert found["b", TOGETHER, "drawn"].summary.values[0] == pytest.approx((0.64 + 0.1) / 2)
    assert found["a", "simple", "greedy"].summary.values == (0.9, 0.9, 0.9)
    assert ("b", "simple", "greedy") not in found
    assert ("a", TOGETHER, "greedy") not in found


def test_an_interval_of_win_rates_holds_only_what_a_rate_can_be() -> None:
    (found,) = compare([record("a", s, rate) for s, rate in ((1, 0.545), (2, 0.69))])
    assert (found.summary.low, found.summary.high) == (0.0, 1.0)  # Student's: -30% to 154%
    (alone,) = compare(
        [
            msgspec.structs.replace(record("a", s, 0.5), final=(result("alone", rate, alone=True),))
            for s, rate in ((1, 0.1), (2, 0.9))
        ]
    )
    assert alone.summary.low is not None
    assert alone.summary.low < 0.0


def test_returns_of_seeds_that_agree_have_the_noise_of_their_matches() -> None:
    runs = [msgspec.structs.replace(record("a", s, 0.5)) for s in (1, 2, 3)]
    alone = msgspec.structs.replace(result("alone", 0.5, alone=True), return_deviation=30.0)
    runs = [msgspec.structs.replace(run, final=(alone,)) for run in runs]
    (found,) = compare(runs)
    half = 1.96 * 30.0 / 300**0.5
    assert found.summary.low == pytest.approx(5.0 - half, rel=1e-3)
    assert found.summary.high == pytest.approx(5.0 + half, rel=1e-3)


def test_improvement_has_an_interval_for_ten_seeds_and_more() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.uniform(0.3, 0.6, 10), rng.uniform(0.4, 0.7, 11)
    runs = [record("x", s, v) for s, v in enumerate(x)] + [record("y", s, v) for s, v in enumerate(y)]
    better = compare(runs, "x")[1].improvement
    assert better is not None
    assert (better.low, better.high) == improvement_interval(y[:, None], x[:, None])
    assert compare(runs)[1].improvement is None


def test_budgets_are_means_over_finished_runs() -> None:
    (budget,) = budgets([record("a", s, 0.5) for s in (1, 2, 3)])
    assert (budget.runs, budget.steps, budget.gradient_steps, budget.cpu_minutes) == (3, 2000, 80, 1.0)


def update(steps: int, won: int, lost: int, running_return: float | None = None) -> UpdateMetrics:
    numbers = {} if running_return is None else {"rollout/running_return": running_return}
    outcomes = {"simple": (won, 0, lost)} if won + lost else {}
    return UpdateMetrics(steps, steps, steps, 0, 0, 0.0, numbers, outcomes=outcomes)


def test_curves_of_training_matches_are_win_rates_between_the_points_of_the_grid() -> None:
    updates = [update(100, 10, 30), update(200, 30, 10), update(300, 0, 0), update(400, 40, 0)]
    grid = np.array([100.0, 200.0, 300.0, 400.0, 500.0])
    curve = run_curve(RunMetrics(updates), grid, evaluated=False)
    assert curve[[0, 1, 3]].tolist() == [0.25, 0.75, 1.0]
    assert np.isnan(curve[[2, 4]]).all()  # no matches; after the end


def test_win_rates_and_returns_are_compared_apart() -> None:
    both = [record("a", 1, 0.5), record("b", 1, 0.7, 0.9)]
    lone = msgspec.structs.replace(record("c", 1), final=(result("alone", 50.0, alone=True),))
    found = compare([*both, lone])
    assert [(r.against, r.cell) for r in found if r.alone] == [("alone", "c")]
    assert {r.cell for r in found if r.against == TOGETHER} == {"a", "b"}
    assert [r.against for r in compare([both[0], lone])] == ["simple", "alone"]
    curve = Curve((0, 10), (0.1, 0.9), (0.1, 0.9), (0.1, 0.9), 1)
    report = SweepReport("T", "0", "", tuple(found), (), dict.fromkeys("abc", curve), (), {}, ())
    figures = curve_figures(report)
    assert list(figures) == ["curves.svg", "returns.svg"]
    assert "Win rate" in figures["curves.svg"]
    assert "Mean return" in figures["returns.svg"]
    assert all(f"({name})" in report_text(report) for name in figures)
    only = msgspec.structs.replace(report, curves={"c": curve})
    assert list(curve_figures(only)) == ["curves.svg"]


def test_a_curve_that_counts_a_curriculums_help_is_marked() -> None:
    helped = msgspec.structs.replace(update(100, 9, 1), numbers={"rollout/win_rate_with_help/simple": 0.9})
    assert counts_help(RunMetrics([helped, update(200, 3, 7)]))
    assert not counts_help(RunMetrics([update(100, 9, 1)]))
    assert not counts_help(RunMetrics([helped], [evaluation(100 * k, 0.2) for k in (1, 2, 3)]))
    runs = [record("a", 1, 0.5, x=1)]
    report = SweepReport("T", "0", "", (), (), {}, tuple(runs), {}, (), helped=("a|b",))
    assert "its fall is no loss" in report_text(report)
    assert "Cells: a&#124;b." in report_text(report)


def test_a_curve_leaves_out_the_matches_that_ended_first() -> None:
    """The first 40 of 40 matches at a time to end are the shortest, so they are biased."""
    updates = [update(100, 30, 0), update(200, 10, 10), update(300, 10, 30), update(400, 20, 20)]
    grid = np.array([100.0, 200.0, 300.0, 400.0])
    curve = run_curve(RunMetrics(updates), grid, evaluated=False, settled=40)
    assert np.isnan(curve[:2]).all()
    assert curve[2:].tolist() == [0.25, 0.5]
    short = run_curve(RunMetrics(updates[:1]), grid[:1], evaluated=False, settled=40)
    assert short.tolist() == [1.0]  # better than nothing


def evaluation(steps: int, rate: float, final: bool = False) -> EvaluationMetrics:
    return EvaluationMetrics(steps, steps, 0.0, False, (result("simple", rate),), final=final)


def test_curves_of_evaluations_are_lines_between_them() -> None:
    evaluations = [
        evaluation(100, 0.2),
        evaluation(300, 0.6),
        evaluation(400, 0.6),
        evaluation(400, 0.9, True),
    ]
    grid = np.array([50.0, 200.0, 300.0, 400.0])
    curve = run_curve(RunMetrics([], evaluations), grid, evaluated=True)
    assert np.isnan(curve[0])
    assert curve[1:] == pytest.approx([0.4, 0.6, 0.6])


def test_the_curve_of_a_cell_is_the_mean_where_every_run_has_a_result() -> None:
    def run(rate: float, last: int) -> RunMetrics:
        won = round(100 * rate)
        return RunMetrics([update(s, won, 100 - won) for s in range(10, last + 1, 10)])

    curve = cell_curve([run(0.2, 400), run(0.6, 200)], 400)
    assert curve is not None
    assert (curve.steps[0], curve.steps[-1], curve.seeds) == (400 // POINTS, 200, 2)
    assert curve.mean == pytest.approx([0.4] * len(curve.steps))
    assert (curve.low[0], curve.high[0]) == (0.0, 1.0)  # Student's interval of two, cut to what a rate can be
    returns = cell_curve([RunMetrics([update(s, 0, 0, float(s)) for s in (100, 200)])], 200)
    assert returns is not None
    assert returns.mean[-1] == 200.0
    two = [RunMetrics([update(s, 0, 0, scale * s) for s in (100, 200)]) for scale in (1.0, 2.0)]
    assert (free := cell_curve(two, 200)) is not None
    assert free.low[-1] < 0.0 < 400.0 < free.high[-1]
    assert cell_curve([RunMetrics()], 200) is None
    shown = curves_plot({f"<{n}>": curve for n in range(11)}, "a & b", rates=True)
    root = ET.fromstring(shown)
    svg = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f".//{svg}polyline")) == 11
    assert len(root.findall(f".//{svg}polygon")) == 11


def test_results_are_plotted_over_the_values_of_a_setting() -> None:
    runs = [
        record(f"{lag},{queue}", 1, 0.5 + queue / 100, lag=lag, queue=queue)
        for lag in ("sync", "async")
        for queue in (0, 4, 16)
    ]
    assert differing_settings(runs) == ["lag", "queue"]
    settings = {r.cell: {p: r.settings[p] for p in ("lag", "queue")} for r in runs}
    over = by_value(settings)
    assert over is not None
    assert (over.path, over.values) == ("queue", (0.0, 4.0, 16.0))
    assert over.lines["lag=async"] == {0.0: "async,0", 4.0: "async,4", 16.0: "async,16"}
    root = ET.fromstring(value_plot(over, compare(runs)))
    assert len(root.findall(".//{http://www.w3.org/2000/svg}circle")) == 6
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"0", "4", "16", "lag=sync", "lag=async"} <= set(texts)
    switched = by_value({c: {"queue": s["queue"], "v": s["lag"] == "sync"} for c, s in settings.items()})
    assert switched is not None
    assert set(switched.lines) == {"v=true", "v=false"}
    assert by_value({c: {"lag": s["lag"]} for c, s in settings.items()}) is None
    assert by_value({c: s for c, s in settings.items() if s["queue"] != 4}) is None


def test_the_report_has_tables_of_results_and_settings() -> None:
    runs = [record("a|1", s, 0.5 + s / 100, x=1) for s in (1, 2)] + [record("b", 1, 0.9, x=2)]
    report = SweepReport(
        title="T",
        package_version="0",
        baseline="a|1",
        results=tuple(compare(runs, "a|1")),
        budgets=tuple(budgets(runs)),
        curves={},
        runs=tuple(runs),
        settings={"a|1": {"x": 1}, "b": {"x": 2}},
        missing=("c,seed=1",),
    )
    text = report_text(report)
    assert "3 of 4 runs are finished." in text
    assert "| a&#124;1 | 2 | 51.0% 52.0% | 51.5% | mean 51.5% | 44.6% to 58.3% | 0.7% | baseline |  |" in text
    assert "| b | 1 | 90.0% | 90.0% | mean 90.0% | - | - | 1.00 | - |" in text
    assert "| b | 1 | 1,000 | 10 | 80 | 1.00 | 0.50 |" in text
    assert "| b | 2 |" in text
    assert "| c,seed=1 | did not start |" in text
    assert value_figures(report) == {}


def test_floors_are_of_all_seeds_of_a_cell() -> None:
    def floored(seed: int, initial: float, won: int, alone: bool = False) -> RunSummary:
        uniform = msgspec.structs.replace(result("simple", won / 100, alone), wins=won)
        floors = Floors((result("simple", initial, alone),), (uniform,))
        return msgspec.structs.replace(record("a", seed, 0.9), floors=floors)

    (floor,) = cell_floors([floored(1, 0.2, 30), floored(2, 0.4, 50), record("b", 1, 0.5)])
    assert floor.initial == summarise_runs([0.2, 0.4])  # wider than the counting noise
    assert floor.uniform is not None
    rate = wilson_interval(80, 200)
    assert (floor.uniform.value, floor.uniform.low, floor.uniform.matches) == (0.4, rate.low, 200)
    assert floor.text() == "initial weights 30.0%, uniform 40.0%"
    (alone,) = cell_floors([floored(1, 0.2, 30, alone=True), floored(2, 0.4, 50, alone=True)])
    assert alone.text() == "initial weights 3.0, uniform 4.0"
    runs = [floored(1, 0.2, 30), record("b", 1, 0.5)]
    table = result_table(compare(runs), "", cell_floors(runs))
    assert "| floor |" in table[2]
    assert "| initial weights 20.0%, uniform 30.0% |" in table[4]
    assert table[5].endswith("| - |")
    assert "floor" not in result_table(compare(runs), "")[2]


def test_each_game_has_its_tables_and_plots() -> None:
    games = {"a": "cartpole", "b": "cartpole", "c": "gymnasium/Reach-v0"}
    runs = [
        msgspec.structs.replace(
            record(cell, seed),
            settings={"run.seed": seed, "game.name": game, "x": x},
            final=(result("alone", 50.0 if game == "cartpole" else 0.9, alone=True),),
        )
        for x, (cell, game) in enumerate(games.items())
        for seed in (1, 2)
    ]
    found = compare(runs, "a")
    assert [(r.game, r.cell) for r in found] == [(game, cell) for cell, game in games.items()]
    assert [r.improvement is None for r in found] == [True, False, True]
    curve = Curve((0, 10), (0.1, 9.7), (-3.0, 9.0), (0.2, 30.0), 2)
    report = SweepReport(
        "T", "0", "a", tuple(found), (), dict.fromkeys(games, curve), tuple(runs), {}, (), games=games
    )
    figures = curve_figures(report)
    assert list(figures) == ["curves-cartpole.svg", "curves-gymnasium-reach-v0.svg"]
    text = report_text(report)
    assert text.count("## ") == 3  # two tables, and the curves
    assert "## cartpole: mean return, actions drawn" in text
    assert all(f"({name})" in text for name in figures)
    cartpole, reach = (
        [t.text for t in ET.fromstring(figure).iter("{http://www.w3.org/2000/svg}text")]
        for figure in figures.values()
    )
    assert {"a", "b"} <= set(cartpole)
    assert "c" not in cartpole
    assert {"c", "mean return", "decisions of the policy"} <= set(reach)
    one = msgspec.structs.replace(report, games=dict.fromkeys(games, "g"), results=())
    assert list(curve_figures(one)) == ["curves.svg"]


def test_the_axis_of_returns_fits_their_means() -> None:
    curve = Curve((0, 61_440), (-2.5, 9.7), (-900.0, 9.0), (5.0, 10.0), 2)
    root = ET.fromstring(curves_plot({"a": curve}, "T", rates=False))
    texts = [t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}text")]
    values = [float(t) for t in texts if t.lstrip("-").replace(".", "", 1).isdigit()]
    assert {-5.0, 0.0, 5.0, 10.0} <= set(values)
    assert min(values) == -10.0  # a band of two seeds reaches -900
    assert {"20k", "40k", "60k"} <= set(texts)


def test_the_points_of_the_curves_are_a_table() -> None:
    curve = Curve((0, 10), (0.1, 0.9), (0.0, 0.8), (0.2, 1.0), 3)
    text = curves_table({"a,b": curve, "=1+1": curve}, {"a,b": "g"})
    assert text.splitlines() == [
        "game,cell,seeds,decisions,mean,low,high",
        'g,"a,b",3,0,0.1,0.0,0.2',
        'g,"a,b",3,10,0.9,0.8,1.0',
        ",'=1+1,3,0,0.1,0.0,0.2",
        ",'=1+1,3,10,0.9,0.8,1.0",
    ]
