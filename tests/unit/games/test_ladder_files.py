"""Folders of records with lists of ladders."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.games.go_ladders import LadderScenario, ladder_suite
from ludus.games.records.ladder_files import LadderFileError, scenarios_from_sgf

SUITE = ladder_suite(9, seed=5, count=12)
LONG = [s for s in SUITE if s.length >= 5]


def _letters(point: int, size: int) -> str:
    row, column = divmod(point, size)
    return f"[{chr(97 + column)}{chr(97 + row)}]"


def _sgf(s: LadderScenario, moves: str = "") -> str:
    black, white = ("".join(_letters(p, s.size) for p in side) for side in (s.black, s.white))
    return f"(;GM[1]FF[4]SZ[{s.size}]KM[7]AB{black}AW{white}PL[{'BW'[s.seat]}]{moves})"


def _folder(tmp_path: Path, listed: str, **records: str) -> Path:
    (tmp_path / "ladder").mkdir()
    for name, text in records.items():
        (tmp_path / "ladder" / f"{name}.sgf").write_text(text)
    (tmp_path / "ladder_list").write_text(listed)
    return tmp_path


def test_ladders_of_records_are_those_of_their_positions(tmp_path: Path) -> None:
    assert len(LONG) >= 6
    names = [f"r{i}" for i in range(len(LONG))]
    moves = [f";{'BW'[s.seat]}{_letters(s.moves[0], s.size)}" for s in LONG]
    records = {n: _sgf(s, m) for n, s, m in zip(names, LONG, moves, strict=True)}
    read = scenarios_from_sgf(_folder(tmp_path, "\n".join(f"{n}.sgf 0" for n in names), **records))
    assert read.left_out == ()
    for name, s, found in zip(names, LONG, read.scenarios, strict=True):
        assert found.name == f"{name}.sgf 0"
        assert (found.size, found.black, found.white, found.seat) == (s.size, s.black, s.white, s.seat)
        assert (found.to_move, found.works, found.length, found.pays) == (
            s.to_move,
            s.works,
            s.length,
            s.pays,
        )
        assert set(s.right) <= set(found.right)
        assert set(s.moves) <= set(found.moves)


def test_a_position_after_some_moves_is_read(tmp_path: Path) -> None:
    s = next(s for s in LONG if s.to_move == "attacker" and s.works and s.length >= 8)
    moves = "".join(f";{'BW'[(s.seat + i) % 2]}{_letters(p, 9)}" for i, p in enumerate((s.moves[0],)))
    read = scenarios_from_sgf(_folder(tmp_path, "a.sgf 1\n\na.sgf 1\na.sgf 0\n", a=_sgf(s, moves)))
    after, before = read.scenarios
    assert (after.to_move, after.works, after.seat) == ("defender", True, 1 - s.seat)
    assert (before.to_move, before.works, before.seat) == ("attacker", True, s.seat)
    assert after.length == before.length - 1
    assert not after.pays
    assert after.right == ()


def test_what_is_no_ladder_is_left_out_with_its_reason(tmp_path: Path) -> None:
    listed = "open.sgf 2\nopen.sgf 5\ngone.sgf 1\n../a.sgf 3\nbad.sgf 0\nlink.sgf 0\n"
    folder = _folder(tmp_path, listed, open="(;GM[1]SZ[9];B[ee];W[cc];B[gg])", bad="no record")
    (folder / "ladder" / "link.sgf").symlink_to(folder / "ladder" / "open.sgf")
    read = scenarios_from_sgf(folder)
    assert read.scenarios == ()
    reasons = dict(read.left_out)
    assert reasons["open.sgf 2"] == "no ladder of at least 5 plies for the side to move"
    assert reasons["open.sgf 5"] == "the record has 3 moves, expected at least 5"
    assert "no such record" in reasons["gone.sgf 1"]
    assert "not the name of a file in the folder" in reasons["../a.sgf 3"]
    assert reasons["link.sgf 0"] == "a link, expected a file"
    assert "SGF" in reasons["bad.sgf 0"]


@pytest.mark.parametrize("line", ["a.sgf", "a.sgf twelve", "a.sgf -1", "a b.sgf 3 4"])
def test_a_list_of_another_form_is_refused(tmp_path: Path, line: str) -> None:
    folder = _folder(tmp_path, f"a.sgf 1\n{line}\n", a="(;GM[1])")
    with pytest.raises(LadderFileError, match=r"ladder_list:2: expected a record and a number of moves"):
        scenarios_from_sgf(folder)


def test_a_folder_without_a_list_and_a_list_that_is_no_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LadderFileError, match="no list of ladders, expected ladder_list or"):
        scenarios_from_sgf(tmp_path)
    (tmp_path / "ladder_list").write_bytes(b"a.sgf \xff")
    with pytest.raises(LadderFileError, match="not UTF-8"):
        scenarios_from_sgf(tmp_path)
