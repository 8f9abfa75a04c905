"""The discount from a horizon, which may move over a run (OpenAI Five, appendix C and figure 6)."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from ludus.algorithms.config import SlabLearnerConfig

Config = TypeVar("Config", bound=SlabLearnerConfig)


def with_horizon(config: Config, frame_skip: int, progress: float) -> Config:
    """The settings with the discount ``1 - frame_skip / horizon`` of this point of the run.

    Args:
        config: ``horizon`` and ``horizon_final`` in ticks; without a horizon it is returned as it is.
        frame_skip: ticks of a decision, >= 1.
        progress: share in [0, 1] of the budget that is spent; the horizon moves linearly with it.
    """
    if config.horizon <= 0.0:
        return config
    final = config.horizon_final or config.horizon
    horizon = config.horizon + progress * (final - config.horizon)
    return msgspec.structs.replace(config, discount=1.0 - frame_skip / horizon)
