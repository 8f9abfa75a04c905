"""Behaviour cloning: the policy learns the decisions of another player, the value that player's returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ludus.algorithms.config import ImitationConfig
from ludus.algorithms.imitation.boards import BoardImitationLearner
from ludus.algorithms.learner import LearnerContext, SlabLearner, UpdateStats
from ludus.algorithms.loss import Loss
from ludus.algorithms.returns import Floats, explained_variance, gae, transitions
from ludus.algorithms.updates.forward import Bools, forward
from ludus.algorithms.updates.minibatch import MinibatchResult, mean_of, shuffle_key, shuffled_minibatches
from ludus.algorithms.updates.row_memory import RowMemory
from ludus.algorithms.updates.samples import Index, Samples
from ludus.algorithms.updates.tasks import Task, UpdatePlan
from ludus.flow import Slab
from ludus.flow.override import override
from ludus.flow.slab import Array
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.network import PolicyNetwork
from ludus.policies.transfer import downloaded


def make_learner(
    config: ImitationConfig, network: PolicyNetwork | ResidualNetwork, context: LearnerContext
) -> ImitationLearner | BoardImitationLearner:
    """Return the learner of a network: one that reads planes of a board learns as AlphaZero's does."""
    if isinstance(network, ResidualNetwork):
        return BoardImitationLearner(config, network, context)
    return ImitationLearner(config, network, context)


class Demonstrations(NamedTuple):
    """``N`` decisions of the teacher. All ``float32[N]``; values in normalised units."""

    log_prob: Tensor  # of the teacher's action, under the learner's policy; carries gradients
    entropy: Tensor  # of the learner's policy, nats; carries gradients
    agrees: Tensor  # 1 where the learner's most probable decision is the teacher's
    value: Tensor  # the learner's prediction; carries gradients
    target: Tensor  # of the value
    known: Tensor  # 1 where the target is known


def imitation_loss(config: ImitationConfig, demonstrations: Demonstrations) -> Loss:
    """Return ``-log pi(a|s) + value_coefficient (V - target)^2 / 2 - entropy_coefficient H``, summed.

    Args:
        config: The coefficients.
        demonstrations: Decisions of the teacher.

    Returns:
        The loss with ``loss/imitation`` (nats), ``loss/value``, ``policy/entropy`` (nats) and
        ``imitation/accuracy``.
    """
    imitation = -demonstrations.log_prob.sum()
    error = demonstrations.value - demonstrations.target
    value = 0.5 * (demonstrations.known * error.square()).sum()
    entropy = demonstrations.entropy.sum()
    total = imitation + config.value_coefficient * value - config.entropy_coefficient * entropy
    numbers = {
        "loss/imitation": imitation,
        "loss/value": value,
        "policy/entropy": entropy,
        "imitation/accuracy": demonstrations.agrees.sum(),
    }
    return Loss(total, numbers)


class _TeacherBatch(NamedTuple):
    """The teacher's decisions of one slab. ``[T, R]`` each; targets normalised."""

    samples: Samples
    target: Floats
    known: Floats  # 1 where the target is
    decided: Bools  # legal decisions of the teacher


class ImitationLearner(SlabLearner[ImitationConfig]):
    """Learner of behaviour cloning. ``context.policy`` is the teacher's id.

    For the arguments see :class:`~ludus.algorithms.learner.SlabLearner`.
    """

    def __init__(self, config: ImitationConfig, network: PolicyNetwork, context: LearnerContext) -> None:
        """Raise ``ValueError`` for a network with several value heads."""
        if network.config.value_heads > 1:
            raise ValueError(f"value_heads = {network.config.value_heads}: expected 1 with imitation")
        super().__init__(config, network, context)
        self._memory = RowMemory(network, self.policy, "row_memory")  # as if the learner had seen the rows

    def start(self, slab: Slab, progress: float = 0.0, *, value_only: bool = False) -> UpdatePlan:
        """See :meth:`Learner.start`. ``slab.memory`` gets the learner's memory of the teacher's rows."""
        if (memory := self._memory.of(slab)) is not None:
            slab.memory = {**slab.memory, self.policy: downloaded(memory)}
        return super().start(slab, progress, value_only=value_only)

    @override
    def state(self) -> tuple[dict[str, Array], dict[str, int]]:
        arrays, counters = super().state()
        return arrays | self._memory.state(), counters

    @override
    def load_state(self, arrays: dict[str, Array], counters: dict[str, int]) -> None:
        super().load_state(arrays, counters)
        self._memory.load_state(arrays)

    def _stages(self, samples: Samples, progress: float, stats: UpdateStats) -> Iterator[Sequence[Task]]:
        slab, config = samples.slab, self.config
        value, log_prob = np.zeros_like(slab.value), np.zeros_like(slab.log_prob)
        yield self._evaluations(samples, value, log_prob)
        moves = transitions(
            self._rewards(slab), slab.terminated != 0, slab.truncated != 0, None, value, samples.learner_mask
        )
        returns = gae(moves, value, discount=config.discount, gae_lambda=config.gae_lambda)
        decided = samples.learner_mask[:-1] & np.isfinite(log_prob)
        known = returns.valid & decided
        stats.samples = self.group.total(int(decided.sum()))
        stats.lag = {0: stats.samples}  # a teacher's decisions do not age
        if stats.samples:
            targets = self.group.joined(returns.target[known])
            guesses = self.group.joined(value[:-1][known])
            if len(targets):
                self._absorb_returns(targets)
                stats.numbers["value/explained_variance"] = explained_variance(targets, guesses)
            target = self._normalised(returns.target)
            batch = _TeacherBatch(samples, target, known.astype(np.float32), decided)
            yield from self._epochs(batch, progress, stats)
            self._absorb_observations(samples, np.flatnonzero(decided))
        yield self._memory.advance(samples, config.micro_batch)

    def _epochs(self, batch: _TeacherBatch, progress: float, stats: UpdateStats) -> Iterator[Sequence[Task]]:
        config, rate = self.config, self._learning_rate(progress)
        results: list[MinibatchResult] = []

        def loss(network: PolicyNetwork, part: Index) -> tuple[Loss, int]:
            return self._loss(batch, network, part)

        for epoch in range(config.epochs):
            key = shuffle_key(self.seed, self.version, epoch)
            for parts in shuffled_minibatches(self.network, batch.decided, config, key, group=self.group):
                step = self.minibatches.step(parts, loss, self.optimiser, rate, config.max_grad_norm)
                results.append((yield from step))
        stats.learned, stats.gradient_steps = sum(r.samples for r in results), len(results)
        stats.numbers |= {name: mean_of(name, results) for name in results[0].numbers}
        stats.numbers["learner/learning_rate"] = rate
        stats.numbers["learner/grad_norm"] = float(np.mean([r.grad_norm for r in results]))

    def _loss(self, batch: _TeacherBatch, network: PolicyNetwork, part: Index) -> tuple[Loss, int]:
        """Return the loss over one part, and the number of decisions in it."""
        samples = batch.samples
        index, distribution, value = forward(network, samples, part, batch.decided)
        masks, actions = samples.masks(index), samples.actions(index)
        evaluated = distribution.evaluate(masks, actions)
        agrees = (distribution.sample(masks, None).actions == actions).all(dim=1)
        demonstrations = Demonstrations(
            evaluated.log_prob,
            evaluated.entropy,
            agrees.to(torch.float32),
            value,
            samples.tensor(batch.target.reshape(-1).take(index)),
            samples.tensor(batch.known.reshape(-1).take(index)),
        )
        return imitation_loss(self.config, demonstrations), len(index)
