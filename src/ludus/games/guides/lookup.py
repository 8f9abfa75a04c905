"""Explanation of a game under its parameters: declared texts, numbers of the rulebook, names of the spec."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Any

from ludus.flow.spec import GameSpec, HeadSpec
from ludus.games.guides.declared import ChoiceText, GuideText, text_of
from ludus.games.guides.guide import ChoiceGuide, Guide, PieceGuide
from ludus.games.guides.pieces import bots_of, pieces_of, title_of, units_of
from ludus.games.registry import spec as spec_of

EVERY = "*"  #: label of a text for all choices of a head
MANY_LABELS = 64  # a head with more is explained as a whole
_ANSWERS = ("no", "yes")


def guide_of(game: str, params: Mapping[str, Any]) -> Guide:
    """Return the explanation of a game.

    A game without declared texts is explained by its spec. A broken declaration counts as none.

    Args:
        game: Name of the game.
        params: Parameters of the match.

    Raises:
        ValueError: There is no such game, or it has no such parameters.
    """
    spec = spec_of(game, dict(params))
    try:
        text = text_of(game) or GuideText()
    except ValueError:
        text = GuideText()
    return explained(spec, text, params)


def explained(spec: GameSpec, text: GuideText, params: Mapping[str, Any]) -> Guide:
    """Return the explanation of ``spec`` by ``text``."""
    units = units_of(spec.name, text.units, params) if text.units else {}
    pieces = pieces_of(units, text.pieces)
    if not units:
        pieces = tuple(PieceGuide(n, t.title or title_of(n), t.does) for n, t in text.pieces.items())
    bots = {**(bots_of(spec.name, params) if text.units else {}), **text.bots}
    known = {piece.name: piece for piece in pieces}
    return Guide(
        aim=text.aim or sentence(spec.meaning or spec.title),
        how=text.how,
        win=text.win,
        lose=text.lose,
        draw=text.draw,
        choices={head.name: _head(head, text.choices.get(head.name, {}), known) for head in spec.heads},
        pieces=pieces,
        legend=text.legend,
        words=text.words,
        bots={bot.name: bots.get(bot.name) or sentence(bot.meaning) for bot in spec.bots},
    )


def sentence(text: str) -> str:
    """Return ``text`` with a capital and a full stop."""
    plain = text.strip()
    return f"{plain[:1].upper()}{plain[1:]}" + ("" if plain[-1:] in ("", ".", "!", "?") else ".")


def _head(
    head: HeadSpec, texts: Mapping[str, ChoiceText], pieces: Mapping[str, PieceGuide]
) -> dict[str, ChoiceGuide]:
    """Return a text for each label of a head, or one for all where its labels are many or none."""
    whole = texts.get(EVERY) or ChoiceText(sentence(head.meaning or title_of(head.name)))
    if not head.labels or len(head.labels) > MANY_LABELS or head.labels == _ANSWERS:
        return {EVERY: _filled(whole, EVERY, pieces)}
    return {label: _filled(*_fitting(label, texts, whole), pieces) for label in head.labels}


def _fitting(label: str, texts: Mapping[str, ChoiceText], whole: ChoiceText) -> tuple[ChoiceText, str]:
    """Return the text of a label, and the part of the label that its star stands for."""
    if label in texts:
        return texts[label], label
    for pattern in sorted((p for p in texts if EVERY in p and p != EVERY), key=len, reverse=True):
        if fnmatch.fnmatchcase(label, pattern):
            head, _, tail = pattern.partition(EVERY)
            return texts[pattern], label[len(head) : len(label) - len(tail)]
    return whole, label


def _filled(text: ChoiceText, star: str, pieces: Mapping[str, PieceGuide]) -> ChoiceGuide:
    """Return a choice with the numbers of the unit that it makes."""
    piece = pieces.get(star if text.piece == EVERY else text.piece)
    title = piece.title if piece else title_of(star)
    cost = piece.cost if piece else 0.0
    makers = " or ".join(pieces[name].title for name in piece.made_by if name in pieces) if piece else ""

    def fill(line: str) -> str:
        made = line.replace("{piece}", title).replace("{cost}", f"{cost:g}").replace("{makers}", makers)
        return made.replace("{name}", title_of(star))

    return ChoiceGuide(fill(text.does), fill(text.needs), cost)
