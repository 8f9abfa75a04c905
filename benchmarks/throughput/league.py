"""What a league costs beside a run of one policy; ratios, all sides in turn in each round.

    python benchmarks/throughput/league.py acting [--rounds 100] [--lanes 8] [--rows 32]

``acting``: frozen networks on lanes decide for ``--rows`` rows each. ``joined`` is one call for all lanes,
``one_by_one`` a call for each lane, both over the time of one network that decides for all the rows. The
observations come from matches of random decisions. Least times of the rounds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
import torch

from ludus.flow import Controller, Lineup, SeatPlan, Slab
from ludus.policies.factory import build_network
from ludus.pool.factory import make_pool
from ludus.presets.file import load_preset
from ludus.presets.game_checks import resolve_spec
from ludus.rollouts.actor import ActInput
from ludus.rollouts.lane_actor import LaneActor
from ludus.rollouts.network_actor import NetworkActor

PRESETS = ("presets/minirts.toml", "presets/pommerman-ffa.toml")
WARM = 40  # random decisions until the matches differ


def observed(path: str, rows: int) -> tuple[Slab, int]:
    """A slab whose first time step holds ``rows`` rows of matches under way; the number of its seats."""
    preset = load_preset(path).preset
    spec, params = resolve_spec(preset)
    lineup = Lineup((SeatPlan((Controller(policy=0),)),) * spec.seats)
    pool = make_pool(
        spec.name, params, lineup, slots=rows, groups=1, threads=0, seed=1, inputs=preset.policy.inputs
    )
    try:
        slab = pool.slab(WARM)
        pool.attach(0, slab)
        for step in range(WARM):
            pool.recv(0)
            pool.random_actions(0, step)
            pool.send(0)
        pool.recv(0)
        return slab, spec.seats
    finally:
        pool.close()


def least(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Seconds of each way, the least of ``rounds``."""
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            begin = time.perf_counter()
            way()
            best[name] = min(best[name], time.perf_counter() - begin)
    return best


def acting(path: str, lanes: int, rows: int, rounds: int) -> dict[str, object]:
    """One line of results."""
    preset = load_preset(path).preset
    spec, _ = resolve_spec(preset)
    slab, _ = observed(path, lanes * rows)
    chosen = np.flatnonzero(slab.active[-1])[: lanes * rows].astype(np.int32)
    networks = [build_network(preset.policy, spec, seed) for seed in range(lanes)]
    actors = {lane: NetworkActor(network, lane) for lane, network in enumerate(networks)}
    shape = networks[0].memory_shape
    memory = None if shape is None else np.zeros((len(chosen), *shape), np.float32)
    obs = {name: a[-1, chosen] for name, a in slab.obs.items()}
    policies = tuple((lane, rows) for lane in range(lanes))
    whole = ActInput(obs, slab.mask[-1, chosen], memory, slab.is_first[-1, chosen], 1, chosen, policies)

    def part(lane: int) -> ActInput:
        mine = slice(lane * rows, (lane + 1) * rows)
        return ActInput(
            {name: a[mine] for name, a in obs.items()},
            whole.mask[mine],
            None if memory is None else memory[mine],
            whole.is_first[mine],
            1,
            chosen[mine],
        )

    parts = [part(lane) for lane in range(lanes)]
    joined = LaneActor(actors)
    ways: dict[str, Callable[[], object]] = {
        "one_network": lambda: actors[0].act(whole),
        "joined": lambda: joined.act(whole),
        "one_by_one": lambda: [actors[lane].act(p) for lane, p in enumerate(parts)],
        "bind": lambda: LaneActor(actors),
    }
    times = least(ways, rounds)
    one = times["one_network"]
    return {
        "preset": path,
        "lanes": lanes,
        "rows": rows,
        "one_network_us": round(1e6 * one),
        "bind_us": round(1e6 * times["bind"]),
        "joined": round(times["joined"] / one, 3),
        "one_by_one": round(times["one_by_one"] / one, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["acting"])
    parser.add_argument("--preset", action="append", help=f"instead of {' and '.join(PRESETS)}")
    parser.add_argument("--lanes", type=int, default=8)
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=100)
    given = parser.parse_args()
    torch.set_num_threads(1)
    for path in given.preset or PRESETS:
        print(json.dumps(acting(path, given.lanes, given.rows, given.rounds)))


if __name__ == "__main__":
    main()
