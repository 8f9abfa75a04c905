"""Faults of the zoo's cards against their records: ``tools.results --check`` prints them.

A record's figures are computed again from its raw lines (:mod:`tools.record_faults`); here each number of a
card is computed from the same lines, so that a changed figure, floor or hash is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import tomllib

from ludus.evaluation.zoo_check import figure_label
from ludus.storage.zoo import CARD_SUFFIX, SUFFIX, Card, CardFigure
from tools.figures import figure_of
from tools.raw_lines import Line, read_lines
from tools.records import RECORDS, ROOT, Figure, Record, sha256_of
from tools.zoo_cards import figures_of_record, record_of

ZOO = Path("src") / "ludus" / "zoo"
MAX_ALL = 8_000_000  # bytes of all weights together
OTHERS = ("__init__.py", "__pycache__")


def card_faults(records: Mapping[str, Record], folder: Path = RECORDS, root: Path = ROOT) -> list[str]:
    """Return the faults of all cards, a line each; empty without a zoo."""
    where = root / ZOO
    if not where.is_dir():
        return []
    wrong = list(_files(where))
    for path in sorted(where.glob(f"*{CARD_SUFFIX}")):
        try:
            card = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Card)
        except (ValueError, OSError) as error:
            wrong.append(f"zoo/{path.name}: {error}")
            continue
        wrong += [f"zoo/{path.name}: {text}" for text in _of_card(path.stem, card, where, records, folder)]
    named = {record_of(path.stem) for path in where.glob(f"*{CARD_SUFFIX}")}
    wrong += [f"{n}: a record of no player" for n in records if n.startswith("zoo-") and n not in named]
    return wrong


def _files(where: Path) -> Iterator[str]:
    total = 0
    for path in sorted(where.iterdir()):
        if path.name in OTHERS:
            continue
        if path.suffix not in (SUFFIX, CARD_SUFFIX):
            yield f"zoo/{path.name}: expected weights and cards"
            continue
        total += path.stat().st_size if path.suffix == SUFFIX else 0
        other = path.with_suffix(CARD_SUFFIX if path.suffix == SUFFIX else SUFFIX)
        if not other.is_file():
            yield f"zoo/{path.name}: no {other.name} beside it"
    if total > MAX_ALL:
        yield f"zoo: {total:,} bytes of weights, expected at most {MAX_ALL:,}"


def _of_card(
    name: str, card: Card, where: Path, records: Mapping[str, Record], folder: Path
) -> Iterator[str]:
    weights = where / f"{name}{SUFFIX}"
    if weights.is_file() and (found := sha256_of(weights)) != card.sha256:
        yield f"sha256 {card.sha256[:16]}, the file has {found[:16]}"
    if card.record != record_of(name):
        yield f"record {card.record!r}, expected {record_of(name)!r}"
    record = records.get(card.record)
    if record is None:
        yield f"no record {card.record or record_of(name)}: python -m tools.zoo measure {name}"
        return
    yield from _of_run(card, record)
    try:
        lines = read_lines(folder / "data" / f"{card.record}.jsonl")
    except (OSError, ValueError) as error:
        yield str(error)
        return
    yield from _played(card, lines)
    yield from _figures(card, computed(record, lines))


def _of_run(card: Card, record: Record) -> Iterator[str]:
    if len(record.runs) != 1:
        yield f"{len(record.runs)} runs in its record, expected one"
        return
    (run,) = record.runs
    if run.weights != card.sha256:
        yield f"sha256 {card.sha256[:16]}, its record was played by {run.weights[:16]}"
    for what, mine, theirs in (
        ("command", card.command, run.command),
        ("version", card.version, run.version),
        ("title", card.title, record.title),
    ):
        if mine != theirs:
            yield f"{what} {mine!r}, its record has {theirs!r}"


def _played(card: Card, lines: Sequence[Line]) -> Iterator[str]:
    """Yield a fault where the record was played in another manner than the card's."""
    for line in lines:
        if line.setting is None or line.weights != card.sha256 or line.setting.measure == "exact":
            continue
        searched = line.setting.search.removeprefix("+").removesuffix(",plies=0")
        plays = card.play.removesuffix(",plies=0")
        greedy = line.setting.play == "greedy" or "plies=0" in line.setting.search
        if searched != plays or greedy != (card.greedy or "plies=0" in card.play):
            yield f"{line.label}: its record was played by {searched or 'the network'}, greedy {greedy}"
        if line.setting.game != card.game:
            yield f"game {card.game}, its record was played at {line.setting.game}"


def computed(record: Record, lines: Sequence[Line]) -> Record:
    """Return the record with every figure and floor computed from the raw lines. Raises ``ValueError``."""

    def again(figure: Figure) -> Figure:
        return figure_of(
            lines,
            figure.label,
            figure.unit,
            figure.kind,
            figure.seed,
            figure.of,
            lower_is_better=figure.lower_is_better,
            floor=figure.floor,
            floor_of=figure.floor_of,
        )

    figures, floors = tuple(map(again, record.figures)), tuple(map(again, record.floors))
    return msgspec.structs.replace(record, figures=figures, floors=floors)


def _figures(card: Card, record: Record) -> Iterator[str]:
    expected = figures_of_record(record)
    wanted = [_label(f) for f in expected]
    if [_label(f) for f in card.figures] != wanted:
        yield f"figures {[_label(f) for f in card.figures]}, its record has {wanted}"
        return
    for mine, theirs in zip(card.figures, expected, strict=True):
        for field in ("matches", "value", "low", "high", "floor", "floor_name"):
            if getattr(mine, field) != getattr(theirs, field):
                given, right = getattr(mine, field), getattr(theirs, field)
                yield f"{_label(mine)}: {field} {given!r}, the raw lines give {right!r}"


def _label(figure: CardFigure) -> str:
    return figure_label(figure.against, figure.measure)
