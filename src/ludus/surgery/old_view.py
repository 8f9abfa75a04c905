"""Moments of the new game as the old network observed them, for a comparison on one recording.

Packed rows of a changed game cannot be cut, decoded ones can: columns are taken by their names, and the old
network reads them through a spec of plain float32 tensors, which gives it the same parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec
import torch
from torch import Tensor

from ludus.codecs.forms import decoded
from ludus.codecs.registry import layout_of
from ludus.flow import GameSpec, TensorSpec
from ludus.policies.actions.coordinates import choice_labels, column_labels
from ludus.policies.config import PolicyConfig
from ludus.policies.critic import Others
from ludus.policies.protocol import Observation, inputs_of
from ludus.surgery.labels import renamed
from ludus.surgery.plan import ConversionHints, Side


@dataclass(frozen=True)
class OldView:
    """How the old network sees moments of the new game.

    ``config`` and ``spec`` take the places of the old network's, for a network with its weights.
    """

    config: PolicyConfig
    spec: GameSpec
    new: Side

    def observations(self, obs: Observation) -> dict[str, Tensor]:
        """Return ``float32[..., *shape]`` by name, of packed observations ``[..., *packed]`` of the new game.

        Columns that the new game lacks are 0.
        """
        there = {t.name: t for t in self.new.spec.observation}
        made: dict[str, Tensor] = {}
        lead = self._lead(obs)
        for tensor in self.spec.observation:
            values = torch.zeros((math.prod(lead), *tensor.shape))
            if tensor.name in obs and tensor.name in there:
                _take(tensor, there[tensor.name], obs[tensor.name].flatten(0, len(lead) - 1), values)
            made[tensor.name] = values.reshape(*lead, *tensor.shape)
        return made

    def _lead(self, obs: Observation) -> tuple[int, ...]:
        tensor = next(t for t in self.new.spec.observation if t.name in obs)
        packed = obs[tensor.name]
        return tuple(packed.shape[: packed.dim() - len(tensor.packed_shape)])

    def others(self, others: Others) -> Others:
        """Return the observations of other seats that a centralised critic sees, as the old network's."""
        return Others(self.observations(others.obs), others.place)

    def masks(self, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the old mask ``uint8[N, A]`` of a new one, and the new one without new choices."""
        new = mask.clone()
        parts: list[Tensor] = []
        number = {h.name: k for k, h in enumerate(self.new.spec.heads)}
        offsets = _offsets(self.new.spec)
        for k, head in enumerate(self.new.spec.heads):
            before = next((h for h in self.spec.heads if h.name == head.name), None)
            kept = set(choice_labels(before)) if before is not None else set[str]()
            closed = [i for i, x in enumerate(choice_labels(head)) if x not in kept]
            for at, rows in offsets[k]:
                new[:, at : at + rows * head.size].view(-1, rows, head.size)[..., closed] = 0
        for old in self.spec.heads:
            tables = [(self.spec.heads[d].name, self.spec.heads[d].size) for d in old.depends_on]
            for by, rows in tables or [("", 1)]:
                part = torch.zeros((mask.shape[0], rows, old.size), dtype=mask.dtype)
                if old.name in number:
                    self._fill(part, new, number[old.name], by)
                parts.append(part.flatten(1))
        return torch.cat(parts, dim=1), new

    def _fill(self, part: Tensor, mask: Tensor, k: int, by: str) -> None:
        """Put the legal choices of new head ``k`` into ``part: [N, rows, size]`` of the old one."""
        spec, head = self.new.spec, self.new.spec.heads[k]
        names = [spec.heads[d].name for d in head.depends_on] or [""]
        if by not in names:
            part[...] = 1
            return
        at, rows = _offsets(spec)[k][names.index(by)]
        table = mask[:, at : at + rows * head.size].view(-1, rows, head.size)
        old = {h.name: h for h in self.spec.heads}
        columns = _places(choice_labels(old[head.name]), choice_labels(head))
        lines = [(0, 0)]
        if by:
            lines = _places(
                choice_labels(old[by]), choice_labels(next(h for h in spec.heads if h.name == by))
            )
        for one, two in lines:
            part[:, one, [a for a, _ in columns]] = table[:, two, [b for _, b in columns]]


def old_view(old: Side, new: Side, hints: ConversionHints) -> OldView:
    """Return the view of a network of ``old``, whose plan to ``new`` was made with ``hints``."""
    changed = renamed(old, new.spec, hints.rename)
    plain = [_plain(t) for t in inputs_of(changed.config, changed.spec)]
    return OldView(changed.config, msgspec.structs.replace(changed.spec, observation=tuple(plain)), new)


def _plain(tensor: TensorSpec) -> TensorSpec:
    """Return the tensor as its codec decodes it, with a name for each column."""
    layout = layout_of(tensor)
    return msgspec.structs.replace(
        tensor,
        dtype="f32",
        shape=layout.shape,
        codec="identity",
        scale=1.0,
        labels=column_labels(tensor, layout),
    )


def _take(old: TensorSpec, new: TensorSpec, packed: Tensor, values: Tensor) -> None:
    """Put the columns of ``packed: [N, *packed]`` that both tensors have into ``values: [N, *shape]``."""
    layout = layout_of(new)
    full = decoded(new, layout, packed)
    pairs = _places(old.labels, column_labels(new, layout))
    mine, theirs = [a for a, _ in pairs], [b for _, b in pairs]
    if layout.kind == "rows":
        rows = min(values.shape[1], full.shape[1])
        values[:, :rows, mine] = full[:, :rows, theirs]
    else:
        values[:, mine] = full[:, theirs]


def _places(old: tuple[str, ...], new: tuple[str, ...]) -> list[tuple[int, int]]:
    at = {name: i for i, name in enumerate(new)}
    return [(i, at[name]) for i, name in enumerate(old) if name in at]


def _offsets(spec: GameSpec) -> list[list[tuple[int, int]]]:
    """Return for each head the start and the number of rows of its tables in a mask."""
    made: list[list[tuple[int, int]]] = []
    at = 0
    for head in spec.heads:
        tables = []
        for rows in [spec.heads[d].size for d in head.depends_on] or [1]:
            tables.append((at, rows))
            at += rows * head.size
        made.append(tables)
    return made
