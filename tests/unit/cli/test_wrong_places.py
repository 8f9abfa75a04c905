"""Names that a newcomer gives in a wrong place or form, and the right ones in the answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ludus.cli import __main__ as cli
from ludus.games import libraries
from ludus.mcts.text import parse_search
from ludus.sweep.config import preset_hashes, read_sweep

REACH = """
import gymnasium, numpy as np

class {name}(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {{}}

    def step(self, action):
        return np.zeros(2, np.float32), 1.0, True, False, {{}}

"""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "mcts:10+serch",
            r"mcts:10\+serch: visits = 10\+serch: expected an integer "
            r"\(did you mean mcts:10, or WEIGHTS\+search:10\?\)",
        ),
        ("mcts:ten", "mcts:ten: visits = ten: expected an integer$"),
        ("r@best+search:4x", r"visits = 4x: expected an integer \(did you mean r@best\+search:4\?\)"),
        ("mcts:0", "visits = 0: expected an integer >= 1$"),
        ("mcts:9,c_puct=high", "c_puct = high: expected a number$"),
        ("mcts:9,reuse_tree=maybe", "reuse_tree = maybe: expected true or false$"),
        ("mcts:9,fpu=zerro", r"fpu = zerro: expected one of parent, zero, loss \(did you mean zero\?\)"),
        ("r@best+search:4,symmetries=rand", r"one of one, random, all \(did you mean random\?\)"),
    ],
)
def test_a_search_names_its_option(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_search(text)


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("ALE/Pong-v5", "atari/Pong"),
        ("PongNoFrameskip-v4", "atari/Pong"),
        ("BreakoutDeterministic-v0", "atari/Breakout"),
        ("Seaquest-ramNoFrameskip-v4", "atari/Seaquest"),
        ("ALE/MsPacman-ram-v5", "atari/MsPacman"),
    ],
)
def test_ataris_names_in_gymnasium(name: str, right: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert libraries.hint(name) == f" (did you mean {right}?)"
    assert cli.main(["train", name]) == 2
    assert f"did you mean {right}?" in capsys.readouterr().err


@pytest.mark.parametrize("registered", [True, False])
def test_an_environment_given_as_a_game_of_ones_own(
    registered: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "Reaching" if registered else "Grasping"
    stem = f"ludus_test_{name.lower()}"
    line = f'gymnasium.register("{name}-v3", entry_point={name})\n'
    (tmp_path / f"{stem}.py").write_text(REACH.format(name=name) + (line if registered else ""))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for reference in (f"{stem}.py", f"{stem}:{name}"):
        assert cli.main(["train", reference, "--explain"]) == 2
        err = capsys.readouterr().err
        assert f"{name} is an environment of Gymnasium" in err
        assert f"gymnasium/{stem}:{name}-v{3 if registered else 0}" in err
        assert registered or f'gymnasium.register("{name}-v0", entry_point={name})' in err


def test_a_player_without_a_game_asks_for_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["play", "mcts:400", "--no-browser"]) == 2
    assert "the game must be named: --game GAME" in capsys.readouterr().err
    assert cli.main(["play", "no_such_player", "--no-browser"]) == 2
    assert "did you mean" not in capsys.readouterr().err


def test_a_sweep_takes_a_game_in_a_presets_place(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('preset = "gymnasium/Acrobot-v1"\nseeds = [1]\n[settings]\nrun.max_steps = 500\n')
    assert list(preset_hashes(read_sweep(str(file)))) == ["gymnasium/Acrobot-v1"]


@pytest.mark.parametrize("ending", ["genmove b\nquit\n", "lz-analyze 10\nname\nquit\n"])
def test_gtp_ends_without_noise_while_its_input_stays_open(ending: str) -> None:
    words = [sys.executable, "-m", "ludus", "gtp", "mcts:20", "--quiet"]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(f"boardsize 5\n{ending}")
    process.stdin.flush()
    assert process.wait(120) == 0
    assert process.stderr.read() == ""
    process.stdin.close()


@pytest.mark.parametrize(
    "words", ["train", "eval", "play", "gtp", "games show", "report", "resume", "replay info"]
)
@pytest.mark.parametrize("empty", ["", " "])
def test_an_empty_argument_is_named(words: str, empty: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*words.split(), empty]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"ludus {words}: ")
    assert f' = "{empty}": expected a non-empty string' in err
