"""Names of files that other systems take, and names of weights that are nearly right."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.evaluation.play import scripted_player
from ludus.flow import MatchResult
from ludus.games import spec
from ludus.presets.errors import ConfigError
from ludus.storage.errors import RunNotFound
from ludus.storage.files import file_part
from ludus.storage.references import resolve_weights
from ludus.training.run_evaluator import RunEvaluator


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("mcts:400", "mcts-400"),
        ("plan:8x100,opponent=simple", "plan-8x100,opponent=simple"),
        ("main:1200", "main-1200"),
        ("random", "random"),
        ('a/b\\c<d>"|?*e', "a-b-c-d-e"),
        ("runs/x@best+search:9", "runs-x@best+search-9"),
    ],
)
def test_a_name_becomes_part_of_a_files_name(name: str, part: str) -> None:
    assert file_part(name) == part


def test_replays_of_a_run_have_no_colon_and_do_not_overwrite_each_other(tmp_path: Path) -> None:
    def match(replay: bytes) -> MatchResult:
        return MatchResult(0, 0, 1, 9, 4, (1.0, -1.0), (1.0, -1.0), ("a", "b"), (0, 1), replay=replay)

    evaluator = object.__new__(RunEvaluator)
    evaluator._recorded = {"mcts:400": [match(b"one")], "mcts-400": [match(b"two")], "random": [match(b"3")]}
    assert evaluator.keep_replays(tmp_path) == []
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {
        "final-mcts-400-1.replay.ludus": b"one",
        "final-mcts-400--1.replay.ludus": b"two",
        "final-random-1.replay.ludus": b"3",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("runs/x@best+serch:200", r"unknown \+serch:200 \(did you mean \+search:200\?\)"),
        ("runs/x@main:3+saerch:50", r"unknown \+saerch:50 \(did you mean \+search:50\?\)"),
        ("runs/x@120+seach", r"unknown \+seach \(did you mean \+search:VISITS\?\)"),
        ("runs/x@best+tree:7", r"unknown \+tree:7 \(expected \+search:7 behind weights\)"),
    ],
)
def test_a_misspelt_search_behind_weights_is_named(text: str, message: str) -> None:
    with pytest.raises(RunNotFound, match=message):
        resolve_weights(text)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("mcst:400", "mcts:400"),
        ("mct:400,c_puct=2", "mcts:400,c_puct=2"),
        ("pln:8x100", "plan:8x100"),
        ("w.safetensors+serch:9", r"w\.safetensors\+search:9"),
        ("rnadom", "random"),
    ],
)
def test_a_misspelt_player_is_named(name: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=rf"\(did you mean {meant}\?\)"):
        scripted_player(name, spec("tic_tac_toe"), 1)
