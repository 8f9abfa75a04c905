"""Cost of hosting: CartPole through the process pool against plain Gymnasium and EnvPool, in one run.

    python benchmarks/throughput/hosted.py [--seconds 2] [--envpool PYTHON] [--json FILE]

Every row is steps a second of processor time (parent and workers added up) and of wall time. The pole is
balanced by the sign of its angle and its speed, so that matches last as long as in training. The rows take
turns, several times over, so that what else the machine does falls on all alike; shares are of Gymnasium's
SyncVectorEnv (``single``) or of its vectorised environment (``vectors``). ``--envpool`` names a Python
that has envpool; it runs there as a separate process, in the same turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import gymnasium
import numpy as np

from ludus.flow import Controller, Lineup, PoolOptions, SeatPlan
from ludus.pool.hosted.process import ProcessPool

GAME = "CartPole-v1"
ALONE = Lineup((SeatPlan((Controller(policy=0),)),))
TURNS = 4
ENVPOOL = """
import envpool, numpy as np, sys, time
n, seconds = int(sys.argv[1]), float(sys.argv[2])
env = envpool.make_gymnasium("CartPole-v1", num_envs=n, num_threads=1)
obs, _ = env.reset()
steps, started, cpu = 0, time.perf_counter(), time.process_time()
while time.perf_counter() - started < seconds:
    obs, *_ = env.step((obs[:, 2] + obs[:, 3] > 0).astype(np.int32)); steps += n
print(steps, time.process_time() - cpu, time.perf_counter() - started)
"""

Measured = tuple[int, float, float]  # steps, seconds of processors, seconds of wall time


def loop(seconds: float) -> Measured:
    """``env.step`` in a loop, as a user's first program does it."""
    env = gymnasium.make(GAME, disable_env_checker=True)
    obs, _ = env.reset(seed=1)
    steps, started, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - started < seconds:
        for _ in range(200):
            obs, _, terminated, truncated, _ = env.step(1 if obs[2] + obs[3] > 0 else 0)
            if terminated or truncated:
                obs, _ = env.reset()
        steps += 200
    return steps, time.process_time() - cpu, time.perf_counter() - started


def vector(matches: int, mode: str) -> Callable[[float], Measured]:
    """Gymnasium without Ludus: ``sync`` steps one after the other, ``vector_entry_point`` all by one call."""

    def run(seconds: float) -> Measured:
        env = gymnasium.make_vec(GAME, num_envs=matches, vectorization_mode=mode)
        obs, _ = env.reset(seed=1)
        steps, started, cpu = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() - started < seconds:
            obs, *_ = env.step((obs[:, 2] + obs[:, 3] > 0).astype(np.int64))
            steps += matches
        return steps, time.process_time() - cpu, time.perf_counter() - started

    return run


def process_seconds(pids: list[int]) -> float:
    """Processor time of running workers."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def pool(matches: int, workers: int, vectorise: str) -> Callable[[float], Measured]:
    """Return the measurement of the process pool: two groups in turn, actions written for every row."""

    def run(seconds: float) -> Measured:
        with ProcessPool(
            f"gymnasium/{GAME}",
            {"vectorise": vectorise},
            ALONE,
            PoolOptions(slots=matches, groups=2, threads=workers),
        ) as made:
            slab = made.slab(64)
            seen = slab.obs["observation"]

            def once() -> None:
                for g in range(2):
                    made.attach(g, slab)
                for t in range(64):
                    for g in range(2):
                        made.recv(g)
                        rows = made.group_rows(g)
                        slab.actions[t, rows, 0] = seen[t, rows, 2] + seen[t, rows, 3] > 0
                        made.send(g)
                for g in range(2):
                    made.recv(g)

            once()
            before, cpu = made.stats().ticks, time.process_time() + process_seconds(made.worker_pids)
            started = time.perf_counter()
            while time.perf_counter() - started < seconds:
                once()
            wall = time.perf_counter() - started
            cpu = time.process_time() + process_seconds(made.worker_pids) - cpu
            return made.stats().ticks - before, cpu, wall

    return run


def envpool(python: str, matches: int) -> Callable[[float], Measured]:
    """EnvPool's CartPole (C++) in its own environment."""

    def run(seconds: float) -> Measured:
        out = subprocess.run(
            [python, "-c", ENVPOOL, str(matches), str(seconds)], capture_output=True, text=True, check=True
        )
        steps, cpu, wall = out.stdout.split()[-3:]
        return int(steps), float(cpu), float(wall)

    return run


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="of each row in each turn")
    parser.add_argument("--envpool", default="", help="a Python that has envpool")
    parser.add_argument("--json", default="", help="file for the results")
    return parser


def main() -> int:
    arguments = parser_of().parse_args()
    rows: dict[str, Callable[[float], Measured]] = {
        "gymnasium, one environment": loop,
        "gymnasium SyncVectorEnv, 256 (single)": vector(256, "sync"),
        "gymnasium vector, 512 (vectors)": vector(512, "vector_entry_point"),
        "pool of single, 256 slots, in the caller": pool(256, 0, "no"),
        "pool of single, 256 slots, 2 workers": pool(256, 2, "no"),
        "pool of vectors, 1024 slots, in the caller": pool(1024, 0, "auto"),
        "pool of vectors, 1024 slots, 2 workers": pool(1024, 2, "auto"),
    }
    if arguments.envpool:
        rows["envpool, 512"] = envpool(arguments.envpool, 512)
    sums = {name: [0.0, 0.0, 0.0] for name in rows}
    for _ in range(TURNS):
        for name, run in rows.items():
            for i, value in enumerate(run(arguments.seconds)):
                sums[name][i] += value
    base = {
        "single": sums["gymnasium SyncVectorEnv, 256 (single)"],
        "vectors": sums["gymnasium vector, 512 (vectors)"],
    }
    results = []
    print(f"{'row':46}{'steps per CPU s':>18}{'steps per s':>14}{'of the same env alone':>24}")
    for name, (steps, cpu, wall) in sums.items():
        kind = "single" if "single" in name or "one environment" in name else "vectors"
        alone = base[kind][0] / base[kind][1]
        results.append(
            {"row": name, "per_cpu_s": steps / cpu, "per_s": steps / wall, "share": steps / cpu / alone}
        )
        print(f"{name:46}{steps / cpu:18,.0f}{steps / wall:14,.0f}{steps / cpu / alone:24.0%}")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"command": sys.argv, "rows": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
