"""Decisions of several masked categorical factors, and random numbers that depend on no thread.

Shapes: ``N`` rows, ``K`` heads, ``A`` choices of all heads together. Logits and masks of the heads
are concatenated: ``logits: float32[N, A]``, ``mask: uint8 or bool[N, A]`` (1 = legal). Acting and
learning go through the same functions, so that at lag 0 the probability ratio is 1.

A head without any legal choice is irrelevant at that time step: it yields choice 0 with probability
1, and adds nothing to log-probability, entropy or divergence.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.codecs.constants import constant
from ludus.flow.seeds import GAMMA, splitmix64


def uniforms(
    seed: int | npt.NDArray[np.uint64], step: int, rows: npt.NDArray[np.integer], heads: int
) -> npt.NDArray[np.float32]:
    """Return ``float32[N, K]`` in [0, 1), a pure function of (seed, step, row number, head).

    The result does not depend on the other rows of the batch or on threads.

    Args:
        seed: One for all rows, or one per row.
        step: Number of the decision in the whole run, so that a row never gets the same number twice.
        rows: ``int[N]``, numbers of the rows.
        heads: Number of heads.
    """
    with np.errstate(over="ignore"):
        seeds = seed if isinstance(seed, np.ndarray) else np.full(1, seed & 0xFFFFFFFFFFFFFFFF, np.uint64)
        key = splitmix64(seeds.reshape(-1, 1) + np.uint64(GAMMA))
        key = splitmix64(key + np.full(1, step + 1, np.uint64) * np.uint64(GAMMA))
        head = np.arange(1, heads + 1).astype(np.uint64)
        counter = rows.astype(np.uint64).reshape(-1, 1) * np.full(1, heads, np.uint64) + head
        bits = splitmix64(key + counter * np.uint64(GAMMA)) >> np.uint64(40)
    uniform: npt.NDArray[np.float32] = bits.astype(np.float32) * np.float32(2.0**-24)
    return uniform


def log_probs_of(logits: Tensor, legal: Tensor) -> Tensor:
    """Return log-probabilities ``float32[N, size]`` of one head, -inf where not ``legal: bool[N, size]``."""
    none = ~legal.any(dim=1, keepdim=True)
    legal = torch.cat([legal[:, :1] | none, legal[:, 1:]], dim=1)
    return torch.log_softmax(logits.float().masked_fill(~legal, -torch.inf), dim=1)


def entropy_of(log_probs: Tensor) -> Tensor:
    """Return the entropy ``float32[N]`` in nats, of one head or summed over heads."""
    finite = log_probs.clamp(min=-1e9)  # 0 * log 0 = 0, also in the gradient
    return -(finite.exp() * finite).sum(dim=1)


def sample_of(log_probs: Tensor, uniform: Tensor) -> Tensor:
    """Return choices ``int64[N]`` of one head by inversion of ``uniform: float32[N]``."""
    cdf = log_probs.double().exp().cumsum(dim=1)
    # u < 1 in steps of 2^-24 and the sum is in double, so u * total < total: some choice of positive
    # probability is the first whose cumulative sum lies above.
    return (cdf <= uniform.unsqueeze(1).double() * cdf[:, -1:]).sum(dim=1)


@dataclass(frozen=True)
class Heads:
    """Sizes of the factors of a decision, in the spec's order.

    ``depends_on[k]`` names the earlier heads on which head k's mask depends (:class:`HeadSpec`). The
    functions over all heads at once are for independent heads. Dependent heads are decided in order,
    with :meth:`legal` and the functions of one head.
    """

    sizes: tuple[int, ...]
    depends_on: tuple[tuple[int, ...], ...] = ()

    @property
    def dependent(self) -> bool:
        """Whether some head's mask depends on an earlier choice."""
        return any(self.depends_on)

    def legal(self, mask: Tensor, head: int, actions: Tensor) -> Tensor:
        """Return the legal choices ``bool[N, size]`` of ``head``, given ``actions: int[N, K]`` before it."""
        size = self.sizes[head]
        at, tables = self._tables[head]
        if not tables:
            return mask[:, at : at + size] != 0
        legal: Tensor | None = None
        for before in tables:
            rows = self.sizes[before]
            table = mask[:, at : at + rows * size].reshape(-1, rows, size)
            index = actions[:, before].long().reshape(-1, 1, 1).expand(-1, 1, size)
            part = table.gather(1, index).squeeze(1) != 0
            legal = part if legal is None else legal & part
            at += rows * size
        assert legal is not None
        return legal

    @functools.cached_property
    def _tables(self) -> list[tuple[int, tuple[int, ...]]]:
        """For each head: the offset of its part of a mask, and the heads that index its tables."""
        out = []
        at = 0
        for head, size in enumerate(self.sizes):
            tables = self.depends_on[head] if self.depends_on else ()
            out.append((at, tables))
            at += size * (sum(self.sizes[d] for d in tables) if tables else 1)
        return out

    @functools.cached_property
    def _offsets(self) -> tuple[int, ...]:
        """Position of each head's first choice among all choices."""
        return tuple(itertools.accumulate((0, *self.sizes[:-1])))

    @property
    def choices(self) -> int:
        """``A``: choices of all heads together, if no head depends on another."""
        return sum(self.sizes)

    @functools.cached_property
    def _size(self) -> int:
        """Common size of all heads, so that they can be handled as rows of one head; 0 if sizes differ."""
        return self.sizes[0] if len(set(self.sizes)) == 1 else 0

    def log_probs(self, logits: Tensor, mask: Tensor) -> Tensor:
        """Return ``float32[N, A]``: log-probabilities within each head; -inf where illegal."""
        if size := self._size:
            return log_probs_of(logits.reshape(-1, size), mask.reshape(-1, size).bool()).reshape(logits.shape)
        parts = []
        offset = 0
        for size in self.sizes:
            legal = mask[:, offset : offset + size].bool()
            parts.append(log_probs_of(logits[:, offset : offset + size], legal))
            offset += size
        return torch.cat(parts, dim=1)

    def _indices(self, actions: Tensor) -> Tensor:
        """Return the positions of ``actions: int[N, K]`` among the ``A`` concatenated choices."""
        if len(self.sizes) == 1:
            return actions.long()
        return actions.long() + constant(self._offsets, actions.device)

    def log_prob_of(self, log_probs: Tensor, actions: Tensor) -> Tensor:
        """Return ``float32[N]``: log-probability of whole decisions ``actions: int[N, K]``."""
        return log_probs.gather(1, self._indices(actions)).sum(dim=1)

    def entropy(self, log_probs: Tensor) -> Tensor:
        """Return the entropy ``float32[N]`` in nats, summed over heads."""
        return entropy_of(log_probs)

    def kl(self, log_p: Tensor, log_q: Tensor) -> Tensor:
        """Return ``float32[N]``: KL(p || q) in nats, summed over heads.

        Both are log-probabilities under one mask.
        """
        legal = log_p > -torch.inf
        difference = torch.where(legal, log_p - log_q, torch.zeros_like(log_p))
        return (log_p.exp() * difference).sum(dim=1)

    def sample(self, log_probs: Tensor, uniform: Tensor) -> Tensor:
        """Return decisions ``int64[N, K]`` by inversion of ``uniform: float32[N, K]``; all are legal."""
        if size := self._size:
            return sample_of(log_probs.reshape(-1, size), uniform.reshape(-1)).reshape(uniform.shape)
        chosen = []
        offset = 0
        for k, size in enumerate(self.sizes):
            chosen.append(sample_of(log_probs[:, offset : offset + size], uniform[:, k]))
            offset += size
        return torch.stack(chosen, dim=1)

    def greedy(self, log_probs: Tensor) -> Tensor:
        """Return ``int64[N, K]``: the most probable choice of each head, the first among equals."""
        if size := self._size:
            return log_probs.reshape(len(log_probs), -1, size).argmax(dim=2)
        ends = np.cumsum(self.sizes).tolist()
        return torch.stack(
            [
                log_probs[:, end - size : end].argmax(dim=1)
                for size, end in zip(self.sizes, ends, strict=True)
            ],
            dim=1,
        )
