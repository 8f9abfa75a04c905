"""Codecs from outside of Ludus: registered by a game's module, or declared by an installed package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from torch import Tensor

from ludus.codecs import TensorLayout, register_codec, registry
from ludus.codecs.forms import decoded, entity_rows, is_bytes, sparse_planes
from ludus.codecs.registry import codec_of, layout_of
from ludus.flow import HeadSpec, TensorSpec, Weights, WeightsMeta
from ludus.flow.process.extensions import ExtensionError
from ludus.games.python_game import declare, tensor
from ludus.policies.config import EncoderConfig
from ludus.policies.factory import build_network
from ludus.policies.network import PolicyNetwork
from ludus.policies.weights import WeightsError, load_weights, save_weights


class OneHot:
    """A byte to eight numbers."""

    def layout(self, spec: TensorSpec) -> TensorLayout:
        return TensorLayout("vector", (8,))

    def decode(self, spec: TensorSpec, packed: Tensor) -> Tensor:
        return torch.nn.functional.one_hot(packed[:, 0].long(), 8).float()


class Pairs:
    """Bytes to entity rows of two numbers, without ``present``."""

    def layout(self, spec: TensorSpec) -> TensorLayout:
        return TensorLayout("rows", (spec.shape[0], 2))

    def decode(self, spec: TensorSpec, packed: Tensor) -> Tensor:
        return torch.stack([packed & 15, packed >> 4], dim=1).transpose(1, 2).float()


def named(codec: str, shape: tuple[int, ...] = (1,)) -> TensorSpec:
    return tensor("cells", shape, "u8", low=0, high=255, codec=codec)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drop the codecs that a test registers."""
    monkeypatch.setattr(registry._CODECS, "_registered", {})
    monkeypatch.setattr(registry._CODECS, "_found", {})


def package(folder: Path, module: str, code: str, entry: str, name: str = "") -> None:
    """Write an installed distribution: one module, one entry point."""
    about = folder / f"{name or module}-1.5.dist-info"
    about.mkdir()
    (folder / f"{module}.py").write_text(code)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name or module}\nVersion: 1.5\n")
    (about / "entry_points.txt").write_text(f"[ludus.codecs]\n{entry}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of installed packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_a_registered_codec_decodes_the_tensor() -> None:
    register_codec("one_hot", OneHot)
    spec = named("one_hot")
    assert layout_of(spec) == TensorLayout("vector", (8,))
    out = decoded(spec, layout_of(spec), torch.tensor([[3], [0]], dtype=torch.uint8))
    assert out.argmax(dim=1).tolist() == [3, 0]
    assert sparse_planes(spec, torch.zeros((1, 1), dtype=torch.uint8)) is None
    assert not is_bytes(spec)


def test_rows_without_a_present_function_are_found_in_the_decoded_tensor() -> None:
    register_codec("pairs", Pairs())
    packed = torch.tensor([[0x21, 0, 0x03], [0, 0, 0x40]], dtype=torch.uint8)
    owner, place, some = entity_rows(named("pairs", (3,)), packed)
    assert owner.tolist() == [0, 0, 1]
    assert place.tolist() == [0, 2, 2]
    assert some.tolist() == [[1.0, 2.0], [3.0, 0.0], [0.0, 4.0]]


def test_a_name_can_be_registered_once() -> None:
    register_codec("one_hot", OneHot())
    register_codec("one_hot", OneHot)  # a module loaded again
    with pytest.raises(
        ExtensionError, match=r"codec 'one_hot': registered by OneHot of .* again by Pairs of"
    ):
        register_codec("one_hot", Pairs())
    with pytest.raises(ExtensionError, match="'rts_cells': the name of a codec that comes with Ludus"):
        register_codec("rts_cells", OneHot())
    with pytest.raises(ExtensionError, match="expected letters"):
        register_codec("../one hot", OneHot())
    with pytest.raises(ExtensionError, match=r"'torch.nn', expected module:attribute"):
        register_codec("other", "torch.nn")
    with pytest.raises(ExtensionError, match=r"codec 'other': dict has no layout\(\)"):
        register_codec("other", {})  # type: ignore[arg-type]


def test_an_installed_package_brings_a_codec(site: Path) -> None:
    code = "from tests.unit.policies.test_own_codec import OneHot as Mine\n"
    package(site, "hex_game", code, "hex_cells = hex_game:Mine")
    assert "hex_game" not in sys.modules
    assert layout_of(named("hex_cells")).shape == (8,)
    assert codec_of(named("hex_cells")) is codec_of(named("hex_cells"))
    with pytest.raises(ValueError, match=r"known codecs: .*hex_cells"):
        codec_of(named("hex_cell"))


@pytest.mark.parametrize(
    ("code", "entry", "message"),
    [
        ("import no_such_library\n", "a = broken:Codec", "ModuleNotFoundError: No module named 'no_such"),
        ("", "a = broken:Codec", "AttributeError"),
        ("Codec = 3\n", "a = broken:Codec", r"has no layout\(\)"),
        ("class Codec:\n  def __init__(self, size): ...\n", "a = broken:Codec", "missing 1 required"),
    ],
)
def test_a_broken_entry_point_is_one_error_with_the_name_of_its_package(
    site: Path, code: str, entry: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(site, "broken", code, entry)
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    with pytest.raises(ValueError, match=rf"codec 'a': .*broken:Codec of broken 1\.5.*{message}"):
        codec_of(named("a"))
    monkeypatch.delitem(sys.modules, "broken", raising=False)


def test_two_packages_with_one_name_are_refused(site: Path) -> None:
    package(site, "first_game", "class C: ...\n", "cells = first_game:C")
    package(site, "second_game", "class C: ...\n", "cells = second_game:C")
    with pytest.raises(ValueError, match=r"several times \(first_game:C of first_game 1.5, second_game:C of"):
        codec_of(named("cells"))


@pytest.mark.parametrize(
    "name", ["evil:Codec", "evil", "./evil.py", "ludus.codecs.identity:IDENTITY", "", "e" * 5000]
)
def test_a_name_from_a_file_imports_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'marker')!r}, 'w')\nclass Codec: ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "weights.safetensors"
    spec = declare("toy", observation=[named("bits")], heads=[HeadSpec("take", 2)])
    config = EncoderConfig(hidden=(4,), dense=())
    network = build_network(config, spec, seed=0)
    hostile = msgspec.structs.replace(spec, observation=(msgspec.structs.replace(named("bits"), codec=name),))
    meta = WeightsMeta(
        version=1,
        spec_hash=hostile.spec_hash,
        architecture=msgspec.json.encode(config).decode(),
        spec=msgspec.json.encode(hostile).decode(),
        game="toy",
        frame_skip=1,
    )
    arrays = {n: np.asarray(t) for n, t in network.state_dict().items()}
    save_weights(Weights(meta, arrays), path)
    with pytest.raises(WeightsError, match="tensor 'cells' names the codec") as error:
        load_weights(path)
    assert len(str(error.value)) < 700
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ("TensorLayout('vector', (8, 8))", "expected a TensorLayout"),
        ("TensorLayout('vector', (0,))", "sizes from 1"),
        ("TensorLayout('blob', (1,))", "expected a TensorLayout"),
        ("(8,)", r"layout\(\) of the codec odd gives \(8,\)"),
        ("{}['x']", "KeyError"),
    ],
)
def test_an_invalid_layout_is_refused(layout: str, message: str) -> None:
    class Odd(OneHot):
        def layout(self, spec: TensorSpec) -> TensorLayout:
            made: TensorLayout = eval(layout)
            return made

    register_codec("odd", Odd())
    with pytest.raises(ValueError, match=message):
        layout_of(named("odd"))


def test_a_decoded_tensor_has_the_declared_shape() -> None:
    class Short(OneHot):
        def decode(self, spec: TensorSpec, packed: Tensor) -> Tensor:
            return packed.float()

    register_codec("short", Short())
    spec = declare("toy", observation=[named("short")], heads=[HeadSpec("take", 2)])
    network = PolicyNetwork(EncoderConfig(hidden=(4,), dense=()), spec, seed=0)
    with pytest.raises(
        ValueError, match=r"codec short gives .*\[2, 1\], its layout\(\) declares float32\[2, 8\]"
    ):
        network.vectors({"cells": torch.zeros((2, 1), dtype=torch.uint8)})


def test_worker_processes_register_codecs_without_torch(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom ludus.codecs import TensorLayout, register_codec\n"
        "register_codec('x', 'my_package.codec:Codec')\nsys.exit('torch' in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
