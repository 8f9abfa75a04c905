"""Lanes: a player once, no lane in use gets another, and orders by slot."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludus.flow import Order, Orders
from ludus.rollouts.lanes import Lanes, slot_orders


def test_players_get_free_lanes_and_keep_them() -> None:
    lanes = Lanes([3, 1, 2])
    assert lanes.bind(["a", "b", "a"], used=()) == []
    assert lanes.bound == {1: "a", 2: "b"}
    assert lanes.bind(["b", "c"], used={1, 2}) == []
    assert lanes.bound == {1: "a", 2: "b", 3: "c"}
    assert (lanes.lane_of("c"), lanes.lane_of("d")) == (3, None)


def test_a_lane_in_use_keeps_its_player() -> None:
    lanes = Lanes([1, 2])
    lanes.bind(["a", "b"], used=())
    assert lanes.bind(["c", "d"], used={1, 2}) == ["c", "d"]
    assert lanes.bound == {1: "a", 2: "b"}
    assert lanes.bind(["c", "d"], used={2}) == ["d"]
    assert lanes.bound == {1: "c", 2: "b"}
    assert lanes.bind(["c", "d"], used=()) == []
    assert lanes.bound == {1: "c", 2: "d"}


def test_lanes_without_use_are_free() -> None:
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
def test_any_sequence_of_players_keeps_the_rules(rounds: list[tuple[list[str], set[int]]]) -> None:
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
def test_lanes_that_do_not_exist_are_refused(bound: dict[int, str]) -> None:
    with pytest.raises(ValueError, match="a player once"):
        Lanes([1, 2]).load(bound)


def batch(*players: tuple[str, ...], slots: tuple[int, ...] = ()) -> Orders:
    orders = (Order(10 + k, "me", names, ("latest",) * (len(names) - 1)) for k, names in enumerate(players))
    return Orders(batch=tuple(orders), slots=slots)


INDICES = {"me": 0, "me:3": 1, "other": 2, "random": 5}


def test_each_order_stands_in_its_slots_and_every_plan_of_a_team_has_its_player() -> None:
    orders = batch(("me", "me:3"), ("me", "random"), slots=(5, 3))
    controllers, tags = slot_orders(orders, 8, (0, 1, 1, 0), INDICES.__getitem__)
    assert [tags.tolist().count(order.match_tag) for order in orders.batch] == [5, 3]
    for row, tag in zip(controllers.tolist(), tags.tolist(), strict=True):
        opponent = {11: 1, 12: 5}[tag]
        assert row == [0, opponent, opponent, 0]
    changes = sum(a != b for a, b in zip(tags, [*tags[1:], tags[0]], strict=True))
    assert changes == 2  # an order has neighbouring slots, around the end


def test_orders_without_slots_are_spread_evenly() -> None:
    _, tags = slot_orders(batch(("me", "other"), ("me", "me")), 5, (0, 1), INDICES.__getitem__)
    assert tags.tolist() == [11, 11, 12, 12, 12]
