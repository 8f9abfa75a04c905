"""Minibatches of a slab: shuffled passes, and one step of the optimiser as tasks of several threads.

A minibatch's gradient is the sum over micro-batches that fit the cache, each differentiated by a replica of
the network as one task (``tasks.py``) and added in a fixed order, so that the bits do not depend on
how many threads or processes worked. Passes need not be whole: OpenAI Five calls it sample reuse
(section 4.4).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec
import numpy as np
import torch
from torch import Tensor

from ludus.algorithms.config import AdvantageConfig
from ludus.algorithms.group import ALONE, Group
from ludus.algorithms.loss import Loss
from ludus.algorithms.updates.forward import Bools, forward, part_size, units_of
from ludus.algorithms.updates.optimiser import Optimiser, clip_by_norm
from ludus.algorithms.updates.parameters import FlatParameters, replica_of, summed
from ludus.algorithms.updates.samples import Index, Samples, in_teams, pieces
from ludus.algorithms.updates.tasks import DividedTasks, Processes, Task
from ludus.policies.layers.batch_norm import NormSums, batch_norms, observing
from ludus.policies.network import PolicyNetwork

EPOCHS_A_VERSION = 64  # bounds the shuffle numbers of one version
_SAMPLES = ""  # name of their number among sums; no number of a loss has it
#: A replica and a part of the minibatch -> the loss summed over the part's samples, and their number.
PartLoss = Callable[[PolicyNetwork, Index], tuple[Loss, int]]


class PassSettings(Protocol):
    """Settings of one pass over a slab."""

    @property
    def minibatches(self) -> int:
        """Number of minibatches of a whole pass."""
        ...

    @property
    def micro_batch(self) -> int:
        """Number of decisions differentiated at once."""
        ...

    @property
    def part_count(self) -> int:
        """Number of which the number of a minibatch's parts is a multiple."""
        ...


class MinibatchResult(NamedTuple):
    """Result of one step of the optimiser."""

    samples: int
    numbers: dict[str, float]  # of ``Loss.numbers``, summed over the samples
    grad_norm: float  # before clipping


class _PartResult(msgspec.Struct, frozen=True, array_like=True):
    """Results of one part, but for its gradient.

    ``numbers``: sums of ``Loss.numbers``; ``count``: samples; ``seen``: ``float64[3, C]`` of each batch norm,
    as bytes.
    """

    numbers: dict[str, float]
    count: int
    seen: list[list[bytes]]


def mean_of(name: str, results: Sequence[MinibatchResult]) -> float:
    """Return the mean of a number over all samples of ``results``."""
    return sum(r.numbers[name] for r in results) / sum(r.samples for r in results)


class Minibatches:
    """Owner of the replicas, and of a gradient for each micro-batch of a minibatch."""

    def __init__(
        self, network: PolicyNetwork, parameters: FlatParameters, workers: int, group: Group = ALONE
    ) -> None:
        """Make a replica for each worker.

        Args:
            network: Network that learns.
            parameters: Its parameters.
            workers: Number of threads that may run tasks at once.
            group: Learners whose parts of a minibatch are added.
        """
        self.parameters, self.group = parameters, group
        #: processes that the parts are divided among; None: only this one
        self.processes: Processes | None = None
        self.replicas = [replica_of(network) for _ in range(max(workers, 1))]
        self._gradients: list[Tensor] = []
        #: what the network's batch norms saw in all steps since it was cleared
        self.norm_sums = NormSums(network)
        self._norms = [batch_norms(replica) for replica in self.replicas]

    def observe(self, samples: Samples, part: Index, wanted: Bools, worker: int) -> list[list[Tensor]]:
        """Return the inputs' sums that the batch norms see of one part of a slab (``forward.py``)."""
        with observing(self._norms[worker]) as seen, torch.no_grad():
            forward(self.replicas[worker], samples, part, wanted)
        return seen

    def gradient(
        self, parts: Sequence[Index], loss: PartLoss
    ) -> Generator[Sequence[Task], None, tuple[Tensor, int, dict[str, float]]]:
        """Differentiate the mean loss over all samples of ``parts`` on every rank.

        Yields one list with a task for each part. A rank may have none.

        Returns:
            The gradient ``[P]``, which the next call overwrites, the number of samples, and ``Loss.numbers``
            summed over them.
        """
        gradients = self._rows(len(parts))
        done: list[tuple[dict[str, float], int]] = [({}, 0)] * len(parts)
        seen: list[list[list[Tensor]]] = [[] for _ in parts]

        def differentiate(i: int, worker: int) -> None:
            network = self.replicas[worker]
            with observing(self._norms[worker]) as seen[i]:
                (total, numbers), count = loss(network, parts[i])
            self.parameters.gradient(total, network, gradients[i])
            sums = torch.stack([x.detach().double() for x in numbers.values()]).tolist()
            done[i] = (dict(zip(numbers, sums, strict=True)), count)

        def pack(i: int) -> bytes:
            sums = [[tensor.numpy().tobytes() for tensor in norm] for norm in seen[i]]
            return msgspec.msgpack.encode(_PartResult(*done[i], sums))

        def unpack(i: int, data: bytes) -> None:
            result = msgspec.msgpack.decode(data, type=_PartResult)
            done[i] = (result.numbers, result.count)
            seen[i] = [[_norm_sums(sums) for sums in norm] for norm in result.seen]

        yield DividedTasks((functools.partial(differentiate, i) for i in range(len(parts))), pack, unpack)
        if self.processes is not None and parts:
            gradients[0] = self._gradients[0].copy_(gradients[0])  # the rest still reads the shared one
        for sums in seen:
            self.norm_sums.add(sums)
        numbers = {name: sum(part[name] for part, _ in done) for name in done[0][0]} if parts else {}
        totals = self.group.sums({_SAMPLES: sum(count for _, count in done), **numbers})
        mine = summed(gradients) if parts else self._gradients[0].zero_()
        samples = int(totals.pop(_SAMPLES))
        return self.group.add(mine).div_(float(samples)), samples, totals

    def _rows(self, count: int) -> list[Tensor]:
        """Return room for the gradients ``[P]`` of ``count`` parts."""
        vector = self.parameters.vector
        shared = self.processes is not None and count > 0
        while len(self._gradients) < (1 if shared else max(count, 1)):
            self._gradients.append(torch.empty_like(vector))
        if self.processes is None or not shared:
            return self._gradients[:count]
        return [
            torch.from_numpy(row)
            for row in self.processes.arrays([(tuple(vector.shape), np.dtype(np.float32))] * count)
        ]

    def step(
        self,
        parts: Sequence[Index],
        loss: PartLoss,
        optimiser: Optimiser,
        learning_rate: float,
        max_grad_norm: float,
    ) -> Generator[Sequence[Task], None, MinibatchResult]:
        """Make one step against the gradient of the mean loss over all samples of ``parts``.

        Yields one list with a task for each part; returns when they have run.
        """
        gradient, samples, numbers = yield from self.gradient(parts, loss)
        norm = clip_by_norm(gradient, max_grad_norm)
        optimiser.step(gradient, learning_rate)
        return MinibatchResult(samples, numbers, norm)


def _norm_sums(data: bytes) -> Tensor:
    return torch.from_numpy(np.frombuffer(data, np.float64).reshape(3, -1).copy())


def passes(config: AdvantageConfig) -> list[float]:
    """Return the share in (0, 1] of the slab that each pass over it differentiates.

    Args:
        config: ``epochs``, and ``sample_reuse``, which replaces them if it is not 0.
    """
    if config.sample_reuse <= 0.0:
        return [1.0] * config.epochs
    whole = int(config.sample_reuse)
    rest = config.sample_reuse - whole
    return [1.0] * whole + ([rest] if rest > 0.0 else [])


def shuffle_key(seed: int, version: int, epoch: int) -> tuple[int, int]:
    """Return the key of the shuffle of one pass.

    Args:
        seed: Seed of the learner.
        version: Version that the update starts from.
        epoch: Number of the pass, below ``EPOCHS_A_VERSION``.
    """
    return seed, version * EPOCHS_A_VERSION + epoch


def shuffled_minibatches(
    network: PolicyNetwork,
    valid: Bools,
    config: PassSettings,
    key: Sequence[int],
    share: float = 1.0,
    group: Group = ALONE,
    mates: Index | None = None,
) -> Iterator[list[Index]]:
    """Yield the parts of each minibatch of one shuffled pass over a slab, where any rank has some.

    Args:
        network: Network that learns; its units are rows with memory and decisions without.
        valid: ``bool[T, R]``, the decisions of the pass.
        config: Number of minibatches, decisions of a part.
        key: Key of the shuffle.
        share: Share in (0, 1] of the slab.
        group: Learners that make the pass together, each over its own slab.
        mates: ``int64[R, K]``, rows of each row's team, which stay together; None: rows are shuffled.
    """
    size = part_size(network, config.micro_batch, len(valid))
    generator, units = np.random.Generator(np.random.Philox(key=list(key))), units_of(network, valid)
    shuffled = generator.permutation(units) if mates is None else in_teams(units, mates, generator)
    minibatches = minibatches_of(shuffled, share, config.minibatches)
    filled = group.sums({str(i): len(units) for i, units in enumerate(minibatches)})
    for i, minibatch in enumerate(minibatches):
        if filled[str(i)]:
            yield list(pieces(minibatch, size, config.part_count))


def minibatches_of(shuffled: Index, share: float, minibatches: int) -> list[Index]:
    """Cut the first ``share`` of ``shuffled: [N]``, at least one, into minibatches of a whole pass's size.

    Args:
        shuffled: Decisions, or rows of a policy with memory.
        share: Share in (0, 1].
        minibatches: Number of minibatches of a whole pass.
    """
    if share < 1.0:
        shuffled = shuffled[: max(1, round(share * len(shuffled)))]
        minibatches = max(1, round(share * minibatches))
    return list(np.array_split(shuffled, minibatches))
