"""CartPole through Gymnasium, trained: decisions a second of processor time, start-up taken out.

    python benchmarks/throughput/hosted_training.py [--minutes 0.2 0.8]

Trains twice, short and long, and divides what the long run did more by the processor time (all processes
and threads) that it took more. The network is Sample Factory's (MLP 64-64, tanh, one epoch); its best
settings trained 71,100 steps/s with 1.97 processors on a machine like ours: 36,100 a second of each.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

PRESET = """
title = "CartPole throughput"
[game]
name = "gymnasium/CartPole-v1"
[pool]
slots = 2048
groups = 2
rollout_length = 32
[policy]
dense = []
hidden = [64, 64]
activation = "tanh"
norm = "none"
[algorithm]
learning_rate = 2.5e-3
epochs = 1
minibatches = 4
micro_batch = 8192
[evaluation]
every_steps = 0
matches = 0
final_matches = 0
[run]
max_steps = 1000000000
"""
SAMPLE_FACTORY = 71_100 / 1.97


def train(folder: Path, minutes: float) -> tuple[int, float, float]:
    """Decisions, seconds of processors, seconds of training."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(
        [
            *(sys.executable, "-m", "ludus.cli", "train", str(folder / "cartpole.toml"), "--json", "--quiet"),
            *("--run-dir", str(folder / f"run-{minutes}"), "--run.max-minutes", str(minutes)),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report = json.loads(out.stdout)
    return report["steps"], cpu, 60 * report["minutes"]


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--minutes", type=float, nargs=2, default=(0.2, 0.8), help="of the short and the long run"
    )
    return parser


def main() -> int:
    arguments = parser_of().parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cartpole.toml").write_text(PRESET)
        short, long = (train(folder, m) for m in arguments.minutes)
    steps, cpu, wall = (b - a for a, b in zip(short, long, strict=True))
    print(f"{steps:,} decisions, {cpu:.1f} s of processors, {wall:.1f} s: {steps / wall:,.0f} a second")
    rate = steps / cpu
    print(f"{rate:,.0f} a second of processor time: {rate / SAMPLE_FACTORY:.1f} x Sample Factory's best")
    return 0


if __name__ == "__main__":
    sys.exit(main())
