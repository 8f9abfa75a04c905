"""Group: the learners that make one update together, and the sums in which their numbers meet (all-reduce).

Each learner is a rank. It reads separate slabs, and all ranks make the same step, so that their parameters
stay equal bit for bit. Every rank asks its group in the same order; otherwise the group fails after its
timeout. Numbers that only one rank has must not decide a step.
"""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ludus.algorithms.returns import Floats
from ludus.flow.inputs.decode import from_json, to_json
from ludus.flow.override import override
from ludus.flow.slab import Array
from ludus.policies.accelerator import kind_of

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

TIMEOUT_S = 60.0  # that a rank waits for its group
RANKS = "ranks"  # counter of a group's state: number of learners


class GroupError(RuntimeError):
    """The ranks of a group cannot continue together: one is missing, late, or has other parameters."""


class RankLost(GroupError):
    """A rank is missing or late: a new group may continue where this one ended."""


class Group(ABC):
    """Ranks of one learner, seen from one of them. Called by one thread of the rank at a time."""

    def __init__(self, size: int, rank: int) -> None:
        """Name the rank.

        Args:
            size: Number of ranks, >= 1.
            rank: Number of this one, below ``size``.
        """
        self.size, self.rank = size, rank

    @abstractmethod
    def add(self, tensor: Tensor) -> Tensor:
        """Return the sum of ``tensor`` over the ranks, which may overwrite it. Shapes are equal.

        Raises:
            GroupError: A rank is missing or late. The other methods raise it too.
        """

    @abstractmethod
    def gather(self, tensor: Tensor) -> list[Tensor]:
        """Return ``tensor: [N, ...]`` of every rank, in their order. ``N`` may differ between ranks."""

    def sums(self, numbers: Mapping[str, float]) -> dict[str, float]:
        """Return the sums of numbers by name, added in the order of the ranks; a missing one counts 0."""
        text = to_json({name: str(number) for name, number in numbers.items()})  # JSON itself has no NaN
        totals: dict[str, float] = {}
        for part in self.gather(torch.frombuffer(bytearray(text), dtype=torch.uint8)):
            for name, number in from_json(part.numpy().tobytes(), dict[str, str]).items():
                whole = number.removeprefix("-").isdigit()
                totals[name] = totals.get(name, 0) + (int(number) if whole else float(number))
        return totals

    def joined(self, array: Floats) -> Floats:
        """Return ``array: [N, ...]`` of all ranks behind each other."""
        parts = self.gather(torch.from_numpy(np.ascontiguousarray(array)))
        return np.concatenate([part.numpy() for part in parts])

    def each(self, number: float) -> list[float]:
        """Return a number of every rank, in their order."""
        return [float(part) for part in self.gather(torch.tensor([number], dtype=torch.float64))]

    def total(self, count: int) -> int:
        """Return the sum of a count over the ranks."""
        return int(sum(self.each(count)))

    def mean(self, values: Array) -> float:
        """Return the mean in float64 of ``values: [N]`` of all ranks, of which one or more have some."""
        sums = self.sums({"sum": float(values.sum(dtype=np.float64)), "count": len(values)})
        return sums["sum"] / sums["count"]


class _Alone(Group):
    """A single learner: every sum is its argument, so that no bit changes."""

    @override
    def add(self, tensor: Tensor) -> Tensor:
        return tensor

    @override
    def gather(self, tensor: Tensor) -> list[Tensor]:
        return [tensor]

    @override
    def sums(self, numbers: Mapping[str, float]) -> dict[str, float]:
        return dict(numbers)

    @override
    def joined(self, array: Floats) -> Floats:
        return array

    @override
    def each(self, number: float) -> list[float]:
        return [number]


#: The group of a single learner.
ALONE: Group = _Alone(1, 0)


class _Table:
    """Place where the threads of a group lay down a tensor each."""

    def __init__(self, size: int, timeout_s: float) -> None:
        self.barrier = threading.Barrier(size, timeout=timeout_s)
        self.tensors: list[Tensor] = [torch.empty(0)] * size


class ThreadGroup(Group):
    """Learners of one process. Each rank has separate threads, which wait for each other."""

    def __init__(self, table: _Table, rank: int) -> None:
        """Take a place at the table; see :meth:`of`."""
        super().__init__(len(table.tensors), rank)
        self._table = table

    @classmethod
    def of(cls, size: int, timeout_s: float = TIMEOUT_S) -> list[ThreadGroup]:
        """Return the ranks of a group of ``size`` that waits for each of them up to ``timeout_s`` seconds."""
        table = _Table(size, timeout_s)
        return [cls(table, rank) for rank in range(size)]

    def leave(self) -> None:
        """End the group: the other ranks raise ``GroupError`` at once. Idempotent."""
        self._table.barrier.abort()

    def add(self, tensor: Tensor) -> Tensor:
        """See :meth:`Group.add`. The sum has the order of the ranks."""
        first, *others = self._meet(tensor.clone())
        total = first.clone()
        for other in others:
            total.add_(other)
        return total

    @override
    def gather(self, tensor: Tensor) -> list[Tensor]:
        return self._meet(tensor)

    def _meet(self, mine: Tensor) -> list[Tensor]:
        table = self._table
        try:
            table.tensors[self.rank] = mine
            table.barrier.wait()
            found = list(table.tensors)
            table.barrier.wait()
        except threading.BrokenBarrierError as error:
            raise RankLost(f"rank {self.rank} of {self.size}: another rank has left or is late") from error
        return found


class TorchGroup(Group):
    """Learners of several processes, by ``torch.distributed``: gloo on processors, NCCL on cards.

    Sums of more than two ranks depend on their number, because the ring adds in another order.
    """

    def __init__(
        self,
        store: Store,
        rank: int,
        size: int,
        device: torch.device | str = "cpu",
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """Join the group, and wait until all ranks have.

        Args:
            store: Where the ranks find each other; empty for every group, and the same one for all ranks.
            rank: Number of this rank, below ``size``.
            size: Number of ranks.
            device: Device of the learner; a CUDA device needs NCCL.
            timeout_s: Seconds after which a stopped rank, or a call that another rank does not make,
                is an error.

        Raises:
            GroupError: A rank has not come in time, or this build of torch has no such backend.
        """
        import torch.distributed as dist

        super().__init__(size, rank)
        if not dist.is_available():
            raise GroupError("this build of torch has no torch.distributed")
        self._dist, self._device = dist, torch.device(device)
        backend = "nccl" if kind_of(self._device) == "cuda" else "gloo"
        with self._failing():
            dist.init_process_group(
                backend, store=store, rank=rank, world_size=size, timeout=timedelta(seconds=timeout_s)
            )

    def close(self) -> None:
        """Leave the group. Idempotent."""
        if self._dist.is_initialized():
            self._dist.destroy_process_group()

    @override
    def add(self, tensor: Tensor) -> Tensor:
        moved = tensor.to(self._device)
        with self._failing():
            self._dist.all_reduce(moved)
        return moved.to(tensor.device)

    @override
    def gather(self, tensor: Tensor) -> list[Tensor]:
        lengths = [int(n) for n in self._equal(torch.tensor([len(tensor)], device=self._device))]
        padded = torch.zeros((max(lengths), *tensor.shape[1:]), dtype=tensor.dtype, device=self._device)
        padded[: len(tensor)] = tensor
        found = self._equal(padded) if padded.numel() else [padded] * self.size
        return [part[:n].to(tensor.device) for part, n in zip(found, lengths, strict=True)]

    def _equal(self, tensor: Tensor) -> list[Tensor]:
        """Return the tensor of every rank; their shapes are equal."""
        found = [torch.empty_like(tensor) for _ in range(self.size)]
        with self._failing():
            self._dist.all_gather(found, tensor)
        return found

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, ValueError) as error:
            cause = str(error).strip().splitlines()
            why = cause[0] if cause else type(error).__name__
            raise RankLost(f"rank {self.rank} of {self.size}: {why}") from error


def compare_ranks(group: Group, tensors: Mapping[str, Array], version: int) -> None:
    """Check that all ranks have the same tensors, by their SHA-256.

    Args:
        group: All of its ranks call this at the same version.
        tensors: Arrays by name.
        version: Version of the weights.

    Raises:
        GroupError: They differ. Every rank raises it.
    """
    if group.size == 1:
        return
    digest = hashlib.sha256()
    for name, array in tensors.items():
        digest.update(f"{name} {array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    found = group.gather(torch.frombuffer(bytearray(digest.digest()), dtype=torch.uint8))
    odd = [str(rank) for rank, other in enumerate(found) if not torch.equal(other, found[0])]
    if odd:
        raise GroupError(
            f"version {version}: the parameters of rank {', '.join(odd)} of {group.size} differ from "
            "rank 0's, expected equal ones; resume from the newest checkpoint"
        )
