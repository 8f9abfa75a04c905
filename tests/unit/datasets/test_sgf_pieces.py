"""Large collections of SGF game by game: the same games whatever the size of the window."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from ludus.datasets import from_sgf, sgf_pieces
from ludus.datasets.from_sgf import WHOLE
from tests.unit.datasets.made import told
from tests.unit.datasets.odd_sgf import OddRecords

GAMES = (
    b"(;GM[1]SZ[9]C[a (;GM[1\\];B[aa\\]) b \\\\];B[aa];W[bb](;B[cc])(;B[dd];W[ee]))",
    b"(;GM[1]C[\\]\\]\\]];B[aa])",
    b"(\n;FF[4]PB[x]\r\n;B[ab])",
    b"(;B[ac])",
)


def _pieces(data: bytes, offset: int = 0, first: int = 0) -> list[tuple[bytes | None, int, bool]]:
    return [(p.data, p.offset, p.loose) for p in sgf_pieces.pieces(io.BytesIO(data), offset, first)]


@pytest.mark.parametrize("chunk", [1, 7, 300, 1 << 20])
@pytest.mark.parametrize("joint", [b"", b"\r\n\0", b" prose (with brackets) and [more] "])
def test_games_are_found_whole(chunk: int, joint: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sgf_pieces, "_CHUNK", chunk)
    data = joint + joint.join(GAMES) + joint
    found = _pieces(data)
    assert [p[0] for p in found] == list(GAMES)
    assert [data[p[1] : p[1] + len(p[0] or b"")] for p in found] == list(GAMES)
    for number, (_, offset, _) in enumerate(found):  # from any place on
        assert _pieces(data, offset, number) == found[number:]


@pytest.mark.parametrize("chunk", [5, 1 << 20])
def test_a_cut_game_costs_only_itself(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sgf_pieces, "_CHUNK", chunk)
    cut = b"(;GM[1]SZ[9];B[aa];W[bb](;B[cc]"
    found = _pieces(GAMES[1] + b"\n" + cut + b"\n" + GAMES[0] + b"\n" + cut)
    assert [p[0] for p in found] == [GAMES[1], cut + b"\n", GAMES[0], cut]


def test_moves_outside_of_games_are_pieces() -> None:
    found = _pieces(b";GM[1]SZ[9];B[aa])" + GAMES[3] + b";W[bb];B[cc])")
    assert [p[2] for p in found] == [True, False, True]


def test_games_without_an_end_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sgf_pieces, "_CHUNK", 1000)
    monkeypatch.setattr(sgf_pieces, "MAX_GAME", 5000)
    for long in (b"(;GM[1]C[" + b"x" * 50_000, b"(;GM[1]" + b";B[aa]" * 9000, b"(;GM[1]" + b"(" * 30_000):
        found = _pieces(GAMES[3] + long + GAMES[0] + GAMES[1])
        assert found[0][0] == GAMES[3]
        assert found[1][0] is None
        assert [p[0] for p in found[2:]] == [GAMES[0], GAMES[1]]
    assert _pieces(b"(;GM[1]C[" + b"y" * 100_000) == [(None, 0, False)]
    assert _pieces(b"plain text " * 10_000) == []


def test_a_large_file_has_the_same_matches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = OddRecords(9)
    games = [odd.game(n) for n in range(120)]
    data = "\n".join(g for g in games if len(g) < 10_000).encode()
    (tmp_path / "a.sgf").write_bytes(data)
    whole, before = told(tmp_path / "a.sgf", to=tmp_path / "whole", size=9)
    monkeypatch.setattr(from_sgf, "WHOLE", 10)
    monkeypatch.setattr(sgf_pieces, "_CHUNK", 3000)
    pieces, after = told(tmp_path / "a.sgf", to=tmp_path / "pieces", size=9)
    assert len(data) < WHOLE
    assert pieces.matches > 30
    assert (pieces.sha256, pieces.counts) == (whole.sha256, whole.counts)
    assert [line.split(":")[0] for line in before] == [line.split(":")[0] for line in after]


def test_files_without_any_game(tmp_path: Path) -> None:
    (tmp_path / "good.sgf").write_text("(;GM[1]SZ[9];B[aa])")
    for name, data in (("a", b""), ("b", b"\0" * 100), ("c", b"words"), ("d", b"\xff" * 2_000_000)):
        (tmp_path / f"{name}.sgf").write_bytes(data)
    made, problems = told(tmp_path, to=tmp_path / "set")
    assert made.matches == 1
    assert made.counts.left_out == {"not readable": 4}
    assert [line.split(":")[0] for line in problems] == ["a.sgf", "b.sgf", "c.sgf", "d.sgf"]
