"""Errors of files, with messages that a user can act on."""

from __future__ import annotations

from ludus.flow.problem import HasProblems


class StorageError(HasProblems):
    """A file or directory is invalid. The message names it and gives the remedy."""


class RunExists(StorageError):
    """The run directory to be created exists already."""


class RunNotFound(StorageError):
    """No run, checkpoint or weights file has this name."""


class CorruptFile(StorageError):
    """A file's content is not valid: cut off, of another schema, or not ours."""
