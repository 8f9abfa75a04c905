"""The native pool from Python, against tic-tac-toe played in Python."""

from __future__ import annotations

import gc
import json
import signal
import weakref
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import msgspec
import numpy as np
import pytest

from ludus.flow import Controller, Lineup, MatchResult, PoolOptions, SeatPlan, Slab, Terms
from ludus.flow.slab import Array
from ludus.native import core
from ludus.pool import MatchError
from ludus.pool.native import NativePool

LEARNED = Lineup(plans=(SeatPlan((Controller(policy=0),)), SeatPlan((Controller(policy=1),))))
BOTS = Lineup(plans=(SeatPlan((Controller(bot="random"),)), SeatPlan((Controller(bot="perfect"),))))
AGAINST_BOT = Lineup(plans=(SeatPlan((Controller(policy=0),)), SeatPlan((Controller(bot="random"),))))


def make(lineup: Lineup = LEARNED, game: str = "tic_tac_toe", **options: Any) -> NativePool:  # noqa: ANN401
    return NativePool(game, {}, lineup, PoolOptions(**{"slots": 12, "seed": 5, **options}))


def play(pool: NativePool, slab: Slab, steps: int | None = None) -> list[MatchResult]:
    """Random legal decisions through the slab; every group is received last."""
    results: list[MatchResult] = []
    for g in range(pool.groups):
        pool.attach(g, slab)
    for t in range(slab.steps if steps is None else steps):
        for g in range(pool.groups):
            batch = pool.recv(g)
            assert (batch.group, batch.t, batch.rows) == (g, t, pool.group_rows(g))
            results += batch.results
            pool.random_actions(g, seed=2)
            pool.send(g)
    for g in range(pool.groups):
        results += pool.recv(g).results
    return sorted(results, key=lambda r: r.match)


def known(slab: Slab) -> dict[str, Array]:
    """Everything in a slab that is defined: bytes of inactive rows are not."""
    on = slab.active.astype(bool)
    fields = {k: v.copy() for k, v in slab.fields().items() if k not in ("actions", "mask")}
    out = {k: v[on] if k.startswith("obs.") else v for k, v in fields.items()}
    return {**out, "mask": slab.mask[on], "actions": slab.actions[on[:-1]]}


def assert_same(a: dict[str, Array], b: dict[str, Array]) -> None:
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def test_slabs_hold_tic_tac_toe_as_python_plays_it() -> None:
    """Every moment of every slot: observation, mask, who acts, first, reward, end, result."""
    pool = make(threads=2, groups=3)
    slab = Slab(pool.spec, 60, pool.rows)
    results = iter(play(pool, slab))
    played: list[tuple[int, tuple[float, ...], int]] = []
    assert pool.rows == 24
    for slot in range(12):
        board, mover, moves, number = [-1] * 9, 0, 0, slot
        for t in range(60):
            rows = [2 * slot, 2 * slot + 1]
            r, other = rows[mover], rows[1 - mover]
            assert list(pool.row_seat[rows]) == [0, 1]
            assert list(pool.row_slot[rows]) == [slot, slot]
            assert slab.active[t, r] == 1
            assert slab.active[t, other] == 0
            assert slab.policy[t, r] == (mover + slot) % 2  # plans rotate by slot
            assert slab.policy[t, other] == -1
            assert slab.is_first[t, r] == (moves < 2)
            bits = np.unpackbits(slab.obs["board"][t, r], bitorder="little")[:18]
            assert list(bits[:9]) == [int(c == mover) for c in board]
            assert list(bits[9:]) == [int(c == 1 - mover) for c in board]
            assert list(slab.mask[t, r]) == [int(c < 0) for c in board]
            cell = int(slab.actions[t, r, 0])
            assert board[cell] < 0
            board[cell] = mover
            moves += 1
            won = any(all(board[c] == mover for c in line) for line in LINES)
            over = won or moves == 9
            assert slab.reward[t, r] == float(won)
            assert slab.reward[t, other] == -float(won)
            both = moves > 1
            assert [slab.terminated[t, r], slab.terminated[t, other]] == [over, over and both]
            assert not slab.truncated[t].any()
            mover = 1 - mover
            if over:
                outcome: tuple[float, ...] = (
                    (0.0, 0.0) if not won else ((1.0, -1.0) if mover == 1 else (-1.0, 1.0))
                )
                played.append((number, outcome, moves))
                board, mover, moves, number = [-1] * 9, 0, 0, number + 12
    for number, outcome, moves in sorted(played):
        result = next(results)
        assert (result.match, result.outcome, result.ticks) == (number, outcome, moves)
        assert (result.slot, result.seed, result.decisions) == (number % 12, 5, moves)
        assert result.returns == outcome
        plans = (0, 1) if result.slot % 2 == 0 else (1, 0)
        assert result.plan_of_seat == plans
        assert result.players == tuple(f"policy:{p}" for p in plans)
        assert not result.truncated
        assert result.error == ""
    assert next(results, None) is None


def test_threads_and_groups_change_nothing() -> None:
    first: dict[str, Array] = {}
    first_results: list[MatchResult] = []
    for threads in (0, 1, 2, 8):
        for groups in (1, 2, 4):
            with make(threads=threads, groups=groups) as pool:
                slab = Slab(pool.spec, 40, pool.rows)
                results = play(pool, slab)
            if not first:
                first, first_results = known(slab), results
            assert_same(known(slab), first)
            assert results == first_results


def test_final_observations_belong_to_the_rows_that_ended() -> None:
    pool = make(groups=1)
    slab = Slab(pool.spec, 30, pool.rows)
    pool.attach(0, slab)
    seen = 0
    for t in range(30):
        batch = pool.recv(0)
        if t > 0:
            ended = np.flatnonzero(slab.terminated[t - 1])
            np.testing.assert_array_equal(batch.final_rows, ended)
            for row, board in zip(batch.final_rows, batch.final_obs["board"], strict=True):
                bits = np.unpackbits(board, bitorder="little")[:18]
                marks = int(bits.sum())
                ticks = {r.slot: r.ticks for r in batch.results}
                assert marks == ticks[int(pool.row_slot[row])]
                seen += 1
        pool.random_actions(0)
        pool.send(0)
    assert seen > 50


def test_bots_play_their_schedule_without_a_slab() -> None:
    for threads in (0, 1, 3):
        pool = make(BOTS, threads=threads, groups=3, num_matches=300)
        assert pool.rows == 0
        results: list[MatchResult] = []
        while not pool.finished:
            batch = pool.recv()
            results += batch.results
            assert batch.policy_rows == {}
            pool.send(batch.group)
        assert sorted(r.match for r in results) == list(range(300))
        for r in results:
            perfect = r.players.index("perfect")
            assert r.plan_of_seat[perfect] == 1
            assert r.outcome[perfect] >= 0
        assert any(r.outcome == (0.0, 0.0) for r in results)
        stats = pool.stats()
        assert stats.matches == 300
        assert stats.bot_decisions == stats.ticks == sum(r.ticks for r in results)
        assert stats.decisions == stats.errors == 0


def test_a_schedule_ends_with_idle_rows() -> None:
    pool = make(AGAINST_BOT, num_matches=30, groups=2)
    slab = Slab(pool.spec, 30, pool.rows)
    results = play(pool, slab)
    assert [r.match for r in results] == list(range(30))
    assert pool.finished
    assert not slab.active[-1].any()
    assert (slab.policy[-1] == -1).all()
    # The learner's row gets the end of each match in which it moved, whichever seat moved last.
    assert int(slab.terminated.sum()) == sum(r.decisions > 0 for r in results)


def test_each_seat_has_its_own_frame_skip() -> None:
    lineup = Lineup(
        plans=(
            SeatPlan((Controller(policy=0),), frame_skip=50),
            SeatPlan((Controller(policy=1),), frame_skip=20),
        ),
        rotate=False,
    )
    pool = make(lineup, "minirts", slots=2, groups=1)
    slab = Slab(pool.spec, 12, pool.rows)
    pool.attach(0, slab)
    ticks = []
    for t in range(12):
        pool.recv(0)
        tick = json.loads(pool.slot_view(0))["tick"]
        ticks.append(tick)
        assert slab.active[t, 0] == (tick % 50 == 0)
        assert slab.active[t, 1] == (tick % 20 == 0)
        pool.random_actions(0)
        pool.send(0)
    # No seat may act at tick 0 of MiniRTS.
    assert ticks == [20, 40, 50, 60, 80, 100, 120, 140, 150, 160, 180, 200]


def test_the_handover_bot_plays_the_first_ticks() -> None:
    plan = SeatPlan((Controller(policy=0),), frame_skip=10, handover_bot="simple", handover_ticks=60)
    lineup = Lineup(plans=(plan, SeatPlan((Controller(bot="simple"),), frame_skip=10)), rotate=False)
    pool = make(lineup, "minirts", slots=32, groups=1)
    slab = Slab(pool.spec, 1, pool.rows)
    pool.attach(0, slab)
    pool.recv(0)
    ticks = {json.loads(pool.slot_view(s))["tick"] for s in range(32)}
    assert ticks <= {10, 20, 30, 40, 50, 60}
    assert len(ticks) >= 4
    assert slab.is_first[0].all()
    pool.set_terms(Terms(handover=0))
    pool.reset(range(32))
    pool.send(0)
    pool.recv(0)
    assert {json.loads(pool.slot_view(s))["tick"] for s in range(32)} == {10}


def test_a_mixture_draws_bots_and_policies_by_weight() -> None:
    both = SeatPlan((Controller(policy=0, weight=1.0), Controller(bot="random", weight=3.0)))
    pool = make(Lineup(plans=(both, SeatPlan((Controller(bot="perfect"),)))), num_matches=800, slots=20)
    slab = Slab(pool.spec, 100, pool.rows)
    results = play(pool, slab)
    while not pool.finished:
        results += play(pool, slab)
    assert len(results) == 800
    learned = sum("policy:0" in r.players for r in results)
    assert 150 < learned < 250
    for r in results:
        assert (r.decisions > 0) == ("policy:0" in r.players)


def test_a_refused_action_raises_once_and_the_pool_continues() -> None:
    pool = make(groups=1, threads=1)
    slab = Slab(pool.spec, 5, pool.rows)
    pool.attach(0, slab)
    batch = pool.recv(0)
    pool.random_actions(0)
    slab.actions[0, batch.policy_rows[1][0]] = 9
    pool.send(0)
    with pytest.raises(
        MatchError, match=r"tic_tac_toe: match 1 \(slot 1, seed 5\) failed at tick 0"
    ) as caught:
        pool.recv(0)
    error = caught.value
    assert (error.game, error.slot, error.seed, error.match, error.tick) == ("tic_tac_toe", 1, 5, 1, 0)
    assert "is not in [0, 9)" in error.message
    batch = pool.recv(0)
    assert batch.t == 1
    (result,) = batch.results
    assert result.truncated
    assert "is not in [0, 9)" in result.error
    assert result.outcome == (0.0, 0.0)
    assert list(batch.final_rows) == [int(np.flatnonzero(slab.truncated[0])[0])]
    assert slab.active[1].sum() == 12
    pool.random_actions(0)
    pool.send(0)
    assert pool.recv(0).t == 2
    assert pool.stats().errors == 1


def test_errors_can_be_left_in_the_results() -> None:
    pool = make(groups=1, on_error="truncate")
    slab = Slab(pool.spec, 2, pool.rows)
    pool.attach(0, slab)
    pool.recv(0)
    slab.actions[0] = 99
    pool.send(0)
    batch = pool.recv(0)
    assert len(batch.results) == 12
    assert all(r.error and r.truncated for r in batch.results)


def test_a_restored_snapshot_continues_bit_for_bit() -> None:
    options: dict[str, Any] = {"record": "all", "hash_every": 2}
    pool = make(groups=2, threads=2, **options)
    slab = Slab(pool.spec, 30, pool.rows)
    play(pool, slab, steps=17)
    data = pool.snapshot()
    after = Slab(pool.spec, 30, pool.rows)
    results = play(pool, after)
    copy = make(groups=3, threads=0, **options)
    copy.restore(data)
    with pytest.raises(ValueError, match="attach a slab"):
        copy.recv(0)
    again = Slab(copy.spec, 30, copy.rows)
    assert play(copy, again) == results
    assert_same(known(again), known(after))
    for r in results:
        assert json.loads(core.replay_verify(r.replay))["same"]
    for bad in (b"", b"LUDUSPOL", data[:-1], data + b"x", b"X" + data[1:]):
        with pytest.raises(ValueError, match="restore"):
            copy.restore(bad)
    with pytest.raises(ValueError, match="matches=12, this one has matches=13"):
        make(slots=13).restore(data)


def test_ready_first_order_can_be_replayed_exactly() -> None:
    def run(**options: Any) -> tuple[list[int], list[MatchResult]]:  # noqa: ANN401
        pool = make(AGAINST_BOT, groups=6, threads=3, **options)
        slab = Slab(pool.spec, 20, pool.rows)
        for g in range(6):
            pool.attach(g, slab)
        results: list[MatchResult] = []
        left = 6 * 20
        while left:
            batch = pool.recv()
            results += batch.results
            if batch.t < 20:
                pool.random_actions(batch.group, seed=len(results))  # depends on the order of arrival
                pool.send(batch.group)
                left -= 1
        arrivals = pool.arrivals
        pool.close()
        return arrivals, results

    order, results = run(log_arrivals=True)
    assert len(order) >= 120
    assert set(order) == set(range(6))
    assert run(log_arrivals=True, follow=order) == (order, results)


def test_each_autoreset_mode_shows_the_next_match_in_its_way() -> None:
    pool = make(AGAINST_BOT, autoreset="next_step", groups=1)
    slab = Slab(pool.spec, 40, pool.rows)
    play(pool, slab)
    ended = slab.terminated[:-1].astype(bool)
    assert ended.sum() > 20
    assert not slab.active[1:-1][ended].any()
    assert slab.is_first[2:][ended].all()
    pool = make(AGAINST_BOT, autoreset="off", groups=1)
    slab = Slab(pool.spec, 10, pool.rows)
    assert len(play(pool, slab)) == 12
    assert not slab.active[-1].any()
    pool.attach(0, slab)
    pool.recv(0)
    pool.reset([3])
    pool.send(0)
    pool.recv(0)
    assert list(np.flatnonzero(slab.active[1])) == [3]


def test_matches_are_cut_off_after_truncate_ticks() -> None:
    pool = make(truncate_ticks=4, groups=1)
    slab = Slab(pool.spec, 40, pool.rows)
    results = play(pool, slab)
    assert not slab.terminated.any()
    assert int(slab.truncated.sum()) == 2 * len(results)
    assert all(r.truncated and r.ticks == 4 and r.outcome == (0.0, 0.0) for r in results)


def twice(controller: Controller, frame_skip: int = 0, handover_ticks: int = 0) -> Lineup:
    return Lineup(plans=(SeatPlan((controller,), frame_skip, "", handover_ticks),) * 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lineup": twice(Controller(bot="perfct"))}, "did you mean perfect"),
        ({"lineup": Lineup(plans=(SeatPlan((Controller(policy=0),)),))}, "has 2 seats, the lineup 1 plans"),
        ({"lineup": Lineup(plans=(SeatPlan(()),) * 2)}, "no controllers"),
        ({"lineup": twice(Controller())}, "expected a bot, a policy or both"),
        ({"lineup": twice(Controller(policy=0, weight=0.0))}, "sum to 0"),
        ({"lineup": twice(Controller(policy=0, weight=-1.0))}, "weight=-1"),
        (
            {"lineup": twice(Controller(policy=0, weight=float("nan")))},
            "weight=nan",
        ),
        ({"lineup": twice(Controller(policy=99999))}, "policy 99999"),
        (
            {"lineup": twice(Controller(policy=0), handover_ticks=5)},
            "handover_bot",
        ),
        ({"lineup": twice(Controller(policy=0), frame_skip=-1)}, "frame_skip=-1"),
        ({"slots": 0}, "slots=0"),
        ({"groups": 13}, "groups=13"),
        ({"groups": 0}, "groups=0"),
        ({"threads": -1}, "threads=-1"),
        ({"seed": -1}, "seed=-1"),
        ({"num_matches": -1}, "num_matches=-1"),
        ({"truncate_ticks": -1}, "truncate_ticks=-1"),
        ({"autoreset": "sometimes"}, "expected same_step, next_step or off"),
        ({"on_error": "ignore"}, "on_error='ignore'"),
        ({"record": "some"}, "record='some'"),
        ({"hash_every": 0}, "hash_every=0"),
        ({"game": "tic_tac_to"}, "tic_tac_toe"),
        ({"params": {"open": "seat0"}}, "opens"),
    ],
)
def test_invalid_arguments_are_refused(change: dict[str, Any], message: str) -> None:
    arguments = {"game": "tic_tac_toe", "params": {}, "lineup": LEARNED, "slots": 12, **change}
    game, params, lineup = (arguments.pop(name) for name in ("game", "params", "lineup"))
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        NativePool(game, params, lineup, PoolOptions(**arguments))


@pytest.mark.parametrize("name", ["slots", "groups", "threads", "autoreset", "record"])
def test_an_option_of_the_wrong_type_is_named(name: str) -> None:
    option: dict[str, Any] = {name: [1.5]}
    with pytest.raises(TypeError, match=name):
        make(**option)


def broken(name: str, value: Callable[[Array], Array]) -> Callable[[Slab], None]:
    def change(slab: Slab) -> None:
        if name.startswith("obs."):
            slab.obs[name[4:]] = value(slab.obs[name[4:]])
        else:
            setattr(slab, name, value(getattr(slab, name)))

    return change


def readonly(a: Array) -> Array:
    a = a.copy()
    a.flags.writeable = False
    return a


@pytest.mark.parametrize(
    "change",
    [
        broken("actions", lambda a: a.astype(np.int64)),
        broken("reward", lambda a: a.astype(np.float64)),
        broken("mask", lambda a: a[:, :, :-1].copy()),
        broken("mask", lambda a: np.asfortranarray(a)),
        broken("active", lambda a: a[:-1]),
        broken("is_first", readonly),
        broken("obs.board", lambda a: a[:, :-1].copy()),
        broken("obs.board", lambda a: np.zeros((*a.shape[:2], 4), np.uint8)),
    ],
)
def test_slabs_that_do_not_fit_are_refused(change: Callable[[Slab], None]) -> None:
    pool = make()
    slab = Slab(pool.spec, 4, pool.rows)
    change(slab)
    with pytest.raises(ValueError, match="slab"):
        pool.attach(0, slab)
    pool.attach(0, Slab(pool.spec, 4, pool.rows))
    assert pool.recv(0).t == 0


def test_a_pool_keeps_its_slabs_alive_and_releases_them() -> None:
    pool = make(groups=1, threads=2)
    slab = Slab(pool.spec, 4, pool.rows)
    alive = weakref.ref(slab)
    pool.attach(0, slab)
    del slab
    gc.collect()
    assert alive() is not None
    pool.recv(0)
    pool.attach(0, Slab(pool.spec, 4, pool.rows))
    gc.collect()
    assert alive() is None
    pool.recv(0)
    pool.random_actions(0)
    pool.send(0)
    del pool  # with its group in flight
    gc.collect()


def test_a_closed_pool_refuses_every_call() -> None:
    pool = make()
    slab = Slab(pool.spec, 4, pool.rows)
    pool.attach(0, slab)
    pool.close()
    pool.close()
    for call in (
        lambda: pool.recv(0),
        lambda: pool.send(0),
        lambda: pool.attach(1, slab),
        lambda: pool.random_actions(0),
        pool.snapshot,
    ):
        with pytest.raises(ValueError, match="the pool is closed"):
            call()


@pytest.fixture
def ring_after() -> Iterator[Callable[[float], None]]:
    """Set something like Ctrl-C, raised out of whatever the main thread does then."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)

    def start(seconds: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds)

    yield start
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("threads", [0, 2])
def test_an_interrupt_ends_recv(threads: int, ring_after: Callable[[float], None]) -> None:
    plan = SeatPlan((Controller(bot="noop"),))  # matches last until the tick limit
    pool = make(Lineup(plans=(plan, plan)), "minirts", slots=200, groups=1, threads=threads)
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the alarm may interrupt before recv starts
        ring_after(0.3)
        while True:
            pool.recv()
            pool.send(0)
    pool.close()


def test_results_are_plain_structs() -> None:
    results = play(pool := make(groups=1), Slab(pool.spec, 20, pool.rows))
    assert msgspec.json.decode(msgspec.json.encode(results), type=list[MatchResult]) == results


@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
def test_tensors_that_are_not_inputs_stay_unwritten(autoreset: str) -> None:
    lineup = Lineup(plans=(SeatPlan((Controller(policy=0),)), SeatPlan((Controller(bot="simple"),))))

    def run(inputs: tuple[str, ...]) -> tuple[Slab, list[dict[str, Array]], list[MatchResult]]:
        options = {"slots": 4, "groups": 1, "threads": 0, "autoreset": autoreset, "truncate_ticks": 700}
        with make(lineup, "minirts", inputs=inputs, **options) as pool:
            slab = Slab(pool.spec, 40, pool.rows)
            slab.obs["cells"][:] = 7
            slab.obs["units"][:] = 7
            pool.attach(0, slab)
            finals, results = [], []
            for _ in range(slab.steps):
                batch = pool.recv(0)
                finals.append({n: a.copy() for n, a in batch.final_obs.items()})
                results += batch.results
                pool.random_actions(0, seed=3)
                pool.send(0)
            pool.recv(0)
        return slab, finals, results

    some, some_finals, some_results = run(("globals",))
    every, all_finals, all_results = run(())
    assert some_results == all_results
    assert len(some_results) > 3
    shown = some.active.astype(bool)
    assert np.array_equal(some.obs["globals"][shown], every.obs["globals"][shown])
    assert np.array_equal(some.mask[shown], every.mask[shown])
    for few, full in zip(some_finals, all_finals, strict=True):
        assert np.array_equal(few["globals"], full["globals"])
    for name in ("cells", "units"):
        assert (some.obs[name] == 7).all()
        assert not (every.obs[name][shown] == 7).all()


def test_inputs_must_be_tensors_of_the_game() -> None:
    with pytest.raises(ValueError, match=r"tic_tac_toe does not observe 'bord' \(did you mean board\?\)"):
        make(inputs=("bord",))
