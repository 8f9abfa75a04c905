"""Optional dependencies: the package to install when one is missing."""

from __future__ import annotations

#: The distribution on PyPI. The name ``ludus`` belongs to another project there.
DISTRIBUTION = "ludus-rl"


def requirement(extra: str) -> str:
    """Return the requirement that brings the packages of ``extra``: ``ludus-rl[train]``."""
    return f"{DISTRIBUTION}[{extra}]"


def install_command(extra: str) -> str:
    """Return the shell command that installs the packages of ``extra``."""
    return f"pip install '{requirement(extra)}'"
