"""``ludus analyze``: the mistakes of a match, and files that hold none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ludus.cli.__main__ import main
from ludus.games.match import Match
from ludus.games.records import go_match, go_record, sgf

Capture = pytest.CaptureFixture[str]

#: Seat 1 lets seat 0 make three in a row with two open ends: its move at tick 3 has to be 2 or 5.
BLUNDER = [3, 3, 2, 6, 4, 0, 5]


def connect_four(path: Path, moves: list[int]) -> Path:
    match = Match("connect_four", record=True)
    for move in moves:
        match.play(move)
    path.write_bytes(match.replay(["Anna", "Bob"]))
    return path


def analysis(capsys: Capture, *words: str) -> dict[str, Any]:
    assert main(["analyze", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refused(capsys: Capture, *words: str) -> str:
    """Run the command, which refuses, and return the sentence."""
    assert main(["analyze", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    lines = err.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


def test_the_move_that_lets_three_stand_open_is_the_largest_mistake(tmp_path: Path, capsys: Capture) -> None:
    found = analysis(capsys, str(connect_four(tmp_path / "m.ludus", BLUNDER)), "--by", "mcts:400")
    (judged,) = found["analysts"]
    first = judged["mistakes"][0]
    assert (first["tick"], first["seat"], first["played"]) == (3, 1, "7")
    assert first["better"] in ("2", "5")
    assert first["line"][0] == first["better"]
    assert first["change"] < -0.4
    assert [seat["player"] for seat in judged["seats"]] == ["Anna", "Bob"]
    assert judged["seats"][1]["mean_loss"] > 3 * judged["seats"][0]["mean_loss"]
    assert found["page"] == ""
    assert list(tmp_path.iterdir()) == [tmp_path / "m.ludus"]


def test_the_last_move_counts_by_the_result(tmp_path: Path, capsys: Capture) -> None:
    """Seat 1 has three at an edge, and seat 0 may stop them at tick 6: it does not, and loses at once."""
    moves = [3, 0, 3, 0, 4, 0, 5, 0]
    found = analysis(capsys, str(connect_four(tmp_path / "m.ludus", moves)), "--by", "mcts:200")
    first = found["analysts"][0]["mistakes"][0]
    assert (first["tick"], first["seat"], first["played"]) == (6, 0, "6")
    assert first["after"] < -0.8


GO = b"""(;GM[1]FF[4]SZ[5]KM[0.5]PB[Anna]PW[Bob]RU[Chinese]
;B[cc];W[cb];B[bc];W[bb];B[dc];W[db];B[ec];W[eb];B[ac];W[ba];B[ab];W[ea];B[aa])"""


def test_a_record_of_go_is_a_page_and_a_list(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "game.sgf"
    file.write_bytes(GO)
    assert main(["analyze", str(file), "--by", "mcts:50"]) == 0
    out = capsys.readouterr().out
    assert "Anna (seat 0): mean loss" in out
    assert str(tmp_path / "game.html") in out
    page = (tmp_path / "game.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "http://" not in page.replace("http://www.w3.org", "")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no replay"),
        (b"\xff\xfe\x00" * 300, "no replay"),
        (b"(;SZ[25];B[aa])", "SZ[25]"),
        (b"(;SZ[9];B[zz])", "move 1, B[zz]"),
        (b"(;SZ[9];B[aa];W[aa])", ""),
        (b"(;SZ[9]KM[6.5])", "without moves"),
        (b"(" * 100_000, "SGF"),
        (b"(;SZ[9]" + b";B[aa](" * 2000, "nested"),
        (b"(;GM[2];B[aa])", "GM[2]"),
        (b"(;SZ[5]AB[aa][ba][ab]AW[bb];W[aa])", "move 1, W A5: the point is taken"),
    ],
)
def test_hostile_records_are_one_sentence(tmp_path: Path, capsys: Capture, data: bytes, said: str) -> None:
    file = tmp_path / "game.txt"
    file.write_bytes(data)
    if said:
        assert said in refused(capsys, str(file), "--by", "mcts:10")
        assert list(tmp_path.iterdir()) == [file]
        return
    found = analysis(capsys, str(file), "--by", "mcts:10")  # up to the illegal move, which a note names
    assert found["ticks"] == 1
    assert "the point is taken" in found["notes"][-1]


def test_an_illegal_move_ends_the_analysis_with_its_number() -> None:
    made = go_match.replay_of(go_record.load(b"(;SZ[9];B[aa];W[bb];B[bb];W[cc])"))
    assert made.moves == 2
    assert made.notes[-1] == "move 3, B B8: the point is taken; the last 2 of 4 moves are left out"


def test_unknown_analysts_are_refused_with_the_nearest_names(tmp_path: Path, capsys: Capture) -> None:
    file = str(connect_four(tmp_path / "m.ludus", BLUNDER))
    assert "expected weights" in refused(capsys, file, "--by", "solver")
    assert "did you mean mcts:400?" in refused(capsys, file, "--by", "mcts:400x")
    assert "at most 2" in refused(capsys, file, *["--by", "mcts:1"] * 3)
    assert "no such file" in refused(capsys, str(tmp_path / "none.sgf"))
    assert "overwrite" in refused(capsys, file, "--out", file)
    match = Match("pommerman", record=True)
    match.advance()
    (tmp_path / "p.ludus").write_bytes(match.replay())
    assert "cannot be searched" in refused(capsys, str(tmp_path / "p.ludus"))


def test_sgf_out_and_in_keeps_every_move(tmp_path: Path) -> None:
    match = Match("go", {"size": 7, "handicap": 2, "komi": 0.5}, record=True, seed=3)
    while not match.over:
        match.bot(match.to_act[0], "random")
        match.advance()
    first = go_match.record_of(match.replay(["A]\\", "B"]))
    text = go_match.sgf_of(match.replay(["A]\\", "B"]))
    second = go_record.load(text.encode())
    assert second.moves == first.moves
    assert len(second.moves) == match.tick
    assert (second.black, second.first, second.info["PB"]) == (first.black, "W", "A]\\")
    again = go_match.replay_of(second)
    assert (again.moves, again.notes) == (match.tick, ())
    assert go_match.record_of(again.replay).moves == first.moves
    with pytest.raises(ValueError, match="expected one of go"):
        go_match.sgf_of(connect_four(tmp_path / "m.ludus", BLUNDER).read_bytes())
    assert sgf.parse(text)
