"""Weights play without the method that trained them."""

from __future__ import annotations

from pathlib import Path

import pytest

import ludus
from ludus.cli.__main__ import main
from ludus.presets.file import PresetError
from ludus.training.runs import resume_run, start_run

from .runs import small_preset


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished run whose method is not installed here."""
    folder = tmp_path / "run"
    start_run(
        small_preset(run__max_steps=256, evaluation__every_steps=0, evaluation__final_matches=2), folder
    )
    config = folder / "config.toml"
    text = config.read_text().replace('name = "appo"', 'name = "reinforce"\nbaseline = "none"', 1)
    assert "reinforce" in text
    config.write_text(text)
    return folder


def test_weights_of_a_method_that_is_not_here_play(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ludus.evaluate(f"{run}@best", "random", matches=4).matches == 4
    assert ludus.load_policy(f"{run}@best").spec.name == "tic_tac_toe"
    assert main(["rate", f"{run}@last", f"{run}@best", "random", "--matches", "2"]) == 0
    assert main(["eval", f"{run}@best", "--against", "perfect", "--matches", "2"]) == 0
    assert "tic_tac_toe" in capsys.readouterr().out


def test_its_training_does_not_continue_without_the_method(run: Path) -> None:
    with pytest.raises(PresetError, match=r'algorithm\.name = "reinforce"'):
        resume_run(run)


def test_a_game_that_is_wrong_is_an_error_still(run: Path) -> None:
    config = run / "config.toml"
    config.write_text(config.read_text().replace("[game]", "[game]\nrules = 3", 1))
    with pytest.raises(PresetError, match=r"unknown key game\.rules"):
        ludus.evaluate(f"{run}@best", "random", matches=2)
