"""Cards of the zoo's players as TOML: written by ``tools.zoo``, figures from records."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from ludus.evaluation.zoo_check import figure_label
from ludus.storage.zoo import Card, CardFigure
from tools.records import Figure, Record, best_floor

HEAD = (
    "title", "game", "level", "sha256", "play", "greedy",
    "trained", "command", "version", "strength", "record",
)  # fmt: skip


def toml_of(card: Card) -> str:
    """Return a card as TOML: its facts, then a table for each figure."""
    lines = [f"{key} = {_value(getattr(card, key))}" for key in HEAD]
    for figure in card.figures:
        given = {f: getattr(figure, f) for f in figure.__struct_fields__}
        lines += ["", "[[figures]]"]
        lines += [f"{key} = {_value(value)}" for key, value in given.items() if value not in ("", None)]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def write_card(card: Card, path: Path) -> None:
    """Write a card, whole or not at all."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(toml_of(card), encoding="utf-8")
    temporary.replace(path)


def record_of(name: str) -> str:
    """Return the name of a player's record."""
    return f"zoo-{name}"


def figures_of_record(record: Record) -> tuple[CardFigure, ...]:
    """Return the figures of a card, each beside its best floor, from the figures of its record."""
    found = []
    for figure in record.figures:
        floors = [f for bots in (False, True) if (f := best_floor(figure, record.floors, bots))]
        sign = -1.0 if figure.lower_is_better else 1.0
        floor = max(floors, key=lambda f: sign * f.value, default=None)
        found.append(_card_figure(figure, floor))
    return tuple(found)


def _card_figure(figure: Figure, floor: Figure | None) -> CardFigure:
    against = figure.label.removeprefix("against ") if figure.label.startswith("against ") else ""
    made = CardFigure(
        against=against,
        measure="" if against else figure.label,
        matches=figure.count or 0,
        value=figure.value,
        low=figure.value if figure.low is None else figure.low,
        high=figure.value if figure.high is None else figure.high,
        floor=None if floor is None else floor.value,
        floor_name="" if floor is None else floor.floor,
    )
    assert figure_label(made.against, made.measure) == figure.label
    return made


def with_figures(card: Card, record: Record) -> Card:
    """Return a card with the figures of its record."""
    return msgspec.structs.replace(card, figures=figures_of_record(record))
