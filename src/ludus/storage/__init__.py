"""Runs on disk: directories, checkpoints, metrics, weights. Files only, no torch."""

from __future__ import annotations

from ludus.storage.checkpoints import Checkpoint, CheckpointStore, Pointer
from ludus.storage.errors import CorruptFile, RunExists, RunNotFound, StorageError
from ludus.storage.files import read_bounded, write_atomic
from ludus.storage.jsonl import JsonlWriter, read_jsonl
from ludus.storage.references import (
    is_reference,
    load_weights,
    name_of,
    refuse_run,
    resolve_weights,
    run_of,
)
from ludus.storage.rundir import RunDirectory, RunInfo, RunLog, utc_now
from ludus.storage.signing import why_unsigned
from ludus.storage.tensors import decode_file, encode_tensors, encode_weights, read_weights

__all__ = [
    "Checkpoint",
    "CheckpointStore",
    "CorruptFile",
    "JsonlWriter",
    "Pointer",
    "RunDirectory",
    "RunExists",
    "RunInfo",
    "RunLog",
    "RunNotFound",
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
    "why_unsigned",
    "write_atomic",
]
