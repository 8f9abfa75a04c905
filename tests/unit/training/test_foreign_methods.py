"""Weights play without the method that trained them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ludus
from ludus.algorithms import registry
from ludus.cli.__main__ import main
from ludus.presets.errors import ConfigError

from .test_method_file import EXAMPLE, SMALL, forget

LEAGUE = """
[league]
rating_share = 0.1
[[league.players]]
name = "main"
role = "pfsp"
freeze = {rule = "period", steps = 200}
[[league.players]]
name = "exploiter"
role = "main_exploiter"
freeze = {rule = "beats", against = ["mains"], min_steps = 200, max_steps = 400}
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return runs of a method from a file, one alone and one in a league, whose file no longer exists."""
    folder = tmp_path_factory.mktemp("trained")
    shutil.copy(EXAMPLE, folder / "reinforce.py")
    alone = "\n".join(
        line for line in SMALL.splitlines() if "opponents" not in line and '"random"' not in line
    )
    (folder / "alone.toml").write_text(SMALL)
    (folder / "league.toml").write_text(alone + LEAGUE)
    go = alone.replace("tic_tac_toe", "go").replace("[pool]", "[game.params]\nsize = 5\n[pool]")
    (folder / "go.toml").write_text(go.replace("600", "64").replace("matches = 30", "matches = 0"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        forget(patch)
        for name in ("alone", "league", "go"):
            words = ("train", f"{name}.toml", "--method", "reinforce.py", "--run-dir", name, "--quiet")
            assert main(words) == 0
        assert registry.find("reinforce") is not None
    (folder / "reinforce.py").unlink()
    for name in [n for n in sys.modules if n.startswith("ludus_method_")]:
        del sys.modules[name]
    assert registry.find("reinforce") is None
    return folder


@pytest.fixture
def folder(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the runs, as the current folder."""
    shutil.copytree(trained, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return tmp_path / "copy"


PLAYERS = ("alone@best", "alone@last", "league@best", "league@main", "league@exploiter", "league@main:1")


def test_weights_of_a_method_that_is_not_here_play(folder: Path) -> None:
    for player in PLAYERS[:-1]:
        assert ludus.evaluate(player, "random", matches=4).matches == 4
        assert ludus.load_policy(player).spec.name == "tic_tac_toe"


@pytest.mark.parametrize(
    "words",
    [
        ("rate", "alone@last", "league@best", "league@exploiter", "random", "--matches", "2"),
        ("eval", "alone@best", "--against", "perfect", "--matches", "2"),
        ("eval", "league@main", "--against", "alone@best+search:4", "--matches", "2", "--greedy"),
        ("league", "status", "league"),
        ("league", "ratings", "league"),
        ("report", "alone", "league"),
        ("report", "alone", "--out", "report"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_command_that_trains_nothing_needs_no_method(
    words: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(words)
    output = capsys.readouterr()
    assert code == 0, output.err
    assert "tic_tac_toe" in output.out or words[0] != "eval"


def test_replays_of_its_run_are_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replay = next((folder / "alone" / "replays").glob("*.ludus"))
    assert main(["replay", "info", str(replay)]) == 0
    assert main(["replay", "verify", str(replay)]) == 0


def test_a_board_program_plays_its_weights(folder: Path) -> None:
    words = [sys.executable, "-m", "ludus", "gtp", "go@last", "--quiet"]
    done = subprocess.run(words, input="genmove black\nquit\n", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.match(r"= ([A-E][1-5]|pass)\n", done.stdout)


def test_a_match_is_searched_with_its_weights(folder: Path) -> None:
    assert ludus.search(ludus.Match("tic_tac_toe"), "alone@best+search:8").root.visits == 8


def test_its_training_does_not_continue_without_the_method(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for run in ("alone", "league"):
        with pytest.raises(
            ConfigError, match=r"algorithm\.name = reinforce, from .*reinforce\.py: this user"
        ):
            ludus.resume(run)
    config = Path("alone/run.json")
    config.write_text(config.read_text().replace('"method": ', '"before": '))
    with pytest.raises(ConfigError, match=r"algorithm\.name = reinforce: no such method is installed"):
        ludus.resume("alone")


def test_weights_play_whatever_became_of_the_settings_of_their_run(folder: Path) -> None:
    config = Path("alone/config.toml")
    config.write_text(config.read_text().replace("[game]", "[game]\nrules = 3", 1))
    assert ludus.evaluate("alone@best", "random", matches=2).matches == 2
