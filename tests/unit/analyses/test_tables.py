"""Tables follow from raw lines: recomputed by hand, and forged or damaged records are refused."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ludus.analyses.analysis import computed
from ludus.analyses.doubled_visits import VisitsAnalysis
from ludus.analyses.elo import EloAnalysis, elo_pairings
from ludus.analyses.matches import score_of
from ludus.analyses.page import cell_text, render
from ludus.analyses.record import (
    AnalysisBudget,
    AnalysisRecord,
    Cell,
    Line,
    RecordTable,
    read_record,
    write_record,
)
from ludus.analyses.registry import ANALYSES, read_checked
from ludus.analyses.setting_values import PuctAnalysis
from ludus.analyses.subject import KeptVersion
from ludus.storage import CorruptFile

_NAMES = ("unit", "match", "opening", "a", "b", "seat", "points", "plies")


def match(number: int, a: str, b: str, points: float, **fields: Cell) -> Line:
    seat = number % 2
    return {**dict(zip(_NAMES, ("u", number, number // 2, a, b, seat, points, 9), strict=True)), **fields}


def column(table: RecordTable, name: str) -> list[Any]:
    return [row[table.column(name)] for row in table.rows]


def record_of(name: str, lines: Sequence[Line], **changes: object) -> AnalysisRecord:
    """Return a record of ``lines`` with the tables that follow from them."""
    made = AnalysisRecord(
        name=name,
        command=("ludus", "go", name, "RUN"),
        ludus="0",
        run="RUN",
        game="tic_tac_toe",
        params={},
        rules=1,
        seed=1,
        settings={"visits": 3},
        players={},
        budget=AnalysisBudget(len(lines), 3, 1.5),
        started="then",
        ended="now",
        complete=True,
        units=1,
        lines=tuple(lines),
        tables=computed(ANALYSES[name], lines),
    )
    return msgspec.structs.replace(made, **changes)


PUCT = [
    match(k, f"c_puct = {value:g}", "default", points, setting="c_puct", value=value, default=1.5)
    for value, results in {0.5: (1.0, 0.0, 0.5, 1.0), 1.5: (1.0, 0.0, 0.0, 1.0)}.items()
    for k, points in enumerate(results)
]
VERSIONS = [KeptVersion(f"v{k}", k, f"RUN@{k}") for k in (0, 3, 5, 9)]


def elo_lines(wins: int = 4, losses: int = 1) -> list[Line]:
    """Return lines in which each later player of the list beats each earlier one so often; uniform loses."""
    lines = []
    for pairing in elo_pairings(VERSIONS, (1, 2)):
        later = 1.0 if pairing.b == "uniform" else 0.0
        results = [later] * wins + [1.0 - later] * losses
        lines += [match(k, pairing.a, pairing.b, p, **pairing.fields) for k, p in enumerate(results)]
    return lines


def test_scores_have_wilsons_interval() -> None:
    score = score_of(PUCT[:4])
    assert (score.matches, score.won, score.drawn, score.lost) == (4, 2, 1, 1)
    rate, z = 2.5 / 4, 1.959963984540054
    centre = (rate + z * z / 8) / (1 + z * z / 4)
    half = z / (1 + z * z / 4) * math.sqrt(rate * (1 - rate) / 4 + z * z / 64)
    assert score.cells()[4:] == pytest.approx((rate, centre - half, centre + half))
    assert score.elo()[0] == pytest.approx(400 * math.log10(rate / (1 - rate)))
    assert score_of(PUCT[:4], "b").won == 1


def test_scores_without_matches_and_without_losses_say_nothing_infinite() -> None:
    assert score_of([]).cells() == (0, 0, 0, 0, None, None, None)
    assert score_of(PUCT[:1]).elo()[0] is None


def test_a_setting_is_scored_by_value_and_its_default_is_the_floor() -> None:
    (table,) = PuctAnalysis.tables(PUCT)
    assert column(table, "value") == [0.5, 1.5]
    assert column(table, "is") == ["", "floor"]
    assert column(table, "score") == [0.625, 0.5]
    assert table.title == "c_puct against 1.5, equal visits"


def test_self_play_elo_counts_consecutive_versions_alone() -> None:
    progress, ratings, matrix, pairs = EloAnalysis.tables(elo_lines())
    rows: dict[Any, Any] = {(row[0], row[1]): row[2] for row in progress.rows}
    assert [v for kind, v in rows if kind == "Elo, spacing 1"] == [0, 3, 5, 9]
    assert [v for kind, v in rows if kind == "Elo, spacing 2"] == [0, 5]
    # Two players, four of five matches, and a drawn match of each against the mean as prior: for +-x the
    # gradient 4 - 5 s(2x) + 1/2 - s(x) is 0.
    x = math.log(10) / 400 * rows["Elo, spacing 2", 5] / 2

    def sigmoid(t: float) -> float:
        return 1.0 / (1.0 + math.exp(-t))

    assert 4.0 - 5.0 * sigmoid(2 * x) + 0.5 - sigmoid(x) == pytest.approx(0.0, abs=1e-6)
    # The same result at every distance: consecutive versions add up, all pairs together do not.
    assert rows["Elo, spacing 1", 9] > 1.4 * rows["Elo of all pairs", 9]
    assert column(ratings, "player") == ["v0", "v3", "v5", "v9", "uniform"]
    assert column(ratings, "Nash share") == pytest.approx([0, 0, 0, 1, 0], abs=1e-6)
    assert sum(column(pairs, "matches")) == 50
    assert column(matrix, "v3") == [0.2, None, 0.8, 0.8, 0.2]


def test_nash_averaging_shows_a_cycle_that_elo_hides() -> None:
    beats = {("v0", "v3"): 0.0, ("v3", "v5"): 0.0, ("v0", "v5"): 1.0}
    lines = [
        match(k, p.a, p.b, beats[p.a, p.b], **p.fields)
        for p in elo_pairings(VERSIONS[:3], (1,), ())
        for k in range(10)
    ]
    _, ratings, *_ = EloAnalysis.tables(lines)
    assert column(ratings, "Nash share") == pytest.approx([1 / 3] * 3, abs=1e-3)


def test_nash_averaging_waits_for_every_pair() -> None:
    lines = [line for line in elo_lines() if (line["a"], line["b"]) != ("v5", "uniform")]
    progress, ratings, *_ = EloAnalysis.tables(lines)
    assert set(column(ratings, "Nash share")) == {None}
    assert "Nash averaging" in column(progress, "kind")  # every pair of versions has met
    progress, *_ = EloAnalysis.tables([line for line in lines if (line["a"], line["b"]) != ("v0", "v9")])
    assert "Nash averaging" not in column(progress, "kind")


def test_visits_are_counted_by_colour() -> None:
    about: Line = {"version": 4, "first": "black", "second": "white"}
    lines = [match(k, "more", "v4", p, factor=2.0, **about) for k, p in enumerate((1.0, 0.0, 1.0, 0.5))]
    lines += [match(k, "equal", "v4", p, factor=1.0, **about) for k, p in enumerate((1.0, 0.0))]
    (table,) = VisitsAnalysis.tables(lines)
    found = {row[0]: row[table.column("score")] for row in table.rows}
    assert found == {
        "black, 2 x visits": 1.0,
        "white, 2 x visits": 0.25,
        "black, equal": 1.0,
        "white, equal": 0.0,
    }


@pytest.mark.parametrize("name", ANALYSES)
def test_an_analysis_without_lines_has_tables_and_a_page(name: str) -> None:
    made = record_of(name, [], complete=False)
    assert made.tables
    assert "Interrupted" in render(ANALYSES[name], made)


# ---- records -----------------------------------------------------------------------------------------


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = record_of("elo", elo_lines())
    write_record(tmp_path / "r" / "elo.json", made)
    assert read_checked(tmp_path / "r" / "elo.json") == (EloAnalysis, made)


def changed(record: AnalysisRecord, row: int, name: str, value: Cell) -> AnalysisRecord:
    table = record.tables[0]
    rows = [list(r) for r in table.rows]
    rows[row][table.column(name)] = value
    forged = msgspec.structs.replace(table, rows=tuple(map(tuple, rows)))
    return msgspec.structs.replace(record, tables=(forged, *record.tables[1:]))


@pytest.mark.parametrize(
    ("name", "value"), [("score", 0.99), ("won", 3), ("is", "best"), ("low", None), ("won", True)]
)
def test_forged_tables_are_refused(tmp_path: Path, name: str, value: Cell) -> None:
    write_record(tmp_path / "puct.json", changed(record_of("puct", PUCT), 0, name, value))
    with pytest.raises(CorruptFile, match=f"do not follow from the lines.*row 1, column {name}"):
        read_checked(tmp_path / "puct.json")


def test_a_forged_line_and_a_missing_row_are_refused(tmp_path: Path) -> None:
    made = record_of("puct", PUCT)
    lines = ({**PUCT[0], "points": 0.0}, *PUCT[1:])
    write_record(tmp_path / "a.json", msgspec.structs.replace(made, lines=lines))
    shorter = msgspec.structs.replace(made.tables[0], rows=made.tables[0].rows[1:])
    write_record(tmp_path / "b.json", msgspec.structs.replace(made, tables=(shorter,)))
    for name in "ab":
        with pytest.raises(CorruptFile, match="do not follow"):
            read_checked(tmp_path / f"{name}.json")


HOSTILE = {
    "other type": ('"seed": 1', '"seed": "one"'),
    "not a number": ('"seconds": 1.5', '"seconds": NaN'),
    "infinite": ('"seconds": 1.5', '"seconds": 1e999'),
    "infinite in a line": ('"points": 1.0', '"points": 1e999'),
    "nested": ('"visits": 3\n', '"visits": [3]\n'),
    "unknown field": ('"seed": 1', '"seed": 1, "more": 2'),
    "format": ('"format": 1', '"format": 2'),
    "analysis": ('"name": "puct"', '"name": "putc"'),
    "points": ('"points": 1.0', '"points": 0.7'),
    "negative": ('"rules": 1', '"rules": -1'),
    "text for a number": ('"value": 0.5', '"value": "0.5"'),
    "long": ('"ended": "now"', f'"ended": "{"x" * 5000}"'),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_records_are_refused(tmp_path: Path, case: str) -> None:
    path = tmp_path / "puct.json"
    write_record(path, record_of("puct", PUCT))
    before, after = HOSTILE[case]
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(CorruptFile, match=re.escape(str(path))):
        read_checked(path)


def test_records_beyond_bounds_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "puct.json"
    write_record(path, record_of("puct", PUCT))
    monkeypatch.setattr("ludus.analyses.record.MOST_BYTES", 100)
    with pytest.raises(CorruptFile, match="more than 100 bytes"):
        read_record(path)
    monkeypatch.undo()
    text = path.read_text()
    path.write_text(text.replace('"lines": [', '"lines": [' + "{}," * 400_000, 1))
    with pytest.raises(CorruptFile, match="400000"):
        read_record(path)


def test_tables_that_would_take_all_time_are_refused() -> None:
    about: Line = {"a_version": 1, "b_version": 2, "a_number": 1, "b_number": 2, "spacings": ""}
    crowd = [match(k, f"a{k}", f"b{k}", 1.0, **about) for k in range(65)]
    spaced = [match(0, "a", "b", 1.0, **{**about, "spacings": " ".join(map(str, range(1, 18)))})]
    wide: list[Line] = [{"unit": "training losses", "version": k, f"loss/{k}": 1.0} for k in range(61)]
    values = [{**PUCT[0], "value": k / 7} for k in range(20_001)]
    asked = [{**LADDERS[0], "player": f"a{k}"} for k in range(257)]
    compared = [{**AGREEMENT[0], "player": f"a{k}"} for k in range(257)]
    crowds = {"elo": crowd, "losses": wide, "puct": values, "ladders": asked, "agreement": compared}
    for name, lines in crowds.items():
        with pytest.raises(CorruptFile, match=f"lines that {name} does not write"):
            computed(ANALYSES[name], lines)
    with pytest.raises(CorruptFile, match="17 spacings"):
        computed(EloAnalysis, spaced)


def test_records_are_not_written_through_links(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "analyses").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CorruptFile, match="a link"):
        write_record(tmp_path / "analyses" / "puct.json", record_of("puct", PUCT))


# ---- pages -------------------------------------------------------------------------------------------


def cells_of(page: str) -> list[list[str]]:
    """Return the cells of each row of the tables of a page, heads left out."""
    rows = re.findall(r"<tr>(<td.*?)</tr>", page)
    return [[html.unescape(c) for c in re.findall(r"<td[^>]*>(.*?)</td>", row)] for row in rows]


LADDERS: list[Line] = [
    {"unit": "u", "player": player, "by": by, "version": version, "length": 3 * k + 3, "to_move": role,
     "pays": k % 2 == 0, "runs": k % 3 == 0, "right": (k % 2 == 0) == (k % 3 == 0), "chance": 0.5}
    for version, player, by in ((0, "v0", "policy"), (7, "v7", "9 visits"), (-1, "coin", ""))
    for k, role in enumerate(("attacker", "defender") * 4)
]  # fmt: skip
AGREEMENT: list[Line] = [
    {"unit": "u", "player": player, "version": version, "match_index": k % 3, "seat": k % 2, "move": k + 1,
     "moves": "1-4" if k < 4 else "5+", "legal": 9 - k, "rank": k % 3, "value": k / 9, "outcome": 1.0}
    for version, player in ((0, "v0"), (7, "v7"), (-1, "uniform"))
    for k in range(7)
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "lines"),
    [("elo", elo_lines()), ("puct", PUCT), ("ladders", LADDERS), ("agreement", AGREEMENT)],
)
def test_every_number_of_a_page_is_the_records(name: str, lines: list[Line]) -> None:
    made = record_of(name, lines)
    page = render(ANALYSES[name], made)
    expected = [
        [cell_text(cell, c) for cell, c in zip(row, table.columns, strict=True)]
        for table in made.tables
        for row in table.rows
    ]
    assert cells_of(page) == expected
    values = {
        f"{cell:g}" for table in made.tables for row in table.rows for cell in row if isinstance(cell, float)
    }
    dots = re.findall(r"<circle[^>]*><title>[^<]*: ([^<]*)</title>", page)
    assert dots
    assert set(dots) <= values
    assert f"{made.budget.matches:,} matches, 3 visits a decision, 1.5 s; seed 1" in page


def test_pages_have_no_script_no_network_and_two_schemes() -> None:
    bad = '<script>alert(1)</script>"|`x`![a](b)\x1b[2J'
    lines = [{**line, "a": bad, "b": f"{bad}2", "setting": bad} for line in PUCT]
    made = record_of(
        "puct",
        lines,
        run=bad,
        command=(bad,),
        players={bad: bad},
        settings={bad: bad},
        notes=(bad,),
        floors=(bad,),
    )
    page = render(PuctAnalysis, made)
    assert "<script" not in page
    assert "\x1b" not in page
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)
    assert "prefers-color-scheme: dark" in page
    elo = [{**line, "a": bad if line["a"] == "v0" else line["a"]} for line in elo_lines()]
    assert "<script" not in render(EloAnalysis, record_of("elo", elo))
