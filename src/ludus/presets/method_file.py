"""Learning methods from a file: ``reinforce.py``.

The file ends with ``METHOD = Method(...)``, the line that a package declares as an entry point. Loading it
runs its code, so only a reference that the user gave is loaded (:mod:`ludus.games.names`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import msgspec.inspect as mi

from ludus.algorithms import registry
from ludus.algorithms.config import MethodConfig
from ludus.algorithms.registry import Method
from ludus.flow.problem import Argument, Part
from ludus.flow.process.extensions import ExtensionError
from ludus.games.names import is_typed, typed
from ludus.presets import schema
from ludus.presets.errors import ConfigError
from ludus.presets.overrides import setting_paths
from ludus.presets.user_code import MAX_BYTES as MAX_BYTES
from ludus.presets.user_code import read_code, run_code

ATTRIBUTE = "METHOD"
NAME = "algorithm.name"
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
    data = read_code(reference, path, where, _EXPECTED)
    sha256 = hashlib.sha256(data).hexdigest()
    for known in _loaded.values():
        if (known.path, known.sha256) == (str(path), sha256) and registry.find(known.name) is known.method:
            return known
    method = _method_of(run_code(path, data, where, _EXPECTED), where)
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
