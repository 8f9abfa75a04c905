"""Trained players of the package, by name: ``zoo:NAME``, or ``zoo:NAME+search:VISITS``.

A player is two files of the package ``ludus.zoo``: ``NAME.safetensors``, its weights, and ``NAME.toml``, its
card. A name without a suffix plays as the card describes; in results and replays it stays ``zoo:NAME``.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Annotated

import msgspec

import ludus.zoo
from ludus.flow.inputs.decode import TextError, TomlError, from_toml, text_of
from ludus.flow.inputs.shown import shown
from ludus.flow.names import did_you_mean
from ludus.storage.errors import CorruptFile, RunNotFound
from ludus.storage.files import open_regular, read_bounded

ZOO = "zoo:"
SUFFIX, CARD_SUFFIX = ".safetensors", ".toml"
LEVELS = {1: "beginner", 2: "casual", 3: "strong"}
MAX_CARD_BYTES = 1 << 16
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_BLOCK = 1 << 20

Word = Annotated[str, msgspec.Meta(max_length=128)]
Line = Annotated[str, msgspec.Meta(max_length=1024)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
#: A number that is not infinite and not NaN.
Number = Annotated[float, msgspec.Meta(gt=-1e12, lt=1e12)]


class CardFigure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A measured result of a player, as its record has it.

    ``against``: the opponent, or ``measure``: what was measured without one. ``matches``: matches (of
    a measure: positions or matches) behind ``value``. ``low``, ``high``: its 95% interval. ``floor``: the
    same figure of ``floor_name``.
    """

    against: Word = ""
    measure: Word = ""
    matches: Count = 0
    value: Number
    low: Number
    high: Number
    floor: Number | None = None
    floor_name: Word = ""


class Card(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Description of a player of the zoo: how it plays, how it was made, how strong it is.

    ``level``: A key of :data:`LEVELS`. ``sha256``: Hash of the weights file. ``play``: Manner of play without
    a suffix: ``search:VISITS``, or "" for the network's choices. ``greedy``: The most probable choice, or the
    most visited move. ``trained``: The training, in a sentence. ``command``: Its command line. ``version``:
    Version of the weights in that run. ``strength``: Strength in words. ``record``: Name of the record with
    the figures.
    """

    title: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    game: Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
    level: Annotated[int, msgspec.Meta(ge=1, le=3)]
    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
    play: Annotated[str, msgspec.Meta(pattern=r"^(search:[0-9A-Za-z_.,=]{1,100})?\Z")] = ""
    greedy: bool = False
    trained: Line = ""
    command: Line = ""
    version: Count = 0
    strength: Line = ""
    record: Annotated[str, msgspec.Meta(pattern=r"^([a-z0-9][a-z0-9_-]{0,127})?\Z")] = ""
    figures: Annotated[tuple[CardFigure, ...], msgspec.Meta(max_length=64)] = ()


#: The folder of the players; tests set another one.
FOLDER = Path(ludus.zoo.__file__).resolve().parent

_checked: set[tuple[str, int, int]] = set()  # path, size and time of files whose sha256 was right


def is_zoo(text: str) -> bool:
    """Whether a player's name is one of the zoo's, with or without a suffix."""
    return text.startswith(ZOO)


def names() -> list[str]:
    """Return the sorted names of the players that have a card."""
    cards = (path.name.removesuffix(CARD_SUFFIX) for path in FOLDER.glob("*" + CARD_SUFFIX))
    return sorted(name for name in cards if _NAME.fullmatch(name))


def by_level() -> list[tuple[str, Card]]:
    """Return all players from easy to hard. Raises ``CorruptFile`` for a card that cannot be used."""
    found = [(name, card(name)) for name in names()]
    return sorted(found, key=lambda each: (each[1].level, each[0]))


def plain_name(text: str) -> str:
    """Return the name of a player without ``zoo:`` and suffix. Raises ``RunNotFound``."""
    return _known(text)


def card(name: str) -> Card:
    """Return the card of a player. ``name``: with or without ``zoo:`` and a suffix.

    Raises:
        RunNotFound: No such player; the message has the nearest name.
        CorruptFile: The card cannot be used.
    """
    name = _known(name)
    path = FOLDER / (name + CARD_SUFFIX)
    try:
        document = from_toml(text_of(read_bounded(path, MAX_CARD_BYTES)))
        return msgspec.convert(document, Card)
    except OSError as error:
        raise CorruptFile(f"{path}: {error.strerror}") from error
    except (TextError, TomlError, msgspec.ValidationError) as error:
        raise CorruptFile(f"{path}: {error}") from error


def path_of(name: str) -> Path:
    """Return the weights file of a player, once its sha256 is right. ``name``: as in :func:`card`.

    Raises:
        RunNotFound: No such player, or its file is missing.
        CorruptFile: The file was changed.
    """
    name = _known(name)
    path = FOLDER / (name + SUFFIX)
    try:
        about = path.stat()
        key = (str(path), about.st_size, about.st_mtime_ns)
        if key not in _checked:
            expected, found = card(name).sha256, _sha256(path)
            if found != expected:
                raise CorruptFile(
                    f"{path}: was changed: sha256 {found}, its card has {expected}; install Ludus again"
                )
            _checked.add(key)
    except OSError as error:
        raise RunNotFound(f"{path}: {error.strerror}; install Ludus again") from error
    return path


def name_of_path(path: Path) -> str:
    """Return ``zoo:NAME`` for a weights file of the zoo's folder, "" for any other path."""
    if path.suffix != SUFFIX or path.parent != FOLDER:
        return ""
    return ZOO + path.name.removesuffix(SUFFIX)


def played(text: str) -> tuple[str, bool]:
    """Return how a named player plays: its name with the card's suffix, and whether greedily.

    Names with a suffix and names of other players are returned unchanged, with False.
    """
    if not is_zoo(text) or "+" in text:
        return text, False
    about = card(text)
    return (f"{text}+{about.play}" if about.play else text), about.greedy


def _known(text: str) -> str:
    """Return the name without ``zoo:`` and suffix. Raises ``RunNotFound`` with the nearest name."""
    name = text.removeprefix(ZOO).partition("+")[0]
    valid = names()
    if name in valid:
        return name
    shown_names = [ZOO + each for each in valid]
    hint = did_you_mean(ZOO + name, shown_names, "the zoo has", cutoff=0.7)
    raise RunNotFound(f"{shown(ZOO + name)}: no player of the zoo{hint}; ludus zoo list shows them")


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
