"""A convolution over planes that are nearly empty: cost by the number of entries, not by the map's size.

A 20x20 map shows some twenty units; a dense 3x3 convolution of its 22 planes spends nine tenths of its work
on zeros. Here each entry is multiplied once with all taps of the kernel, and the products are added
where they belong. The result equals the dense convolution, up to the order of additions.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class SparsePlanes:
    """``B`` samples of ``[C, H, W]`` planes as sums of ``n`` entries.

    Entry i adds ``values[i]`` to the planes ``local`` of sample ``sample[i]`` in the cell ``y * W + x =
    cell[i]``; the planes ``everywhere`` hold one number a sample in all cells, ``constants: float32[B,
    len(everywhere)]``. Planes in neither are zero.
    """

    sample: Tensor  # int64[n]
    cell: Tensor  # int64[n]
    values: Tensor  # float32[n, len(local)]
    constants: Tensor
    local: tuple[int, ...]
    everywhere: tuple[int, ...]


class SparseConvolution:
    """A 3x3 convolution with padding 1 of :class:`SparsePlanes`; holds tables, no parameters."""

    def __init__(self, height: int, width: int, stride: int) -> None:
        """Build the tables for planes of ``height`` by ``width`` cells and a stride of 1 or more."""
        self.height, self.width = (height - 1) // stride + 1, (width - 1) // stride + 1  # of the output
        cells = height * width
        pairs: list[list[tuple[int, int]]] = [[] for _ in range(cells)]
        covered = torch.zeros(9, self.height * self.width)
        for out in range(self.height * self.width):
            top, left = out // self.width * stride - 1, out % self.width * stride - 1
            for tap in range(9):
                y, x = top + tap // 3, left + tap % 3
                if 0 <= y < height and 0 <= x < width:
                    pairs[y * width + x].append((tap, out))
                    covered[tap, out] = 1.0
        most = max(len(p) for p in pairs)
        self._taps = torch.full((cells, most), -1)
        self._outs = torch.zeros((cells, most), dtype=torch.int64)
        for cell, entries in enumerate(pairs):
            for k, (tap, out) in enumerate(entries):
                self._taps[cell, k], self._outs[cell, k] = tap, out
        self._covered = covered  # float32[9, outputs]: which taps lie on the map

    def __call__(self, weight: Tensor, bias: Tensor, planes: SparsePlanes) -> Tensor:
        """Return ``float32[B, O, H', W']`` in channels-last memory.

        ``weight: [O, C, 3, 3]``, ``bias: [O]``.
        """
        with torch.autocast("cpu", enabled=False):  # sums of many entries need float32
            return self._run(weight, bias, planes)

    def _run(self, weight: Tensor, bias: Tensor, planes: SparsePlanes) -> Tensor:
        channels, batch, area = bias.shape[0], planes.constants.shape[0], self.height * self.width
        kernel = weight.permute(1, 2, 3, 0).reshape(-1, 9, channels)  # by plane, tap

        flat = kernel[list(planes.everywhere)].transpose(1, 2) @ self._covered  # [E, O, outputs]
        flat = flat.transpose(1, 2).reshape(len(planes.everywhere), area * channels)
        out = torch.addmm(bias.repeat(area), planes.constants, flat).reshape(batch * area, channels)

        taps = self._taps.index_select(0, planes.cell).reshape(-1)
        pair = (taps >= 0).nonzero().squeeze(1)
        entry = pair // self._taps.shape[1]
        where = self._outs.index_select(0, planes.cell).reshape(-1).index_select(0, pair)
        where = where + planes.sample.index_select(0, entry) * area
        products = planes.values @ kernel[list(planes.local)].reshape(len(planes.local), 9 * channels)
        some = products.reshape(-1, channels).index_select(0, entry * 9 + taps.index_select(0, pair))
        out = out.index_add(0, where, some)
        return out.reshape(batch, self.height, self.width, channels).permute(0, 3, 1, 2)


@functools.lru_cache(maxsize=16)
def sparse_convolution(height: int, width: int, stride: int) -> SparseConvolution:
    """Return the tables for a map and a stride, built on first use and then shared."""
    return SparseConvolution(height, width, stride)
