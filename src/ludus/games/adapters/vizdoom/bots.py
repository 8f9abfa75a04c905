"""The built-in bots of a match, and the files that describe them."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from ludus.flow.inputs.regular import open_regular, why_unusable
from ludus.flow.names import did_you_mean

MAX_FILE = 1 << 16  # bytes of a file of bots
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,14}")
_BLOCK = re.compile(r"\{([^{}]*)\}")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_IN_BLOCK = re.compile(r"^\s*name\s+(?:\"([^\"\n]*)\"|(\S+))", re.MULTILINE | re.IGNORECASE)
_ABILITIES = ("aiming", "perfection", "reaction", "isp")


class Bots(msgspec.Struct, frozen=True):
    """The built-in bots of a match: how many, their names, and the text that describes them."""

    count: int = 0
    names: tuple[str, ...] = ()
    described: str = ""  # empty: by ViZDoom's bots.cfg

    def arguments(self) -> str:
        """Return the arguments of the host: where the bots are described."""
        return f"+viz_bots_path {_written(self.described)}" if self.count and self.described else ""

    def add(self, game: Any) -> None:
        """Put the bots into the match of the running host ``game``, in place of any others."""
        game.send_game_command("removebots")
        for n in range(self.count):
            game.send_game_command(f"addbot {self.names[n]}" if self.names else "addbot")


def bots_of(count: int, names: str, skill: int, file: str = "") -> Bots:
    """Return the bots that the parameters describe.

    Args:
        count: Number of bots.
        names: Names and commas, one for each bot; "": drawn by the engine.
        skill: 0 to 100 for all four abilities; -1: each bot's own in the file.
        file: Path of a file like ViZDoom's ``bots.cfg``; "": that one.

    Raises:
        ValueError: Other names than bots, a name that is none, one that the file lacks, or a file that
            cannot be read.
    """
    called = tuple(name.strip() for name in names.split(",")) if names else ()
    if called and len(called) != count:
        raise ValueError(f"bot_names: {len(called)} names, expected one for each of {count} bots")
    for i, name in enumerate(called):
        if not _NAME.fullmatch(name):
            raise ValueError(f"bot_names = {names}: expected letters and digits, at most 15, found {name!r}")
        if name.lower() in (other.lower() for other in called[:i]):
            raise ValueError(f"bot_names = {names}: {name} comes twice")
    if skill >= 0:
        if file:
            raise ValueError("bot_skill and bots_file exclude each other: the file has the skill of each bot")
        called = called or tuple(f"Bot{n}" for n in range(1, count + 1))
        return Bots(count, called, _text(called, skill))
    text, known = _read(Path(file)) if file else ("", known_bots())
    if file and count > len(known):
        raise ValueError(f"bots_file = {file}: describes {len(known)} bots, expected {count} (bots)")
    for name in called:
        if name.lower() not in (there.lower() for there in known):
            hint = did_you_mean(name, known, f"in {file or 'bots.cfg'}", 0.5)
            raise ValueError(
                f"bot_names: no bot {name}{hint}" + ("" if file else "; any name goes with bot_skill")
            )
    return Bots(count, called or known[:count] if file else called, text)


@lru_cache(maxsize=1)
def known_bots() -> tuple[str, ...]:
    """Return the names in ViZDoom's ``bots.cfg``, empty if there is none."""
    import vizdoom

    path = Path(vizdoom.__file__).parent / "bots.cfg"
    return _read(path)[1] if path.is_file() else ()


def _read(path: Path) -> tuple[str, tuple[str, ...]]:
    """Return the text of a file of bots, and their names."""
    if why := why_unusable(path):
        raise ValueError(f"bots_file = {path}: {why}; expected a file like ViZDoom's bots.cfg")
    try:
        with open_regular(path) as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise ValueError(f"bots_file = {path}: {error.strerror or error}") from None
    if len(data) > MAX_FILE:
        raise ValueError(f"bots_file = {path}: larger than {MAX_FILE} bytes")
    try:
        text = _COMMENT.sub("", data.decode("ascii"))
    except UnicodeDecodeError:
        raise ValueError(f"bots_file = {path}: expected plain text (ASCII)") from None
    blocks = _BLOCK.findall(text)
    names = tuple(match[0] or match[1] for block in blocks for match in _IN_BLOCK.findall(block))
    if _BLOCK.sub("", text).strip() or len(names) != len(blocks):
        raise ValueError(f"bots_file = {path}: expected blocks in braces, each with the name of a bot")
    if not names:
        raise ValueError(f"bots_file = {path}: describes no bot")
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"bots_file = {path}: name {name[:40]!r}, expected letters and digits, at most 15"
            )
    if len({name.lower() for name in names}) < len(names):
        raise ValueError(f"bots_file = {path}: two bots have one name")
    return text, names


def _text(names: tuple[str, ...], skill: int) -> str:
    """Describe bots of the same skill."""
    abilities = "".join(f"    {ability} {skill}\n" for ability in _ABILITIES)
    return "".join(
        f'{{\n    name {name}\n{abilities}    color "40 cf 00"\n    skin base\n}}\n\n' for name in names
    )


@lru_cache(maxsize=64)
def _written(text: str) -> Path:
    """Write a description of bots to a file, for the life of this process."""
    handle, path = tempfile.mkstemp(".cfg", "bots_", _folder(os.getpid()))
    with os.fdopen(handle, "w") as file:
        file.write(text)
    return Path(path)


@lru_cache(maxsize=1)
def _folder(owner: int) -> Path:
    folder = tempfile.mkdtemp(prefix="ludus-bots-")

    def remove() -> None:
        if os.getpid() == owner:  # not in a fork of this process
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return Path(folder)
