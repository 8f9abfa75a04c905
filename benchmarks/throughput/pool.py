"""Cost of the pool on top of the games, against a bare loop over the same game in the same run.

    python benchmarks/throughput/pool.py [--rounds 5] [--json]

``overhead``: tic-tac-toe, the smallest game, one uniformly random legal decision a tick. The bare loop is
``bench_sim`` (C++, no observations, no slab); the pool also writes observation, mask, flags and rewards
into the slab, and keeps the books. ``python_us_per_step`` is one recv + send from Python with a single
match: the fixed price of a step whatever its size. ``orders_over_none``: tic-tac-toe with new standing
orders in every slot at every slab, over the same pool without orders, the two by turns. All in processor
time of the caller's thread (``threads=0``), so that other programs on the machine do not count. ``bots``:
MiniRTS, SIMPLE against SIMPLE at frame skip 50: processor time a tick of the bare loop over the pool's,
of two workers over none (what sharing costs), and wall-clock ticks/s of two workers over one (only
meaningful on two idle cores). Medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np

from ludus.flow import Controller, Lineup, PoolOptions, SeatPlan, Slab
from ludus.native import core
from ludus.pool.native import NativePool

STEPS = 128


def learned_pool(matches: int, threads: int) -> NativePool:
    """Tic-tac-toe with a learned policy at both seats."""
    plan = SeatPlan((Controller(policy=0),))
    return NativePool(
        "tic_tac_toe", {}, Lineup(plans=(plan, plan)), PoolOptions(slots=matches, groups=1, threads=threads)
    )


def cpu_ns(work: Callable[[], int]) -> float:
    """Processor time of this process a unit of ``work``, which returns how many it did."""
    started = time.process_time_ns()
    units = work()
    return (time.process_time_ns() - started) / units


def ns_per_decision(matches: int, steps: int) -> float:
    """recv, a random draw and send, a decision."""
    with learned_pool(matches, 0) as pool:
        slab = Slab(pool.spec, STEPS, pool.rows)

        def play() -> int:
            pool.attach(0, slab)
            for _ in range(STEPS):
                pool.recv(0)
                pool.random_actions(0, seed=1)
                pool.send(0)
            pool.recv(0)
            return STEPS * matches

        play()  # for the caches
        return cpu_ns(lambda: sum(play() for _ in range(steps // STEPS)))


def orders_over_none(matches: int, slabs: int) -> float:
    """Processor time of a pool with new orders at every slab over one without, slab by slab."""
    with learned_pool(matches, 0) as without, learned_pool(matches, 0) as ordered:
        slab = Slab(without.spec, STEPS, without.rows)
        orders, tags = np.zeros((matches, 2), np.int32), np.arange(1, matches + 1, dtype=np.uint64)

        def play(pool: NativePool) -> int:
            if pool is ordered:
                pool.set_orders(orders, tags)
            pool.attach(0, slab)
            for _ in range(STEPS):
                pool.recv(0)
                pool.random_actions(0, seed=1)
                pool.send(0)
            pool.recv(0)
            return STEPS * matches

        for pool in (without, ordered):  # for the caches
            play(pool)
        times = [[cpu_ns(lambda p=pool: play(p)) for pool in (without, ordered)] for _ in range(slabs)]
        return statistics.median(b / a for a, b in times)


def python_us_per_step() -> float:
    """One recv and one send of a pool of one match, with the tick itself."""
    with learned_pool(1, 0) as pool:
        slab = Slab(pool.spec, 20_000, pool.rows)

        def play(send: bool) -> int:
            pool.attach(0, slab)
            pool.recv(0)
            for _ in range(slab.steps):
                pool.random_actions(0)
                if send:
                    pool.send(0)
                    pool.recv(0)
            return slab.steps

        return (cpu_ns(lambda: play(True)) - cpu_ns(lambda: play(False))) / 1000


def bare_ns_per_tick(game: str, bot: str, frame_skip: int, ticks: int) -> float:
    """Return nanoseconds per tick of the core's own loop, without a pool."""

    def play() -> int:
        report = json.loads(core.bench_sim(game, {}, [bot], [frame_skip], 1, 64, ticks))
        return int(report["ticks"])

    return cpu_ns(play)


def bots_pool(threads: int, matches: int) -> NativePool:
    """MiniRTS, SIMPLE against SIMPLE, a schedule of `matches` matches through the pool."""
    plan = SeatPlan((Controller(bot="simple"),), frame_skip=50)
    lineup = Lineup(plans=(plan, plan))
    return NativePool(
        "minirts", {}, lineup, PoolOptions(slots=64, groups=2, threads=threads, num_matches=matches)
    )


def play_out(pool: NativePool) -> int:
    """Plays the whole schedule; gives its ticks."""
    while not pool.finished:
        batch = pool.recv()
        if not pool.group_finished(batch.group):
            pool.send(batch.group)
    return pool.stats().ticks


def bots_ns_per_tick(threads: int, matches: int) -> float:
    with bots_pool(threads, matches) as pool:
        return cpu_ns(lambda: play_out(pool))


def bots_ticks_per_s(threads: int, matches: int) -> float:
    with bots_pool(threads, matches) as pool:
        started = time.perf_counter()
        return play_out(pool) / (time.perf_counter() - started)


def median(rounds: int, measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(rounds))


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bot-matches", type=int, default=256)
    parser.add_argument("--json", action="store_true")
    return parser


def main() -> None:
    args = parser_of().parse_args()
    bare = median(args.rounds, lambda: bare_ns_per_tick("tic_tac_toe", "uniform", 1, 400_000))
    pool = median(args.rounds, lambda: ns_per_decision(512, 1024))
    loop = median(args.rounds, lambda: bare_ns_per_tick("minirts", "simple", 50, 200_000))
    bots = median(args.rounds, lambda: bots_ns_per_tick(0, args.bot_matches))
    shared = median(args.rounds, lambda: bots_ns_per_tick(2, args.bot_matches))
    one = median(args.rounds, lambda: bots_ticks_per_s(1, args.bot_matches))
    two = median(args.rounds, lambda: bots_ticks_per_s(2, args.bot_matches))
    report = {
        "overhead": {
            "bare_ns_per_tick": round(bare, 1),
            "pool_ns_per_decision": round(pool, 1),
            "pool_over_bare": round(pool / bare, 2),
            "orders_over_none": round(orders_over_none(512, 8 * args.rounds), 4),
            "added_ns_per_decision": round(pool - bare, 1),
        },
        "python_us_per_step": round(median(args.rounds, python_us_per_step), 2),
        "bots": {
            "bare_ns_per_tick": round(loop, 1),
            "pool_ns_per_tick": round(bots, 1),
            "bare_over_pool": round(loop / bots, 3),
            "two_workers_cpu_over_serial": round(shared / bots, 3),
            "two_workers_over_one": round(two / one, 2),
        },
    }
    print(json.dumps(report) if args.json else json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
