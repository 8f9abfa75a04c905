"""Runs that no one trained: a folder with the files of a run, and initial weights in it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from ludus.flow import Weights, WeightsMeta
from ludus.games import spec as spec_of
from ludus.policies.config import EncoderConfig
from ludus.policies.factory import build_network
from ludus.policies.weights import save_weights
from ludus.storage.jsonl import JsonlWriter
from ludus.storage.run_info import RunInfo
from ludus.storage.rundir import RunDirectory, utc_now

GAME = "tic_tac_toe"
NETWORK = EncoderConfig(channels=(4,), strides=(1,), dense=(8,), hidden=(16,))


def save(path: Path, game: str, version: int, seed: int = 1, config: EncoderConfig = NETWORK) -> None:
    """Write weights of a network with opinions."""
    spec = spec_of(game, {})
    network = build_network(config, spec, seed=seed)
    rng = np.random.default_rng(seed)
    tensors = {}
    for name, value in network.state_dict().items():
        array = value.numpy()
        if array.dtype == np.float32 and "variance" not in name and "epsilon" not in name:
            array = array + 0.3 * rng.standard_normal(array.shape).astype(np.float32)
        tensors[name] = array
    text = msgspec.json.encode(spec).decode()
    meta = WeightsMeta(version, spec.spec_hash, network.architecture, text, game, steps=100 * version)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_weights(Weights(meta, tensors), path)


def make_run(
    path: Path, game: str = GAME, versions: tuple[int, ...] = (3, 7), config: EncoderConfig = NETWORK
) -> RunDirectory:
    """Make the folder of a run whose later versions won more matches."""
    spec = spec_of(game, {})
    info = RunInfo(1, "0.1.0", game, spec.spec_hash, 1, utc_now(), ("ludus", "train", game))
    settings = f'[game]\nname = "{game}"\n\n[algorithm]\nname = "appo"\n'
    run = RunDirectory.create(path, settings, info)
    for version in versions:
        save(run.checkpoints.path(version) / "weights.safetensors", game, version, version, config)
    against = spec.bots[-1].name
    writer = JsonlWriter(run.metrics_path)
    for number, version in enumerate(versions):
        rate = 0.25 + 0.5 * number / len(versions)
        result = {"against": against, "win_rate": rate, "ci_low": rate - 0.1, "ci_high": rate + 0.1}
        steps = 100 * version
        row = {
            "schema": 2,
            "kind": "update",
            "version": version,
            "steps": steps,
            "time/minutes": 0.1 * version,
        }
        writer.append({**row, "loss/value": 1.0 / version})
        named = {f"eval/{against}/win_rate": rate}
        row = {
            "schema": 2,
            "kind": "evaluation",
            "version": version,
            "steps": steps,
            "time/minutes": 0.1 * version,
        }
        writer.append({**row, "results": [result], **named})
    writer.close()
    return run
