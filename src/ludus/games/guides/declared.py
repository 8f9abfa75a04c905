"""Texts of a game's explanation as a file or package declares them: ``NAME.toml`` in this folder.

The numbers of units are not in these files: :mod:`ludus.games.guides.pieces` reads them from the rulebook.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

import msgspec

from ludus.flow.inputs.decode import TomlError, from_toml
from ludus.flow.process.extensions import Extensions

MAX_TEXT = 2000  # characters of one text
MAX_TEXTS = 4096  # texts of one guide
_NAME_END = ".toml"


class ChoiceText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Text of one choice, or of all choices whose label fits a pattern such as ``build_*``.

    ``piece``: the unit that the choice makes; its price is the choice's. With a pattern, ``*`` is the part of
    the label that the star stands for. ``{piece}``, ``{cost}`` and ``{makers}`` in the texts are filled in.
    """

    does: str
    needs: str = ""
    piece: str = ""


class PieceText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Text of one kind of unit or piece. ``title``: as people read it, else the name."""

    does: str = ""
    title: str = ""


class GuideText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Texts of one game; see :class:`ludus.games.guides.guide.Guide`.

    ``extends``: another declaration in this folder whose texts come first. ``units``: path of the tables of
    units in the rulebook: ``units``, ``.`` for its top level, or empty where no unit has a price.
    """

    aim: str = ""
    how: tuple[str, ...] = ()
    win: str = ""
    lose: str = ""
    draw: str = ""
    extends: str = ""
    units: str = ""
    legend: tuple[tuple[str, str], ...] = ()
    choices: Mapping[str, Mapping[str, ChoiceText]] = {}
    pieces: Mapping[str, PieceText] = {}
    words: Mapping[str, str] = {}
    bots: Mapping[str, str] = {}


def _checked(value: object) -> GuideText:
    """Return a declared guide. Raises ``ValueError`` with what is wrong."""
    try:
        found = value if isinstance(value, GuideText) else msgspec.convert(value, GuideText)
    except msgspec.ValidationError as error:
        raise ValueError(f"is no guide: {error}") from None
    texts = list(_texts(msgspec.to_builtins(found)))
    if len(texts) > MAX_TEXTS:
        raise ValueError(f"has {len(texts)} texts, expected at most {MAX_TEXTS}")
    longest = max((len(text) for text in texts), default=0)
    if longest > MAX_TEXT:
        raise ValueError(f"has a text of {longest} characters, expected at most {MAX_TEXT}")
    return found


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)


@functools.cache
def built_in(name: str) -> GuideText | None:
    """Return the texts of ``NAME.toml`` in this folder, with the ones that it extends; None without it."""
    file = resources.files(__package__).joinpath(name + _NAME_END)
    if not file.is_file():
        return None
    try:
        own = _checked(from_toml(file.read_text("utf-8")))
    except (TomlError, ValueError) as error:
        raise ValueError(f"{name}{_NAME_END}: {error}") from None
    base = built_in(own.extends) if own.extends else None
    return own if base is None else _joined(base, own)


def _joined(base: GuideText, own: GuideText) -> GuideText:
    choices: dict[str, Any] = {head: dict(texts) for head, texts in base.choices.items()}
    for head, texts in own.choices.items():
        choices[head] = {**choices.get(head, {}), **texts}
    return msgspec.structs.replace(
        own,
        how=own.how or base.how,
        legend=(*own.legend, *base.legend),
        choices=choices,
        pieces={**base.pieces, **own.pieces},
        words={**base.words, **own.words},
        bots={**base.bots, **own.bots},
    )


_GUIDES: Extensions[GuideText] = Extensions("ludus.guides", "guide", {}, _checked)


def register_guide(game: str, guide: GuideText | Mapping[str, object] | str) -> None:
    """Declare the explanation of ``game``: a guide, its fields, or ``module:attribute``.

    Raises:
        ExtensionError: A ``ValueError``: a game that comes with Ludus, or something that is no guide.
    """
    _GUIDES.register(game, guide if isinstance(guide, str) else _checked(guide))


def text_of(game: str) -> GuideText | None:
    """Return the declared texts of a game, or None. Raises ``ValueError`` for a broken declaration."""
    return (built_in(game) if game.isidentifier() else None) or _GUIDES.find(game)
