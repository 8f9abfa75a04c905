"""Cost of a league against a run of one policy: ratios, all sides in turn in each round.

    python benchmarks/throughput/league.py acting [--rounds 100] [--lanes 8] [--rows 32]
    python benchmarks/throughput/league.py draw [--rounds 100] [--players 2000]
    python benchmarks/throughput/league.py run [--rounds 12] [--turns 5]

``acting``: frozen networks on lanes decide for ``--rows`` rows each. ``joined`` is one call for all lanes,
``one_by_one`` a call for each lane, both over the time of one network that decides for all the rows. The
observations come from matches of random decisions. Least times of the rounds.

``draw``: an order of a league of ``--players`` players and three members. ``batch``: microseconds an order of
a batch of 64 that is drawn after an event; ``again``: of the next batch, before any event.

``run``: a league whose member meets its frozen players, each as often, and a run of the same settings against
only its first weights, in turns of ``--rounds`` rounds on one thread. All play alike, so that matches cost
the same. ``ratio``: decisions that were learned from per second of processor time, the league over the other;
median, least and greatest of the turns.
``orders``, ``results``, ``journal``: shares of the league's wall time: assigning opponents to slots of the
pool, attributing and recording results, and writing the journal.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import torch

from ludus.flow import Controller, Lineup, PoolOptions, SeatPlan, Slab
from ludus.league.config import Fsp, LeagueConfig, Never, Period, PlayerConfig
from ludus.league.events import Frozen, Ordered, Reset, ResetTo
from ludus.league.league import League
from ludus.league.league_matchmaker import BATCH
from ludus.policies.factory import build_network
from ludus.pool.factory import make_pool
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import OpponentConfig, Preset
from ludus.presets.document import to_toml
from ludus.presets.file import load_preset, parse_preset
from ludus.rollouts.actor import ActInput
from ludus.rollouts.lane_actor import LaneActor
from ludus.rollouts.network_actor import NetworkActor
from ludus.storage import RunDirectory, RunInfo
from ludus.training.actor_learner.trainer import prepare as prepare_run
from ludus.training.league.league_run import LeagueTrainer
from ludus.training.league.league_run import prepare as prepare_league
from ludus.training.run_context import RunContext
from ludus.training.steps import RunSteps

PRESETS = ("presets/minirts.toml", "presets/pommerman-ffa.toml")
WARM = 40  # random decisions until the matches differ
ROLES = ("main", "main_exploiter", "league_exploiter")
FROZEN = 12  # players that a league has before it is timed
NEVER = 10**9
SMALL = 1e-12  # a learning rate with which all players play alike, so that matches cost the same

TINY = """
[game]
name = "{game}"
[pool]
slots = 64
rollout_length = 16
[policy]
dense = []
hidden = [16]
[algorithm]
minibatches = 1
"""
TINY_GAMES = ("matrix", "kuhn_poker", "tic_tac_toe")


def observed(path: str, rows: int) -> tuple[Slab, int]:
    """Return a slab whose first time step has ``rows`` rows of matches in play, and its number of seats."""
    preset = load_preset(path).preset
    spec, params = resolve_spec(preset)
    lineup = Lineup((SeatPlan((Controller(policy=0),)),) * spec.seats)
    pool = make_pool(
        spec.name,
        params,
        lineup,
        PoolOptions(
            slots=rows, groups=1, threads=0, seed=1, inputs=preset.policy.inputs, on_error="truncate"
        ),
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
            start = time.perf_counter()
            way()
            best[name] = min(best[name], time.perf_counter() - start)
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


def draw(players: int, rounds: int) -> dict[str, object]:
    """One line of results."""
    members = tuple(PlayerConfig(name=role, role=role) for role in ROLES)
    league = League(LeagueConfig(players=members, rating_share=0.05), seed=1)
    for event in league.initial_events(["random"]):
        league.apply(event)
    version = 0
    while len(league.standings.players) < players:
        version += 1
        for role in ROLES:
            for effect in league.apply(Frozen(role, version, "period")):
                if isinstance(effect, ResetTo):
                    league.apply(Reset(role, effect.source))
    batch, again = dict.fromkeys(ROLES, float("inf")), dict.fromkeys(ROLES, float("inf"))
    for _ in range(rounds):
        for role in ROLES:
            league.apply(Ordered(role, BATCH))
            for least_of in (batch, again):
                start = time.perf_counter()
                league.draw(role, BATCH)
                least_of[role] = min(least_of[role], (time.perf_counter() - start) / BATCH)
    return {
        "players": len(league.standings.players),
        "batch_us": {role: round(1e6 * s, 1) for role, s in batch.items()},
        "again_us": {role: round(1e6 * s, 1) for role, s in again.items()},
    }


class Spent:
    """Seconds inside functions of objects, by what they do."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def watch(self, what: str, owner: object, name: str) -> None:
        """Start to count the time of ``owner.name``."""
        function = getattr(owner, name)

        def watched(*given: object) -> object:
            start = time.perf_counter()
            result = function(*given)
            self.seconds[what] = self.seconds.get(what, 0.0) + time.perf_counter() - start
            return result

        setattr(owner, name, watched)


@contextlib.contextmanager
def started(preset: Preset, folder: Path) -> Iterator[RunSteps]:
    """Yield the steps of a new run in ``folder``."""
    spec, _ = resolve_spec(preset)
    info = RunInfo(1, "", spec.name, spec.spec_hash, preset.run.seed, "", ())
    context = RunContext(preset, RunDirectory.create(folder, to_toml(preset), info))
    prepared = (prepare_league if preset.league else prepare_run)(preset, None)
    with contextlib.closing(context.report), contextlib.closing(prepared.start(context)) as steps:
        yield steps


def rounds_of(steps: RunSteps, rounds: int) -> float:
    """Plays ``rounds``. Gives decisions that were learned from per second of processor time."""
    learned, start = steps.state.budget.steps, time.process_time()
    for _ in range(rounds):
        steps.prepare_round()
        steps.round(None)
    return (steps.state.budget.steps - learned) / (time.process_time() - start)


def league_and_one(preset: Preset) -> tuple[Preset, Preset]:
    """Return a league of one member whose opponents are all frozen, and a run against its first weights."""
    run = msgspec.structs.replace(preset.run, lag="sync", threads=1)
    pool = msgspec.structs.replace(preset.pool, threads=1)
    freeze = Period(2 * pool.slots * pool.rollout_length)  # after every second round, or third
    lanes = preset.league.lanes if preset.league else LeagueConfig().lanes
    member = PlayerConfig(name="main", role="fsp", meet=(Fsp(),), freeze=freeze)
    league = LeagueConfig(players=(member,), lanes=lanes)
    one = (OpponentConfig("past", past_every=NEVER, past_slots=1),)
    algorithm = msgspec.structs.replace(preset.algorithm, learning_rate=SMALL)
    same = msgspec.structs.replace(preset, run=run, pool=pool, opponents=(), algorithm=algorithm)
    return (
        msgspec.structs.replace(same, league=league),
        msgspec.structs.replace(same, league=None, opponents=one),
    )


def run(name: str, preset: Preset, rounds: int, turns: int) -> dict[str, object]:
    """One line of results."""
    many, one = league_and_one(preset)
    spent, wall = Spent(), 0.0
    rates: list[tuple[float, float]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        started(many, Path(folder) / "league") as league,
        started(one, Path(folder) / "one") as alone,
    ):
        assert isinstance(league, LeagueTrainer)
        while len(league.league.standings.players) < FROZEN:
            for steps in (league, alone):  # matches of both are as far on
                rounds_of(steps, 1)
        member = league.members["main"]
        known = league.league.standings.members["main"]
        known.choices = msgspec.structs.replace(known.choices, freeze=Never())  # real periods are far longer
        spent.watch("orders", league, "prepare_round")
        spent.watch("journal", league.journal, "append")
        spent.watch("results", member.matchmaker, "on_results")
        spent.watch("results", league.league, "apply")
        for turn in range(turns):
            pair = [0.0, 0.0]
            for side in (0, 1) if turn % 2 else (1, 0):
                start = time.perf_counter()
                pair[side] = rounds_of((league, alone)[side], rounds)
                wall += time.perf_counter() - start if side == 0 else 0.0
            rates.append((pair[0], pair[1]))
    ratios = [many / one for many, one in rates]
    return {
        "preset": name,
        "ratio": round(statistics.median(ratios), 3),
        "least": round(min(ratios), 3),
        "greatest": round(max(ratios), 3),
        "one_per_s": round(statistics.median(one for _, one in rates)),
        **{what: round(seconds / wall, 4) for what, seconds in sorted(spent.seconds.items())},
    }


def parser_of() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["acting", "draw", "run"])
    parser.add_argument("--preset", action="append", help="a preset's file instead of the usual ones")
    parser.add_argument("--lanes", type=int, default=8)
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--players", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=0, help="100, of run 12")
    parser.add_argument("--turns", type=int, default=5)
    return parser


def main() -> None:
    given = parser_of().parse_args()
    torch.set_num_threads(1)
    if given.what == "draw":
        print(json.dumps(draw(given.players, given.rounds or 100)))
    elif given.what == "acting":
        for path in given.preset or PRESETS:
            print(json.dumps(acting(path, given.lanes, given.rows, given.rounds or 100)))
    else:
        chosen = {path: load_preset(path).preset for path in given.preset or ("presets/minirts-league.toml",)}
        if not given.preset:
            chosen |= {f"tiny {g}": parse_preset(TINY.format(game=g).encode(), g).preset for g in TINY_GAMES}
        for name, preset in chosen.items():
            print(json.dumps(run(name, preset, given.rounds or 12, given.turns)), flush=True)


if __name__ == "__main__":
    main()
