"""The loss of A2C with importance weights (Tian et al. 2017, section 4.2.1)."""

from __future__ import annotations

from ludus.algorithms.a2c.config import A2cConfig
from ludus.algorithms.actor_critic.loss import weighted_loss
from ludus.algorithms.actor_critic.objective import Decisions
from ludus.algorithms.loss import Loss


def a2c_loss(config: A2cConfig, decisions: Decisions, entropy_coefficient: float) -> Loss:
    """-min(pi/mu, ``ratio_clip``) A log pi with a value and an entropy term.

    Args and Returns: see :func:`~ludus.algorithms.actor_critic.loss.weighted_loss`.
    """
    return weighted_loss(config, decisions, entropy_coefficient, config.ratio_clip)
