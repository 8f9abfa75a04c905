"""A network's thoughts as programs of an accelerator: one copy up, a graph, one copy down.

A network without memory thinks over many moments at once, padded to a power of two. One with memory thinks
tick by tick, in one program with a row for every seat.

Shapes: ``N`` moments, ``K`` heads, ``S`` seats of the game.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.flow.slab import Array
from ludus.policies.accelerator import Compute, Executor, Program
from ludus.policies.critic import Mates, Others, mates_among, seen_seats
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network
from ludus.policies.replay_support import use_static
from ludus.rollouts.act_programs import padded_rows
from ludus.web.thoughts.mind import Moment
from ludus.web.thoughts.outputs import (
    Answers,
    Given,
    HeadArrays,
    HeadOutput,
    MadeDecisions,
    answers,
    decided,
    joined,
)

_OBS, _OTHERS = "obs.", "others."  # prefixes of the names of observations among inputs


class ThoughtPrograms:
    """Programs of one network, and its memory of each seat."""

    def __init__(self, network: Network, value_weights: Tensor, executor: Executor) -> None:
        """Make programs when they are first needed. The network switches to its static forms."""
        use_static(network)
        self._network, self._value_weights = network, value_weights
        self._executor, self._stream = executor, executor.stream()
        self._made: dict[tuple[str, int], Program] = {}
        self._memory = np.zeros((network.spec.seats, *(network.memory_shape or ())), np.float32)
        self._remembered = np.zeros(network.spec.seats, np.bool_)
        self._mates: Mates | None = None
        if isinstance(network, PolicyNetwork) and network.team_memories:
            among = mates_among(network.config, network.spec, range(network.spec.seats))
            self._mates = Mates(torch.tensor(among, device=network.device))

    def forget(self) -> None:
        """Start another match with an empty memory."""
        self._memory[:] = 0.0
        self._remembered[:] = False

    def at_once(self, moments: Sequence[Moment], made: MadeDecisions) -> Answers:
        """Answer moments by a network without memory."""
        arrays = self._arrays(moments, made, np.arange(len(moments)), len(moments))
        network = self._network
        if isinstance(network, PolicyNetwork) and network.centralised:
            arrays |= self._others(network, moments)
        rows = len(moments)
        out = self._run("at once", padded_rows(rows), arrays, self._at_once, rows)
        return self._read(out, np.arange(rows))

    def remembering(self, moments: Sequence[Moment], made: MadeDecisions, *, keep: bool) -> Answers:
        """Answer moments by rising tick, run through the memory, which keeps them if ``keep``."""
        parts: list[Answers] = []
        for _, group in groupby(range(len(moments)), lambda row: moments[row].tick):
            rows = list(group)
            decisions = MadeDecisions(made.action[rows], made.made[rows])
            parts.append(self._together([moments[row] for row in rows], decisions, keep))
        heads = [
            HeadArrays(*(np.concatenate(arrays) for arrays in zip(*each, strict=True)))
            for each in zip(*(part[0] for part in parts), strict=True)
        ]
        return heads, np.concatenate([part[1] for part in parts])

    def _together(self, moments: Sequence[Moment], made: MadeDecisions, keep: bool) -> Answers:
        """Answer moments of one tick, each of another seat."""
        seats = np.array([moment.seat for moment in moments])
        count = len(self._memory)
        arrays = self._arrays(moments, made, seats, count)
        arrays["active"] = np.zeros(count, np.uint8)
        arrays["active"][seats] = 1
        arrays["first"] = arrays["active"] * ~self._remembered
        arrays["memory"] = self._memory
        out = self._run("remembering", count, arrays, self._remembering)
        if keep:
            self._memory[seats] = out["memory"][seats]
            self._remembered[seats] = True
        return self._read(out, seats)

    def _arrays(
        self, moments: Sequence[Moment], made: MadeDecisions, at: npt.NDArray[np.int64], count: int
    ) -> dict[str, Array]:
        """Return inputs of ``count`` rows with the moments ``at`` some of them."""

        def placed(some: Array) -> Array:
            every: Array = np.zeros((count, *some.shape[1:]), some.dtype)
            every[at] = some
            return every

        obs = {t.name: np.stack([m.obs[t.name] for m in moments]) for t in self._network.inputs}
        arrays = {_OBS + name: placed(array) for name, array in obs.items()}
        arrays["mask"] = placed(np.stack([m.mask for m in moments]))
        return arrays | {"action": placed(made.action), "made": placed(made.made)}

    def _others(self, network: PolicyNetwork, moments: Sequence[Moment]) -> dict[str, Array]:
        """Return the observations that a centralised critic sees besides its seat; absent ones are zeros."""
        assert network.critic is not None
        shape = (len(moments), network.critic.seats)
        present: Array = np.zeros(shape, np.uint8)
        obs: dict[str, Array] = {
            t.name: np.zeros((*shape, *t.packed_shape), t.packed_dtype) for t in network.inputs
        }
        for row, moment in enumerate(moments):
            for k, seat in enumerate(seen_seats(network.config, network.spec, moment.seat)):
                if moment.others is not None and seat in moment.others:
                    present[row, k] = 1
                    for name, array in obs.items():
                        array[row, k] = moment.others[seat][name]
        return {"present": present} | {_OTHERS + name: array for name, array in obs.items()}

    def _run(
        self, kind: str, size: int, arrays: Mapping[str, Array], compute: Compute, rows: int | None = None
    ) -> dict[str, Array]:
        program = self._made.get((kind, size))
        if program is None:
            examples = {name: np.zeros((size, *a.shape[1:]), a.dtype) for name, a in arrays.items()}
            program = self._executor.program(compute, examples, self._stream)
            self._made[kind, size] = program
        return program(arrays, rows)

    def _read(self, out: Mapping[str, Array], rows: npt.NDArray[np.int64]) -> Answers:
        """Return copies of some rows of a program's outputs."""
        count = len(self._network.spec.heads)
        heads = [
            HeadArrays(np.asarray(out[f"weights.{k}"][rows], np.float32), out[f"legal.{k}"][rows] != 0)
            for k in range(count)
        ]
        return heads, np.asarray(out["value"][rows], np.float32)

    # ---- functions of the programs -------------------------------------------------------------------

    @torch.no_grad()
    def _at_once(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        network, others = self._network, None
        if "present" in inputs:
            present = inputs["present"].flatten() != 0
            obs = {t.name: inputs[_OTHERS + t.name].flatten(0, 1) for t in network.inputs}
            others = Others(obs, torch.arange(len(present), device=present.device), present)
        distribution, value = decided(network, self._value_weights, self._observed(inputs), others)
        return _named(*answers(distribution, value, _given(inputs)))

    @torch.no_grad()
    def _remembering(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        network = self._network
        assert isinstance(network, PolicyNetwork)
        obs = {name: tensor.unsqueeze(0) for name, tensor in self._observed(inputs).items()}
        first, active = (inputs[name].unsqueeze(0) != 0 for name in ("first", "active"))
        out = network.sequence(obs, inputs["memory"], first, active, self._mates)
        assert out.memory is not None
        value = joined(network, self._value_weights, out.value.flatten(0, 1))
        made = _named(*answers(out.distribution, value, _given(inputs)))
        return made | {"memory": out.memory.float()}

    def _observed(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {t.name: inputs[_OBS + t.name] for t in self._network.inputs}


def _given(inputs: Mapping[str, Tensor]) -> Given:
    return Given(inputs["mask"], inputs["action"], inputs["made"])


def _named(heads: Sequence[HeadOutput], value: Tensor) -> dict[str, Tensor]:
    made = {"value": value}
    for k, head in enumerate(heads):
        made |= {f"weights.{k}": head.weights, f"legal.{k}": head.legal}
    return made
