"""Comparison of runs: against rliable's numbers, and properties that define the statistics."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ludus.ratings.compare import (
    bootstrap_interval,
    improvement,
    improvement_interval,
    iqm,
    paired_difference,
    summarise_runs,
)
from ludus.ratings.interval import mean_interval

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "rliable.json").read_text())
NOISE = 0.003  # of percentiles of 50,000 draws and of 20,000


@pytest.mark.parametrize("name", GOLDEN["scores"])
def test_interquartile_mean_and_interval_are_those_of_rliable(name: str) -> None:
    scores = np.array(GOLDEN["scores"][name])
    assert float(iqm(scores)) == pytest.approx(GOLDEN["iqm"][name], abs=1e-12)
    assert bootstrap_interval(scores) == pytest.approx(GOLDEN["interval"][name], abs=NOISE)


def test_probability_of_improvement_is_that_of_rliable() -> None:
    first, second = GOLDEN["scores"]["first"], GOLDEN["scores"]["second"]
    assert improvement(first, second) == pytest.approx(GOLDEN["improvement"], abs=1e-12)
    bounds = improvement_interval(first, second)
    assert bounds == pytest.approx(GOLDEN["improvement_interval"], abs=NOISE)


def test_only_the_middle_half_counts() -> None:
    assert float(iqm(np.array([[-99.0], [1.0], [2.0], [99.0]]))) == 1.5
    assert float(iqm(np.array([[1.0], [2.0], [6.0]]))) == 3.0  # a quarter of three runs is none
    stack = np.array([[[0.0], [1.0], [2.0], [9.0]], [[4.0], [5.0], [6.0], [7.0]]])
    assert iqm(stack).tolist() == [1.5, 5.5]


def test_every_task_draws_its_runs_by_itself() -> None:
    # The rows of two tasks that cancel out: drawn together, every mean would be 1/2.
    scores = np.array([[0.0, 1.0], [1.0, 0.0]])
    low, high = bootstrap_interval(scores, lambda x: x.mean(axis=(-2, -1)))
    assert (low, high) == (0.0, 1.0)


def test_fewer_than_ten_seeds_use_student_and_more_the_bootstrap() -> None:
    nine = [0.2, 0.4, 0.5, 0.9, 0.1, 0.2, 0.3, 0.4, 0.5]
    ten = [0.2, 0.2, 0.4, 0.4, 0.5, 0.5, 0.6, 0.6, 0.9, 0.9]
    few = summarise_runs(nine)
    t = mean_interval(nine)
    assert (few.kind, few.centre, few.low, few.high) == ("mean", t.mean, t.low, t.high)
    many = summarise_runs(ten)
    assert many.kind == "iqm"
    assert many.centre == pytest.approx(0.5)
    assert (many.low, many.high) == bootstrap_interval(np.array(ten)[:, None])
    assert many.median == 0.5
    assert many.deviation == pytest.approx(np.std(ten, ddof=1))
    assert many.values == tuple(ten)
    noisy = summarise_runs(nine, noise=(0.4, 0.01))
    assert (noisy.centre, noisy.low, noisy.high) == (t.mean, t.mean - 0.4, t.high)
    assert (summarise_runs([0.3], noise=(0.1, 0.1)).low, few.values) == (None, tuple(nine))
    one = summarise_runs([0.3])
    assert (one.centre, one.low, one.high, one.deviation) == (0.3, None, None, None)
    assert json.loads(msgspec.json.encode(one))["low"] is None


def test_equal_seeds_give_equal_intervals_and_other_seeds_differ() -> None:
    scores = np.array(GOLDEN["scores"]["one_task"])
    intervals = [bootstrap_interval(scores, seed=seed, draws=500) for seed in (3, 3, 4)]
    assert intervals[0] == intervals[1] != intervals[2]
    narrow = bootstrap_interval(scores, confidence=0.5)
    assert intervals[0][0] < narrow[0] < narrow[1] < intervals[0][1]


def test_draws_count_as_half() -> None:
    assert improvement([[1.0], [2.0]], [[1.0], [0.0]]) == (0.5 + 1 + 1 + 1) / 4


def test_differences_are_paired_by_seed() -> None:
    shared = paired_difference({1: 0.5, 2: 0.7, 3: 0.9}, {2: 0.6, 3: 0.9, 4: 0.0})
    assert shared == mean_interval([0.7 - 0.6, 0.0])
    assert paired_difference({1: 0.5, 2: 0.5}, {2: 0.5, 3: 0.5}) is None


def test_more_confidence_makes_the_paired_interval_wider() -> None:
    """With two differences the bounds are 12.706 and 63.657 standard errors away."""
    one, other = {1: 0.5, 2: 0.7}, {1: 0.4, 2: 0.4}
    narrow, wide = paired_difference(one, other), paired_difference(one, other, confidence=0.99)
    assert narrow is not None
    assert wide is not None
    assert narrow.mean == wide.mean == pytest.approx(0.2)
    assert narrow.high - narrow.mean == pytest.approx(0.1 * 12.706, abs=1e-3)
    assert wide.high - wide.mean == pytest.approx(0.1 * 63.657, abs=1e-3)


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(3,\): expected \[runs, tasks\]"):
        bootstrap_interval([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="2 tasks and 1"):
        improvement([[1.0, 2.0]], [[1.0]])
    with pytest.raises(ValueError, match="no values"):
        summarise_runs([])


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_values_that_are_not_finite_are_refused(wrong: float) -> None:
    message = rf"^value 1 is {wrong}, expected finite numbers$"
    with pytest.raises(ValueError, match=message):
        summarise_runs([1.0, wrong])
    with pytest.raises(ValueError, match=message):
        mean_interval([1.0, wrong, 2.0])
    with pytest.raises(ValueError, match=message):
        paired_difference({1: 0.5, 2: wrong}, {1: 0.5, 2: 0.4})
    with pytest.raises(ValueError, match=rf"^value \[1, 0\] is {wrong}, expected"):
        improvement([[1.0], [wrong]], [[1.0]])
    with pytest.raises(ValueError, match=r"^value \[0, 1\]"):
        bootstrap_interval([[1.0, wrong]])
    with pytest.raises(ValueError, match="confidence"):
        bootstrap_interval([[1.0]], confidence=1.0)
