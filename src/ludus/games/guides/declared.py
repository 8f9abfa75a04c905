"""Texts of a game's explanation as they are declared.

- a game of Ludus: ``NAME.toml`` in this folder;
- a game of a package: :func:`register_guide`, or an entry point in the group ``ludus.guides``, with a table
  of the fields of :class:`GuideText`;
- a Python file: its ``GUIDE``, a table with the same fields;
- a compiled game that is not installed: ``guide.toml`` beside its module, or above its ``build``.

Numbers are not typed here. ``{NAME}`` in a text is the value of a parameter of the match, or of a key of the
rulebook (``{wave.ticks}``); :mod:`ludus.games.guides.pieces` reads the units.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from ludus.flow.inputs.decode import TextError, TomlError, from_toml
from ludus.flow.inputs.decode import text_of as decoded
from ludus.flow.inputs.regular import open_regular
from ludus.flow.process.extensions import Extensions
from ludus.games import registry

MAX_TEXT = 2000  # characters of one text
MAX_TEXTS = 4096  # texts of one guide
MAX_FILE = 1 << 20  # bytes
FILE = "guide.toml"  # of a compiled game
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


class PartText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Texts that count under certain parameters, or keys of the rulebook: name -> the values.

    ``how`` is added to the game's.
    """

    params: Mapping[str, tuple[str, ...]]
    how: tuple[str, ...] = ()
    aim: str = ""
    win: str = ""
    lose: str = ""
    draw: str = ""


class GuideText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Texts of one game; see :class:`ludus.games.guides.guide.Guide`.

    ``extends``: another declaration in this folder whose texts come first. ``units``: path of the tables of
    units in the rulebook: ``units``, ``.`` for its top level, several with spaces between, or empty where
    no unit has numbers.
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
    when: tuple[PartText, ...] = ()


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


def text_of(game: str, params: Mapping[str, Any]) -> GuideText | None:
    """Return the declared texts of a game, or None. Raises ``ValueError`` for a broken declaration."""
    if game in registry.BUILT_IN:
        return built_in(game)
    found = _GUIDES.find(registry.spec(game, params).name)
    if found is not None:
        return found
    if registry.is_python(game):
        value = getattr(registry.maker(game, params), "guide", None)
        return None if value is None else _of_module(value, game)
    if registry.game_package(game) is not None:
        return None  # beside an installed module are the files of all packages
    folder = registry.game_file(game).parent
    above = (folder.parent / FILE,) if folder.name == "build" else ()
    return next((_read(path) for path in (folder / FILE, *above) if path.exists()), None)


def _of_module(value: object, game: str) -> GuideText:
    try:
        return _checked(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"GUIDE of {game} {error}") from None


def _read(path: Path) -> GuideText:
    try:
        with open_regular(path) as file:
            raw = file.read(MAX_FILE + 1)
        if len(raw) > MAX_FILE:
            raise ValueError(f"is larger than {MAX_FILE} bytes")
        return _checked(from_toml(decoded(raw)))
    except (OSError, TextError, TomlError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None
