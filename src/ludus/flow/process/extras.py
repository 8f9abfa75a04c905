"""Optional dependencies: the package to install when one is missing.

Messages name a clone: on PyPI the name ``ludus`` belongs to another project.
"""

from __future__ import annotations


def requirement(extra: str) -> str:
    """Return the requirement that brings the packages of ``extra``, in a clone: ``.[train]``."""
    return f".[{extra}]"


def install_command(extra: str) -> str:
    """Return the command that installs the packages of ``extra``, and where: the end of a message."""
    return pip_install(requirement(extra))


def pip_install(needed: str) -> str:
    """Return the command that installs a requirement, and where: in a clone if it is an extra's."""
    return f"pip install '{needed}'{' in the clone of Ludus' if needed.startswith('.[') else ''}"
