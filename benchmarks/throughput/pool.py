"""What the pool costs on top of the games, against a bare loop over the same game in the same run.

    python benchmarks/throughput/pool.py [--rounds 5] [--json]

``overhead``: tic-tac-toe, the smallest game, one uniformly random legal decision a tick. The bare loop is
``bench_sim`` (C++, no observations, no slab); the pool also writes observation, mask, flags and rewards
into the slab. ``python_us_per_step`` is one recv + send from Python with a single match: the fixed price
of a step whatever its size. ``bots``: MiniRTS, SIMPLE against SIMPLE at frame skip 50, ticks/s of the
pool over those of the bare loop, and of two workers over one. Medians of the rounds; only ratios mean
anything on a shared machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

from ludus.flow import Controller, Lineup, SeatPlan, Slab
from ludus.native import core
from ludus.pool.native import NativePool

STEPS = 128


def learned_pool(matches: int, threads: int) -> NativePool:
    """Tic-tac-toe with a learned policy at both seats."""
    plan = SeatPlan((Controller(policy=0),))
    return NativePool(
        "tic_tac_toe", {}, Lineup(plans=(plan, plan)), matches=matches, groups=1, threads=threads
    )


def ns_per_decision(matches: int, threads: int, steps: int) -> float:
    """Wall time of recv, drawing and send, a decision."""
    with learned_pool(matches, threads) as pool:
        slab = Slab(pool.spec, STEPS, pool.rows)
        begin, done = 0.0, 0
        for round_ in range(1 + steps // STEPS):
            pool.attach(0, slab)
            if round_ == 1:  # the first is for the caches
                begin = time.perf_counter()
            for _ in range(STEPS):
                pool.recv(0)
                pool.random_actions(0, seed=1)
                pool.send(0)
                done += matches if round_ > 0 else 0
            pool.recv(0)
        return (time.perf_counter() - begin) / done * 1e9


def python_us_per_step() -> float:
    """One recv and one send of a pool of one match."""
    with learned_pool(1, 0) as pool:
        slab = Slab(pool.spec, 20_000, pool.rows)
        pool.attach(0, slab)
        pool.recv(0)
        pool.random_actions(0)
        spent = 0.0
        for _ in range(slab.steps):
            begin = time.perf_counter()
            pool.recv(0)
            spent += time.perf_counter() - begin
            pool.random_actions(0)
            begin = time.perf_counter()
            pool.send(0)
            spent += time.perf_counter() - begin
        return spent / slab.steps * 1e6


def bare_ns_per_tick(game: str, bot: str, frame_skip: int, threads: int, ticks: int) -> float:
    """Of the core's own loop, without a pool."""
    report = json.loads(core.bench_sim(game, {}, [bot], [frame_skip], threads, 64, ticks))
    return float(report["ns_per_tick"])


def bots_ticks_per_s(threads: int, matches: int) -> float:
    """MiniRTS, SIMPLE against SIMPLE, a schedule of `matches` matches through the pool."""
    plan = SeatPlan((Controller(bot="simple"),), frame_skip=50)
    lineup = Lineup(plans=(plan, plan))
    with NativePool("minirts", {}, lineup, matches=64, groups=2, threads=threads, schedule=matches) as pool:
        begin = time.perf_counter()
        while not pool.finished:
            batch = pool.recv()
            if not pool.group_finished(batch.group):
                pool.send(batch.group)
        return pool.stats().ticks / (time.perf_counter() - begin)


def median(rounds: int, measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(rounds))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bot-matches", type=int, default=256)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    bare = median(args.rounds, lambda: bare_ns_per_tick("tic_tac_toe", "uniform", 1, 1, 200_000))
    serial = median(args.rounds, lambda: ns_per_decision(512, 0, 1024))
    worker = median(args.rounds, lambda: ns_per_decision(512, 1, 1024))
    loop = 1e9 / median(args.rounds, lambda: bare_ns_per_tick("minirts", "simple", 50, 1, 200_000))
    one = median(args.rounds, lambda: bots_ticks_per_s(1, args.bot_matches))
    two = median(args.rounds, lambda: bots_ticks_per_s(2, args.bot_matches))
    report = {
        "overhead": {
            "bare_ns_per_tick": round(bare, 1),
            "pool_ns_per_decision": round(serial, 1),
            "pool_ns_per_decision_one_worker": round(worker, 1),
            "pool_over_bare": round(serial / bare, 2),
            "added_ns_per_decision": round(serial - bare, 1),
        },
        "python_us_per_step": round(median(args.rounds, python_us_per_step), 2),
        "bots": {
            "bare_ticks_per_s": round(loop),
            "pool_ticks_per_s": round(one),
            "pool_over_bare": round(one / loop, 3),
            "two_workers_over_one": round(two / one, 2),
        },
    }
    print(json.dumps(report) if args.json else json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
