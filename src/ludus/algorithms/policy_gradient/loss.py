"""The loss of the policy gradient as a pure function over flat samples (Williams 1992, equation 11)."""

from __future__ import annotations

import msgspec

from ludus.algorithms.actor_critic.loss import weighted_loss
from ludus.algorithms.actor_critic.objective import Decisions
from ludus.algorithms.loss import Loss
from ludus.algorithms.policy_gradient.config import PolicyGradientConfig


def policy_gradient_loss(
    config: PolicyGradientConfig, decisions: Decisions, entropy_coefficient: float
) -> Loss:
    """-min(pi/mu, ``ratio_clip``) A log pi with an entropy term, and a value term for the baseline ``value``.

    Args and Returns: see :func:`~ludus.algorithms.actor_critic.loss.weighted_loss`.
    """
    if config.baseline == "value":
        return weighted_loss(config, decisions, entropy_coefficient, config.ratio_clip)
    without = msgspec.structs.replace(config, value_coefficient=0.0)
    loss = weighted_loss(without, decisions, entropy_coefficient, config.ratio_clip)
    return Loss(loss.total, {n: x for n, x in loss.numbers.items() if n != "loss/value"})
