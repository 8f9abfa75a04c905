"""The processor against the device: both act and learn on the same recorded slab, from the same state.

``worst`` is the largest ``|a - b| / max(1, |b|)`` of all outputs, ``typical`` the root of the mean of its
square, ``b`` being the processor's in float32; a gradient's difference is ``|a - b| / |b|`` by norms. The
device's float32 is checked by its worst, its bfloat16 by its typical difference. Counts of decisions, as of
clipped ones, are compared as counts: ``other_side`` is the largest difference of one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from benchmarks.gpu import search
from benchmarks.gpu.recorded import (
    METHODS,
    NETWORKS,
    PICTURES,
    Learning,
    Recording,
    first_input,
    load,
    record,
    record_pictures,
    without_gaps,
)
from benchmarks.gpu.stage import Cases, Context, Outcome
from ludus.algorithms.updates.forward import evaluate, part_size, units_of
from ludus.algorithms.updates.minibatch import Minibatches, PartLoss
from ludus.algorithms.updates.samples import Index, Samples, pieces
from ludus.algorithms.updates.tasks import Task
from ludus.rollouts.network_actor import NetworkActor

FLOAT32, GRADIENT, BFLOAT16 = 1e-4, 1e-3, 2e-2  # most that may differ
EQUAL_ACTIONS = 0.99  # a draw between two choices may fall on either side
#: Numbers of losses that count decisions, and how many of a thousand may lie on the other side of the border.
COUNTED, OTHER_SIDE = ("policy/clip_fraction", "imitation/accuracy"), 1
SEED = 5
ACTION_LOG_PROB = "act_log_prob"
Floats = npt.NDArray[np.float32]
Numbers = dict[str, float]


class RecordedMinibatches(Minibatches):
    """Minibatches that keep the first gradient and the numbers of its loss, sums over the samples."""

    first: Tensor | None = None
    numbers: Numbers
    samples: int

    def gradient(
        self, parts: Sequence[Index], loss: PartLoss
    ) -> Generator[Sequence[Task], None, tuple[Tensor, int, dict[str, float]]]:
        """See :class:`Minibatches`."""
        gradient, samples, numbers = yield from super().gradient(parts, loss)
        if self.first is None:
            self.first = without_gaps(self.parameters, gradient)
            self.numbers, self.samples = dict(numbers), samples
        return gradient, samples, numbers


def cases(context: Context) -> Cases:
    """Return the cases of this stage."""
    out: dict[str, Callable[[], Outcome]] = {}
    for name in METHODS:
        out[name] = functools.partial(_preset, name, context)
    out[PICTURES] = lambda: compared(record_pictures(context), context)
    for name in search.PRESETS:
        out[name] = functools.partial(_search, name, context)
    for name in NETWORKS:
        out[name] = functools.partial(_preset, name, context)
    return out


def _preset(name: str, context: Context) -> Outcome:
    return compared(record(load(name, context)), context)


def compared(recording: Recording, context: Context) -> Outcome:
    """Compare the device with the processor on one recording."""
    return judged(
        _looked(recording, recording.learner("cpu")),
        _looked(recording, recording.learner(context.device)),
        _looked(recording, recording.learner(context.device, "bfloat16")) if _narrows(context) else None,
    )


def _narrows(context: Context) -> bool:
    """Return whether torch computes in bfloat16 on the device: not on a pretended one."""
    return context.device in ("cpu", "cuda")


def _search(name: str, context: Context) -> Outcome:
    preset = search.preset_of(name, context)
    positions = search.leaves(preset)
    places = (("cpu", "float32"), (context.device, "float32"), (context.device, "bfloat16"))
    seen = (search.evaluated(preset, positions, *place) for place in places)
    return judged(*(Looked(outputs, gradient=gradient) for outputs, gradient in seen))


def judged(processor: Looked, device: Looked, narrow: Looked | None) -> Outcome:
    """Compare the device, in float32 and ``narrow`` in bfloat16, with the processor in float32."""
    numbers = _differences(device, processor)
    limits = {"worst": FLOAT32, "gradient": GRADIENT}
    if narrow is not None:
        numbers |= {f"bfloat16_{name}": x for name, x in _differences(narrow, processor).items()}
        limits["bfloat16_typical"] = BFLOAT16
    faults = [
        f"{name} {numbers[name]:.2e}, at most {limit:g} expected"
        for name, limit in limits.items()
        if not numbers[name] <= limit
    ]
    if not numbers["equal_actions"] >= EQUAL_ACTIONS:
        faults.append(f"equal_actions {numbers['equal_actions']:.3f}, at least {EQUAL_ACTIONS:g} expected")
    most = -(-processor.samples * OTHER_SIDE // 1000)
    if not numbers["other_side"] <= most:
        faults.append(f"other_side {numbers['other_side']:g} of {processor.samples}, at most {most} expected")
    more: dict[str, object] = {"why": "; ".join(faults)} if faults else {}
    return Outcome(not faults, {**more, **numbers})


@dataclass(slots=True)
class Looked:
    """Outputs of a network by name, drawn actions, a gradient of the parameters, and counts of decisions."""

    outputs: dict[str, Floats] = field(default_factory=dict)
    actions: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    gradient: Tensor = field(default_factory=lambda: torch.zeros(0))
    counts: Numbers = field(default_factory=dict)  # by the names of COUNTED
    samples: int = 0  # decisions of the gradient


def _looked(recording: Recording, learner: Learning) -> Looked:
    """Act at the first time step, evaluate every decision, and learn."""
    out, slab = Looked(), recording.slab
    batch = first_input(slab, learner)
    if len(batch.rows):
        decision = NetworkActor(learner.network, SEED).act(batch)
        out.actions = decision.actions
        out.outputs |= {"act_value": decision.value, ACTION_LOG_PROB: decision.log_prob}
        if decision.memory is not None:
            out.outputs["act_memory"] = np.asarray(decision.memory, np.float32)
    samples = Samples(slab, learner.network, learner.policy)
    heads = getattr(learner.network.config, "value_heads", 1)
    value = np.zeros((*slab.value.shape, heads) if heads > 1 else slab.value.shape, np.float32)
    log_prob = np.zeros_like(slab.log_prob)
    size = part_size(learner.network, learner.config.micro_batch, slab.steps)
    for part in pieces(units_of(learner.network, samples.learner_mask), size):
        evaluate(learner.network, samples, part, value, log_prob)
    out.outputs |= {"value": value, "log_prob": log_prob}
    minibatches = RecordedMinibatches(learner.network, learner.parameters, 1)
    learner.minibatches = minibatches
    learner.eager = True  # programs keep no gradient apart
    update = learner.update(slab)
    if minibatches.first is None:
        raise AssertionError(f"the update of {update.samples} decisions made no gradient")
    out.gradient = minibatches.first
    decisions, sums = minibatches.samples, minibatches.numbers
    means = [x / decisions for name, x in sums.items() if name not in COUNTED]
    out.outputs["loss"] = np.asarray(means, np.float32)
    out.counts, out.samples = {name: x for name, x in sums.items() if name in COUNTED}, decisions
    return out


def _differences(ours: Looked, theirs: Looked) -> Numbers:
    """Return the largest and a typical difference of all outputs, the gradients', and two of decisions.

    These are the share of equal actions, and the number of decisions on the other side of a border. The
    probability of an action is compared where both drew the same.
    """
    equal = np.ones(len(ours.actions), np.bool_)
    if ours.actions.size:
        equal = (ours.actions == theirs.actions).all(axis=1)
    gaps = []
    for name, a in ours.outputs.items():
        gap = _gaps(a.astype(np.float64), theirs.outputs[name].astype(np.float64))
        gaps.append((gap[equal] if name == ACTION_LOG_PROB else gap).reshape(-1))
    every = np.concatenate(gaps)
    return {
        "worst": float(every.max(initial=0.0)),
        "typical": float(np.sqrt(np.square(every).mean())),
        "gradient": float((ours.gradient - theirs.gradient).norm() / theirs.gradient.norm()),
        "equal_actions": float(equal.mean()) if equal.size else 1.0,
        "other_side": max((abs(x - theirs.counts[name]) for name, x in ours.counts.items()), default=0.0),
    }


def _gaps(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return ``|a - b| / max(1, |b|)``, and 0 for equal infinities, which illegal actions have."""
    with np.errstate(invalid="ignore"):
        gap = np.abs(a - b) / np.maximum(1.0, np.abs(b))
    return np.where(a == b, 0.0, gap)
