"""Two samplers in turn: whose turn it is, what a snapshot holds, and which matches fill a slab."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ludus.flow import RolloutStats, Slab, Terms
from ludus.rollouts.alternating_sampler import NEW, OLD, TURNS, WHOLE, AlternatingSampler, TurnOrder
from ludus.rollouts.commands import LoadWeights, RestoreMatches, StartAt, TakeSnapshot
from ludus.rollouts.exchange import TIME_STEP
from ludus.training.actor_learner.build import LocalWeights, build_learner
from ludus.training.actor_learner.sampler import LocalSampler, build_sampler, local_sampler
from ludus.training.machines import JoinedMachines
from tests.unit.training.runs import small_preset

PRESET = small_preset(policy__memory="gru", policy__memory_size=8, opponents__0__name="latest")


@given(st.lists(st.floats(0.0, 1.0), max_size=60))
def test_the_number_of_old_slabs_is_the_sum_of_the_shares(shares: list[float]) -> None:
    turns, total, old = TurnOrder(), Fraction(0), 0
    for count, share in enumerate(shares, 1):
        old += turns.next(share) == OLD
        total += Fraction(share)
        assert math.floor(total) <= old <= math.floor(total + Fraction(count, WHOLE))


@given(st.lists(st.integers(0, 40), max_size=80))
def test_turns_are_those_of_a_plain_loop_over_floats(parts: list[int]) -> None:
    turns, owed = TurnOrder(), 0.0
    for share in (part / 40 for part in parts):
        owed += share
        expected = OLD if owed >= 1.0 - 1e-6 else NEW
        owed -= expected
        assert turns.next(share) == expected


@pytest.mark.parametrize(
    ("share", "first"),
    [(0.0, "000000"), (1.0, "111111"), (0.5, "010101"), (0.75, "011101"), (1 / 3, "001001")],
)
def test_slabs_of_a_constant_share_are_spread_evenly(share: float, first: str) -> None:
    turns = TurnOrder()
    assert "".join(str(turns.next(share)) for _ in first) == first


class Copies:
    """Sink that copies what it is given."""

    def __init__(self) -> None:
        self.slabs: list[dict[str, np.ndarray]] = []
        self.stats: list[RolloutStats] = []

    def put(self, slab: Slab, stats: RolloutStats) -> None:
        fields = {name: array.copy() for name, array in slab.fields().items()}
        for name in ("obs.board", "mask", "actions"):  # rows that do not act have stale bytes
            fields[name][slab.active[: len(fields[name])] == 0] = 0
        self.slabs.append(fields)
        self.stats.append(stats)


def part(opens: str, index: int) -> LocalSampler:
    game = msgspec.structs.replace(PRESET.game, params={"opens": opens})
    return build_sampler(msgspec.structs.replace(PRESET, game=game), index, slabs=1)


@pytest.fixture
def made() -> Iterator[list[AlternatingSampler]]:
    both = [AlternatingSampler(part("seat0", 0), part("seat1", 1), 2, 0.5) for _ in range(2)]
    source = LocalWeights(build_learner(PRESET))
    for sampler in both:
        sampler.send(LoadWeights({0: source}))
    yield both
    for sampler in both:
        sampler.close()


def test_slabs_are_those_of_the_parts_bit_by_bit(made: list[AlternatingSampler]) -> None:
    sampler, source, kept = made[0], LocalWeights(build_learner(PRESET)), Copies()
    for i in range(4):
        kept.put(sampler.facts.slabs[i % 2], sampler.play(sampler.facts.slabs[i % 2]))
    assert [stats.before_steps == stats.steps > 0 for stats in kept.stats] == [False, True, False, True]
    for number, opens in enumerate(("seat0", "seat1")):
        alone, apart = part(opens, number), Copies()
        alone.send(LoadWeights({0: source}))
        for _ in range(2):
            apart.put(alone.facts.slabs[0], alone.play(alone.facts.slabs[0]))
        alone.close()
        for mine, other in zip(kept.slabs[number::2], apart.slabs, strict=True):
            assert all(np.array_equal(mine[name], array) for name, array in other.items())
        assert [s.results for s in kept.stats[number::2]] == [s.results for s in apart.stats]


@pytest.mark.parametrize("slabs", [1, 2, 3])
def test_a_snapshot_continues_with_the_same_turns_and_matches(
    made: list[AlternatingSampler], slabs: int
) -> None:
    first, second = made
    for _ in range(slabs):
        first.play(first.facts.slabs[0])
    stored = first.send(TakeSnapshot())
    second.send(RestoreMatches(stored))
    assert second.state.time_step == first.state.time_step == 8 * slabs
    one, other = Copies(), Copies()
    for share in (0.5, 0.3, 0.9, 0.9):
        for sampler, sink in ((first, one), (second, other)):
            sampler.share = share
            sink.put(sampler.facts.slabs[1], sampler.play(sampler.facts.slabs[1]))
    assert [s.before_steps for s in one.stats] == [s.before_steps for s in other.stats]
    for mine, its in zip(one.slabs, other.slabs, strict=True):
        assert all(np.array_equal(mine[name], array) for name, array in its.items())
    states = first.send(TakeSnapshot()), second.send(TakeSnapshot())
    assert {n: a.tobytes() for n, a in states[0].items()} == {n: a.tobytes() for n, a in states[1].items()}


def test_time_steps_go_on_behind_those_of_both_parts(made: list[AlternatingSampler]) -> None:
    first, second = made
    first.share = 1.0
    for _ in range(3):
        first.play(first.facts.slabs[0])
    state = first.send(TakeSnapshot())
    assert state[TIME_STEP] == 24
    assert state[f"now.{TIME_STEP}"] == 0
    second.send(StartAt(24))
    assert [own.state.time_step for own in second.parts] == [24, 24]
    assert second.state.time_step == 24


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (TURNS, np.array([WHOLE], np.int64), "expected less than"),
        (TURNS, np.array([-1], np.int64), "expected one int64, 0 or more"),
        (TURNS, np.array([0.5]), "expected one int64, 0 or more"),
        (f"now.{TIME_STEP}", np.array([1, 2], np.int64), "expected one int64, 0 or more"),
    ],
)
def test_a_damaged_snapshot_is_refused(
    made: list[AlternatingSampler], name: str, value: np.ndarray, message: str
) -> None:
    first, second = made
    first.share = 1.0
    first.play(first.facts.slabs[0])
    with pytest.raises(ValueError, match=message):
        second.send(RestoreMatches(first.send(TakeSnapshot()) | {name: value}))
    without = {n: a for n, a in first.send(TakeSnapshot()).items() if n != name}
    with pytest.raises(ValueError, match=r"turns|no array"):
        second.send(RestoreMatches(without))


def test_terms_reach_the_part_that_plays_next_and_leave_the_other_one_alone(
    made: list[AlternatingSampler], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[int, Terms]] = []
    for number, own in enumerate(made[0].parts):
        pool = local_sampler(own).pool
        monkeypatch.setattr(pool, "set_terms", lambda terms, number=number: given.append((number, terms)))
    sent = [Terms(handover=1, old_share=0.0), Terms(handover=2, old_share=1.0), Terms(handover=3)]
    for terms in sent:
        made[0].send(terms)
        made[0].play(made[0].facts.slabs[0])
    assert given == [(NEW, sent[0]), (OLD, sent[1]), (OLD, sent[2])]


def test_a_part_that_is_joined_of_several_is_refused() -> None:
    whole, other = JoinedMachines(2).sampler(PRESET), part("seat1", 2)
    with pytest.raises(ValueError, match="expected one sampler for each"):
        AlternatingSampler(whole, other, 1, 1.0)
    whole.close()
    other.close()
