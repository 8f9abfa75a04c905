"""The pool of Python games: its slabs, any number of workers, failures."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludus.flow import Controller, Lineup, MatchResult, PoolOptions, SeatPlan, Slab, StepBatch
from ludus.flow.seeds import match_seed
from ludus.games.names import typed
from ludus.native import ParamError
from ludus.pool import MatchError, PoolError
from ludus.pool.factory import make_pool
from ludus.pool.hosted.process import ProcessPool
from ludus.pool.native import NativePool

GAMES = Path(__file__).parent / "hosted_games.py"
WALK = typed(str(GAMES))
DUEL = typed("tests.unit.pool.hosted_games:Duel")
WAGES = typed("tests.unit.pool.hosted_games:Wages")
ONE = Lineup((SeatPlan((Controller(policy=0),)),))
TWO = Lineup((SeatPlan((Controller(policy=0),)), SeatPlan((Controller(policy=1),))))
Act = Callable[[StepBatch], None]


def walk(params: dict[str, object] | None = None, **more: object) -> ProcessPool:
    settings: dict[str, object] = {"slots": 4, "groups": 2, "threads": 2, "seed": 5, "on_error": "truncate"}
    return ProcessPool(WALK, params or {}, ONE, PoolOptions(**{**settings, **more}))  # type: ignore[arg-type]


def ones(batch: StepBatch) -> None:
    """Act by a deterministic policy: choice (row + t) mod 3."""
    rows = np.arange(batch.rows.start, batch.rows.stop)
    batch.slab.actions[batch.t, batch.rows, 0] = (rows + batch.t) % 3


def play(pool: ProcessPool, slab: Slab, act: Act = ones) -> list[MatchResult]:
    results: list[MatchResult] = []
    for g in range(pool.groups):
        pool.attach(g, slab)
    for _ in range(slab.steps):
        for g in range(pool.groups):
            batch = pool.recv(g)
            results += batch.results
            act(batch)
            pool.send(g)
    for g in range(pool.groups):
        results += pool.recv(g).results
    return results


def test_a_slab_holds_what_happened() -> None:
    with walk() as pool:
        slab = pool.slab(12)
        results = play(pool, slab)
        numbers, row = slab.obs["numbers"], 3
        noise = [np.random.default_rng(match_seed(5, m)).random() for m in (3, 7, 11)]
        assert numbers[:, row, 0] == pytest.approx([*[noise[0]] * 5, *[noise[1]] * 5, *[noise[2]] * 3])
        assert numbers[:, row, 1].tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2]
        assert slab.obs["flags"][:, row, 0].tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2]
        assert slab.is_first[:, row].tolist() == [1, 0, 0, 0, 0] * 2 + [1, 0, 0]
        assert slab.terminated[:, row].tolist() == [0, 0, 0, 0, 1] * 2 + [0, 0]
        assert not slab.truncated.any()
        assert slab.active.all()
        assert slab.mask.all()
        acted = (3 + np.arange(12)) % 3
        sums = np.concatenate([acted[:5].cumsum(), acted[5:10].cumsum(), acted[10:].cumsum()])
        assert slab.reward[:, row].tolist() == sums.tolist()
        mine = [r for r in results if r.slot == 3]
        assert [(r.match, r.ticks, r.decisions, r.players) for r in mine] == [
            (3, 5, 5, ("policy:0",)),
            (7, 5, 5, ("policy:0",)),
        ]
        assert [r.returns[0] for r in mine] == [sums[:5].sum(), sums[5:10].sum()]
        stats = pool.stats()
        assert (stats.ticks, stats.matches, stats.errors) == (48, 8, 0)


def test_the_current_step_moves_to_the_next_slab_and_last_observations_to_the_side() -> None:
    with walk({"late": True}) as pool:
        a, b = pool.slab(5), pool.slab(5)
        play(pool, a)
        batch = pool.recv(0)
        assert batch.t == 5
        assert batch.results == []  # given before
        assert batch.final_rows.tolist() == [0, 1]
        assert batch.final_obs["numbers"][:, 1].tolist() == [5, 5]
        assert a.truncated[4].tolist() == [1] * 4
        last = a.obs["numbers"][5].copy()
        play(pool, b)
        assert (b.obs["numbers"][0] == last).all()
        assert b.is_first[0].all()


@pytest.mark.parametrize(("workers", "groups"), [(0, 1), (1, 2), (3, 2), (2, 4)])
def test_the_number_of_workers_and_groups_changes_nothing(workers: int, groups: int) -> None:
    with walk(slots=8, threads=2) as pool:
        expected = pool.slab(9)
        play(pool, expected)
        fields = {n: a.copy() for n, a in expected.fields().items()}
    with walk(slots=8, threads=workers, groups=groups) as pool:
        slab = pool.slab(9)
        play(pool, slab)
        for name, array in slab.fields().items():
            assert (array == fields[name]).all(), name


def test_recv_returns_the_first_group_that_is_ready() -> None:
    with walk(groups=4, threads=2) as pool:
        slab = pool.slab(3)
        for g in range(4):
            pool.attach(g, slab)
        seen = []
        for _ in range(12):
            batch = pool.recv()
            seen.append(batch.group)
            ones(batch)
            pool.send(batch.group)
        assert sorted(seen) == sorted([0, 1, 2, 3] * 3)


def test_a_schedule_is_played_and_no_more() -> None:
    with walk(num_matches=6) as pool:
        slab = pool.slab(4)
        results: list[MatchResult] = []
        while not pool.finished:
            results += play(pool, slab)
        assert sorted(r.match for r in results) == list(range(6))
        play(pool, slab)
        assert not slab.active.any()


def test_two_seats_take_turns_and_swap_roles() -> None:
    def legal(batch: StepBatch) -> None:
        slab, t = batch.slab, batch.t
        assert (
            sorted(np.concatenate(list(batch.policy_rows.values())).tolist())
            == np.flatnonzero(slab.active[t, batch.rows]).tolist()
        )
        for rows in batch.policy_rows.values():
            slab.actions[t, rows, 0] = np.where(slab.mask[t, rows, 0] != 0, 0, 2)
            slab.actions[t, rows[rows % 3 == 0], 0] = 2

    with ProcessPool(DUEL, {}, TWO, PoolOptions(slots=4, groups=1, threads=2, seed=1)) as pool:
        slab = pool.slab(64)
        results = play(pool, slab, legal)
    assert results
    for r in results:
        assert sorted(r.outcome) == [-1.0, 1.0]
        assert r.plan_of_seat == ((0, 1) if r.slot % 2 == 0 else (1, 0))
        assert r.players == (("policy:0", "policy:1") if r.slot % 2 == 0 else ("policy:1", "policy:0"))
        assert not r.error
    assert (slab.active.reshape(65, 4, 2).sum(axis=2) == 1).all()
    ends = slab.terminated.reshape(64, 4, 2)
    assert (ends[:, :, 0] == ends[:, :, 1]).all()  # both seats had decided by then
    assert slab.reward.sum() == 0


def test_rewards_count_from_a_rows_first_decision_on() -> None:
    """A match's result counts everything; a row without a decision has nothing to be rewarded for."""
    with ProcessPool(WAGES, {}, TWO, PoolOptions(slots=2, groups=1, threads=0, seed=1)) as pool:
        slab = pool.slab(8)
        results = play(pool, slab)
    assert slab.active[:8, 0].tolist() == [1] * 8
    assert slab.active[:8, 1].tolist() == [0, 0, 1, 1] * 2
    assert slab.is_first[:8, 1].tolist() == [0, 0, 1, 0] * 2
    assert slab.reward[:, 0].tolist() == [1.0] * 8
    assert slab.reward[:, 1].tolist() == [0.0, 0.0, 10.0, 10.0] * 2
    assert {r.returns for r in results} == {(4.0, 40.0)}


# ---- games that go wrong ---------------------------------------------------------------------------

TROUBLE = {
    "step-raise": "step: ValueError: the rules broke",
    "nan": r"observation numbers: nan at \[1\] cannot be kept",
    "shape": r"observe: ValueError: .*shape",
    "reward": r"rewards: \[nan\], expected finite numbers",
}


@pytest.mark.parametrize(("trouble", "message"), TROUBLE.items())
def test_a_match_that_fails_ends_alone_with_its_error(trouble: str, message: str) -> None:
    with walk({"trouble": trouble, "seed": match_seed(5, 1)}) as pool:
        slab = pool.slab(12)
        results = play(pool, slab)
    failed = [r for r in results if r.error]
    assert [(r.match, r.slot, r.ticks, r.truncated) for r in failed] == [(1, 1, 2, True)]
    import re

    assert re.match(message, failed[0].error), failed[0].error
    assert slab.truncated[:, 1].tolist() == [0, 1] + [0] * 10
    assert slab.is_first[2, 1] == 1  # the next match started at once
    assert not slab.truncated[:, [0, 2, 3]].any()
    assert np.isfinite(slab.obs["numbers"]).all()
    assert np.isfinite(slab.reward).all()


def test_a_seat_that_does_not_exist_ends_the_match() -> None:
    def twos(batch: StepBatch) -> None:
        batch.slab.actions[batch.t, batch.rows] = 2

    params = {"astray": match_seed(1, 0)}
    with ProcessPool(DUEL, params, TWO, PoolOptions(slots=2, groups=1, seed=1, on_error="truncate")) as pool:
        slab = pool.slab(12)
        results = play(pool, slab, twos)
    failed = [r for r in results if r.error]
    assert [(r.match, r.slot, r.ticks) for r in failed] == [(0, 0, 5)]
    assert failed[0].error == "observe: ValueError: to_act: seat 7 is not in [0, 2)"
    assert slab.truncated[4].tolist() == [1, 1, 0, 0]
    assert not slab.truncated[5:].any()


def test_a_failed_match_raises_with_on_error_raise() -> None:
    with walk({"trouble": "step-raise", "seed": match_seed(5, 1)}, on_error="raise") as pool:
        slab = pool.slab(12)
        with pytest.raises(MatchError, match=r"walk: match 1 \(slot 1, seed 5\) failed at tick 2: step") as e:
            play(pool, slab)
        assert (e.value.slot, e.value.match, e.value.tick) == (1, 1, 2)
        assert pool.recv(0).t == 2  # and can continue


def test_a_match_that_cannot_start_is_counted_and_the_next_one_starts() -> None:
    with walk({"trouble": "reset-raise", "seed": match_seed(5, 5)}) as pool:
        slab = pool.slab(12)
        results = play(pool, slab)
    failed = [r for r in results if r.error]
    assert [(r.match, r.slot, r.ticks, r.decisions) for r in failed] == [(5, 1, 0, 0)]
    assert failed[0].error == "reset: ValueError: the rules broke"
    assert slab.active[:, 1].tolist() == [1] * 5 + [0] + [1] * 7


def test_games_that_cannot_be_made_are_reported_by_the_parent() -> None:
    with pytest.raises(ParamError, match=r"hosted_games.py: cannot be made: RuntimeError: no such level"):
        walk({"trouble": "start"})
    with pytest.raises(ParamError, match=r"unknown parameter lenght \(did you mean length\?\)"):
        walk({"lenght": 3})


@pytest.mark.parametrize(
    "trouble",
    [
        "step-exit",
        pytest.param("step-hang", marks=pytest.mark.slow),
        pytest.param("reset-hang", marks=pytest.mark.slow),
        "reset-unusable",
    ],
)
def test_a_worker_that_dies_or_hangs_is_replaced(trouble: str) -> None:
    match = 5 if trouble.startswith("reset") else 1
    with walk({"trouble": trouble, "seed": match_seed(5, match)}, slots=8, timeout_s=5.0) as pool:
        before = pool.worker_pids
        slab = pool.slab(15)
        results = play(pool, slab)
        after = pool.worker_pids
        assert before[1] == after[1]
        assert before[0] != after[0]
        assert _gone(before[0])
    failed = {r.match: r for r in results if r.error}
    why = {
        "hang": "took longer than 5 s",
        "exit": "the worker exited with code 7",
        "unusable": "the game could not be played any further in its process",
    }[trouble.partition("-")[2]]
    assert failed[match].error.startswith(why)
    # The worker played slots 0, 1 of group 0 and 4, 5 of group 1; the other worker's matches never noticed.
    assert {r.slot for r in failed.values()} == {0, 1, 4, 5}
    assert all(
        "lost with another match of its worker: slot" in r.error for m, r in failed.items() if m != match
    )
    assert not slab.truncated[:, [2, 3, 6, 7]].any()
    assert [r.ticks for r in results if r.slot in (2, 3, 6, 7)] == [5] * 12
    assert slab.active.all()


def test_without_workers_an_unusable_process_ends_the_pool() -> None:
    with walk({"trouble": "reset-unusable", "seed": match_seed(5, 5)}, threads=0) as pool:
        slab = pool.slab(15)
        with pytest.raises(PoolError, match="walk: a thread of the library is stuck"):
            play(pool, slab)


@pytest.mark.parametrize("later", [False, True])
def test_a_worker_that_crashes_while_making_its_games_is_restarted(tmp_path: Path, later: bool) -> None:
    def break_games() -> None:
        for i in range(2):  # with the one that is killed three in a row
            (tmp_path / str(i)).touch()

    if not later:
        break_games()
    with walk({"crashes": str(tmp_path), "parent": os.getpid()}) as pool:
        slab = pool.slab(5)
        if later:
            play(pool, slab)
            break_games()
            os.kill(pool.worker_pids[1], signal.SIGKILL)
        results = play(pool, slab)
        assert {r.slot for r in results if not r.error} >= {0, 2}
        assert not [r for r in play(pool, slab) if r.error]
    assert not list(tmp_path.iterdir())


def test_games_that_crash_every_worker_end_the_pool(tmp_path: Path) -> None:
    for i in range(50):
        (tmp_path / str(i)).touch()
    with pytest.raises(PoolError, match=r"walk: worker \d was lost 4 times in a row: died while it made its"):
        walk({"crashes": str(tmp_path), "parent": os.getpid()})


def test_a_worker_that_is_killed_from_outside_is_replaced() -> None:
    with walk() as pool:
        slab = pool.slab(5)
        play(pool, slab)
        os.kill(pool.worker_pids[1], signal.SIGKILL)
        results = play(pool, slab)
        failed = [r for r in results if r.error]
        assert {r.slot for r in failed} == {1, 3}
        assert all("SIGKILL" in r.error for r in failed)
        assert {r.slot for r in results if not r.error} == {0, 2}


def test_losses_with_play_in_between_are_not_added_up() -> None:
    """A run of days may lose workers now and then; only losses in a row end it."""
    with walk() as pool:
        slab = pool.slab(5)
        for _ in range(6):  # three in a row may be lost
            os.kill(pool.worker_pids[1], signal.SIGKILL)
            play(pool, slab)
        assert not [r for r in play(pool, slab) if r.error]


def test_a_game_that_kills_its_worker_at_every_start_ends_the_pool() -> None:
    with walk({"trouble": "step-exit", "at": 1}, threads=1) as pool:
        slab = pool.slab(12)
        with pytest.raises(PoolError, match=r"walk: worker 0 was lost 4 times in a row: slot \d, match \d+"):
            play(pool, slab)


# ---- nothing is left behind ------------------------------------------------------------------------


def _gone(pid: int, seconds: float = 60.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


PROGRAM = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job is started without it
sys.path[:0] = {path!r}
from tests.unit.pool.test_process_pool import walk, play
pool = walk({{"trouble": {trouble!r}, "at": 3}}, threads=2, timeout_s=0)
print(*pool.worker_pids, flush=True)
slab = pool.slab(4)
{body}
"""


@contextmanager
def program(body: str, trouble: str = "") -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """Start a program with a pool; return it and the pids of its workers."""
    text = PROGRAM.format(path=sys.path, body=body, trouble=trouble)
    child = subprocess.Popen(
        [sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        line = child.stdout.readline()
        assert line, child.stderr.read() if child.stderr else ""
        yield child, [int(p) for p in line.split()]
    finally:
        child.kill()
        child.communicate()


FOREVER = "play(pool, slab); print('plays', flush=True)\nwhile True: play(pool, slab)"


def _await_play(child: subprocess.Popen[str], trouble: str = "") -> None:
    """Until the program plays, or one of its games hangs."""
    stream = child.stderr if trouble else child.stdout
    assert stream is not None
    assert stream.readline() == ("hangs\n" if trouble else "plays\n")


# The memory that processes share has no name: it goes with them.


def test_ctrl_c_leaves_no_process() -> None:
    with program(FOREVER) as (child, pids):
        _await_play(child)
        child.send_signal(signal.SIGINT)
        child.wait(60)
        assert all(_gone(p) for p in pids)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help is Linux's")
@pytest.mark.parametrize("trouble", ["", "step-hang"])
def test_a_killed_parent_takes_its_workers_along(trouble: str) -> None:
    with program(FOREVER, trouble) as (child, pids):
        _await_play(child, trouble)
        child.kill()
        child.wait(60)
        assert all(_gone(p) for p in pids)


def test_an_exception_leaves_no_process() -> None:
    with program("play(pool, slab); raise RuntimeError('mine')") as (child, pids):
        _, errors = child.communicate(timeout=60)
        assert "RuntimeError: mine" in errors
        assert all(_gone(p) for p in pids)


def test_descriptors_are_closed() -> None:
    walk().close()
    gc.collect()
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(2):
        pool = walk()
        play(pool, pool.slab(3))
        pool.close()
        del pool
    gc.collect()
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before


# ---- checkpoints, arguments --------------------------------------------------------------------------


def test_a_snapshot_fits_the_same_game_in_another_folder(tmp_path: Path) -> None:
    (tmp_path / "copied.py").write_bytes(GAMES.read_bytes())
    with walk() as pool:
        play(pool, pool.slab(12))
        data = pool.snapshot()
    options = PoolOptions(slots=4, groups=2, threads=2, seed=5, on_error="truncate")
    with ProcessPool(typed(str(tmp_path / "copied.py")), {}, ONE, options) as moved:
        moved.restore(data)
        assert moved.snapshot() == data


def test_a_restored_pool_continues_with_the_next_matches() -> None:
    with walk() as pool:
        play(pool, pool.slab(7))
        data = pool.snapshot()
    with walk() as pool:
        slab = pool.slab(5)
        play(pool, slab)
        pool.restore(data)
        results = play(pool, slab)
        assert sorted(r.match for r in results) == [8, 9, 10, 11]
        with pytest.raises(ValueError, match="not one of a pool of Python games"):
            pool.restore(b"x" * 40)
    with walk(slots=8) as pool, pytest.raises(ValueError, match="4 slots"):
        pool.restore(data)


def test_invalid_options_of_a_process_pool_are_refused() -> None:
    with pytest.raises(ValueError, match="expected a multiple of groups"):
        walk(slots=3)
    bots = Lineup((SeatPlan((Controller(bot="random"),)),))
    with pytest.raises(ValueError, match="every seat of a Python game is a policy's"):
        ProcessPool(WALK, {}, bots, PoolOptions(slots=2))
    with walk(threads=1) as pool:
        with pytest.raises(ValueError, match=r"make it with pool\.slab"):
            pool.attach(0, Slab(pool.spec, 3, pool.rows))
        with pytest.raises(ValueError, match="attach a slab"):
            pool.recv(0)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"threads": -1}, "threads=-1, expected >= 0"),
        ({"on_error": "ignore"}, "on_error='ignore'"),
        ({"seed": -1}, "seed=-1"),
        ({"num_matches": -1}, "num_matches=-1"),
        ({"autoreset": "off"}, "autoreset='off': only compiled games have this option"),
        ({"record": "all"}, "record='all': only compiled games have this option"),
        ({"log_arrivals": True}, "log_arrivals=True: only compiled games have this option"),
        ({"follow": [0]}, r"follow=\[0\]: only compiled games have this option"),
    ],
)
def test_options_that_a_python_game_lacks_are_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        walk(**{"threads": 0, **option})


def test_the_factory_gives_a_python_game_a_process_and_a_compiled_game_none() -> None:
    options = PoolOptions(slots=4, threads=0, seed=5)
    with closing(make_pool(WALK, {}, ONE, options)) as pool:
        assert isinstance(pool, ProcessPool)
        assert len(pool.worker_pids) == 1
    with closing(make_pool("tic_tac_toe", {}, TWO, options)) as pool:
        assert isinstance(pool, NativePool)
        assert (pool.slots, pool.groups, pool.rows) == (4, 2, 8)


def test_a_vectorised_environment_fills_slabs_as_single_ones_do() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    assert gymnasium.spec("CartPole-v1").vector_entry_point
    game = "gymnasium/CartPole-v1"
    slabs = {}
    for how in ("auto", "no"):
        params = {"vectorise": how, "max_episode_steps": 20}
        with ProcessPool(game, params, ONE, PoolOptions(slots=8, groups=2, threads=2, seed=1)) as pool:
            slab = slabs[how] = pool.slab(64)
            results = play(pool, slab, lambda b: pool.random_actions(b.group))
            assert all(r.ticks == r.returns[0] <= 20 for r in results)
            assert any(r.truncated and r.ticks == 20 for r in results)
            assert any(not r.truncated and r.ticks < 20 for r in results)
            assert sum(r.ticks for r in results) <= pool.stats().ticks
    for slab in slabs.values():
        ended = (slab.terminated | slab.truncated) != 0
        assert ((slab.reward == 1.0) == (slab.active[:-1] != 0)).all()
        assert (np.abs(slab.obs["observation"][slab.is_first != 0]) <= 0.05).all()
        assert ended.any(axis=0).all()
    assert slabs["no"].active.all()
    ended = (slabs["auto"].terminated | slabs["auto"].truncated) != 0
    assert ((slabs["auto"].active[1:] == 0) == ended).all()
    assert ((slabs["auto"].is_first[2:] != 0) == ended[:-1]).all()
