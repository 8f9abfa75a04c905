from __future__ import annotations

import importlib.metadata
import sys
import types
from pathlib import Path

import pytest

from ludus.games import find, list_games, spec, text_params
from ludus.games.names import typed
from ludus.native import ParamError, core
from tests.unit.forget import forget


def test_the_skeleton_is_listed_and_declares_its_spec() -> None:
    assert "tic_tac_toe" in list_games()
    s = spec("tic_tac_toe")
    assert (s.seats, s.turn_based, s.max_ticks, s.mask_size) == (2, True, 9, 9)
    assert s.observation[0].packed_shape == (3,)
    assert [b.name for b in s.bots] == ["random", "perfect"]


def test_small_boards_of_go_get_enough_turns_to_capture_dead_stones() -> None:
    turns = {size: spec("go", {"size": size}).max_ticks for size in (5, 9, 10, 11, 19)}
    assert turns == {5: 200, 9: 200, 10: 200, 11: 242, 19: 722}
    assert spec("go", {"size": 5, "max_moves": 30}).max_ticks == 30


def test_the_spec_hash_depends_on_what_policies_read_and_on_nothing_else() -> None:
    assert spec("tic_tac_toe").spec_hash == spec("tic_tac_toe", {"opens": "random"}).spec_hash
    assert len({spec(g).spec_hash for g in list_games()}) == len(list_games())


@pytest.mark.parametrize(
    ("game", "params", "message"),
    [
        ("tic_tac_to", {}, "unknown game 'tic_tac_to' (did you mean tic_tac_toe?)"),
        ("tic_tac_toe", {"open": "seat0"}, "unknown parameter 'open' (did you mean opens?)"),
        (
            "tic_tac_toe",
            {"opens": "seat2"},
            "tic_tac_toe.opens = 'seat2': unknown choice (did you mean seat0?)",
        ),
        ("tic_tac_toe", {"opens": [1]}, "parameter opens = [1]: expected a number or a string"),
        ("./nowhere", {}, "nowhere: no such file or folder; expected a compiled game module"),
    ],
)
def test_a_wrong_name_is_reported_with_the_nearest_valid_name(
    game: str, params: dict[str, object], message: str
) -> None:
    with pytest.raises(ParamError) as error:
        spec(typed(game), params)
    assert message in str(error.value)
    assert isinstance(error.value, ValueError)


def test_a_folder_without_a_module_gets_the_command_that_builds_one(tmp_path: Path) -> None:
    with pytest.raises(ParamError, match="build it: cmake -S"):
        find(typed(str(tmp_path)))


def test_a_file_that_is_no_module_is_refused(tmp_path: Path) -> None:
    bad = tmp_path / "bad.so"
    bad.write_bytes(b"not a library")
    with pytest.raises(ParamError, match=r"bad\.so"):
        find(typed(str(bad)))


def test_parameters_are_converted_to_text() -> None:
    assert text_params({"a": 3, "b": 0.1, "c": "x", "d": True}) == {
        "a": "3",
        "b": "0.1",
        "c": "x",
        "d": "true",
    }
    with pytest.raises(ParamError, match=r"parameter list = \[1\]"):
        text_params({"list": [1]})


def test_games_of_an_installed_package_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("nim_module")
    vars(module).update(game_names=lambda: ["nim"], BINDINGS=core.BINDINGS)
    vars(module)["spec_json"] = lambda game, params: core.spec_json("tic_tac_toe", params).replace(
        '"tic_tac_toe"', f'"{game}"'
    )
    monkeypatch.setitem(sys.modules, "nim_module", module)
    declared = [
        importlib.metadata.EntryPoint(name, value, "ludus.games")
        for name, value in (
            ("nim", "nim_module"),
            ("gone", "no_such_module"),
            ("other", "nim_module"),
            ("not a name", "nim_module"),
        )
    ]
    forget(monkeypatch)
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: declared)
    assert list_games()[-3:] == ["gone", "nim", "other"]
    assert spec("nim", {"opens": "random"}).name == "nim"
    with pytest.raises(ParamError, match="no_such_module cannot be used as a game module"):
        find("gone")
    with pytest.raises(ParamError, match="nim_module holds nim instead"):
        find("other")
    del vars(module)["BINDINGS"]  # modules of earlier builds have no version
    with pytest.raises(ParamError, match="nim_module: built with another version of ludus; build it again"):
        find("nim")
