"""The codec against a plain reading of its description."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ludus.codecs.pommerman import PLANES
from ludus.codecs.registry import codec_of
from ludus.flow import TensorSpec


def board_spec(shape: tuple[int, ...] = (3, 5, 5), dtype: str = "u8") -> TensorSpec:
    return TensorSpec("board", dtype, shape, 0, 255, "pommerman", 1.0, "")  # type: ignore[arg-type]


def plain(packed: np.ndarray) -> np.ndarray:
    """Cell by cell, from the text of the module."""
    padded = np.zeros((len(packed), 3, packed.shape[2] + 1, packed.shape[3] + 1), np.uint8)
    padded[:, 0] = 9
    padded[:, :, :-1, :-1] = packed
    batch, _, height, width = padded.shape
    for board in padded:
        own = np.argwhere(board[0] & 15 == 10)
        if len(own):
            board[...] = np.roll(board, (height // 2 - own[0][0], width // 2 - own[0][1]), (1, 2))
    packed = padded
    planes = np.zeros((batch, len(PLANES), height, width), np.float32)
    items = dict(zip(range(1, 14), PLANES, strict=False))
    for b, r, c in np.ndindex(batch, height, width):
        first, second, third = (int(v) for v in packed[b, :, r, c])

        def put(name: str, value: float, b: int = b, r: int = r, c: int = c) -> None:
            planes[b, PLANES.index(name), r, c] = value

        if first & 15 in items:
            put(items[first & 15], 1.0)
        put("flame_life", (first >> 4) / 3)
        if second & 15:
            put("bomb_strength", (second & 15) / 10)
            put("bomb_soon", (11 - (second >> 4)) / 10)
        if third & 15:
            put("blast", 1.0)
            put("blast_soon", (11 - (third & 15)) / 10)
        if third >> 4:
            put("moving_" + ("up", "down", "left", "right")[(third >> 4) - 1], 1.0)
    return planes


def test_planes_are_those_of_the_description() -> None:
    rng = np.random.default_rng(1)
    packed = np.zeros((40, 3, 5, 5), np.uint8)
    packed[:, 0] = rng.choice([0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13], (40, 5, 5))
    packed[np.arange(30), 0, rng.integers(0, 5, 30), rng.integers(0, 5, 30)] = 10  # ten are dead
    packed[:, 0] |= np.where(packed[:, 0] == 4, rng.integers(1, 4, (40, 5, 5)) << 4, 0).astype(np.uint8)
    bomb = packed[:, 0] == 3
    packed[:, 1] = np.where(bomb, rng.integers(2, 11, bomb.shape) | rng.integers(1, 11, bomb.shape) << 4, 0)
    packed[:, 2] = rng.integers(0, 11, bomb.shape) | np.where(bomb, rng.integers(0, 5, bomb.shape) << 4, 0)
    spec = board_spec()
    planes = codec_of(spec).decode(spec, torch.from_numpy(packed))
    assert planes.shape == (40, *codec_of(spec).layout(spec).shape)
    assert planes.is_contiguous(memory_format=torch.channels_last)
    np.testing.assert_allclose(planes.numpy(), plain(packed), rtol=0, atol=1e-6)


def test_any_byte_gives_numbers_in_range() -> None:
    packed = torch.arange(256, dtype=torch.uint8).reshape(1, 1, 16, 16).repeat(1, 3, 1, 1)
    planes = codec_of(board_spec((3, 16, 16))).decode(board_spec((3, 16, 16)), packed)
    assert float(planes.min()) >= 0
    assert float(planes.max()) <= 1


@pytest.mark.parametrize("spec", [board_spec((2, 5, 5)), board_spec(dtype="u16"), board_spec((3, 25))])
def test_other_tensors_are_refused(spec: TensorSpec) -> None:
    with pytest.raises(ValueError, match=r"board.*uint8\[3, S, S\]"):
        codec_of(spec).layout(spec)
