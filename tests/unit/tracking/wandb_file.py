"""Reader of the local file of a W&B run: records of protobuf in blocks, as LevelDB writes its log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

BLOCK, HEAD = 32768, 7
FULL, FIRST, LAST = 1, 2, 4


class WandbFile(NamedTuple):
    """Content of the files of one run. ``history``: rows; ``files``: names of sent files."""

    identity: str
    history: list[dict[str, Any]]
    config: dict[str, Any]
    summary: dict[str, Any]
    files: list[str]


def records(path: Path) -> Iterator[bytes]:
    data, at, parts = path.read_bytes(), HEAD, b""
    while at + HEAD <= len(data):
        left = BLOCK - at % BLOCK
        if left < HEAD:
            at += left
            continue
        size, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        part = data[at + HEAD : at + HEAD + size]
        at += HEAD + size
        parts = part if kind in (FULL, FIRST) else parts + part
        if kind in (FULL, LAST):
            yield parts


def read(folder: Path) -> WandbFile:
    """Return what all local files below ``folder`` hold, in the order of their writing."""
    from wandb.proto import wandb_internal_pb2

    kind_of_record: Any = wandb_internal_pb2

    found = WandbFile("", [], {}, {}, [])
    for path in sorted(folder.glob("offline-run-*/*.wandb")):
        for data in records(path):
            record = kind_of_record.Record.FromString(data)
            kind = record.WhichOneof("record_type")
            if kind == "run":
                assert found.identity in ("", record.run.run_id)
                found = found._replace(identity=record.run.run_id)
                found.config.update(_items(record.run.config.update))
            elif kind == "history":
                found.history.append(_items(record.history.item))
            elif kind == "summary":
                found.summary.update(_items(record.summary.update))
            elif kind == "files":
                found.files.extend(file.path for file in record.files.files)
    return found


def _items(items: Iterable[Any]) -> dict[str, Any]:
    return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}
