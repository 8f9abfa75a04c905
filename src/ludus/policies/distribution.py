"""A decision of several masked categorical factors, and random numbers that depend on no thread.

Shapes: ``N`` rows, ``K`` heads, ``A`` choices of all heads together. Logits and masks of the heads
are concatenated: ``logits: float32[N, A]``, ``mask: uint8 or bool[N, A]`` (1 = legal). Acting and
learning go through the same functions, so that at lag 0 the probability ratio is 1.

A head without any legal choice does not matter at that moment: it yields choice 0 with probability
1, and adds nothing to log-probability, entropy or divergence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.flow import GameSpec

_GAMMA = np.uint64(0x9E3779B97F4A7C15)


def _mix64(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64's finaliser (Steele, Lea, Flood 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return mixed


def uniforms(seed: int, step: int, rows: npt.NDArray[np.integer], heads: int) -> npt.NDArray[np.float32]:
    """``float32[N, K]`` in [0, 1), a pure function of (seed, step, row number, head).

    ``step`` counts decisions of the whole run, so a row never sees the same number twice; the
    result does not depend on which other rows are in the batch or on any thread.
    """
    with np.errstate(over="ignore"):
        key = _mix64(np.full(1, seed & 0xFFFFFFFFFFFFFFFF, np.uint64) + _GAMMA)
        key = _mix64(key + np.full(1, step + 1, np.uint64) * _GAMMA)
        head = np.arange(1, heads + 1).astype(np.uint64)
        counter = rows.astype(np.uint64).reshape(-1, 1) * np.full(1, heads, np.uint64) + head
        bits = _mix64(key + counter * _GAMMA) >> np.uint64(40)
    uniform: npt.NDArray[np.float32] = bits.astype(np.float32) * np.float32(2.0**-24)
    return uniform


@dataclass(frozen=True)
class Heads:
    """Sizes of the factors of a decision, in the spec's order.

    ``depends_on[k]`` names the earlier heads on which head k's mask depends. Every head of today's
    policies is sampled at once, so a non-empty entry is refused by :meth:`of`.
    """

    sizes: tuple[int, ...]
    depends_on: tuple[tuple[int, ...], ...] = ()

    @staticmethod
    def of(spec: GameSpec) -> Heads:
        """The heads of a game. ``ValueError`` for heads whose masks depend on other heads."""
        for head in spec.heads:
            if head.depends_on:
                raise ValueError(
                    f"{spec.name}: head {head.name!r} depends on other heads; "
                    "the policies of this version sample all heads at once"
                )
        sizes, depends = tuple(h.size for h in spec.heads), tuple(h.depends_on for h in spec.heads)
        continuous = tuple(h.kind == "continuous" for h in spec.heads)
        if any(continuous):
            from ludus.policies.continuous import MixedHeads

            return MixedHeads(sizes, depends, continuous, tuple(h.low < h.high for h in spec.heads))
        return Heads(sizes, depends)

    @property
    def choices(self) -> int:
        """``A``."""
        return sum(self.sizes)

    def log_probs(self, logits: Tensor, mask: Tensor) -> Tensor:
        """``float32[N, A]``: log-probabilities within each head; -inf where illegal."""
        parts = []
        offset = 0
        for size in self.sizes:
            legal = mask[:, offset : offset + size].bool()
            none = ~legal.any(dim=1, keepdim=True)
            legal = torch.cat([legal[:, :1] | none, legal[:, 1:]], dim=1)
            head = logits[:, offset : offset + size].float().masked_fill(~legal, -torch.inf)
            parts.append(torch.log_softmax(head, dim=1))
            offset += size
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def _indices(self, actions: Tensor) -> Tensor:
        """Positions of ``actions: int[N, K]`` among the ``A`` concatenated choices."""
        offsets = np.cumsum((0, *self.sizes[:-1]))
        if len(self.sizes) == 1:
            return actions.long()
        return actions.long() + torch.as_tensor(offsets, device=actions.device)

    def log_prob_of(self, log_probs: Tensor, actions: Tensor) -> Tensor:
        """``float32[N]``: log-probability of whole decisions ``actions: int[N, K]``."""
        return log_probs.gather(1, self._indices(actions)).sum(dim=1)

    def entropy(self, log_probs: Tensor) -> Tensor:
        """``float32[N]`` in nats, summed over heads."""
        finite = log_probs.clamp(min=-1e9)  # 0 * log 0 = 0, also in the gradient
        return -(finite.exp() * finite).sum(dim=1)

    def kl(self, log_p: Tensor, log_q: Tensor) -> Tensor:
        """``float32[N]``: KL(p || q) in nats, summed over heads, of log-probabilities under one mask."""
        legal = log_p > -torch.inf
        difference = torch.where(legal, log_p - log_q, torch.zeros_like(log_p))
        return (log_p.exp() * difference).sum(dim=1)

    def sample(self, log_probs: Tensor, uniform: Tensor) -> Tensor:
        """``int64[N, K]`` by inversion of ``uniform: float32[N, K]``; never an illegal choice."""
        chosen = []
        offset = 0
        for k, size in enumerate(self.sizes):
            cdf = log_probs[:, offset : offset + size].double().exp().cumsum(dim=1)
            # u < 1 in steps of 2^-24 and the sum is in double, so u * total < total: some choice of
            # positive probability is the first whose cumulative sum lies above.
            x = uniform[:, k : k + 1].double() * cdf[:, -1:]
            chosen.append((cdf <= x).sum(dim=1))
            offset += size
        return torch.stack(chosen, dim=1)

    def greedy(self, log_probs: Tensor) -> Tensor:
        """``int64[N, K]``: the likeliest choice of each head, the first among equals."""
        ends = np.cumsum(self.sizes).tolist()
        return torch.stack(
            [
                log_probs[:, end - size : end].argmax(dim=1)
                for size, end in zip(self.sizes, ends, strict=True)
            ],
            dim=1,
        )
