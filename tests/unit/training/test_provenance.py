"""Weights files of a run are complete: parameters, preset, floors; a lone copy starts the next run."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import msgspec
import numpy as np

import ludus
from ludus.flow.weights import Provenance
from ludus.policies.weights import load_meta, load_weights
from ludus.reporting import provenance
from ludus.storage import RunDirectory, resolve_weights
from ludus.training.runs import start_run

from .runs import resume_run, small_preset

SMALL: dict[str, object] = {
    "evaluation__every_steps": 0,
    "evaluation__matches": 4,
    "evaluation__final_matches": 4,
    "run__max_steps": 128,
    "game__params__opens": "random",
}


def provenance_in(path: Path) -> Provenance:
    found = load_meta(path).provenance
    assert found is not msgspec.UNSET
    return found


def test_a_run_describes_its_weights_and_a_copy_of_them_starts_another(tmp_path: Path) -> None:
    preset = small_preset(**SMALL)
    start_run(preset, tmp_path / "one")
    run = RunDirectory(tmp_path / "one")
    path = resolve_weights(f"{run.path}@last")
    about = provenance_in(path)
    assert about.params == {"opens": "random"}
    assert about.preset.encode() == run.config_bytes()
    assert about.preset_sha256 == hashlib.sha256(about.preset.encode()).hexdigest()
    assert [(f.player, f.against, f.matches) for f in about.floors] == [("initial weights", "random", 4)]
    whole = provenance.provenance_of_run(run)  # uniform play is measured at the end
    assert [f.player for f in whole.floors] == ["initial weights", "uniform"]
    assert msgspec.structs.replace(whole, floors=about.floors) == about

    resume_run(run.path, more=lambda p: msgspec.structs.replace(p, run=_longer(p.run)))
    resumed = provenance_in(resolve_weights(f"{run.path}@last"))
    assert "max_steps = 256" in resumed.preset
    assert [f.player for f in resumed.floors] == ["initial weights", "uniform"]

    lone = tmp_path / "lone.safetensors"
    shutil.copy(path, lone)
    shutil.rmtree(run.path)
    result = ludus.train(str(lone), tmp_path / "two", settings={"run.max_steps": 0, "run.max_minutes": 0.001})
    own = load_weights(tmp_path / "two" / "start.safetensors")
    assert result.steps >= 0
    assert all(np.array_equal(own.tensors[n], a) for n, a in load_weights(lone).tensors.items())
    assert 'start = ""' in provenance_in(resolve_weights(f"{tmp_path / 'two'}@last")).preset


def test_a_long_preset_is_left_out(tmp_path: Path) -> None:
    preset = small_preset(**SMALL)
    long = msgspec.structs.replace(preset, title="x" * provenance.MAX_PRESET)
    assert provenance.provenance_of(long).preset == ""
    assert len(provenance.provenance_of(long).preset_sha256) == 64


def _longer(run: object) -> object:
    return msgspec.structs.replace(run, max_steps=256)  # type: ignore[type-var]
