"""Equal seeds, equal bits: two trainings on the device, compared by everything that they continue from.

And equal bits of graphs and of their operations one by one.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from typing import cast

import torch

from benchmarks.gpu.recorded import (
    PICTURES,
    Learning,
    first_input,
    load,
    on,
    record,
    record_pictures,
)
from benchmarks.gpu.stage import Cases, Context, Outcome
from ludus.bench.training import seat_first
from ludus.flow.slab import Array
from ludus.policies.accelerator import Cuda, Device, Plain
from ludus.presets.config import Preset
from ludus.rollouts.commands import LoadWeights
from ludus.rollouts.network_actor import NetworkActor
from ludus.training.actor_learner.build import LocalWeights, build
from ludus.training.actor_learner.sampler import local_sampler

#: With rows that meet in sums: pointers at entities, cells, a memory.
PRESETS = ("minirts", "minirts-units", "minirts-cells", "pommerman-team")
#: Whose acting and learning are programs.
GRAPHS = ("minirts", "minirts-impala", "capture-the-flag")


def cases(context: Context) -> Cases:
    """Return the cases of this stage."""
    rounds = 3 if context.small else 20
    out: dict[str, Callable[[], Outcome]] = {
        name: functools.partial(_twice, load(name, context), rounds, context.device) for name in PRESETS
    }
    out[PICTURES] = lambda: _pictures(rounds, context)
    for name in (*GRAPHS, PICTURES):
        out[f"{name}: graphs"] = functools.partial(_graphs, name, context)
    return out


def _twice(preset: Preset, rounds: int, device: str) -> Outcome:
    first, second = (trained(preset, rounds, device) for _ in range(2))
    return _compared(first, second, rounds)


def trained(preset: Preset, rounds: int, device: str) -> str:
    """Play and learn ``rounds`` slabs on the device; return the hash of the learner and the last slab."""
    placed = on(preset, device)
    components = build(placed, 1)
    try:
        seat_first(components, placed)
        sampler, learner = local_sampler(components.sampler), components.learner
        (slab,) = sampler.facts.slabs
        for _ in range(rounds):
            sampler.play(slab)
            cast(Learning, learner).update(slab)
            sampler.send(LoadWeights({components.policy: LocalWeights(learner)}))
        arrays, _ = learner.state()
        return digest(arrays | slab.fields())
    finally:
        components.close()


def _pictures(rounds: int, context: Context) -> Outcome:
    """Learn from one slab of pictures again and again: convolutions and their gradients."""
    recording = record_pictures(context)

    def learned() -> str:
        learner = recording.learner(context.device)
        for _ in range(rounds):
            learner.update(recording.slab)
        return digest(learner.state()[0])

    return _compared(learned(), learned(), rounds)


def _graphs(name: str, context: Context) -> Outcome:
    """Learn and act by graphs, and by their operations one by one; on the processor, packed and not."""
    recording = record_pictures(context) if name == PICTURES else record(load(name, context))
    device, reports = torch.device(context.device), list[str]()
    graphs = Cuda(device, reports.append) if context.device == "cuda" else Plain(static=True)
    seen = []
    for executor in (Device(device), graphs):
        learner = recording.learner(context.device, executor=executor)
        for k in range(3):
            learner.update(recording.slab, 0.3 * k)
        batch = first_input(recording.slab, learner)
        decision = NetworkActor(learner.network, 1, executor=executor).act(batch)
        acted = {"actions": decision.actions, "log_prob": decision.log_prob, "value": decision.value}
        seen.append(digest(learner.state()[0] | acted))
    outcome = _compared(seen[0], seen[1], 3)
    if not reports:
        return outcome
    return Outcome(False, {**outcome.numbers, "why": "; ".join(reports)})


def _compared(first: str, second: str, rounds: int) -> Outcome:
    equal = first == second
    more: dict[str, object] = {} if equal else {"why": f"other bits after {rounds} updates", "other": second}
    return Outcome(equal, {**more, "updates": rounds, "sha256": first})


def digest(arrays: Mapping[str, Array]) -> str:
    """Return the SHA-256 of arrays with their names, shapes and types."""
    out = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        out.update(f"{name} {array.dtype} {array.shape}\n".encode())
        out.update(array.tobytes())
    return out.hexdigest()
