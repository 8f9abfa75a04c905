"""The writer of SVG files: escaped text, finite positions, one place that writes elements."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ludus
from ludus.evaluation.results import ALONE, EvalResult
from ludus.reporting import svg
from ludus.reporting.metrics import EvaluationMetrics
from ludus.reporting.report import curve_plot

SPACE = "{http://www.w3.org/2000/svg}"
HOSTILE = '</text><script>alert("1")</script>&'
ELEMENT = re.compile(r"""["']<(?:svg|g|path|line|rect|text|circle|polyline|polygon)\b""")


def evaluation(steps: int, against: str, measure: float, low: float, high: float) -> EvaluationMetrics:
    alone = against == ALONE
    result = EvalResult(
        player="p",
        against=against,
        game="g",
        matches=10,
        win_rate=None if alone else measure,
        ci_low=None if alone else low,
        ci_high=None if alone else high,
        wins=5,
        draws=0,
        losses=5,
        score=0.5,
        mean_ticks=1.0,
        mean_return=measure,
        errors=0,
        seed=1,
        alone=alone,
        return_low=low,
        return_high=high,
    )
    return EvaluationMetrics(steps, steps, low, True, (result,))


def test_one_module_writes_elements() -> None:
    package = Path(ludus.__file__).parent
    writers = [p for p in package.rglob("*.py") if ELEMENT.search(p.read_text(encoding="utf-8"))]
    assert writers == []  # svg.py itself writes every element through one function
    assert svg.element("path", d="M0 1", stroke_width=2) == '<path d="M0 1" stroke-width="2"/>'


def test_words_and_attributes_are_escaped() -> None:
    drawn = svg.drawing(100, 50, HOSTILE, [svg.text(1, 2, HOSTILE, fill=HOSTILE), svg.hint("", HOSTILE)])
    root = ElementTree.fromstring(drawn)
    assert [e.text for e in root.iter(SPACE + "text")] == [HOSTILE] * 2
    assert [e.text for e in root.iter(SPACE + "title")] == [HOSTILE] * 2
    assert [e.get("fill") for e in root.iter(SPACE + "text")] == [None, HOSTILE]
    assert "<script" not in drawn


def test_the_curve_of_a_run_has_a_line_a_band_and_a_name_for_each_opponent() -> None:
    plot = curve_plot(
        [evaluation(s, bot, 0.5 + s / 1000, 0.4, 0.9) for s in (0, 100, 200) for bot in ("simple", HOSTILE)]
    )
    root = ElementTree.fromstring(plot)
    assert len(list(root.iter(SPACE + "polyline"))) == len(list(root.iter(SPACE + "polygon"))) == 2
    words = [e.text for e in root.iter(SPACE + "text")]
    assert {"0%", "100%", "200", "win rate, evaluations", "simple"} <= set(words)
    first = next(root.iter(SPACE + "polyline")).get("points", "").split()
    assert [float(point.split(",")[0]) for point in first] == [
        svg.LEFT,
        (svg.LEFT + svg.WIDTH - svg.RIGHT) / 2,
        svg.WIDTH - svg.RIGHT,
    ]
    heights = [float(point.split(",")[1]) for point in first]
    assert heights == sorted(heights, reverse=True)  # the rate rises


@given(
    measure=st.floats(allow_nan=False, allow_infinity=False),
    low=st.floats(allow_nan=False, allow_infinity=False),
    high=st.floats(allow_nan=False, allow_infinity=False),
)
def test_returns_of_any_size_are_drawn(measure: float, low: float, high: float) -> None:
    low, measure, high = sorted((low, measure, high))
    plot = curve_plot([evaluation(1, ALONE, measure, low, high), evaluation(2, ALONE, measure, low, high)])
    root = ElementTree.fromstring(plot)
    for line in root.iter(SPACE + "polyline"):
        for point in line.get("points", "").split():
            assert all(0.0 <= float(part) <= svg.WIDTH for part in point.split(","))
    assert 2 <= len(list(root.iter(SPACE + "path"))) <= 12


@pytest.mark.parametrize("index", [0, 20])
def test_a_legend_ends_with_its_panel(index: int) -> None:
    assert bool(svg.legend(index, "name", "#000000", 0.0)) is (index == 0)


@pytest.mark.parametrize(
    ("low", "high", "steps", "values", "across"),
    [
        (-2.5, 9.7, 61_440, "-2.5 0 2.5 5 7.5 10", "0 20k 40k 60k"),
        (0.0, 9.7, 1_500_000, "0 2 4 6 8 10", "0 500k 1M 1.5M"),
        (480.0, 497.0, 3, "480 485 490 495 500", "0 1 2 3"),
        (9.58, 9.62, 2_000_000_000, "9.58 9.59 9.6 9.61 9.62", "0 500M 1G 1.5G 2G"),
    ],
)
def test_axes_have_round_numbers_around_the_data(
    low: float, high: float, steps: int, values: str, across: str
) -> None:
    panel = svg.Panel(0.0, low, high, steps)
    root = ElementTree.fromstring(svg.drawing(720, 300, "T", panel.axes("height", "width")))
    texts = [e.text for e in root.iter(SPACE + "text")]
    title, *ticks = texts
    assert (title, ticks[: len(values.split())]) == ("T", values.split())
    assert ticks[-len(across.split()) :] == across.split()
    assert {"height", "width"} <= set(texts)
    assert panel.y(low) <= panel.bottom
    assert panel.y(high) >= panel.top


def test_a_file_has_no_ground_and_follows_a_dark_page() -> None:
    drawn = svg.drawing(100, 50, "T", [])
    assert "<rect" not in drawn
    assert "prefers-color-scheme: dark" in drawn
    plain = svg.without_style(drawn)
    assert "<style" not in plain
    ElementTree.fromstring(drawn)
    ElementTree.fromstring(plain)
