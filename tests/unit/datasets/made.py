"""Small data sets for tests."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ludus.datasets.from_replay import ReadingRules
from ludus.datasets.importer import ImportOrder, ImportWatch, import_records
from ludus.datasets.manifest import Manifest, SplitRule
from ludus.games import replays

ANY = ReadingRules()


def records(folder: Path, count: int, first: int = 0) -> Path:
    """Write replays of bots on a small board of Go, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for match in range(first, first + count):
        replay = replays.record("go", {"size": 5}, bots=["tactical"], match=match)
        (folder / f"{match:03d}.ludus").write_bytes(replay)
    return folder


def imported(
    *sources: Path, to: Path, split: SplitRule | None = None, licence: str = "", append: bool = False
) -> Manifest:
    """Import sources and return the manifest."""
    return import_records(ImportOrder(sources, to, split=split, licence=licence, append=append))


def told(
    *sources: Path, to: Path, rules: ReadingRules = ANY, size: int = 0, append: bool = False
) -> tuple[Manifest, list[str]]:
    """Import sources and return the manifest, and the lines about records that were left out."""
    problems: list[str] = []
    made = import_records(
        ImportOrder(sources, to, rules, size, append=append), ImportWatch(problem=problems.append)
    )
    return made, problems


def files_hash(folder: Path) -> str:
    """Return a hash of the shards of a data set."""
    made = hashlib.sha256()
    for path in sorted((folder / "shards").iterdir()):
        made.update(path.name.encode() + path.read_bytes())
    return made.hexdigest()
