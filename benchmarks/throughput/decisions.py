"""MiniRTS decisions through the pool into torch, both seats observed, for each choice of observation.

    python benchmarks/throughput/decisions.py RUN@best [--rounds 5] [--threads 0]
    python benchmarks/throughput/decisions.py uniform

Every 50 ticks both seats are shown the moment and decide: as a trained policy does against itself, whose
moves are recorded first and played again here without its network, or (``uniform``) by drawing among the
legal actions. A trained policy's ticks are cheaper: chance builds crowds that block each other.
``decisions_per_s`` counts each seat's decision, ``moments_per_s`` both as one; both by processor time of
the process, so that other programs on the machine do not count (with ``--threads`` above 0, by the clock on
the wall). ``over_bare``: processor time a tick over ``bare_ns_per_tick``, the core's own loop, which
observes nothing: with the same players for ``uniform``, otherwise with the game's bots. ``tensors`` is
what the pool is asked for: all three, one of them, or ``cells`` expanded to the 22 float planes of the ELF
paper. Medians of the rounds, all choices measured in turn in each round.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from ludus.codecs.registry import codec_of
from ludus.evaluation.players import resolve_player
from ludus.flow import Controller, Lineup, PoolOptions, SeatPlan, Slab
from ludus.native import core
from ludus.pool.native import NativePool
from ludus.rollouts.actor import ActInput

MATCHES, STEPS, FRAME_SKIP = 128, 32, 50
WARM = 3  # slabs until matches are of different ages

Ints = npt.NDArray[np.int32]


def make_pool(inputs: Sequence[str] = (), threads: int = 0) -> NativePool:
    plan = SeatPlan((Controller(policy=0),), frame_skip=FRAME_SKIP)
    lineup = Lineup((plan, plan))
    return NativePool(
        "minirts", {}, lineup, PoolOptions(slots=MATCHES, groups=2, threads=threads, inputs=inputs)
    )


def recorded(player: str, steps: int) -> list[list[Ints]]:
    """Return a policy's decisions in both seats of :func:`make_pool`'s matches by step and group."""
    pool = make_pool()
    actor = resolve_player(player, pool.spec, frame_skip=FRAME_SKIP).actor
    if actor is None:
        raise SystemExit(f"{player}: expected a trained policy (RUN@best, a weights file) or uniform")
    slab = Slab(pool.spec, steps, pool.rows)
    for group in range(2):
        pool.attach(group, slab)
    shape = actor.memory_shape
    memory = None if shape is None else np.zeros((pool.rows, *shape), np.float32)
    moves: list[list[Ints]] = []
    for step in range(steps):
        moves.append([])
        for group in range(2):
            rows = pool.recv(group).rows
            decided = actor.act(
                ActInput(
                    {name: a[step, rows] for name, a in slab.obs.items()},
                    slab.mask[step, rows],
                    None if memory is None else memory[rows],
                    slab.is_first[step, rows],
                    step,
                    np.arange(rows.start, rows.stop, dtype=np.int32),
                )
            )
            slab.actions[step, rows] = decided.actions
            if memory is not None:
                memory[rows] = decided.memory
            moves[-1].append(decided.actions)
            pool.send(group)
    return moves


class Play:
    """A pool with both seats learned, asked for some of the tensors. Decides by ``moves``, or by chance."""

    def __init__(
        self, inputs: Sequence[str], planes: bool, threads: int, moves: list[list[Ints]] | None
    ) -> None:
        self.pool = make_pool(inputs, threads)
        self.moves, self.step = moves, 0
        self.tensors = [t for t in self.pool.spec.observation if not inputs or t.name in inputs]
        self.planes, self.threads = planes, threads
        self.slab = Slab(self.pool.spec, STEPS, self.pool.rows)
        self.seen = 0.0  # of what went through torch, so that nothing is left out

    def run(self, slabs: int) -> tuple[float, int, int]:
        """Seconds, decisions and ticks of that many slabs."""
        clock = time.perf_counter if self.threads else time.process_time
        before, started = self.pool.stats(), clock()
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
                        value = codec_of(tensor).decode(tensor, packed) if self.planes else packed
                        self.seen += float(value.flatten()[0])
                    if self.moves is None:
                        self.pool.random_actions(group, seed=t)
                    else:
                        self.slab.actions[t, rows] = self.moves[self.step][group]
                    self.pool.send(group)
                self.step += t < STEPS
        seconds, after = clock() - started, self.pool.stats()
        return seconds, after.decisions - before.decisions, after.ticks - before.ticks


def bare_ns_per_tick(bots: list[str]) -> float:
    started = time.process_time()
    report = json.loads(core.bench_sim("minirts", {}, bots, [FRAME_SKIP], 1, MATCHES, 400_000))
    return 1e9 * (time.process_time() - started) / int(report["ticks"])


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("player", help="RUN@best, a weights file, or uniform")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0, help="workers of the pool; 0 = the caller plays")
    return parser


def main() -> None:
    args = parser_of().parse_args()
    torch.set_num_threads(1)
    moves = None if args.player == "uniform" else recorded(args.player, STEPS * (args.rounds + WARM))
    bots = ["uniform"] if moves is None else ["simple"]
    choices: dict[str, tuple[Sequence[str], bool]] = {
        "all": ((), False),
        "globals": (("globals",), False),
        "units": (("units",), False),
        "cells": (("cells",), False),
        "cells as planes": (("cells",), True),
    }
    plays = {name: Play(*how, args.threads, moves) for name, how in choices.items()}
    for play in plays.values():
        play.run(WARM)
    bare: list[float] = []
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in plays}
    for _ in range(args.rounds):
        bare.append(bare_ns_per_tick(bots))
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
    print(
        json.dumps(
            {
                "bare_ns_per_tick": round(loop),
                "player": args.player,
                "threads": args.threads,
                "choices": rows,
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
