"""A cluster starts only for a run that this process may train."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install 'ludus-rl[cluster]'")

from ludus.cli import __main__ as cli
from ludus.cluster.machines import RayMachines
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import ClusterConfig, Preset
from ludus.presets.document import to_toml
from ludus.presets.errors import ConfigError
from ludus.presets.file import load_preset
from ludus.storage import RunBusy, RunDirectory, RunExists, RunInfo
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run


class Started(Exception):
    """Ray was started."""


@pytest.fixture(autouse=True)
def no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(config: ClusterConfig) -> None:
        raise Started

    monkeypatch.setattr("ludus.cluster.machines.connect", connect)
    monkeypatch.setattr("ludus.cluster.machines.disconnect", connect)


KINDS = ["tic_tac_toe", "tic_tac_toe-alphazero", "minirts-league", "cartpole-dqn"]


def preset_of(name: str, address: str = "local") -> Preset:
    return load_preset(name, {"cluster.rollouts": "1", "cluster.address": address}).preset


def run_of(preset: Preset, path: Path) -> RunDirectory:
    """Return a run that has started and saved nothing yet."""
    spec, _ = resolve_spec(preset)
    info = RunInfo(1, "0", spec.name, spec.spec_hash, preset.run.seed, "2026-11-27T00:00:00Z", ("ludus",))
    return RunDirectory.create(path, to_toml(preset), info)


@pytest.mark.parametrize("name", KINDS)
def test_a_run_that_another_process_trains_is_refused_before_a_cluster_starts(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(preset_of(name), tmp_path / "run")
    with run.lock():
        assert cli.main(["resume", str(run.path), "--quiet"]) == 2
        assert "trains this run" in capsys.readouterr().err.replace("trains the run", "trains this run")
        with closing(RayMachines(preset_of(name), print)) as machines, pytest.raises(RunBusy):
            resume_run(run.path, machines=machines)
    with pytest.raises(Started), closing(RayMachines(preset_of(name), print)) as machines:
        resume_run(run.path, machines=machines)


@pytest.mark.parametrize("name", KINDS)
def test_a_directory_that_exists_is_refused_before_a_cluster_starts(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (tmp_path / "folder", tmp_path / "file", tmp_path / "link"):
        if path.name == "folder":
            path.mkdir()
        elif path.name == "file":
            path.write_text("")
        else:
            path.symlink_to("nowhere")
        assert cli.main(["train", name, "--cluster.rollouts", "1", "--run-dir", str(path)]) == 2
        assert "exists already" in capsys.readouterr().err
        with closing(RayMachines(preset_of(name), print)) as machines, pytest.raises(RunExists):
            start_run(preset_of(name), path, machines=machines)
    with pytest.raises(Started), closing(RayMachines(preset_of(name), print)) as machines:
        start_run(preset_of(name), tmp_path / "run", machines=machines)
    assert not (tmp_path / "run").exists()


def test_a_damaged_checkpoint_is_refused_before_a_cluster_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(preset_of("tic_tac_toe"), tmp_path / "run")
    (run.checkpoints.directory / "000000007").mkdir()
    assert cli.main(["resume", str(run.path), "--quiet"]) == 2
    assert "checkpoint" in capsys.readouterr().err


def test_an_address_that_is_none_is_refused_at_once() -> None:
    preset = preset_of("tic_tac_toe", "nowhere")
    with pytest.raises(ConfigError, match='"nowhere": expected "HOST:PORT"'):
        RayMachines(preset, print)
