"""Words of the command line: settings and arguments as options; errors as text and as JSON."""

from __future__ import annotations

import msgspec

from ludus.flow.inputs.shown import shell, shown
from ludus.flow.problem import Argument, HasProblems, Problem, Setting, Words, message, quoted, written

_LONGEST = 1000  # characters of a value shown whole, to be pasted


def _option(name: str, part: Setting | Argument) -> str:
    value = shell(part.value) if len(part.value) <= _LONGEST else shown(part.value)
    text = value if part.value else part.form
    return f"--{name.lstrip('-').replace('_', '-')}" + (f" {text}" if text else "")


#: Options: ``--run.max-steps 5``, ``--game NAME``.
COMMAND_LINE = Words("option", lambda s: _option(s.path, s), lambda a: _option(a.name, a))


def said(error: BaseException | Problem) -> str:
    """Return an error or a problem as the command line writes it."""
    return message(error, COMMAND_LINE)


def error_document(error: BaseException) -> dict[str, object]:
    """Return the document of an error for ``--json``: its message, and the problems that it carries."""
    document: dict[str, object] = {"error": said(error)}
    if isinstance(error, HasProblems):
        document["problems"] = [_fields(problem) for problem in error.problems]
    return document


def _fields(problem: Problem) -> dict[str, object]:
    near = problem.near
    return {
        "path": problem.path,
        "value": msgspec.to_builtins(problem.value, enc_hook=quoted),
        "expected": problem.expected,
        "near": [] if near.kind else [n.path if isinstance(n, Setting) else n for n in near.names],
        "where": [written(place, COMMAND_LINE) for place in problem.where],
        "message": said(problem),
    }
