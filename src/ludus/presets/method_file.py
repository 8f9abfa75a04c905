"""Learning methods from a file: ``reinforce.py``.

The file ends with ``METHOD = Method(...)``, the line that a package declares as an entry point. Loading it
runs its code, so only a reference that the user gave is loaded (:mod:`ludus.games.names`).
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import msgspec.inspect as mi

from ludus.algorithms import registry
from ludus.algorithms.config import MethodConfig
from ludus.algorithms.registry import Method
from ludus.flow.inputs.regular import why_unusable
from ludus.flow.problem import Argument, Part
from ludus.flow.process.extensions import ExtensionError
from ludus.games.names import is_typed, typed
from ludus.presets import schema
from ludus.presets.errors import ConfigError
from ludus.presets.overrides import setting_paths
from ludus.storage.errors import StorageError
from ludus.storage.files import read_bounded

ATTRIBUTE = "METHOD"
NAME = "algorithm.name"
MAX_BYTES = 1 << 20
_EXPECTED = f"expected a Python file with a learning method ({ATTRIBUTE} = Method(...))"


@dataclass(frozen=True, slots=True)
class MethodFile:
    """A method whose code was loaded from a file.

    Args:
        path: Absolute path of the file.
        data: The bytes that were run.
        sha256: Their hash.
        method: The registered method.
    """

    path: str
    data: bytes = field(repr=False)
    sha256: str
    method: Method

    @property
    def name(self) -> str:
        """Name in presets."""
        return self.method.name


#: Files that this process has loaded, by the name of their method.
_loaded: dict[str, MethodFile] = {}


def load_method(reference: str, where: Part = "") -> MethodFile:
    """Run the file ``reference`` and register its method until the program ends.

    A file that has not changed since this process loaded it is not run again.

    Args:
        reference: Path of the file, which the user gave (:func:`ludus.games.typed`).
        where: Place of an error; "" = the argument with the path.

    Raises:
        ConfigError: The file cannot be read or run, or holds no method that can be registered.
    """
    where = where or Argument("method", reference)
    if not is_typed(reference):
        raise ConfigError(
            "a name read from a file loads no code; if you trust it, name it yourself", where=where
        )
    path = Path(os.path.realpath(reference))
    data = _read(reference, path, where)
    sha256 = hashlib.sha256(data).hexdigest()
    for known in _loaded.values():
        if (known.path, known.sha256) == (str(path), sha256) and registry.find(known.name) is known.method:
            return known
    method = _method_of(_run(path, data, where), where)
    try:
        registry.register(method)
    except ExtensionError as error:
        raise ConfigError(error, where=where) from error
    _loaded[method.name] = MethodFile(str(path), data, sha256, method)
    return _loaded[method.name]


def with_method(reference: str, overrides: Mapping[str, str]) -> dict[str, str]:
    """Load the file of a method and return ``overrides`` under which a preset trains by its method.

    An ``algorithm.name`` among the overrides stays. ``reference``: given by the user; "" changes nothing.
    """
    if not reference:
        return dict(overrides)
    return {NAME: load_method(typed(reference)).name, **overrides}


def method_file(config: MethodConfig) -> MethodFile | None:
    """Return the file that the method of these settings was loaded from; None for other methods."""
    known = _loaded.get(str(config.__struct_config__.tag))
    return known if known is not None and isinstance(config, known.method.config) else None


def file_at_fault(error: BaseException) -> str:
    """Return the path of the method's file that an error was raised in or through; "" for other errors."""
    files = {known.path for known in _loaded.values()}
    trace = error.__traceback__
    while trace is not None:
        if (path := trace.tb_frame.f_code.co_filename) in files:
            return path
        trace = trace.tb_next
    return ""


def _read(reference: str, path: Path, where: Part) -> bytes:
    if why := why_unusable(path, ""):
        raise ConfigError(f"{why}; {_EXPECTED}", where=where)
    if path.suffix != ".py":
        raise ConfigError(f"no Python file; {_EXPECTED}", where=where)
    try:
        return read_bounded(path, MAX_BYTES)
    except FileNotFoundError:
        what = "a link to no file" if os.path.islink(reference) else "no such file"
        raise ConfigError(f"{what}; {_EXPECTED}", where=where) from None
    except (OSError, StorageError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise ConfigError(f"cannot be read ({reason}); {_EXPECTED}", where=where) from None


def _run(path: Path, data: bytes, where: Part) -> ModuleType:
    """Return the module that the file's bytes make."""
    name = f"ludus_method_{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"
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
            raise ConfigError(f"line {error.lineno}: {error.msg}; {_EXPECTED}", where=where) from error
        if isinstance(error, (Exception, SystemExit)):
            line = _line_of(error, str(path))
            text = " ".join(str(error).split())
            raise ConfigError(f"{line}{type(error).__name__}: {text}", where=where) from error
        raise
    return module


def _line_of(error: BaseException, path: str) -> str:
    """Return the last line of the file that an error came through: ``line 7: ``."""
    lines: list[int] = []
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f"line {lines[-1]}: " if lines else ""


def _method_of(module: ModuleType, where: Part) -> Method:
    found = getattr(module, ATTRIBUTE, None)
    if found is None:
        raise ConfigError(
            f"has no {ATTRIBUTE}; expected a last line {ATTRIBUTE} = Method(MyConfig, make_learner)",
            where=where,
        )
    try:
        method = registry.checked(found)
    except ValueError as error:
        raise ConfigError(f"{ATTRIBUTE} {error}", where=where) from error
    try:
        paths = setting_paths(mi.type_info(method.config))
    except (NameError, TypeError) as error:
        raise ConfigError(f"types of {method.config.__name__}: {error}", where=where) from error
    for path, kind in paths.items():
        if schema.expected(kind) == schema.expected(mi.AnyType()):
            raise ConfigError(
                f"{method.config.__name__}.{path}: a preset holds no value of this type; expected bool, int, "
                "float, str, a Literal of strings, or a tuple of one of these",
                where=where,
            )
    return method
