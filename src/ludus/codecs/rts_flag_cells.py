"""The codec of Capture the Flag's ``cells``: visible units in, the 11 planes of the ELF paper out.

Packed, a row is ``uint16[U + 1, 5]``: U unit rows ``[cell + 1, type + 4 if a later unit stands in the same
cell, owner + 1 + 8 if it has the flag, hp, maximal hp]`` (an empty row starts with 0) and one row about
the seat ``[score, 0, 0, side, 0]``. The spec's ``scale`` is the side S of the square map. Planes,
``float32[11, S, S]`` by ``[plane, y, x]``:

    0..2 unit types    3 owner + 1    4 hp ratio    5 has the flag    6..10 score bins, everywhere

Planes 3 to 5 show the last unit of each cell.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ludus.codecs.layout import TensorLayout
from ludus.codecs.rts_cells import every_unit, hp_ratio, present_units
from ludus.flow import TensorSpec

PLANES = 11
_OWNER, _HP, _FLAG, _SCORE = 3, 4, 5, 6
_SCORE_BINS = 5


class RtsFlagCells:
    """Codec of Capture the Flag's cells: see the module for the packed rows and the planes."""

    def layout(self, spec: TensorSpec) -> TensorLayout:
        """Return the planes ``[11, S, S]``. Raises ``ValueError`` for another form of tensor."""
        side = int(spec.scale)
        packs = spec.dtype == "u16" and len(spec.shape) == 2 and spec.shape[1] == 5
        if not packs or side < 1 or side != spec.scale:
            raise ValueError(
                f"tensor {spec.name!r}: the codec rts_flag_cells reads uint16[U + 1, 5] and an integer "
                f"scale >= 1, got {spec.dtype}{list(spec.shape)} and {spec.scale}"
            )
        return TensorLayout("planes", (PLANES, side, side))

    def decode(self, spec: TensorSpec, packed: Tensor) -> Tensor:
        """Decode ``uint16[B, U + 1, 5]`` to ``float32[B, 11, S, S]``."""
        side = int(spec.scale)
        batch, area = packed.shape[0], side * side
        sample, unit = present_units(packed)
        at = sample * area + unit[:, 0] - 1
        planes = torch.zeros((batch * area, PLANES), device=packed.device)
        planes[at, unit[:, 1] & 3] = 1.0
        last = (unit[:, 1] < 4).nonzero().squeeze(1)  # one a cell, so that nothing is written twice
        at, unit = at[last], unit[last]
        planes[at, _OWNER] = (unit[:, 2] & 7).float()
        planes[at, _HP] = hp_ratio(unit[:, 3], unit[:, 4])
        planes[at, _FLAG] = (unit[:, 2] >= 8).float()
        planes = planes.reshape(batch, area, PLANES)
        about = packed.view(torch.int16)[:, -1].long() & 0xFFFF
        score = about[:, 0].clamp(max=_SCORE_BINS - 1)
        planes[torch.arange(batch, device=packed.device), :, _SCORE + score] = 1.0
        return planes.reshape(batch, side, side, PLANES).permute(0, 3, 1, 2)

    def decode_static(self, spec: TensorSpec, packed: Tensor) -> Tensor:
        """Decode as :meth:`decode`: see :class:`ludus.codecs.protocol.StaticCodec`."""
        side = int(spec.scale)
        batch, area = packed.shape[0], side * side
        at, extra, unit = every_unit(packed, area)
        planes = torch.zeros((batch * (area + 1), PLANES), device=packed.device)
        planes.view(-1).scatter_(0, at * PLANES + (unit[:, 1] & 3), 1.0)
        last = torch.where(unit[:, 1] < 4, at, extra)  # one a cell; the extra cells are dropped
        shown = [(unit[:, 2] & 7).float(), hp_ratio(unit[:, 3], unit[:, 4]), (unit[:, 2] >= 8).float()]
        planes[:, _OWNER:_SCORE].index_copy_(0, last, torch.stack(shown, dim=1))
        planes = planes.reshape(batch, area + 1, PLANES)[:, :area]
        about = packed.view(torch.int16)[:, -1].long() & 0xFFFF
        score = about[:, 0].clamp(max=_SCORE_BINS - 1)
        everywhere = torch.zeros((batch, PLANES), device=packed.device)
        everywhere.scatter_(1, (_SCORE + score).unsqueeze(1), 1.0)
        planes = planes + everywhere.unsqueeze(1)
        return planes.reshape(batch, side, side, PLANES).permute(0, 3, 1, 2)
