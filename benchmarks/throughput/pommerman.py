"""How fast Pommerman plays, beside the original and beside what it could cost at least.

    python benchmarks/throughput/pommerman.py [--rounds 5] [--json]

``simulation``: the core's own loop, nothing observed, in processor time of one core; ``ratio`` is to
the original's steps/s (``env.step`` with given actions for random play; act, step and reset for
SimpleAgents; Python 3.11, one core), ``over_asked`` to what was asked of this port. ``observed``: the
pool with a learned policy at every seat that draws at random, so that observations, masks, rewards and
flags of all four seats are written into the slab, as in training. ``share``: part of it that only
simulation takes; ``memory_share``: what a plain copy of the same bytes takes, the limit of any observation.
Medians of the rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np

from ludus.flow import Controller, Lineup, PoolOptions, SeatPlan, Slab
from ludus.games import spec
from ludus.native import core
from ludus.pool.native import NativePool

STEPS, MATCHES = 64, 64
FOG = {"mode": "team", "fog": "1"}
# name: parameters, bot, original's steps/s, what is asked of us
CASES: dict[str, tuple[dict[str, str], str, float, float]] = {
    "ffa, 4 random": ({}, "random", 10_936, 1_000_000),
    "ffa, 4 simple": ({}, "simple", 536, 200 * 536),
    "team, 4 simple": ({"mode": "team"}, "simple", 572, 200 * 572),
    "team in fog, 4 random": (FOG, "random", 1_005, 1_000_000),
    "team in fog, 4 simple": (FOG, "simple", 425, 200 * 425),
}


def cpu_s(work: Callable[[], float]) -> float:
    """Return steps per second of this process's processor time; ``work`` returns the steps that it did."""
    started = time.process_time_ns()
    steps = work()
    return steps / ((time.process_time_ns() - started) * 1e-9)


def simulate(params: dict[str, str], bot: str, steps: int) -> float:
    """Return the steps of matches of one bot, in the core's own loop."""
    report = json.loads(core.bench_sim("pommerman", params, [bot], [1], 1, MATCHES, steps))
    return float(report["ticks"])


def observed_steps_s(params: dict[str, str], rounds: int) -> float:
    """Steps/s of processor time through the pool, every seat observed; random legal decisions."""
    plan = SeatPlan((Controller(policy=0),))
    lineup = Lineup((plan,) * 4)
    with NativePool("pommerman", params, lineup, PoolOptions(slots=MATCHES, groups=1, threads=0)) as pool:
        slab = Slab(pool.spec, STEPS, pool.rows)

        def play() -> int:
            before = pool.stats().ticks
            pool.attach(0, slab)
            for _ in range(STEPS):
                pool.recv(0)
                pool.random_actions(0, seed=1)
                pool.send(0)
            pool.recv(0)
            return pool.stats().ticks - before

        play()
        return cpu_s(lambda: sum(play() for _ in range(rounds)))


def copy_steps_s(params: dict[str, str], rounds: int) -> float:
    """Steps/s if a step were only a copy of its four observations into the slab."""
    game = spec("pommerman", params)
    row = sum(int(np.prod(t.packed_shape)) * t.packed_dtype.itemsize for t in game.observation)
    source = np.ones((MATCHES * 4, row), np.uint8)
    slab = np.zeros((STEPS, MATCHES * 4, row), np.uint8)

    def copy() -> int:
        for _ in range(rounds):
            for t in range(STEPS):
                slab[t] = source
        return rounds * STEPS * MATCHES

    return cpu_s(copy)


def median(rounds: int, measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(rounds))


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=200_000, help="of one measurement of random play")
    parser.add_argument("--json", action="store_true")
    return parser


def main() -> None:
    args = parser_of().parse_args()
    report: dict[str, dict[str, dict[str, float]]] = {"simulation": {}, "observed": {}}
    for name, (params, bot, original, asked) in CASES.items():
        steps = args.steps // (1 if bot == "random" else 5)
        ours = median(args.rounds, lambda p=params, b=bot, n=steps: cpu_s(lambda: simulate(p, b, n)))
        report["simulation"][name] = {
            "steps_per_s": round(ours),
            "original": original,
            "ratio": round(ours / original, 1),
            "over_asked": round(ours / asked, 2),
        }
    for name, params in (("ffa", {}), ("team in fog", FOG)):
        observed = median(args.rounds, lambda p=params: observed_steps_s(p, args.steps // 20_000))
        bare = median(args.rounds, lambda p=params: cpu_s(lambda: simulate(p, "uniform", args.steps)))
        copied = median(args.rounds, lambda p=params: copy_steps_s(p, 10))
        report["observed"][name] = {
            "steps_per_s": round(observed),
            "ratio": round(observed / CASES[f"{name}, 4 random"][2], 1),
            "share": round(observed / bare, 2),
            "memory_share": round(observed / copied, 3),
        }
    if args.json:
        print(json.dumps(report))
        return
    for kind, rows in report.items():
        for name, row in rows.items():
            numbers = "  ".join(f"{k} {v:,}" for k, v in row.items())
            print(f"{kind:<11} {name:<22} {numbers}")


if __name__ == "__main__":
    main()
