"""Which rollout plays which part: a fixed rule, even shares, few moves. No Ray."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ludus.cluster.elastic.assignment import NOWHERE, assigned, least_rollouts
from ludus.presets.config import ClusterConfig


@pytest.mark.parametrize(
    ("homes", "present", "expected"),
    [
        ([NOWHERE] * 3, [0], [0, 0, 0]),
        ([NOWHERE] * 3, [0, 1, 2], [0, 1, 2]),
        ([0, 0, 0], [0, 1], [0, 0, 1]),  # one joins
        ([0, 0, 1], [1], [1, 1, 1]),  # one leaves
        ([0, 1, 2], [0, 2], [0, 0, 2]),  # the first with room takes over
        ([0, 1, 2], [0, 2, 3], [0, 3, 2]),  # a successor takes the whole share
        ([5, 5, 5, 5], [5, 7], [5, 5, 7, 7]),
        ([1, 0, 0, 1], [0, 1], [1, 0, 0, 1]),  # even shares stay, whatever they are
    ],
)
def test_parts_go_to_the_rollouts_that_are_there(
    homes: list[int], present: list[int], expected: list[int]
) -> None:
    assert assigned(homes, present) == expected


@given(st.integers(1, 12), st.lists(st.sets(st.integers(0, 9), min_size=1), min_size=1, max_size=6))
def test_shares_are_even_and_as_few_parts_move_as_must(parts: int, crews: list[set[int]]) -> None:
    homes = [NOWHERE] * parts
    for crew in crews:
        before, homes = homes, assigned(homes, sorted(crew))
        loads = Counter(homes)
        assert set(homes) <= crew
        shares = sorted(loads[number] for number in crew)
        assert shares[-1] - shares[0] <= 1
        assert assigned(homes, sorted(crew)) == homes
        held = sorted((before.count(number) for number in crew), reverse=True)
        stay = sum(min(had, share) for had, share in zip(held, reversed(shares), strict=True))
        assert sum(a == b for a, b in zip(before, homes, strict=True)) == stay


def test_growing_by_one_moves_one_share() -> None:
    homes = assigned([NOWHERE] * 12, [0])
    for count, (_, number) in enumerate(pairwise(range(4)), 2):
        before, homes = homes, assigned(homes, list(range(number + 1)))
        assert sum(a != b for a, b in zip(before, homes, strict=True)) == 12 // count


def test_no_rollout_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one rollout or more"):
        assigned([0, 1], [])


def test_all_rollouts_are_needed_where_no_smaller_number_is_given() -> None:
    assert least_rollouts(ClusterConfig(rollouts=4)) == 4
    assert least_rollouts(ClusterConfig(rollouts=4, min_rollouts=2)) == 2
