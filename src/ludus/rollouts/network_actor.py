"""A policy network as an actor: arrays of a slab in, decisions out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.flow.slab import Array
from ludus.policies.distribution import uniforms
from ludus.policies.network import PolicyNetwork
from ludus.rollouts.actor import Decision, Rows


class NetworkActor:
    """Draws from a network's distribution, or takes its likeliest choice with ``greedy``.

    Several actors may share one network as long as one thread at a time uses it.
    """

    def __init__(self, network: PolicyNetwork, seed: int, version: int = 0, greedy: bool = False) -> None:
        self.network, self.seed, self.greedy = network, seed, greedy
        self._version = version
        self._inputs = tuple(t.name for t in network.inputs)

    @property
    def version(self) -> int:
        return self._version

    @version.setter
    def version(self, version: int) -> None:
        self._version = version

    @property
    def memory_shape(self) -> tuple[int, ...] | None:
        return self.network.memory_shape

    @torch.no_grad()
    def act(
        self,
        obs: Mapping[str, Array],
        mask: Array,
        memory: Array | None,
        first: Array,
        step: int,
        rows: Rows,
    ) -> Decision:
        """See :meth:`ludus.rollouts.actor.Actor.act`."""
        out = self.network.step(self._tensors(obs), self._optional(memory), self._tensor(first))
        heads = self.network.heads
        log_probs = heads.log_probs(out.logits, self._tensor(mask))
        if self.greedy:
            actions = heads.greedy(log_probs)
        else:
            actions = heads.sample(log_probs, self._tensor(uniforms(self.seed, step, rows, len(heads.sizes))))
        logp = heads.log_prob_of(log_probs, actions)
        return Decision(
            actions.cpu().numpy().astype(np.int32),
            logp.cpu().numpy(),
            out.value.float().cpu().numpy(),
            None if out.memory is None else out.memory.float().cpu().numpy(),
        )

    @torch.no_grad()
    def value(self, obs: Mapping[str, Array], memory: Array | None, first: Array) -> npt.NDArray[np.float32]:
        """See :meth:`ludus.rollouts.actor.Actor.value`."""
        out = self.network.step(self._tensors(obs), self._optional(memory), self._tensor(first))
        value: npt.NDArray[np.float32] = out.value.float().cpu().numpy()
        return value

    def _tensors(self, obs: Mapping[str, Array]) -> dict[str, Tensor]:
        return {name: self._tensor(obs[name]) for name in self._inputs}

    def _optional(self, array: Array | None) -> Tensor | None:
        return None if array is None else self._tensor(array)

    def _tensor(self, array: Array) -> Tensor:
        tensor = torch.from_numpy(array)
        return tensor if self.network.device.type == "cpu" else tensor.to(self.network.device)


class RandomActor:
    """Uniform among the legal choices of each head, and between the bounds of continuous ones."""

    def __init__(self, sizes: tuple[int, ...], seed: int, continuous: tuple[bool, ...] = ()) -> None:
        self.sizes, self.seed = sizes, seed
        self.continuous = continuous or (False,) * len(sizes)
        self.version = 0
        self.memory_shape: tuple[int, ...] | None = None

    def act(
        self,
        obs: Mapping[str, Array],
        mask: Array,
        memory: Array | None,
        first: Array,
        step: int,
        rows: Rows,
    ) -> Decision:
        """See :meth:`ludus.rollouts.actor.Actor.act`."""
        draws = uniforms(self.seed, step, rows, len(self.sizes))
        actions = np.zeros((len(rows), len(self.sizes)), np.int32)
        logp = np.zeros(len(rows), np.float32)
        offset = 0
        for k, size in enumerate(self.sizes):
            if self.continuous[k]:  # tanh(u) is uniform in (-1, 1)
                u = np.arctanh((2.0 * draws[:, k].astype(np.float64) - 1.0) * (1.0 - 1e-7))
                actions[:, k] = u.astype(np.float32).view(np.int32)
                offset += size
                continue
            legal = np.asarray(mask[:, offset : offset + size] != 0)
            count = legal.sum(axis=1)
            nth = np.minimum((draws[:, k] * count).astype(np.int64), np.maximum(count - 1, 0))
            reached = legal.cumsum(axis=1) > nth[:, None]
            actions[:, k] = np.where(count > 0, reached.argmax(axis=1), 0)
            logp -= np.log(np.maximum(count, 1)).astype(np.float32)
            offset += size
        return Decision(actions, logp, np.zeros(len(rows), np.float32), None)

    def value(self, obs: Mapping[str, Array], memory: Array | None, first: Array) -> npt.NDArray[np.float32]:
        """Nothing is known: zeros."""
        return np.zeros(len(first), np.float32)
