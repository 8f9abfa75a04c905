"""The codec of the RTS games' ``cells``: visible units in, the planes of the ELF paper out.

Packed, a row is ``uint16[U + 1, 5]``: U unit rows ``[cell + 1, type + E if enemy, hp, maximal hp,
age in ticks]`` (an empty row starts with 0) and one row about the seat ``[money, base hp, base maximal
hp, side, 0]``. The spec's ``scale`` is the side S of the square map, its labels name the planes: T unit
types and 16 more (no labels: the 6 types of MiniRTS). E is 8, or 16 where T is above 8. PlaneIndex,
``float32[T + 16, S, S]`` by ``[plane, y, x]``, with the numbers of MiniRTS's 22:

    0..5 unit types    6 affiliation (1 own, 2 enemy)    7 hp ratio    8 own base's hp ratio, everywhere
    9 decay 50 / (age + 1)    10..16 age bins    17..21 money bins, everywhere

Where units share a cell, a plane holds the mean of their values.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch import Tensor

from ludus.codecs.constants import constant
from ludus.codecs.layout import TensorLayout
from ludus.codecs.sparse import SparsePlanes
from ludus.flow import TensorSpec

_AGE_BINS = (200, 500, 1000, 2000, 5000, 10000)
_MONEY_BINS, _MONEY_BIN = 5, 50
_BESIDE_TYPES = 16
_MINIRTS_TYPES = 6


@dataclass(frozen=True, slots=True)
class PlaneIndex:
    """Numbers of the planes, for a number of unit types."""

    types: int

    @property
    def enemy(self) -> int:
        """Number that the packed rows add to an enemy's type."""
        return 8 if self.types <= 8 else 16

    @property
    def count(self) -> int:
        """Number of planes."""
        return self.types + _BESIDE_TYPES

    @property
    def affiliation(self) -> int:
        """Plane with 1 for own units and 2 for enemies."""
        return self.types

    @property
    def hp(self) -> int:
        """Plane with each unit's hp ratio."""
        return self.types + 1

    @property
    def base_hp(self) -> int:
        """Plane with the hp ratio of the seat's base in all cells."""
        return self.types + 2

    @property
    def decay(self) -> int:
        """Plane with ``50 / (age + 1)``."""
        return self.types + 3

    @property
    def age(self) -> int:
        """First of the planes of age bins."""
        return self.types + 4

    @property
    def money(self) -> int:
        """First of the planes of money bins."""
        return self.types + 11

    @property
    def everywhere(self) -> tuple[int, ...]:
        """PlaneIndex with one value in all cells."""
        return (self.base_hp, *range(self.money, self.count))

    @property
    def local(self) -> tuple[int, ...]:
        """PlaneIndex whose values differ by cell."""
        return tuple(p for p in range(self.count) if p not in self.everywhere)

    @property
    def means(self) -> tuple[int, ...]:
        """Local planes that hold means; the others hold 0 or 1, however many units share a cell."""
        return (self.affiliation, self.hp, self.decay)


@functools.cache
def planes_of(spec: TensorSpec) -> PlaneIndex:
    """Return the planes that ``spec`` declares."""
    return PlaneIndex(len(spec.labels) - _BESIDE_TYPES if spec.labels else _MINIRTS_TYPES)


def hp_ratio(part: Tensor, whole: Tensor) -> Tensor:
    """Return ``part / (whole + 1e-6)`` in float64, rounded once; 0 where ``whole`` is 0."""
    ratio = (part.double() / (whole.double() + 1e-6)).float()
    return torch.where(whole == 0, torch.zeros_like(ratio), ratio)


class RtsCells:
    """Codec of the RTS games' cells: see the module for the packed rows and the planes.

    The planes are in channels-last memory, which convolutions on CPUs prefer.
    """

    def layout(self, spec: TensorSpec) -> TensorLayout:
        """Return the planes ``[T + 16, S, S]``. Raises ``ValueError`` for another form of tensor."""
        side = int(spec.scale)
        packs = spec.dtype == "u16" and len(spec.shape) == 2 and spec.shape[1] == 5
        types = planes_of(spec).types
        if not packs or side < 1 or side != spec.scale or not 1 <= types <= 16:
            raise ValueError(
                f"tensor {spec.name!r}: the codec rts_cells reads uint16[U + 1, 5], an integer scale >= 1, "
                f"and labels of 1 to 16 types and 16 more planes, got {spec.dtype}{list(spec.shape)}, "
                f"{spec.scale} and {len(spec.labels)} labels"
            )
        return TensorLayout("planes", (planes_of(spec).count, side, side))

    def decode(self, spec: TensorSpec, packed: Tensor) -> Tensor:
        """Decode ``uint16[B, U + 1, 5]`` to ``float32[B, C, S, S]``."""
        side, layout = int(spec.scale), planes_of(spec)
        batch, area = packed.shape[0], side * side
        sample, unit = present_units(packed)
        at = sample * area + unit[:, 0] - 1
        planes = summed_by_cell(batch * area, at, unit_planes(unit, layout))
        count = torch.bincount(at, minlength=batch * area)
        shared = (count > 1).nonzero().squeeze(1)
        if shared.numel() > 0:
            crowd = planes[shared]
            at_means = constant(layout.means, crowd.device)
            means = crowd.index_select(1, at_means) / count[shared].unsqueeze(1).float()
            crowd.clamp_(max=1.0)
            crowd.index_copy_(1, at_means, means)
            planes[shared] = crowd
        planes = planes.reshape(batch, area, layout.count)
        planes += seat_planes(packed, layout).unsqueeze(1)
        return planes.reshape(batch, side, side, layout.count).permute(0, 3, 1, 2)

    def decode_static(self, spec: TensorSpec, packed: Tensor) -> Tensor:
        """Decode as :meth:`decode`: see :class:`ludus.codecs.protocol.StaticCodec`."""
        side, layout = int(spec.scale), planes_of(spec)
        batch, area = packed.shape[0], side * side
        at, _, unit = every_unit(packed, area)
        values = unit_planes(unit, layout)
        values = torch.cat([values, values.new_ones((len(values), 1))], dim=1)  # the last column counts
        sums = exact_sums(batch * (area + 1), at, values)
        sums = sums.reshape(batch, area + 1, layout.count + 1)[:, :area]
        planes, count = sums[:, :, :-1], sums[:, :, -1:].clamp(min=1.0)
        mean = constant(tuple(p in layout.means for p in range(layout.count)), packed.device, torch.bool)
        planes = torch.where(mean, planes / count, planes.clamp(max=1.0))
        planes = planes + seat_planes(packed, layout).unsqueeze(1)
        return planes.reshape(batch, side, side, layout.count).permute(0, 3, 1, 2)

    def sparse(self, spec: TensorSpec, packed: Tensor) -> SparsePlanes:
        """Return the same planes as one entry a unit.

        Units that share a cell write their part of the mean.
        """
        side, layout = int(spec.scale), planes_of(spec)
        batch, area = packed.shape[0], side * side
        sample, unit = present_units(packed)
        cell = unit[:, 0] - 1
        values = unit_planes(unit, layout)
        at = sample * area + cell
        count = torch.bincount(at, minlength=batch * area).index_select(0, at)
        shared = (count > 1).nonzero().squeeze(1)
        if shared.numel() > 0:
            crowds, crowd = at[shared].unique(return_inverse=True)  # type: ignore[no-untyped-call]
            writers = torch.zeros((crowds.numel(), layout.count), device=packed.device)
            writers.index_add_(0, crowd, (values[shared] != 0).float())
            writers = writers[crowd].clamp(min=1.0)
            writers[:, layout.means] = count[shared].unsqueeze(1).float()
            values[shared] = values[shared] / writers
        return SparsePlanes(
            sample,
            cell,
            values[:, layout.local],
            seat_planes(packed, layout)[:, layout.everywhere],
            layout.local,
            layout.everywhere,
        )


def present_units(packed: Tensor) -> tuple[Tensor, Tensor]:
    """Find the rows of ``uint16[B, U + 1, 5]`` with a unit.

    Returns:
        Sample ``int64[n]``, ascending, and columns ``int64[n, 5]``.
    """
    wide = packed.view(torch.int16)[:, :-1]
    units = wide.shape[1]
    index = (wide[:, :, 0] != 0).reshape(-1).nonzero().squeeze(1)
    columns = wide.reshape(-1, 5).index_select(0, index).long() & 0xFFFF
    return index // units, columns


def every_unit(packed: Tensor, area: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return all unit rows of ``uint16[B, U + 1, 5]``, absent ones too.

    Each sample has ``area`` cells and one more, to which absent units are written.

    Returns:
        Cells among ``B * (area + 1)``, ``int64[n]`` with ``n = B * U``; the extra cell of each sample,
        ``int64[n]``; columns ``int64[n, 5]``.
    """
    unit = packed.view(torch.int16)[:, :-1].long() & 0xFFFF
    cell = unit[:, :, 0] - 1
    start = torch.arange(len(packed), device=packed.device).unsqueeze(1) * (area + 1)
    extra = (start + area).expand_as(cell)
    at = torch.where(cell >= 0, start + cell, extra)
    return at.flatten(), extra.flatten(), unit.flatten(0, 1)


def summed_by_cell(cells: int, at: Tensor, values: Tensor) -> Tensor:
    """Return the sums ``float32[cells, C]`` of ``values: float32[n, C]`` in the cells ``at: int64[n]``."""
    sums = torch.zeros((cells, values.shape[1]), device=values.device)
    return sums.index_add_(0, at, values)


def exact_sums(cells: int, at: Tensor, values: Tensor) -> Tensor:
    """Return :func:`summed_by_cell`, rounded once, for devices that add in any order.

    In float64 the sums of a few units are exact, whatever the order: values are 0 or between 2^-17 and 2^6,
    with 24 bits each.
    """
    sums = torch.zeros((cells, values.shape[1]), dtype=torch.float64, device=values.device)
    return sums.index_add_(0, at, values.double()).float()


def unit_planes(unit: Tensor, layout: PlaneIndex) -> Tensor:
    """Return each unit's share in its cell, ``float32[n, C]``, zeros in the seat's planes.

    ``unit`` is ``int64[n, 5]``.
    """
    planes = torch.zeros((unit.shape[0], layout.count), device=unit.device)
    kind, age = unit[:, 1], unit[:, 4].contiguous()
    planes.scatter_(1, (kind & (layout.enemy - 1)).unsqueeze(1), 1.0)
    planes[:, layout.affiliation] = 1.0 + (kind >= layout.enemy)
    planes[:, layout.hp] = hp_ratio(unit[:, 2], unit[:, 3])
    planes[:, layout.decay] = (50.0 / (age + 1).double()).float()
    bins = torch.bucketize(age, constant(_AGE_BINS, unit.device), right=True)
    planes.scatter_(1, (layout.age + bins).unsqueeze(1), 1.0)
    return planes


def seat_planes(packed: Tensor, layout: PlaneIndex) -> Tensor:
    """Return the values of the planes that are equal everywhere: ``float32[B, C]``, zeros elsewhere."""
    about = packed.view(torch.int16)[:, -1].long() & 0xFFFF
    planes = torch.zeros((packed.shape[0], layout.count), device=packed.device)
    planes[:, layout.base_hp] = hp_ratio(about[:, 1], about[:, 2])
    money = (about[:, 0] // _MONEY_BIN).clamp(max=_MONEY_BINS - 1)
    planes.scatter_(1, (layout.money + money).unsqueeze(1), 1.0)
    return planes
