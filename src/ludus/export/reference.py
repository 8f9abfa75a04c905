"""Outputs of a network as it acts, in the order of a graph: what an export is compared with.

Nothing here is shared with :mod:`ludus.export.graph`: the network decodes packed observations and computes
compact forms, as in every match.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ludus.export.names import CHOICES, MEMORY, VALUE
from ludus.flow.slab import Array
from ludus.policies.actions.action_distribution import ActionDistribution, Independent
from ludus.policies.actions.autoregressive import AutoregressiveDistribution
from ludus.policies.actions.q_values import QValues
from ludus.policies.critic import split_memory
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network


class Acted(NamedTuple):
    """Decisions of ``N`` rows. ``outputs``: by role and head (-1 for outputs of no head)."""

    actions: Array  # int32[N, K]
    memory: Array | None
    outputs: dict[tuple[str, int], Array]


class Seen(NamedTuple):
    """Inputs of a decision of ``N`` rows: packed observations, masks, memory, first decisions of matches."""

    obs: Mapping[str, Array]
    mask: Array
    memory: Array | None
    first: Array  # bool[N]


@torch.no_grad()
def act(network: Network, seen: Seen, uniform: Array) -> Acted:
    """Decide as in a match; ``uniform: float32[N, K]`` draws the choices."""
    obs = {name: torch.from_numpy(array) for name, array in seen.obs.items()}
    memory = None if seen.memory is None else torch.from_numpy(seen.memory)
    mask, first = torch.from_numpy(seen.mask), torch.from_numpy(seen.first)
    step = network.step(obs, memory, first)
    actions = step.distribution.sample(mask, torch.from_numpy(uniform)).actions
    found = dict(_of_heads(network, step.distribution, mask, actions))
    found[CHOICES, -1] = actions
    value = step.value
    if isinstance(network, PolicyNetwork) and network.config.value_heads > 1 and network.critic is None:
        several = network.sequence({n: x[None] for n, x in obs.items()}, memory, first[None]).value
        value = network.denormalise(several)[0]
    found[VALUE, -1] = value
    if step.memory is not None:
        found[MEMORY, -1] = _policy_memory(network, step.memory)
    outputs = {key: tensor.numpy() for key, tensor in found.items()}
    after = None if step.memory is None else step.memory.numpy()
    return Acted(actions.numpy().astype(np.int32), after, outputs)


def _policy_memory(network: Network, memory: Tensor) -> Tensor:
    if isinstance(network, PolicyNetwork) and network.recurrent is not None:
        return split_memory(memory, network.recurrent.size)[0]
    return memory


def _of_heads(
    network: Network, distribution: ActionDistribution, mask: Tensor, actions: Tensor
) -> dict[tuple[str, int], Tensor]:
    out: dict[tuple[str, int], Tensor] = {}
    if isinstance(distribution, AutoregressiveDistribution):
        rows = len(mask)
        for k, head in enumerate(network.spec.heads):  # a head without a legal choice has choice 0
            out["probabilities", k] = torch.zeros((rows, head.size))
            out["probabilities", k][:, 0] = 1.0
        turns = distribution.heads.conditionals(
            distribution.features, distribution.pointed, mask, actions.clone()
        )
        for k, some, log_probs in turns:
            out["probabilities", k][some] = log_probs.exp()
        return out
    if isinstance(distribution, QValues):
        every, role = distribution.values(mask), "q"
    else:
        assert isinstance(distribution, Independent)
        every, role = network.heads.log_probs(distribution.logits, mask), "probabilities"
    at = 0
    for k, head in enumerate(network.spec.heads):
        part = every[:, at : at + head.size]
        at += head.size
        if head.kind == "continuous":
            out["mean", k], out["deviation", k] = part[:, 0], part[:, 1].exp()
        else:
            out[role, k] = part if role == "q" else part.exp()
    return out
