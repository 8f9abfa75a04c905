"""Learner of most actor-critic methods: epochs of minibatches over one slab."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from ludus.algorithms.actor_critic.advantages import AdvantageBatch, AdvantageLearner
from ludus.algorithms.actor_critic.objective import Objective
from ludus.algorithms.config import ActorCriticConfig
from ludus.algorithms.learner import LearnerContext, UpdateStats
from ludus.algorithms.minibatch import MinibatchResult, mean_of, passes
from ludus.algorithms.optimiser import RATE_STEP, Optimiser, Partial, rate_steps_after
from ludus.algorithms.tasks import Task
from ludus.flow.slab import Array
from ludus.policies.network import PolicyNetwork

Config = TypeVar("Config", bound=ActorCriticConfig)


class ActorCriticLearner(AdvantageLearner[Config]):
    """Learner of one :class:`Objective`. For the other arguments see :class:`SlabLearner`."""

    def __init__(
        self,
        objective: Objective[Config],
        config: Config,
        network: PolicyNetwork,
        context: LearnerContext,
    ) -> None:
        """See :class:`AdvantageLearner`."""
        super().__init__(objective, config, network, context)
        self._rate_steps = 0  # by which the learning rate was moved to reach its KL

    def state(self) -> tuple[dict[str, Array], dict[str, int]]:
        """See :meth:`Learner.state`."""
        arrays, counters = super().state()
        return arrays, counters | ({"rate_steps": self._rate_steps} if self.config.learning_rate_kl else {})

    def load_state(self, arrays: dict[str, Array], counters: dict[str, int]) -> None:
        """See :meth:`Learner.load_state`."""
        super().load_state(arrays, counters)
        self._rate_steps = counters.get("rate_steps", 0)

    def _epochs(self, batch: AdvantageBatch, progress: float, stats: UpdateStats) -> Iterator[Sequence[Task]]:
        config = self.config
        rate = self._learning_rate(progress) * RATE_STEP**self._rate_steps
        entropy = config.entropy_coefficient_at(progress)
        loss = functools.partial(self._loss, batch, entropy_coefficient=entropy)
        optimiser: Optimiser = self.optimiser
        if self._value_only:
            optimiser = Partial(optimiser, self.parameters, self.network.critic_parameters())
        results: list[MinibatchResult] = []
        kl = 0.0  # of the last pass
        for epoch, share in enumerate(passes(config)):
            before = len(results)
            for parts in self._minibatches(batch, epoch, share):
                step = self.minibatches.step(parts, loss, optimiser, rate, config.max_grad_norm)
                results.append((yield from step))
            kl = mean_of("policy/kl", results[before:])
            if 0.0 < config.target_kl < kl:
                break
        if config.target_kl > 0.0:
            stats.numbers["learner/epochs"] = epoch + 1
        if config.learning_rate_kl > 0.0 and not self.settle:  # at rate 0 no policy moves
            self._rate_steps = rate_steps_after(config, self._rate_steps, rate, kl, config.learning_rate_kl)
        stats.learned = sum(r.samples for r in results)
        stats.samples = min(stats.samples, stats.learned)
        stats.gradient_steps = len(results)
        for name in results[0].numbers:
            stats.numbers[name] = mean_of(name, results)
        stats.numbers["learner/learning_rate"] = rate
        stats.numbers["learner/grad_norm"] = float(np.mean([r.grad_norm for r in results]))
