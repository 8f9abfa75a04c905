"""A learner's update at a pool's own copy of the weights, applied to the weights that all pools share."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.policies.network import PolicyNetwork


class OwnCopy:
    """Stands in the place of the learner's optimiser.

    From :meth:`leave` to the first step of the optimiser the learner's network has the parameters of a copy:
    the gradient is taken there. The step moves the shared parameters, and further steps of the same update
    take their gradients at these. Normalisers are shared; a value head is rescaled to their moments, so that
    its predictions in the game's units stay (:class:`ludus.policies.layers.normaliser.ValueNormaliser`).
    """

    def __init__(self, learner: ActorCriticLearner[Any]) -> None:
        """Take the place of the optimiser of ``learner``."""
        self._network, self._vector = learner.network, learner.parameters.vector
        self._optimiser = learner.optimiser
        learner.wrap_optimiser(lambda _: self)
        self._shared: Tensor | None = None
        self._moments: tuple[float, float] | None = None

    @torch.no_grad()
    def leave(self, copy: PolicyNetwork) -> None:
        """Give the learner's network the parameters of ``copy`` until the next step."""
        self._shared = self._vector.clone()
        self._moments = _moments(self._network)
        for mine, other in zip(self._network.parameters(), copy.parameters(), strict=True):
            mine.copy_(other)
        self._rescale(_moments(copy))

    @torch.no_grad()
    def back(self) -> None:
        """Restore the shared parameters, where no step has restored them."""
        if self._shared is not None:
            self._vector.copy_(self._shared)
            self._shared = None
            self._rescale(self._moments)

    def _rescale(self, before: tuple[float, float] | None) -> None:
        """Rescale the head from the moments of ``before`` to the present ones."""
        if before is not None and self._network.values is not None:
            self._network.values.rescale(self._network.value_head, *before)

    # ---- the learner's optimiser -----------------------------------------------------------------

    def step(self, gradient: Tensor, learning_rate: float) -> None:
        """See :class:`ludus.algorithms.updates.optimiser.Optimiser`."""
        self.back()
        self._optimiser.step(gradient, learning_rate)

    def vectors(self) -> dict[str, Tensor]:
        """See :class:`ludus.algorithms.updates.optimiser.Optimiser`."""
        return self._optimiser.vectors()

    def counters(self) -> dict[str, int]:
        """See :class:`ludus.algorithms.updates.optimiser.Optimiser`."""
        return self._optimiser.counters()

    def set_counters(self, counters: dict[str, int]) -> None:
        """See :class:`ludus.algorithms.updates.optimiser.Optimiser`."""
        self._optimiser.set_counters(counters)


def _moments(network: PolicyNetwork) -> tuple[float, float] | None:
    """Mean and deviation of returns; None where none were seen: then the first ones rescale nothing."""
    values = network.values
    return values.moments() if values is not None and float(values.weight) > 0.0 else None
