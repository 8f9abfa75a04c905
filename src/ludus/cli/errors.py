"""Errors that end a command, with their exit codes and messages."""

from __future__ import annotations

DONE = 0
FAILED = 1
USAGE = 2
REFUSED = 3
INTERRUPTED = 130


class UserError(Exception):
    """Invalid input. The message is shown without a traceback; exit code 2."""


class CheckError(Exception):
    """A check failed (verify, conformance, signature). Exit code 3."""


class CommandError(Exception):
    """The input was valid and the work failed. Shown without a traceback; exit code 1."""
