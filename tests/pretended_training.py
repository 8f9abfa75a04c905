"""Costs of training on the pretended GPU: ``python -m tests.pretended_training CASE ...``.

``python -m tests.pretended_training --table [CASE ...]`` writes them to the golden table; no case: all.

It builds a run, acts, learns at lag 0 and at lag 1, publishes, saves and loads, and prints the costs as JSON.
Play has 16 slots and slabs of 8 steps, so that costs are those of launches, not of rows.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast
from unittest import mock

import numpy as np
import torch

from ludus.algorithms.alphazero.samples import Positions
from ludus.algorithms.config import AlphaZeroConfig
from ludus.algorithms.learner import SlabLearner
from ludus.flow import Orders
from ludus.mcts.network import NetworkEvaluator
from ludus.presets.config import Preset
from ludus.presets.file import load_preset
from ludus.rollouts.actor import ActInput, Decision
from ludus.rollouts.commands import AddPlayer, LoadWeights, SeatPlayers
from ludus.training.actor_learner.build import Components, LocalWeights, build
from ludus.training.actor_learner.sampler import local_sampler
from ludus.training.alphazero.components import build_alphazero, make_plays
from ludus.training.opponents import build_matchmaker
from tests import pretended_faults
from tests.pretend import NAME, Meter, PretendedGpu, run_apart

Costs = dict[str, dict[str, int]]
ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "golden" / "pretended_gpu.json"
#: Each method, and each kind of network, at least once.
QUICK = (
    "minirts",
    "minirts-mixture",
    "minirts-dqn algorithm.learning_starts=1 algorithm.updates=2",
    "minirts-trpo",
    "minirts-imitation",
    "minirts-cells",
    "minirts-units",
    "pommerman-team",
)
_PAST = "opponents.0.name=past opponents.0.frame_skip=0 opponents.0.past_slots=4"
SLOW = (
    "minirts-impala",
    "minirts-a2c",
    "minirts-policy-gradient",
    "capture-the-flag",
    "tower-defense",
    "pommerman-team-critic",
    "pommerman-team-league",
    f"minirts {_PAST} lanes=4",  # four frozen players, stacked
    "tic_tac_toe-alphazero",
    "connect-four",
    "go5",
    "minirts policy.value_heads=2",
)
CASES = (*QUICK, *SLOW)
#: Case -> operations without a fixed order that it may use: cells add in float64, where their sums are exact.
OPEN = {"minirts-cells": {"index_add"}}
SMALL = {
    "pool.slots": "16",
    "pool.groups": "2",
    "pool.rollout_length": "8",
    "pool.threads": "1",
    "run.threads": "2",
    "run.lag": "sync",
    "run.precision": "float32",
}


def costs(case: str) -> Costs:
    """Return the costs of a preset's parts, each with ``tests.pretend.KINDS``.

    ``case``: a preset and changes of it, ``PATH=VALUE`` each; ``lanes=4`` seats four frozen players.
    """
    expected = OPEN.get(case, set())
    counted, found = _costs(case), pretended_faults.found
    assert found.keys() == expected, f"OPEN has {expected}; found {found}"
    found.clear()
    return counted


def _costs(case: str) -> Costs:
    name, *changes = case.split()
    if name == "--meet":
        with PretendedGpu():
            torch.zeros(2, device=NAME).add_(torch.ones(2))
    if name == "--add":
        with PretendedGpu():
            twice = torch.zeros(2, dtype=torch.int64).to(NAME)
            torch.zeros(2, device=NAME).index_add_(0, twice, torch.ones(2).to(NAME))
        return {}
    settings = dict(SMALL)
    settings.update((path, value) for path, _, value in (c.partition("=") for c in changes))
    lanes = int(settings.pop("lanes", "0"))
    preset = load_preset(name, settings).preset
    on_gpu = functools.partial(mock.patch, new=lambda _: NAME)
    with PretendedGpu():
        if isinstance(preset.algorithm, AlphaZeroConfig):
            with on_gpu("ludus.training.alphazero.components.device_name"):
                return _search(preset)
        with on_gpu("ludus.training.actor_learner.sampler.device_name"):
            components = build(preset, 1)
            try:
                return _train(preset, components, lanes)
            finally:
                components.close()


def _train(preset: Preset, components: Components, lanes: int) -> Costs:
    sampler, learner = local_sampler(components.sampler), cast(SlabLearner[Any], components.learner)
    orders = build_matchmaker(components.spec, preset).next_orders(sampler.facts.slots)
    players = [f"learner:{k}" for k in range(lanes)] or list(orders.mixture)
    for player in players:
        sampler.send(AddPlayer(player, learner.weights(), tuple(players)))
    if players:
        assert sampler.send(SeatPlayers(Orders(mixture=dict.fromkeys(players, 1.0)))).settled
    acts: list[dict[str, int]] = []
    act = components.actor.act

    def metered(batch: ActInput) -> Decision:
        meter = Meter()
        decision = act(batch)
        acts.append(meter.read())
        return decision

    (slab,) = sampler.facts.slabs
    sampler.play(slab)
    meter = Meter()
    with mock.patch.object(type(components.actor), "act", lambda _, batch: metered(batch)):
        sampler.play(slab)
    out: Costs = {"act": acts[-1]} if acts else {}
    out["slab"] = meter.read()
    update = learner.update(slab)
    assert update.samples > 0
    assert update.gradient_steps > 0
    out["update"] = meter.read()
    sampler.send(LoadWeights({components.policy: LocalWeights(learner)}))
    out["publish"] = meter.read()
    slab.version -= 1
    learner.update(slab)
    out["update at lag 1"] = meter.read()
    arrays, counters = learner.state()
    learner.update(slab)
    learner.load_state(arrays, counters)
    again, counted = learner.state()
    assert counters == counted
    assert all(np.array_equal(x, again[name]) for name, x in arrays.items())
    out["save and load"] = meter.read()
    return out


def _search(preset: Preset) -> Costs:
    components = build_alphazero(preset)
    learner = components.learner
    try:
        evaluator = NetworkEvaluator(learner.publish(None), components.precision)
        play, *_ = make_plays(preset, components, 0, evaluator)
        play.step(4)
        count = play.collect()
        evaluator.evaluate(play.batch, count)  # the first call prepares a program
        meter = Meter()
        evaluator.evaluate(play.batch, count)
        out: Costs = {"evaluate": meter.read()}
        wanted = np.arange(cast(AlphaZeroConfig, preset.algorithm).batch_size) % count
        random = np.random.default_rng(1)
        positions = Positions(
            {name: a[wanted] for name, a in play.batch.obs.items()},
            np.ones((len(wanted), components.spec.mask_size), np.uint8),
            random.dirichlet(np.ones(components.spec.mask_size), len(wanted)).astype(np.float32),
            random.uniform(-1.0, 1.0, len(wanted)).astype(np.float32),
        )
        learner.learn(positions, 0.0)
        meter.read()
        assert learner.learn(positions, 0.0).gradient_steps == 1
        out["minibatch"] = meter.read()
        learner.publish(positions)
        out["publish"] = meter.read()
        arrays, counters = learner.state()
        learner.learn(positions, 0.0)
        learner.load_state(arrays, counters)
        again, counted = learner.state()
        assert counters == counted
        assert all(np.array_equal(x, again[name]) for name, x in arrays.items())
        out["save and load"] = meter.read()
        return out
    finally:
        components.close()


def measured(*cases: str) -> dict[str, Costs]:
    """Return the costs of some of :data:`CASES`, counted in processes of their own.

    Raises ``AssertionError`` with the traceback of the first that fails.
    """
    command = [sys.executable, "-m", "tests.pretended_training", *cases]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=590, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(cases), done.stderr[-3000:]
    for case, counted in zip(cases, lines, strict=True):
        assert "error" not in counted, f"{case}: {counted['error'][-3000:]}"
    return dict(zip(cases, lines, strict=True))


def write_table(cases: Sequence[str]) -> None:
    """Count ``cases`` with this version of torch and write them to the table, which keeps its others."""
    table = {"torch": str(torch.__version__), "costs": measured(*cases)}
    if TABLE.exists():
        kept = json.loads(TABLE.read_text(encoding="utf-8"))
        assert kept["torch"] == table["torch"], f"cases of torch {kept['torch']}: remove {TABLE} first"
        table["costs"] = kept["costs"] | table["costs"]
    TABLE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--table"]:
        write_table(sys.argv[2:] or CASES)
    else:
        run_apart(costs, sys.argv[1:])
