"""The policy network: packed observations in, distributions, value and memory out.

Shapes: ``N`` rows, ``T`` steps, ``B`` rows of a sequence, ``A`` choices of all heads. Observations are
given packed, as they lie in a slab: ``obs[name]: [N, *packed_shape]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ludus.codecs.forms import decoded, entity_rows, is_bytes, sparse_planes
from ludus.codecs.layout import TensorLayout
from ludus.codecs.registry import layout_of
from ludus.flow import GameSpec, HeadSpec, TensorSpec
from ludus.policies.action_distribution import ActionDistribution, Independent
from ludus.policies.autoregressive import AutoregressiveHeads, Pointing
from ludus.policies.config import EncoderConfig, encode_config
from ludus.policies.heads import heads_of
from ludus.policies.memory import Recall, Recurrent
from ludus.policies.normaliser import ObservationNormaliser, ValueNormaliser
from ludus.policies.pointed import Cells, Entities, Pointed, check_pointer
from ludus.policies.protocol import BoardNetwork, Observation, Step, autocast, inputs_of, logits_of
from ludus.policies.torso import Dense, Planes, Residual, Rows, make_planes


class Sequence(NamedTuple):
    """Outputs for ``[T, B]`` time steps. ``value`` is normalised, as the loss expects it."""

    distribution: ActionDistribution  # of T * B time steps; undefined for inactive ones
    value: Tensor  # float32[T, B]
    memory: Tensor | None  # after the last step

    @property
    def logits(self) -> Tensor:
        """``float32[T, B, A]`` of independent heads; ``TypeError`` for others."""
        return logits_of(self.distribution).reshape(*self.value.shape, -1)


class PolicyNetwork(nn.Module):
    """Torsos for planes, entity rows and vectors, joined; optional memory; masked heads and a value.

    Frozen statistics: observation columns of vectors and of value targets (``normaliser.py``).
    ``seed`` fixes the initial weights without touching torch's global generator; with None the caller
    loads them. Raises ``ValueError`` if configuration and spec do not match.
    """

    def __init__(
        self, config: EncoderConfig, spec: GameSpec, seed: int | None = 0, precision: str = "float32"
    ) -> None:
        super().__init__()
        self.config, self.spec = config, spec
        self.precision = precision
        self.heads = heads_of(spec)
        self.inputs = inputs_of(config, spec)
        self.layouts: dict[str, TensorLayout] = {t.name: layout_of(t) for t in self.inputs}
        self.planes = nn.ModuleDict()
        self.rows = nn.ModuleDict()
        vector = 0
        joined = 0
        for tensor in self.inputs:
            layout = self.layouts[tensor.name]
            if layout.kind == "planes":
                channels, height, width = layout.shape
                planes = make_planes(config, (channels, height, width))
                self.planes[tensor.name] = planes
                joined += planes.size
            elif layout.kind == "rows":
                rows = Rows(config, layout.shape[1])
                self.rows[tensor.name] = rows
                joined += rows.size
            else:
                vector += layout.shape[0]
        self.vector_size = vector
        self.normaliser = ObservationNormaliser(vector) if vector and config.normalise_observations else None
        self.recall: Recall | None = None
        if config.memory == "recall":
            if not vector:
                raise ValueError("policy.memory = recall remembers vector inputs; policy.inputs names none")
            self.recall = Recall(vector)
        width = vector * (3 if self.recall is not None else 1)
        self.dense = Dense(config, width, config.dense) if vector else None
        joined += self.dense.size if self.dense is not None else 0
        self.join = Dense(config, joined, config.hidden)
        self.recurrent = (
            Recurrent(config.memory, self.join.size, config.memory_size)
            if config.memory in ("gru", "lstm")
            else None
        )
        features = self.recurrent.size if self.recurrent is not None else self.join.size
        self.policy_head: nn.Linear | AutoregressiveHeads
        pointers = [h for h in spec.heads if h.points_at]
        self.points_at = {h.points_at for h in pointers}
        if self.heads.dependent or pointers:
            sizes = {h.points_at: self._entity_size(h) for h in pointers}
            self.policy_head = AutoregressiveHeads(spec, features, sizes, config.context)
        else:
            self.policy_head = nn.Linear(features, self.heads.choices)
        self.value_head = nn.Linear(features, 1)
        self.values = ValueNormaliser() if config.normalise_values else None
        if seed is not None:
            self._initialise(seed)

    def _entity_size(self, head: HeadSpec) -> int:
        kind = check_pointer(self.spec.name, head, self.layouts).kind
        if kind == "planes":
            planes = self.planes[head.points_at]
            assert isinstance(planes, Planes | Residual)
            return planes.cell_size
        rows = self.rows[head.points_at]
        assert isinstance(rows, Rows)
        return rows.each.size

    def _initialise(self, seed: int) -> None:
        """Orthogonal matrices (Saxe et al. 2014), zero biases; nearly uniform policy at the start."""
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for module in self.modules():
                if isinstance(module, nn.Linear | nn.Conv2d):
                    gain = 2.0**0.5
                    if module is self.policy_head:
                        gain = 0.01
                    elif module is self.value_head or (
                        isinstance(self.recurrent, Recurrent)
                        and (module is self.recurrent.read or module is self.recurrent.recur)
                    ):
                        gain = 1.0
                    nn.init.orthogonal_(module.weight, gain, generator=generator)
                    if module.bias is not None:
                        module.bias.zero_()
            if isinstance(self.policy_head, AutoregressiveHeads):
                self.policy_head.initialise(generator)

    @property
    def device(self) -> torch.device:
        return self.value_head.weight.device

    @property
    def memory_shape(self) -> tuple[int, ...] | None:
        """Shape of one row's memory, or None."""
        memory = self.recurrent or self.recall
        return memory.shape if memory is not None else None

    @property
    def architecture(self) -> str:
        """The configuration as JSON text, as a weights file carries it."""
        return encode_config(self.config)

    @property
    def board(self) -> BoardNetwork | None:
        """None: see :class:`ludus.policies.protocol.Network`."""
        return None

    def initial_memory(self, rows: int) -> Tensor | None:
        """Zeros ``[rows, *memory_shape]``, or None."""
        memory = self.recurrent or self.recall
        return memory.initial(rows, self.device) if memory is not None else None

    def vectors(self, obs: Observation) -> Tensor | None:
        """All vector inputs decoded and joined, before normalisation: ``float32[N, D]``."""
        parts = [
            decoded(t, layout, obs[t.name])
            for t in self.inputs
            if (layout := self.layouts[t.name]).kind == "vector"
        ]
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def recalled(self, obs: Observation, first: Tensor, active: Tensor, memory: Tensor | None) -> Tensor:
        """The state of :class:`Recall` after each time step: ``[T, B, 2, D]``. Takes no gradient."""
        if self.recall is None or memory is None:
            raise ValueError("a policy with memory needs the memory at the start of a sequence")
        steps, rows = first.shape
        with torch.no_grad():
            vector = self.vectors({t.name: obs[t.name].flatten(0, 1) for t in self.inputs})
            assert vector is not None
            return self.recall.sequence(vector.reshape(steps, rows, -1), memory, first.bool(), active)

    def encode(self, obs: Observation, recalled: Tensor | None = None) -> tuple[Tensor, dict[str, Pointed]]:
        """``obs[name]: [N, *packed]`` -> features ``[N, hidden]``, and the entities that heads point at.

        ``recalled: [N, 2, D]`` is the state of :class:`Recall` after these observations.
        """
        parts: list[Tensor] = []
        pointed: dict[str, Pointed] = {}
        for tensor in self.inputs:
            layout = self.layouts[tensor.name]
            if layout.kind == "planes":
                flat, cells = self.encode_planes(tensor, obs[tensor.name])
                parts.append(flat)
                if cells is not None:
                    pointed[tensor.name] = cells
            elif layout.kind == "rows":
                packed = obs[tensor.name]
                owner, slot, some = entity_rows(tensor, packed)
                rows = self.rows[tensor.name]
                assert isinstance(rows, Rows)
                embedded = rows.embed(some)
                parts.append(rows.pool(owner, embedded, packed.shape[0]))
                if tensor.name in self.points_at:
                    pointed[tensor.name] = Entities(owner, slot, embedded, packed.shape[0])
        vector = self.vectors(obs)
        if vector is not None and self.dense is not None:
            if recalled is not None:  # each in the units of the input that it recalls
                vector = torch.cat([vector.unsqueeze(1), recalled], dim=1)
            if self.normaliser is not None:
                vector = self.normaliser(vector)
            parts.append(self.dense(vector.flatten(1)))
        joined: Tensor = self.join(parts[0] if len(parts) == 1 else torch.cat(parts, dim=1))
        return joined, pointed

    def encode_planes(self, tensor: TensorSpec, packed: Tensor) -> tuple[Tensor, Cells | None]:
        """``[N, *packed]`` -> the torso's features ``[N, size]``, and the cells if heads point at them."""
        layout, torso = self.layouts[tensor.name], self.planes[tensor.name]
        assert isinstance(torso, Planes | Residual)
        if tensor.name in self.points_at:
            flat, cells = torso.with_cells(decoded(tensor, layout, packed))
            return flat, Cells(cells)
        planes = sparse_planes(tensor, packed) if self.config.channels and torso.sparse else None
        if planes is None and is_bytes(tensor):
            return torso(self._pictures(tensor, packed), tensor.scale), None
        return torso(decoded(tensor, layout, packed) if planes is None else planes), None

    def _pictures(self, tensor: TensorSpec, packed: Tensor) -> Tensor:
        """Planes of bytes as numbers 0..255, which bfloat16 represents exactly; the torso scales its weights.

        Images are a network's largest input, so each avoided pass over them is measurable.
        """
        dtype = torch.bfloat16 if self.precision == "bfloat16" else torch.float32
        return packed.to(dtype).reshape(packed.shape[0], *self.layouts[tensor.name].shape)

    def _heads(self, features: Tensor, pointed: Mapping[str, Pointed]) -> tuple[ActionDistribution, Tensor]:
        features = features.float()
        value = self.value_head(features).squeeze(-1)
        if isinstance(self.policy_head, AutoregressiveHeads):
            return Pointing(self.policy_head, features, pointed), value
        return Independent(self.heads, self.policy_head(features)), value

    def for_acting(self) -> PolicyNetwork:
        """This network with the weights of its torsos stored in the precision of their use.

        Outputs stay the same, and no decision converts weights. The network cannot be trained afterwards.
        """
        if self.precision == "bfloat16":
            scaled = {
                id(planes.convolutions[0])
                for planes in self.planes.values()
                if isinstance(planes, Planes | Residual) and len(planes.convolutions)
            }
            torsos = (self.planes, self.rows, self.dense, self.join)
            for module in (m for torso in torsos if torso is not None for m in torso.modules()):
                # Weights that are scaled before they are rounded must stay float32.
                if isinstance(module, nn.Linear | nn.Conv2d) and id(module) not in scaled:
                    module.to(torch.bfloat16)
        return self

    def denormalise(self, value: Tensor) -> Tensor:
        """Predictions of the value head -> the game's own units."""
        return self.values.denormalise(value) if self.values is not None else value

    def normalise(self, returns: Tensor) -> Tensor:
        """Returns in the game's own units -> targets of the value head."""
        return self.values.normalise(returns) if self.values is not None else returns

    @torch.no_grad()
    def step(self, obs: Observation, memory: Tensor | None = None, first: Tensor | None = None) -> Step:
        """One decision of ``N`` rows. ``memory[N, ...]`` and ``first: bool[N]`` only with memory."""
        if self.memory_shape is not None and (memory is None or first is None):
            raise ValueError("a policy with memory needs memory and first at every step")
        if self.recall is not None:
            assert memory is not None
            assert first is not None
            vector = self.vectors(obs)
            assert vector is not None
            memory = self.recall.step(vector, memory, first.bool())
        with autocast(self.device, self.precision):
            features, pointed = self.encode(obs, memory if self.recall is not None else None)
        if self.recurrent is not None:
            assert memory is not None
            assert first is not None
            memory = self.recurrent.step(features.float(), memory, first.bool())
            features = self.recurrent.output(memory)
        distribution, value = self._heads(features, pointed)
        return Step(distribution, self.denormalise(value), memory)

    def flat(self, obs: Observation, recalled: Tensor | None = None) -> tuple[ActionDistribution, Tensor]:
        """Action distributions and normalised values ``[N]`` of any time steps, without learned memory.

        ``recalled: [N, 2, D]`` of these time steps (:meth:`recalled`), for policies with ``Recall``.
        """
        with autocast(self.device, self.precision):
            features, pointed = self.encode(obs, recalled)
        return self._heads(features, pointed)

    def sequence(
        self, obs: Observation, memory: Tensor | None, first: Tensor, active: Tensor | None = None
    ) -> Sequence:
        """Runs the network over rows of time steps. Without memory this is one flat batch.

        Args:
            obs: ``obs[name]: [T, B, *packed]``.
            memory: ``[B, ...]`` at the start, or None for a policy without memory.
            first: ``bool[T, B]``, the row's match begins here.
            active: ``bool[T, B]``. Inactive time steps are not encoded and do not change memory; their
                outputs are undefined.
        """
        steps, rows = first.shape
        if active is None:
            active = torch.ones_like(first, dtype=torch.bool)
        flat = {t.name: obs[t.name].flatten(0, 1) for t in self.inputs}
        recalled: Tensor | None = None
        if self.recall is not None:
            each = self.recalled(obs, first, active, memory)
            recalled, memory = each.flatten(0, 1), each[-1]
        if bool(active.all()):
            with autocast(self.device, self.precision):
                features, pointed = self.encode(flat, recalled)
        else:
            index = active.flatten().nonzero().squeeze(1)
            if recalled is not None:
                recalled = recalled.index_select(0, index)
            with autocast(self.device, self.precision):
                some, pointed = self.encode(
                    {name: x.index_select(0, index) for name, x in flat.items()}, recalled
                )
            pointed = {name: part.spread(index, steps * rows) for name, part in pointed.items()}
            features = some.new_zeros((steps * rows, some.shape[1])).index_copy(0, index, some)
        if self.recurrent is not None:
            if memory is None:
                raise ValueError("a policy with memory needs the memory at the start of a sequence")
            outputs, memory = self.recurrent.sequence(
                features.float().reshape(steps, rows, -1), memory, first.bool(), active
            )
            features = outputs.flatten(0, 1)
        distribution, value = self._heads(features, pointed)
        return Sequence(distribution, value.reshape(steps, rows), memory)
