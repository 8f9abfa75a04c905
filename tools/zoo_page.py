"""Table of the trained players in ``docs/guides/zoo.md``, from their cards: ``tools.gen_docs`` writes it.

The numbers of the cards are computed again from raw lines (:mod:`tools.zoo_faults`), so that the table needs
no ties.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ludus.cli.commands.zoo import number
from ludus.evaluation.zoo_check import figure_label, unit_of
from ludus.storage import zoo
from ludus.storage.zoo import Card, CardFigure
from tools.records import ROOT

PAGE = ROOT / "docs" / "guides" / "zoo.md"
BLOCK = re.compile(r"(<!-- zoo: players -->\n).*?(<!-- end -->)", re.DOTALL)


def table(cards: Sequence[tuple[str, Card]]) -> str:
    """Return a row for each player, from easy to hard."""
    if not cards:
        return "No player has been added yet.\n"
    rows = ["| player | what it is | strength | figures, 95% interval |", "|---|---|---|---|"]
    for name, card in cards:
        figures = "<br>".join(_figure(figure) for figure in card.figures)
        what = f"{card.title}, {zoo.LEVELS[card.level]}; {card.trained} `{card.command}`"
        cells = [f"`zoo:{name}`", what, card.strength, figures]
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "".join(row + "\n" for row in rows)


def _figure(figure: CardFigure) -> str:
    unit = unit_of(figure.measure)
    text = f"{figure_label(figure.against, figure.measure)}: {number(figure.value, unit)}"
    if figure.low < figure.high:
        text += f" [{figure.low:,g}, {figure.high:,g}]"
    if figure.matches:
        text += f" of {figure.matches:,}"
    if figure.floor is not None:
        text += f"; {figure.floor_name} {number(figure.floor, unit)}"
    return text


def fill(page: str, cards: Sequence[tuple[str, Card]]) -> str:
    """Return the page with the table. Raises ``ValueError`` without its place."""
    if not BLOCK.search(page):
        raise ValueError("lacks <!-- zoo: players --> ... <!-- end -->")
    return BLOCK.sub(lambda block: f"{block[1]}\n{table(cards)}\n{block[2]}", page)


def without_table(page: str) -> str:
    """Return a page without the table of players, whose numbers are checked elsewhere."""
    return BLOCK.sub("", page)


def write(*, check: bool) -> bool:
    """Write the page unless ``check``; return whether it was up to date. Raises ``ValueError``."""
    before = PAGE.read_text(encoding="utf-8")
    after = fill(before, zoo.by_level())
    if before != after and not check:
        PAGE.write_text(after, encoding="utf-8")
    return before == after
