"""Settings of TRPO (Schulman et al. 2015)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from ludus.algorithms.actor_critic.config import AdvantageConfig
from ludus.algorithms.config import Count, NonNegative, Positive, Share

OpenShare = Annotated[float, msgspec.Meta(gt=0, lt=1)]
SomeShare = Annotated[float, msgspec.Meta(gt=0, le=1)]


class TrpoConfig(AdvantageConfig, frozen=True, forbid_unknown_fields=True, tag="trpo"):
    """One learner's settings. ``epochs``, ``minibatches``, the optimiser and its rate are the value's."""

    gae_lambda: Share = 0.97
    vtrace: bool = True
    rho_clip: Positive = 1.0
    c_clip: Positive = 1.0
    max_kl: Positive = 0.01  # nats, bound of the mean divergence of one update
    damping: NonNegative = 0.1  # added to the diagonal of the Fisher matrix
    conjugate_steps: Count = 10
    fisher_share: SomeShare = 0.25  # of the decisions, for products with the Fisher matrix
    difference: Positive = 0.01  # length of the step in parameters that such a product is measured with
    backtracks: Count = 10  # tries of the line search
    backtrack_factor: OpenShare = 0.8
    entropy_coefficient: NonNegative = 0.0
    entropy_coefficient_final: NonNegative = 0.0
    epochs: Count = 5
    value_coefficient: NonNegative = 1.0

    def problems(self) -> Iterator[tuple[str, str]]:
        """See :meth:`~ludus.algorithms.config.MethodConfig.problems`."""
        yield from super().problems()
        if self.value_coefficient == 0.0:
            yield "value_coefficient", "= 0: the value would not be learned; expected a number above 0"
