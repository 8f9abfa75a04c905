"""The codec ``pommerman``: two numbers of four bits a byte in, planes out.

Packed, a row is ``uint8[3, S, S]``, low and high half of a byte:

    0  item (0 passage .. 8 kick, 10..13 agents, the observing seat first); flame life 1..3
    1  blast strength of the bomb, 0 = none; steps until it explodes, 1..10
    2  steps until a blast in sight reaches the cell, 0 = none; direction of the bomb, 1..4, 0 = still

Planes, ``float32[21, S, S]``, all in 0..1: see :data:`PLANES`. What comes sooner weighs more, as in the
features of TLeague (Sun et al. 2020).
"""

from __future__ import annotations

import torch
from torch import Tensor

from ludus.flow import TensorSpec
from ludus.policies.unfolded import Unfolded

#: Names of the planes, in order. The items of the first plane that are not listed are no plane (passage).
PLANES = (
    *("rigid", "wood", "bomb", "flames", "fog", "extra_bomb", "incr_range", "kick"),
    *("own", "seat_1", "seat_2", "seat_3"),
    *("flame_life", "bomb_strength", "bomb_soon", "blast_soon", "blast"),
    *("moving_up", "moving_down", "moving_left", "moving_right"),
)
_ITEMS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13)
_SLOWEST = 10  # steps that a bomb can have left


class PommermanCells:
    """See the module. The planes come in channels-last memory, which convolutions on processors prefer."""

    def layout(self, spec: TensorSpec) -> Unfolded:
        fits = spec.dtype == "u8" and len(spec.shape) == 3 and spec.shape[0] == 3
        if not fits:
            raise ValueError(
                f"tensor {spec.name!r}: the codec pommerman reads uint8[3, S, S], "
                f"got {spec.dtype}{list(spec.shape)}"
            )
        return Unfolded("planes", (len(PLANES), *spec.shape[1:]))

    def unfold(self, spec: TensorSpec, packed: Tensor) -> Tensor:
        """``uint8[B, 3, S, S]`` -> ``float32[B, 21, S, S]``."""
        table = _table(packed.device)
        index = packed.flatten(2).permute(0, 2, 1).long()  # [B, S * S, 3]
        planes = table[0][index[..., 0]]
        planes += table[1][index[..., 1]]
        planes += table[2][index[..., 2]]
        batch, _, height, width = packed.shape
        return planes.reshape(batch, height, width, len(PLANES)).permute(0, 3, 1, 2)


_TABLES: dict[torch.device, Tensor] = {}


def _table(device: torch.device) -> Tensor:
    """What each byte of each packed plane adds to the planes: ``float32[3, 256, 21]``."""
    table = _TABLES.get(device)
    if table is None:
        table = _TABLES[device] = _make_table().to(device)
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
    """1 for the next step, falling evenly to 0.1 for the tenth."""
    return max(_SLOWEST + 1 - max(steps, 1), 1) / _SLOWEST
