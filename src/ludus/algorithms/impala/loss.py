"""The loss of IMPALA as a pure function over flat samples (Espeholt et al. 2018, section 4.2)."""

from __future__ import annotations

from ludus.algorithms.actor_critic.loss import weighted_loss
from ludus.algorithms.actor_critic.objective import Decisions
from ludus.algorithms.impala.config import ImpalaConfig
from ludus.algorithms.loss import Loss


def impala_loss(config: ImpalaConfig, decisions: Decisions, entropy_coefficient: float) -> Loss:
    """-rho A log pi with rho = min(``rho_clip``, pi/mu), a value and an entropy term.

    Args and Returns: see :func:`~ludus.algorithms.actor_critic.loss.weighted_loss`.
    """
    return weighted_loss(config, decisions, entropy_coefficient, config.rho_clip)
