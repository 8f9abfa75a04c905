"""Lanes: a player once, none that is in use is bound anew."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludus.rollouts.lanes import Lanes


def test_players_get_free_lanes_and_keep_them() -> None:
    lanes = Lanes([3, 1, 2])
    assert lanes.bind(["a", "b", "a"], used=()) == []
    assert lanes.bound == {1: "a", 2: "b"}
    assert lanes.bind(["b", "c"], used={1, 2}) == []
    assert lanes.bound == {1: "a", 2: "b", 3: "c"}
    assert (lanes.lane_of("c"), lanes.lane_of("d")) == (3, None)


def test_a_lane_in_use_is_not_bound_anew() -> None:
    lanes = Lanes([1, 2])
    lanes.bind(["a", "b"], used=())
    assert lanes.bind(["c", "d"], used={1, 2}) == ["c", "d"]
    assert lanes.bound == {1: "a", 2: "b"}
    assert lanes.bind(["c", "d"], used={2}) == ["d"]
    assert lanes.bound == {1: "c", 2: "b"}
    assert lanes.bind(["c", "d"], used=()) == []
    assert lanes.bound == {1: "c", 2: "d"}


def test_lanes_that_nobody_needs_are_bound_to_nobody() -> None:
    lanes = Lanes([1, 2, 3])
    lanes.bind(["a", "b", "c"], used=())
    assert lanes.bind(["b"], used={3}) == []
    assert lanes.bound == {2: "b", 3: "c"}
    assert lanes.bind(["a", "d"], used={3}) == []
    assert lanes.bound == {1: "a", 2: "d", 3: "c"}


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from("abcdefg"), max_size=5), st.sets(st.integers(0, 3))), max_size=12
    )
)
def test_whatever_is_wanted(rounds: list[tuple[list[str], set[int]]]) -> None:
    lanes = Lanes(range(4))
    for wanted, used in rounds:
        before = dict(lanes.bound)
        late = lanes.bind(wanted, used)
        assert len(set(lanes.bound.values())) == len(lanes.bound)
        for lane in used:
            assert lane not in before or lanes.bound[lane] == before[lane]
        assert all(lane in used or player in wanted for lane, player in lanes.bound.items())
        for player in wanted:
            assert (lanes.lane_of(player) is None) == (player in late)
        if late:  # only if no lane was free
            busy = {lane for lane in lanes.bound if lane in used or lanes.bound[lane] in wanted}
            assert busy == set(lanes.ids)
        again = Lanes(range(4))
        again.load(lanes.bound)
        assert again.bound == lanes.bound


@pytest.mark.parametrize("bound", [{5: "a"}, {1: "a", 2: "a"}])
def test_a_state_that_is_none_is_refused(bound: dict[int, str]) -> None:
    with pytest.raises(ValueError, match="a player once"):
        Lanes([1, 2]).load(bound)
