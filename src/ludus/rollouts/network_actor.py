"""A policy network as an actor: arrays of a slab in, decisions out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.flow.errors import DIVERGED, NotFinite
from ludus.flow.inputs.finite import all_finite, first_of, not_finite
from ludus.flow.slab import Array
from ludus.policies.accelerator import Executor, executor_of
from ludus.policies.actions.continuous import MixedHeads
from ludus.policies.actions.distribution import Heads, uniforms
from ludus.policies.protocol import Network
from ludus.policies.transfer import downloaded, uploaded
from ludus.rollouts.act_programs import ActPrograms, act_programs
from ludus.rollouts.actor import ActInput, Decision


def check_decision(batch: ActInput, decision: Decision, inputs: Sequence[str], version: int) -> None:
    """Check the outputs of a network whose tensors are ``inputs`` and whose weights are of ``version``.

    Of NaN logits every head takes some choice without a word. Their log-probability and value show it.

    Raises:
        NotFinite: An output is NaN or infinite; the message names the observation that is, if one is.
    """
    if all_finite(decision.log_prob) and all_finite(decision.value):
        return
    for name in inputs:
        if broken := not_finite(f"observation {name}", batch.obs[name]):
            raise NotFinite(broken)
    if batch.memory is not None and (broken := not_finite("memory", batch.memory)):
        raise NotFinite(broken)
    outputs = {"log-probability": decision.log_prob, "value": decision.value}
    name, wrong = next((n, a) for n, a in outputs.items() if not all_finite(a))
    raise NotFinite(
        f"version {version} of the weights gives {name} {first_of(wrong, ~np.isfinite(wrong))} for "
        f"finite observations: the weights have diverged; {DIVERGED}"
    )


class NetworkActor:
    """Draws from a network's distribution, or takes its likeliest choice with ``greedy``.

    Several actors may share one network as long as one thread at a time uses it.
    """

    def __init__(
        self,
        network: Network,
        seed: int,
        version: int = 0,
        greedy: bool = False,
        executor: Executor | None = None,
    ) -> None:
        """Act with ``network``, whose weights are of ``version``; ``greedy``: the likeliest action.

        ``executor``: runs its programs; None: the executor of the network's device.
        """
        self.network, self.seed, self.greedy = network, seed, greedy
        self._executor = executor
        self._version = version
        self._inputs = tuple(t.name for t in network.inputs)

    @property
    def version(self) -> int:
        """Version of the network's weights."""
        return self._version

    @version.setter
    def version(self, version: int) -> None:
        executor_of(self.network.device).wait()  # for the new weights: programs act on a separate stream
        self._version = version

    @property
    def memory_shape(self) -> tuple[int, ...] | None:
        """Shape of a row's memory; None without one."""
        return self.network.memory_shape

    def act(self, batch: ActInput) -> Decision:
        """See :meth:`ludus.rollouts.actor.Actor.act`."""
        return self.decide(batch, self.draws(batch))

    def decide(self, batch: ActInput, draws: npt.NDArray[np.float32] | None) -> Decision:
        """Decide for every row of ``batch`` by ``draws``, of :meth:`draws` of the batches that it joins."""
        programs = self._programs()
        decision = self._act(batch, draws) if programs is None else programs.act(batch, draws)
        check_decision(batch, decision, self._inputs, self._version)
        return decision

    def draws(self, batch: ActInput) -> npt.NDArray[np.float32] | None:
        """Return the uniforms of a batch, None for greedy actions."""
        if self.greedy:
            return None
        return uniforms(self.seed, batch.step, batch.rows, len(self.network.heads.sizes))

    def _programs(self) -> ActPrograms | None:
        executor = self._executor or executor_of(self.network.device)
        return act_programs(self.network, executor) if executor.static else None

    @torch.no_grad()
    def _act(self, batch: ActInput, draws: npt.NDArray[np.float32] | None) -> Decision:
        """Decide operation by operation."""
        out = self.network.step(
            self._tensors(batch.obs), self._optional(batch.memory), self._tensor(batch.is_first)
        )
        drawn = out.distribution.sample(self._tensor(batch.mask), self._optional(draws))
        return Decision(
            drawn.actions.cpu().numpy().astype(np.int32),
            drawn.log_prob.cpu().numpy(),
            out.value.float().cpu().numpy(),
            None if out.memory is None else downloaded(out.memory.float()),
        )

    @torch.no_grad()
    def value(
        self, obs: Mapping[str, Array], memory: Array | None, is_first: Array
    ) -> npt.NDArray[np.float32]:
        """See :meth:`ludus.rollouts.actor.Actor.value`."""
        programs = self._programs()
        if programs is not None:
            return programs.value(obs, memory, is_first)
        out = self.network.step(self._tensors(obs), self._optional(memory), self._tensor(is_first))
        value: npt.NDArray[np.float32] = out.value.float().cpu().numpy()
        return value

    def _tensors(self, obs: Mapping[str, Array]) -> dict[str, Tensor]:
        return {name: self._tensor(obs[name]) for name in self._inputs}

    def _optional(self, array: Array | None) -> Tensor | None:
        return None if array is None else self._tensor(array)

    def _tensor(self, array: Array) -> Tensor:
        return uploaded(array, self.network.device)


class RandomActor:
    """Uniform among the legal choices of each head, and between the bounds of continuous ones."""

    def __init__(self, heads: Heads, seed: int) -> None:
        """Draw among the legal choices of ``heads``."""
        self.heads, self.seed = heads, seed
        self.continuous = (False,) * len(heads.sizes)
        if isinstance(heads, MixedHeads):
            self.continuous = heads.continuous
        self.version = 0
        self.memory_shape: tuple[int, ...] | None = None

    def act(self, batch: ActInput) -> Decision:
        """See :meth:`ludus.rollouts.actor.Actor.act`."""
        sizes = self.heads.sizes
        count_rows = len(batch.rows)
        draws = uniforms(self.seed, batch.step, batch.rows, len(sizes))
        actions = np.zeros((count_rows, len(sizes)), np.int32)
        log_prob = np.zeros(count_rows, np.float32)
        packed, chosen = torch.from_numpy(batch.mask), torch.from_numpy(actions)
        for k in range(len(sizes)):
            if self.continuous[k]:  # tanh(u) is uniform in (-1, 1): the middles of the uniforms' steps
                u = np.arctanh(2.0 * draws[:, k].astype(np.float64) - (1.0 - 2.0**-24))
                actions[:, k] = u.astype(np.float32).view(np.int32)
                continue
            legal = self.heads.legal(packed, k, chosen).numpy()
            count = legal.sum(axis=1)
            nth = np.minimum((draws[:, k] * count).astype(np.int64), np.maximum(count - 1, 0))
            reached = legal.cumsum(axis=1) > nth[:, None]
            actions[:, k] = np.where(count > 0, reached.argmax(axis=1), 0)
            log_prob -= np.log(np.maximum(count, 1)).astype(np.float32)
        return Decision(actions, log_prob, np.zeros(count_rows, np.float32), None)

    def value(
        self, obs: Mapping[str, Array], memory: Array | None, is_first: Array
    ) -> npt.NDArray[np.float32]:
        """Return zeros: random play estimates no value."""
        return np.zeros(len(is_first), np.float32)
