"""Errors of data sets, with messages that a user can act on."""

from __future__ import annotations

from ludus.storage.errors import StorageError


class DataSetError(StorageError, ValueError):
    """A data set, or a source of one, that cannot be used. The message has the place and the remedy."""


class BadRecord(ValueError):
    """One record that does not belong into a data set.

    Args:
        reason: Its kind in a few words, by which records are counted: ``illegal move``.
        text: What and where, one sentence.
    """

    def __init__(self, reason: str, text: str) -> None:
        """See the class."""
        super().__init__(text)
        self.reason = reason
