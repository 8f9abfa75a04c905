"""Settings of APPO: PPO clipping, V-trace, GAE (Sample Factory, section 3; Schulman et al. 2017)."""

from __future__ import annotations

from ludus.algorithms.actor_critic.config import ActorCriticConfig
from ludus.algorithms.config import NonNegative, Positive, Share


class AppoConfig(ActorCriticConfig, frozen=True, forbid_unknown_fields=True, tag="appo"):
    """One learner's settings. Ratios are pi / mu: the learner's probability over the behaviour policy's."""

    gae_lambda: Share = 0.95
    vtrace: bool = True
    rho_clip: Positive = 1.0
    c_clip: Positive = 1.0
    clip_ratio: Positive = 0.2
    clip_value: NonNegative = 0.0  # 0 = off
