"""Minibatches as programs of an accelerator: gather, loss, gradient, clipping and the optimiser's step.

The device holds the slab (:class:`SlabMirror`). A pass over it uploads one table: indices and numbers of each
of its minibatches. A step is one replay without inputs or outputs: it takes the table's next row, and adds
the loss's numbers to sums on the device. So no step waits for another, and nothing comes down before the pass
or the update is over.

A unit is a decision, or a row with learned memory. Minibatches are padded to an eighth of the largest;
padding repeats a unit with weight 0, and batch norms do not count it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ludus.algorithms.loss import Loss
from ludus.algorithms.updates.optimiser import ProgramOptimiser
from ludus.algorithms.updates.parameters import FlatParameters
from ludus.algorithms.updates.samples import Index
from ludus.flow.slab import Array
from ludus.policies.accelerator import Executor, Program, Stream
from ludus.policies.actions.packing import Packing
from ludus.policies.layers.batch_norm import NormSums, observing
from ludus.policies.network import PolicyNetwork

SIZES = 8  # of minibatches: multiples of this part of the largest
NUMBERS = 32  # most numbers of a loss, and the norm of the gradient
_UNITS, _SAMPLES, _ENTROPY, _LIMIT, _FIRST, _FACTORS = range(6)  # places in a row of numbers
#: int64[N], numbers of units; float32[N], their weights; the entropy coefficient -> the summed loss
ProgramLoss = Callable[[Tensor, Tensor, Tensor], Loss]


class StepNumbers(NamedTuple):
    """Sums over steps of the optimiser."""

    samples: int
    steps: int
    numbers: dict[str, float]  # of ``Loss.numbers``, summed over samples
    grad_norm: float  # before clipping, summed over steps


class Parts(NamedTuple):
    """Parts of a learner that its steps consist of."""

    executor: Executor
    stream: Stream
    network: PolicyNetwork
    parameters: FlatParameters
    optimiser: ProgramOptimiser
    loss: ProgramLoss
    norm_sums: NormSums  # of the network's batch norms; steps add what their gradients see


class MinibatchPrograms:
    """Programs of one learner's minibatches, one for each padded size. One thread at a time uses them."""

    def __init__(self, parts: Parts, largest: int) -> None:
        """Make programs when they are first needed; ``largest``: units of most minibatches."""
        self.parts = parts
        self._unit = max(1, -(-largest // SIZES))
        self.names: tuple[str, ...] = ()
        self.gradient = torch.zeros_like(parts.parameters.vector)
        #: of the steps since numbers were read, and of the last pass's
        self.sums = torch.zeros((2, NUMBERS), dtype=torch.float64, device=parts.network.device)
        self._made: dict[tuple[int, int], _SizedProgram] = {}
        self._numbers = parts.executor.program(self._drain, {}, parts.stream, [self.sums])
        self._passes: list[tuple[int, int]] = []  # samples and steps of each since numbers were read

    def run(
        self,
        minibatches: Sequence[Index],
        samples: Sequence[int],
        rate: float,
        entropy: float,
        limit: float,
    ) -> None:
        """Start the steps of one pass, without waiting for them.

        Args:
            minibatches: Numbers of units, one or more in each minibatch.
            samples: Number of decisions of each minibatch.
            rate: Learning rate.
            entropy: Weight of the entropy.
            limit: Largest norm of a gradient; 0 = off.
        """
        sizes = [len(minibatch) for minibatch in minibatches]
        key = (-(-max(sizes) // self._unit) * self._unit, len(sizes))
        program = self._made.get(key)
        if program is None:
            program = self._made[key] = _SizedProgram(self, *key)
        optimiser = self.parts.optimiser
        rows = [
            (sizes[k], count, entropy, limit if limit > 0.0 else np.inf, k == 0, *optimiser.factors(rate))
            for k, count in enumerate(samples)
        ]
        program.run(minibatches, np.asarray(rows, np.float32), len(self._passes))
        self._passes.append((sum(samples), len(sizes)))

    def read(self) -> tuple[StepNumbers, StepNumbers]:
        """Wait for all steps; return the numbers since the last call, and the last pass's."""
        sums = self._numbers({})["sums"]
        passes, self._passes = self._passes, []
        every = (sum(samples for samples, _ in passes), sum(steps for _, steps in passes))
        return self._named(sums[0], *every), self._named(sums[1], *passes[-1])

    def _named(self, sums: Array, samples: int, steps: int) -> StepNumbers:
        *numbers, norm = (float(x) for x in sums[: len(self.names) + 1])
        return StepNumbers(samples, steps, dict(zip(self.names, numbers, strict=True)), norm)

    @torch.no_grad()
    def _drain(self, _: Mapping[str, Tensor]) -> dict[str, Tensor]:
        sums = self.sums.clone()
        self.sums.zero_()
        return {"sums": sums}

    def step(self, index: Tensor, row: Tensor, weight: Tensor) -> None:
        """Compute one step; part of a graph."""
        parts, gradient = self.parts, self.gradient
        with observing(parts.norm_sums.norms) as seen:
            loss = parts.loss(index, weight, row[_ENTROPY])
        parts.parameters.gradient(loss.total, parts.network, gradient)
        with torch.no_grad():
            parts.norm_sums.add(seen)
            gradient.div_(row[_SAMPLES])
            norm = gradient.norm()
            gradient.mul_((row[_LIMIT] / norm).clamp(max=1.0))
            parts.optimiser.move(gradient, row[_FACTORS:])
            self.names = tuple(loss.numbers)
            numbers = torch.stack([x.detach().double() for x in (*loss.numbers.values(), norm)])
            every, last = self.sums[0, : len(numbers)], self.sums[1, : len(numbers)]
            every.add_(numbers)
            last.copy_(torch.where(row[_FIRST] > 0.0, numbers, last + numbers))


class _SizedProgram:
    """Steps of minibatches of one padded size, and the table that they read."""

    def __init__(self, owner: MinibatchPrograms, size: int, steps: int) -> None:
        self._owner, self._size, self._steps = owner, size, steps
        parts = owner.parts
        examples: dict[str, Array] = {
            "index": np.zeros((steps, size), np.int64),
            "rows": np.zeros((steps, _FACTORS + _factors(parts.optimiser)), np.float32),
            "next": np.zeros(1, np.int64),
        }
        device = parts.network.device
        self._packing = Packing(examples)
        self._table = torch.zeros(self._packing.size, dtype=torch.uint8, device=device)
        tensors = self._packing.tensors(self._table)
        self._index, self._rows, self._next = (tensors[name] for name in examples)
        self._positions = torch.arange(size, device=device)
        self._hosts: list[Array] = []  # a table for each pass of an update: the last one may be on its way
        vector = parts.parameters.vector
        moved = [vector, *parts.optimiser.vectors().values(), *parts.norm_sums.totals]
        state = [*moved, owner.sums, self._table]
        self._program: Program = parts.executor.program(self._compute, {}, parts.stream, state)

    def run(self, minibatches: Sequence[Index], rows: Array, number: int) -> None:
        """Start the steps of pass ``number`` of an update."""
        parts = self._owner.parts
        while len(self._hosts) <= number:
            self._hosts.append(parts.executor.allocate((self._packing.size,), np.dtype(np.uint8)))
        host = self._hosts[number].view(np.uint8)
        arrays = self._packing.arrays(host)
        for place, minibatch in zip(arrays["index"], minibatches, strict=True):
            place[: len(minibatch)] = minibatch
            place[len(minibatch) :] = minibatch[0]
        arrays["rows"][...] = rows
        arrays["next"][...] = 0
        parts.executor.upload(self._table, host, parts.stream)
        for _ in minibatches:
            self._program.send({})

    def _compute(self, _: Mapping[str, Tensor]) -> dict[str, Tensor]:
        index = self._index.index_select(0, self._next).squeeze(0)
        row = self._rows.index_select(0, self._next).squeeze(0)
        weight = (self._positions < row[_UNITS]).float()
        self._owner.step(index, row, weight)
        with torch.no_grad():
            self._next.add_(1).remainder_(self._steps)  # a graph is tried out before the first step
        return {}


def _factors(optimiser: ProgramOptimiser) -> int:
    """Return the number of an optimiser's factors, without counting a step."""
    counters = optimiser.counters()
    count = len(optimiser.factors(0.0))
    optimiser.set_counters(counters)
    return count
