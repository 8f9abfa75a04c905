"""Standing orders, in the native pool and in the pool of Python games."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from ludus.flow import Controller, Lineup, MatchResult, PoolOptions, SeatPlan, Slab, StepBatch
from ludus.flow.lineups import lineup_of
from ludus.flow.slab import Array
from ludus.games import replays, spec
from ludus.games.names import typed
from ludus.pool.hosted.process import ProcessPool
from ludus.pool.native import NativePool
from ludus.pool.orders import Controllers
from ludus.pool.protocol import Pool

GAMES = Path(__file__).parent / "hosted_games.py"
DUEL = typed("tests.unit.pool.hosted_games:Duel")
LEARNER = SeatPlan((Controller(policy=0),))
LANES = SeatPlan(tuple(Controller(policy=p) for p in (1, 2, 3)))
LINEUP = Lineup((LEARNER, LANES))
SLOTS, STEPS = 12, 40
Orders = tuple[npt.NDArray[np.int32], npt.NDArray[np.uint64]]
Make = Callable[[], Pool]


def native(threads: int = 1, groups: int = 2) -> NativePool:
    return NativePool(
        "tic_tac_toe",
        {},
        LINEUP,
        PoolOptions(slots=SLOTS, groups=groups, threads=threads, seed=5, record="all"),
    )


def process(workers: int = 0, groups: int = 2) -> ProcessPool:
    return ProcessPool(
        DUEL,
        {},
        LINEUP,
        PoolOptions(
            slots=SLOTS, groups=groups, threads=workers, seed=5, truncate_ticks=30, record=range(10_000)
        ),
    )


BOTH = pytest.mark.parametrize("make", [native, process])


def orders_of(round_: int) -> Orders:
    """Other lanes and tags in every slot and round; every fourth slot draws."""
    slots = np.arange(SLOTS)
    drawn = (slots + round_) % 4 == 3
    lanes = np.where(drawn, -1, (slots + round_) % 3)
    orders = np.stack([np.where(drawn, -1, 0), lanes], axis=1).astype(np.int32)
    tags = np.where(drawn, 0, 2**63 + 1000 * round_ + slots.astype(np.uint64)).astype(np.uint64)
    return orders, tags


def decide(batch: StepBatch) -> None:
    """Policy 1 makes the lowest legal choice, policy 2 the highest, the others one that varies."""
    for policy, rows in batch.policy_rows.items():
        for row in rows.tolist():
            legal = np.flatnonzero(batch.slab.mask[batch.t, row])
            pick = {1: 0, 2: -1}.get(policy, (row * 7 + batch.t * 5) % len(legal))
            batch.slab.actions[batch.t, row, 0] = legal[pick]


def play(pool: Pool, slab: Slab) -> list[MatchResult]:
    results: list[MatchResult] = []
    for g in range(pool.groups):
        pool.attach(g, slab)
    for _ in range(slab.steps):
        for g in range(pool.groups):
            batch = pool.recv(g)
            results += batch.results
            decide(batch)
            pool.send(g)
    for g in range(pool.groups):
        results += pool.recv(g).results
    return sorted(results, key=lambda r: r.match)


def in_play(pool: Pool) -> tuple[list[int], Controllers]:
    parts = [pool.in_play(g) for g in range(pool.groups)]
    return np.concatenate([p.tags for p in parts]).tolist(), np.concatenate([p.controllers for p in parts])


def legal_choices(game: str, moves: list[int]) -> list[int]:
    if game == "tic_tac_toe":
        return [cell for cell in range(9) if cell not in moves]
    return [1, 2] if moves and moves[-1] == 2 else [0, 1, 2]


def moved_as(policy: int, result: MatchResult, seat: int) -> bool:
    """Whether policy 1 or 2 made the moves of a seat."""
    game, moves, fits = replays.info(result.replay).game, list[int](), True
    for decision in replays.decisions(result.replay):
        (move,) = decision.action
        legal = legal_choices(game, moves)
        if decision.seat == seat:
            fits = fits and move == (min(legal) if policy == 1 else max(legal))
        moves.append(move)
    return fits


@pytest.mark.parametrize(
    "make",
    [native, lambda: native(3, 3), process, lambda: process(2)],
    ids=["native", "threads", "in", "out"],
)
def test_every_result_belongs_to_the_players_of_its_tag(make: Make) -> None:
    lane_of_tag: dict[int, int] = {}
    told_apart = 0
    pool = make()
    slab = pool.slab(STEPS)
    before: list[int] = [0] * SLOTS
    for round_ in range(6):
        orders, tags = orders_of(round_) if round_ else (np.full((SLOTS, 2), -1), np.zeros(SLOTS, np.uint64))
        pool.set_orders(orders, tags)
        lane_of_tag.update(zip(tags.tolist(), orders[:, 1].tolist(), strict=True))
        by_slot: dict[int, list[MatchResult]] = defaultdict(list)
        for r in play(pool, slab):
            by_slot[r.slot].append(r)
        now, controllers = in_play(pool)
        assert (controllers >= 0).all()
        for slot in range(SLOTS):
            new = int(tags[slot])
            first = before[slot] if round_ else 0
            assert [r.tag for r in by_slot[slot]] == [first, *[new] * (len(by_slot[slot]) - 1)]
            assert now[slot] == (new if by_slot[slot] else first)
            if now[slot]:
                assert controllers[slot].tolist() == [0, lane_of_tag[now[slot]]]
            for r in by_slot[slot]:
                seat = r.plan_of_seat.index(1)
                assert r.players[1 - seat] == "policy:0"
                policy = lane_of_tag[r.tag] + 1 if r.tag else int(r.players[seat].removeprefix("policy:"))
                assert r.players[seat] == f"policy:{policy}"
                if policy < 3:
                    assert moved_as(policy, r, seat)
                    assert not moved_as(3 - policy, r, seat)
                    told_apart += r.tag > 0
        before = now
    pool.close()
    assert told_apart > 50


@BOTH
def test_orders_of_minus_one_equal_no_orders(make: Make) -> None:
    slabs, results = [], []
    for orders in (None, (np.full((SLOTS, 2), -1), np.zeros(SLOTS, np.uint64))):
        pool = make()
        if orders is not None:
            pool.set_orders(*orders)
        slabs.append(pool.slab(STEPS))
        results.append(play(pool, slabs[-1]))
        pool.close()
    assert results[0] == results[1]
    for name, array in slabs[0].fields().items():
        np.testing.assert_array_equal(array, slabs[1].fields()[name], err_msg=name)


@pytest.mark.parametrize("make", [native, process])
def test_orders_are_the_same_for_any_threads_and_groups(make: Callable[[int, int], Pool]) -> None:
    expected: list[MatchResult] = []
    for threads in (0, 1, 3):
        for groups in (1, 3):
            pool = make(threads, groups)
            slab = pool.slab(STEPS)
            results: list[MatchResult] = []
            for round_ in range(3):
                pool.set_orders(*orders_of(round_))
                results += play(pool, slab)
            pool.close()
            expected = expected or results
            assert results == expected
    assert len({r.tag for r in expected}) > 20


def test_a_snapshot_carries_orders_and_tags() -> None:
    with native() as pool:
        slab = pool.slab(STEPS)
        pool.set_orders(*orders_of(1))
        play(pool, slab)
        tags = in_play(pool)[0]
        pool.set_orders(*orders_of(2))
        data = pool.snapshot()
        expected = play(pool, slab)
    assert set(tags) & {r.tag for r in expected}
    with native(0, 4) as other:
        other.set_orders(*orders_of(3))
        other.restore(data)
        assert in_play(other)[0] == tags
        assert play(other, other.slab(STEPS)) == expected


def test_a_snapshot_of_python_games_carries_orders() -> None:
    with process() as pool:
        assert (pool.in_play(0).controllers == -1).all()
        play(pool, pool.slab(STEPS))
        old = pool.snapshot()
        assert b"orders" not in old
        pool.set_orders(*orders_of(1))
        data = pool.snapshot()
    with process(1) as other:
        other.restore(data)
        assert (other.in_play(0).controllers == -1).all()
        results = play(other, other.slab(STEPS))
        tags = orders_of(1)[1].tolist()
        assert all(r.tag == tags[r.slot] for r in results)
        assert {r.slot for r in results} == set(range(SLOTS))
        other.restore(old)
        assert {r.tag for r in play(other, other.slab(STEPS))} == {0}


@pytest.mark.parametrize(
    "forged",
    [
        {"orders": [[0, 3]] * SLOTS},
        {"orders": [[0, -2]] * SLOTS},
        {"orders": [[0, 2**80]] * SLOTS},
        {"orders": [[0]] * SLOTS},
        {"orders": [[0, 1], [0]]},
        {"orders": [[0, 1]] * (SLOTS - 1)},
        {"orders": []},
        {"tags": [7] * SLOTS},
        {"tags": [-1] * SLOTS},
        {"tags": [2**64] * SLOTS},
        {"tags": [1]},
        {"tags": []},
        {"tags": "none"},
        {"matches": [2**70] * SLOTS},
        {"matches": [-3] * SLOTS},
        {"matches": [0]},
    ],
)
def test_forged_snapshots_of_python_games_change_nothing(forged: dict[str, object]) -> None:
    with process() as pool:
        pool.set_orders(*orders_of(1))
        data = pool.snapshot()
        head, body = data.split(b"\n", 1)
        stored = msgspec.json.decode(body, type=dict[str, object])
        with pytest.raises(ValueError, match="snapshot"):
            pool.restore(head + b"\n" + msgspec.json.encode({**stored, **forged}))
        assert pool.snapshot() == data


@BOTH
def test_wrong_orders_are_refused_and_change_nothing(make: Make) -> None:
    orders, tags = orders_of(1)

    def changed(array: Array, at: object, value: int) -> Array:
        out = array.astype(np.int64) if array.ndim == 2 else array.copy()
        out[at] = value  # type: ignore[index]
        return out

    pool = make()
    pool.set_orders(orders, tags)
    before = pool.snapshot() if isinstance(pool, ProcessPool) else b""
    wrong: list[tuple[Any, Any, str]] = [
        (orders[:5], tags, r"orders of shape \[5, 2\], expected \[12, 2\]"),
        (orders, tags[:5], r"tags of shape \[5\], expected \[12\]"),
        (orders.astype(np.float32), tags, "orders of type float32, expected an array of integers"),
        (orders, tags != 0, "tags of type bool, expected an array of integers"),
        (changed(orders, (3, 1), 3), tags, r"slot 3, plan 1: controller 3, expected -1 \(drawn\) or 0..2"),
        (changed(orders, (4, 0), 1), tags, r"slot 4, plan 0: controller 1, expected -1 \(drawn\) or 0..0"),
        (changed(orders, (5, 1), -2), tags, "slot 5, plan 1: controller -2"),
        (changed(orders, (5, 1), 2**40), tags, "slot 5, plan 1: controller 1099511627776"),
        (orders, changed(tags, 2, 9), "slot 2 has tag 9 and no order"),
        (orders, np.full(SLOTS, -4), "slot 0: tag -4, expected an integer >= 0"),
    ]
    for bad, named, text in wrong:
        with pytest.raises(ValueError, match=f"set_orders: {text}"):
            pool.set_orders(bad, named)
    if before:
        assert pool.snapshot() == before
    results = play(pool, pool.slab(20))
    assert {r.tag for r in results} <= set(tags.tolist())
    assert len(results) > SLOTS // 2
    pool.close()


def test_in_play_waits_for_its_group() -> None:
    for pool in (native(), process()):
        slab = pool.slab(4)
        pool.attach(0, slab)
        pool.attach(1, slab)
        with pytest.raises(ValueError, match="in_play: group 1 is playing; receive it first"):
            pool.in_play(1)
        pool.recv(1)
        assert pool.in_play(1).controllers.shape == (SLOTS // 2, 2)
        pool.close()


def test_games_of_one_seat_and_vectorised_games_follow_orders() -> None:
    pytest.importorskip("gymnasium")
    lineup = Lineup((SeatPlan((Controller(policy=0), Controller(policy=1))),))
    for game in (typed(str(GAMES)), "gymnasium/CartPole-v1"):
        with ProcessPool(game, {}, lineup, PoolOptions(slots=4, groups=1, threads=0, seed=1)) as pool:
            slab = pool.slab(100)
            for round_ in (1, 2):
                lanes = np.array([[0], [1], [round_ - 1], [-1]])
                pool.set_orders(lanes, np.array([10, 20, 30, 0]) * round_)
                pool.attach(0, slab)
                results = []
                for _ in range(slab.steps):
                    batch = pool.recv(0)
                    results += batch.results
                    pool.random_actions(0)
                    pool.send(0)
                results += pool.recv(0).results
                for slot in range(3):
                    mine = [r for r in results if r.slot == slot][1:]  # the first was in play
                    assert mine
                    assert {r.tag for r in mine} == {10 * (slot + 1) * round_}
                    assert {r.players for r in mine} == {(f"policy:{lanes[slot, 0]}",)}
                assert {r.tag for r in results if r.slot == 3} == {0}


TEAM = {"mode": "team", "max_steps": "20"}
MIXED = SeatPlan(tuple(Controller(bot=b) for b in ("simple", "random", "noop")))


def test_an_order_for_a_plan_of_a_team_holds_for_the_team() -> None:
    game = spec("pommerman", TEAM)
    orders = np.full((6, 4), -1)
    orders[:, 1] = np.arange(6) % 3
    orders[4:, 3] = orders[4:, 1]
    tags = np.arange(1, 7)
    with NativePool(
        "pommerman", TEAM, lineup_of(game, MIXED, MIXED), PoolOptions(slots=6, num_matches=24)
    ) as pool:
        orders[0, 3] = 2
        with pytest.raises(ValueError, match=r"slot 0: plans \[1, 3\] are a team .* are \[0, 2\]"):
            pool.set_orders(orders, tags)
        orders[0, 3] = -1
        pool.set_orders(orders, tags)
        results: list[MatchResult] = []
        while not pool.finished:
            batch = pool.recv()
            results += batch.results
            pool.send(batch.group)
    assert len(results) == 24
    for r in results:
        assert r.tag == r.slot + 1
        team = [r.players[r.plan_of_seat.index(p)] for p in (1, 3)]
        assert team == [("simple", "random", "noop")[r.slot % 3]] * 2
        assert r.players[r.plan_of_seat.index(0)] == r.players[r.plan_of_seat.index(2)]
    orders[:, 2] = [0, 0, 0, 2, 0, 0]
    lineup = Lineup((LEARNER, MIXED, MIXED, MIXED))
    with (
        NativePool("pommerman", TEAM, lineup, PoolOptions(slots=6)) as short,
        pytest.raises(ValueError, match=r"slot 3: controller 2 for the team of plans \[0, 2\]; plan 0 has"),
    ):
        short.set_orders(orders, tags)
