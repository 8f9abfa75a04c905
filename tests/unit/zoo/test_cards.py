"""Cards agree with the raw lines of their records: each falsehood is found."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from ludus.policies.weights import load_weights
from ludus.storage import zoo
from tests.unit.zoo.conftest import SmallZoo
from tools import zoo_faults
from tools.raw_lines import lines_of, packed, unpacked
from tools.record_faults import faults
from tools.records import load, sha256_of
from tools.zoo_faults import card_faults


def found(small: SmallZoo) -> list[str]:
    """Return the faults of cards and records."""
    records = load(small.results)
    return [
        *card_faults(records, small.results, small.root),
        *faults(records, small.results, small.root),
    ]


def test_a_card_has_the_figures_of_its_record(small: SmallZoo) -> None:
    assert found(small) == []
    card, record = zoo.card("nought"), load(small.results)["zoo-nought"]
    assert [f.measure or f.against for f in card.figures] == ["value kept", "perfect"]
    assert {f.floor for f in record.floors} == {"initial weights", "uniform", "bot random", "bot perfect"}
    kept, against = card.figures
    assert (kept.matches, against.matches) == (90, 40)
    assert kept.low < kept.value < kept.high
    assert kept.floor_name in ("initial weights", "uniform")
    assert against.floor_name  # the hardest of four
    assert record.runs[0].weights == sha256_of(small.folder / "nought.safetensors")


def test_weights_are_not_kept_twice(small: SmallZoo) -> None:
    kept = list((small.results / "weights").iterdir())
    assert [path.stem for path in kept] == [load(small.results)["zoo-nought"].runs[0].initial[:16]]


def test_a_file_says_by_itself_what_it_plays(small: SmallZoo) -> None:
    meta = load_weights(small.folder / "nought.safetensors").meta
    assert meta.provenance is not msgspec.UNSET
    assert 'name = "tic_tac_toe"' in meta.provenance.preset


def cheated(small: SmallZoo) -> None:
    """Turn lost matches into won ones, in the lines and in the record's figures, not in the card."""
    path = small.results / "data" / "zoo-nought.jsonl"
    lines = lines_of("zoo-nought", small.results)
    changed = []
    for line in lines:
        if line.label == "value kept":
            text = unpacked(line.outcomes, line.matches or 0).replace("l", "w", 9)
            count = {"won": text.count("w"), "lost": text.count("l")}
            line = msgspec.structs.replace(line, outcomes=packed(text), **count)
        changed.append(line)
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in changed))


def other_weights(small: SmallZoo) -> None:
    """Change one byte of the weights."""
    path = small.folder / "nought.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


def field(name: str, number: int = 0) -> Callable[[SmallZoo], None]:
    """Return a change of a number of one figure of the card."""

    def change(small: SmallZoo) -> None:
        rows = [row for row in small.text().splitlines() if row.startswith(f"{name} = ")]
        before = rows[number]
        value = float(before.partition("=")[2])
        small.change(before, f"{name} = {value + 1.0:.1f}" if name != "matches" else "matches = 91")

    return change


FALSEHOODS: dict[str, tuple[Callable[[SmallZoo], None], str]] = {
    "value": (field("value"), "value kept: value"),
    "second value": (field("value", 1), "against perfect: value"),
    "low": (field("low"), "value kept: low"),
    "matches": (field("matches"), "value kept: matches 91"),
    "floor": (field("floor"), "value kept: floor"),
    "floor's name": (
        lambda small: small.change('floor_name = "', 'floor_name = "bot '),
        "value kept: floor_name",
    ),
    "hash": (
        lambda small: small.change(zoo.card("nought").sha256, "0" * 64),
        "its record was played by",
    ),
    "weights": (other_weights, "the file has"),
    "lines": (cheated, "value kept: value"),
    "figure left out": (
        lambda small: small.change(small.text()[small.text().rindex("\n[[figures]]") :], "\n"),
        "its record has",
    ),
    "command": (lambda small: small.change("--run.seed 7", "--run.seed 8"), "command"),
    "version": (lambda small: small.change("version = ", "version = 9"), "version 9"),
    "manner": (lambda small: small.change("greedy = false", "greedy = true"), "greedy False"),
    "search": (lambda small: small.change('play = ""', 'play = "search:9"'), "played by the network"),
    "record": (lambda small: small.change("zoo-nought", "zoo-cross"), "no record zoo-cross"),
    "no card": (lambda small: (small.folder / "nought.toml").unlink(), "no nought.toml beside it"),
    "unknown key": (lambda small: small.change("title", "titel"), "nought.toml"),
    "other file": (lambda small: (small.folder / "x.pt").touch(), "zoo/x.pt"),
}


@pytest.mark.parametrize("name", FALSEHOODS)
def test_a_falsehood_is_found(small: SmallZoo, name: str) -> None:
    change, expected = FALSEHOODS[name]
    change(small)
    wrong = found(small)
    assert any(expected in line for line in wrong), wrong


def test_all_files_together_are_small(small: SmallZoo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zoo_faults, "MAX_ALL", 1000)
    assert any("expected at most 1,000" in line for line in found(small))


def test_the_players_of_the_package_fit_it() -> None:
    sizes = [path.stat().st_size for path in zoo.FOLDER.glob("*.safetensors")]
    assert sum(sizes) < zoo_faults.MAX_ALL
