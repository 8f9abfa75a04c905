"""The loss of behaviour cloning: the negative log-likelihood of the teacher's decisions."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from ludus.algorithms.imitation.config import ImitationConfig
from ludus.algorithms.loss import Loss


class Shown(NamedTuple):
    """``N`` decisions of the teacher. All ``float32[N]``; values in normalised units."""

    log_prob: Tensor  # of the teacher's action, under the learner's policy; carries gradients
    entropy: Tensor  # of the learner's policy, nats; carries gradients
    agrees: Tensor  # 1 where the learner's most probable decision is the teacher's
    value: Tensor  # the learner's prediction; carries gradients
    target: Tensor  # of the value
    known: Tensor  # 1 where the target is known


def imitation_loss(config: ImitationConfig, shown: Shown) -> Loss:
    """``-log pi(a|s) + value_coefficient (V - target)^2 / 2 - entropy_coefficient H``, a sum over decisions.

    Args:
        config: the coefficients.
        shown: decisions of the teacher.

    Returns:
        The loss with ``loss/imitation`` (nats), ``loss/value``, ``policy/entropy`` (nats) and
        ``imitation/accuracy``.
    """
    imitation = -shown.log_prob.sum()
    value = 0.5 * (shown.known * (shown.value - shown.target).square()).sum()
    entropy = shown.entropy.sum()
    total = imitation + config.value_coefficient * value - config.entropy_coefficient * entropy
    numbers = {
        "loss/imitation": imitation,
        "loss/value": value,
        "policy/entropy": entropy,
        "imitation/accuracy": shown.agrees.sum(),
    }
    return Loss(total, numbers)
