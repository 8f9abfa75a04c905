"""Imitation by board networks: AlphaZero's learner, with the recorded move and the result as its targets.

The weights are those that AlphaZero starts from, with the statistics of batch normalisation that they play
with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import torch

from ludus.algorithms.alphazero.learner import AlphaZeroLearner
from ludus.algorithms.alphazero.samples import Positions
from ludus.algorithms.config import AlphaZeroConfig, ImitationConfig, MethodConfig
from ludus.algorithms.learner_interface import LearnerContext, UpdateStats
from ludus.algorithms.updates.tasks import Task, UpdatePlan
from ludus.flow import Slab, Weights
from ludus.flow.slab import Array
from ludus.flow.weights import Lineage
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.protocol import Network

MOST_MEASURED = 4096  # positions of an update that batch normalisation is measured on


class BoardImitationLearner:
    """A :class:`ludus.algorithms.learner_interface.Learner` of a network that reads planes of a board.

    ``Slab.value`` holds the results of recorded matches, NaN where they are unknown.
    """

    lineage: Lineage | msgspec.UnsetType = msgspec.UNSET

    def __init__(self, config: ImitationConfig, network: ResidualNetwork, context: LearnerContext) -> None:
        """Take over the network.

        Args:
            config: Settings of the method.
            network: Network on its device.
            context: Seed, policy id of the recorded decisions, threads, frame skip.

        Raises:
            ValueError: A game with several heads, or a group of several ranks.
        """
        if len(network.spec.heads) != 1:
            raise ValueError(
                f'policy.network = "resnet": {network.spec.name} has {len(network.spec.heads)} action heads; '
                "expected 1 with imitation"
            )
        self.config, self.policy, self.frame_skip = config, context.policy, context.frame_skip
        self.seed = context.seed
        self.inner = AlphaZeroLearner(alphazero_config(config), network, context)
        self._plan: UpdatePlan | None = None
        self._stats = UpdateStats(0, 0)

    @property
    def version(self) -> int:
        """See :class:`Learner`."""
        return self.inner.version

    @property
    def network(self) -> ResidualNetwork:
        """The network that plays: averaged weights, with measured statistics."""
        return self.inner.playing

    def start(self, slab: Slab, progress: float = 0.0, *, value_only: bool = False) -> UpdatePlan:
        """See :meth:`Learner.start`."""
        if self._plan is not None:
            raise RuntimeError("the previous update has not been finished")
        if value_only:
            raise ValueError('algorithm.name = "imitation" has no updates of the value alone')
        self._plan = UpdatePlan(self._stages(slab, min(max(progress, 0.0), 1.0)), 1)
        return self._plan

    def finish(self) -> UpdateStats:
        """See :meth:`Learner.finish`."""
        if self._plan is None:
            raise RuntimeError("no update was started")
        plan, self._plan = self._plan, None
        plan.wait()
        return self._stats

    def _stages(self, slab: Slab, progress: float) -> Iterator[Sequence[Task]]:
        def learn(worker: int) -> None:
            self._stats = self._learn(slab, progress)

        yield [learn]

    def _learn(self, slab: Slab, progress: float) -> UpdateStats:
        positions = recorded_positions(slab, self.policy, [t.name for t in self.network.inputs])
        count = len(positions)
        if not count:
            self.inner.publish(None)
            return UpdateStats(self.version, 0)
        size = -(-slab.steps * slab.rows // self.config.minibatches)
        size = min(size, count)
        self.inner.config = msgspec.structs.replace(alphazero_config(self.config), batch_size=size)
        order = np.concatenate([self._order(count, size, epoch) for epoch in range(self.config.epochs)])
        stats = self.inner.learn(positions.take(order), progress)
        stats.samples, stats.lag = count, {0: count}
        stats.numbers["loss/imitation"] = stats.numbers.pop("loss/policy")
        for name in ("loss/policy_excess", "learner/minibatches"):
            del stats.numbers[name]
        measured = self._draws(2, self.version).permutation(count)[:MOST_MEASURED]
        self.inner.publish(positions.take(np.sort(measured)))
        return stats

    def _order(self, count: int, size: int, epoch: int) -> npt.NDArray[np.int64]:
        """Return the positions of a pass in whole minibatches: the first ones fill up the last minibatch."""
        order = self._draws(3, self.version * 4096 + epoch).permutation(count)
        return np.resize(order, -(-count // size) * size)

    def _draws(self, purpose: int, number: int) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(key=self.seed, counter=[0, 0, purpose, number]))

    def set_config(self, config: MethodConfig) -> None:
        """See :meth:`Learner.set_config`."""
        if not isinstance(config, ImitationConfig):
            raise TypeError(f"expected ImitationConfig, got {type(config).__name__}")
        self.config = config

    def weights(self) -> Weights:
        """See :meth:`Learner.weights`."""
        made = self.inner.weights()
        meta = msgspec.structs.replace(made.meta, frame_skip=self.frame_skip, lineage=self.lineage)
        return Weights(meta, made.tensors)

    def acting_weights(self) -> Weights:
        """See :meth:`Learner.acting_weights`."""
        return self.weights()

    @torch.no_grad()
    def copy_to(self, network: Network) -> int:
        """See :meth:`Learner.copy_to`."""
        mine = self.network.state_dict()
        for name, tensor in network.state_dict().items():
            tensor.copy_(mine[name])
        return self.version

    def state(self) -> tuple[dict[str, Array], dict[str, int]]:
        """See :meth:`Learner.state`."""
        return self.inner.state()

    def load_state(self, arrays: dict[str, Array], counters: dict[str, int]) -> None:
        """See :meth:`Learner.load_state`."""
        self.inner.load_state(arrays, counters)

    def close(self) -> None:
        """Stop its threads. Idempotent."""
        self.inner.close()


def alphazero_config(config: ImitationConfig) -> AlphaZeroConfig:
    """Return the settings of AlphaZero's learner under which it imitates."""
    return AlphaZeroConfig(
        optimizer="adamw" if config.optimizer == "adam" else "sgd",
        learning_rate=config.learning_rate,
        learning_rate_schedule=config.learning_rate_schedule,
        rate_factor=min(1.0, config.learning_rate_final / config.learning_rate),
        momentum=config.momentum,
        weight_decay=config.weight_decay,
        value_coefficient=config.value_coefficient,
        max_grad_norm=config.max_grad_norm,
        ema=config.ema,
        symmetries=config.symmetries,
    )


def recorded_positions(slab: Slab, policy: int, inputs: Sequence[str]) -> Positions:
    """Return the decisions of a policy in a slab as positions: the move is certain, the value the result.

    Args:
        slab: Slab whose ``value`` holds results.
        policy: Policy id of the decisions.
        inputs: Names of the tensors that are read.

    Returns:
        The decisions that are legal, row by row within each time step.
    """
    wanted = (slab.active[:-1] != 0) & (slab.policy[:-1] == policy)
    index = np.flatnonzero(wanted)
    mask = slab.mask[:-1].reshape(-1, slab.mask.shape[-1])[index]
    moves = slab.actions.reshape(-1)[index].astype(np.int64)
    legal = (moves >= 0) & (moves < mask.shape[1])
    legal[legal] = mask[np.flatnonzero(legal), moves[legal]] != 0
    index, mask, moves = index[legal], mask[legal], moves[legal]
    target = np.zeros(mask.shape, np.float32)
    target[np.arange(len(moves)), moves] = 1.0
    obs = {n: slab.obs[n][:-1].reshape(-1, *slab.obs[n].shape[2:])[index] for n in inputs}
    return Positions(obs, mask, target, slab.value[:-1].reshape(-1)[index])
