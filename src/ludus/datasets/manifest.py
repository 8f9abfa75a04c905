"""``dataset.json``: what a data set holds, and how it was made. Written last, read within bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from ludus.datasets.errors import DataSetError
from ludus.flow.inputs.decode import from_json
from ludus.flow.inputs.regular import why_unusable
from ludus.flow.inputs.shown import shell
from ludus.storage.files import read_bounded, write_atomic

NAME = "dataset.json"
FORMAT = 1
MAX_BYTES = 64 << 20
MAX_MATCHES = 1 << 31

Text = Annotated[str, msgspec.Meta(max_length=4096)]
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z", max_length=64)]
Natural = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
Few = Annotated[int, msgspec.Meta(ge=0, lt=MAX_MATCHES)]
Share = Annotated[float, msgspec.Meta(ge=0, lt=1)]
#: How matches are divided into those to learn from and those held out.
SplitBy = Literal["match", "date"]


class SplitRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How matches are held out.

    Args:
        by: ``match``: by the hash of a match's content. ``date``: the newest ones.
        held_out: Share of the matches.
    """

    by: SplitBy = "match"
    held_out: Share = 0.05


class DataSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One source that was named at an import: the last part of its path, and what was read of it."""

    name: Text
    files: Natural = 0
    bytes: Natural = 0


class ImportCounts(msgspec.Struct, forbid_unknown_fields=True):
    """Records that were read.

    Args:
        read: All records.
        duplicates: Left out: another record has the same final position and length.
        shortened: Taken up to a move that cannot be played.
        links: Links within folders, which are not followed.
        left_out: Other records that were left out, by reason.
    """

    read: Natural = 0
    duplicates: Natural = 0
    shortened: Natural = 0
    links: Natural = 0
    left_out: dict[Text, Natural] = {}


class ShardEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One shard: its file in ``shards``, and what is in it."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{6,9}\.safetensors\Z", max_length=24)]
    bytes: Natural
    matches: Annotated[int, msgspec.Meta(ge=1, lt=MAX_MATCHES)]
    sha256: Digest


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of ``dataset.json``.

    Args:
        format: Version of the format of the files.
        game: Name of the game.
        version: Version of its rules.
        spec_hash: Interface that the parameters of all matches give.
        seats: Seats of a match.
        matches: Number of matches.
        decisions: Decisions of all seats.
        held_out: Matches that are held out.
        sha256: Hash of the matches and their order, not of paths, sources or times.
        split: How matches are held out.
        licence: Terms of the records, as a person wrote them.
        sources: Where the records came from.
        counts: Records that were read for it.
        params: Sets of parameters; a match names one by its place.
        shards: Files with the matches, in order.
        problems: The first records that were left out: file, place and reason.
    """

    format: Literal[1]
    game: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
    version: Natural
    spec_hash: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{16}\Z", max_length=16)]
    seats: Annotated[int, msgspec.Meta(ge=1, le=1024)]
    matches: Few
    decisions: Natural
    held_out: Few
    sha256: Digest
    split: SplitRule
    licence: Text
    sources: tuple[DataSource, ...]
    counts: ImportCounts
    params: tuple[dict[str, str], ...]
    shards: tuple[ShardEntry, ...]
    problems: tuple[Text, ...] = ()


def is_dataset(path: Path) -> bool:
    """Whether ``path`` is the folder of a finished data set."""
    return (path / NAME).is_file()


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of the data set in ``folder``. Raises :class:`DataSetError`."""
    path = folder / NAME
    if (folder / "import.jsonl").exists() and not path.exists():
        raise DataSetError(
            f"{folder}: an import that has not finished; give its command again to continue, "
            f"or remove it: rm -r {shell(str(folder))}"
        )
    if path.is_symlink() or folder.is_file() or why_unusable(path):
        why = "a link" if path.is_symlink() else why_unusable(path)
        raise DataSetError(f"{folder}: not a data set ({NAME}: {why}); make one: ludus data import")
    try:
        manifest = from_json(read_bounded(path, MAX_BYTES), Manifest)
    except msgspec.DecodeError as error:
        raise DataSetError(f"{path}: not the manifest of a data set ({error})") from error
    total = sum(shard.matches for shard in manifest.shards)
    if total != manifest.matches:
        raise DataSetError(f"{path}: {manifest.matches} matches, but the shards have {total}")
    if len({shard.name for shard in manifest.shards}) != len(manifest.shards):
        raise DataSetError(f"{path}: two shards have one name")
    return manifest


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, by which the folder becomes a data set. Raises ``OSError``."""
    write_atomic(folder / NAME, msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n")
