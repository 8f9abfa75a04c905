"""``ludus go ladders``: what is asked, how answers are counted, and its floors."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ludus.analyses.positions.ladders import (
    ALWAYS,
    COIN,
    FLOORS,
    NEVER,
    NOTE,
    RICH_NOTE,
    SOLVER,
    LaddersAnalysis,
    asked_ladders,
    floor_answer,
    length_class,
    listed_suite,
    notes_of,
    own_suite,
)
from ludus.analyses.record import Line
from ludus.analyses.registry import read_checked
from ludus.analyses.subject import AnalysedGame
from ludus.cli.__main__ import main
from ludus.evaluation.play import UNIFORM
from ludus.games import spec
from ludus.games.go_ladders import ladder_suite
from ludus.games.match import Match
from ludus.games.records.ladder_files import LadderFiles
from ludus.policies.weights import build_policy, load_weights
from ludus.presets.errors import ConfigError
from ludus.ratings import wilson_interval
from ludus.storage import resolve_weights

from .made_runs import made_run
from .test_commands import interrupted_after_units, record, refused, table

Capture = pytest.CaptureFixture[str]
GO7 = {"size": "7", "komi": "9.0"}
SUITE = own_suite(7, 1, 20)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return made_run(tmp_path / "run", (1, 2), "go", GO7)


def line(player: str, version: int, *, pays: bool, runs: bool, **fields: object) -> Line:
    made: dict[str, Any] = {
        "unit": "u",
        "player": player,
        "by": "policy" if version >= 0 else "",
        "version": version,
        "length": 5,
        "to_move": "attacker",
        "pays": pays,
        "runs": runs,
        "right": pays == runs,
        "chance": float(pays == runs),
    }
    return made | fields


def test_versions_answer_with_and_without_a_search(run: Path, capsys: Capture) -> None:
    found = record(capsys, "ladders", str(run), "--visits", "2", "--count", "8", "--versions", "2")
    assert found["complete"] is True
    assert found["floors"] == ["v0", *FLOORS]
    rows = {(row["player"], row["by"]): row for row in table(found)}
    asked = {(player, by) for player in ("v0", "v1", "v2") for by in ("policy", "2 visits")}
    assert rows.keys() == asked | {(player, "") for player in (*FLOORS, SOLVER)}
    assert all(row["ladders"] == 8 for row in rows.values())
    assert rows[SOLVER, ""]["share"] == 1.0
    assert rows[SOLVER, ""]["is"] == "ceiling"
    for player in (ALWAYS, NEVER):
        assert rows[player, ""]["share"] == 0.5
    assert rows[COIN, ""]["expected"] == 0.5
    assert [rows[p, ""]["ran a ladder that fails"] for p in (ALWAYS, NEVER, SOLVER)] == [1.0, 0.0, 0.0]
    assert "set up" in " ".join(found["notes"])
    path = run / "analyses" / "ladders.json"
    _, kept = read_checked(path)
    assert [dict(made) for made in kept.lines] == found["lines"]
    assert main(["go", "show", str(path)]) == 0
    assert "Right answers by length" in capsys.readouterr().out
    assert "<svg" in path.with_suffix(".html").read_text()


def test_one_player_is_asked_alone_and_its_moves_are_the_networks(run: Path, capsys: Capture) -> None:
    words = ("ladders", f"{run}@2", "--visits", "0", "--count", "6")
    found = record(capsys, *words)
    answers = [made for made in found["lines"] if made["version"] == 2]
    assert [made["by"] for made in answers] == ["policy"] * 6
    network = build_policy(load_weights(resolve_weights(f"{run}@2")))
    for scenario, made in zip(ladder_suite(7, 1, 6), answers, strict=True):
        match = Match("go", {**GO7, **scenario.params()})
        seat = scenario.seat
        obs = {name: torch.from_numpy(a.copy())[None] for name, a in match.observe(seat).items()}
        with torch.no_grad():
            logits = network.step(obs).logits[0].masked_fill(~torch.from_numpy(match.legal(seat) > 0), -99.0)
        assert logits[made["move"]] >= logits.max() - 1e-3  # untrained: moves are almost equal
        assert made["right"] == scenario.answered(made["move"])
        assert (made["ladder"], made["pays"]) == (scenario.name, scenario.pays)


def test_an_interrupted_analysis_continues_to_the_same_lines(
    run: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words = ("ladders", str(run), "--visits", "2", "--count", "4", "--versions", "2")
    undisturbed = record(capsys, *words, "-o", str(tmp_path / "whole"))
    interrupted_after_units(3, monkeypatch)
    assert main(["go", *words, "--quiet"]) == 130
    monkeypatch.undo()
    capsys.readouterr()
    whole = record(capsys, *words, "--resume")
    assert whole["complete"]
    assert whole["lines"] == undisturbed["lines"]


@pytest.mark.parametrize("features", ["history", "rich"])
def test_networks_see_a_ladder_as_in_a_match(features: str) -> None:
    params = {**GO7, "features": features, "handicap": "0"}
    asked = asked_ladders(SUITE, AnalysedGame(spec("go", params), params), states=True)
    for k, scenario in enumerate(SUITE):
        match = Match("go", {**GO7, "features": features, **scenario.params()})
        (seat,) = match.to_act
        assert all(np.array_equal(asked.obs[name][k], a) for name, a in match.observe(seat).items())
        assert np.array_equal(asked.mask[k], match.legal(seat))
        assert asked.states[k] == match.state


many = functools.cache(own_suite)


def answers(player: str, seed: int) -> tuple[int, float]:
    """Return the right answers of a player, and how many it expects."""
    rng = np.random.Generator(np.random.Philox(seed))
    right, expected = 0, 0.0
    for scenario in many(7, 3, 200):
        legal = np.flatnonzero(scenario.match().legal(scenario.seat)).tolist()
        move, chance = floor_answer(player, scenario, legal, rng)
        assert move in legal
        right += scenario.answered(move)
        expected += float(scenario.answered(move)) if chance is None else chance
    return right, expected


def test_a_random_reader_has_half_and_the_exact_one_all() -> None:
    for seed in (1, 2, 3):
        right, expected = answers(COIN, seed)
        found = wilson_interval(right, 200, 0.999)
        assert expected == 100.0
        assert found.low < 0.5 < found.high
    right, expected = answers(UNIFORM, 1)
    found = wilson_interval(right, 200, 0.999)
    assert found.low < expected / 200 < found.high
    assert answers(SOLVER, 1) == (200, 200.0)
    assert answers(ALWAYS, 1) == answers(NEVER, 1) == (100, 100.0)


def test_tables_count_right_answers_by_hand() -> None:
    lines = [
        line("v3", 3, pays=True, runs=True, length=4),
        line("v3", 3, pays=True, runs=False, length=12, to_move="defender"),
        line("v3", 3, pays=False, runs=True, length=13),
        line("v3", 3, pays=False, runs=False, length=99),
        line("uniform", -1, pays=False, runs=False, chance=0.25),
        line("uniform", -1, pays=True, runs=False, chance=0.125),
    ]
    overall, by_length, by_kind = LaddersAnalysis.tables(lines)
    half = wilson_interval(2, 4)
    assert overall.rows[0] == (3, "v3", "policy", "", 2, 4, 0.5, half.low, half.high, None, 0.5)
    half = wilson_interval(1, 2)
    assert overall.rows[1] == (None, "uniform", "", "floor", 1, 2, 0.5, half.low, half.high, 0.1875, 0.0)
    counted = [(row[3], row[4], row[5]) for row in by_length.rows if row[1] == "v3"]
    assert counted == [("1-5", 1, 1), ("11-20", 0, 2), ("41+", 1, 1)]
    kinds = {row[3]: row[4:6] for row in by_kind.rows if row[1] == "v3"}
    assert kinds == {
        "the attacker moves": (2, 3),
        "the defender moves": (0, 1),
        "running pays": (1, 2),
        "running fails": (1, 2),
    }


def test_lengths_have_classes_without_gaps() -> None:
    names = [length_class(plies) for plies in (1, 5, 6, 10, 11, 20, 21, 40, 41, 300)]
    assert names == ["1-5", "1-5", "6-10", "6-10", "11-20", "11-20", "21-40", "21-40", "41+", "41+"]


def test_a_forged_answer_is_refused(run: Path, tmp_path: Path, capsys: Capture) -> None:
    made = record(capsys, "ladders", f"{run}@2", "--visits", "0", "--count", "4")
    cases: Sequence[tuple[str, object]] = (("right", not made["lines"][0]["right"]), ("length", 400))
    for name, value in cases:
        forged = json.loads(json.dumps(made))
        forged["lines"][0][name] = value
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(forged))
        assert main(["go", "show", str(path)]) == 2
        error = capsys.readouterr().err
        assert "does not write" in error or "do not follow from the lines" in error


def test_ladders_of_other_boards_are_left_out() -> None:
    files = LadderFiles((*SUITE[:3], *own_suite(9, 1, 2)), (("a.sgf 3", "no ladder"),))
    scenarios, notes = listed_suite(files, 7, 2)
    assert scenarios == SUITE[:2]
    assert len(notes) == 3
    assert "a.sgf 3" in notes[1]
    with pytest.raises(ConfigError, match=r"13x13.*7x7, 9x9.*a.sgf 3: no ladder"):
        listed_suite(files, 13, 100)


def letters(point: int) -> str:
    row, column = divmod(point, 7)
    return f"[{chr(97 + column)}{chr(97 + row)}]"


def test_a_folder_of_lists_is_asked(run: Path, tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "suite"
    folder.mkdir()
    chosen = max(SUITE, key=lambda scenario: scenario.length)
    black, white = ("".join(map(letters, side)) for side in (chosen.black, chosen.white))
    colours = "BW"[chosen.seat], "BW"[1 - chosen.seat]
    moves = f";{colours[0]}{letters(chosen.moves[0])};{colours[1]}[]"
    (folder / "a.sgf").write_text(f"(;GM[1]SZ[7]KM[9]AB{black}AW{white}PL[{colours[0]}]{moves})")
    (folder / "b.sgf").write_text("(;GM[1]SZ[7]KM[9];B[dd])")
    (folder / "ladder_list").write_text("a.sgf 0\nb.sgf 0\n")
    words = ("ladders", f"{run}@2", "--visits", "0", "--suite", str(folder))
    found = record(capsys, *words)
    assert {made["ladder"] for made in found["lines"]} == {"a.sgf 0"}
    assert any("1 positions of the lists are left out" in note for note in found["notes"])


def test_wrong_words_are_refused(run: Path, tmp_path: Path, capsys: Capture) -> None:
    other = made_run(tmp_path / "other")
    five = made_run(tmp_path / "five", (1, 2), "go", {"size": "5", "komi": "24.5"})
    cases = {
        ("ladders", str(other)): "ladders are positions of go",
        ("ladders", str(five)): "expected 7 to 19",
        ("ladders", str(run), "--count", "3"): "expected an even number",
        ("ladders", str(run), "--count", "100000"): "expected at most",
        ("ladders", str(run), "--size", "9"): "the weights play on 7 lines",
        ("ladders", str(run), "--suite", str(tmp_path)): "no list of ladders",
        ("ladders", f"{run}@2+search:5"): "without a search",
    }
    for words, expected in cases.items():
        assert expected in refused(capsys, *words), words
    assert not (run / "analyses" / "ladders.json").exists()


def test_a_network_that_observes_ladders_is_named() -> None:
    assert RICH_NOTE in notes_of({"size": "9", "features": "rich"})
    assert notes_of({"size": "9"}) == (NOTE,)
