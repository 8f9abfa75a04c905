"""Matches of self-play on disk: one safetensors file a round, with what they belong to in its header."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ludus.flow.slab import Array
from ludus.storage.errors import CorruptFile
from ludus.storage.files import write_atomic
from ludus.storage.tensors import decode_file, encode_tensors

KEY = "ludus_games"
SUFFIX = ".safetensors"
DIGITS = 9
MAX_BYTES = 4 << 30


class GamesMeta(msgspec.Struct, frozen=True):
    """What the moves of a file belong to. ``seed``: of the matches, with their numbers."""

    game: str
    spec_hash: str
    params: dict[str, str]
    seed: int


class MatchFiles:
    """The folder ``games`` of a run. One process writes.

    ``former_hash``: what files carry as the spec's hash that were written before labels counted.
    """

    def __init__(self, folder: Path, meta: GamesMeta, former_hash: str = "") -> None:
        self.folder, self.meta = folder, meta
        self._known = (meta, msgspec.structs.replace(meta, spec_hash=former_hash or meta.spec_hash))

    def path(self, number: int) -> Path:
        return self.folder / f"{number:0{DIGITS}d}{SUFFIX}"

    def numbers(self) -> list[int]:
        """Of the files that are there, rising."""
        if not self.folder.is_dir():
            return []
        stems = (p.stem for p in self.folder.glob("*" + SUFFIX))
        return sorted(int(s) for s in stems if len(s) == DIGITS and s.isdecimal())

    def write(self, number: int, columns: dict[str, Array]) -> None:
        """A file that is whole or absent. Raises ``OSError``."""
        self.folder.mkdir(exist_ok=True)
        header = {KEY: msgspec.json.encode(self.meta).decode()}
        write_atomic(self.path(number), encode_tensors(columns, header))

    def read(self, number: int) -> dict[str, Array]:
        """The columns of a file of this run. Raises ``CorruptFile`` or ``RunNotFound``."""
        path = self.path(number)
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            raise CorruptFile(f"{path}: more than the {MAX_BYTES} bytes that are read")
        columns, header = decode_file(path)
        try:
            meta = msgspec.json.decode(header.get(KEY, ""), type=GamesMeta)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CorruptFile(f"{path}: does not say which game it is of ({error})") from error
        if meta not in self._known:
            raise CorruptFile(f"{path}: matches of {meta}, expected {self.meta}")
        return columns

    def drop(self, numbers: list[int]) -> None:
        """Removes files; those that are gone already do not matter."""
        for number in numbers:
            self.path(number).unlink(missing_ok=True)
