"""Errors of exports."""

from __future__ import annotations

from ludus.flow.problem import HasProblems


class ExportError(HasProblems, ValueError):
    """A network that cannot be exported, an export that differs, or a file that cannot be written."""
