"""Maps of Doom (``.wad``): which ones a file has, and the starts for a deathmatch in each.

A file may be anyone's, and the engine trusts it. So header and directory are checked before an engine reads
it: the lumps lie within the file, and every number is bounded. Nothing is read but the directory and the
lumps that hold the starts of a map.
"""

from __future__ import annotations

import re
import struct
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import msgspec

from ludus.flow.inputs.regular import open_regular
from ludus.flow.inputs.shown import shown

MAX_BYTES = 1 << 28
MAX_LUMPS = 1 << 16
MAX_THINGS = 1 << 23  # bytes of the lump with a map's things
_HEADER, _ENTRY = struct.Struct("<4sii"), struct.Struct("<ii8s")
_KINDS = (b"IWAD", b"PWAD")
#: Type of the things at which the players of a deathmatch start.
_DEATHMATCH_START = 11
_TYPE = re.compile(rb"\btype\s*=\s*([0-9]{1,5})\s*;", re.IGNORECASE)
#: Bytes of a thing, and where its type is: in maps of Doom, and in maps of Hexen.
_THING, _HEXEN_THING = (10, 6), (20, 10)


class WadError(ValueError):
    """A file that is no map an engine may read. The message lacks the name of the file."""


class Lump(msgspec.Struct, frozen=True):
    """A part of a file: its name in upper case, and where its bytes are."""

    name: str
    start: int
    size: int


def maps_of(path: Path) -> dict[str, int]:
    """Return the maps of a file, by their names in lower case: the number of starts for a deathmatch.

    Raises ``WadError`` for a file that is not a WAD, is damaged or too large.
    """
    try:
        about = path.stat()
    except OSError as error:
        raise WadError(error.strerror or "cannot be read") from None
    return _maps_of(path, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=64)
def _maps_of(path: Path, size: int, changed: int) -> dict[str, int]:
    try:
        with open_regular(path) as file:
            if size > MAX_BYTES:
                raise WadError(f"{size:,} bytes, expected at most {MAX_BYTES:,}")
            lumps = _directory(file, size)
            places = [i for i, lump in enumerate(lumps) if lump.name in ("THINGS", "TEXTMAP") and i]
            return {lumps[i - 1].name.lower(): _starts(file, lumps, i) for i in places}
    except OSError as error:
        raise WadError(error.strerror or "cannot be read") from None


def _directory(file: BinaryIO, size: int) -> list[Lump]:
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size or header[:4] not in _KINDS:
        raise WadError(
            f"not a WAD (starts with {shown(header[:4].decode('latin-1'))}), expected IWAD or PWAD"
        )
    _, count, start = _HEADER.unpack(header)
    if not 0 <= count <= MAX_LUMPS:
        raise WadError(f"a damaged WAD: {count:,} lumps, expected 0 to {MAX_LUMPS:,}")
    if not _HEADER.size <= start <= size - count * _ENTRY.size:
        raise WadError(f"a damaged WAD: its directory ends beyond the file ({size:,} bytes)")
    file.seek(start)
    table = file.read(count * _ENTRY.size)
    if len(table) < count * _ENTRY.size:
        raise WadError("a damaged WAD: its directory is cut off")
    lumps = []
    for at, length, raw in _ENTRY.iter_unpack(table):
        name = raw.split(b"\0", 1)[0].decode("latin-1").upper()
        if length < 0 or (length and not 0 <= at <= size - length):
            raise WadError(f"a damaged WAD: the lump {shown(name)} lies outside of the file")
        lumps.append(Lump(name, at, length))
    return lumps


def _starts(file: BinaryIO, lumps: list[Lump], place: int) -> int:
    """Return the number of starts for a deathmatch among the things in the lump at ``place``."""
    lump = lumps[place]
    if lump.size > MAX_THINGS:
        raise WadError(f"a damaged WAD: {lump.name} has {lump.size:,} bytes, expected at most {MAX_THINGS:,}")
    file.seek(lump.start if lump.size else 0)
    data = file.read(lump.size)
    if lump.name == "TEXTMAP":
        return sum(int(found) == _DEATHMATCH_START for found in _TYPE.findall(data))
    hexen = any(after.name == "BEHAVIOR" for after in lumps[place + 1 : place + 11])
    length, offset = _HEXEN_THING if hexen else _THING
    whole = len(data) - len(data) % length
    types = (struct.unpack_from("<H", data, at + offset)[0] for at in range(0, whole, length))
    return sum(kind == _DEATHMATCH_START for kind in types)
