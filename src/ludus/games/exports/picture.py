"""A picture of an observation, for ``render()`` of environments: planes in colours, vectors as bars.

Games have richer views (``ludus replay to-html``). This one needs only numpy and shows the policy's input.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, TensorSpec
from ludus.flow.slab import Array

Picture = npt.NDArray[np.uint8]
SIDE = 320  # least pixels of the longer side of a picture
_BAR = 8  # cells of the longest bar
_BACKGROUND = np.array([24, 26, 32], np.float32)


def picture(spec: GameSpec, seen: Mapping[str, Array]) -> Picture:
    """Draw ``uint8[H, W, 3]`` of unpacked tensors: the largest planes, else all vectors as bars."""
    planes = [t for t in spec.observation if len(t.shape) == 3]
    if planes:
        largest = max(planes, key=lambda t: t.shape[1] * t.shape[2])
        cells = _coloured(largest, seen[largest.name])
    else:
        cells = _bars(np.concatenate([_shares(t, seen[t.name]).ravel() for t in spec.observation]))
    pixels = max(1, -(-SIDE // max(cells.shape[:2])))
    return np.repeat(np.repeat(cells, pixels, axis=0), pixels, axis=1).astype(np.uint8)


def _shares(t: TensorSpec, values: Array) -> npt.NDArray[np.float32]:
    """Return values as shares of their range, 0..1; those without a finite range by their own extremes."""
    numbers = np.nan_to_num(np.asarray(values, np.float32))
    low, high = float(t.low), float(t.high)
    if not 0.0 < high - low < 1e6:
        low, high = float(min(numbers.min(), 0.0)), float(max(numbers.max(), 0.0))
    shares: npt.NDArray[np.float32] = np.clip((numbers - low) / max(high - low, 1e-6), 0.0, 1.0)
    return shares


def _coloured(t: TensorSpec, values: Array) -> npt.NDArray[np.float32]:
    """Draw ``[H, W, 3]``: each plane of ``[C, H, W]`` adds its own hue."""
    shares = _shares(t, values)
    hue = np.arange(len(shares))[:, None] / len(shares) + np.array([0.0, 1 / 3, 2 / 3])
    colours = 127.5 * (1.0 + np.cos(2.0 * np.pi * hue))
    lit = np.einsum("chw,cd->hwd", shares, colours)
    cells: npt.NDArray[np.float32] = np.minimum(_BACKGROUND + lit, 255.0).astype(np.float32)
    return cells


def _bars(shares: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Draw ``[_BAR, N, 3]``: one column per number."""
    heights = np.arange(_BAR, 0, -1)[:, None] / _BAR
    full = shares[None, :] >= heights - 0.5 / _BAR
    cells: npt.NDArray[np.float32] = np.where(full[..., None], np.float32(230.0), _BACKGROUND)
    return cells
