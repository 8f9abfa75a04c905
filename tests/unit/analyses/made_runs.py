"""Runs of AlphaZero with a few untrained versions, written without training."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ludus.flow import Weights, WeightsMeta
from ludus.flow.weights import Provenance
from ludus.games import spec
from ludus.policies.config import PolicyConfig, ResnetConfig
from ludus.policies.factory import build_network
from ludus.reporting.metrics import SCHEMA
from ludus.storage import Checkpoint, RunDirectory, RunInfo
from ludus.storage.jsonl import JsonlWriter

TOML = """
[game]
name = "{game}"
{params}
[algorithm]
name = "alphazero"
gate = {gate}
batch_size = 32
round_positions = 100
sample_reuse = 1.0
window_matches_min = 20
statistics_batches = 1
gate_matches = 4
[algorithm.search]
visits = 4
[algorithm.self_play]
slots = 8
[policy]
network = "resnet"
blocks = 1
filters = 4
value_hidden = 4
[evaluation]
every_steps = 0
matches = 0
final_matches = 2
against = ["mcts:4"]
visits = 2
initial = false
[run]
seed = 1
max_steps = 400
"""
GO = {"size": "5", "komi": "24.5"}


def preset_text(
    game: str = "tic_tac_toe", params: dict[str, str] | None = None, *, gate: bool = False
) -> str:
    plain = {k: v if v.replace(".", "").isdigit() else f'"{v}"' for k, v in (params or {}).items()}
    given = "[game.params]\n" + "".join(f"{k} = {v}\n" for k, v in plain.items()) if plain else ""
    return TOML.format(game=game, params=given, gate=str(gate).lower())


SMALL = ResnetConfig(blocks=1, filters=4, value_hidden=4)


def weights_of(
    version: int, game: str, params: dict[str, str] | None, policy: PolicyConfig = SMALL
) -> Weights:
    declared = spec(game, params or {})
    network = build_network(policy, declared, version + 1)
    about = WeightsMeta(
        version,
        declared.spec_hash,
        network.architecture,
        msgspec.json.encode(declared).decode(),
        declared.name,
        provenance=Provenance(params=params or {}),
    )
    return Weights(about, {name: tensor.numpy() for name, tensor in network.state_dict().items()})


def made_run(
    path: Path,
    versions: tuple[int, ...] = (1, 2, 4),
    game: str = "tic_tac_toe",
    params: dict[str, str] | None = None,
    *,
    gate: bool = False,
    policy: PolicyConfig = SMALL,
) -> Path:
    """Write a run whose versions have random weights, with two losses an update."""
    declared = spec(game, params or {})
    info = RunInfo(1, "0", declared.name, declared.spec_hash, 1, "2026-01-01T00:00:00Z", ("ludus",))
    run = RunDirectory.create(path, preset_text(game, params, gate=gate), info, 9)
    for version in versions:
        run.checkpoints.save(Checkpoint(weights_of(version, game, params, policy), {}, {}, b"{}"))
    log = JsonlWriter(run.metrics_path)
    for version in range(1, versions[-1] + 1):
        counters = {
            "version": version,
            "steps": 100 * version,
            "received": 100 * version,
            "ticks": 100 * version,
        }
        row = {"schema": SCHEMA, "kind": "update", **counters, "matches": 10 * version, "progress": 0.5}
        losses = {"loss/policy": 2.0 / version, "loss/value": 1.0 / version}
        log.append({**row, **losses, "time/minutes": float(version)})
    log.close()
    return path
