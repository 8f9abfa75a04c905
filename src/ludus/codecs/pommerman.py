"""The codec ``pommerman``: two numbers of four bits a byte in, planes out.

Packed, a row is ``uint8[3, S, S]``, low and high half of a byte:

    0  item (0 passage .. 8 kick, 10..13 agents, the observing seat first); flame life 1..3
    1  blast strength of the bomb, 0 = none; steps until it explodes, 1..10
    2  steps until a blast in sight reaches the cell, 0 = none; direction of the bomb, 1..4, 0 = still

Planes, ``float32[22, S + 1, S + 1]``, all in 0..1: see :data:`PLANES`. Sooner events have larger values, as
in the features of TLeague (Sun et al. 2020).

The board is rolled so that the observing agent is in cell ``((S + 1) // 2, (S + 1) // 2)``, since its
surroundings matter most. One row and one column of `outside` are added first: they hold the borders apart
where the roll joins them, so that no cell is lost. A dead agent's board is not rolled.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from ludus.codecs.layout import TensorLayout
from ludus.flow import TensorSpec

#: Names of the planes, in order. The items of the first plane that are not listed are no plane (passage).
PLANES = (
    *("rigid", "wood", "bomb", "flames", "fog", "extra_bomb", "incr_range", "kick"),
    *("outside", "own", "seat_1", "seat_2", "seat_3"),
    *("flame_life", "bomb_strength", "bomb_soon", "blast_soon", "blast"),
    *("moving_up", "moving_down", "moving_left", "moving_right"),
)
_OUTSIDE, _OWN = 9, 10
_ITEMS = tuple(range(1, 14))
_SLOWEST = 10  # steps that a bomb can have left


class PommermanCells:
    """Codec of Pommerman's board: see the module for the packed row and the planes.

    The planes are in channels-last memory, which convolutions on CPUs prefer.
    """

    def layout(self, spec: TensorSpec) -> TensorLayout:
        """Return the planes ``[22, S + 1, S + 1]``.

        Raises ``ValueError`` for other than ``uint8[3, S, S]``.
        """
        fits = spec.dtype == "u8" and len(spec.shape) == 3 and spec.shape[0] == 3
        if not fits:
            raise ValueError(
                f"tensor {spec.name!r}: the codec pommerman reads uint8[3, S, S], "
                f"got {spec.dtype}{list(spec.shape)}"
            )
        return TensorLayout("planes", (len(PLANES), spec.shape[1] + 1, spec.shape[2] + 1))

    def decode(self, spec: TensorSpec, packed: Tensor) -> Tensor:
        """Decode ``uint8[B, 3, S, S]`` to ``float32[B, 22, S + 1, S + 1]``."""
        index, table, shape = _looked_up(packed)
        # One pass that gathers and adds; seven times as fast as three of each.
        planes = functional.embedding_bag(index, table, mode="sum")
        return planes.reshape(shape).permute(0, 3, 1, 2)

    def decode_static(self, spec: TensorSpec, packed: Tensor) -> Tensor:
        """Decode as :meth:`decode`: see :class:`ludus.codecs.protocol.StaticCodec`."""
        index, table, shape = _looked_up(packed)
        return functional.embedding(index, table).sum(dim=1).reshape(shape).permute(0, 3, 1, 2)


def _looked_up(packed: Tensor) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """Return the rows of the table for each cell, ``int32[n, 3]``, the table, and ``[B, H, W, 22]``."""
    table, offsets = _table(packed.device)
    centred = _centred(packed)
    batch, _, height, width = centred.shape
    index = centred.flatten(2).permute(0, 2, 1).reshape(-1, 3).int() + offsets
    return index, table, (batch, height, width, len(PLANES))


def _centred(packed: Tensor) -> Tensor:
    """Roll ``uint8[B, 3, S, S]`` to ``[B, 3, S + 1, S + 1]``, the observing agent in the middle."""
    batch, _, height, width = packed.shape
    padded = packed.new_zeros((batch, 3, height + 1, width + 1))
    padded[:, 0].fill_(_OUTSIDE)
    padded[:, :, :height, :width] = packed
    own = (packed[:, 0] & 15).flatten(1) == _OWN
    middle_row, middle_column = (height + 1) // 2, (width + 1) // 2
    at = torch.where(own.any(dim=1), own.to(torch.uint8).argmax(dim=1), middle_row * width + middle_column)
    rows = torch.arange(height + 1, device=packed.device) - middle_row
    columns = torch.arange(width + 1, device=packed.device) - middle_column
    rows = (rows + torch.div(at, width, rounding_mode="floor").unsqueeze(1)) % (height + 1)
    columns = (columns + (at % width).unsqueeze(1)) % (width + 1)
    cells = (rows.unsqueeze(2) * (width + 1) + columns.unsqueeze(1)).flatten(1)
    gathered = padded.flatten(2).gather(2, cells.unsqueeze(1).expand(batch, 3, cells.shape[1]))
    return gathered.reshape(batch, 3, height + 1, width + 1)


_TABLES: dict[torch.device, tuple[Tensor, Tensor]] = {}


def _table(device: torch.device) -> tuple[Tensor, Tensor]:
    """Return each byte's share in the planes, ``float32[768, 22]``, and each packed plane's offset."""
    table = _TABLES.get(device)
    if table is None:
        offsets = torch.tensor((0, 256, 512), dtype=torch.int32, device=device)
        made = (_make_table().flatten(0, 1).to(device), offsets)
        table = _TABLES.setdefault(device, made)  # a graph may read the memory of the first
    return table


def _make_table() -> Tensor:
    at = {name: i for i, name in enumerate(PLANES)}
    table = torch.zeros(3, 256, len(PLANES))
    for byte in range(256):
        low, high = byte & 15, byte >> 4
        if low in _ITEMS:
            table[0, byte, _ITEMS.index(low)] = 1.0
        table[0, byte, at["flame_life"]] = min(high, 3) / 3.0
        table[1, byte, at["bomb_strength"]] = min(low, _SLOWEST) / _SLOWEST
        if low:
            table[1, byte, at["bomb_soon"]] = _soon(high)
        if low:
            table[2, byte, at["blast"]] = 1.0
            table[2, byte, at["blast_soon"]] = _soon(low)
        if 1 <= high <= 4:
            table[2, byte, at["moving_up"] + high - 1] = 1.0
    return table


def _soon(steps: int) -> float:
    """Return 1 for the next step, falling evenly to 0.1 for the tenth."""
    return max(_SLOWEST + 1 - max(steps, 1), 1) / _SLOWEST
