"""Whether a run's last state is on disk: a run that recorded its end may have lost its last checkpoint.

The present version records an end only after the last checkpoint. Earlier versions did not look.
"""

from __future__ import annotations

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.storage.errors import StorageError
from ludus.storage.files import open_regular
from ludus.storage.jsonl import MAX_LINE_BYTES
from ludus.storage.rundir import RunDirectory


class _Recorded(msgspec.Struct, frozen=True):
    """Part of a trainer's state: the sizes that its log had at the checkpoint.

    The trainer of another package may not record them.
    """

    log_sizes: dict[str, int] | None = None


class _Kind(msgspec.Struct, frozen=True):
    """Part of a line of ``metrics.jsonl``."""

    kind: str = ""


def is_finished(run: RunDirectory) -> bool:
    """Return whether a run recorded its end, and a whole checkpoint has its last update."""
    return run.status().state == "finished" and has_last_state(run)


def has_last_state(run: RunDirectory) -> bool:
    """Return whether the newest whole checkpoint came after the last update in ``metrics.jsonl``."""
    for version in reversed(run.checkpoints.versions()):
        try:
            state = from_json(run.checkpoints.load_state(version), _Recorded)
            sizes = state.log_sizes
            return sizes is None or not _updates_after(run, sizes.get("metrics", 0))
        except (StorageError, OSError, msgspec.DecodeError, UnicodeDecodeError):
            continue  # as a resume does
    return False


def _updates_after(run: RunDirectory, size: int) -> bool:
    """Return whether the log has a line of an update behind byte ``size``. Raises ``StorageError``."""
    try:
        file = open_regular(run.metrics_path)
    except FileNotFoundError:
        return False
    with file:
        file.seek(max(0, size))
        while line := file.readline(MAX_LINE_BYTES):
            try:
                if from_json(line, _Kind).kind == "update":
                    return True
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue  # half a line
    return False
