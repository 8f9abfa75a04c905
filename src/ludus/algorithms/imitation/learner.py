"""Behaviour cloning from the rows of another policy id; the value learns what the teacher earned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from ludus.algorithms.actor_critic.advantages import EPOCHS_A_VERSION
from ludus.algorithms.actor_critic.reuse import shuffled_minibatches
from ludus.algorithms.actor_critic.value_heads import explained
from ludus.algorithms.forward import Bools, forward
from ludus.algorithms.imitation.config import ImitationConfig
from ludus.algorithms.imitation.loss import Shown, imitation_loss
from ludus.algorithms.learner import SlabLearner, UpdateStats
from ludus.algorithms.loss import Loss
from ludus.algorithms.minibatch import MinibatchResult, mean_of
from ludus.algorithms.optimiser import learning_rate_at
from ludus.algorithms.returns import Floats, gae, transitions
from ludus.algorithms.row_memory import RowMemory
from ludus.algorithms.samples import Index, Samples
from ludus.algorithms.tasks import Task, UpdatePlan
from ludus.flow import Slab
from ludus.flow.slab import Array
from ludus.policies.network import PolicyNetwork


class _Lesson(NamedTuple):
    """``[T, R]`` each; targets normalised."""

    samples: Samples
    target: Floats
    known: Floats  # 1 where the target is
    decided: Bools  # legal decisions of the teacher


class ImitationLearner(SlabLearner[ImitationConfig]):
    """``policy`` is the teacher's id. For the arguments see :class:`SlabLearner`."""

    def __init__(
        self,
        config: ImitationConfig,
        network: PolicyNetwork,
        *,
        seed: int,
        policy: int = 0,
        workers: int = 1,
        frame_skip: int = 1,
    ) -> None:
        if network.config.value_heads > 1:
            raise ValueError(f"value_heads = {network.config.value_heads}: expected 1 with imitation")
        super().__init__(config, network, seed=seed, policy=policy, workers=workers, frame_skip=frame_skip)
        self._memory = RowMemory(network, policy, "row_memory")  # as if the learner had seen the rows

    def start(self, slab: Slab, progress: float = 0.0, *, value_only: bool = False) -> UpdatePlan:
        """See :meth:`Learner.start`. ``slab.memory`` gets the learner's memory of the teacher's rows."""
        if (memory := self._memory.of(slab)) is not None:
            slab.memory = {**slab.memory, self.policy: memory.cpu().numpy()}
        return super().start(slab, progress, value_only=value_only)

    def state(self) -> tuple[dict[str, Array], dict[str, int]]:
        """See :meth:`Learner.state`."""
        arrays, counters = super().state()
        return arrays | self._memory.state(), counters

    def load_state(self, arrays: dict[str, Array], counters: dict[str, int]) -> None:
        """See :meth:`Learner.load_state`."""
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
        stats.samples = int(decided.sum())
        stats.lag = {0: stats.samples}  # a teacher's decisions do not age
        if stats.samples:
            if known.any():
                self._absorb_returns(returns.target[known])
                stats.numbers["value/explained_variance"] = explained(
                    returns.target[known], value[:-1][known]
                )
            lesson = _Lesson(samples, self._normalised(returns.target), known.astype(np.float32), decided)
            yield from self._epochs(lesson, progress, stats)
            self._absorb_observations(samples, np.flatnonzero(decided))
        yield self._memory.remembers(samples, config.micro_batch)

    def _epochs(self, lesson: _Lesson, progress: float, stats: UpdateStats) -> Iterator[Sequence[Task]]:
        config, rate = self.config, learning_rate_at(self.config, progress)
        results: list[MinibatchResult] = []

        def loss(network: PolicyNetwork, part: Index) -> tuple[Loss, int]:
            return self._loss(lesson, network, part)

        for epoch in range(config.epochs):
            key = (self.seed, self.version * EPOCHS_A_VERSION + epoch)
            for parts in shuffled_minibatches(self.network, lesson.decided, config, key):
                step = self.minibatches.step(parts, loss, self.optimiser, rate, config.max_grad_norm)
                results.append((yield from step))
        stats.learned, stats.gradient_steps = sum(r.samples for r in results), len(results)
        stats.numbers |= {name: mean_of(name, results) for name in results[0].numbers}
        stats.numbers["learner/learning_rate"] = rate
        stats.numbers["learner/grad_norm"] = float(np.mean([r.grad_norm for r in results]))

    def _loss(self, lesson: _Lesson, network: PolicyNetwork, part: Index) -> tuple[Loss, int]:
        """The loss over one part, and the number of decisions in it."""
        samples = lesson.samples
        index, distribution, value = forward(network, samples, part, lesson.decided)
        masks, actions = samples.masks(index), samples.actions(index)
        evaluated = distribution.evaluate(masks, actions)
        agrees = (distribution.sample(masks, None).actions == actions).all(dim=1)
        target, known = (samples.tensor(a.reshape(-1).take(index)) for a in (lesson.target, lesson.known))
        shown = Shown(evaluated.log_prob, evaluated.entropy, agrees.to(torch.float32), value, target, known)
        return imitation_loss(self.config, shown), len(index)
