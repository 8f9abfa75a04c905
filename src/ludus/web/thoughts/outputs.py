"""Outputs of a network for thoughts: the weights of each head's choices, and a value.

Shapes: ``N`` moments, ``K`` heads, ``A`` bytes of a mask.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.policies.actions.action_distribution import ActionDistribution, Independent
from ludus.policies.actions.autoregressive import AutoregressiveDistribution
from ludus.policies.actions.q_values import QValues
from ludus.policies.critic import Others
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network, Observation
from ludus.web.thoughts.thought import ThinkError

Floats = npt.NDArray[np.float32]


class MadeDecisions(NamedTuple):
    """MadeDecisions made at ``N`` moments."""

    action: npt.NDArray[np.int64]  # [N, K]
    made: npt.NDArray[np.uint8]  # [N]: whether the decision is known


class Given(NamedTuple):
    """Masks and decisions of ``N`` moments, on the device."""

    mask: Tensor  # uint8[N, A], 1 = legal
    action: Tensor  # int64[N, K]: the decisions that were made
    made: Tensor  # uint8[N]: whether the decision is known


class HeadOutput(NamedTuple):
    """One head. ``weights``: probabilities, Q-values, or mean and log-deviation of a continuous head."""

    weights: Tensor  # float32[N, size]
    legal: Tensor  # bool[N, size]


class HeadArrays(NamedTuple):
    """A :class:`HeadOutput` on the host."""

    weights: Floats  # [N, size]
    legal: npt.NDArray[np.bool_]  # [N, size]


Answers = tuple[list[HeadArrays], Floats]  # heads, and values [N]


def decided(
    network: Network, value_weights: Tensor, obs: Observation, others: Others | None
) -> tuple[ActionDistribution, Tensor]:
    """Return distributions and values ``float32[N]`` of a network without memory."""
    if not isinstance(network, PolicyNetwork):
        step = network.step(obs)
        return step.distribution, step.value.float()
    distribution, value = network.flat(obs, None, others)
    return distribution, joined(network, value_weights, value)


def joined(network: PolicyNetwork, value_weights: Tensor, value: Tensor) -> Tensor:
    """Return ``float32[N]`` in the game's units, of normalised values ``[N]`` or ``[N, heads]``."""
    value = network.denormalise(value).float()
    return value if value.dim() == 1 else value @ value_weights


def answers(distribution: ActionDistribution, value: Tensor, given: Given) -> tuple[list[HeadOutput], Tensor]:
    """Return the heads and the values ``float32[N]`` of moments.

    Heads that depend on earlier choices are given the decision that was made, if it is known; otherwise the
    one that the network prefers.
    """
    preferred = distribution.sample(given.mask, None).actions
    chosen = torch.where((given.made != 0).unsqueeze(1), given.action, preferred)
    heads = _heads(distribution, given.mask, chosen)
    if isinstance(distribution, QValues):  # of the best legal choices: acting does not know the mask
        value = torch.stack([head.weights.amax(dim=1) for head in heads]).mean(dim=0)
    return heads, value


def _heads(distribution: ActionDistribution, mask: Tensor, chosen: Tensor) -> list[HeadOutput]:
    if isinstance(distribution, AutoregressiveDistribution):
        return _in_turn(distribution, mask, chosen)
    if isinstance(distribution, QValues):
        heads, each = distribution.heads, distribution.values(mask)
    elif isinstance(distribution, Independent):
        heads = distribution.heads
        each = heads.log_probs(distribution.logits, mask)
    else:
        raise ThinkError(f"a {type(distribution).__name__} has no probabilities that can be shown")
    made = []
    numbers = getattr(heads, "continuous", ()) or (False,) * len(heads.sizes)
    for k, part in enumerate(torch.split(each, list(heads.sizes), dim=1)):
        plain = not numbers[k] and not isinstance(distribution, QValues)
        weights = (part.exp() if plain else part).float()
        made.append(HeadOutput(weights, heads.legal(mask, k, chosen)))
    return made


def _in_turn(distribution: AutoregressiveDistribution, mask: Tensor, chosen: Tensor) -> list[HeadOutput]:
    """Return heads decided in order, each given the choices ``chosen: int64[N, K]`` before it."""
    heads = distribution.heads
    legal = [heads.heads.legal(mask, k, chosen) for k in range(len(heads.heads.sizes))]
    weights = [mask.new_zeros(part.shape, dtype=torch.float32) for part in legal]
    features, pointed = distribution.features, distribution.pointed
    if distribution.static:
        for k, _, log_probs in heads.every_conditional(features, pointed, mask, chosen):
            weights[k] = log_probs.float().exp()  # of a head without a legal choice none is read
    else:
        for k, rows, log_probs in heads.conditionals(features, pointed, mask, chosen):
            weights[k].index_copy_(0, rows, log_probs.float().exp())
    return [HeadOutput(*pair) for pair in zip(weights, legal, strict=True)]
