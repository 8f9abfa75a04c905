"""Breakout without learning: our adapter against ale-py's vectorised environment and EnvPool, in one run.

    python benchmarks/throughput/atari.py [--seconds 3] [--peers PYTHON] [--json FILE]

84x84 grey, stack 4, frame skip 4, random actions, frames (four a step) a second of processor time. The
rows take turns, so that what else the machine does falls on all alike. ``--peers`` names a Python that has
ale-py and envpool. ``emulator`` is the machine itself, without a picture: nothing can be faster.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ludus.games.registry import maker

MATCHES, TURNS, SKIP = 16, 4, 4
PEERS = {
    "ale-py AtariVectorEnv, 1 thread": """
from ale_py.vector_env import AtariVectorEnv
env = AtariVectorEnv("breakout", num_envs=n, num_threads=1)
env.reset(seed=0)
step = lambda: env.step(rng.integers(0, 4, n).astype(np.int64))
""",
    "EnvPool, 1 thread": """
import envpool
env = envpool.make_gymnasium("Breakout-v5", num_envs=n, num_threads=1, stack_num=4, frame_skip=4,
                             img_height=84, img_width=84, use_inter_area_resize=True)
env.reset()
step = lambda: env.step(rng.integers(0, 4, n).astype(np.int32))
""",
}
RUN = """
import sys, time, numpy as np
n, seconds, rng = int(sys.argv[1]), float(sys.argv[2]), np.random.default_rng(0)
{setup}
for _ in range(5): step()
steps, started, cpu = 0, time.perf_counter(), time.process_time()
while time.perf_counter() - started < seconds:
    step(); steps += n
print(steps, time.process_time() - cpu)
"""

Measured = tuple[int, float]  # steps, seconds of processors


def adapter(seconds: float) -> Measured:
    """Our adapter as the pool drives it: step, rewards, observe into a slab's row."""
    made = maker("atari/Breakout")
    games = [made.make() for _ in range(MATCHES)]
    rows = np.zeros((MATCHES, 4, 84, 84), np.uint8)
    earned = np.zeros(1, np.float32)
    rng = np.random.default_rng(0)
    for i, game in enumerate(games):
        game.reset(i)
    steps, started, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - started < seconds:
        actions = rng.integers(0, 4, (MATCHES, 1, 1)).astype(np.int32)
        for i, game in enumerate(games):
            if game.step(actions[i]):
                game.reset(i)
            game.rewards(earned)
            game.observe(0, {"screen": rows[i]})
        steps += MATCHES
    return steps, time.process_time() - cpu


def emulator(seconds: float) -> Measured:
    """Measure the emulator without a pool."""
    made = maker("atari/Breakout")
    ales = [made.emulator() for _ in range(MATCHES)]  # type: ignore[attr-defined]
    actions = made.actions  # type: ignore[attr-defined]
    rng = np.random.default_rng(0)
    steps, started, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - started < seconds:
        for ale, choice in zip(ales, rng.integers(0, 4, MATCHES).tolist(), strict=True):
            for _ in range(SKIP):
                ale.act(actions[choice])
            if ale.game_over():
                ale.reset_game()
        steps += MATCHES
    return steps, time.process_time() - cpu


def peer(python: str, setup: str) -> Callable[[float], Measured]:
    """Another library in its own environment."""

    def run(seconds: float) -> Measured:
        out = subprocess.run(
            [python, "-c", RUN.format(setup=setup), str(MATCHES), str(seconds)],
            capture_output=True,
            text=True,
            check=True,
        )
        steps, cpu = out.stdout.split()[-2:]
        return int(steps), float(cpu)

    return run


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="of each row in each turn")
    parser.add_argument("--peers", default="", help="a Python that has ale-py and envpool")
    parser.add_argument("--json", default="", help="file for the results")
    return parser


def main() -> int:
    arguments = parser_of().parse_args()
    rows: dict[str, Callable[[float], Measured]] = {"emulator": emulator, "ludus atari/Breakout": adapter}
    if arguments.peers:
        rows |= {name: peer(arguments.peers, setup) for name, setup in PEERS.items()}
    sums = {name: [0.0, 0.0] for name in rows}
    for _ in range(TURNS):
        for name, run in rows.items():
            steps, cpu = run(arguments.seconds)
            sums[name][0] += steps
            sums[name][1] += cpu
    rates = {name: SKIP * steps / cpu for name, (steps, cpu) in sums.items()}
    print(f"{'row':40}{'frames per CPU s':>18}{'of the emulator':>18}")
    for name, rate in rates.items():
        print(f"{name:40}{rate:18,.0f}{rate / rates['emulator']:18.0%}")
    if arguments.json:
        Path(arguments.json).write_text(
            json.dumps({"command": sys.argv, "frames_per_cpu_s": rates}, indent=1) + "\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
