"""MiniRTS decisions through the pool into torch, both seats observed, for each choice of observation.

    python benchmarks/throughput/decisions.py [--rounds 5] [--threads 0]

Both seats are learned policies that draw uniformly among the legal actions; every 50 ticks both are shown
the moment. ``decisions_per_s`` counts each seat's decision, ``moments_per_s`` both as one; both by processor
time of the process, so that other programs on the machine do not count (with ``--threads`` above 0, by the
clock on the wall). ``over_bare``: processor time a tick over that of the core's own loop with the same
players, which asks for legal actions but observes nothing. ``tensors`` is what the pool is asked for: all
three, one of them, or ``cells`` expanded to the 22 float planes of the ELF paper. Medians
of the rounds, all choices measured in turn in each round.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence

import torch

from ludus.flow import Controller, Lineup, SeatPlan, Slab
from ludus.native import core
from ludus.policies.codecs import codec_of
from ludus.pool.native import NativePool

MATCHES, STEPS, FRAME_SKIP = 128, 32, 50


class Play:
    """A pool with both seats learned, asked for some of the tensors."""

    def __init__(self, inputs: Sequence[str], planes: bool, threads: int) -> None:
        plan = SeatPlan((Controller(policy=0),), frame_skip=FRAME_SKIP)
        self.pool = NativePool(
            "minirts", {}, Lineup((plan, plan)), matches=MATCHES, groups=2, threads=threads, inputs=inputs
        )
        self.tensors = [t for t in self.pool.spec.observation if not inputs or t.name in inputs]
        self.planes, self.threads = planes, threads
        self.slab = Slab(self.pool.spec, STEPS, self.pool.rows)
        self.seen = 0.0  # of what went through torch, so that nothing is left out

    def run(self, slabs: int) -> tuple[float, int, int]:
        """Seconds, decisions and ticks of that many slabs."""
        clock = time.perf_counter if self.threads else time.process_time
        before, begin = self.pool.stats(), clock()
        for _ in range(slabs):
            for group in range(2):
                self.pool.attach(group, self.slab)
            for t in range(STEPS + 1):
                for group in range(2):
                    rows = self.pool.recv(group).rows
                    if t == STEPS:
                        continue
                    for tensor in self.tensors:
                        packed = torch.from_numpy(self.slab.obs[tensor.name][t, rows])
                        value = codec_of(tensor).unfold(tensor, packed) if self.planes else packed
                        self.seen += float(value.flatten()[0])
                    self.pool.random_actions(group, seed=t)
                    self.pool.send(group)
        seconds, after = clock() - begin, self.pool.stats()
        return seconds, after.decisions - before.decisions, after.ticks - before.ticks


def bare_ns_per_tick() -> float:
    begin = time.process_time()
    report = json.loads(core.bench_sim("minirts", {}, ["uniform"], [FRAME_SKIP], 1, MATCHES, 400_000))
    return 1e9 * (time.process_time() - begin) / int(report["ticks"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0, help="workers of the pool; 0 = the caller plays")
    args = parser.parse_args()
    choices: dict[str, Callable[[], Play]] = {
        "all": lambda: Play((), False, args.threads),
        "globals": lambda: Play(("globals",), False, args.threads),
        "units": lambda: Play(("units",), False, args.threads),
        "cells": lambda: Play(("cells",), False, args.threads),
        "cells as planes": lambda: Play(("cells",), True, args.threads),
    }
    plays = {name: make() for name, make in choices.items()}
    for play in plays.values():
        play.run(2)  # matches at different ages, warm caches
    bare: list[float] = []
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in plays}
    for _ in range(args.rounds):
        bare.append(bare_ns_per_tick())
        for name, play in plays.items():
            seconds, decisions, ticks = play.run(1)
            found[name].append((decisions / seconds, 1e9 * seconds / ticks, 1e9 * seconds / decisions))
    loop = statistics.median(bare)
    rows = []
    for name, runs in found.items():
        per_s, tick, decision = (statistics.median(column) for column in zip(*runs, strict=True))
        rows.append(
            {
                "tensors": name,
                "decisions_per_s": round(per_s),
                "moments_per_s": round(per_s / 2),
                "ns_per_decision": round(decision),
                "ns_per_tick": round(tick),
                "over_bare": round(tick / loop, 3),
            }
        )
    print(json.dumps({"bare_ns_per_tick": round(loop), "threads": args.threads, "choices": rows}, indent=2))


if __name__ == "__main__":
    main()
