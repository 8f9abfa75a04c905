"""Imports modules that a user named, as ``my_package.my_module:MyGame`` or ``gymnasium/my_package:MyEnv-v0``.

Importing runs code. Callers pass names from the user's own command line, preset or program, never names
read from a file that came from elsewhere.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType

from ludus.native import ParamError


def import_typed(module: str, reference: str) -> ModuleType:
    """The module, searched for in the current folder first, as ``python -m`` does.

    Args:
        module: Its dotted name.
        reference: What the user wrote; an error begins with it.

    Raises:
        ParamError: No such module, or its code raised.
    """
    _search_here()
    if not all(part.isidentifier() for part in module.split(".")):
        raise ParamError(f"{reference}: {module!r} is not the name of a module")
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        searched = f"; searched: {os.getcwd()} and the installed packages"
        where = searched if error.name and (module + ".").startswith(error.name + ".") else ""
        raise ParamError(f"{reference}: {error}{where}") from error
    except Exception as error:
        raise ParamError(
            f"{reference}: importing {module} failed: {type(error).__name__}: {error}"
        ) from error


def _search_here() -> None:
    """Puts the current folder on the path, unless Python was started to leave it out (``-P``)."""
    if getattr(sys.flags, "safe_path", False):
        return
    here = os.getcwd()
    if "" not in sys.path and here not in sys.path:
        sys.path.insert(0, here)
