"""The page shows what records hold, and the committed records have no fault."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from tools.readme_numbers import readme_faults
from tools.records import ROOT, Figure, Record, Run, Wanted, best_floor, load, sha256_of
from tools.results import main, render, table

FIGURE = Figure("against simple, drawn", "%", "seeds", 74.5, 68.5, 80.5, 3, values=(72.1, 74.0, 77.4))
FLOORS = (
    Figure("initial weights, against simple, drawn", "%", "seeds", 3.0, 1.0, 5.0, 3),
    Figure("uniform, against simple, drawn", "%", "matches", 4.0, 3.0, 5.0, 1000),
    Figure("bot noop, against simple, drawn", "%", "matches", 10.2, 8.0, 12.8, 1000),
    Figure("bot rush, against simple, drawn", "%", "matches", 43.0, 40.0, 46.0, 1000),
)
GOOD = Record(
    schema=3,
    section="learning",
    title="MiniRTS against SIMPLE",
    figures=(FIGURE,),
    floors=tuple(
        msgspec.structs.replace(f, floor=f.label.partition(",")[0], floor_of=FIGURE.label) for f in FLOORS
    ),
    commands=("ludus train minirts --run.seed 1",),
    commit="29e5284aaaaa",
    date="2026-11-27",
    machine="2 cores",
    files={"presets/minirts.toml": sha256_of(ROOT / "presets/minirts.toml")},
    wanted=(Wanted(FIGURE.label, least=80.0),),
)


def test_the_committed_records_and_their_page_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().err


def test_a_row_holds_figure_seeds_interval_command_and_provenance() -> None:
    row = table([GOOD]).splitlines()[-1]
    assert "against simple, drawn: 74.5% [68.5, 80.5] of 3 seeds (72.1, 74, 77.4)" in row
    assert "`ludus train minirts --run.seed 1`" in row
    assert "2026-11-27, commit 29e5284, 2 cores" in row
    assert "Changed since" not in row
    assert "_against simple, drawn: wanted at least 80%, missed._" in row


def test_a_row_shows_the_best_floor_and_the_best_bot() -> None:
    head, _, row = table([GOOD]).splitlines()
    assert head.split(" | ")[2] == "best floor, best bot"
    assert row.split(" | ")[2] == (
        "bot noop, against simple, drawn: 10.2% [8, 12.8] of 1,000"
        "<br>bot rush, against simple, drawn: 43% [40, 46] of 1,000"
    )
    low = msgspec.structs.replace(FIGURE, lower_is_better=True)
    assert best_floor(low, GOOD.floors, bots=False) == GOOD.floors[0]
    assert "floor" not in table([msgspec.structs.replace(GOOD, section="throughput")])


@pytest.mark.parametrize(
    ("change", "remark"),
    [
        ({"files": {"presets/minirts.toml": "0" * 64}}, "Changed since: presets/minirts.toml."),
        ({"files": {"sweeps/gone.toml": "0" * 64}}, "Changed since: sweeps/gone.toml."),
        ({"wanted": (Wanted(FIGURE.label, most=80.0),)}, "wanted at most 80%, reached."),
        ({"runs": (Run("a", 1, "x", 9, "", unkept=3_400_000),)}, "Weights of 3.4 MB are not kept"),
        (
            {"runs": (Run("a", 1, "x", 9, "", started_from="moba-1v1, seed 2"),)},
            "are those of moba-1v1, seed 2.",
        ),
    ],
)
def test_a_row_says_what_a_reader_must_know(change: dict[str, object], remark: str) -> None:
    assert remark in table([msgspec.structs.replace(GOOD, **change)])


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (Figure("", "M ticks/s", "readings", 2.73, 2.7, 2.8, 14), "2.73 M ticks/s [2.7, 2.8] of 14"),
        (Figure("", "points", "difference", 0.0, equal=900), "equal in all 900 matches"),
        (Figure("", "", "exact", 0.125), "0.125"),
        (Figure("", "%", "matches", 66.0, 56.3, 74.5, 100), "66% [56.3, 74.5] of 100"),
    ],
)
def test_a_number_says_of_how_many_it_is(figure: Figure, text: str) -> None:
    assert figure.number() == text


def test_the_check_fails_on_a_number_of_the_readme() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    records = load()
    assert readme_faults(page, records) == []
    for claim in ("68% and 82.2%", "82.4% won", "21.6% by naive", "75.2% by the bot"):
        assert claim in page
        assert readme_faults(page.replace(claim, f"9{claim}"), records)


def test_numbers_in_another_order_than_their_words_are_a_fault() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    ties = "against simple, greedy & against simple, drawn;"
    assert ties in page
    assert "68% and 82.2% won" in page
    for other in (
        page.replace("68% and 82.2% won", "82.2% and 68% won"),
        page.replace(ties, "against simple, drawn & against simple, greedy;"),
    ):
        assert readme_faults(other, load())


def test_an_opponent_of_another_figure_is_a_fault() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    old = "82.4% won by a league's main | 21.6% by naive"
    assert old in page
    other = page.replace(old, "82.5% won by a league's main | 52% by naive")
    for name in ("the league's main", "naive self-play"):
        other = other.replace(f"{name}, worst bot, greedy", f"{name}, against spears, greedy")
    assert readme_faults(other.replace("against its worst bot", "against SWORDS"), load())


def test_a_record_with_an_unknown_key_is_refused_by_name(tmp_path: Path) -> None:
    content = json.loads(msgspec.json.encode(GOOD)) | {"seed": 1}
    (tmp_path / "odd.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"odd\.json: .*seed"):
        load(tmp_path)


def test_the_page_names_its_sections() -> None:
    page = "a\n<!-- results: learning -->\nold\n<!-- end -->\nb\n"
    assert "MiniRTS" in render(page, {"minirts": GOOD})
    assert "old" not in render(page, {"minirts": GOOD})
    with pytest.raises(ValueError, match="unknown section lerning"):
        render(page.replace("learning", "lerning"), {})
