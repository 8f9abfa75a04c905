"""``ludus search``: candidates of a position, as text, JSON and a page."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ludus.cli.__main__ import main
from ludus.games import replays
from ludus.games.match import Match
from ludus.web.position.answer import PositionAnswer
from tests.unit.cli.python_nim import SOURCE

Capture = pytest.CaptureFixture[str]
GO = b"(;GM[1]SZ[5]KM[0.5]PB[Anna]PW[Bob];B[cc];W[cb];B[bc];W[bb];B[dc])"
QUICK = ("--by", "mcts:60")


def answer(capsys: Capture, *words: str) -> dict[str, Any]:
    assert main(["search", *words, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def refused(capsys: Capture, *words: str) -> str:
    """Run the command, which refuses, and return the sentence."""
    assert main(["search", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


def test_a_winning_move_is_found_by_its_name(capsys: Capture) -> None:
    found = answer(capsys, "A3 A1 B3 B1", "--game", "tic_tac_toe", "--by", "mcts:300,solver=true")
    (opinion,) = found["opinions"]
    assert opinion["best"] == opinion["candidates"][0]["move"] == "C3"
    assert opinion["candidates"][0]["line"] == ["C3"]
    assert opinion["value"] == 1.0
    assert opinion["score"] is None
    assert (found["seat"], found["legal"], found["moves"]) == (0, 5, ["A3", "A1", "B3", "B1"])
    assert PositionAnswer.__struct_fields__ == tuple(found)


def test_text_page_and_json_have_the_same_numbers(tmp_path: Path, capsys: Capture) -> None:
    page = tmp_path / "page.html"
    words = ["3 3 2", "--game", "connect_four", "--by", "mcts:300", "--top", "5"]
    (opinion,) = answer(capsys, *words)["opinions"]
    assert main(["search", *words, "-o", str(page)]) == 0
    text = capsys.readouterr().out
    rows = re.findall(r"<tr>(<td>.*?)</tr>", page.read_text(encoding="utf-8"))
    cells = [[html.unescape(cell) for cell in re.findall(r"<td>(.*?)</td>", row)] for row in rows]
    assert len(cells) == len(opinion["candidates"]) == 5
    for shown, c in zip(cells, opinion["candidates"], strict=True):
        line = " ".join(c["line"])
        share, value = f"{100 * c['share']:.1f}%", f"{c['value']:+.3f}"
        assert shown == [c["mark"], c["move"], "-", str(c["visits"]), share, value, line]
        row = next(r for r in text.splitlines() if re.match(rf"{c['mark']}  {c['move']} ", r))
        assert row.split()[:5] == [c["mark"], c["move"], str(c["visits"]), share, value]
        assert row.endswith(line)
    assert f"value {opinion['value']:+.3f}" in text
    assert sum(c["visits"] for c in opinion["candidates"]) <= opinion["visits"]
    board = text.split("\n\n")[2].splitlines()
    assert board[0].split() == list("1234567")
    marked = opinion["candidates"][0]
    column = marked["choice"]
    assert marked["mark"] in [line.split()[column] for line in board[1:]]
    assert board[6].split()[2 - 1] in ("X", *"ABCDEFG")


def test_the_start_has_no_moves(capsys: Capture) -> None:
    for text in ("", "start"):
        found = answer(capsys, text, "--game", "gomoku", "--param", "size=7", *QUICK, "--top", "3")
        assert found["moves"] == []
        assert found["position"] == "start"
        assert len(found["opinions"][0]["candidates"]) == 3
        assert found["params"]["size"] == "7"


def test_a_record_of_go_has_score_and_owners(tmp_path: Path, capsys: Capture) -> None:
    record, page = tmp_path / "g.sgf", tmp_path / "g.html"
    record.write_bytes(GO)
    found = answer(capsys, str(record), *QUICK, "--move", "4", "-o", str(page))
    assert found["moves"] == ["C3", "C4", "B3"]
    assert found["side"] == "White"
    assert found["page"] == str(page)
    score = found["opinions"][0]["score"]
    assert len(score["ownership"]) == 25
    assert score["sampled"]
    assert sum(score["ownership"]) - 0.5 == pytest.approx(score["lead"], abs=0.3)
    assert page.read_text(encoding="utf-8").count('class="candidates"') == 1
    assert main(["search", str(record), *QUICK]) == 0
    text = capsys.readouterr().out
    assert "move 6, last D3, White (O) to move" in text
    assert "random continuations" in text
    assert "X X X" in text


def test_more_moves_than_a_path_can_hold(capsys: Capture) -> None:
    moves = " ".join(f"{column}{row} pass" for row in range(1, 6) for column in "ABCDEFGHJ")
    assert len(moves) > 300
    words = ("--game", "go", "--param", "size=9", "--by", "mcts:8")
    assert len(answer(capsys, moves, *words)["moves"]) == 90
    sentence = refused(capsys, f"{moves} A1", *words)
    assert sentence.startswith("move 91, A1: is illegal here")


def test_weights_give_priors_and_an_expected_end(capsys: Capture) -> None:
    pytest.importorskip("torch")
    found = answer(capsys, "E5 C3", "--by", "zoo:go9+search:16", "--top", "24")
    (opinion,) = found["opinions"]
    assert (found["game"], found["params"]["size"], found["side"]) == ("go", "9", "Black")
    assert not opinion["score"]["sampled"]
    assert len(opinion["score"]["ownership"]) == 81
    priors = [c["prior"] for c in opinion["candidates"]]
    assert all(0.0 < prior < 1.0 for prior in priors)
    assert sum(c["visits"] for c in opinion["candidates"]) in (15, 16)
    assert opinion["by"] == "zoo:go9+search:16"
    sentence = refused(capsys, "4", "--game", "connect_four", "--by", "zoo:go9+search:16")
    assert "weights of go, expected weights of connect_four" in sentence


@pytest.mark.slow
def test_weights_read_a_record_by_their_own_features(tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("torch")
    path, page = tmp_path / "m.ludus", tmp_path / "m.html"
    path.write_bytes(replays.record("go", {"size": 9, "komi": 7.0}, seed=3, bots=("tactical",)))
    words = (str(path), "--move", "10", "--by", "zoo:go9+search:16", *QUICK)
    found = answer(capsys, *words, "-o", str(page))
    assert len(found["moves"]) == 9
    assert found["params"].get("features", "history") == "history"
    scores = [opinion["score"] for opinion in found["opinions"]]
    assert [score["sampled"] for score in scores] == [False, True]
    assert page.read_text(encoding="utf-8").count('class="candidates"') == 2


def test_several_players_answer_in_order(capsys: Capture) -> None:
    words = ("start", "--game", "connect_four", *QUICK, "--by", "mcts:30")
    opinions = answer(capsys, *words)["opinions"]
    assert [(o["by"], o["visits"]) for o in opinions] == [("mcts:60", 60), ("mcts:30", 30)]
    assert "at most 4" in refused(capsys, *words, *QUICK * 3)


def test_a_replay_is_searched_before_a_move(tmp_path: Path, capsys: Capture) -> None:
    match = Match("connect_four", record=True)
    for move in (3, 3, 2, 6, 4, 0, 5):
        match.play(move)
    path = tmp_path / "m.ludus"
    path.write_bytes(match.replay(["Anna", "Bob"]))
    found = answer(capsys, str(path), "--move", "7", "--by", "mcts:200")
    assert found["moves"] == ["4", "4", "3", "7", "5", "1"]
    assert found["opinions"][0]["best"] in ("2", "6")
    assert "name a move, such as 7" in refused(capsys, str(path))
    assert "expected 1 to 7" in refused(capsys, str(path), "--move", "8")
    path.write_bytes(path.read_bytes()[:-9])
    assert str(path) in refused(capsys, str(path), "--move", "2")


def test_a_game_in_python_is_searched_like_others(tmp_path: Path, capsys: Capture) -> None:
    game, page = tmp_path / "nim.py", tmp_path / "nim.html"
    game.write_text(SOURCE, encoding="utf-8")
    words = ("take2 take1", "--game", str(game), "--by", "mcts:300", "-o", str(page))
    found = answer(capsys, *words)
    assert found["moves"] == ["take2", "take1"]
    (opinion,) = found["opinions"]
    assert opinion["best"] == "take2"  # 6 left of 9, and who takes the last one wins: leave 4
    assert {c["move"] for c in opinion["candidates"]} == {"take1", "take2", "take3"}
    assert "nim" in page.read_text(encoding="utf-8")
    assert main(["search", *words]) == 0
    assert "6 left" in capsys.readouterr().out
    assert "is no move of nim (did you mean take3?)" in refused(capsys, "take33", "--game", str(game))
    assert "the match is over after move 3" in refused(capsys, "take3 take3 take3 take1", "--game", str(game))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("D4 Q16", "--game", "go", "--param", "size=9"), "move 2, Q16: is no move of go"),
        (("D4 d4", "--game", "go", "--param", "size=9"), "move 2, d4: is illegal here"),
        (("a1", "--game", "connect_four"), "did you mean 1?"),
        (("1", "--game", "conect_four"), "connect_four"),
        (("1",), "--game NAME"),
        (("missing.sgf",), "no such file"),
        (("start", "--game", "kuhn_poker"), "kuhn_poker cannot be searched"),
        (("start", "--game", "minirts"), "minirts cannot be searched"),
        (("start", "--game", "connect_four", "--by", "minimax"), "no search; expected mcts:400"),
        (("start", "--game", "connect_four", "--by", "mcts:400,c_pact=1"), "did you mean c_puct?"),
        (("start", "--game", "connect_four", "--top", "0"), "--top"),
        (("start", "--game", "connect_four", "--move", "2"), "--move: expected a file"),
        (("1\x1b[31m", "--game", "connect_four"), "\\x1b"),
    ],
)
def test_mistakes_are_one_sentence(capsys: Capture, words: tuple[str, ...], text: str) -> None:
    sentence = refused(capsys, *words)
    assert text in sentence
    assert "\x1b" not in sentence


@pytest.mark.parametrize(
    "data",
    [
        b"(;GM[1]SZ[9];B[zz])",
        b"(;GM[1]SZ[9]" + b"(" * 5000,
        b"(;GM[1]SZ[99999999];B[aa])",
        b"<script>alert(1)</script>",
        b"\x00" * 64,
    ],
)
def test_hostile_records_are_refused(tmp_path: Path, capsys: Capture, data: bytes) -> None:
    path = tmp_path / "x.sgf"
    path.write_bytes(data)
    assert "x.sgf" in refused(capsys, str(path))


def test_names_of_a_hostile_record_are_escaped_on_the_page(tmp_path: Path, capsys: Capture) -> None:
    path, page = tmp_path / "x.sgf", tmp_path / "x.html"
    path.write_bytes(GO.replace(b"Anna", b"<img src=x onerror=alert(1)>\x1b[2J"))
    answer(capsys, str(path), *QUICK, "-o", str(page))
    text = page.read_text(encoding="utf-8")
    assert "<img src=x" not in text
    assert "\x1b" not in text
    assert "would overwrite" in refused(capsys, str(path), "-o", str(path))
