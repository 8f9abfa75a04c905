"""Python files of a user: read with bounds, and run as a module, once the rule of trust allows it.

The callers decide whether a file may be run (:mod:`ludus.games.names`).
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from types import ModuleType

from ludus.flow.inputs.regular import why_unusable
from ludus.flow.problem import Part
from ludus.flow.process.code_files import line_in
from ludus.presets.errors import ConfigError
from ludus.storage.errors import StorageError
from ludus.storage.files import read_bounded

MAX_BYTES = 1 << 20


def read_code(reference: str, path: Path, where: Part, expected: str) -> bytes:
    """Return the bytes of a Python file.

    Args:
        reference: The file as the user named it.
        path: The file itself.
        where: Place of an error.
        expected: End of its message.

    Raises:
        ConfigError: The file cannot be read, or is none of Python.
    """
    if why := why_unusable(path, ""):
        raise ConfigError(f"{why}; {expected}", where=where)
    if path.suffix != ".py":
        raise ConfigError(f"no Python file; {expected}", where=where)
    try:
        return read_bounded(path, MAX_BYTES)
    except FileNotFoundError:
        what = "a link to no file" if os.path.islink(reference) else "no such file"
        raise ConfigError(f"{what}; {expected}", where=where) from None
    except (OSError, StorageError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise ConfigError(f"cannot be read ({reason}); {expected}", where=where) from None


def run_code(path: Path, data: bytes, where: Part, expected: str, kind: str = "method") -> ModuleType:
    """Run the bytes of a file and return the module that they make.

    Args:
        path: The file.
        data: Its bytes.
        where: Place of an error.
        expected: End of its message.
        kind: Part of the module's name.

    Raises:
        ConfigError: The code has a mistake.
    """
    name = f"ludus_{kind}_{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"
    module = ModuleType(name)
    module.__file__ = str(path)
    before = sys.modules.get(name)
    sys.modules[name] = module  # annotations of a settings struct are looked up there
    try:
        exec(compile(data, str(path), "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        if isinstance(error, SyntaxError):
            raise ConfigError(f"line {error.lineno}: {error.msg}; {expected}", where=where) from error
        if isinstance(error, (Exception, SystemExit)):
            line = line_in(error, str(path))
            text = " ".join(str(error).split())
            at = f"line {line}: " if line else ""
            raise ConfigError(f"{at}{type(error).__name__}: {text}", where=where) from error
        raise
    return module
