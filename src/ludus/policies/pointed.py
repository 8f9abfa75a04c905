"""What heads point at: the entity rows or the cells of a batch of moments.

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
    """The projection of entities that queries are multiplied by."""

    def of_entities(self, features: Tensor, owner: Tensor) -> Tensor:
        """Keys ``[n, C]`` of ``features: float32[n, E]``; ``owner: int64[n]``: whose sample each is."""
        ...

    def of_queries(self, query: Tensor) -> Tensor:
        """``float32[N, C]`` -> ``[N, E]``: what the raw features of cells are multiplied by."""
        ...


class Pointed(ABC):
    """A pointer's logit is ``query . (key @ entity)``; what a choice tells is a projection of its entity."""

    @abstractmethod
    def select(self, index: Tensor) -> Pointed:
        """Of the samples ``index: int64[M]``, rising."""

    @abstractmethod
    def spread(self, index: Tensor, samples: int) -> Pointed:
        """These samples are ``index: int64[N]``, rising, among ``samples``; the others have nothing."""

    @abstractmethod
    def scores(self, query: Tensor, key: Key, head: HeadSpec) -> Tensor:
        """``float32[N, head.rows]`` of ``query: float32[N, C]``; 0 where none is."""

    @abstractmethod
    def chosen(self, choice: Tensor, head: HeadSpec) -> Tensor:
        """Features ``float32[N, E]`` of ``choice: int64[N]``; zeros where it is ``head.rows`` or above."""


@dataclass(frozen=True, slots=True)
class Entities(Pointed):
    """The entity rows of ``samples`` moments, absent ones left out."""

    owner: Tensor  # int64[n], rising: whose
    slot: Tensor  # int64[n], rising within an owner: which row of the observation tensor
    features: Tensor  # float32[n, E]
    samples: int

    def select(self, index: Tensor) -> Entities:
        place = index.new_full((self.samples,), -1)
        place[index] = torch.arange(index.numel(), device=index.device)
        owner = place.index_select(0, self.owner)
        kept = (owner >= 0).nonzero().squeeze(1)
        return Entities(
            owner.index_select(0, kept),
            self.slot.index_select(0, kept),
            self.features.index_select(0, kept),
            index.numel(),
        )

    def spread(self, index: Tensor, samples: int) -> Entities:
        return Entities(index.index_select(0, self.owner), self.slot, self.features, samples)

    def scores(self, query: Tensor, key: Key, head: HeadSpec) -> Tensor:
        rows, owner, slot, features = head.rows, self.owner, self.slot, self.features
        if bool((slot >= rows).any()):
            inside = (slot < rows).nonzero().squeeze(1)
            owner, slot = owner.index_select(0, inside), slot.index_select(0, inside)
            features = features.index_select(0, inside)
        scores = (query.index_select(0, owner) * key.of_entities(features, owner)).sum(dim=1)
        flat = scores.new_zeros(query.shape[0] * rows)
        return flat.index_copy(0, owner * rows + slot, scores).view(-1, rows)

    def chosen(self, choice: Tensor, head: HeadSpec) -> Tensor:
        rows, count = head.rows, self.features.shape[0]
        # Where each row of each sample stands among the entities; absent ones are the zeros at the end.
        where = choice.new_full((choice.numel() * rows,), count)
        inside = (self.slot < rows).nonzero().squeeze(1)
        where[(self.owner * rows + self.slot).index_select(0, inside)] = inside
        at = where.view(-1, rows).gather(1, choice.clamp(max=rows - 1).unsqueeze(1)).squeeze(1)
        at = torch.where(choice < rows, at, torch.full_like(at, count))
        padded = torch.cat([self.features, self.features.new_zeros((1, self.features.shape[1]))])
        return padded.index_select(0, at)


@dataclass(frozen=True, slots=True)
class Cells(Pointed):
    """The cells of planes, as they come out of a torso."""

    planes: Tensor  # float32[N, E, H, W]

    def select(self, index: Tensor) -> Cells:
        return Cells(self.planes.index_select(0, index))

    def spread(self, index: Tensor, samples: int) -> Cells:
        planes = self.planes.new_zeros((samples, *self.planes.shape[1:]))
        return Cells(planes.index_copy(0, index, self.planes))

    def scores(self, query: Tensor, key: Key, head: HeadSpec) -> Tensor:
        # A 1x1 convolution to one plane, whose kernel each sample makes for itself. The product with the
        # key comes first: cells are many.
        kernel = key.of_queries(query).unsqueeze(1)
        scores = torch.bmm(kernel, self.planes.flatten(2)).view(-1, *self.planes.shape[2:])
        return (scores.transpose(1, 2) if head.by_columns else scores).flatten(1)

    def chosen(self, choice: Tensor, head: HeadSpec) -> Tensor:
        features, height, width = self.planes.shape[1:]
        at = choice.clamp(max=head.rows - 1)
        if head.by_columns:
            at = at % height * width + torch.div(at, height, rounding_mode="floor")
        some = self.planes.flatten(2).gather(2, at.view(-1, 1, 1).expand(-1, features, 1)).squeeze(2)
        return some * (choice < head.rows).unsqueeze(1)


def check_pointer(game: str, head: HeadSpec, layouts: Mapping[str, TensorLayout]) -> TensorLayout:
    """What the tensor that ``head`` points at decodes to. ``ValueError`` where they do not fit."""
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
