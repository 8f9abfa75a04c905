"""Strength on a ladder: sizes by a player's own scores, Elo by all players together."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ludus.ratings.ladder import LadderRating, Meetings, rate_on_ladder


def rated(*players: Meetings) -> LadderRating:
    found = rate_on_ladder(players)
    assert found is not None
    return found


def test_without_a_rung_there_is_no_strength() -> None:
    assert rate_on_ladder([]) is None
    assert rate_on_ladder([{}]) is None
    assert rate_on_ladder([{50: (3.0, 10)}, {50: (0.0, 0)}]) is None


def test_a_score_of_one_half_is_equal_strength() -> None:
    made = rated({50: (90, 100), 400: (50, 100), 3200: (10, 100)})
    assert (made.place, made.size) == ("within", 400)
    assert made.size_low is not None
    assert made.size_high is not None
    assert 250 < made.size_low < 400 < made.size_high < 640
    assert made.rungs == (50, 400, 3200)


def test_between_rungs_strength_is_linear_in_elo_and_the_logarithm() -> None:
    made = rated({100: (750, 1000), 400: (250, 1000)})  # 191 Elo above one, as many below the other
    assert made.size == 200
    assert made.elo == pytest.approx(191, abs=3)
    assert rated({100: (900, 1000), 400: (400, 1000)}).size == pytest.approx(330, abs=20)


@pytest.mark.parametrize(
    ("met", "place"),
    [
        ({50: (100, 100), 400: (70, 100)}, "above"),
        ({50: (30, 100), 400: (0, 100)}, "below"),
        ({50: (45, 100), 400: (40, 100)}, "within"),
        ({50: (2, 4), 400: (2, 4)}, ""),
        ({400: (50, 100)}, "within"),
        ({400: (3, 6)}, ""),
        ({400: (90, 100)}, "above"),
        ({400: (10, 100)}, "below"),
    ],
)
def test_what_the_scores_do_not_show_is_not_said(met: Meetings, place: str) -> None:
    made = rated(met)
    assert made.place == place
    assert (made.size is None) == (place != "within")


def test_ends_beyond_the_ladder_are_open() -> None:
    strong = rated({50: (100, 100), 400: (55, 100)})
    assert (strong.place, strong.size, strong.size_high) == ("within", 400, None)
    assert strong.size_low is not None
    assert 250 < strong.size_low < 400
    weak = rated({50: (45, 100), 400: (2, 100)})
    assert (weak.size, weak.size_low) == (50, None)


def test_scores_that_rise_with_the_size_give_a_strength_between_the_crossings() -> None:
    made = rated({50: (60, 100), 100: (40, 100), 200: (60, 100), 400: (10, 100)})
    assert made.size is not None
    assert 70 < made.size < 250


def test_others_place_the_rungs() -> None:
    """A player that wins every match has a finite rating; the rungs' distance comes from the others."""
    middle: Meetings = {50: (91, 100), 400: (50, 100)}  # the rungs are 400 Elo apart
    alone = rated({50: (100, 100), 400: (76, 100)})
    among = rated(*[middle] * 20, {50: (100, 100), 400: (76, 100)})
    assert among.elo == pytest.approx(400 + 200, abs=40)
    assert among.elo_high - among.elo_low < alone.elo_high - alone.elo_low
    assert among.place == alone.place == "above"


def test_the_interval_holds_the_true_strength() -> None:
    """Players of known strength: the interval of the size misses it in about one of twenty, or fewer."""
    rng = np.random.default_rng(5)
    truth, held, said = 200, 0, 0
    for _ in range(400):
        met = {}
        for size in (50, 100, 400, 800):
            share = 1.0 / (1.0 + 10.0 ** (100.0 * np.log2(size / truth) / 400.0))
            met[size] = (float(rng.binomial(60, share)), 60)
        made = rated(met)
        if made.place == "within":
            said += 1
            held += (made.size_low or 0) <= truth <= (made.size_high or 10**9)
    assert said > 390
    assert held / said > 0.94


def test_a_rating_is_read_again() -> None:
    made = rated({50: (100, 100), 400: (55, 100)})
    assert msgspec.convert(msgspec.to_builtins(made), LadderRating) == made
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**msgspec.to_builtins(made), "rungs": []}, LadderRating)
