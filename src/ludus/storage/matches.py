"""Self-play matches on disk: one safetensors file a round, with the provenance in its header."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.flow.slab import Array
from ludus.storage.errors import CorruptFile
from ludus.storage.files import own_folder, write_atomic
from ludus.storage.tensors import decode_file, encode_tensors

KEY = "ludus_matches"
SUFFIX = ".safetensors"
DIGITS = 9
MAX_BYTES = 4 << 30


class MatchesMeta(msgspec.Struct, frozen=True):
    """Provenance of a file's moves. ``seed``: of the matches, with their numbers."""

    game: str
    spec_hash: str
    params: dict[str, str]
    seed: int


class MatchFiles:
    """The folder ``self_play`` of a run. One process writes."""

    def __init__(self, folder: Path, meta: MatchesMeta) -> None:
        """Open the files in ``folder``, which may not exist yet. Each has ``meta`` in its header."""
        self.folder, self.meta = folder, meta

    def path(self, number: int) -> Path:
        """Return the path of file ``number``."""
        return self.folder / f"{number:0{DIGITS}d}{SUFFIX}"

    def numbers(self) -> list[int]:
        """Return the numbers of the existing files, ascending."""
        if not self.folder.is_dir():
            return []
        stems = (p.stem for p in self.folder.glob("*" + SUFFIX))
        return sorted(int(s) for s in stems if len(s) == DIGITS and s.isdecimal())

    def write(self, number: int, columns: dict[str, Array]) -> None:
        """Write a file atomically. Raises ``OSError``."""
        own_folder(self.folder, make=True)
        header = {KEY: msgspec.json.encode(self.meta).decode()}
        write_atomic(self.path(number), encode_tensors(columns, header))

    def read(self, number: int) -> dict[str, Array]:
        """Return the columns of a file of this run. Raises ``CorruptFile`` or ``RunNotFound``."""
        path = self.path(number)
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            raise CorruptFile(f"{path}: expected at most {MAX_BYTES} bytes")
        columns, header = decode_file(path)
        try:
            meta = from_json(header.get(KEY, ""), MatchesMeta)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CorruptFile(f"{path}: the header does not describe matches ({error})") from error
        if meta != self.meta:
            raise CorruptFile(f"{path}: matches of {meta}, expected {self.meta}")
        return columns

    def drop(self, numbers: list[int]) -> None:
        """Remove files; missing ones are ignored."""
        own_folder(self.folder)
        for number in numbers:
            self.path(number).unlink(missing_ok=True)
