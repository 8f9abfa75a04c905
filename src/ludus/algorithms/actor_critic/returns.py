"""Returns of one slab: V-trace as methods use it, and values with several heads, each with its own discount.

Every head predicts the return of the whole reward under its discount. The policy is trained on the weighted
sum of the heads' advantages. Values of several heads are the learner's alone (``PolicyNetwork``).

Shapes: ``T`` steps, ``R`` rows, ``K`` heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec
import numpy as np

from ludus.algorithms.actor_critic.objective import Config, Objective
from ludus.algorithms.group import ALONE, Group
from ludus.algorithms.returns import Bools, Floats, Returns, Transitions, transitions, vtrace
from ludus.flow import Slab


class VtraceSettings(Protocol):
    """Settings of V-trace (:func:`ludus.algorithms.returns.vtrace`)."""

    @property
    def discount(self) -> float:
        """Discount of a decision, in [0, 1]."""
        ...

    @property
    def gae_lambda(self) -> float:
        """Lambda in [0, 1]; 1 is V-trace without lambda."""
        ...

    @property
    def rho_clip(self) -> float:
        """Largest weight of a temporal difference, > 0."""
        ...

    @property
    def c_clip(self) -> float:
        """Largest weight of what follows a decision, > 0."""
        ...


def vtrace_returns(
    config: VtraceSettings,
    transitions: Transitions,
    value: Floats,
    ratio: Floats | None,
    group: Group = ALONE,
) -> Returns:
    """Return V-trace with lambda; GAE where ``ratio`` is None.

    Espeholt et al. 2018, equation 1 and remark 2.

    Args:
        config: ``discount``, ``gae_lambda``, ``rho_clip`` and ``c_clip``.
        transitions: ``[T, R]``.
        value: ``float32[T+1, R]``, in the game's units.
        ratio: ``float32[T, R]``, pi / mu.
        group: Not read.
    """
    return vtrace(
        transitions,
        value,
        discount=config.discount,
        gae_lambda=config.gae_lambda,
        ratio=ratio,
        rho_clip=config.rho_clip,
        c_clip=config.c_clip,
    )


def blank_values(slab: Slab, heads: int) -> Floats:
    """Return room for the learner's values: the slab's ``[T+1, R]`` copied, or ``[T+1, R, K]`` if K > 1."""
    return slab.value.copy() if heads == 1 else np.zeros((*slab.value.shape, heads), np.float32)


def transitions_of_heads(
    slab: Slab, rewards: Sequence[Floats], final_value: Floats | None, value: Floats, active: Bools
) -> list[Transitions]:
    """Return the transitions of each head.

    Args:
        slab: Rollout.
        rewards: ``float32[T, R]`` of each head.
        final_value: ``float32[T, R]``, or None if it is unknown (:func:`transitions`).
        value: Array of :func:`blank_values`, evaluated.
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
    group: Group = ALONE,
) -> Returns:
    """Return the objective's returns: with K > 1 heads ``target: [T, R, K]``, and one advantage for all."""
    heads = len(moves)
    if heads == 1 and not config.value_discounts:
        return objective.returns(config, moves[0], value, ratio, group)
    found = [
        objective.returns(
            msgspec.structs.replace(config, discount=discount), moves[k], of_head(value, k), ratio, group
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
    """Return ``[T, R]`` of head k of ``[T, R]`` or ``[T, R, K]``."""
    return value if value.ndim == 2 else np.ascontiguousarray(value[..., k])


def flat(array: Floats) -> Floats:
    """Return ``[T, R, ...]`` as ``[T * R, ...]``."""
    return array.reshape(-1, *array.shape[2:])
