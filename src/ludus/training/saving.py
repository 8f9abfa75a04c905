"""Saving of a run: when a checkpoint is due, and files that the disk refuses."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from ludus.reporting.sinks import Sinks
from ludus.storage import CheckpointStore


class Checkpointable(Protocol):
    """The part of a trainer that is saved."""

    @property
    def version(self) -> int:
        """Version of the newest weights."""
        ...

    def paused(self) -> AbstractContextManager[None]:
        """Return a context in which nothing is played."""
        ...

    def saved_already(self) -> bool:
        """Return whether the current state is on disk, or nothing has happened yet."""
        ...

    def write_checkpoint(self, taken: Callable[[], None] | None = None) -> Path:
        """Write a checkpoint and return its path. Raises ``OSError``.

        Args:
            taken: Called when the state has been taken, before it is written.
        """
        ...

    def referred_to(self) -> set[Path]:
        """Return files outside the checkpoint without which the current state cannot be resumed."""
        ...

    def after_checkpoint(self) -> None:
        """Remove files that no checkpoint on disk needs."""
        ...


class NeededFiles:
    """Files that a run's state refers to. No checkpoint is written while the disk refuses one of them."""

    def __init__(self, report: Sinks) -> None:
        """Start without files. ``report`` receives failures."""
        self._report = report
        self._refused: dict[Path, Callable[[], object]] = {}

    def write(self, path: Path, write: Callable[[], object]) -> None:
        """Write a file with ``write``; a failure is reported, and tried again before the next checkpoint."""
        try:
            write()
        except OSError as error:
            self._refused[path] = write
            self._report.problem(
                f"{path} was not written ({error.strerror or error}); "
                "it is tried again before the next checkpoint"
            )
        else:
            self._refused.pop(path, None)

    def write_refused(self, needed: set[Path]) -> None:
        """Write refused files of ``needed``. Raises ``OSError`` where one still cannot be written."""
        for path, write in list(self._refused.items()):
            if path in needed:
                try:
                    write()
                except OSError as error:
                    raise OSError(error.errno, f"it needs {path}: {error.strerror or error}") from error
            del self._refused[path]


class Saver:
    """Writes the checkpoints of one run."""

    def __init__(
        self,
        steps: Checkpointable,
        store: CheckpointStore,
        needed: NeededFiles,
        report: Sinks,
        every_minutes: float,
    ) -> None:
        """Start the clock.

        Args:
            steps: The trainer that is saved.
            store: The checkpoints that it writes.
            needed: Files that its state refers to.
            report: Receives checkpoints and failures.
            every_minutes: Time between two checkpoints, 0 for none by time.
        """
        self._steps, self._store, self._needed, self._report = steps, store, needed, report
        self._every_minutes = every_minutes
        self._saved_at = time.perf_counter()
        self.refused = ""  #: why the last attempt failed; empty if it did not

    def due(self) -> bool:
        """Return whether enough time has passed since the last attempt."""
        return (time.perf_counter() - self._saved_at) / 60.0 >= self._every_minutes > 0

    def save(self, taken: Callable[[], None] | None = None, *, last: bool = False) -> bool:
        """Write a checkpoint. Returns False after a failure, which is reported (:attr:`refused`).

        Args:
            taken: See :meth:`Checkpointable.write_checkpoint`.
            last: The run ends after this one.
        """
        steps = self._steps
        self.refused = ""
        with steps.paused():
            if steps.saved_already():
                return True
            try:
                self._needed.write_refused(steps.referred_to())
                path = steps.write_checkpoint(taken)
            except OSError as error:
                self.refused = error.strerror or str(error)
                before = "the one before it stands" if self._store.versions() else "there is none before it"
                self._report.problem(
                    f"checkpoint of version {steps.version} was not written ({self.refused}); "
                    f"{before}{'' if last else ', the run continues'}"
                )
                return False
            finally:
                self._saved_at = time.perf_counter()
            steps.after_checkpoint()
            self._report.checkpoint(path, steps.version)
            return True
