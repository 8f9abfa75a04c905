"""Options of settings by their last part: understood, or the whole option is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.cli.__main__ import main
from ludus.cli.words import said
from ludus.flow.problem import Problem
from ludus.presets.config import preset_type
from ludus.presets.document import Document
from ludus.presets.file import load_preset, parse_preset
from ludus.presets.options import full_path, option_of
from ludus.presets.overrides import setting_paths
from ludus.storage import RunDirectory, RunInfo

PRESET = '[game]\nname = "tic_tac_toe"\n[[opponents]]\nname = "random"\n[evaluation]\nevery_steps = 0\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(PRESET)
    return tmp_path


UNDERSTOOD = {
    "--learning-rate 1e-3": "learning_rate = 0.001",
    "--max-minutes 5": "max_minutes = 5.0",
    "--seed=9": "seed = 9",
    "--slots 32": "slots = 32",
    "--hidden 8,16": "hidden = [8, 16]",
    "--every-steps 1e6": "every_steps = 1000000",
    "--lag sync": 'lag = "sync"',
    "--weight 2": "weight = 2.0",
    "--title mine": 'title = "mine"',
    "--gae-lambda .9": "gae_lambda = 0.9",
}


@pytest.mark.parametrize("words", UNDERSTOOD)
def test_the_last_part_of_a_path_is_enough(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    assert main(["train", *words.split(), "mine.toml", "--explain"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.endswith("# command line")]
    assert [line.partition("#")[0].rstrip() for line in lines] == [UNDERSTOOD[words]]


NAMED = {
    "--learning-rte 1e-3": "--learning-rte: unknown option (did you mean --algorithm.learning-rate?)",
    "--lr 1e-3": "--lr: unknown option (did you mean --algorithm.learning-rate?)",
    "--gamma 0.9": "--gamma: unknown option (did you mean --algorithm.discount?)",
    "--total-timesteps 100": "--total-timesteps: unknown option (did you mean --run.max-steps?)",
    "--matches 4": "--matches: which one? --curriculum.matches, --evaluation.matches",
    "--threads 1": "--threads: which one? --pool.threads, --run.threads",
    "--run.seed 1 --seed 2": "--seed: is --run.seed, which is given twice",
    "--target-every 3": "--algorithm.target-every: algorithm.target_every: this key needs algorithm.name =",
    "--algorithm.lr 1e-3": "--algorithm.lr: unknown key algorithm.lr (did you mean learning_rate?)",
    "--quite": "ludus train: unknown option --quite (did you mean --quiet?)",
    "--verbose": "ludus train: unknown option --verbose (options: --run-dir",
    "--learning-rate": "ludus train: --learning-rate: missing value",
    "--learning-rate fast": '--algorithm.learning-rate: algorithm.learning_rate = "fast": expected a number',
}


@pytest.mark.parametrize("words", NAMED)
def test_an_ambiguous_part_names_the_whole_options(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    assert main(["train", "mine.toml", "--explain", *words.split()]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(NAMED[words])
    assert len(err.splitlines()) == 1


def test_parameters_of_the_game_are_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "minirts", "--explain", "--map-size", "32"]) == 0
    assert "map_size = 32                              # command line" in capsys.readouterr().out
    assert main(["train", "minirts", "--explain", "--map-sise", "32"]) == 2
    assert "(did you mean --game.params.map-size?)" in capsys.readouterr().err


def test_only_settings_of_the_presets_method_count() -> None:
    """``visits`` is also the search's; a league's settings need a league."""
    document: Document = {"game": {"name": "go"}, "algorithm": {"name": "alphazero"}}
    kind = preset_type("alphazero")
    here, every = setting_paths(kind, chosen=document), setting_paths(kind)
    assert not any(path.startswith("league") for path in here)
    assert full_path("filters", here, every) == "policy.filters"
    problem = full_path("visits", here, every)
    assert isinstance(problem, Problem)
    assert said(problem) == "which one? --algorithm.search.visits, --evaluation.visits"
    assert full_path("search.visits", here, every) == "algorithm.search.visits"
    plain = setting_paths(preset_type(), chosen={"game": {"name": "go"}})
    assert full_path("visits", plain, every) == "evaluation.visits"
    assert full_path("max-steps", plain, every) == "run.max_steps"


def test_every_setting_is_understood_or_named() -> None:
    kind = preset_type()
    here = setting_paths(kind, chosen={"game": {"name": "go"}})
    for path in here:
        last = path.rpartition(".")[2]
        found = full_path(last, here, here)
        assert found == path or (isinstance(found, Problem) and option_of(path) in said(found))


def test_programs_and_sweeps_read_short_options_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    algorithm = load_preset("mine.toml", {"learning_rate": "0.25"}).preset.algorithm
    assert getattr(algorithm, "learning_rate", None) == 0.25
    parsed = parse_preset(PRESET.encode(), "x", overrides={"network": "encoder", "hidden": "4"})
    assert getattr(parsed.preset.policy, "hidden", ()) == (4,)
    (folder / "sweep.toml").write_text('preset = "mine.toml"\nseeds = [1]\n')
    words = ["sweep", "sweep.toml", "--explain", "--run-dir", "s", "--max-steps", "900"]
    assert main(words) == 0
    assert "900" in capsys.readouterr().out
    assert main([*words, "--threads", "2"]) == 2
    assert "--threads: which one? --pool.threads, --run.threads" in capsys.readouterr().err


def test_a_resumed_run_reads_the_settings_that_may_change(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    info = RunInfo(1, "0.1.0", "tic_tac_toe", "0" * 16, 1, "2026-01-01T00:00:00Z", ("ludus", "train"))
    RunDirectory.create(folder / "run", PRESET, info)
    assert main(["resume", "run", "--learning-rate", "1"]) == 2
    assert (
        "--learning-rate: a resumed run keeps its settings; only --run.max-steps" in capsys.readouterr().err
    )
    for option in ("--max-steps", "--threads", "--target"):
        assert main(["resume", "run", option, "x"]) == 2
        assert f'--run{option.replace("--", ".")} = "x"'.replace("-", "_")[5:] in capsys.readouterr().err
