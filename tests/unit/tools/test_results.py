"""Records of published results are complete, and the page shows what they hold."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from tools.results import Figure, Record, faults, load, main, preset_hash, render, table

GOOD = Record(
    schema=1,
    section="learning",
    title="CartPole, mean return",
    figures=(Figure(value=499.5, unit="return", seed=1, low=498.0, high=500.0, count=100),),
    commands=("ludus train cartpole --run.seed 1",),
    commit="29e5284",
    date="2026-11-21",
    machine="2 cores",
    preset="cartpole",
    preset_sha256=preset_hash("cartpole"),
)


def test_the_committed_records_and_their_page_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().err


def test_a_row_holds_figure_interval_command_and_provenance() -> None:
    row = table([GOOD]).splitlines()[-1]
    assert "seed 1: 499.5 return [498, 500] of 100" in row
    assert "`ludus train cartpole --run.seed 1`" in row
    assert "2026-11-21, commit 29e5284, 2 cores" in row
    assert "has changed" not in row


def test_a_row_says_when_its_preset_has_changed() -> None:
    old = msgspec.structs.replace(GOOD, preset_sha256="0" * 64)
    assert "_The preset has changed since._" in table([old])


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"figures": ()}, "at least one figure"),
        ({"commands": ()}, "at least one figure and one command"),
        ({"commit": "soon"}, "hexadecimal"),
        ({"date": "yesterday"}, "YYYY-MM-DD"),
        ({"preset": "cartpol"}, "no preset cartpol"),
        ({"preset_sha256": ""}, "go together"),
        ({"data": ("data/nothing.json",)}, "no file data/nothing.json"),
        ({"figures": (Figure(value=2.0, unit="x", low=3.0, high=4.0),)}, "outside of its interval"),
    ],
)
def test_an_incomplete_record_is_a_fault(change: dict[str, object], fault: str, tmp_path: Path) -> None:
    assert faults({"good": GOOD}, tmp_path) == []
    (found,) = faults({"bad": msgspec.structs.replace(GOOD, **change)}, tmp_path)
    assert found.startswith("bad: ")
    assert fault in found


def test_a_record_with_an_unknown_key_is_refused_by_name(tmp_path: Path) -> None:
    content = json.loads(msgspec.json.encode(GOOD)) | {"seed": 1}
    (tmp_path / "odd.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"odd\.json: .*seed"):
        load(tmp_path)


def test_the_page_names_its_sections() -> None:
    page = "a\n<!-- results: learning -->\nold\n<!-- end -->\nb\n"
    assert "CartPole" in render(page, {"cartpole": GOOD})
    assert "old" not in render(page, {"cartpole": GOOD})
    with pytest.raises(ValueError, match="unknown section lerning"):
        render(page.replace("learning", "lerning"), {})
