"""Decisions and values of a network as programs of an accelerator: one copy up, a graph, one copy down.

A program has a fixed number of rows, and a rollout decides for as many as must act. Rows are padded to a
power of two: any number of them needs a program of few, none is ever made again, and at these sizes a call
takes about as long for twice the rows. Padding is never read: a row's outputs depend on no other row.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.flow.slab import Array
from ludus.policies.accelerator import Compute, Executor, Program
from ludus.policies.protocol import Network, Step
from ludus.policies.replay_support import use_static, why_acting_is_eager
from ludus.rollouts.actor import ActInput, Decision

SMALLEST = 16  # rows of the smallest program
_OBS = "obs."  # prefix of the names of observations among inputs
Draws = npt.NDArray[np.float32]


def padded_rows(rows: int) -> int:
    """Return the rows of the program for ``rows`` of them: a power of two."""
    return max(SMALLEST, 1 << max(rows - 1, 0).bit_length())


class ActPrograms:
    """Programs of one network on one executor. One thread at a time uses them."""

    def __init__(self, network: Network, executor: Executor) -> None:
        """Make programs when they are first needed. Switches the network to its static forms."""
        use_static(network)
        self._network = weakref.ref(network)  # programs are kept for as long as their network is
        self._executor, self._stream = executor, executor.stream()
        self._inputs = tuple(tensor.name for tensor in network.inputs)
        self._remembers = network.memory_shape is not None
        self._made: dict[tuple[str, int], Program] = {}

    def act(self, batch: ActInput, draws: Draws | None) -> Decision:
        """Decide for every row; ``draws: float32[N, K]``, None for the likeliest actions."""
        arrays = self._observed(batch.obs, batch.memory, batch.is_first) | {"mask": batch.mask}
        if draws is not None:
            arrays["draws"] = draws
        out = self._run("greedy" if draws is None else "draw", arrays, self._decide)
        memory = out.get("memory")
        return Decision(
            np.asarray(out["actions"], np.int32),
            np.asarray(out["log_prob"], np.float32),
            np.asarray(out["value"], np.float32),
            memory,
        )

    def value(self, obs: Mapping[str, Array], memory: Array | None, is_first: Array) -> Draws:
        """Return values ``float32[N]``."""
        out = self._run("value", self._observed(obs, memory, is_first), self._value)
        return np.asarray(out["value"], np.float32)

    def _observed(self, obs: Mapping[str, Array], memory: Array | None, is_first: Array) -> dict[str, Array]:
        arrays = {_OBS + name: obs[name] for name in self._inputs}
        if self._remembers:
            if memory is None:
                raise ValueError("a policy with memory needs memory and first at every step")
            arrays |= {"memory": memory, "first": is_first}
        return arrays

    def _run(self, kind: str, arrays: Mapping[str, Array], compute: Compute) -> dict[str, Array]:
        """Run the program of a kind for as many rows as ``arrays`` have; return copies of its outputs."""
        rows = len(next(iter(arrays.values())))
        size = padded_rows(rows)
        program = self._made.get((kind, size))
        if program is None:
            examples = {name: np.zeros((size, *a.shape[1:]), a.dtype) for name, a in arrays.items()}
            program = self._executor.program(compute, examples, self._stream)
            self._made[kind, size] = program
        out = program(arrays, rows)
        return {name: array[:rows].copy() for name, array in out.items()}

    @torch.no_grad()
    def _decide(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        out = self._step(inputs)
        drawn = out.distribution.sample(inputs["mask"], inputs.get("draws"))
        made = {"actions": drawn.actions.int(), "log_prob": drawn.log_prob, "value": out.value.float()}
        return made if out.memory is None else made | {"memory": out.memory.float()}

    @torch.no_grad()
    def _value(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {"value": self._step(inputs).value.float()}

    def _step(self, inputs: Mapping[str, Tensor]) -> Step:
        network = self._network()
        assert network is not None
        obs = {name: inputs[_OBS + name] for name in self._inputs}
        return network.step(obs, inputs.get("memory"), inputs.get("first"))


_kept: weakref.WeakKeyDictionary[Network, dict[Executor, ActPrograms]] = weakref.WeakKeyDictionary()


def act_programs(network: Network, executor: Executor) -> ActPrograms | None:
    """Return the programs of a network, which all of its actors share; None if it decides without them."""
    if not executor.static or why_acting_is_eager(network):
        return None
    programs = _kept.setdefault(network, {})
    if executor not in programs:
        programs[executor] = ActPrograms(network, executor)
    return programs[executor]
