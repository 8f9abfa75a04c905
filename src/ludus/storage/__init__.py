"""Runs on disk: directories, checkpoints, metrics, weights. Files only, no torch.

Names are loaded on first use: commands that read a preset load no numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ludus.storage.checkpoints import Checkpoint, CheckpointStore, Pointer
    from ludus.storage.errors import CorruptFile, RunExists, RunNotFound, StorageError
    from ludus.storage.files import read_bounded, write_atomic
    from ludus.storage.jsonl import JsonlWriter, read_jsonl
    from ludus.storage.lock import RunBusy
    from ludus.storage.references import (
        is_reference,
        load_weights,
        name_of,
        refuse_run,
        resolve_weights,
        run_of,
    )
    from ludus.storage.run_info import RunInfo, RunStatus
    from ludus.storage.rundir import RunDirectory, RunLog, utc_now
    from ludus.storage.tensors import decode_file, encode_tensors, encode_weights, read_weights
else:
    _NAMES = {
        "checkpoints": ("Checkpoint", "CheckpointStore", "Pointer"),
        "errors": ("CorruptFile", "RunExists", "RunNotFound", "StorageError"),
        "files": ("read_bounded", "write_atomic"),
        "jsonl": ("JsonlWriter", "read_jsonl"),
        "lock": ("RunBusy",),
        "references": (
            "is_reference",
            "load_weights",
            "name_of",
            "refuse_run",
            "resolve_weights",
            "run_of",
        ),
        "run_info": ("RunInfo", "RunStatus"),
        "rundir": ("RunDirectory", "RunLog", "utc_now"),
        "tensors": ("decode_file", "encode_tensors", "encode_weights", "read_weights"),
    }
    _HOME = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names}

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


__all__ = [
    "Checkpoint",
    "CheckpointStore",
    "CorruptFile",
    "JsonlWriter",
    "Pointer",
    "RunBusy",
    "RunDirectory",
    "RunExists",
    "RunInfo",
    "RunLog",
    "RunNotFound",
    "RunStatus",
    "StorageError",
    "decode_file",
    "encode_tensors",
    "encode_weights",
    "is_reference",
    "load_weights",
    "name_of",
    "read_bounded",
    "read_jsonl",
    "read_weights",
    "refuse_run",
    "resolve_weights",
    "run_of",
    "utc_now",
    "write_atomic",
]
