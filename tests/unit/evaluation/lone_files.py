"""Weights files of small untrained networks, alone or as players of a zoo in a temporary folder."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import msgspec
import numpy as np

from ludus.flow import Weights, WeightsMeta
from ludus.flow.weights import Provenance
from ludus.games import spec
from ludus.policies.config import EncoderConfig
from ludus.policies.factory import build_network
from ludus.policies.weights import save_weights


def weights_of(game: str, params: dict[str, str] | None = None, **meta: object) -> Weights:
    """Return weights of a small network; ``meta``: fields of the metadata."""
    made = _weights(game, tuple((params or {}).items()))
    return Weights(msgspec.structs.replace(made.meta, **meta), dict(made.tensors))


@functools.lru_cache
def _weights(game: str, params: tuple[tuple[str, str], ...]) -> Weights:
    declared = spec(game, dict(params))
    network = build_network(EncoderConfig(hidden=(4,)), declared, 1)
    text = msgspec.json.encode(declared).decode()
    about = WeightsMeta(3, declared.spec_hash, network.architecture, text, declared.name, 1, 30)
    return Weights(about, {name: tensor.numpy() for name, tensor in network.state_dict().items()})


def lone_file(path: Path, game: str, params: dict[str, str] | None = None, **provenance: object) -> Path:
    """Write a weights file with its game's parameters, and return its path."""
    about = Provenance(params=params or {}, **provenance)  # type: ignore[arg-type]
    save_weights(weights_of(game, params, provenance=about), path)
    return path


def halved(weights: Weights) -> Weights:
    """Return the weights in half precision."""
    tensors = {n: a.astype(np.float16) if a.dtype == np.float32 else a for n, a in weights.tensors.items()}
    return Weights(weights.meta, tensors)


def add_to_zoo(folder: Path, name: str, weights: Weights, play: str = "", *, greedy: bool = False) -> None:
    """Write a player of a zoo: weights in half precision, and their card."""
    path = folder / f"{name}.safetensors"
    save_weights(halved(weights), path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    lines = [f'title = "{name}"', f'game = "{weights.meta.game}"', "level = 1", f'sha256 = "{digest}"']
    lines += [f'play = "{play}"', f"greedy = {str(greedy).lower()}"]
    (folder / f"{name}.toml").write_text("\n".join(lines))
