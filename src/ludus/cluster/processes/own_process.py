"""Command lines of this interpreter that run a module of this package."""

from __future__ import annotations

import sys


def command_of(module: str, *arguments: str) -> list[str]:
    """Return a command that calls ``main`` of ``module`` with the command line ``arguments``.

    The current folder is not on the path of the process: it may be untrusted.
    """
    program = "import sys; sys.path[:] = [p for p in sys.path if p]; "
    return [sys.executable, "-c", f"{program}from {module} import main; main()", *arguments]
