"""AlphaZero's self-play on a busy machine: what is left of its share of the processors.

    python benchmarks/throughput/self_play_busy.py [--preset go5] [--busy 8] [--threads 1 2] [--seconds 20]

Self-play of a fresh network, as a run plays it until a round is full: first by itself, then beside ``--busy``
processes that compute without a pause. A ruler runs beside each: one process that counts its own processor
time, so that it shows the share that one thread gets. ``share``: evaluations per second of the ruler's
processor time, busy over idle. 1: self-play makes all that its share of the processors allows. Exit code 1:
a share is below ``--floor``.

A run counts decisions when their matches end. All slots start together, so that the first matches end late:
decisions in the first half minute say nothing about this share.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator

import torch

from ludus.algorithms.config import AlphaZeroConfig
from ludus.mcts.network import NetworkEvaluator
from ludus.mcts.self_play import MatchNumbers, SelfPlay
from ludus.policies.factory import build_network
from ludus.presets.checks.game import resolve_spec
from ludus.presets.file import load_preset
from ludus.training.alphazero.workers import Workers

COMPUTES = "while True: pass"
RULER = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(print(time.process_time())))
print(flush=True)
while True: pass
"""
ROUND = 256  # moves between two pauses, as in a run


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    others = [subprocess.Popen([sys.executable, "-c", COMPUTES]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def measure(workers: Workers, seconds: float) -> tuple[int, float]:
    """Return the evaluations, and the processor time that another busy process got meanwhile."""
    workers.times()
    ruler = subprocess.Popen([sys.executable, "-c", RULER], stdout=subprocess.PIPE, text=True)
    assert ruler.stdout is not None
    ruler.stdout.readline()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        workers.play_until(workers.moves() + ROUND, lambda: time.monotonic() >= end)
        workers.pause()
        workers.take_matches()
    ruler.terminate()
    return workers.times().evaluations, float(ruler.communicate()[0])


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--preset", default="go5")
    parser.add_argument("--busy", type=int, default=8)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--floor", type=float, default=0.5)
    return parser


def main() -> int:
    args = parser_of().parse_args()
    torch.set_num_threads(1)
    preset = load_preset(args.preset).preset
    config = preset.algorithm
    assert isinstance(config, AlphaZeroConfig)
    spec, game = resolve_spec(preset)
    network = build_network(preset.policy, spec, 1)
    evaluator = NetworkEvaluator(network, symmetries="random", rows=config.self_play.slots)
    failed = False
    for threads in args.threads:
        plays = [
            SelfPlay(
                preset.game.name,
                game,
                config.search,
                config.self_play,
                evaluator=evaluator.sibling(i),
                seed=1,
                numbers=MatchNumbers(i, threads),
            )
            for i in range(threads)
        ]
        workers = Workers(plays)
        measure(workers, 3.0)  # warm
        alone, ruler = measure(workers, args.seconds)
        with busy(args.busy):
            beside, busy_ruler = measure(workers, args.seconds)
        workers.close()
        share = (beside / busy_ruler) / (alone / ruler)
        failed |= share < args.floor
        row = {
            "threads": threads,
            "busy": args.busy,
            "alone_per_s": round(alone / args.seconds, 1),
            "beside_per_s": round(beside / args.seconds, 1),
            "ruler_alone_s": round(ruler, 2),
            "ruler_beside_s": round(busy_ruler, 2),
            "share": round(share, 3),
            "floor": args.floor,
        }
        print(json.dumps(row), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
