"""A game in a preset's place: ``ludus train gymnasium/LunarLander-v3``."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ludus.cli.__main__ import main
from ludus.games import libraries, spec
from ludus.presets.checks.game import check_game
from ludus.presets.file import load_preset, shipped_presets
from ludus.presets.game_presets import run_title

CUE_GAME = Path(__file__).parents[2] / "learning" / "cue_game.py"
needs = {
    family: pytest.mark.skipif(family not in libraries.installed(), reason="not installed")
    for family in libraries.LISTED
}

CAR, FOUR = "MountainCarContinuous-v0", "connect_four"
GAMES = [
    # name of the game, its run, the shipped preset whose settings it gets ("" = those that follow from it)
    pytest.param("gymnasium/LunarLander-v3", "LunarLander-v3", "lunar-lander", marks=needs["gymnasium"]),
    pytest.param("gymnasium/CartPole-v1", "CartPole-v1", "cartpole", marks=needs["gymnasium"]),
    pytest.param("gymnasium/Pendulum-v1", "Pendulum-v1", "pendulum", marks=needs["gymnasium"]),
    pytest.param("gymnasium/Acrobot-v1", "Acrobot-v1", "", marks=needs["gymnasium"]),
    pytest.param(
        "gymnasium/MountainCarContinuous-v0", "MountainCarContinuous-v0", "", marks=needs["gymnasium"]
    ),
    pytest.param("gymnasium/Blackjack-v1", "Blackjack-v1", "", marks=needs["gymnasium"]),
    pytest.param("atari/Breakout", "Breakout", "breakout", marks=needs["atari"]),
    pytest.param("openspiel/leduc_poker", "leduc_poker", "", marks=needs["openspiel"]),
    pytest.param(
        "openspiel/connect_four", "connect_four", "openspiel-connect_four", marks=needs["openspiel"]
    ),
    pytest.param("pettingzoo/classic/rps_v2", "rps_v2", "", marks=needs["pettingzoo"]),
    ("connect_four", "connect_four", "connect-four"),
    ("capture_the_flag", "capture_the_flag", "capture-the-flag"),
    ("gomoku", "gomoku", ""),
    ("kuhn_poker", "kuhn_poker", "kuhn"),
    ("matrix", "matrix", ""),
    (str(CUE_GAME), "cue", ""),
]


@pytest.mark.parametrize(("name", "run", "base"), GAMES)
def test_every_game_has_settings(name: str, run: str, base: str) -> None:
    loaded = load_preset(name)
    check_game(loaded)  # every setting fits the game
    assert loaded.name == run
    assert Path(loaded.preset.game.name).name == Path(name).name
    assert loaded.note.startswith(f"{name}: ")
    assert loaded.preset.run.max_steps > 0 or loaded.preset.run.max_minutes > 0
    if base:
        shipped = load_preset(base).preset
        assert loaded.preset == shipped
        assert (
            f"settings of the preset {base}; to change them: ludus presets show {base} > mine" in loaded.note
        )
    else:
        assert loaded.preset.title == ""
        copied = re.search(r"the nearest preset: ludus presets show (\S+)$", loaded.note)
        assert copied is not None
        assert copied[1] in shipped_presets()
        alone = spec(loaded.preset.game.name).seats == 1
        assert bool(loaded.preset.opponents) is not alone


def test_settings_depend_on_the_spaces_of_the_game() -> None:
    pytest.importorskip("gymnasium")
    numbers, continuous = (
        load_preset(f"gymnasium/{n}").preset for n in ("Acrobot-v1", "MountainCarContinuous-v0")
    )
    board = load_preset("gomoku").preset
    assert getattr(numbers.algorithm, "entropy_coefficient", 0) > 0
    assert getattr(continuous.algorithm, "entropy_coefficient", 1) == 0
    assert getattr(board.policy, "strides", ()) == (1, 1)
    assert {o.name for o in board.opponents} == {"latest", "past"}
    assert board.evaluation.against == ("pattern", "random")


def test_options_work_as_with_a_preset(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "matrix", "--explain", "--learning-rate", "0.25", "--seed", "7"]) == 0
    out, err = capsys.readouterr()
    assert "learning_rate = 0.25                       # command line" in out
    assert err.startswith("matrix: no preset is of this game: settings for numbers and choices, by self-play")
    assert main(["train", "matrix", "--algorithm.learning-rte", "1"]) == 2
    assert "unknown key algorithm.learning_rte (did you mean learning_rate?)" in capsys.readouterr().err


def test_a_run_is_named_after_its_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands that it prints at the end name the code of a game that is not installed."""
    folder = tmp_path / "my games"
    folder.mkdir()
    (folder / "cue.py").write_bytes(CUE_GAME.read_bytes())
    monkeypatch.chdir(tmp_path)
    few = "--quiet --max-steps 200 --slots 8 --rollout-length 8 --initial false --final-matches 2"
    words = [*few.split(), "--hidden", "4", "--run.threads", "1"]
    assert main(["train", "my games/cue.py", *words]) == 0
    (run,) = (tmp_path / "runs").iterdir()
    assert re.fullmatch(r"cue-\d{8}-\d{4}-[0-9a-f]{4}", run.name)
    assert (run / "report.md").read_text().startswith("# cue-")
    steps = capsys.readouterr().out.partition("next steps\n")[2].splitlines()
    words_of = [shlex.split(line) for line in steps]
    assert words_of[0][:3] == ["ludus", "eval", f"runs/{run.name}@best"]
    assert words_of[0][3:5] == ["--game", str(folder / "cue.py")]
    assert main([*words_of[0][1:-1], "2"]) == 0  # it can be pasted
    assert main([*words_of[-1][1:], "--quiet", "--final-matches", "2"]) == 0


def test_a_game_that_replaces_the_preset_s_names_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    loaded = load_preset("tic_tac_toe", {"game.name": "connect_four"})
    assert (loaded.name, loaded.preset.title) == ("connect_four", "")
    loaded = load_preset("tic_tac_toe", {"game.name": "connect_four", "title": "mine"})
    assert (loaded.name, loaded.preset.title) == ("connect_four", "mine")
    assert load_preset("tic_tac_toe", {"run.seed": "3"}).name == "tic_tac_toe"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("gymnasium/CartPole-v1", "CartPole-v1"),
        ("gymnasium/my_env:Reach-v0", "Reach-v0"),
        ("pettingzoo/classic/rps_v2", "rps_v2"),
        ("my game / the 'best'", "the-best"),
        ("../..", "game"),
        ("-x", "x"),
    ],
)
def test_names_of_runs_are_names_of_folders(name: str, title: str) -> None:
    assert run_title(name) == title


OTHERS = {
    "my rules.toml": (
        (Path(libraries.__file__).parent / "rulebooks" / "extended.toml").read_text(),
        "a rulebook, not a preset; train on it: ludus train extended --game.params.rulebook 'my rules.toml'",
    ),
    "pikes.toml": ("[units.pike]\nhp = 3\n", "a rulebook, not a preset; train on it: ludus train extended"),
    "own.toml": ('extends = "extended"\n', "a rulebook, not a preset; train on it: ludus train extended"),
    "sweep.toml": ('preset = "x"\nseeds = 2\n', "a sweep, not a preset; run it: ludus sweep sweep.toml"),
    "runs": ("", "a run, not a preset; to resume it: ludus resume runs"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_errors_about_other_files_suggest_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    text, message = OTHERS[name]
    if text:
        Path(name).write_text(text)
    else:
        Path(name).mkdir()
        (Path(name) / "config.toml").write_text("")
    assert main(["train", name]) == 2
    assert capsys.readouterr().err.startswith(f"{name}: {message}")
    command = message.partition(": ")[2]
    if name == "my rules.toml":
        assert main([*shlex.split(command)[1:], "--explain"]) == 0


OWN_NAMES = [
    pytest.param("LunarLander-v3", "gymnasium/LunarLander-v3", marks=needs["gymnasium"]),
    pytest.param("LunarLander-v2", "gymnasium/LunarLander-v3", marks=needs["gymnasium"]),
    pytest.param("acrobot", "gymnasium/Acrobot-v1", marks=needs["gymnasium"]),
    pytest.param("ALE/Breakout-v5", "atari/Breakout", marks=needs["atari"]),
    pytest.param("MsPacman", "atari/MsPacman", marks=needs["atari"]),
    pytest.param("connect_four_v3", "pettingzoo/classic/connect_four_v3", marks=needs["pettingzoo"]),
    pytest.param("hex", "openspiel/hex", marks=needs["openspiel"]),
    pytest.param("deadly_corridor", "vizdoom/deadly_corridor", marks=needs["vizdoom"]),
]


@pytest.mark.parametrize(("name", "reference"), OWN_NAMES)
def test_the_name_in_a_library_suggests_its_game(
    capsys: pytest.CaptureFixture[str], name: str, reference: str
) -> None:
    for words in (["games", "show", name], ["games", "check", name], ["train", name]):
        assert main(words) == 2
        assert f"(did you mean {reference}?)" in capsys.readouterr().err
    spec_of = reference.partition("/")[0]
    assert reference in libraries.names(spec_of)


def test_games_list_mentions_other_libraries(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "list"]) == 0
    out = capsys.readouterr().out
    for family in libraries.LISTED:
        assert f"\n  {family}/" in out
    for family in libraries.installed():
        assert f"ludus games list {family}\n" in out
        assert main(["games", "list", family]) == 0
        listed = capsys.readouterr().out.partition("\n\n")[0].splitlines()
        missing = libraries.missing(family)
        assert [line.split() for line in listed] == [
            [name, "not", "fetched"] if name in missing else [name] for name in libraries.names(family)
        ]
    assert main(["games", "list", "gymnasiun"]) == 2
    assert "unknown library gymnasiun (did you mean gymnasium?)" in capsys.readouterr().err
