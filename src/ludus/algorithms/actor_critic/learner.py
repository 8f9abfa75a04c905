"""Learner of most actor-critic methods: epochs of minibatches over one slab."""

from __future__ import annotations

import functools
from collections.abc import Generator, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from ludus.algorithms.actor_critic.advantages import AdvantageBatch, AdvantageLearner
from ludus.algorithms.actor_critic.objective import Objective
from ludus.algorithms.actor_critic.programs import EpochPrograms
from ludus.algorithms.config import ActorCriticConfig
from ludus.algorithms.learner import LearnerContext, UpdateStats
from ludus.algorithms.updates.minibatch import MinibatchResult, mean_of, passes
from ludus.algorithms.updates.minibatch_programs import StepNumbers
from ludus.algorithms.updates.optimiser import (
    RATE_STEP,
    Optimiser,
    Partial,
    ProgramOptimiser,
    rate_steps_after,
)
from ludus.algorithms.updates.samples import Index
from ludus.algorithms.updates.tasks import Task
from ludus.flow.override import override
from ludus.flow.slab import Array, Slab
from ludus.policies.network import PolicyNetwork
from ludus.policies.replay_support import why_learning_is_eager

Config = TypeVar("Config", bound=ActorCriticConfig)


class Epochs(NamedTuple):
    """Result of the passes over one slab."""

    passes: int
    samples: int  # decisions differentiated
    steps: int  # of the optimiser
    numbers: dict[str, float]  # means over the samples
    grad_norm: float  # mean over the steps, before clipping
    kl: float  # of the last pass, nats


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
        self._epoch_programs: EpochPrograms[Config] | None = None

    @override
    def state(self) -> tuple[dict[str, Array], dict[str, int]]:
        arrays, counters = super().state()
        return arrays, counters | ({"rate_steps": self._rate_steps} if self.config.learning_rate_kl else {})

    @override
    def load_state(self, arrays: dict[str, Array], counters: dict[str, int]) -> None:
        super().load_state(arrays, counters)
        self._rate_steps = counters.get("rate_steps", 0)

    def _epochs(self, batch: AdvantageBatch, progress: float, stats: UpdateStats) -> Iterator[Sequence[Task]]:
        config = self.config
        rate = self._learning_rate(progress) * RATE_STEP**self._rate_steps
        entropy = config.entropy_coefficient_at(progress)
        optimiser: Optimiser = self.optimiser
        if self._value_only:
            optimiser = Partial(optimiser, self.parameters, self.network.critic_parameters())
        if self._programs is None:
            done = yield from self._eager_epochs(batch, optimiser, rate, entropy)
        else:
            done = self._replayed_epochs(batch, optimiser, rate, entropy)
        if config.target_kl > 0.0:
            stats.numbers["learner/epochs"] = done.passes
        if config.learning_rate_kl > 0.0 and not self.settle:  # at rate 0 no policy moves
            self._rate_steps = rate_steps_after(
                config, self._rate_steps, rate, done.kl, config.learning_rate_kl
            )
        stats.learned = done.samples
        stats.samples = min(stats.samples, stats.learned)
        stats.gradient_steps = done.steps
        stats.numbers |= done.numbers
        stats.numbers["learner/learning_rate"] = rate
        stats.numbers["learner/grad_norm"] = done.grad_norm

    def _eager_epochs(
        self, batch: AdvantageBatch, optimiser: Optimiser, rate: float, entropy: float
    ) -> Generator[Sequence[Task], None, Epochs]:
        config = self.config
        loss = functools.partial(self._loss, batch, entropy_coefficient=entropy)
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
        return Epochs(
            passes=epoch + 1,
            samples=sum(r.samples for r in results),
            steps=len(results),
            numbers={name: mean_of(name, results) for name in results[0].numbers},
            grad_norm=float(np.mean([r.grad_norm for r in results])),
            kl=kl,
        )

    def _replayed_epochs(
        self, batch: AdvantageBatch, optimiser: Optimiser, rate: float, entropy: float
    ) -> Epochs:
        """Make all steps without a wait between them; with ``target_kl`` the host waits after each pass."""
        assert self._programs is not None
        assert isinstance(optimiser, ProgramOptimiser)
        config, slabs = self.config, self._programs
        programs = self._epoch_programs
        if programs is None or not programs.fit(slabs, config, self.optimiser):
            largest = self._largest_minibatch(batch.samples.slab)
            programs = EpochPrograms(slabs, self.parameters, self.objective, config, self.optimiser, largest)
            self._epoch_programs = programs
        minibatches = programs.of(optimiser, value_only=self._value_only)
        log_prob = batch.samples.slab.log_prob
        slabs.mirror.set_columns(batch.valid, log_prob, batch.advantage, batch.old_value, batch.target)
        done: list[StepNumbers] = []
        for epoch, share in enumerate(passes(config)):
            chosen = [np.concatenate(parts) for parts in self._minibatches(batch, epoch, share)]
            counts = [self._decisions_of(batch, units) for units in chosen]
            minibatches.run(chosen, counts, rate, entropy, config.max_grad_norm)
            if epoch + 1 < len(passes(config)) and config.target_kl == 0.0:
                continue
            every, last = minibatches.read()
            done.append(every)
            kl = last.numbers["policy/kl"] / last.samples
            if 0.0 < config.target_kl < kl:
                break
        samples, steps = sum(d.samples for d in done), sum(d.steps for d in done)
        return Epochs(
            passes=epoch + 1,
            samples=samples,
            steps=steps,
            numbers={name: sum(d.numbers[name] for d in done) / samples for name in done[0].numbers},
            grad_norm=sum(d.grad_norm for d in done) / steps,
            kl=kl,
        )

    def _why_eager(self) -> str:
        config = self.config
        if self.group.size > 1:
            return "a group of learners"
        if not isinstance(self.optimiser, ProgramOptimiser):
            return "pools with a copy of the weights each"
        if config.teacher or config.kl_coefficient > 0.0:
            return "another policy's divergence"
        if config.upgo_coefficient > 0.0:
            return "upgoing returns"
        return why_learning_is_eager(self.network)

    def _decisions_of(self, batch: AdvantageBatch, units: Index) -> int:
        """Return the number of trained decisions of a minibatch: its units are rows with learned memory."""
        return len(units) if self.network.recurrent is None else int(batch.valid[:, units].sum())

    def _largest_minibatch(self, slab: Slab) -> int:
        units = slab.rows if self.network.recurrent is not None else slab.steps * slab.rows
        return -(-units // self.config.minibatches)
