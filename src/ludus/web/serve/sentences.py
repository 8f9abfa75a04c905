"""Errors as pages show them: one line, in which settings are keys of a preset."""

from __future__ import annotations

from ludus.flow.inputs.shown import utf8, visible
from ludus.flow.problem import PRESET, message

LONGEST = 400


def sentence(error: Exception) -> str:
    """Return an error as one line for a page."""
    lines = [line.strip() for line in message(error, PRESET).splitlines() if line.strip()]
    return visible(utf8(lines[0]))[:LONGEST] if lines else type(error).__name__
