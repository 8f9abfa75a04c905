"""Settings of APPO: PPO clipping, V-trace, GAE (Sample Factory, section 3; Schulman et al. 2017)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Positive = Annotated[float, msgspec.Meta(gt=0)]
NonNegative = Annotated[float, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]


class AppoConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="name", tag="appo"):
    """One learner's settings. Ratios are pi / mu: the learner's probability over the behaviour policy's."""

    learning_rate: Positive = 5e-4
    learning_rate_schedule: Literal["constant", "linear"] = "constant"
    adam_betas: tuple[Share, Share] = (0.9, 0.999)
    adam_eps: Positive = 1e-5
    discount: Share = 0.99
    gae_lambda: Share = 0.95
    vtrace: bool = True
    rho_clip: Positive = 1.0
    c_clip: Positive = 1.0
    clip_ratio: Positive = 0.2
    clip_value: NonNegative = 0.0  # 0 = off
    value_coefficient: NonNegative = 0.5
    entropy_coefficient: NonNegative = 0.01
    entropy_coefficient_final: NonNegative = 0.01  # reached linearly at the end of the budget
    max_grad_norm: NonNegative = 0.5
    epochs: Count = 1
    minibatches: Count = 4
    micro_batch: Count = 1024  # decisions differentiated at once; conv torsos prefer 256
    normalise_advantages: bool = True
    normalise_returns: bool = True
    reward_scale: float = 1.0
    reward_clip: NonNegative = 0.0  # 0 = off
