"""Encoder: packed observations to one feature vector for each row.

A policy network is one (with separate torsos); a separate critic has another.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ludus.codecs.forms import decoded, entity_rows, every_row, is_bytes, sparse_planes
from ludus.codecs.layout import TensorLayout
from ludus.codecs.registry import layout_of
from ludus.flow import GameSpec, TensorSpec
from ludus.policies.accelerator import uses_bfloat16
from ludus.policies.actions.pointed import Cells, Entities, EntityTable, PointerTargets
from ludus.policies.config import EncoderConfig
from ludus.policies.encoders import make_encoder
from ludus.policies.layers.torso import Dense, Planes, Residual, Rows, make_planes
from ludus.policies.protocol import Observation, inputs_of


class Passthrough(nn.Module):
    """Module that returns its input, features of the width ``size``."""

    def __init__(self, size: int) -> None:
        """Pass features of the width ``size``."""
        super().__init__()
        self.size = size

    def forward(self, x: Tensor) -> Tensor:
        """Return ``x``."""
        return x


class Encoder(nn.Module):
    """Torsos for planes, entity rows and vectors, joined: ``obs[name]: [N, *packed]`` -> ``[N, size]``."""

    def __init__(
        self, config: EncoderConfig, spec: GameSpec, *, points: bool = True, seed: int | None = None
    ) -> None:
        """Make the torsos.

        Args:
            config: Shapes of the torsos, and the tensors that they read.
            spec: Spec of the game.
            points: Whether heads point at entities and cells of the inputs, whose features are kept then.
            seed: Seed of the initial weights of the user's encoder; None if they are loaded.

        Raises:
            ValueError: Configuration and spec do not match.
        """
        super().__init__()
        self.config = config
        self.inputs = inputs_of(config, spec)
        self.layouts: dict[str, TensorLayout] = {t.name: layout_of(t) for t in self.inputs}
        #: names of the tensors that heads point at
        self.points_at = {h.points_at for h in spec.heads if h.points_at} if points else set[str]()
        self.planes = nn.ModuleDict()
        self.rows = nn.ModuleDict()
        joined = 0
        #: of the user's; then only tensors that heads point at have torsos
        self.own = make_encoder(config.encoder, self.layouts, seed) if config.encoder else None
        for tensor in self.inputs:
            if self.own is not None and tensor.name not in self.points_at:
                continue
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
        #: numbers of all vector inputs together
        self.vector_size = sum(x.shape[0] for x in self.layouts.values() if x.kind == "vector")
        width = self.vector_size * (3 if config.memory == "recall" else 1)
        self.dense = Dense(config, width, config.dense) if width and self.own is None else None
        joined += self.dense.size if self.dense is not None else 0
        self.join: Dense | Passthrough
        if self.own is not None:
            self.join = Passthrough(self.own_size + joined)
        else:
            self.join = Dense(config, joined, config.hidden)

    @property
    def own_size(self) -> int:
        """Width of the features of the user's encoder; 0 without one."""
        size = getattr(self.own, "size", 0)
        assert isinstance(size, int)
        return size

    def vectors(self, obs: Observation, static: bool = False) -> Tensor | None:
        """Return all vector inputs decoded and joined, before normalisation: ``float32[N, D]``."""
        parts = [
            decoded(t, layout, obs[t.name], static)
            for t in self.inputs
            if (layout := self.layouts[t.name]).kind == "vector"
        ]
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def features(
        self, obs: Observation, vector: Tensor | None, static: bool = False
    ) -> tuple[Tensor, dict[str, PointerTargets]]:
        """Return features ``[N, size]``, and the entities that heads point at.

        Args:
            obs: Packed observations.
            vector: Input of the dense torso, ``[N, D]`` or ``[N, 3 D]`` with recalled inputs, normalised.
            static: Whether no shape may depend on data.
        """
        parts: list[Tensor] = []
        pointed: dict[str, PointerTargets] = {}
        if self.own is not None:
            parts.append(self._own_features(self.own, obs, vector, static))
        for tensor in self.inputs:
            if self.own is not None and tensor.name not in self.points_at:
                continue
            layout = self.layouts[tensor.name]
            if layout.kind == "planes":
                flat, cells = self.encode_planes(tensor, obs[tensor.name], static)
                parts.append(flat)
                if cells is not None:
                    pointed[tensor.name] = cells
            elif layout.kind == "rows":
                flat, entities = self._encode_rows(tensor, obs[tensor.name], static)
                parts.append(flat)
                if tensor.name in self.points_at:
                    pointed[tensor.name] = entities
        if vector is not None and self.dense is not None:
            parts.append(self.dense(vector))
        joined: Tensor = self.join(parts[0] if len(parts) == 1 else torch.cat(parts, dim=1))
        return joined, pointed

    def _encode_rows(self, tensor: TensorSpec, packed: Tensor, static: bool) -> tuple[Tensor, PointerTargets]:
        """Return the features ``[N, size]`` of entity rows, and the rows as targets of pointers."""
        torso, samples = self.rows[tensor.name], packed.shape[0]
        assert isinstance(torso, Rows)
        if static:
            present, every = every_row(tensor, packed)
            embedded = torso.embed_every(present, every)
            return torso.pool_every(present, embedded), EntityTable(embedded)
        owner, slot, some = entity_rows(tensor, packed)
        embedded = torso.embed(some)
        places = self.layouts[tensor.name].shape[0]
        return torso.pool(owner, embedded, samples), Entities(owner, slot, embedded, samples, places)

    def _own_features(self, own: nn.Module, obs: Observation, vector: Tensor | None, static: bool) -> Tensor:
        """Return features of the user's encoder, which receives vectors one by one, normalised."""
        seen: dict[str, Tensor] = {}
        at = 0
        for tensor in self.inputs:
            layout = self.layouts[tensor.name]
            if layout.kind == "vector" and vector is not None:
                seen[tensor.name] = vector[:, at : at + layout.shape[0]]
                at += layout.shape[0]
            else:
                seen[tensor.name] = decoded(tensor, layout, obs[tensor.name], static)
        features: object = own(seen)
        count = next(iter(obs.values())).shape[0]
        if not isinstance(features, Tensor) or tuple(features.shape) != (count, self.own_size):
            found = list(features.shape) if isinstance(features, Tensor) else type(features).__name__
            raise ValueError(
                f"policy.encoder = {self.config.encoder!r}: forward() gives {found}, expected "
                f"{[count, self.own_size]}: [N, size]"
            )
        return features

    def encode_planes(
        self, tensor: TensorSpec, packed: Tensor, static: bool = False
    ) -> tuple[Tensor, Cells | None]:
        """Return the torso's features ``[N, size]``, and the cells if heads point at them."""
        layout, torso = self.layouts[tensor.name], self.planes[tensor.name]
        assert isinstance(torso, Planes | Residual)
        if tensor.name in self.points_at:
            flat, cells = torso.with_cells(decoded(tensor, layout, packed, static))
            return flat, Cells(cells)
        compact = self.config.channels and torso.sparse and not static
        planes = sparse_planes(tensor, packed) if compact else None
        if planes is None and is_bytes(tensor):
            return torso(self._pictures(tensor, packed), tensor.scale), None
        return torso(decoded(tensor, layout, packed, static) if planes is None else planes), None

    def _pictures(self, tensor: TensorSpec, packed: Tensor) -> Tensor:
        """Return planes of bytes as numbers 0..255, which bfloat16 represents exactly.

        The torso scales its weights instead. Images are a network's largest input, so each avoided pass over
        them is measurable.
        """
        dtype = torch.bfloat16 if uses_bfloat16(packed.device) else torch.float32
        return packed.to(dtype).reshape(packed.shape[0], *self.layouts[tensor.name].shape)

    def store_as_used(self, dtype: torch.dtype) -> None:
        """Store weights in ``dtype``, in which they are used. The encoder cannot be trained afterwards."""
        scaled = {
            id(convolution)
            for planes in self.planes.values()
            if isinstance(planes, Planes | Residual)
            for convolution in planes.scaled_convolutions()
        }
        torsos = (self.planes, self.rows, self.dense, self.join)
        for module in (m for torso in torsos if torso is not None for m in torso.modules()):
            # Weights scaled before they are rounded must stay float32.
            if isinstance(module, nn.Linear | nn.Conv2d) and id(module) not in scaled:
                module.to(dtype)
