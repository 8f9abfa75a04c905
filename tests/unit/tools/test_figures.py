"""Values and intervals of published figures, against numbers computed by hand or another formula."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from ludus.ratings import mean_interval, wilson_interval
from tools.figures import figure_of, poisson_ends
from tools.raw_lines import Line, counted, packed, sampled, unpacked
from tools.records import Figure, Kind


def won(label: str, seed: int | None, wins: int, matches: int, eval_seed: int = 1) -> Line:
    line = counted(label, "w" * wins + "l" * (matches - wins), eval_seed=eval_seed)
    return msgspec.structs.replace(line, seed=seed)


def taken(label: str, seed: int | None, *samples: float) -> Line:
    return msgspec.structs.replace(sampled(label, samples), seed=seed)


def ends(figure: Figure) -> tuple[float, float]:
    assert figure.low is not None
    assert figure.high is not None
    return figure.low, figure.high


@pytest.mark.parametrize("outcomes", ["w", "wdl", "lllll", "wdlwd" * 200, "d" * 7])
def test_outcomes_are_kept_one_by_one(outcomes: str) -> None:
    assert unpacked(packed(outcomes), len(outcomes)) == outcomes


@pytest.mark.parametrize(("text", "matches"), [("!", 3), (packed("wdl"), 9), (packed("wdlll"), 3)])
def test_outcomes_of_another_number_of_matches_are_refused(text: str, matches: int) -> None:
    with pytest.raises(ValueError, match="outcomes"):
        unpacked(text, matches)


@pytest.mark.parametrize("rates", [(200, 200, 200), (117, 111, 117), (99, 95, 95), (98, 93, 93)])
def test_no_interval_over_seeds_is_narrower_than_the_counting_noise(rates: tuple[int, ...]) -> None:
    lines = [won("a", seed, wins, 400) for seed, wins in enumerate(rates)]
    figure = figure_of(lines, "a", "%", "seeds")
    noise = wilson_interval(sum(rates), 1200)
    low, high = ends(figure)
    assert figure.value == pytest.approx(100 * noise.rate, abs=0.06)
    assert low <= 100 * noise.low + 0.06
    assert high >= 100 * noise.high - 0.06
    spread = mean_interval([w / 4 for w in rates])
    assert low <= max(0.0, spread.low) + 0.06
    assert high >= spread.high - 0.06


@pytest.mark.parametrize("wins", [0, 300])
def test_seeds_that_all_agree_have_wilsons_interval(wins: int) -> None:
    figure = figure_of([won("a", s, wins, 300) for s in (1, 2, 3)], "a", "%", "seeds")
    rate = wilson_interval(3 * wins, 900)
    assert ends(figure) == (round(100 * rate.low, 1), round(100 * rate.high, 1))
    assert ends(figure) != (figure.value, figure.value)


def test_few_seeds_are_shown_one_by_one_and_many_have_a_bootstrap() -> None:
    def figure(count: int) -> Figure:
        return figure_of([won("a", s, 50 + s, 100) for s in range(count)], "a", "%", "seeds")

    assert figure(5).values == (50.0, 51.0, 52.0, 53.0, 54.0)
    assert figure(5).value == 52.0
    assert figure(9).value == 54.0
    assert figure(9).values
    ten = figure(10)
    assert ten.values == ()
    assert ten.value == 54.5  # interquartile mean of 50..59


def test_five_seeds_have_students_interval() -> None:
    lines = [taken("a", s, value) for s, value in enumerate((30.0, 79.0, 78.0, 80.0, 28.0))]
    figure = figure_of(lines, "a", "points", "seeds")
    expected = mean_interval([30.0, 79.0, 78.0, 80.0, 28.0])
    assert (figure.value, *ends(figure)) == tuple(
        round(x, 1) for x in (expected.mean, expected.low, expected.high)
    )


def test_returns_have_the_noise_of_their_matches() -> None:
    draw = np.random.default_rng(1)
    lines = [taken("a", s, *(draw.normal(0, 100, 50) - draw.normal(0, 0))) for s in (1, 2)]
    equal = [msgspec.structs.replace(lines[0], seed=s) for s in (1, 2)]
    low, high = ends(figure_of(equal, "a", "return", "seeds"))
    deviation = np.std(lines[0].samples, ddof=1)
    assert (high - low) / 2 == pytest.approx(1.96 * deviation / math.sqrt(100), rel=0.01)


@pytest.mark.parametrize(
    ("events", "low", "high"), [(0, 0.0, 3.689), (1, 0.0253, 5.572), (10, 4.795, 18.39), (100, 81.36, 121.63)]
)
def test_events_have_the_exact_interval_of_poisson(events: int, low: float, high: float) -> None:
    found = poisson_ends(events, 1)
    assert found.low == pytest.approx(low, abs=0.01)
    assert found.high == pytest.approx(high, abs=0.01)


@pytest.mark.parametrize("kind", ["matches", "seeds"])
def test_no_kills_in_24_matches_do_not_show_that_there_are_none(kind: str) -> None:
    seeds = (1, 2, 3) if kind == "seeds" else (None,)
    lines = [taken("a", s, *[0.0] * (24 // len(seeds))) for s in seeds]
    figure = figure_of(lines, "a", "a match", "seeds" if kind == "seeds" else "matches")
    assert ends(figure) == (0.0, round(3.689 / 24, 3))


def test_events_below_zero_keep_their_interval() -> None:
    figure = figure_of([taken("frags", None, -4.0, -2.0, -3.0)], "frags", "a match", "matches")
    low, high = ends(figure)
    assert low < figure.value == -3.0 < high < 0.0


def test_readings_have_their_median_and_a_ratio_goes_turn_by_turn() -> None:
    lines = [taken("a", None, 4.0, 1.0, 9.0), taken("b", None, 2.0, 1.0, 3.0), taken("c", None, 2.0)]
    assert figure_of(lines, "a", "M ticks/s", "readings").value == 4.0
    assert ends(figure_of(lines, "a", "M ticks/s", "readings")) == (1.0, 9.0)
    ratio = figure_of(lines, "a / b", "x", "ratio", of=("a", "b"))
    assert (ratio.value, *ends(ratio), ratio.count) == (2.0, 1.0, 3.0, 3)
    assert figure_of(lines, "a / c", "x", "ratio", of=("a", "c")).value == 2.0
    assert figure_of(lines, "a", "", "total").value == 14.0


def test_a_difference_is_of_its_parts() -> None:
    lines = [won("a", 1, 60, 100), won("b", 1, 50, 100, eval_seed=2)]
    found = figure_of(lines, "a - b", "points", "difference", of=("a", "b"))
    one, other = wilson_interval(60, 100), wilson_interval(50, 100)
    half = 100 * math.hypot(one.rate - one.low, other.high - other.rate)  # Newcombe
    assert found.value == 10.0
    assert ends(found)[0] == pytest.approx(10.0 - half, abs=0.06)
    seeds = [
        won(x, s, w, 100)
        for x, rates in (("a", (50, 60, 70)), ("b", (40, 60, 40)))
        for s, w in enumerate(rates)
    ]
    paired = mean_interval([10.0, 0.0, 30.0])
    low, high = ends(figure_of(seeds, "d", "points", "difference", of=("a", "b")))
    assert low <= paired.low + 0.06
    assert high >= paired.high - 0.06


def test_matches_that_are_equal_pair_by_pair_have_no_interval() -> None:
    lines = [won(x, s, 60, 100, eval_seed=s) for x in "ab" for s in (1, 2)]
    same = figure_of(lines, "d", "points", "difference", of=("a", "b"))
    assert (same.value, same.low, same.equal) == (0.0, None, 200)
    other = msgspec.structs.replace(lines[0], outcomes=packed("l" * 40 + "w" * 60))  # as many, not the same
    assert figure_of([other, *lines[1:]], "d", "points", "difference", of=("a", "b")).equal == 0
    elsewhere = msgspec.structs.replace(lines[0], eval_seed=9)
    assert figure_of([elsewhere, *lines[1:]], "d", "points", "difference", of=("a", "b")).equal == 0


@pytest.mark.parametrize(
    ("lines", "kind", "of", "fault"),
    [
        ([won("a", 1, 5, 9)], "seeds", (), "has one seed"),
        ([won("a", 1, 5, 9), won("a", 2, 5, 9)], "matches", (), "several seeds"),
        ([won("a", 1, 5, 9)], "readings", (), "these are matches"),
        ([won("a", 1, 5, 9)], "exact", (), "these are matches"),
        ([taken("a", 1, 1.0, 2.0)], "exact", (), "found 2 numbers"),
        ([taken("b", 1, 1.0)], "exact", (), "no raw line of 'a'"),
        ([taken("a", 1, 1.0)], "difference", (), "is of two labels"),
        ([taken("a", 1, 1.0)], "ratio", ("a", "b"), "no raw line of 'b'"),
        ([won("a", 1, 1, 2), won("b", 1, 1, 2)], "ratio", ("a", "b"), "these are matches"),
        ([taken("a", 1, 1.0), taken("b", 1, 0.0)], "ratio", ("a", "b"), "a ratio to 0"),
        ([won("a", 1, 5, 9), taken("a", 1, 5.0)], "matches", (), "mix matches and samples"),
    ],
)
def test_lines_that_do_not_fit_the_kind_are_refused(
    lines: list[Line], kind: str, of: tuple[str, ...], fault: str
) -> None:
    with pytest.raises(ValueError, match=fault):
        figure_of(lines, "a", "%", msgspec.convert(kind, Kind), of=of)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (Line("a", won=3, drawn=0, lost=5, matches=9, outcomes=packed("w" * 9)), "its outcomes have won 9"),
        (Line("a", won=3, drawn=0, lost=5, matches=8), "expected won, drawn, lost, matches and outcomes"),
        (Line("a"), "or samples"),
        (Line("a", won=1, samples=(1.0,)), "not both"),
        (Line("a", samples=(math.nan,)), "not finite"),
    ],
)
def test_lines_that_cannot_be_right_have_a_fault(line: Line, fault: str) -> None:
    assert fault in line.fault()


def test_the_worst_opponent_is_found_seed_by_seed() -> None:
    lines = []
    for bot, rates in (("swords", (9, 2)), ("spears", (5, 8))):
        for seed, won in enumerate(rates, start=1):
            made = counted(f"against {bot}", "w" * won + "l" * (10 - won))
            lines.append(msgspec.structs.replace(made, seed=seed))
    of = ("against swords", "against spears")
    found = figure_of(lines, "worst bot", "%", "worst", of=of)
    assert (found.value, found.values, found.count) == (35.0, (50.0, 20.0), 2)
    with pytest.raises(ValueError, match="worst has 1"):
        figure_of(lines, "worst bot", "%", "worst", of=of[:1])
    with pytest.raises(ValueError, match="lines of different seeds"):
        figure_of(lines[:-1], "worst bot", "%", "worst", of=of)
