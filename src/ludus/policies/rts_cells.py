"""The codec of the RTS games' ``cells``: visible units in, the 22 planes of the ELF paper out.

Packed, a row is ``uint16[U + 1, 5]``: U unit rows ``[cell + 1, type + 8 if enemy, hp, maximal hp,
age in ticks]`` (an empty row starts with 0) and one row about the seat ``[money, base hp, base maximal
hp, side, 0]``. The spec's ``scale`` is the side S of the square map. Planes, ``float32[22, S, S]`` by
``[plane, y, x]``:

    0..5 unit types    6 affiliation (1 own, 2 enemy)    7 hp ratio    8 own base's hp ratio, everywhere
    9 decay 50 / (age + 1)    10..16 age bins    17..21 money bins, everywhere

Where units share a cell, a plane holds the mean of what those units write to it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ludus.flow import TensorSpec
from ludus.policies.sparse import SparsePlanes
from ludus.policies.unfolded import Unfolded

PLANES = 22
_AGE_BINS = (200, 500, 1000, 2000, 5000, 10000)
_AFFILIATION, _HP, _BASE_HP, _DECAY, _AGE, _MONEY = 6, 7, 8, 9, 10, 17
_MONEY_BINS, _MONEY_BIN = 5, 50
_EVERYWHERE = (_BASE_HP, *range(_MONEY, PLANES))
_LOCAL = tuple(p for p in range(PLANES) if p not in _EVERYWHERE)
_MEANS = (_AFFILIATION, _HP, _DECAY)  # the other planes hold 0 or 1, however many units share a cell


def _ratio(part: Tensor, whole: Tensor) -> Tensor:
    """``part / (whole + 1e-6)`` in float64, rounded once; 0 where ``whole`` is 0."""
    ratio = (part.double() / (whole.double() + 1e-6)).float()
    return torch.where(whole == 0, torch.zeros_like(ratio), ratio)


class RtsCells:
    """See the module. The planes come in channels-last memory, which convolutions on processors prefer."""

    def layout(self, spec: TensorSpec) -> Unfolded:
        side = int(spec.scale)
        packs = spec.dtype == "u16" and len(spec.shape) == 2 and spec.shape[1] == 5
        if not packs or side < 1 or side != spec.scale:
            raise ValueError(
                f"tensor {spec.name!r}: the codec rts_cells reads uint16[U + 1, 5] and a whole scale >= 1, "
                f"got {spec.dtype}{list(spec.shape)} and {spec.scale}"
            )
        return Unfolded("planes", (PLANES, side, side))

    def unfold(self, spec: TensorSpec, packed: Tensor) -> Tensor:
        """``uint16[B, U + 1, 5]`` -> ``float32[B, 22, S, S]``."""
        side = int(spec.scale)
        batch, area = packed.shape[0], side * side
        sample, unit = present_units(packed)
        at = sample * area + unit[:, 0] - 1
        planes = torch.zeros((batch * area, PLANES), device=packed.device)
        planes.index_add_(0, at, unit_planes(unit))
        count = torch.bincount(at, minlength=batch * area)
        shared = (count > 1).nonzero().squeeze(1)
        if shared.numel() > 0:
            crowd = planes[shared]
            means = crowd[:, _MEANS] / count[shared].unsqueeze(1).float()
            crowd.clamp_(max=1.0)
            crowd[:, _MEANS] = means
            planes[shared] = crowd
        planes = planes.reshape(batch, area, PLANES)
        planes += seat_planes(packed).unsqueeze(1)
        return planes.reshape(batch, side, side, PLANES).permute(0, 3, 1, 2)

    def sparse(self, spec: TensorSpec, packed: Tensor) -> SparsePlanes:
        """The same planes as one entry a unit; units that share a cell write their part of the mean."""
        side = int(spec.scale)
        batch, area = packed.shape[0], side * side
        sample, unit = present_units(packed)
        cell = unit[:, 0] - 1
        values = unit_planes(unit)
        at = sample * area + cell
        count = torch.bincount(at, minlength=batch * area).index_select(0, at)
        shared = (count > 1).nonzero().squeeze(1)
        if shared.numel() > 0:
            crowds, crowd = at[shared].unique(return_inverse=True)  # type: ignore[no-untyped-call]
            writers = torch.zeros((crowds.numel(), PLANES), device=packed.device)
            writers.index_add_(0, crowd, (values[shared] != 0).float())
            writers = writers[crowd].clamp(min=1.0)
            writers[:, _MEANS] = count[shared].unsqueeze(1).float()
            values[shared] = values[shared] / writers
        return SparsePlanes(
            sample, cell, values[:, _LOCAL], seat_planes(packed)[:, _EVERYWHERE], _LOCAL, _EVERYWHERE
        )


def present_units(packed: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of ``uint16[B, U + 1, 5]`` with a unit, in order: sample ``int64[n]``, columns ``int64[n, 5]``."""
    wide = packed.view(torch.int16)[:, :-1]
    units = wide.shape[1]
    index = (wide[:, :, 0] != 0).reshape(-1).nonzero().squeeze(1)
    columns = wide.reshape(-1, 5).index_select(0, index).long() & 0xFFFF
    return index // units, columns


def unit_planes(unit: Tensor) -> Tensor:
    """What each unit ``int64[n, 5]`` writes into its cell: ``float32[n, 22]``, zeros in the seat's planes."""
    planes = torch.zeros((unit.shape[0], PLANES), device=unit.device)
    kind, age = unit[:, 1], unit[:, 4].contiguous()
    planes.scatter_(1, (kind & 7).unsqueeze(1), 1.0)
    planes[:, _AFFILIATION] = 1.0 + (kind >= 8)
    planes[:, _HP] = _ratio(unit[:, 2], unit[:, 3])
    planes[:, _DECAY] = (50.0 / (age + 1).double()).float()
    bins = torch.bucketize(age, torch.tensor(_AGE_BINS, device=unit.device), right=True)
    planes.scatter_(1, (_AGE + bins).unsqueeze(1), 1.0)
    return planes


def seat_planes(packed: Tensor) -> Tensor:
    """The planes that have one value everywhere: ``float32[B, 22]``, zeros elsewhere."""
    about = packed.view(torch.int16)[:, -1].long() & 0xFFFF
    planes = torch.zeros((packed.shape[0], PLANES), device=packed.device)
    planes[:, _BASE_HP] = _ratio(about[:, 1], about[:, 2])
    money = (about[:, 0] // _MONEY_BIN).clamp(max=_MONEY_BINS - 1)
    planes.scatter_(1, (_MONEY + money).unsqueeze(1), 1.0)
    return planes
