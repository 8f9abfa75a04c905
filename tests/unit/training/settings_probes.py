"""Probes: functions of a preset whose results differ where a setting has an effect.

Whole runs repeat exactly: one thread, lag ``sync``, and self-play that advances by calls instead of by time.
Their metrics without times, matches and weights are compared.
"""

from __future__ import annotations

import hashlib
import math
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from torch import Tensor

from ludus.algorithms.config import AlphaZeroConfig
from ludus.algorithms.registry import method_of
from ludus.cluster.checks import host_and_port, lacking, part_of
from ludus.codecs import TensorLayout
from ludus.games import spec as game_spec
from ludus.mcts import LeafBatch, Trees
from ludus.mcts.evaluator import Floats
from ludus.policies.actions.action_distribution import Independent
from ludus.policies.actions.q_values import QValues
from ludus.policies.encoders import register_encoder
from ludus.policies.factory import build_network
from ludus.policies.layers import residual
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.network import PolicyNetwork
from ludus.policies.weights import save_weights
from ludus.pool import Pool
from ludus.pool.factory import make_pool
from ludus.presets.checks.game import method_problems, params_text, resolve_spec
from ludus.presets.checks.training import cluster_problems
from ludus.presets.config import Preset
from ludus.presets.document import to_toml
from ludus.presets.errors import ConfigError, EndlessMatch
from ludus.presets.parts import parts_problems
from ludus.reporting.sinks import Sink
from ludus.reporting.tracking import wandb_sink
from ludus.reporting.tracking.process import sinks_of
from ludus.storage import RunDirectory, RunInfo, read_jsonl
from ludus.training.actor_learner import async_loop, build, sampler
from ludus.training.alphazero import components as alphazero_parts
from ludus.training.league.components import build_league
from ludus.training.opponents import build_lineup
from ludus.training.runs import start_run
from ludus.training.stopping import Budget, progress, reason_to_stop
from tests.unit.synthetic import act, random_slab
from tests.unit.training.league.test_league_runs import league_preset
from tests.unit.training.runs import reproducible_rows
from tests.unit.training.stepped import step_self_play

from .recorded import record_matches

Probe = Callable[[Preset], object]


class Plain:
    """Inference without a compiled graph, which takes longer to build than these runs take to play."""

    def __init__(self, network: ResidualNetwork, precision: str, rows: int = 0) -> None:
        self.network = network

    def __call__(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        logits, value = self.network.outputs(planes)
        return torch.softmax(logits, dim=1), value


class Opinions:
    """Evaluator with different answers for every position, so that settings of a search change visits."""

    def evaluate(self, batch: LeafBatch, count: int) -> tuple[Floats, Floats]:
        boards = batch.obs["board"][:count].astype(np.int64)
        mixed = (boards * (31, 17, 7)).sum(axis=1)
        policy = 1.0 + (mixed[:, None] * (np.arange(9) + 3)) % 5
        return policy.astype(np.float32), ((mixed % 17 - 8) / 10).astype(np.float32)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def run(preset: Preset) -> object:
    """Return all results of a whole run that do not depend on the clock."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        step_self_play(patch)
        patch.setattr(residual, "Inference", Plain)
        path = Path(folder) / "run"
        result = start_run(preset, path)
        directory = RunDirectory.open(path)
        metrics = reproducible_rows(directory.metrics_path)
        weights = directory.checkpoints.load_last()[0].weights.tensors
        events = [
            {k: v for k, v in e.items() if k != "time"}
            for e in read_jsonl(directory.events_path)
            if e["event"] == "gate"
        ]
        return {
            "reason": result.reason,
            "metrics": metrics,
            "matches": list(read_jsonl(directory.matches)),
            "weights": digest(b"".join(weights[n].tobytes() for n in sorted(weights))),
            "gates": events,
            "replays": [digest(f.read_bytes()) for f in sorted(directory.replays.iterdir())],
        }


def with_records(preset: Preset) -> object:
    """Return the results of a run in a folder with two data sets of recorded matches."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        record_matches(Path("records"), "tic_tac_toe", 20)
        record_matches(Path("others"), "tic_tac_toe", 21)
        return run(preset)


def resignations(preset: Preset) -> object:
    """Return the results of a run whose resignation threshold moves after few matches, and above 0."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("ENOUGH", 5), ("STEP", 2.0), ("HIGHEST", 1.0)):
            patch.setattr(alphazero_parts, f"RESIGN_{name}", value)
        return run(preset)


def outcome(preset: Preset) -> object:
    """Return the results of a whole run, or the error of its matches that ended it."""
    try:
        return run(preset)
    except EndlessMatch as error:
        return str(error)


def files(preset: Preset) -> object:
    """Return the number of checkpoints that a run saved and kept, and the title of its report."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        saved: list[int] = []

        class Watch(Sink):
            def checkpoint(self, path: Path, version: int) -> None:
                saved.append(version)

        start_run(preset, path, sinks=[Watch()])
        report = RunDirectory.open(path).report.read_text().splitlines()[0]
        return len(saved), len(RunDirectory.open(path).checkpoints.versions()), report


def tracker(preset: Preset) -> object:
    """Return the kinds of sinks of a run, and how W&B files it."""
    with tempfile.TemporaryDirectory() as folder:
        info = RunInfo(1, "", "tic_tac_toe", "", 1, "", ())
        directory = RunDirectory.create(Path(folder) / "run", to_toml(preset), info)
        made = wandb_sink.arguments(directory, preset.tracking)
        kinds = [type(sink).__name__ for sink in sinks_of(preset)]
        return kinds, made | {"dir": ""}, wandb_sink.why_offline(preset.tracking)


def pool(preset: Preset) -> object:
    """Return the arguments with which the pool of the learner's matches is made."""
    seen: dict[str, object] = {}

    def looking(*args: Any, **kwargs: Any) -> Pool:  # noqa: ANN401
        seen.update(kwargs, args=args)
        return make_pool(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampler, "make_pool", looking)
        components = build.build(preset)
        components.close()
    return seen, components.threads, components.sampler.facts.slabs[0].active.shape


def lineup(preset: Preset) -> object:
    """Return the lineup: the controllers of each seat."""
    return build_lineup(resolve_spec(preset)[0], preset)


class Flat(torch.nn.Module):
    """Encoder that a user registers."""

    def __init__(self, layouts: Mapping[str, TensorLayout]) -> None:
        super().__init__()
        self.size = 8
        self.linear = torch.nn.Linear(sum(math.prod(x.shape) for x in layouts.values()), self.size)

    def forward(self, seen: Mapping[str, torch.Tensor]) -> torch.Tensor:
        features: torch.Tensor = self.linear(torch.cat([x.flatten(1) for x in seen.values()], dim=1))
        return features


register_encoder("tests.unit.training.settings_probes.Flat", Flat)


def network(preset: Preset) -> object:
    """Return the shapes of a network's tensors, and a digest of its outputs for random observations."""
    spec = game_spec(preset.game.name, params_text(preset.game.params))
    made = build_network(preset.policy, spec, 1, "float32")
    shapes = {n: tuple(t.shape) for n, t in made.state_dict().items()}
    random = np.random.default_rng(1)
    obs = {}
    for t in made.inputs:
        raw = random.integers(0, 200, (4, *t.packed_shape))
        obs[t.name] = torch.from_numpy(raw.astype(t.packed_dtype))
    with torch.no_grad():
        step = made.for_acting().step(obs) if made.memory_shape is None else None
        answer = ""
        if step is not None and isinstance(step.distribution, Independent):
            answer = digest(step.logits.numpy().tobytes() + step.value.numpy().tobytes())
        elif step is not None and isinstance(step.distribution, QValues):
            every = torch.ones((4, spec.mask_size), dtype=torch.uint8)
            answer = digest(step.distribution.values(every).numpy().tobytes() + step.value.numpy().tobytes())
    return shapes, answer


def budgets(preset: Preset) -> object:
    """Return the progress of two partly used budgets, and whether they are used up."""
    used = [Budget(steps=s, minutes=m, best_lower_bound=b) for s, m, b in ((150, 0, 0.3), (10, 2, 0.6))]
    return [(reason_to_stop(preset.run, u), progress(preset.run, u)) for u in used]


def components(preset: Preset) -> object:
    """Return a run's threads, slabs, precision and device, or the error that refuses the preset."""
    try:
        made = build.build(preset, async_loop.slabs_needed(preset.run))
    except ConfigError as error:
        return str(error)
    made.close()
    return (
        made.threads,
        len(made.sampler.facts.slabs),
        made.actor.network.precision,
        str(made.actor.network.device),
    )


def cluster(preset: Preset) -> object:
    """Return what rollouts are built from and where they are, or the error that refuses the preset."""
    try:
        where = host_and_port(preset.cluster.address)
    except ConfigError as error:
        return str(error)
    return where, lacking(preset.cluster, 0, 0), part_of(preset).run


def group(preset: Preset) -> object:
    """Return why a run cannot have the rollouts and learners of its preset."""
    return [str(problem) for problem in cluster_problems(preset, method_of(preset.algorithm))]


def rounds_ahead(preset: Preset) -> object:
    """Return how many slabs a member of a league has, in which it is ahead of its results."""
    made = build_league(msgspec.structs.replace(league_preset(), cluster=preset.cluster))
    made.close()
    return len(made.first.components.sampler.facts.slabs)


def initial_weights(preset: Preset) -> object:
    """Return a digest of a run's initial weights; ``run.start`` may name those of another seed."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run = msgspec.structs.replace(preset.run, seed=preset.run.seed + 1, start="")
        other = build.build_learner(msgspec.structs.replace(preset, run=run))
        save_weights(other.weights(), "other.safetensors")
        tensors = build.build_learner(preset).weights().tensors
    return digest(b"".join(tensors[n].tobytes() for n in sorted(tensors)))


def problems(preset: Preset) -> object:
    """Return the problems that a method reports about a preset."""
    return [str(p) for p in method_problems(preset, resolve_spec(preset)[0])]


def parts(preset: Preset) -> object:
    """Return why a minibatch of a preset cannot have so many parts."""
    return [str(problem) for problem in parts_problems(preset)]


def with_teacher(preset: Preset) -> object:
    """Return results of a learner in a folder where ``teacher.safetensors`` has weights of another seed."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        others = msgspec.structs.replace(preset.run, seed=preset.run.seed + 1)
        algorithm = msgspec.convert({}, type(preset.algorithm))
        other = build.build_learner(msgspec.structs.replace(preset, run=others, algorithm=algorithm))
        with torch.no_grad():
            next(other.network.policy_head.parameters()).mul_(100.0)
        save_weights(other.weights(), "teacher.safetensors")
        return updates(preset)


def updates(preset: Preset) -> object:
    """Return the weights of a learner after two synthetic slabs; half of each is one version old."""
    learner = build.build_learner(preset)
    assert isinstance(learner.network, PolicyNetwork)
    for seed, share in ((1, 0.25), (2, 0.5)):
        slab = random_slab(learner.network.spec, 8, 8, seed, end=0.3)
        for name, array in slab.obs.items():
            slab.obs[name] = array % 2
        act(learner.network, slab, seed, learner.version)
        slab.version[:, :4] -= 1
        slab.log_prob[:, :4] += np.random.default_rng(seed).normal(size=(8, 4)) * 0.3
        learner.start(slab, share).help(0)
        learner.finish()
    tensors = learner.weights().tensors
    return digest(b"".join(tensors[n].tobytes() for n in sorted(tensors)))


def search(preset: Preset) -> object:
    """Return the root of one search in mid-match with several leaves at a time, which a run does not use."""
    params = params_text(preset.game.params)
    assert isinstance(preset.algorithm, AlphaZeroConfig)
    trees = Trees(preset.game.name, params, preset.algorithm.search, evaluator=Opinions(), seed=3)
    trees.reset(0, 1)
    trees.play(0, 4)
    trees.run([0])
    root = trees.root(0)
    return root.visits, root.move_visits.tolist(), root.mean.tolist(), trees.simulations
