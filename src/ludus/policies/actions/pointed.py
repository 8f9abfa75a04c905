"""Targets of pointer heads: the entity rows or the cells of a batch of time steps.

Shapes: ``N`` samples, ``n`` entities of all samples, ``R`` rows (choices that point), ``E`` features of an
entity or cell, ``C`` context width.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ludus.codecs.layout import TensorLayout
from ludus.flow import HeadSpec


class Key(Protocol):
    """Projection of entities that queries are multiplied by."""

    def of_entities(self, features: Tensor, owner: Tensor) -> Tensor:
        """Return keys ``[n, C]`` of ``features: float32[n, E]``; ``owner: int64[n]``: the sample of each."""
        ...

    def of_queries(self, query: Tensor) -> Tensor:
        """Return the factors ``[N, E]`` for the raw features of cells, of queries ``float32[N, C]``."""
        ...


class PointerTargets(ABC):
    """Targets of a pointer: entities or cells.

    A pointer's logit is ``query . (key @ entity)``; a choice's embedding is a projection of its entity.
    """

    @abstractmethod
    def select(self, index: Tensor) -> PointerTargets:
        """Return the targets of the samples ``index: int64[M]``, ascending."""

    @abstractmethod
    def spread(self, index: Tensor, samples: int) -> PointerTargets:
        """Place these samples at ``index: int64[N]``, ascending, among ``samples``; the rest is empty."""

    @abstractmethod
    def scores(self, query: Tensor, key: Key, head: HeadSpec) -> Tensor:
        """Return ``float32[N, head.rows]`` of ``query: float32[N, C]``; 0 for absent targets."""

    @abstractmethod
    def chosen(self, choice: Tensor, head: HeadSpec) -> Tensor:
        """Return features ``float32[N, E]`` of ``choice: int64[N]``; zeros for ``head.rows`` and above."""


@dataclass(frozen=True, slots=True)
class Entities(PointerTargets):
    """Entity rows of ``samples`` time steps, absent ones left out."""

    owner: Tensor  # int64[n], ascending: the sample of each entity
    slot: Tensor  # int64[n], ascending within an owner: row of the observation tensor
    features: Tensor  # float32[n, E]
    samples: int
    places: int  # rows of the observation tensor, absent ones included

    def select(self, index: Tensor) -> Entities:
        """Return the entities of some samples, as :class:`PointerTargets`."""
        place = index.new_full((self.samples,), -1)
        place[index] = torch.arange(index.numel(), device=index.device)
        owner = place.index_select(0, self.owner)
        kept = (owner >= 0).nonzero().squeeze(1)
        return Entities(
            owner.index_select(0, kept),
            self.slot.index_select(0, kept),
            self.features.index_select(0, kept),
            index.numel(),
            self.places,
        )

    def spread(self, index: Tensor, samples: int) -> Entities:
        """Place the samples among ``samples``, as :class:`PointerTargets`."""
        return Entities(index.index_select(0, self.owner), self.slot, self.features, samples, self.places)

    def scores(self, query: Tensor, key: Key, head: HeadSpec) -> Tensor:
        """Return the score of each row, as :class:`PointerTargets`."""
        rows, owner, slot, features = head.rows, self.owner, self.slot, self.features
        if self.places > rows and bool((slot >= rows).any()):
            inside = (slot < rows).nonzero().squeeze(1)
            owner, slot = owner.index_select(0, inside), slot.index_select(0, inside)
            features = features.index_select(0, inside)
        scores = (query.index_select(0, owner) * key.of_entities(features, owner)).sum(dim=1)
        flat = scores.new_zeros(query.shape[0] * rows)
        return flat.index_copy(0, owner * rows + slot, scores).view(-1, rows)

    def chosen(self, choice: Tensor, head: HeadSpec) -> Tensor:
        """Return the features of chosen rows, as :class:`PointerTargets`."""
        rows, count = head.rows, self.features.shape[0]
        # Index of each row of each sample among the entities; absent rows point at the zeros at the end.
        where = choice.new_full((choice.numel() * rows,), count)
        place, inside = self.owner * rows + self.slot, torch.arange(count, device=choice.device)
        if self.places > rows:
            inside = (self.slot < rows).nonzero().squeeze(1)
            place = place.index_select(0, inside)
        where[place] = inside
        at = where.view(-1, rows).gather(1, choice.clamp(max=rows - 1).unsqueeze(1)).squeeze(1)
        at = torch.where(choice < rows, at, torch.full_like(at, count))
        padded = torch.cat([self.features, self.features.new_zeros((1, self.features.shape[1]))])
        return padded.index_select(0, at)


@dataclass(frozen=True, slots=True)
class EntityTable(PointerTargets):
    """All entity rows of a batch, absent ones too: the static form of :class:`Entities`."""

    features: Tensor  # float32[N, U, E]; zeros for absent rows

    def select(self, index: Tensor) -> EntityTable:
        """Return the entities of some samples, as :class:`PointerTargets`."""
        return EntityTable(self.features.index_select(0, index))

    def spread(self, index: Tensor, samples: int) -> EntityTable:
        """Place the samples among ``samples``, as :class:`PointerTargets`."""
        features = self.features.new_zeros((samples, *self.features.shape[1:]))
        return EntityTable(features.index_copy(0, index, self.features))

    def scores(self, query: Tensor, key: Key, head: HeadSpec) -> Tensor:
        """Return the score of each row, as :class:`PointerTargets`."""
        factor = key.of_queries(query).unsqueeze(2)
        scores = torch.bmm(self.features[:, : head.rows], factor).squeeze(2)
        beyond = head.rows - scores.shape[1]  # choices of rows that the tensor does not have
        return torch.cat([scores, scores.new_zeros((len(scores), beyond))], dim=1) if beyond else scores

    def chosen(self, choice: Tensor, head: HeadSpec) -> Tensor:
        """Return the features of chosen rows, as :class:`PointerTargets`."""
        _, units, width = self.features.shape
        rows = min(head.rows, units)
        at = choice.clamp(max=rows - 1).view(-1, 1, 1).expand(-1, 1, width)
        return self.features.gather(1, at).squeeze(1) * (choice < rows).unsqueeze(1)


@dataclass(frozen=True, slots=True)
class Cells(PointerTargets):
    """Cells of planes, as a torso outputs them."""

    planes: Tensor  # float32[N, E, H, W]

    def select(self, index: Tensor) -> Cells:
        """Return the cells of some samples, as :class:`PointerTargets`."""
        return Cells(self.planes.index_select(0, index))

    def spread(self, index: Tensor, samples: int) -> Cells:
        """Place the samples among ``samples``, as :class:`PointerTargets`."""
        planes = self.planes.new_zeros((samples, *self.planes.shape[1:]))
        return Cells(planes.index_copy(0, index, self.planes))

    def scores(self, query: Tensor, key: Key, head: HeadSpec) -> Tensor:
        """Return the score of each cell, as :class:`PointerTargets`."""
        # A 1x1 convolution to one plane with a kernel per sample. The product with the key comes first,
        # because there are many cells.
        kernel = key.of_queries(query).unsqueeze(1)
        scores = torch.bmm(kernel, self.planes.flatten(2)).view(-1, *self.planes.shape[2:])
        return (scores.transpose(1, 2) if head.by_columns else scores).flatten(1)

    def chosen(self, choice: Tensor, head: HeadSpec) -> Tensor:
        """Return the features of chosen cells, as :class:`PointerTargets`."""
        features, height, width = self.planes.shape[1:]
        at = choice.clamp(max=head.rows - 1)
        if head.by_columns:
            at = at % height * width + torch.div(at, height, rounding_mode="floor")
        some = self.planes.flatten(2).gather(2, at.view(-1, 1, 1).expand(-1, features, 1)).squeeze(2)
        return some * (choice < head.rows).unsqueeze(1)


def check_pointer(game: str, head: HeadSpec, layouts: Mapping[str, TensorLayout]) -> TensorLayout:
    """Return the layout of the tensor that ``head`` points at. Raise ``ValueError`` if they do not match."""
    layout = layouts.get(head.points_at)
    if layout is None or layout.kind == "vector":
        raise ValueError(f"the heads of {game} point at {head.points_at!r}; policy.inputs must name it")
    if layout.kind == "planes" and head.rows != layout.shape[1] * layout.shape[2]:
        height, width = layout.shape[1:]
        raise ValueError(
            f"{game}: head {head.name!r} points at {head.rows} cells of {head.points_at!r}, which is "
            f"{height}x{width}"
        )
    return layout
