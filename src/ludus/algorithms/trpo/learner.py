"""Trust region policy optimisation (Schulman et al. 2015, section 6 and appendix C).

An update of the policy: the gradient of the surrogate; conjugate gradients for the direction ``F^-1 g``; a
line search along it, from the length at which the quadratic model of the divergence is ``max_kl``. Then
epochs of the value, on a separate encoder.

A product ``F v`` is the central difference of the divergence's gradient along ``v``: a backward pass at
``theta + e v`` and one at ``theta - e v``. Layers need no second derivative.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Generator, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ludus.algorithms.actor_critic.advantages import AdvantageBatch, AdvantageLearner
from ludus.algorithms.actor_critic.objective import Objective
from ludus.algorithms.actor_critic.returns import flat, vtrace_returns
from ludus.algorithms.config import TrpoConfig
from ludus.algorithms.learner import LearnerContext, UpdateStats
from ludus.algorithms.loss import Loss
from ludus.algorithms.trpo.conjugate import Solution, solve
from ludus.algorithms.trpo.loss import critic_loss, surrogate_loss
from ludus.algorithms.updates.forward import forward, part_size, units_of
from ludus.algorithms.updates.minibatch import EPOCHS_A_VERSION, MinibatchResult, mean_of, passes, shuffle_key
from ludus.algorithms.updates.parameters import replica_of
from ludus.algorithms.updates.samples import Index, pieces
from ludus.algorithms.updates.tasks import DividedTasks, Task
from ludus.policies.network import PolicyNetwork

Stages = Generator[Sequence[Task], None, None]
_MEASURED = struct.Struct("<ddq")  # loss, divergence, samples of one part
POLICY_SHUFFLE = EPOCHS_A_VERSION - 1  # number of the shuffle of the policy's update


class _Measurement(NamedTuple):
    """Means over the decisions at some parameters."""

    loss: float  # of the surrogate and the entropy
    kl: float  # from the policy at the start of the update


OBJECTIVE = Objective(vtrace_returns, surrogate_loss, corrects_lag=lambda config: config.vtrace)


class TrpoLearner(AdvantageLearner[TrpoConfig]):
    """Learner of TRPO. For the arguments see :class:`~ludus.algorithms.learner.SlabLearner`."""

    def __init__(self, config: TrpoConfig, network: PolicyNetwork, context: LearnerContext) -> None:
        """Check that the value has a separate encoder.

        Raises:
            ValueError: The value shares parameters with the policy: regression of the value would move the
                policy out of the trust region.
        """
        if network.critic is None:
            raise ValueError(
                'critic = "shared": the value would move the policy; algorithm.name = "trpo" expects "own"'
            )
        network.precision = "float32"  # differences of gradients need its digits
        super().__init__(OBJECTIVE, config, network, context)
        anchor = PolicyNetwork(network.config, network.spec, 0, network.precision).to(network.device)
        self._anchor = anchor  # the policy at the start of an update
        self._anchors = [replica_of(anchor) for _ in self.minibatches.replicas]

    def _epochs(self, batch: AdvantageBatch, progress: float, stats: UpdateStats) -> Iterator[Sequence[Task]]:
        if not self._value_only and not self.settle:
            yield from self._policy(batch, progress, stats)
            self.minibatches.norm_sums.clear()  # of other weights
        yield from self._value(batch, progress, stats)

    def _value(self, batch: AdvantageBatch, progress: float, stats: UpdateStats) -> Stages:
        """Make epochs of minibatches; no parameter of the policy has a gradient."""
        config = self.config
        rate = self._learning_rate(progress)

        def loss(network: PolicyNetwork, part: Index) -> tuple[Loss, int]:
            index, _, value = forward(network, batch.samples, part, batch.valid)
            target = batch.samples.tensor(flat(batch.target).take(index, axis=0))
            return critic_loss(config, value, target), len(index)

        results: list[MinibatchResult] = []
        for epoch, share in enumerate(passes(config)):
            for parts in self._minibatches(batch, epoch, share):
                step = self.minibatches.step(parts, loss, self.optimiser, rate, config.max_grad_norm)
                results.append((yield from step))
        stats.learned += sum(r.samples for r in results)
        stats.gradient_steps += len(results)
        stats.numbers["loss/value"] = mean_of("loss/value", results)
        stats.numbers["learner/learning_rate"] = rate

    def _policy(self, batch: AdvantageBatch, progress: float, stats: UpdateStats) -> Stages:
        """Move the policy."""
        config, parameters = self.config, self.parameters
        self.copy_to(self._anchor)
        coefficient = self.config.entropy_coefficient_at(progress)
        units = units_of(self.network, batch.valid)
        size = part_size(self.network, config.micro_batch, batch.samples.slab.steps)
        key = shuffle_key(self.seed, self.version, POLICY_SHUFFLE)
        shuffled = np.random.Generator(np.random.Philox(key=list(key))).permutation(units)
        some = list(
            pieces(shuffled[: max(1, round(config.fisher_share * len(units)))], size, config.part_count)
        )
        parts = list(pieces(units, size, config.part_count))

        def surrogate(network: PolicyNetwork, part: Index) -> tuple[Loss, int]:
            loss, count = self._loss(batch, network, part, coefficient)
            return Loss(loss.total, loss.numbers | {"total": loss.total}), count

        gradient, count, sums = yield from self.minibatches.gradient(parts, surrogate)
        gradient = gradient.clone()
        before = _Measurement(sums.pop("total") / count, 0.0)
        stats.numbers |= {name: total / count for name, total in sums.items()}
        stats.numbers["learner/grad_norm"] = float(gradient.norm())
        start = parameters.vector.clone()
        found, inspected = yield from self._direction(batch, some, gradient, start)
        length = (2.0 * config.max_kl / found.curvature) ** 0.5 if found.curvature > 0.0 else 0.0
        share, here = 0.0, before
        if length > 0.0:
            share, here = yield from self._search(batch, parts, start, found.x * -length, before, coefficient)
        stats.numbers |= {
            "policy/kl": here.kl,
            "trpo/improvement": before.loss - here.loss,
            "trpo/step_share": share,
            "trpo/residual": found.residual,
        }
        stats.learned += count + inspected
        stats.gradient_steps += int(share > 0.0)

    def _direction(
        self, batch: AdvantageBatch, parts: Sequence[Index], gradient: Tensor, start: Tensor
    ) -> Generator[Sequence[Task], None, tuple[Solution, int]]:
        """Return ``(F + damping I)^-1 gradient`` and the number of decisions differentiated for it."""
        solver = solve(gradient, self.config.conjugate_steps)
        inspected = 0
        try:
            direction = next(solver)
            while True:
                product, count = yield from self.fisher_product(batch, parts, direction, start)
                inspected += count
                direction = solver.send(product.add_(direction, alpha=self.config.damping))
        except StopIteration as end:
            solution: Solution = end.value
            return solution, inspected

    def fisher_product(
        self, batch: AdvantageBatch, parts: Sequence[Index], vector: Tensor, start: Tensor
    ) -> Generator[Sequence[Task], None, tuple[Tensor, int]]:
        """Return ``F vector: [P]`` over the decisions of ``parts`` at ``start``, by central difference.

        Also returns the number of differentiated decisions. The parameters are ``start`` afterwards.
        """

        def divergence(network: PolicyNetwork, part: Index) -> tuple[Loss, int]:
            return self._divergence(batch, network, part)

        length = self.config.difference / max(float(vector.norm()), 1e-30)
        torch.add(start, vector, alpha=length, out=self.parameters.vector)
        above, first, _ = yield from self.minibatches.gradient(parts, divergence)
        above = above.clone()
        torch.add(start, vector, alpha=-length, out=self.parameters.vector)
        below, second, _ = yield from self.minibatches.gradient(parts, divergence)
        self.parameters.vector.copy_(start)
        return above.sub_(below).div_(2.0 * length), first + second

    def _search(
        self,
        batch: AdvantageBatch,
        parts: Sequence[Index],
        start: Tensor,
        step: Tensor,
        before: _Measurement,
        coefficient: float,
    ) -> Generator[Sequence[Task], None, tuple[float, _Measurement]]:
        """Find the first of the shortening steps that lowers the loss within the trust region.

        Returns its share of ``step`` and the means there; 0 if no share improves, and then nothing has moved.
        """
        share = 1.0
        for _ in range(self.config.backtracks):
            torch.add(start, step, alpha=share, out=self.parameters.vector)
            here = yield from self._measure(batch, parts, coefficient)
            if here.loss < before.loss and here.kl <= self.config.max_kl:
                return share, here
            share *= self.config.backtrack_factor
        self.parameters.vector.copy_(start)
        return 0.0, before

    def _measure(
        self, batch: AdvantageBatch, parts: Sequence[Index], coefficient: float
    ) -> Generator[Sequence[Task], None, _Measurement]:
        """Return loss and divergence at the current parameters."""
        done: list[tuple[float, float, int]] = [(0.0, 0.0, 0)] * len(parts)

        @torch.no_grad()
        def measure(i: int, worker: int) -> None:
            network = self.minibatches.replicas[worker]
            loss, count = self._loss(batch, network, parts[i], coefficient)
            kl, _ = self._divergence(batch, network, parts[i])
            done[i] = (float(loss.total), float(kl.total), count)

        def unpack(i: int, data: bytes) -> None:
            done[i] = _MEASURED.unpack(data)

        tasks = (functools.partial(measure, i) for i in range(len(parts)))
        yield DividedTasks(tasks, lambda i: _MEASURED.pack(*done[i]), unpack)
        sums = self.group.sums(
            {
                "loss": sum(loss for loss, _, _ in done),
                "kl": sum(kl for _, kl, _ in done),
                "samples": sum(count for _, _, count in done),
            }
        )
        return _Measurement(sums["loss"] / sums["samples"], sums["kl"] / sums["samples"])

    def _divergence(self, batch: AdvantageBatch, network: PolicyNetwork, part: Index) -> tuple[Loss, int]:
        """Return KL(policy at the start of the update || policy of ``network``), a sum over decisions."""
        samples = batch.samples
        anchor = self._anchors[self.minibatches.replicas.index(network)]
        with torch.no_grad():
            _, old, _ = forward(anchor, samples, part, batch.valid)
        index, new, _ = forward(network, samples, part, batch.valid)
        kl = old.divergence(new, samples.masks(index), samples.actions(index)).sum()
        return Loss(kl, {"policy/kl": kl}), len(index)
