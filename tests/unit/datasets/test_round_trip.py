"""Odd records of Go: none ends an import, and what is exported comes back as the same data set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ludus.datasets import DataSet, DataSetError
from ludus.datasets.export import export
from ludus.datasets.from_replay import ReadingRules
from ludus.datasets.from_sgf import date_of, result_of
from ludus.storage.errors import StorageError
from tests.unit.datasets.made import imported, records, told
from tests.unit.datasets.odd_sgf import OddRecords


def _comes_back(folder: Path, files: int, seed: int, rules: ReadingRules) -> None:
    OddRecords(seed).write(folder / "odd", files)
    made, problems = told(folder / "odd", to=folder / "first", rules=rules, size=9)
    counts = made.counts
    left_out = sum(counts.left_out.values())
    assert made.matches + counts.duplicates + left_out == counts.read
    assert len(problems) == left_out + counts.shortened
    assert all(line.split(":")[0].startswith("0") for line in problems)  # each names its file
    assert made.matches > files / 4
    assert left_out > files / 8
    data = DataSet.open(folder / "first")
    assert data.check() == []
    assert export(data, folder / "sgf", "sgf") == len(data)
    again, problems = told(folder / "sgf", to=folder / "second")
    assert problems == []
    assert again.sha256 == made.sha256
    assert (again.matches, again.decisions, again.held_out) == (made.matches, made.decisions, made.held_out)
    other = DataSet.open(folder / "second")
    for index in range(len(data)):
        a, b = data.match(index), other.match(index)
        assert a._replace(source=0) == b._replace(source=0)


def test_odd_records_come_back(tmp_path: Path) -> None:
    _comes_back(tmp_path, 100, 5, ReadingRules())


def test_shortened_records_come_back(tmp_path: Path) -> None:
    _comes_back(tmp_path, 50, 6, ReadingRules(allow_partial=True))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_thousand_odd_records_come_back(tmp_path: Path, seed: int) -> None:
    _comes_back(tmp_path, 1000, seed, ReadingRules(allow_partial=seed == 2))


def test_headers_of_a_record_are_kept(tmp_path: Path) -> None:
    (tmp_path / "a.sgf").write_text(
        "(;GM[1]SZ[9]KM[5.5]RU[Japanese]PB[Black \\] one]PW[White]RE[W+2.5]DT[1999-05-06]HA[2]AB[cc][gg]"
        ";W[ee];B[dd];W[dc])"
    )
    made = imported(tmp_path / "a.sgf", to=tmp_path / "set", licence="public domain")
    match = DataSet.open(tmp_path / "set").match(0)
    assert match.players == ("Black ] one", "White")
    assert match.outcome == (-1.0, 1.0)
    assert match.result == "W+2.5"
    assert match.date == 19990506
    assert made.params == (match.params,)
    assert (match.params["komi"], match.params["ko"], match.params["first"]) == ("5.5", "simple", "white")
    assert match.params["setup"] == "black c7 g3"
    assert match.decisions == (1, 2)
    export(DataSet.open(tmp_path / "set"), tmp_path / "out", "sgf")
    text = (tmp_path / "out" / "0000000.sgf").read_text()
    for part in (
        "PB[Black \\] one]",
        "RE[W+2.5]",
        "DT[1999-05-06]",
        "CP[public domain]",
        "SO[a.sgf]",
        "KM[5.5]",
    ):
        assert part in text


def test_rules_of_an_exported_record_must_fit_its_stones(tmp_path: Path) -> None:
    (tmp_path / "a.sgf").write_text("(;GM[1]SZ[9]KM[5.5]AB[cc]AW[ee];B[dd];W[dc])")
    imported(tmp_path / "a.sgf", to=tmp_path / "set")
    export(DataSet.open(tmp_path / "set"), tmp_path / "out", "sgf")
    path = tmp_path / "out" / "0000000.sgf"
    text = path.read_text()
    for old, new, why in (
        ("AB[cc]", "AB[ca]", "another board"),
        ("KM[5.5]", "KM[6.5]", "komi"),
        ('"setup"', '"set"', "LUDUS"),
        ("seed", "sed", "LUDUS"),
        (";W[dc]", ";W[dd]", "move 2"),
        (";W[dc]", ";B[dc]", "out of turn"),
    ):
        changed = tmp_path / "changed.sgf"
        changed.write_text(text.replace(old, new))
        with pytest.raises(DataSetError, match="no matches"):
            told(changed, to=tmp_path / "none")
        good = records(tmp_path / "good", 2)
        changed.write_text(changed.read_text().replace("SZ[9]", "SZ[9]"))
        _, problems = told(good, changed, to=tmp_path / f"with{why.replace(' ', '')}{new[-3:-1]}")
        assert [why in line for line in problems] == [True], problems


def test_arrays_for_other_programs(tmp_path: Path) -> None:
    records(tmp_path / "in", 6)
    (tmp_path / "in" / "a.sgf").write_text("(;GM[1]SZ[5]PB[x]RE[B+R];B[aa];W[bb])")
    imported(tmp_path / "in", to=tmp_path / "set")
    data = DataSet.open(tmp_path / "set")
    assert export(data, tmp_path / "out", "npz") == 2
    arrays = np.load(tmp_path / "out" / "000000.npz", allow_pickle=False)
    assert arrays["offset"].tolist() == [0, *np.cumsum(data.decisions.sum(axis=1))]
    assert np.flatnonzero(arrays["held_out"]).tolist() == data.indices("held_out").tolist()
    (at,) = np.flatnonzero(arrays["players"][:, 0] == "x")
    assert arrays["result"][at] == "B+R"
    assert arrays["outcome"][at].tolist() == [1, -1]
    first = arrays["offset"][at]
    assert arrays["moves"][first : first + 2, 0].tolist() == [0, 6]
    assert arrays["seat"][first : first + 2].tolist() == [0, 1]


def test_an_export_replaces_nothing(tmp_path: Path) -> None:
    imported(records(tmp_path / "in", 2), to=tmp_path / "set")
    data = DataSet.open(tmp_path / "set")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(DataSetError, match="a folder with files"):
        export(data, tmp_path / "out", "ludus")
    (tmp_path / "link").symlink_to(tmp_path / "in")
    with pytest.raises(StorageError, match="a link"):
        export(data, tmp_path / "link", "ludus")
    assert (tmp_path / "out" / "mine").read_text() == "x"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B+R", "B+R"), ("w+resign", "W+R"), ("W+3.5", "W+3.5"), ("B+0.50", "B+0.5"), ("B+T", "B+T"),
        ("B+", "B+"), ("Black+F", "B+F"), ("W+99999", "W+"),
        ("Ｗ＋３", "W+3"), ("0", "0"), ("Draw", "0"), ("Jigo", "0"),
        ("Void", "Void"), ("?", ""), ("", ""), ("黑中盘胜", "B+R"),
        ("白胜3子", "W+"), ("B", ""), ("B+-3", "B+"),
    ],
)  # fmt: skip
def test_results(text: str, expected: str) -> None:
    assert result_of(text) == expected
    assert result_of(expected) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2016-03-09", 20160309), ("2016-03-09,10", 20160309), ("2016", 20160000), ("2016-02-31", 20160200),
        ("1996-12-27..1997-01-03", 19961227), ("Published on 2001/5/6", 20010506),
        ("２０１７－０１", 20170100), ("9.3.2016", 20160000), ("0000-00-00", 0),
        ("", 0), ("2016-13-01", 20160000), ("20160309", 20160309),
        ("201603091", 0),
    ],
)  # fmt: skip
def test_dates(text: str, expected: int) -> None:
    assert date_of(text) == expected
