"""``run.start``: a new run starts with the weights of another, and needs no file of it afterwards."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from ludus.algorithms.registry import method_of
from ludus.cli.__main__ import main
from ludus.policies.weights import load_weights, save_weights
from ludus.presets.checks.game import check_game
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.file import PresetError, load_preset, parse_preset
from ludus.storage import RunDirectory
from ludus.training.actor_learner.build import build_learner
from ludus.training.alphazero.components import build_alphazero
from ludus.training.runs import start_run
from ludus.training.start import load_start
from tests.unit.training.runs import resume_run

from .runs import reproducible_rows, small_preset
from .settings_table import SELF
from .test_runs import last_weights, same_weights

QUIET: dict[str, object] = {
    "evaluation__every_steps": 0,
    "evaluation__matches": 0,
    "evaluation__final_matches": 0,
    "run__max_steps": 400,
}


def trained(folder: Path, **overrides: object) -> Path:
    """Return a finished run of 400 steps, with statistics of observations."""
    run = folder / "source"
    start_run(small_preset(**{**QUIET, **overrides}), run)
    return run


def fine_tuning(start: str, **overrides: object) -> Preset:
    return small_preset(**{**QUIET, "run__seed": 9, "run__start": start, **overrides})


def test_a_run_starts_with_the_weights_and_without_the_optimiser(tmp_path: Path) -> None:
    source = trained(tmp_path)
    theirs = load_weights(last_weights(source))
    learner = build_learner(fine_tuning(f"{source}@last"))
    started = learner.weights()
    assert all(np.array_equal(started.tensors[n], theirs.tensors[n]) for n in theirs.tensors)
    assert any("values" in n and theirs.tensors[n].any() for n in theirs.tensors), sorted(theirs.tensors)
    assert started.meta.version == 0
    assert started.meta.steps == 0
    arrays, counters = learner.state()
    assert counters["adam_steps"] == 0
    assert not any(a.any() for n, a in arrays.items() if n.startswith("adam."))


def test_a_resumed_run_does_not_need_its_source(tmp_path: Path) -> None:
    source = trained(tmp_path)
    preset = fine_tuning(f"{source}@last")
    start_run(preset, tmp_path / "whole")
    start_run(preset, tmp_path / "killed")
    shutil.rmtree(source)
    killed = RunDirectory.open(tmp_path / "killed")
    for version in killed.checkpoints.versions():  # as if it had been killed before its first checkpoint
        shutil.rmtree(killed.checkpoints.directory / f"{version:09d}")
    (killed.checkpoints.directory / "last.json").unlink(missing_ok=True)
    resume_run(tmp_path / "killed")
    assert same_weights(last_weights(tmp_path / "killed"), last_weights(tmp_path / "whole"))
    assert reproducible_rows(killed.metrics_path) == reproducible_rows(tmp_path / "whole" / "metrics.jsonl")
    killed.start.unlink()
    resume_run(tmp_path / "killed")  # with a checkpoint not even the copy is needed


def test_other_weights_are_refused_in_one_line_and_leave_nothing(tmp_path: Path) -> None:
    source = trained(tmp_path)
    name = f"{source}@last"
    cases = {
        "policy.hidden = [16], expected [8] as in the preset": fine_tuning(name, policy__hidden=8),
        "weights of tic_tac_toe, expected weights of connect_four": fine_tuning(
            name, game__name="connect_four"
        ),
        "not a run directory": fine_tuning(str(tmp_path / "missing@best")),
        "no such weights file": fine_tuning("nothing.safetensors"),
        'policy.network = "encoder", expected "resnet"': parse_preset(
            SELF.encode(), "self", overrides={"run.start": name}
        ).preset,
    }
    for expected, preset in cases.items():
        with pytest.raises(ConfigError) as error:
            start_run(preset, tmp_path / "run")
        text = str(error.value)
        assert text.startswith(f'run.start = "{preset.run.start}": '), text
        assert expected in text, text
        assert "\n" not in text
        assert not (tmp_path / "run").exists()


def test_alphazero_starts_with_the_weights_too(tmp_path: Path) -> None:
    other = parse_preset(SELF.encode(), "self", overrides={"run.seed": "5"}).preset
    first = build_alphazero(other)
    save_weights(first.learner.weights(), tmp_path / "other.safetensors")
    start = str(tmp_path / "other.safetensors")
    preset = parse_preset(SELF.encode(), "self", overrides={"run.start": start}).preset
    assert method_of(preset.algorithm).name == "alphazero"
    second = build_alphazero(preset)
    for components in (first, second):
        components.learner.publish(None)
    theirs, started = first.learner.weights().tensors, second.learner.weights().tensors
    assert all(np.array_equal(started[n], theirs[n]) for n in theirs)
    assert any(not np.array_equal(a, theirs[n]) for n, a in unlike(SELF).items())


def unlike(text: str) -> dict[str, np.ndarray]:
    """Return weights of the preset's own seed."""
    components = build_alphazero(parse_preset(text.encode(), "self").preset)
    components.learner.publish(None)
    return components.learner.weights().tensors


def test_without_a_start_nothing_changes() -> None:
    preset = small_preset()
    network = build_learner(preset).network
    before = {n: t.clone() for n, t in network.state_dict().items()}
    load_start(network, preset)
    assert all(before[n].equal(t) for n, t in network.state_dict().items())


def test_a_league_has_seeds_of_its_own() -> None:
    loaded = load_preset("minirts-league", {"run.start": "runs/other@best"})
    with pytest.raises(PresetError) as error:
        check_game(loaded)
    assert 'run.start = "runs/other@best": expected none where there is a league' in str(error.value)


@pytest.mark.slow
def test_stages_are_two_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    short = ["--run.max-steps", "100", "--pool.slots", "8", "--evaluation.matches", "0", "--quiet"]
    short += ["--evaluation.final-matches", "2", "--run.threads", "1"]
    assert main(["train", "minirts-stage2", *short]) == 2
    expected = 'run.start = "runs/minirts-stage1@best": runs/minirts-stage1: not a run directory'
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line]
    assert expected in line
    assert not (tmp_path / "runs").exists()
    assert main(["train", "minirts-stage1", "--run-dir", "runs/minirts-stage1", *short]) == 0
    assert main(["train", "minirts-stage2", "--run-dir", "runs/second", *short]) == 0
    first = load_weights(tmp_path / "runs" / "second" / "start.safetensors")
    source = RunDirectory.open(Path("runs/minirts-stage1")).checkpoints.weights_path("best")
    assert first.meta == load_weights(source).meta
