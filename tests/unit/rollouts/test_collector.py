"""The collector against a pool played by hand: what lands where in the slab."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pytest

from ludus.flow import Controller, Lineup, MatchResult, PoolOptions, SeatPlan, Slab
from ludus.flow.slab import Array
from ludus.games import spec
from ludus.pool.native import NativePool
from ludus.rollouts import ActInput, Collector, Decision
from ludus.rollouts.collector import as_index

GAME = spec("tic_tac_toe")
STEPS = 12


class CountingActor:
    """Takes the first legal cell; its memory counts the decisions since the match started."""

    def __init__(self, version: int = 3) -> None:
        self.version = version
        self.memory_shape: tuple[int, ...] | None = (1,)
        self.steps: list[int] = []

    def act(self, batch: ActInput) -> Decision:
        assert batch.memory is not None
        fresh = np.asarray(batch.is_first)[:, None] != 0
        before: npt.NDArray[np.float32] = np.where(fresh, 0.0, batch.memory).astype(np.float32)
        self.steps.append(batch.step)
        count = before + np.float32(1.0)
        chosen = np.asarray(batch.mask).argmax(axis=1).astype(np.int32)[:, None]
        return Decision(chosen, -count[:, 0], count[:, 0] * 10, count)

    def value(
        self, obs: Mapping[str, Array], memory: Array | None, is_first: Array
    ) -> npt.NDArray[np.float32]:
        assert memory is not None
        return np.where(np.asarray(is_first) != 0, 0.0, memory[:, 0]).astype(np.float32)


def play(threads: int, groups: int, opponent: Controller) -> tuple[Collector, Slab, list[MatchResult]]:
    lineup = Lineup((SeatPlan((Controller(policy=0),)), SeatPlan((opponent,))))
    pool = NativePool("tic_tac_toe", {}, lineup, PoolOptions(slots=8, groups=groups, threads=threads, seed=4))
    actors = {0: CountingActor()} | ({1: CountingActor(1)} if opponent.policy == 1 else {})
    collector = Collector(pool, actors, learned=(0,))
    slab = Slab(GAME, STEPS, pool.rows)
    results: list[MatchResult] = []
    for _ in range(3):
        results += collector.collect(slab).results
    return collector, slab, results


def test_decisions_are_written_where_they_belong() -> None:
    collector, slab, _ = play(0, 2, Controller(bot="random"))
    active = slab.active[:-1] != 0
    assert active.any()
    assert (slab.version[active] == 3).all()
    assert (slab.version[~active] == -1).all()
    assert (slab.log_prob[active] < 0).all()
    for t, row in zip(*np.nonzero(active), strict=True):
        assert slab.mask[t, row, slab.actions[t, row, 0]] == 1
    assert collector.time_step == 3 * STEPS
    collector.pool.close()


def test_memory_counts_within_a_match_and_starts_over() -> None:
    collector, slab, _ = play(1, 2, Controller(bot="random"))
    assert set(slab.memory) == {0}
    for row in range(slab.rows):
        count = float(slab.memory[0][row, 0])
        for t in range(STEPS):
            if not slab.active[t, row]:
                continue
            count = 1.0 if slab.is_first[t, row] else count + 1.0
            assert slab.log_prob[t, row] == -count
            assert slab.value[t, row] == 10 * count
        if slab.active[STEPS, row]:  # valued without being decided or remembered
            expected = 0.0 if slab.is_first[STEPS, row] else count
            assert slab.value[STEPS, row] == expected
    collector.pool.close()


@pytest.mark.parametrize("opponent", [Controller(bot="random"), Controller(policy=1)])
def test_threads_and_groups_change_nothing(opponent: Controller) -> None:
    first, slab, results = play(0, 1, opponent)
    for threads, groups in ((1, 2), (3, 4)):
        other, again, same = play(threads, groups, opponent)
        assert sorted(results, key=lambda r: r.match) == sorted(same, key=lambda r: r.match)
        for name, array in slab.fields().items():
            assert np.array_equal(array, again.fields()[name]), name
        other.pool.close()
    first.pool.close()


def test_every_policy_decides_for_its_own_rows() -> None:
    collector, slab, _ = play(0, 2, Controller(policy=1))
    for policy, version in ((0, 3), (1, 1)):
        mine = (slab.policy[:-1] == policy) & (slab.active[:-1] != 0)
        assert mine.any()
        assert (slab.version[mine] == version).all()
    idle = slab.active == 0
    assert idle[:-1].any()
    assert (slab.version[idle[:-1]] == -1).all()
    assert (slab.log_prob[idle[:-1]] == 0).all()
    assert (slab.value[idle] == 0).all()
    collector.pool.close()


class OpinionatedActor(CountingActor):
    """Values what it has no memory of at 100."""

    def value(
        self, obs: Mapping[str, Array], memory: Array | None, is_first: Array
    ) -> npt.NDArray[np.float32]:
        return np.float32(100.0) + super().value(obs, memory, is_first)


def test_what_was_cut_off_is_valued_by_the_policy_that_decided_with_its_memory() -> None:
    """The value of a last observation is 100 and the decisions of the match that was cut off."""
    lineup = Lineup((SeatPlan((Controller(policy=0),)), SeatPlan((Controller(policy=1),))))
    pool = NativePool(
        "tic_tac_toe", {}, lineup, PoolOptions(slots=8, groups=2, threads=0, seed=4, truncate_ticks=5)
    )
    collector = Collector(pool, {0: OpinionatedActor(), 1: CountingActor(1)}, learned=(0,))
    slab = Slab(GAME, STEPS, pool.rows)
    valued: dict[int, set[int]] = {0: set(), 1: set()}  # policy -> steps at whose end a match was cut off
    decided, policy = [0] * slab.rows, [-1] * slab.rows  # of the match in play, over all slabs
    for _ in range(5):
        collector.collect(slab)
        for t in range(STEPS):
            for row in range(slab.rows):
                if slab.active[t, row]:
                    decided[row] = 1 if slab.is_first[t, row] else decided[row] + 1
                    policy[row] = int(slab.policy[t, row])
                if slab.truncated[t, row]:
                    assert slab.final_value[t, row] == (100.0 + decided[row] if policy[row] == 0 else 0.0)
                    valued[policy[row]].add(t)
                else:
                    assert slab.final_value[t, row] == 0.0
    assert 0 in valued[0]
    assert STEPS - 1 in valued[0]
    assert len(valued[1]) > 3
    pool.close()


def test_state_round_trip_and_refusal() -> None:
    collector, _, _ = play(0, 2, Controller(bot="random"))
    state = collector.state()
    other, _, _ = play(0, 2, Controller(bot="random"))
    other.time_step = 0
    other.restore(state)
    assert other.time_step == 3 * STEPS
    with pytest.raises(ValueError, match="collector state has"):
        other.restore({k: v for k, v in state.items() if k != "time_step"})
    with pytest.raises(ValueError, match=r"memory\.0"):
        other.restore(state | {"memory.0": np.zeros((2, 1), np.float32)})
    collector.pool.close()
    other.pool.close()


def test_contiguous_rows_are_views() -> None:
    assert as_index(np.array([3, 4, 5], np.int32)) == slice(3, 6)
    scattered = np.array([3, 5], np.int32)
    assert as_index(scattered) is scattered


def test_every_learned_policy_keeps_memory_and_values() -> None:
    """Two learned ids of one pool: each row's bootstrap and memory come from the policy that plays it."""
    lineup = Lineup((SeatPlan((Controller(policy=3),)), SeatPlan((Controller(policy=5),))))
    pool = NativePool(
        "tic_tac_toe", {}, lineup, PoolOptions(slots=8, groups=2, threads=0, seed=4, truncate_ticks=5)
    )
    collector = Collector(pool, {3: OpinionatedActor(), 5: CountingActor(1)}, learned=(5, 3))
    slab = Slab(GAME, STEPS, pool.rows)
    counted, cut = [0] * slab.rows, {3: 0, 5: 0}
    for _ in range(3):
        stats = collector.collect(slab)
        assert stats.steps == stats.decisions == int((slab.active[:-1] != 0).sum())
        assert set(slab.memory) == {3, 5}
        for row in range(slab.rows):
            (policy,) = set(slab.policy[:, row].tolist()) - {-1}
            assert slab.memory[policy][row, 0] == counted[row]
            assert slab.memory[8 - policy][row, 0] == 0
            own = 100.0 if policy == 3 else 0.0
            for t in range(STEPS):
                if slab.active[t, row]:
                    counted[row] = 1 if slab.is_first[t, row] else counted[row] + 1
                if slab.truncated[t, row]:
                    cut[policy] += 1
                    assert slab.final_value[t, row] == own + counted[row]
            if slab.active[STEPS, row]:
                expected = 0 if slab.is_first[STEPS, row] else counted[row]
                assert slab.value[STEPS, row] == own + expected
    assert min(cut.values()) > 3
    pool.close()


class RowActor(CountingActor):
    """Remembers what no other row does."""

    def act(self, batch: ActInput) -> Decision:
        decision = super().act(batch)
        assert decision.memory is not None
        return decision._replace(memory=decision.memory + batch.rows[:, None].astype(np.float32))


class GroupActor(RowActor):
    """Actor of several policy ids: each has the version ten times the id."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[tuple[int, int], ...]] = []

    def act(self, batch: ActInput) -> Decision:
        self.calls.append(batch.policies)
        versions = [np.full(count, 10 * policy, np.int32) for policy, count in batch.policies]
        return super().act(batch)._replace(versions=np.concatenate(versions))


def three_policies(actors: Mapping[int, CountingActor]) -> tuple[Collector, Slab]:
    drawn = tuple(Controller(policy=policy) for policy in (1, 2, 5))
    lineup = Lineup((SeatPlan((Controller(policy=0),)), SeatPlan(drawn)))
    pool = NativePool("tic_tac_toe", {}, lineup, PoolOptions(slots=24, groups=2, threads=0, seed=4))
    collector = Collector(pool, actors, learned=(0,))
    slab = Slab(GAME, STEPS, pool.rows)
    for _ in range(3):
        collector.collect(slab)
    return collector, slab


def test_an_actor_of_several_policies_decides_once_for_all_of_them() -> None:
    group = GroupActor()
    collector, slab = three_policies({0: RowActor(), 1: group, 2: group, 5: group})
    alone, expected = three_policies({p: RowActor(10 * p if p else 3) for p in (0, 1, 2, 5)})
    for name, array in expected.fields().items():
        assert np.array_equal(array, slab.fields()[name]), name
    for name, array in alone.state().items():  # memory of each policy is where it was
        assert np.array_equal(array, collector.state()[name]), name
    assert 0 < len(group.calls) <= 3 * STEPS * 2
    assert {p for call in group.calls for p, _ in call} == {1, 2, 5}
    assert any(len(call) == 3 for call in group.calls)
    for made in (collector, alone):
        made.pool.close()


def test_fresh_policies_remember_nothing() -> None:
    actors = {p: CountingActor() for p in (0, 1, 2, 5)}
    collector, _ = three_policies(actors)
    before = collector.state()
    assert all(before[f"memory.{p}"].any() for p in actors)
    collector.set_actors(actors, fresh={1, 5})
    after = collector.state()
    for policy in actors:
        kept = np.zeros_like(before["memory.1"]) if policy in (1, 5) else before[f"memory.{policy}"]
        assert np.array_equal(after[f"memory.{policy}"], kept)
    collector.pool.close()


def test_rows_without_an_actor_are_an_error() -> None:
    with pytest.raises(RuntimeError, match=r"rows of policies \[5\]"):
        three_policies({p: CountingActor() for p in (0, 1, 2)})
