"""Weights files: round trip, and refusal of everything that is not one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from safetensors.numpy import save

from ludus.flow import Weights, WeightsMeta
from ludus.policies.config import EncoderConfig, ResnetConfig, decode_config, encode_config
from ludus.policies.network import PolicyNetwork
from ludus.policies.weights import WeightsError, build_policy, load_weights, save_weights
from tests.unit.synthetic import make_spec, tensor

SPEC = make_spec((tensor("planes", "u8", (2, 5, 5)), tensor("numbers", "f32", (3,))), (3,))
CONFIG = EncoderConfig(channels=(4,), strides=(2,), dense=(8,), hidden=(16,), memory="gru", memory_size=8)


def example() -> Weights:
    network = PolicyNetwork(CONFIG, SPEC, seed=1)
    meta = WeightsMeta(
        7, SPEC.spec_hash, network.architecture, msgspec.json.encode(SPEC).decode(), SPEC.name, 50, 9
    )
    return Weights(meta, {n: t.numpy().copy() for n, t in network.state_dict().items()})


def test_round_trip_builds_an_equal_policy_from_the_file_alone(tmp_path: Path) -> None:
    weights = example()
    save_weights(weights, tmp_path / "w.safetensors")
    assert os.listdir(tmp_path) == ["w.safetensors"]
    loaded = load_weights(tmp_path / "w.safetensors")
    assert loaded.meta == weights.meta
    network = build_policy(loaded)
    assert isinstance(network, PolicyNetwork)
    for name, value in network.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), weights.tensors[name])
        assert value.numpy().dtype == weights.tensors[name].dtype
    obs = {"planes": torch.ones(2, 2, 5, 5, dtype=torch.uint8), "numbers": torch.ones(2, 3)}
    first = torch.ones(2, dtype=torch.bool)
    original = PolicyNetwork(CONFIG, SPEC, seed=1)
    assert torch.equal(
        network.step(obs, network.initial_memory(2), first).logits,
        original.step(obs, original.initial_memory(2), first).logits,
    )


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "w.safetensors"
    save_weights(example(), path)
    before = path.read_bytes()

    def full_disk(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save_weights(example(), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["w.safetensors"]


def _meta(weights: Weights, **changes: str | int) -> Weights:
    return Weights(msgspec.structs.replace(weights.meta, **changes), weights.tensors)


def _config(weights: Weights, **changes: object) -> Weights:
    fields = {**msgspec.json.decode(weights.meta.architecture), **changes}
    return _meta(weights, architecture=msgspec.json.encode(fields).decode())


def _tensors(weights: Weights, change: Callable[[dict[str, np.ndarray]], object]) -> Weights:
    tensors = dict(weights.tensors)
    change(tensors)
    return Weights(weights.meta, tensors)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda w: _tensors(w, lambda t: t.pop("value_head.bias")), "'value_head.bias' is missing"),
        (lambda w: _tensors(w, lambda t: t.update(extra=np.zeros(3))), "'extra' does not belong"),
        (
            lambda w: _tensors(w, lambda t: t.update({"value_head.bias": np.zeros(2, np.float32)})),
            r"'value_head.bias' is F32\[2\], expected F32\[1\]",
        ),
        (
            lambda w: _tensors(w, lambda t: t.update({"value_head.bias": np.zeros(1, np.float64)})),
            r"is F64\[1\], expected F32\[1\]",
        ),
        (
            lambda w: _tensors(w, lambda t: t.update({"value_head.bias": np.full(1, np.nan, np.float32)})),
            "not finite",
        ),
        (lambda w: _meta(w, spec_hash="0" * 16), "spec hash 0000000000000000 does not match"),
        (lambda w: _meta(w, game="chess"), "game 'chess' does not match"),
        (lambda w: _meta(w, spec="{}"), "missing required field"),
        (lambda w: _meta(w, architecture="["), "w.safetensors"),
        (lambda w: _config(w, hidden=[1 << 30]), "<= 1048576"),
        (lambda w: _config(w, hidden=[8] * 1000), "length <= 256"),
        (lambda w: _config(w, hidden=[1 << 20, 1 << 20]), "does not belong|is missing|expected"),
        (lambda w: _config(w, memory="none"), "does not belong"),
        (lambda w: _config(w, inputs=["nothing"]), "'nothing'"),
        (lambda w: _config(w, evil=1), "evil"),
    ],
)
def test_files_that_do_not_fit_are_refused(
    tmp_path: Path, spoil: Callable[[Weights], Weights], message: str
) -> None:
    save_weights(spoil(example()), tmp_path / "w.safetensors")
    with pytest.raises(WeightsError, match=message):
        load_weights(tmp_path / "w.safetensors")


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    with pytest.raises(FileNotFoundError):
        load_weights(path)
    save_weights(example(), path)
    with pytest.raises(WeightsError, match="at most 100"):
        load_weights(path, max_bytes=100)
    path.write_bytes(save({"a": np.zeros(3)}))
    with pytest.raises(WeightsError, match="not a Ludus weights file"):
        load_weights(path)
    path.write_bytes(b"")
    with pytest.raises(WeightsError, match="not a readable safetensors file"):
        load_weights(path)
    path.write_bytes(b"\xff" * 4096)
    with pytest.raises(WeightsError, match="not a readable safetensors file"):
        load_weights(path)


def test_mutated_files_are_refused_or_harmless(tmp_path: Path) -> None:
    """Bytes flipped and files cut anywhere: a clear error, or the same shapes with finite numbers."""
    path = tmp_path / "w.safetensors"
    save_weights(example(), path)
    data = path.read_bytes()
    rng = np.random.default_rng(1)
    refused = 0
    for i in range(300):
        spoiled = bytearray(data)
        if i % 3 == 0:
            spoiled = spoiled[: int(rng.integers(0, len(data)))]
        else:
            where = int(rng.integers(0, 3000 if i % 3 == 1 else len(data)))
            spoiled[where] ^= 1 << int(rng.integers(0, 8))
        path.write_bytes(bytes(spoiled))
        try:
            loaded = load_weights(path)
        except WeightsError:
            refused += 1
        else:
            assert {n: a.shape for n, a in loaded.tensors.items()} == {
                n: a.shape for n, a in example().tensors.items()
            }
    assert refused > 150


def test_a_configuration_names_its_network() -> None:
    for config in (EncoderConfig(hidden=(8,)), ResnetConfig(blocks=3, filters=16)):
        assert decode_config(encode_config(config)) == config
    with pytest.raises(msgspec.ValidationError, match="network"):
        decode_config('{"hidden": [8]}')
