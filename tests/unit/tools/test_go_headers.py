"""Odd headers of Go records: each is read with its meaning or named in an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.cross_checks import go_headers


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_no_odd_header_changes_the_meaning_of_a_record(count: int, tmp_path: Path) -> None:
    tally = go_headers.run(count, 7, str(tmp_path))
    assert tally["records"] == count
    loaded, refused = tally["loaded"], tally["refused, with a reason"]
    assert isinstance(loaded, int)
    assert isinstance(refused, int)
    assert loaded + refused == count
    assert loaded > 0.8 * count
    assert refused > 0


def test_a_record_that_is_read_wrongly_is_found(tmp_path: Path) -> None:
    reader, path = go_headers.Reader(), tmp_path / "x.sgf"
    path.write_text("(;SZ[9]KM[6.5]PB[a]PW[b];B[aa])")
    odd = go_headers.Odd(size=9, komi=6.5, stones={(0, 0): "B"}, moves=1, turn="W", names=("a", "b"))
    assert reader.fault(odd, str(path)) == ""
    odd.komi = 7.5
    assert reader.fault(odd, str(path)) == "komi: expected 7.5, got 6.5"
    odd.wrong = "move 1"
    assert reader.fault(odd, str(path)).startswith("expected a refusal")
