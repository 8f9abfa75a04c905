"""Returns of a value with several heads, each with a discount of its own.

Every head predicts the return of the whole reward under its discount. The policy is trained on the weighted
sum of the heads' advantages. Values of several heads are the learner's alone (``PolicyNetwork``).

Shapes: ``T`` steps, ``R`` rows, ``K`` heads.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from ludus.algorithms.actor_critic.objective import Config, Objective
from ludus.algorithms.returns import Bools, Floats, Returns, Transitions, transitions
from ludus.flow import Slab


def blank_values(slab: Slab, heads: int) -> Floats:
    """Room for the learner's values: ``[T+1, R]``, begun as those of acting, or ``[T+1, R, K]`` if K > 1."""
    return slab.value.copy() if heads == 1 else np.zeros((*slab.value.shape, heads), np.float32)


def moves_of_heads(
    slab: Slab, rewards: Sequence[Floats], final_value: Floats | None, value: Floats, active: Bools
) -> list[Transitions]:
    """Transitions of each head.

    Args:
        slab: the rollout.
        rewards: ``float32[T, R]`` of each head.
        final_value: ``float32[T, R]``, or None where nobody knows it (:func:`transitions`).
        value: of :func:`blank_values`, evaluated.
        active: ``bool[T+1, R]``.
    """
    ended, cut = slab.terminated != 0, slab.truncated != 0
    return [
        transitions(reward, ended, cut, final_value, of_head(value, k), active)
        for k, reward in enumerate(rewards)
    ]


def returns_of_heads(
    objective: Objective[Config],
    config: Config,
    moves: Sequence[Transitions],
    value: Floats,
    ratio: Floats | None,
) -> Returns:
    """The objective's returns: with K > 1 heads ``target: [T, R, K]``, and one advantage for all of them."""
    heads = len(moves)
    if heads == 1 and not config.value_discounts:
        return objective.returns(config, moves[0], value, ratio)
    found = [
        objective.returns(
            msgspec.structs.replace(config, discount=discount), moves[k], of_head(value, k), ratio
        )
        for k, discount in enumerate(config.value_discounts or (config.discount,) * heads)
    ]
    if heads == 1:
        return found[0]
    weights = config.value_weights or (1.0 / heads,) * heads
    advantage = np.zeros_like(found[0].advantage)
    for weight, one in zip(weights, found, strict=True):
        advantage += np.float32(weight) * one.advantage
    return Returns(advantage, np.stack([one.target for one in found], axis=-1), found[0].valid)


def of_head(value: Floats, k: int) -> Floats:
    """``[T, R]`` of head k of ``[T, R]`` or ``[T, R, K]``."""
    return value if value.ndim == 2 else np.ascontiguousarray(value[..., k])


def flat(array: Floats) -> Floats:
    """``[T, R, ...]`` as ``[T * R, ...]``."""
    return array.reshape(-1, *array.shape[2:])


def explained(targets: Floats, values: Floats) -> float:
    """1 - Var(target - value) / Var(target); 0 where targets do not vary. The mean over several heads."""
    if targets.ndim > 1:
        return float(np.mean([explained(targets[:, k], values[:, k]) for k in range(targets.shape[1])]))
    variance = float(targets.var())
    return 1.0 - float((targets - values).var()) / variance if variance > 1e-12 else 0.0
