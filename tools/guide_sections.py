"""Sections of ``docs/games`` that explain a game: the texts that its pages show too."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ludus.flow.spec import GameSpec, HeadSpec
from ludus.games.guides.guide import Guide, PieceGuide
from ludus.games.guides.lookup import EVERY

Table = Callable[[tuple[str, ...], Iterable[tuple[str, ...]]], str]


def guide(s: GameSpec, g: Guide, table: Table) -> str:
    """Aim, picture, how to play, the end, units and what the board shows."""
    lines = [g.aim, "", f"![A match of {s.title}](../images/games/{s.name}.webp)", ""]
    lines += [*(f"- {line}" for line in g.how), ""] if g.how else []
    ends = [text for text in (g.win, g.lose, g.draw) if text]
    lines += [" ".join(ends), ""] if ends else []
    text = "\n".join([*lines, ""])
    if g.pieces:
        priced = any(piece.cost for piece in g.pieces)
        head = (
            ("unit", "price", "made by", "numbers", "what it does")
            if priced
            else ("unit", "numbers", "what it does")
        )
        text += table(head, (_piece(piece, g, priced) for piece in g.pieces)) + "\n"
    if g.legend:
        text += table(("on the board", "meaning"), g.legend)
    return text


def _piece(piece: PieceGuide, g: Guide, priced: bool) -> tuple[str, ...]:
    titles = {p.name: p.title for p in g.pieces}
    facts = ", ".join(f"{name} {value}" for name, value in piece.facts) or "-"
    made = ", ".join(titles.get(name, name) for name in piece.made_by) or "-"
    bought = (f"{piece.cost:g}" if piece.cost else "-", made) if priced else ()
    return (piece.title, *bought, facts, piece.does)


def choices(head: HeadSpec, g: Guide, table: Table) -> str:
    """One row a choice: number, label, what it does and needs."""
    texts = g.choices.get(head.name, {})
    rows = []
    for number, label in enumerate(head.labels):
        text = texts.get(label)
        rows.append((str(number), label, text.does if text else "", (text.needs if text else "") or "-"))
    shared = {row[2:] for row in rows}
    if len(shared) == 1 or EVERY in texts:
        return every(g, head) + table(("", head.name), (row[:2] for row in rows))
    return table(("", head.name, "what it does", "needs"), rows)


def every(g: Guide, head: HeadSpec) -> str:
    """One line on what any choice of a head does and needs, and an empty one."""
    texts = g.choices.get(head.name, {})
    text = texts.get(EVERY) or next(iter(texts.values()), None)
    if text is None:
        return ""
    return f"{text.does}" + (f" It needs {text.needs}." if text.needs else "") + "\n\n"


def bots(s: GameSpec, g: Guide, table: Table) -> str:
    """One row a bot, its rules in words."""
    return table(("bot", "what it does"), ((f"`{b.name}`", g.bots[b.name]) for b in s.bots))
