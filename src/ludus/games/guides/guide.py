"""Struct of a game's explanation, as pages and documents show it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class ChoiceGuide(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Explanation of one choice of a head.

    ``does``: what it does, one sentence. ``needs``: what it requires, for the reason when it is not possible
    ("needs a barracks"); empty where it is always possible. ``cost``: its price in the game's money, 0 for
    none.
    """

    does: str
    needs: str = ""
    cost: float = 0.0


class PieceGuide(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Explanation of a kind of unit or piece.

    ``name``: as view documents name it; ``title``: as people read it; ``does``: one sentence; ``cost``: price
    in the game's money; ``made_by``: names of the pieces that make it; ``facts``: pairs of a quantity and its
    value ("hit points", "60").
    """

    name: str
    title: str
    does: str = ""
    cost: float = 0.0
    made_by: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()


class Guide(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Explanation of a game under its parameters.

    Args:
        aim: The aim, one line.
        how: How a person plays on a page, one sentence each.
        win: How a match is won, one sentence.
        lose: How it is lost.
        draw: How it is drawn, or empty.
        choices: Head -> label of a choice -> its explanation.
        pieces: Kinds of units or pieces, in the order of the game.
        legend: Pairs of a symbol of the board and its meaning.
        words: Terms and quantities of the page -> their meaning.
        bots: Bot of the game -> its rules in words.
        problem: What is wrong with the declared texts, or empty.
    """

    aim: str
    how: tuple[str, ...] = ()
    win: str = ""
    lose: str = ""
    draw: str = ""
    choices: Mapping[str, Mapping[str, ChoiceGuide]] = {}
    pieces: tuple[PieceGuide, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    words: Mapping[str, str] = {}
    bots: Mapping[str, str] = {}
    problem: str = ""
