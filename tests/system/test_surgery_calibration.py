"""Statistics of new units under batch norm come from matches, layer after layer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ludus.algorithms.updates.forward import forward, units_of
from ludus.algorithms.updates.samples import Samples
from ludus.policies.layers.batch_norm import BatchNorm, NormSums, observing
from ludus.policies.network import PolicyNetwork
from ludus.presets.config import Preset
from ludus.storage import RunDirectory
from ludus.training.surgery import record
from ludus.training.surgery.calibration import new_places
from ludus.training.surgery.record import network_of
from tests.system.test_surgery_runs import cut, operated, preset_named
from tests.unit.training.runs import resume_run

NORM = {"policy__norm": "batch", "policy__hidden": "16,16"}


def observed(preset: Preset, network: PolicyNetwork, run: Path) -> dict[str, torch.Tensor]:
    """Return mean and variance ``[2, C]`` of each norm's outputs in matches of a run's newest weights."""
    weights = RunDirectory.open(run).checkpoints.load_last()[0].weights
    slab, policy = record.record(preset, weights)
    samples, sums = Samples(slab, network, policy), NormSums(network)
    wanted = samples.learner_mask[:-1]
    with observing(sums.norms) as seen, torch.no_grad():
        forward(network, samples, units_of(network, wanted), wanted)
    sums.add(seen)
    names = [n for n, m in network.named_modules() if isinstance(m, BatchNorm)]
    moments = {n: t[:2] / t[2] for n, t in zip(names, sums.sums, strict=True) if t is not None}
    return {n: torch.stack([m[0], m[1] - m[0].square()]) for n, m in moments.items()}


@pytest.mark.parametrize("memory", ["none", "lstm"])
def test_new_units_start_with_the_statistics_of_matches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: str
) -> None:
    monkeypatch.setattr(record, "STEPS", 32)
    one = {**NORM, "policy__memory": memory, "policy__memory_size": 8}
    old = cut(preset_named("sync", **one), tmp_path / "old", update=3)
    new = preset_named("sync", **{**one, "policy__hidden": "24,32"})
    operation = operated(old, new, tmp_path / "new", settle=0)
    units = new_places(operation.conversion.plan).units
    assert [len(u) for u in units.values()] == [8, 16]
    assert operation.outline().calibrated == (0, 24)
    before, after = (RunDirectory.open(r).checkpoints.load_last()[0].weights for r in (old, tmp_path / "new"))
    for name, places in units.items():
        for leaf in ("mean", "variance"):
            kept = np.delete(after.tensors[f"{name}.{leaf}"], places)
            assert kept.tobytes() == before.tensors[f"{name}.{leaf}"].tobytes()
    moments = observed(new, network_of(after), tmp_path / "new")
    for name, places in units.items():
        assert moments[name][0, places].abs().max() < 1e-5
        assert (moments[name][1, places] - 1.0).abs().max() < 1e-3


def test_settling_moves_statistics_and_no_weight(tmp_path: Path) -> None:
    old = cut(preset_named("sync", **NORM), tmp_path / "old", update=3)
    operated(old, preset_named("sync", **{**NORM, "policy__hidden": "24,24"}), tmp_path / "new", settle=1000)
    store = RunDirectory.open(tmp_path / "new").checkpoints
    before = store.load_last()[0]
    resume_run(tmp_path / "new")
    after = store.load_last()[0]
    moved = {n for n, a in before.optimizer.items() if a.tobytes() != after.optimizer[n].tobytes()}
    assert "network.join.norms.0.mean" in moved
    values = ("network.values.", "network.normaliser.", "network.value_head.")  # PopArt rescales the head
    weights = {n for n in moved if n.startswith("network.") and not n.startswith(values)}
    assert weights == {n for n in weights if ".norms." in n and not n.endswith(".bias")}
