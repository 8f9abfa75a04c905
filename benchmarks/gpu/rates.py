"""Times of an act and of a minibatch on the device, and whole trainings on it and on the processor.

``speedup``: the device over all processors that the machine lends. A training's numbers come from
``ludus bench train``, which states the limits too.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable

import msgspec

from benchmarks.gpu.recorded import (
    PICTURES,
    Recording,
    first_input,
    load,
    on,
    record,
    record_pictures,
)
from benchmarks.gpu.stage import Cases, Context, Outcome
from benchmarks.gpu.timing import median_s
from ludus.algorithms.learner import UpdateStats
from ludus.bench.training import bench_train
from ludus.presets.config import RunConfig
from ludus.presets.file import load_preset
from ludus.presets.hardware import precision_name
from ludus.rollouts.network_actor import NetworkActor

PRESETS = ("minirts", "minirts-units", "pommerman-team")
#: Presets of whole trainings, and the package that they need besides.
TRAININGS = {"minirts": "", "minirts-units": "", "breakout": "ale_py", "pommerman-team": ""}
SMALL = {"pool.slots": "16", "pool.rollout_length": "8", "run.threads": "2"}
SHORTEST_S, LONGEST_S = 0.5, 20.0  # of one training on one device


def cases(context: Context) -> Cases:
    """Return the cases of this stage."""
    parts = (*PRESETS, PICTURES)
    out: dict[str, Callable[[], Outcome]] = {}
    part_s = min(2.0, context.left_s / 40)
    for name in parts:
        out[f"{name}: parts"] = functools.partial(_parts, name, context, part_s)
    for k, name in enumerate(TRAININGS):
        out[f"{name}: training"] = functools.partial(_training, name, context, len(TRAININGS) - k)
    return out


def _devices(context: Context) -> tuple[str, ...]:
    """Return the device, and the processor beside a card."""
    return ("cpu",) if context.device == "cpu" else (context.device, "cpu")


def _parts(name: str, context: Context, seconds: float) -> Outcome:
    """Time an act of all rows and a gradient step; on the processor, of one thread."""
    changes = {} if context.small else {"pool.slots": "256", "pool.rollout_length": "32"}
    if name == PICTURES:
        recording = record_pictures(context)
    else:
        recording = record(load(name, context, changes), learns=False)
    return Outcome(None, _timed(recording, context, seconds))


def _timed(recording: Recording, context: Context, seconds: float) -> dict[str, object]:
    precision = precision_name(RunConfig(), context.device)
    learner, slab = recording.learner(context.device, precision), recording.slab
    actor, batch = NetworkActor(learner.network, 1), first_input(slab, learner)
    act = median_s(lambda: actor.act(batch), context, seconds)
    updates: list[UpdateStats] = []

    def update() -> None:
        slab.version[:] = learner.version  # no weights lie between: V-trace needs no separate pass
        updates.append(learner.update(slab))

    took = median_s(update, context, seconds)
    steps = updates[-1].gradient_steps
    return {
        "precision": precision,
        "act_rows": len(batch.rows),
        "act_us": act * 1e6,
        "minibatch_us": took / steps * 1e6,
        "gradient_steps": steps,
        "learned_per_s": updates[-1].learned / took,
    }


def _training(name: str, context: Context, left: int) -> Outcome:
    """Train on each device in turn; ``left``: trainings that are to come, this one included."""
    package = TRAININGS[name]
    if package and importlib.util.find_spec(package) is None:
        return Outcome(None, {"skipped": f"{package} is not installed"})
    devices = _devices(context)
    seconds = min(LONGEST_S, max(SHORTEST_S, 0.6 * context.left_s / (left * len(devices))))
    preset = load_preset(name, SMALL if context.small else {}).preset
    numbers: dict[str, object] = {}
    rates = []
    for device in devices:
        placed = on(preset, device, precision_name(RunConfig(), device))
        result = bench_train(placed, seconds, name=name)
        rates.append(result.steps_per_s)
        numbers[device] = msgspec.to_builtins(result)
    if len(rates) == 2:
        numbers["speedup"] = rates[0] / rates[1]
    return Outcome(None, numbers)
