"""Settings of A2C (Mnih et al. 2016, section 4; Tian et al. 2017, section 4.2.1)."""

from __future__ import annotations

from ludus.algorithms.actor_critic.config import ActorCriticConfig
from ludus.algorithms.config import Natural, Positive


class A2cConfig(ActorCriticConfig, frozen=True, forbid_unknown_fields=True, tag="a2c"):
    """One learner's settings."""

    n: Natural = 0  # decisions of a return before its value, 0 = to the end of the slab
    ratio_clip: Positive = 10.0  # largest weight of a decision, pi / mu
