"""All weights of a run name the run, once its directory has the description."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from ludus.flow import Weights, WeightsMeta
from ludus.flow.weights import Provenance, WeightsFloor
from ludus.storage import Checkpoint, RunDirectory, RunInfo, read_weights

FLOOR = WeightsFloor("initial weights", "random", 20, 0.5, 0.3, 0.7)
NEW = Provenance({"size": "5"}, "0" * 64, "[game]\n", "0.1.0", (FLOOR,))


def weights(version: int, provenance: Provenance | msgspec.UnsetType = msgspec.UNSET) -> Weights:
    meta = WeightsMeta(version, "0" * 16, "{}", "{}", "go", provenance=provenance)
    return Weights(meta, {"a": np.ones(3, np.float32)})


def write_all(run: RunDirectory, own: Provenance | msgspec.UnsetType) -> list[Path]:
    """Write weights wherever a run does, and return the files."""
    one = weights(7, own)
    folder = run.checkpoints.save(Checkpoint(one, {}, {}, b"{}", members={"main": one}, player="main"))
    return [
        *folder.glob("*weights*"),
        *folder.glob("main*"),
        run.frozen.save("main", one),
        run.save_snapshot(one),
    ]


@pytest.mark.parametrize("own", [msgspec.UNSET, Provenance({"size": "9"})])
def test_every_file_has_the_provenance_of_the_run(
    tmp_path: Path, own: Provenance | msgspec.UnsetType
) -> None:
    run = RunDirectory.create(tmp_path / "run", "", RunInfo(1, "0", "go", "0", 1, "now", ()))
    before = write_all(run, own)
    assert len(before) == 4
    assert all(read_weights(path).meta.provenance == own for path in before)
    run.write_provenance(NEW)
    assert all(read_weights(path).meta.provenance == NEW for path in write_all(run, own))
