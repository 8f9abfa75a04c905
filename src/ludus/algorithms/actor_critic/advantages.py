"""Learner with a policy and a value: advantages and value targets of one slab.

Where decisions are older than the learner's weights and the method corrects for that, one forward pass gives
the current probabilities and values first.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from ludus.algorithms.actor_critic.objective import Config, Coverage, Decisions, Objective
from ludus.algorithms.actor_critic.returns import (
    blank_values,
    flat,
    returns_of_heads,
    transitions_of_heads,
)
from ludus.algorithms.actor_critic.terms import ExtraTerms, Term, TermInput, upgo_term, with_terms
from ludus.algorithms.learner import LearnerContext, SlabLearner, UpdateStats
from ludus.algorithms.loss import Loss
from ludus.algorithms.returns import Transitions, explained_variance, upgo
from ludus.algorithms.updates.forward import Bools, Floats, forward
from ludus.algorithms.updates.minibatch import shuffle_key, shuffled_minibatches
from ludus.algorithms.updates.samples import Index, Samples
from ludus.algorithms.updates.tasks import Task
from ludus.flow.override import override
from ludus.flow.slab import Array
from ludus.policies.network import PolicyNetwork


@dataclass(frozen=True, slots=True)
class AdvantageBatch:
    """Inputs of the gradients of one update. ``[T, R]`` each, values and targets normalised."""

    samples: Samples
    advantage: Floats
    target: Floats
    old_value: Floats
    valid: Bools
    terms: tuple[Term, ...]


class AdvantageLearner(SlabLearner[Config]):
    """Learner that makes advantages and value targets of a slab; a method makes its steps of them.

    In an update of the value alone the optimiser's moments of all parameters are updated. For the other
    arguments see :class:`SlabLearner`.
    """

    def __init__(
        self,
        objective: Objective[Config],
        config: Config,
        network: PolicyNetwork,
        context: LearnerContext,
    ) -> None:
        """Check the settings of value heads. Raises ``ValueError``, or ``SettingError`` for the teacher."""
        super().__init__(config, network, context)
        for key, text in config.head_problems(network.config.value_heads):
            raise ValueError(f"algorithm.{key} {text}")
        self.objective = objective
        self._coverage = Coverage()
        self._extra = ExtraTerms(config.teacher, network, self.policy)

    @override
    def state(self) -> tuple[dict[str, Array], dict[str, int]]:
        arrays, counters = super().state()
        if self.objective.minimum_coverage(self.config) is not None:
            counters |= {"decided": self._coverage.decided, "trainable": self._coverage.trainable}
        arrays |= self._extra.state()
        return arrays, counters

    @override
    def load_state(self, arrays: dict[str, Array], counters: dict[str, int]) -> None:
        super().load_state(arrays, counters)
        self._coverage = Coverage(counters.get("decided", 0), counters.get("trainable", 0))
        self._extra.load_state(arrays)

    def _stages(self, samples: Samples, progress: float, stats: UpdateStats) -> Iterator[Sequence[Task]]:
        self._extra.start(samples.slab)
        yield from self._learn(samples, progress, stats)
        yield self._extra.end(self.config.micro_batch)

    def _learn(self, samples: Samples, progress: float, stats: UpdateStats) -> Iterator[Sequence[Task]]:
        slab = samples.slab
        value, log_prob = slab.value, slab.log_prob
        ratio: Floats | None = None
        corrects = max(stats.lag, default=0) > 0 and self.objective.corrects_lag(self.config)
        acted, heads = self.network.values_in_acting, self.network.config.value_heads
        if corrects or not acted:
            value = blank_values(slab, heads)
            log_prob = slab.log_prob.copy()
            yield self._evaluations(samples, value, log_prob)
        if corrects:
            ratio = np.exp(log_prob - slab.log_prob)
        predicted = slab.value if acted else value  # where acting gave no values, the current ones
        final_value = slab.final_value if acted else None
        rewards = [self._rewards(slab)] * heads  # all heads have the whole reward
        moves = transitions_of_heads(slab, rewards, final_value, value, samples.learner_mask)
        returns = returns_of_heads(self.objective, self.config, moves, value, ratio, self.group)
        trained = np.flatnonzero(returns.valid)
        stats.samples = self.group.total(len(trained))
        self._count(stats, slab.steps)
        if not stats.samples:
            return
        targets, guesses, reward = (
            self.group.joined(flat(array)[trained])
            for array in (returns.target, predicted[:-1], moves[0].reward)
        )
        self._absorb_returns(targets)
        stats.numbers["value/explained_variance"] = explained_variance(targets, guesses)
        stats.numbers["value/target_mean"] = float(targets.mean())
        stats.numbers["rollout/reward_mean"] = float(reward.mean())
        batch = AdvantageBatch(
            samples,
            self._standardised(returns.advantage, trained),
            self._normalised(returns.target),
            self._normalised(predicted[:-1]),
            returns.valid,
            self._terms(moves[0], value, returns.valid, progress),
        )
        yield from self._epochs(batch, progress, stats)
        self._absorb_observations(samples, trained)

    def _terms(self, moves: Transitions, value: Floats, valid: Bools, progress: float) -> tuple[Term, ...]:
        """Return the terms that the settings add to the method's own loss."""
        terms = self._extra.divergences(self.config, self.network, valid, progress)
        if self.config.upgo_coefficient > 0.0:
            upgoing = upgo(moves, value, discount=self.config.discount)
            advantage = self._standardised(upgoing, np.flatnonzero(valid))
            terms = (upgo_term(self.config.upgo_coefficient, advantage), *terms)
        return terms

    def _count(self, stats: UpdateStats, rollout_length: int) -> None:
        """Refuse settings under which too few decisions of the first updates have a return."""
        minimum = self.objective.minimum_coverage(self.config)
        if minimum is not None:
            self._coverage.decided += sum(stats.lag.values())
            self._coverage.trainable += stats.samples
            stats.refusal = self._coverage.refusal(minimum, stats.version, rollout_length)

    @abstractmethod
    def _epochs(self, batch: AdvantageBatch, progress: float, stats: UpdateStats) -> Iterator[Sequence[Task]]:
        """Make the method's steps.

        Sets ``stats.learned`` and ``stats.gradient_steps``, and adds to ``stats.numbers``. ``stats.samples``
        is the number of decisions that are ``batch.valid``.
        """

    def _minibatches(self, batch: AdvantageBatch, epoch: int, share: float) -> Iterator[list[Index]]:
        """Yield the parts of each minibatch of one shuffled pass over ``share`` in (0, 1] of the slab."""
        key = shuffle_key(self.seed, self.version, epoch)
        mates = batch.samples.mates_of
        return shuffled_minibatches(self.network, batch.valid, self.config, key, share, self.group, mates)

    def _loss(
        self, batch: AdvantageBatch, network: PolicyNetwork, part: Index, entropy_coefficient: float
    ) -> tuple[Loss, int]:
        """Return the objective's loss over one part, and the number of decisions in it."""
        samples = batch.samples
        index, distribution, value = forward(network, samples, part, batch.valid)
        masks, actions = samples.masks(index), samples.actions(index)
        evaluated = distribution.evaluate(masks, actions)

        def pick(array: Floats) -> Tensor:
            return samples.tensor(flat(array).take(index, axis=0))

        decisions = Decisions(
            log_prob=evaluated.log_prob,
            behaviour_log_prob=pick(samples.slab.log_prob),
            advantage=pick(batch.advantage),
            entropy=evaluated.entropy,
            value=value,
            old_value=pick(batch.old_value),
            target=pick(batch.target),
        )
        loss = self.objective.loss(self.config, decisions, entropy_coefficient)
        inputs = TermInput(samples, part, index, distribution, masks, actions, decisions)
        return with_terms(loss, batch.terms, inputs), len(index)

    def _standardised(self, advantage: Floats, trained: Index) -> Floats:
        """Return advantages with mean 0 and deviation 1 over the trained decisions of all ranks' slabs."""
        if not self.config.normalise_advantages:
            return advantage
        picked = advantage.reshape(-1)[trained].astype(np.float64)
        mean = self.group.mean(picked)
        deviation = math.sqrt(self.group.mean(np.square(picked - mean)))
        standard: Floats = (advantage - np.float32(mean)) / np.float32(deviation + 1e-8)
        return standard
