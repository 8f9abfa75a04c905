"""What can be wrong with files, in words that a user can act on."""

from __future__ import annotations


class StorageError(Exception):
    """A file or directory is not what it has to be. The message names it and says what to do."""


class RunExists(StorageError):  # noqa: N818
    """The run directory to be created is already there."""


class RunNotFound(StorageError):  # noqa: N818
    """There is no run, checkpoint or weights file under this name."""


class CorruptFile(StorageError):  # noqa: N818
    """A file's content is not valid: cut off, of another schema, or not ours."""
