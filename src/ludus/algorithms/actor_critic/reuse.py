"""How often a slab's decisions are differentiated: whole epochs, or any number on average.

OpenAI Five calls it sample reuse (section 4.4).
"""

from __future__ import annotations

import numpy as np

from ludus.algorithms.actor_critic.config import AdvantageConfig
from ludus.algorithms.samples import Index


def passes(config: AdvantageConfig) -> list[float]:
    """Share in (0, 1] of the slab that each pass over it differentiates.

    Args:
        config: ``epochs``, and ``sample_reuse``, which takes their place where it is not 0.
    """
    if config.sample_reuse <= 0.0:
        return [1.0] * config.epochs
    whole = int(config.sample_reuse)
    rest = config.sample_reuse - whole
    return [1.0] * whole + ([rest] if rest > 0.0 else [])


def minibatches_of(shuffled: Index, share: float, minibatches: int) -> list[Index]:
    """The first ``share`` of ``shuffled: [N]``, at least one, in minibatches as large as a whole pass has.

    Args:
        shuffled: decisions, or rows of a policy with memory.
        share: in (0, 1].
        minibatches: of a whole pass.
    """
    if share < 1.0:
        shuffled = shuffled[: max(1, round(share * len(shuffled)))]
        minibatches = max(1, round(share * minibatches))
    return list(np.array_split(shuffled, minibatches))
