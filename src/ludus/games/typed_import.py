"""Import of modules that a user named: ``my_package.my_module:MyGame``, ``gymnasium/my_package:MyEnv-v0``.

Importing runs code: :mod:`ludus.games.names` has admitted the reference before. The current folder may be
untrusted, a run's for example, so it is searched only for a reference that the user gave.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from types import ModuleType

from ludus.flow.process.extras import pip_install
from ludus.games.names import is_typed
from ludus.native import ParamError


def import_typed(module: str, reference: str, install: Callable[[str], str] | None = None) -> ModuleType:
    """Import the module, installed or, if the user gave ``reference``, in the current folder.

    Args:
        module: Its dotted name.
        reference: The game's whole reference; an error starts with it.
        install: From the name of a module that is missing to what brings it ("" = unknown).

    Raises:
        ParamError: No such module, or its code raised.
    """
    here = is_typed(reference)
    if here:
        _search_here()
    if not all(part.isidentifier() for part in module.split(".")):
        raise ParamError(f"{reference}: {module!r} is not the name of a module")
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        needed = install(error.name or "") if install is not None else ""
        if needed:
            raise ParamError(f"{reference}: {error}; install it: {pip_install(needed)}") from error
        places = f"{os.getcwd()} and the installed packages" if here else "the installed packages"
        searched = f"; searched: {places}"
        where = searched if error.name and (module + ".").startswith(error.name + ".") else ""
        raise ParamError(f"{reference}: {error}{where}") from error
    except Exception as error:
        raise ParamError(
            f"{reference}: importing {module} failed: {type(error).__name__}: {error}"
        ) from error


def _search_here() -> None:
    """Append the current folder to the path, unless Python was started to leave it out (``-P``)."""
    if getattr(sys.flags, "safe_path", False):
        return
    here = os.getcwd()
    if "" not in sys.path and here not in sys.path:
        sys.path.append(here)
