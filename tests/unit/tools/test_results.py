"""Records of published results are complete, and the page shows what they hold."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from tools.raw_lines import Line, write_record
from tools.readme_numbers import readme_faults
from tools.record_faults import FROM_BEFORE, Checkout, faults, figures_hash, gone, notices
from tools.records import ROOT, Figure, Record, load, preset_hash
from tools.results import main, render, table

GOOD = Record(
    schema=2,
    section="learning",
    title="CartPole, mean return",
    figures=(Figure(499.5, "return", "drawn", 1, low=498.0, high=500.0, count=100, interval="line"),),
    floors=(
        Figure(21.4, "return", "initial weights, drawn", count=2, interval="range", low=20.0, high=22.8),
        Figure(22.1, "return", "uniform", count=100, interval="line"),
    ),
    commands=("ludus train cartpole --run.seed 1",),
    commit="29e5284",
    date="2026-11-21",
    machine="2 cores",
    preset="cartpole",
    preset_sha256=preset_hash("cartpole"),
)
LINES = [
    Line("drawn", 1, "run@9", matches=100, value=499.51, low=498.0, high=500.0),
    Line("initial weights, drawn", 1, "run@0", matches=100, value=20.0),
    Line("initial weights, drawn", 2, "run@0", matches=100, value=22.8),
    Line("uniform", None, "uniform", matches=100, value=22.1),
]
WON = Record(
    schema=2,
    section="strength",
    title="Search at Go",
    figures=(Figure(66.0, "%", "against simple", low=56.3, high=74.5, count=100, interval="wilson"),),
    floors=(Figure(3.0, "%", "uniform", low=1.0, high=8.5, count=100, interval="wilson"),),
    commands=("python -m benchmarks.strength.minirts_planner plan:8x100 --against simple",),
    commit="29e5284",
    date="2026-11-26",
    machine="2 cores",
)
WON_LINES = [
    Line("against simple", None, "plan:8x100", "simple", "", 40, 0, 10, 50),
    Line("against simple", None, "plan:8x100", "simple", "", 26, 4, 20, 50),
    Line("uniform", None, "uniform", "simple", "", 3, 0, 97, 100),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write the records ``good`` and ``won`` with their raw lines."""
    write_record("good", GOOD, LINES, tmp_path)
    write_record("won", WON, WON_LINES, tmp_path)
    assert faults(load(tmp_path), tmp_path) == []
    return tmp_path


def changed(folder: Path, change: Mapping[str, object], name: str = "good") -> list[str]:
    """Return the faults of a record after a change."""
    return faults({name: msgspec.structs.replace(load(folder)[name], **change)}, folder)


def test_the_committed_records_and_their_page_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().err


def test_a_row_holds_figure_interval_command_and_provenance() -> None:
    row = table([GOOD]).splitlines()[-1]
    assert "seed 1, drawn: 499.5 return [498, 500] of 100" in row
    assert "`ludus train cartpole --run.seed 1`" in row
    assert "2026-11-21, commit 29e5284, 2 cores" in row
    assert "has changed" not in row


def test_a_row_shows_that_its_preset_has_changed() -> None:
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
        ({"data": ("data/good.jsonl", "data/nothing.json")}, "no file data/nothing.json"),
        ({"transcribed": True}, "expected a record that a program wrote"),
        ({"floors": GOOD.floors[:1]}, "no floor 'uniform'"),
        ({"floors": GOOD.floors[1:]}, "no floor 'initial weights'"),
        ({"schema": 1}, "schema 1: expected 2"),
    ],
)
def test_an_incomplete_record_is_a_fault(change: dict[str, object], fault: str, folder: Path) -> None:
    (found,) = changed(folder, change)
    assert found.startswith("good: ")
    assert fault in found


def test_empty_data_is_a_fault(folder: Path) -> None:
    found = changed(folder, {"data": ()})
    assert "good: data is empty: expected a file with the raw lines" in found


def test_a_search_that_learned_nothing_needs_one_floor(folder: Path) -> None:
    assert changed(folder, {"floors": ()}, "won") == [
        "won: no floor 'uniform': expected the same measure of it"
    ]
    trained = {"commands": ("ludus train cartpole",)}
    assert changed(folder, trained, "won") == [
        "won: no floor 'initial weights': expected the same measure of it"
    ]


@pytest.mark.parametrize(
    ("figure", "fault"),
    [
        ({"low": 499.8}, "outside of its interval"),
        ({"value": 499.7}, "the raw lines give seed 1, drawn: 499.5 return [498, 500] of 100"),
        ({"low": 497.0}, "the raw lines give"),
        ({"count": 200}, "the raw lines give"),
        ({"label": "greedy"}, "no raw line of 'seed 1, greedy'"),
        ({"seed": 3}, "no raw line of 'seed 3, drawn'"),
        ({"interval": ""}, "expected an interval of"),
        ({"interval": "wilson"}, "has no matches"),
        ({"high": None}, "an interval has two ends"),
        ({"interval": "seeds", "count": 1}, "an interval of one seed"),
        ({"interval": "range", "count": 1}, "an interval of one seed"),
        ({"interval": "seeds", "count": None}, "without their count"),
    ],
)
def test_a_figure_that_its_raw_lines_do_not_give_is_a_fault(
    figure: dict[str, object], fault: str, folder: Path
) -> None:
    wrong = msgspec.structs.replace(GOOD.figures[0], **figure)
    assert fault in "\n".join(changed(folder, {"figures": (wrong,)}))


def test_a_win_rate_is_that_of_all_its_lines(folder: Path) -> None:
    more = msgspec.structs.replace(WON.figures[0], value=80.0, high=90.0)
    (found,) = changed(folder, {"figures": (more,)}, "won")
    assert "the raw lines give against simple: 66% [56.3, 74.5] of 100" in found


def test_lines_that_cannot_be_right_are_a_fault(folder: Path) -> None:
    (folder / "data" / "won.jsonl").write_text(
        '{"label": "uniform", "won": 3, "drawn": 0, "lost": 5, "matches": 9}'
    )
    (found,) = faults({"won": load(folder)["won"]}, folder)
    assert "won.jsonl:1: won, drawn and lost of 9 matches have another sum" in found


def test_an_interval_of_one_seed_is_a_fault_in_old_records_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = msgspec.structs.replace(GOOD, schema=1, figures=(Figure(0.066, "", low=0.06, high=0.07, count=1),))
    monkeypatch.setitem(FROM_BEFORE, "old", figures_hash(old))
    assert faults({"old": old}, folder) == ["old: 0.066 [0.06, 0.07] of 1: an interval of one seed"]


def test_no_record_joins_the_old_ones(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = msgspec.structs.replace(GOOD, schema=1, transcribed=True)
    monkeypatch.setitem(FROM_BEFORE, "old", figures_hash(old))
    assert faults({"old": old}, folder) == []
    assert "_Typed in, not reproducible._" in table([old])
    assert "raw lines" in faults({"another": old}, folder)[0]
    again = msgspec.structs.replace(old, date="2026-11-26")
    assert "a figure measured again needs schema 2" in faults({"old": again}, folder)[0]
    other = msgspec.structs.replace(old, figures=(Figure(500.0, "return"),))
    assert "the figures of this old record have changed" in faults({"old": other}, folder)[0]
    assert "old: no old record any more: remove the name from FROM_BEFORE" in gone({"old": GOOD})


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("ludus train naive.toml --run.seed 1", "naive.toml"),
        ("ludus train cartpol", "presets/cartpol.toml"),
        (".venv/bin/ludus train presets/cartpole2.toml", "presets/cartpole2.toml"),
        ("ludus sweep sweeps/elf-table9.toml", "sweeps/elf-table9.toml"),
        ("ludus bench train cartpol", "presets/cartpol.toml"),
        ("python benchmarks/strength/nothing.py", "benchmarks/strength/nothing.py"),
        ("OMP_NUM_THREADS=1 python -m benchmarks.strength.nothing 3", "benchmarks/strength/nothing.py"),
        ("python benchmarks/throughput/league.py run --preset=presets/none.toml", "presets/none.toml"),
        ("ludus eval /tmp/bot.py --against simple", "/tmp/bot.py"),
    ],
)
def test_a_command_with_a_missing_file_is_a_fault(command: str, missing: str, folder: Path) -> None:
    found = changed(folder, {"commands": ("ludus train cartpole", command)})
    assert found == [f"good: {command!r}: {missing} is not in the repository"]


def test_a_command_names_files_presets_and_targets_that_are_there(folder: Path) -> None:
    good = (
        "ludus train cartpole",
        "ludus train presets/cartpole.toml",
        "ludus sweep sweeps/elf-table4.toml",
        "python -m benchmarks.strength.minirts_planner plan:8x100 --out x.jsonl",
        "make demo",
    )
    assert changed(folder, {"commands": good}) == []
    (found,) = changed(folder, {"commands": (*good, "make demos")})
    assert "the Makefile has no target demos" in found
    (found,) = changed(folder, {"commands": (*good, "ludus eval 'x")})
    assert "No closing quotation" in found


def test_the_commit_must_have_the_preset(tmp_path: Path, folder: Path) -> None:
    root = tmp_path / "repository"
    (root / "presets").mkdir(parents=True)
    git = ["git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@x.org"]
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "presets" / "cartpole.toml").write_text("old")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "m"], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    (root / "presets" / "cartpole.toml").write_text("new")
    checkout = Checkout(root)

    def found(change: Mapping[str, object]) -> list[str]:
        record = msgspec.structs.replace(load(folder)["good"], **change)
        assert not notices({"good": record}, checkout) or record.commit == "29e5284"
        return faults({"good": record}, folder, root, checkout)

    at = {"commit": commit.strip()}
    assert found(at | {"preset_sha256": hashlib.sha256(b"old").hexdigest()}) == []
    assert (
        "has another presets/cartpole.toml"
        in found(at | {"preset_sha256": hashlib.sha256(b"new").hexdigest()})[0]
    )
    (root / "presets" / "pong.toml").write_text("not committed")
    lacking = found(at | {"preset": "pong", "commands": ("make",), "preset_sha256": "0"})
    assert any("has no presets/pong.toml" in fault for fault in lacking)
    assert found({}) == []  # this commit is not in the clone
    assert "29e5284" in notices({"good": GOOD}, checkout)[0]


README = """# Ludus

Plays. `ludus --wins 99%`

## Numbers

| | Ludus | compared with |
|---|---|---|
| Search at Go | 66 of 100 matches | GNU Go |
| CartPole | 500 return | |

## More

No GPU is needed, nine steps, C++20.
"""


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("66 of 100", "76 of 100", "no record has 76 of 100"),
        ("66 of 100", "66 of 200", "no record has 66 of 200"),
        ("66 of 100", "66.0%", ""),
        ("66 of 100", "66.4%", "no record has 66.4%"),
        ("66 of 100", "60 to 66%", "no record has 60 to 66%"),
        ("500 return", "510 return", "no record has 510"),
        ("Search at Go", "Search at Pong", "no record has Pong"),
        ("GNU Go", "12.5% of another", "no record has 12.5%"),
        ("GNU Go", "3% by uniform play", ""),
        ("| CartPole |", "| Chess | 93% won | |\n| CartPole |", "'Chess': no record has"),
        ("nine steps", "nine steps, wins 93.5% of all", "'93.5%': no record has this figure"),
        ("nine steps", "trains 7 times faster", "'7 times': no record has this figure"),
        ("nine steps", "trains seven times faster", "'7 times': no record has this figure"),
        ("nine steps", "plays 4.5 million ticks/s", "'4.5 million ticks/s': no record has this figure"),
        ("nine steps", "wins 77 of 100 matches", "'77 of 100': no record has this figure"),
        ("nine steps", "wins 66% of all", ""),
    ],
)
def test_a_number_of_the_readme_belongs_to_a_record(old: str, new: str, fault: str, folder: Path) -> None:
    records = load(folder)
    assert readme_faults(README, records) == []
    assert old in README
    found = readme_faults(README.replace(old, new), records)
    assert [fault in f for f in found] == ([True] if fault else [])


def test_the_check_fails_on_a_number_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8").replace("2.7 million", "3.7 million")
    (tmp_path / "README.md").write_text(page, encoding="utf-8")
    monkeypatch.setattr("tools.results.README", tmp_path / "README.md")
    assert main(["--check"]) == 3
    assert "3.7 million ticks/s" in capsys.readouterr().err


def test_floors_have_a_column_of_their_own() -> None:
    head, _, row = table([GOOD]).splitlines()
    assert head.split(" | ")[2] == "floor: untrained, uniform"
    assert row.split(" | ")[2] == (
        "initial weights, drawn: 21.4 return [20, 22.8] of 2 seeds<br>uniform: 22.1 return of 100"
    )
    assert "floor" not in table([msgspec.structs.replace(GOOD, section="throughput")])


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
