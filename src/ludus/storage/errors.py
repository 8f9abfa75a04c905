"""What can be wrong with files, in words that a user can act on."""

from __future__ import annotations


class StorageError(Exception):
    """A file or directory is not what it has to be. The message names it and says what to do."""


class RunExists(StorageError):
    """The run directory to be created is already there."""


class RunNotFound(StorageError):
    """There is no run, checkpoint or weights file under this name."""


class CorruptFile(StorageError):
    """A file's content is not valid: cut off, of another schema, or not ours."""
