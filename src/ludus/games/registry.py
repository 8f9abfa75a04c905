"""The games that this installation can play, built in or not.

A game is named in presets and on command lines by a reference:

- ``minirts``: a built-in game, or one of an installed package that declares the entry point
  ``my_game = "my_package.my_module"`` in the group ``ludus.games``: letters, digits, ``_`` and ``-``;
- ``gymnasium/CartPole-v1``, ``./my_game.py`` and the other references of :mod:`ludus.games.hosted`: games
  written in Python, played by separate processes;
- ``./path/to/my_game`` or ``path/to/my_game.cpython-311-x86_64-linux-gnu.so``: a compiled module
  (or a folder that holds one, also in its ``build/``), written with ``LUDUS_GAME_MODULE``.

Loading a module runs its code, so every function here first asks :mod:`ludus.games.names` whether the
reference may: names read from a file reach built-in and installed games only.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, cast

from ludus.flow.inputs.regular import TEXT
from ludus.flow.inputs.shown import shell, shown
from ludus.flow.names import did_you_mean
from ludus.flow.problem import Argument
from ludus.flow.process.extensions import Package, package_of
from ludus.flow.spec import GameSpec, decode_spec
from ludus.games import libraries
from ludus.games.hosted import hosted_maker, is_hosted, portable_reference
from ludus.games.names import UnknownGame, admit, is_installed_name, loaded
from ludus.native import NativeGames, ParamError, core

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from ludus.games.python_game import GameMaker

ENTRY_POINTS = "ludus.games"
#: Names of the games that come with the package, in a fixed order.
BUILT_IN: tuple[str, ...] = tuple(core.game_names())


class GameRef(NamedTuple):
    """A game's name and its compiled module."""

    name: str
    native: NativeGames


#: Modules loaded by path in this process: name of the game -> module.
_loaded: dict[str, NativeGames] = {}


def _entry_points() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # slow to load, and built-in games do not need it

    return {e.name: e for e in entry_points(group=ENTRY_POINTS) if is_installed_name(e.name)}


def game_package(name: str) -> Package | None:
    """Return the installed distribution that declares the game ``name``; None for other games."""
    if name in core.game_names() or name in _loaded:
        return None
    entry = _entry_points().get(name)
    return None if entry is None else package_of(entry, "game")


def list_games() -> list[str]:
    """Return the names of all games: built in, loaded by path, then installed, each in a fixed order."""
    names = [*core.game_names(), *sorted(_loaded), *sorted(_entry_points())]
    return list(dict.fromkeys(names))


def find(reference: str) -> GameRef:
    """Return the compiled game that ``reference`` names.

    Raises ``ParamError`` (a ``ValueError``): unknown name (with the nearest one), no such module, a module
    that holds no game, or a reference that no person gave (:mod:`ludus.games.names`).
    """
    if is_python(reference):
        raise ParamError(f"{shown(reference)} is written in Python; this works with compiled games alone")
    if "/" in reference or reference.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
        return _load(Path(reference))
    if reference in core.game_names():
        return GameRef(reference, cast(NativeGames, core))
    if reference in _loaded:
        return GameRef(reference, _loaded[reference])
    entry = _entry_points().get(reference)
    if entry is None:
        hint = did_you_mean(reference, list_games(), "valid", 0.4)
        raise UnknownGame(
            f"unknown game {reference!r}{hint}; ludus games list shows all, and a game of your own is given "
            "by its path (",
            Argument("game", form="PATH"),
            ")",
        )
    try:
        native, names = _checked(importlib.import_module(entry.value), entry.value)
    except (ImportError, AttributeError) as error:
        raise ParamError(
            f"game {reference}: {entry.value} cannot be used as a game module: {error}"
        ) from error
    if reference not in names:
        raise ParamError(f"game {reference}: {entry.value} holds {', '.join(names)} instead")
    return GameRef(reference, native)


def _load(path: Path) -> GameRef:
    """Load a compiled game module by path and return its first game. Raises ``ParamError``."""
    file = _extension_file(path)
    name = file.name.split(".")[0]
    qualified = f"ludus_game_{name}"
    module = sys.modules.get(qualified)
    if module is None or Path(module.__file__ or "").resolve() != file.resolve():
        loader = importlib.machinery.ExtensionFileLoader(name, str(file))
        spec = importlib.util.spec_from_file_location(name, file, loader=loader)
        if spec is None:
            raise ParamError(f"{file}: not a module that this Python can load")
        try:
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
        except ImportError as error:
            raise ParamError(f"{file}: {error}") from error
        sys.modules[qualified] = module
    try:
        native, names = _checked(module, str(file))
    except AttributeError:
        raise ParamError(f"{file}: has no games; it was not made with LUDUS_GAME_MODULE") from None
    clash = [n for n in names if n in core.game_names()]
    if clash:
        raise ParamError(f"{file}: {clash[0]} is the name of a built-in game")
    for game in names:
        _loaded[loaded(game)] = native
    return GameRef(names[0], native)


def _checked(module: ModuleType, where: str) -> tuple[NativeGames, list[str]]:
    """Return a compiled module as its interface, and the names of its games.

    Raises:
        AttributeError: It has no games.
        ParamError: It was built with another version of the interface.
    """
    native = cast(NativeGames, module)
    names = native.game_names()
    if getattr(module, "BINDINGS", None) != core.BINDINGS:
        raise ParamError(
            f"{where}: built with another version of ludus; build it again with this one "
            "(cmake --build, or install its package again)"
        )
    return native, names


def is_extension(path: Path) -> bool:
    """Return whether ``path`` is a file that may be a compiled game."""
    return path.name.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)) and path.is_file()


def _extension_file(path: Path) -> Path:
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    if path.is_file():
        if not path.name.endswith(suffixes):
            raise ParamError(f"{path}: not a compiled game module; expected a file *{suffixes[0]}")
        return path
    if not path.is_dir():
        if path.exists():
            raise ParamError(f"{path}: {TEXT}; expected a compiled game module")
        raise ParamError(
            f"{path}: no such file or folder{libraries.hint(str(path))}; expected a compiled game module"
        )
    for folder in (path, path / "build"):
        found = sorted(p for p in folder.glob("*") if p.name.endswith(suffixes)) if folder.is_dir() else []
        if len(found) > 1:
            raise ParamError(
                f"{folder}: several modules ({', '.join(p.name for p in found)}); name one of them"
            )
        if found:
            return found[0]
    raise ParamError(
        f"{path}: no compiled game module (*{suffixes[0]}) there or in its build/; "
        f"build it: cmake -S {shell(str(path))} -B {shell(f'{path}/build')} "
        f"&& cmake --build {shell(f'{path}/build')}"
    )


def spec(reference: str, params: Mapping[str, object] | None = None) -> GameSpec:
    """Return the spec of a game under ``params``.

    Raises ``ParamError`` (a ``ValueError``) on an unknown game, parameter or value, naming the nearest valid
    one.
    """
    if is_python(reference):
        return maker(reference, params).spec
    game = find(reference)
    return decode_spec(game.native.spec_json(game.name, text_params(params or {})))


def game_file(reference: str) -> Path:
    """Return the compiled module that a game is in. Raises ``ParamError`` as :func:`find` does."""
    return Path(str(getattr(find(reference).native, "__file__", "")))


def is_python(reference: str) -> bool:
    """Return whether a game is written in Python: processes play such games, not the core's threads.

    Raises ``ParamError`` for a reference that may not be loaded.
    """
    admit(reference)
    if is_hosted(reference):
        return True
    if "/" in reference or reference in core.game_names() or reference in _loaded:
        return False
    entry = _entry_points().get(reference)
    return entry is not None and ":" in entry.value


def python_reference(reference: str) -> str:
    """Return a reference of a Python game that works in other processes too. Raises ``ParamError``."""
    admit(reference)
    return portable_reference(reference if is_hosted(reference) else _entry_points()[reference].value)


def maker(reference: str, params: Mapping[str, object] | None = None) -> GameMaker:
    """Return a maker of a game written in Python. Raises ``ParamError``."""
    return hosted_maker(python_reference(reference), text_params(params or {}))


def text_params(params: Mapping[str, object]) -> dict[str, str]:
    """Convert parameters to strings for the core, from TOML's integers, floats and strings."""
    out: dict[str, str] = {}
    for name, value in params.items():
        if not isinstance(value, (str, int, float)):
            raise ParamError(f"parameter {name} = {value!r}: expected a number or a string")
        out[name] = value if isinstance(value, str) else repr(value).lower()
    return out
