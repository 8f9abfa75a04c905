"""Measures and series of a run: what its report and its pages draw, and in which words."""

from __future__ import annotations

from pathlib import Path

from ludus.reporting.measures import MOST_LINES, EvaluationPoint, Level, Value, measures_of, results_in
from ludus.reporting.series import _WORDS, MOST_SERIES, series_of

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"


def rates(**against: float) -> dict[str, float]:
    named: dict[str, float] = {}
    for name, rate in against.items():
        named |= {f"eval/{name}/win_rate": rate, f"eval/{name}/ci_low": rate - 0.1}
    return named


def test_each_opponent_is_a_line_of_one_plot_in_the_order_of_steps() -> None:
    points = [EvaluationPoint(200, rates(a=0.6, b=0.2)), EvaluationPoint(0, rates(a=0.1))]
    (measure,) = measures_of(points, [Level("x", "a", Value(0.1)), Level("y", "a", Value(0.3))])
    assert (measure.title, measure.kind) == ("Win rate by opponent, evaluations", "rate")
    first, second = measure.lines
    assert (first.name, first.steps) == ("a", (0, 200))
    assert first.values == (Value(0.1, 0.0), Value(0.6, 0.5))
    assert (second.name, second.steps) == ("b", (200,))
    assert [floor.what for floor in measure.levels] == ["y"]


def test_members_of_a_league_and_many_opponents_have_plots_of_their_own() -> None:
    many = rates(**{f"bot{k}": 0.5 for k in range(MOST_LINES + 1)})
    found = measures_of([EvaluationPoint(0, many, "main"), EvaluationPoint(0, rates(a=0.5), "other")])
    assert [(m.player, len(m.lines)) for m in found] == [("main", MOST_LINES), ("main", 1), ("other", 1)]
    assert found[-1].title == "Win rate of other against a, evaluations"


def test_names_of_opponents_may_hold_anything() -> None:
    odd = "runs/a@3/\x1b[31m,x"
    ((against, kind, value),) = results_in({f"eval/{odd}/win_rate": 0.5, "eval//win_rate": 1.0})
    assert (kind, value.value) == ("rate", 0.5)
    assert "\x1b" not in against
    assert len(results_in({f"eval/{'n' * 9000}/mean_return": 1.0})[0][0]) == 200


def test_results_at_the_end_are_no_curves_and_training_leads() -> None:
    names = [
        "final/simple/win_rate", "playoff/simple/win_rate", "eval/simple/win_rate", "eval/simple/mean_ticks",
        "loss/value", "own/number", "time/minutes", "throughput/ticks_per_s", "rollout/win_rate/simple",
        "rollout/return",
    ]  # fmt: skip
    found = series_of(names)
    assert [(one.name, one.group, one.leads) for one in found] == [
        ("rollout/win_rate/simple", "Training matches", True),
        ("loss/value", "Losses", False),
        ("throughput/ticks_per_s", "Speed", False),
        ("rollout/return", "Training matches", False),
        ("eval/simple/mean_ticks", "Evaluations", False),
        ("own/number", "Own", False),
    ]
    assert [one.name for one in series_of(["rollout/return"]) if one.leads] == ["rollout/return"]
    both = series_of(["rollout/return", "rollout/running_return"])
    assert [one.name for one in both if one.leads] == ["rollout/running_return"]


def test_a_log_with_any_number_of_names_has_bounded_series() -> None:
    assert len(series_of(f"many/{k}" for k in range(100_000))) == MOST_SERIES
    assert series_of(["x" * 9000 + "/y", "noslash", "/", "a/"]) == []


def test_every_name_with_words_is_in_the_reference() -> None:
    text = REFERENCE.read_text()
    assert [name for name in _WORDS if f"`{name}`" not in text] == []


def test_agreement_with_held_out_decisions_has_a_plot_with_the_floor_of_chance() -> None:
    own = {"imitation/top1": 0.4, "imitation/top1/end": 0.5, "imitation/uniform": 0.2, "imitation/top5": 0.9}
    points = [
        EvaluationPoint(0, rates(a=0.5) | own),
        EvaluationPoint(9, rates(a=0.6) | {"imitation/top1": 0.7}),
    ]
    rate, agreement = measures_of(points)
    assert (rate.kind, agreement.kind) == ("rate", "agreement")
    assert agreement.title == "Agreement with held-out decisions"
    assert [(line.name, line.steps) for line in agreement.lines] == [("all decisions", (0, 9)), ("end", (0,))]
    assert [v.value for v in agreement.lines[0].values] == [0.4, 0.7]
    assert [(level.what, level.value.value) for level in agreement.levels] == [("uniform legal choices", 0.2)]
