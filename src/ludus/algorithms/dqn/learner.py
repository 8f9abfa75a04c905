"""DQN on slabs: each slab joins the replay buffer, then gradient steps learn from decisions drawn from it.

A gradient step is two lists of tasks: targets, then gradients. Draws depend only on the seed and the step's
number, so the bits do not depend on how many threads work.
"""

from __future__ import annotations

import functools
from collections.abc import Generator, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ludus.algorithms.config import DqnConfig
from ludus.algorithms.dqn.loss import dqn_loss, td_target
from ludus.algorithms.dqn.replay_buffer import (
    SlabReplayBuffer,
    TransitionBatch,
    n_step_returns,
    slab_transitions,
)
from ludus.algorithms.dqn.sampling import draw_by_priority, draw_evenly, priority_of
from ludus.algorithms.learner import REPLAY_BUFFER, TARGET, LearnerContext, SlabLearner, UpdateStats
from ludus.algorithms.loss import Loss
from ludus.algorithms.returns import Floats
from ludus.algorithms.updates.minibatch import MinibatchResult
from ludus.algorithms.updates.optimiser import under
from ludus.algorithms.updates.parameters import FlatParameters, replica_of
from ludus.algorithms.updates.samples import Index, Samples, pieces
from ludus.algorithms.updates.tasks import Task
from ludus.flow import Weights
from ludus.flow.override import override
from ludus.flow.slab import Array
from ludus.policies.actions.q_values import QValues, absorb_targets
from ludus.policies.network import PolicyNetwork
from ludus.policies.transfer import uploaded


class DqnLearner(SlabLearner[DqnConfig]):
    """Learner of DQN. For the arguments see :class:`~ludus.algorithms.learner.SlabLearner`."""

    def __init__(self, config: DqnConfig, network: PolicyNetwork, context: LearnerContext) -> None:
        """Raise ``ValueError`` for a network without Q-values."""
        if network.epsilon is None:
            raise ValueError(f'policy.output = "{network.config.output}": expected "q", which dqn trains')
        super().__init__(config, network, context)
        self.replay_buffer = SlabReplayBuffer(
            network.spec, network.inputs, config.buffer_slabs, config.buffer_mib
        )
        self.gradient_steps = 0
        self._bootstraps = self.minibatches.replicas  # the networks that value successors, one a worker
        self._target_parameters: FlatParameters | None = None
        if config.target != "none":
            target = PolicyNetwork(network.config, network.spec, None, network.precision).to(network.device)
            self.others[TARGET] = target
            self._target_parameters = FlatParameters(target)
            self._bootstraps = [replica_of(target) for _ in self.minibatches.replicas]
            self.copy_to(target)
        self._explore(0.0)

    def weights(self) -> Weights:
        """See :meth:`Learner.weights`. They do not explore: epsilon is 0."""
        weights = self.acting_weights()
        weights.tensors["epsilon"] = np.zeros((), np.float32)
        return weights

    def state(self) -> tuple[dict[str, Array], dict[str, int]]:
        """See :meth:`Learner.state`. The replay buffer is part of it."""
        arrays, counters = super().state()
        arrays |= {f"{REPLAY_BUFFER}{name}": a for name, a in self.replay_buffer.state().items()}
        return arrays, counters | {"gradient_steps": self.gradient_steps}

    @override
    def load_state(self, arrays: dict[str, Array], counters: dict[str, int]) -> None:
        super().load_state(arrays, counters)
        if "gradient_steps" not in counters:
            raise ValueError("learner state: no counter 'gradient_steps'")
        self.replay_buffer.load_state(under(REPLAY_BUFFER, arrays), f"learner state: {REPLAY_BUFFER}")
        self.gradient_steps = counters["gradient_steps"]

    def _stages(self, samples: Samples, progress: float, stats: UpdateStats) -> Iterator[Sequence[Task]]:
        config, added = self.config, self._store(samples)
        decisions = self.replay_buffer.decisions()
        rate = self._learning_rate(progress)
        results: list[MinibatchResult] = []
        smallest = min(self.group.each(len(decisions)))  # of the ranks' buffers: all start at once
        if smallest >= max(config.learning_starts, 1):
            for _ in range(config.updates):
                drawn = self._draw(decisions, config.priority_beta_at(progress))
                results.append((yield from self._gradient_step(*drawn, rate)))
        stats.samples = self.group.total(len(added))
        stats.learned = sum(r.samples for r in results)
        stats.gradient_steps = len(results)
        if results:
            for name in results[0].numbers:
                stats.numbers[name] = sum(r.numbers[name] for r in results) / stats.learned
            stats.numbers["learner/learning_rate"] = rate
            stats.numbers["learner/grad_norm"] = float(np.mean([r.grad_norm for r in results]))
        self._explore(progress)
        stats.numbers["dqn/epsilon"] = config.epsilon_at(progress)
        stats.numbers["dqn/transitions"] = float(self.group.total(len(decisions)))
        if stats.samples:
            self._absorb_observations(samples, added)

    def _store(self, samples: Samples) -> Index:
        """Add the slab to the buffer; return numbers ``t * R + row`` of its decisions with a known target."""
        slab, config = samples.slab, self.config
        moves, successor = slab_transitions(slab, self._rewards(slab), samples.learner_mask)
        after = n_step_returns(moves, successor, discount=config.discount, n_steps=config.n_steps)
        self.replay_buffer.add(slab, after)
        return np.flatnonzero(after.valid)

    def _draw(self, decisions: Index, beta: float) -> tuple[Index, Floats]:
        """Draw the decisions of the next gradient step, and their importance weights."""
        random = np.random.Generator(np.random.Philox(key=[self.seed, self.gradient_steps]))
        if self.config.priority_alpha == 0.0:
            return draw_evenly(decisions, self.config.batch_size, random)
        return draw_by_priority(self.replay_buffer.priorities(), self.config.batch_size, beta, random)

    def _gradient_step(
        self, decisions: Index, weight: Floats, rate: float
    ) -> Generator[Sequence[Task], None, MinibatchResult]:
        config, batch = self.config, self.replay_buffer.batch(decisions)
        parts = list(pieces(np.arange(len(decisions)), config.micro_batch))
        if self.gradient_steps == 0:
            self._copy_to_target()  # with the statistics of the observations so far
        target = np.zeros(len(decisions), np.float32)
        yield [functools.partial(self._targets, batch, part, target) for part in parts]
        self._absorb_targets(target)
        error, normalised = np.zeros(len(decisions), np.float32), self._normalised(target)

        def loss(network: PolicyNetwork, part: Index) -> tuple[Loss, int]:
            observations = batch.observations[part]
            q = self._q_values(network, observations).taken(
                self._tensor(self.replay_buffer.masks(observations)), self._tensor(batch.actions[part])
            )
            result, wrong = dqn_loss(
                q, self._tensor(normalised[part]), self._tensor(weight[part]), config.huber_delta
            )
            error[part] = wrong.cpu().numpy()
            return result, len(part)

        result = yield from self.minibatches.step(parts, loss, self.optimiser, rate, config.max_grad_norm)
        self.gradient_steps += 1
        if config.priority_alpha > 0.0:
            self.replay_buffer.set_priorities(decisions, priority_of(error, config.priority_alpha))
        self._move_target()
        return result

    @torch.no_grad()
    def _targets(self, batch: TransitionBatch, part: Index, target: Floats, worker: int) -> None:
        """Write the targets of one part, in the game's units."""
        successors = batch.successors[part]
        mask = self._tensor(self.replay_buffer.masks(successors))
        valued = self._q_values(self._bootstraps[worker], successors)
        chooser = valued
        if self.config.double and self._target_parameters is not None:
            chooser = self._q_values(self.minibatches.replicas[worker], successors)
        bootstrap = self._bootstraps[worker].denormalise(valued.taken(mask, chooser.greedy(mask)))
        returns, discount = self._tensor(batch.returns[part]), self._tensor(batch.discount[part])
        target[part] = td_target(returns, discount, bootstrap.float()).cpu().numpy()

    def _q_values(self, network: PolicyNetwork, observations: Index) -> QValues:
        """Return the Q-values of observations of the replay buffer."""
        obs = {
            name: self._tensor(array) for name, array in self.replay_buffer.observations(observations).items()
        }
        distribution, _ = network.flat(obs)
        assert isinstance(distribution, QValues)
        return distribution

    def _tensor(self, array: Array) -> Tensor:
        return uploaded(array, self.network.device)

    # ---- between gradient steps --------------------------------------------------------------------

    def _explore(self, progress: float) -> None:
        """Set the share of even choices with which the next weights act."""
        assert self.network.epsilon is not None
        self.network.epsilon.fill_(self.config.epsilon_at(progress))

    def _absorb_targets(self, target: Floats) -> None:
        """Add targets ``[N]`` of all ranks to their normaliser.

        Predictions in the game's units stay what they were.
        """
        network, values = self.network, self.network.values
        if values is None or not self.config.normalise_returns:
            return
        heads = [network.policy_head, network.value_head]
        if TARGET in self.others:
            other = self.others[TARGET]
            heads += [other.policy_head, other.value_head]
        absorb_targets(
            uploaded(self.group.joined(target), network.device),
            values,
            [h for h in heads if isinstance(h, nn.Linear)],
        )
        self._copy_statistics("values.")

    def _move_target(self) -> None:
        """Move the target network after a gradient step.

        Mnih et al. 2015, algorithm 1; polyak: Lillicrap et al. 2016.
        """
        config = self.config
        if config.target == "hard" and self.gradient_steps % config.target_every == 0:
            self._copy_to_target()
        elif config.target == "polyak" and self._target_parameters is not None:
            self._target_parameters.vector.lerp_(self.parameters.vector, config.target_tau)
            self._copy_statistics("")

    def _copy_to_target(self) -> None:
        if TARGET in self.others:
            self.copy_to(self.others[TARGET])

    @torch.no_grad()
    def _copy_statistics(self, prefix: str) -> None:
        """Copy the learner's buffers of these names to the target network: no step moves them."""
        if TARGET not in self.others:
            return
        mine = dict(self.network.named_buffers())
        for name, buffer in self.others[TARGET].named_buffers():
            if name.startswith(prefix):
                buffer.copy_(mine[name])
