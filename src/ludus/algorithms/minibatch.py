"""One step of the optimiser as tasks that several threads may run.

A minibatch's gradient is the sum over micro-batches that fit the cache, each differentiated by a replica of
the network as a task of its own (``tasks.py``) and added in a fixed order, so that the bits do not depend on
how many threads worked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ludus.algorithms.forward import Bools, forward
from ludus.algorithms.loss import Loss
from ludus.algorithms.optimiser import Optimiser, clip_by_norm
from ludus.algorithms.parameters import FlatParameters, replica_of, summed
from ludus.algorithms.samples import Index, Samples
from ludus.algorithms.tasks import Task
from ludus.policies.batch_norm import NormSums, batch_norms, observing
from ludus.policies.network import PolicyNetwork

#: A replica and a part of the minibatch -> the loss summed over the part's samples, and their number.
PartLoss = Callable[[PolicyNetwork, Index], tuple[Loss, int]]


class MinibatchResult(NamedTuple):
    """Of one step of the optimiser."""

    samples: int
    numbers: dict[str, float]  # of ``Loss.numbers``, summed over the samples
    grad_norm: float  # before clipping


def mean_of(name: str, results: Sequence[MinibatchResult]) -> float:
    """Mean of a number over all samples of ``results``."""
    return sum(r.numbers[name] for r in results) / sum(r.samples for r in results)


class Minibatches:
    """Owns the replicas and a gradient for each micro-batch of a minibatch.

    Args:
        network: the one that learns.
        parameters: its parameters.
        workers: how many threads may run tasks at once.
    """

    def __init__(self, network: PolicyNetwork, parameters: FlatParameters, workers: int) -> None:
        self.parameters = parameters
        self.replicas = [replica_of(network) for _ in range(max(workers, 1))]
        self._gradients: list[Tensor] = []
        #: what the network's batch norms saw in all steps since it was cleared
        self.norm_sums = NormSums(network)
        self._norms = [batch_norms(replica) for replica in self.replicas]

    def observe(self, samples: Samples, part: Index, wanted: Bools, worker: int) -> list[list[Tensor]]:
        """What the batch norms see of one part of a slab (``forward.py``)."""
        with observing(self._norms[worker]) as seen, torch.no_grad():
            forward(self.replicas[worker], samples, part, wanted)
        return seen

    def gradient(
        self, parts: Sequence[Index], loss: PartLoss
    ) -> Generator[Sequence[Task], None, tuple[Tensor, int, dict[str, float]]]:
        """The gradient ``[P]`` of the mean loss over all samples of ``parts``.

        Yields one list with a task for each part. Returns the gradient, which the next call overwrites, the
        number of samples, and ``Loss.numbers`` summed over them.
        """
        while len(self._gradients) < len(parts):
            self._gradients.append(torch.empty_like(self.parameters.vector))
        done: list[tuple[dict[str, float], int]] = [({}, 0)] * len(parts)
        seen: list[list[list[Tensor]]] = [[] for _ in parts]

        def differentiate(i: int, worker: int) -> None:
            network = self.replicas[worker]
            with observing(self._norms[worker]) as seen[i]:
                (total, numbers), count = loss(network, parts[i])
            self.parameters.gradient(total, network, self._gradients[i])
            sums = torch.stack([x.detach().double() for x in numbers.values()]).tolist()
            done[i] = (dict(zip(numbers, sums, strict=True)), count)

        yield [functools.partial(differentiate, i) for i in range(len(parts))]
        for sums in seen:
            self.norm_sums.add(sums)
        samples = sum(count for _, count in done)
        gradient = summed(self._gradients[: len(parts)]).div_(float(samples))
        return gradient, samples, {name: sum(part[name] for part, _ in done) for name in done[0][0]}

    def step(
        self,
        parts: Sequence[Index],
        loss: PartLoss,
        optimiser: Optimiser,
        learning_rate: float,
        max_grad_norm: float,
    ) -> Generator[Sequence[Task], None, MinibatchResult]:
        """One step against the gradient of the mean loss over all samples of ``parts``.

        Yields one list with a task for each part; returns when they have run.
        """
        gradient, samples, numbers = yield from self.gradient(parts, loss)
        norm = clip_by_norm(gradient, max_grad_norm)
        optimiser.step(gradient, learning_rate)
        return MinibatchResult(samples, numbers, norm)
