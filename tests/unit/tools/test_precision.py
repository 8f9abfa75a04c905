"""The comparison of precisions says "differ" where curves differ, and not where they do not."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("torch")
SCRIPT = Path(__file__).parents[3] / "benchmarks" / "learning" / "precision.py"


@pytest.fixture(scope="module")
def precision() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ludus_benchmark_precision", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_curve_weighs_updates_by_their_matches(precision: ModuleType) -> None:
    rows = [
        {"steps": 150, "matches": 1, "mean_return": 10.0},
        {"steps": 190, "matches": 3, "mean_return": 30.0},
        {"steps": 200, "matches": 0, "mean_return": None},
        {"steps": 350, "matches": 2, "mean_return": 50.0},
    ]
    curve = precision.curve_of(rows, np.array([100.0, 200.0, 300.0, 400.0]))
    assert curve.tolist() == [25.0, 25.0, 25.0, 50.0]


@pytest.mark.parametrize(
    ("bfloat16", "verdict"),
    [
        ((101, 199, 302), "the same"),
        ((130, 228, 331), "no worse"),
        ((60, 160, 262), "differ"),
        ((60, 290, 250), "undecided"),
    ],
)
def test_verdicts_follow_the_interval(precision: ModuleType, bfloat16: tuple[int, ...], verdict: str) -> None:
    runs = [
        {"precision": p, "seed": s, "final": value}
        for p, values in (("float32", (100, 200, 300)), ("bfloat16", bfloat16))
        for s, value in enumerate(values)
    ]
    found = precision.compare(runs, "final", 0.135)
    assert found["verdict"] == verdict
    assert found["float32"] == 200
    assert found["low"] < found["difference"] < found["high"]
