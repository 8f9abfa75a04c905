"""Settings of IMPALA (Espeholt et al. 2018, section 4)."""

from __future__ import annotations

from ludus.algorithms.actor_critic.config import ActorCriticConfig
from ludus.algorithms.config import Positive, Share


class ImpalaConfig(ActorCriticConfig, frozen=True, forbid_unknown_fields=True, tag="impala"):
    """One learner's settings. Ratios are pi / mu: the learner's probability over the behaviour policy's."""

    gae_lambda: Share = 1.0  # of V-trace (remark 2)
    rho_clip: Positive = 1.0
    c_clip: Positive = 1.0
