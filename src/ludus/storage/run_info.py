"""Provenance and state of a run, as its directory has them."""

from __future__ import annotations

from typing import Literal

import msgspec

from ludus.flow.process.code_files import CodeFile
from ludus.flow.weights import Lineage
from ludus.storage.lock import Holder


class RunInfo(msgspec.Struct, frozen=True):
    """Content of ``run.json``: the provenance of a run. Written once.

    ``method``: path of the file that a learning method was loaded from, and ``method_sha256`` its hash.
    ``code``: all other files that code and rules of the run came from: of its game, its teacher, its
    rulebook, and of a method that an installed package has. ``data_sha256``: hash of the content of the
    recorded matches that the run learns from.
    """

    schema: int
    package_version: str
    game: str
    spec_hash: str
    seed: int
    started: str  # UTC, ISO 8601
    command: tuple[str, ...]
    host: dict[str, str] = {}
    versions: dict[str, str] = {}
    signature: str = ""
    run_id: str = ""  # random; no other run has it
    method: str = ""
    method_sha256: str = ""
    code: tuple[CodeFile, ...] = ()
    data_sha256: str = ""
    lineage: Lineage = ()  # runs that surgery made this one of, oldest first


RunState = Literal["running", "finished", "interrupted", "failed", "lost"]

#: State of a run without a process, by its last event: a start without an end was killed.
AFTER: dict[str, RunState] = {
    "started": "lost",
    "resumed": "lost",
    "finished": "finished",
    "interrupted": "interrupted",
    "failed": "failed",
    "surgery": "interrupted",
}


class RunStatus(msgspec.Struct, frozen=True):
    """State of a run.

    ``lost``: the process that trained the run ended without an event (kill -9, power cut). ``holder``: the
    process that trains the run, or trained it last; None if unknown.
    """

    state: RunState
    holder: Holder | None
