"""Codecs against slow loops."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import nn

from ludus.codecs.forms import sparse_planes
from ludus.codecs.registry import codec_of
from ludus.codecs.sparse import sparse_convolution
from ludus.flow import TensorSpec
from tests.unit.synthetic import tensor


def cells_spec(side: int = 20, units: int = 64, types: int = 6) -> TensorSpec:
    """Six types as in MiniRTS, which needs no labels."""
    spec = tensor("cells", "u16", (units + 1, 5), "rts_cells", side)
    labels = () if types == 6 else tuple(f"plane{i}" for i in range(types + 16))
    return msgspec.structs.replace(spec, labels=labels)


def random_cells(
    rng: np.random.Generator, batch: int, side: int, units: int = 64, types: int = 6
) -> npt.NDArray[np.uint16]:
    """Packed rows with empty rows between units and many units in the same few cells."""
    packed = np.zeros((batch, units + 1, 5), np.uint16)
    for b in range(batch):
        crowd = rng.integers(0, side * side, 3)
        for u in range(units):
            if rng.random() < 0.4:
                continue
            cell = int(crowd[rng.integers(0, 3)] if rng.random() < 0.5 else rng.integers(0, side * side))
            top = int(rng.choice([50, 100, 500, 65535]))
            kind = int(rng.integers(0, types)) + (8 if types <= 8 else 16) * int(rng.integers(0, 2))
            packed[b, u] = (
                cell + 1,
                kind,
                int(rng.integers(0, top + 1)),
                top,
                int(rng.choice([0, 199, 200, 4000, 65000])),
            )
        base = int(rng.integers(0, 2)) * 500
        packed[b, units] = (
            int(rng.integers(0, 400)),
            int(rng.integers(0, 500)) if base else 0,
            base,
            side,
            0,
        )
    return packed


def slow_planes(packed: npt.NDArray[np.uint16], side: int, types: int = 6) -> npt.NDArray[np.float32]:
    """Return the same planes by loops over units and cells."""
    written: dict[tuple[int, int, int, int], list[np.float32]] = {}
    enemy = 8 if types <= 8 else 16
    out = np.zeros((len(packed), types + 16, side, side), np.float32)
    for b, rows in enumerate(packed.astype(np.int64)):
        for at, kind, hp, top, age in rows[:-1]:
            if at == 0:
                continue
            y, x = divmod(int(at) - 1, side)
            bin_of_age = sum(int(age) >= limit for limit in (200, 500, 1000, 2000, 5000, 10000))
            for plane, value in (
                (int(kind) % enemy, 1.0),
                (types, 2.0 if kind >= enemy else 1.0),
                (types + 1, float(hp) / (float(top) + 1e-6)),
                (types + 3, 50.0 / (float(age) + 1.0)),
                (types + 4 + bin_of_age, 1.0),
            ):
                written.setdefault((b, plane, y, x), []).append(np.float32(value))
        money, hp, top = (int(v) for v in rows[-1][:3])
        out[b, types + 2] = np.float32(hp / (top + 1e-6)) if top else 0.0
        out[b, types + 11 + min(money // 50, 4)] = 1.0
    for (b, plane, y, x), values in written.items():
        total = np.zeros((), np.float32)
        for term in values:
            total = total + term
        out[b, plane, y, x] = total / np.float32(len(values))
    return out


@pytest.mark.parametrize(("side", "types"), [(20, 6), (7, 6), (20, 14), (12, 16), (12, 2)])
def test_rts_cells_equals_the_slow_expansion(side: int, types: int) -> None:
    packed = random_cells(np.random.default_rng(side), 16, side, types=types)
    spec = cells_spec(side, types=types)
    codec = codec_of(spec)
    assert codec.layout(spec).shape == (types + 16, side, side)
    planes = codec.decode(spec, torch.from_numpy(packed))
    expected = slow_planes(packed, side, types)
    assert (expected[:, : types + 1] > 0).any(axis=(0, 2, 3)).all()
    np.testing.assert_array_equal(planes.numpy(), expected)


def test_rts_cells_without_units_holds_only_the_seat() -> None:
    packed = np.zeros((2, 65, 5), np.uint16)
    packed[:, 64] = (120, 250, 500, 20, 0)
    planes = codec_of(cells_spec()).decode(cells_spec(), torch.from_numpy(packed)).numpy()
    np.testing.assert_array_equal(planes, slow_planes(packed, 20))
    assert planes.any(axis=(0, 2, 3)).sum() == 2


def test_rts_cells_refuses_other_shapes() -> None:
    spec = tensor("cells", "u8", (65, 5), "rts_cells", 20)
    with pytest.raises(ValueError, match=r"'cells'.*uint16\[U \+ 1, 5\]"):
        codec_of(spec).layout(spec)


def slow_flag_planes(packed: np.ndarray, side: int) -> np.ndarray:
    """Capture the Flag's 11 planes, unit by unit: a later one replaces what an earlier one wrote."""
    out = np.zeros((len(packed), 11, side, side), np.float32)
    for b, rows in enumerate(packed):
        for cell, kind, whose, hp, top in rows[:-1]:
            if cell == 0:
                continue
            y, x = divmod(int(cell) - 1, side)
            out[b, kind & 3, y, x] = 1.0
            out[b, 3:6, y, x] = (whose & 7, np.float32(float(hp) / (float(top) + 1e-6)), whose >= 8)
        out[b, 6 + min(int(rows[-1, 0]), 4)] = 1.0
    return out


@pytest.mark.parametrize("side", [20, 4])
def test_rts_flag_cells_equals_the_slow_expansion(side: int) -> None:
    rng = np.random.default_rng(side)
    packed = np.zeros((32, 17, 5), np.uint16)
    for b in range(32):
        units = int(rng.integers(0, 17))
        cells = rng.integers(1, side * side + 1, units)
        kinds = rng.integers(0, 3, units)
        later = np.array([cell in cells[i + 1 :] for i, cell in enumerate(cells)], dtype=bool)
        packed[b, :units, 0] = cells
        packed[b, :units, 1] = kinds + 4 * later
        packed[b, :units, 2] = rng.integers(1, 4, units) + 8 * rng.integers(0, 2, units)
        packed[b, :units, 3] = rng.integers(1, 101, units)
        packed[b, :units, 4] = 100
        packed[b, 16] = (rng.integers(0, 7), 0, 0, side, 0)
    spec = tensor("cells", "u16", (17, 5), "rts_flag_cells", side)
    codec = codec_of(spec)
    assert codec.layout(spec).shape == (11, side, side)
    planes = codec.decode(spec, torch.from_numpy(packed)).numpy()
    np.testing.assert_array_equal(planes, slow_flag_planes(packed, side))


def test_rts_flag_cells_refuses_other_shapes() -> None:
    spec = tensor("cells", "u8", (17, 5), "rts_flag_cells", 20)
    with pytest.raises(ValueError, match=r"'cells'.*uint16\[U \+ 1, 5\]"):
        codec_of(spec).layout(spec)


@pytest.mark.parametrize(
    ("dtype", "numpy_type"),
    [
        ("u8", np.uint8),
        ("i8", np.int8),
        ("u16", np.uint16),
        ("i16", np.int16),
        ("i32", np.int32),
        ("f32", np.float32),
    ],
)
def test_identity_scales(dtype: str, numpy_type: type[np.generic]) -> None:
    spec = tensor("x", dtype, (2, 3, 4), scale=0.5)
    values = np.arange(5 * 24).reshape(5, 2, 3, 4).astype(numpy_type)
    out = codec_of(spec).decode(spec, torch.from_numpy(values))
    assert codec_of(spec).layout(spec).kind == "planes"
    np.testing.assert_array_equal(out.numpy(), values.astype(np.float32) * 0.5)


@pytest.mark.parametrize("codec", ["identity", "bits"])
def test_bits_unpack_least_significant_first(codec: str) -> None:
    spec = tensor("x", "bits", (3, 7), codec)
    truth = np.random.default_rng(1).integers(0, 2, (6, 3, 7))
    packed = np.packbits(truth.reshape(6, -1).astype(np.uint8), axis=1, bitorder="little")
    out = codec_of(spec).decode(spec, torch.from_numpy(packed))
    assert codec_of(spec).layout(spec).kind == "rows"
    np.testing.assert_array_equal(out.numpy(), truth.astype(np.float32))


def test_an_unknown_codec_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'zip'.*identity.*rts_cells"):
        codec_of(tensor("x", "u8", (3,), "zip"))


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("side", [20, 7])
def test_sparse_convolution_equals_the_dense_one(side: int, stride: int) -> None:
    """Values and gradients, with several units in a cell, units at the border and samples without units."""
    packed = torch.from_numpy(random_cells(np.random.default_rng(stride), 6, side))
    packed[2, :-1] = 0
    spec = cells_spec(side)
    convolution = nn.Conv2d(22, 5, 3, stride, padding=1)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        convolution.reset_parameters()
    sparse, bias = sparse_planes(spec, packed), convolution.bias
    assert sparse is not None
    assert bias is not None
    results = []
    for out in (
        convolution(codec_of(spec).decode(spec, packed)),
        sparse_convolution(side, side, stride)(convolution.weight, bias, sparse),
    ):
        grads = torch.autograd.grad(out.square().sum(), list(convolution.parameters()))
        results.append((out.detach(), *grads))
    for dense, other in zip(*results, strict=True):
        torch.testing.assert_close(other, dense, atol=2e-5 * float(dense.abs().max()), rtol=1e-4)
