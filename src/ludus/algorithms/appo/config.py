"""Settings of APPO: PPO clipping, V-trace, GAE (Sample Factory, section 3; Schulman et al. 2017)."""

from __future__ import annotations

from typing import Literal

import msgspec


class AppoConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One learner's settings. Rates are per update, ratios are behaviour over learner as named."""

    learning_rate: float = 5e-4
    learning_rate_schedule: Literal["constant", "linear"] = "constant"
    adam_betas: tuple[float, float] = (0.9, 0.999)
    adam_eps: float = 1e-5
    discount: float = 0.99
    gae_lambda: float = 0.95
    vtrace: bool = True
    rho_clip: float = 1.0
    c_clip: float = 1.0
    clip_ratio: float = 0.2
    clip_value: float = 0.0  # 0 = off
    value_coefficient: float = 0.5
    entropy_coefficient: float = 0.01
    entropy_coefficient_final: float = 0.01  # reached linearly at the end of the budget
    max_grad_norm: float = 0.5
    epochs: int = 1
    minibatches: int = 4
    micro_batch: int = 512  # rows whose activations stay in the cache
    normalise_advantages: bool = True
    normalise_returns: bool = True
    reward_scale: float = 1.0
    reward_clip: float = 0.0  # 0 = off
