"""Whole numbers in float form are integers, whichever way they come in."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec.inspect as mi
import pytest

import ludus
from ludus.cli.__main__ import main
from ludus.flow.inputs.whole import LARGEST, number_of, whole, whole_text
from ludus.flow.spec import ParamSpec
from ludus.games import rulebook, spec
from ludus.games.python_game import typed_params
from ludus.mcts.planner import parse_plan
from ludus.mcts.text import parse_search
from ludus.presets import schema
from ludus.presets.config import Preset, RunConfig
from ludus.presets.file import PresetError, parse_preset
from ludus.sweep.config import read_sweep

FORMS = ("1000", "1e3", "1000.0", "1.0e3")
WRONG = ("1.5", "1e400", "nan", "true")
GAME = '[game]\nname = "tic_tac_toe"\n'


@pytest.mark.parametrize("text", FORMS)
def test_the_forms_of_an_integer(text: str) -> None:
    assert whole_text(text) == number_of(text) == 1000
    assert type(whole_text(text)) is int
    assert whole(float(text)) == 1000


def test_other_numbers_are_none() -> None:
    assert [whole_text(text) for text in ("1.5", "nan", "inf", "1e400", "x", "", "true")] == [None] * 7
    assert number_of("1.5") == 1.5
    assert number_of("nan") is number_of("1e400") is None
    assert whole(True) is True
    assert type(whole(float(LARGEST * 4))) is float  # not one integer alone


@pytest.mark.parametrize("text", FORMS)
def test_a_preset_an_option_and_python_agree(text: str) -> None:
    from_file = parse_preset(f"{GAME}[run]\nmax_steps = {text}\n".encode(), "p.toml").preset
    from_option = parse_preset(GAME.encode(), "p.toml", overrides={"run.max_steps": text}).preset
    assert from_file.run.max_steps == from_option.run.max_steps == 1000
    assert type(from_file.run.max_steps) is type(from_option.run.max_steps) is int


@pytest.mark.parametrize("text", WRONG)
def test_every_other_number_is_refused_with_its_place(text: str) -> None:
    toml = {"1e400": "inf"}.get(text, text)
    with pytest.raises(PresetError, match=r"^p.toml: run.max_steps = .*: expected an integer >= 0"):
        parse_preset(f"{GAME}[run]\nmax_steps = {toml}\n".encode(), "p.toml")
    with pytest.raises(
        PresetError, match=r"^settings\[\"run.max_steps\"\]: run.max_steps = .*: expected an integer >= 0"
    ):
        parse_preset(GAME.encode(), "p.toml", overrides={"run.max_steps": text})


def test_lists_tables_and_leagues_have_integers_too() -> None:
    text = f"{GAME}[policy]\nhidden = [16.0, 3.2e1]\n[game.before]\nover_steps = 1e3\nparams = {{}}\n"
    preset = parse_preset(text.encode(), "p.toml").preset
    assert getattr(preset.policy, "hidden", ()) == (16, 32)
    assert preset.game.before is not None
    assert preset.game.before.over_steps == 1000
    text = GAME + '[league]\nlanes = 2.0\n[[league.players]]\nname = "a"\ncount = 2.0\n'
    league = parse_preset(text.encode(), "p.toml")
    assert league.preset.league is not None
    assert (league.preset.league.lanes, league.preset.league.players[0].count) == (2, 2)


def test_values_of_unknown_type_keep_their_form() -> None:
    """A parameter of a game may be a string, and "1.0" is not "1" then."""
    assert schema.number("16.0") == 16.0
    assert type(schema.number("16.0")) is float
    assert schema.number("1e3") == 1000
    assert type(schema.number("1e3")) is int
    kind = mi.type_info(Preset)
    document = {"game": {"name": "x", "params": {"rate": 1.0}}}
    assert type(schema.canonical(document, kind)["game"]["params"]["rate"]) is float  # type: ignore[index]


def test_a_preset_object_is_checked_as_a_file_is(tmp_path: Path) -> None:
    with pytest.raises(PresetError, match=r"run.max_steps = 1.5: expected an integer"):
        ludus.train(Preset(ludus_game(), run=RunConfig(max_steps=1.5)), tmp_path / "run")  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()


def ludus_game() -> object:
    return parse_preset(GAME.encode(), "p").preset.game


@pytest.mark.parametrize("matches", [10, 1e1])
def test_options_of_python_functions(matches: float) -> None:
    result = ludus.evaluate("random", "random", game="tic_tac_toe", matches=matches)  # type: ignore[arg-type]
    assert result.matches == 10


@pytest.mark.parametrize("matches", [1.5, float("nan"), float("inf"), True])
def test_wrong_options_of_python_functions(matches: float) -> None:
    with pytest.raises(ValueError, match=r"matches = .*: expected an integer"):
        ludus.evaluate("random", "random", game="tic_tac_toe", matches=matches)  # type: ignore[arg-type]


def test_players() -> None:
    weights, search = parse_search("mcts:1e3,gumbel_moves=16.0,rollouts=2e0")
    assert (weights, search.search.visits, search.search.gumbel_moves, search.rollouts) == ("", 1000, 16, 2)
    plan = parse_plan("plan:8.0x1e2,threads=1.0")
    assert (plan.trees, plan.rollouts, plan.threads) == (8, 100, 1)
    for text in ("mcts:1.5", "mcts:nan", "mcts:1e400", "mcts:true"):
        with pytest.raises(ValueError, match="visits"):
            parse_search(text)


@pytest.mark.parametrize(("text", "fits"), [("32", True), ("3.2e1", True), ("32.0", True), ("32.5", False)])
def test_parameters_of_games(text: str, fits: bool, capsys: pytest.CaptureFixture[str]) -> None:
    declared = [ParamSpec("heap", "integer", "20", 0, 100)]
    nine = text.replace("32", "9").replace("3.2e1", "0.9e1")
    preset = f'[game]\nname = "gomoku"\n[game.params]\nsize = {nine}\n'
    if fits:
        assert typed_params(declared, {"heap": text}) == {"heap": 32}
        raw = parse_preset(preset.encode(), "p").preset.game.params
        assert spec("gomoku", raw).observation[0].shape[-1] == 9
        size = str(raw["size"])
        assert main(["games", "show", "gomoku", "--param", f"size={size}"]) == 0
    else:
        with pytest.raises(ValueError, match=r"heap = 32.5: expected an integer"):
            typed_params(declared, {"heap": text})
        assert main(["games", "show", "gomoku", "--param", "size=9.5"]) == 2
        assert "size = 9.5: expected an integer" in capsys.readouterr().err


def test_rulebooks(tmp_path: Path) -> None:
    path = tmp_path / "book.toml"
    path.write_text('extends = "extended"\nunits.peasant.hp = 5.0e1\n')
    assert rulebook.keys(rulebook.read(path))["units.peasant.hp"] == "50"
    path.write_text('extends = "extended"\nunits.peasant.hp = 50.5\n')
    with pytest.raises(ValueError, match=r"units.peasant.hp = .*50.5.*expected an integer"):
        rulebook.read(path)


def test_sweep_files(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        'preset = "tic_tac_toe"\nseeds = 3.0\nworkers = 2e0\ncount = 1e1\n'
        '[random]\n"pool.slots".integer = [1e1, 2.0e1]\n'
    )
    config = read_sweep(str(path))
    assert (config.seeds, config.workers, config.count) == ((1, 2, 3), 2, 10)
    assert config.random["pool.slots"].values == (10, 20)
    path.write_text('preset = "tic_tac_toe"\nseeds = [1.0, 2e0]\n')
    assert read_sweep(str(path)).seeds == (1, 2)
    for wrong in ("1.5", "true", "nan", "[1.5]"):
        path.write_text(f'preset = "tic_tac_toe"\nseeds = {wrong}\n')
        with pytest.raises(PresetError, match="seeds = "):
            read_sweep(str(path))


def test_options_of_commands(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["eval", "random", "--against", "random", "--game", "tic_tac_toe", "--json", "--matches"]
    assert main([*words, "1.0e1"]) == 0
    assert json.loads(capsys.readouterr().out)["matches"] == 10
    assert main([*words, "10.5"]) == 2
