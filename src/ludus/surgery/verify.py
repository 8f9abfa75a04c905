"""The old network beside the new one on recorded moments: what a conversion changed.

Shapes: ``T`` steps, ``B`` rows, ``N = T * B`` decisions, ``A`` bytes of a mask.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import numpy as np
import torch
from torch import Tensor

from ludus.flow import GameSpec
from ludus.policies.actions.action_distribution import ActionDistribution, Independent
from ludus.policies.actions.q_values import QValues
from ludus.policies.critic import Mates, Others
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Observation
from ludus.surgery.apply import Array, apply, apply_memory
from ludus.surgery.plan import ConversionPlan, SurgeryError

#: Largest deviation of logits, values and memory in float32.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Moments:
    """The same moments of matches as both networks observe them."""

    old: Observation  # name -> [T, B, *packed]
    new: Observation
    first: Tensor  # bool[T, B]: a match starts
    old_mask: Tensor  # uint8[N, A]
    new_mask: Tensor  # of the new game; new choices are illegal where the old network decided
    memory: Tensor | None = None  # [B, *shape] of the old network before the first step
    #: observations of other seats, for a centralised critic
    old_others: Others | None = None
    new_others: Others | None = None
    #: rows of other seats, for critics with memory
    mates: Mates | None = None


class LargestDifferences(msgspec.Struct, frozen=True):
    """Largest absolute differences over all decisions.

    ``logits``: error of old choices, or of log-probabilities of decisions if heads follow each other.
    ``scale``: largest old logit. ``worst``: the parameter whose numbers contradict the plan most.
    """

    decisions: int
    logits: float
    value: float
    memory: float
    scale: float
    parameters: float
    worst: str

    @property
    def largest(self) -> float:
        """The largest difference, for a bound."""
        return max(self.logits, self.value, self.memory, self.parameters)


def worst_parameter(
    plan: ConversionPlan, old: Mapping[str, Array], new: Mapping[str, Array]
) -> tuple[str, float]:
    """Return the tensor that contradicts the plan most, and its largest deviation; ("", 0) if none does.

    Raises:
        SurgeryError: Names or shapes differ from the plan.
    """
    expected = apply(plan, old, new)  # what the plan leaves free is taken from `new` itself
    worst = ("", 0.0)
    for name, array in expected.items():
        if not array.size:
            continue
        difference = np.abs(array.astype(np.float64) - np.asarray(new[name], np.float64))
        largest = float(np.nan_to_num(difference, nan=np.inf).max())
        if largest > worst[1]:
            worst = (name, largest)
    return worst


@torch.no_grad()
def compare(
    plan: ConversionPlan,
    old: PolicyNetwork,
    new: PolicyNetwork,
    moments: Moments,
    stored: Mapping[str, Array] | None = None,
) -> LargestDifferences:
    """Return the differences of two networks on ``moments``.

    Args:
        plan: From the old network to the new one.
        old: Network before.
        new: Network after.
        moments: Moments as both observe them.
        stored: Parameters and buffers of the old network by the names of the plan; None: as ``old`` has them.

    Raises:
        SurgeryError: The networks do not fit the plan.
    """
    before = _run(old, moments, moments.old, moments.memory, moments.old_others)
    memory = _new_memory(plan, new, moments)
    after = _run(new, moments, moments.new, memory, moments.new_others)
    logits, scale = _decisions(plan, before, after, old.spec, new.spec, moments)
    heads = old.config.value_heads
    one, two = (_values(x, moments.first.numel()) for x in (before, after))
    remembered = 0.0
    if before.memory is not None and after.memory is not None:
        kept = torch.from_numpy(apply_memory(plan, before.memory.numpy()))
        axis = plan.axis(plan.memory.axis) if plan.memory is not None else None
        assert axis is not None
        places = torch.from_numpy(axis.pairs()[0])
        remembered = _largest(kept[..., places] - after.memory[..., places])
    states = [{n: t.numpy() for n, t in network.state_dict().items()} for network in (old, new)]
    worst, parameters = worst_parameter(plan, stored or states[0], states[1])
    return LargestDifferences(
        moments.first.numel(), logits, _largest(one - two[:, :heads]), remembered, scale, parameters, worst
    )


@dataclass(frozen=True)
class _Outputs:
    distribution: ActionDistribution
    value: Tensor
    memory: Tensor | None


def _run(
    network: PolicyNetwork, moments: Moments, obs: Observation, memory: Tensor | None, others: Others | None
) -> _Outputs:
    if others is None:
        out = network.sequence(obs, memory, moments.first, mates=moments.mates)
        return _Outputs(out.distribution, out.value, out.memory)
    flat = {name: x.flatten(0, 1) for name, x in obs.items()}
    distribution, value = network.flat(flat, None, others)
    return _Outputs(distribution, value, None)


def _values(outputs: _Outputs, decisions: int) -> Tensor:
    """Return values ``[N, K]``; of Q-values only V, since their best choice may be a new one."""
    value: Tensor | None = outputs.value
    if isinstance(outputs.distribution, QValues):
        value = outputs.distribution.value
    return torch.zeros((decisions, 1)) if value is None else value.reshape(decisions, -1)


def _new_memory(plan: ConversionPlan, new: PolicyNetwork, moments: Moments) -> Tensor | None:
    if plan.memory is None:
        return None
    if moments.memory is None:
        memory = new.initial_memory(moments.first.shape[1])
        return None if memory is None else memory.to(new.value_head.weight.dtype)
    return torch.from_numpy(apply_memory(plan, moments.memory.numpy()))


def _largest(difference: Tensor) -> float:
    if not difference.numel():
        return 0.0
    return float(torch.nan_to_num(difference.abs(), nan=torch.inf).max())


def _scores(distribution: ActionDistribution) -> Tensor | None:
    if isinstance(distribution, Independent):
        return distribution.logits
    return distribution.scores if isinstance(distribution, QValues) else None


def _decisions(
    plan: ConversionPlan, before: _Outputs, after: _Outputs, old: GameSpec, new: GameSpec, moments: Moments
) -> tuple[float, float]:
    """Return the largest difference of logits or log-probabilities, and the largest old one."""
    axis = plan.axis(plan.choices)
    if axis is None or (axis.old, axis.new) != (_choices(old), _choices(new)):
        raise SurgeryError("plan.choices", plan.choices, "the choices of both games")
    at_new, at_old = axis.pairs()
    one, two = _scores(before.distribution), _scores(after.distribution)
    if one is not None and two is not None:
        difference = one[:, torch.from_numpy(at_old)] - two[:, torch.from_numpy(at_new)]
        return _largest(difference), _largest(one)
    generator = torch.Generator().manual_seed(plan.seed % (1 << 62))
    uniform = torch.rand(moments.old_mask.shape[0], len(old.heads), generator=generator)
    actions = before.distribution.sample(moments.old_mask, uniform).actions
    moved = _moved(actions, np.stack([at_new, at_old]), old, new)
    first = before.distribution.evaluate(moments.old_mask, actions).log_prob
    second = after.distribution.evaluate(moments.new_mask, moved).log_prob
    return _largest(first - second), _largest(first)


def _choices(spec: GameSpec) -> int:
    return sum(h.size for h in spec.heads)


def _moved(actions: Tensor, pairs: Array, old: GameSpec, new: GameSpec) -> Tensor:
    """Return decisions ``int64[N, K]`` of the old game as decisions of the new one; 0 of new heads."""
    at = dict(zip(pairs[1].tolist(), pairs[0].tolist(), strict=True))
    starts = np.cumsum([0, *(h.size for h in new.heads)]).tolist()
    number = {h.name: k for k, h in enumerate(new.heads)}
    moved = actions.new_zeros((actions.shape[0], len(new.heads)))
    offset = 0
    for k, head in enumerate(old.heads):
        if head.name in number:
            there = number[head.name]
            table = torch.tensor([at.get(offset + i, starts[there]) for i in range(head.size)])
            moved[:, there] = table[actions[:, k]] - starts[there]
        offset += head.size
    return moved
