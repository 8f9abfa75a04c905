"""Resolution of references to games written in Python.

- ``gymnasium/CartPole-v1``: hosted by an adapter (``ludus.games.adapters``);
- ``./my_game.py``: a file whose ``GAME`` is a class, or a function, that makes a ``PythonGame``; its
  ``GUIDE``, if it has one, is the game's explanation for people (:mod:`ludus.games.guides`);
- ``my_package.my_module:MyGame``: the same, importable;
- a name that an installed package declares: an entry point ``name = "module:MyGame"`` in the group
  ``ludus.games``.

A game's parameters are the arguments of that class that have a plain default. Loading a file runs its
code. So :mod:`ludus.games.registry`, the only caller, passes only references that :mod:`ludus.games.names`
allows.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ludus.flow.inputs.regular import why_unusable
from ludus.flow.process.extras import install_command
from ludus.flow.spec import GameSpec, scores_problem
from ludus.games.adapters import ADAPTERS
from ludus.games.names import is_typed, loaded, typed
from ludus.games.typed_import import import_typed
from ludus.native import ParamError

if TYPE_CHECKING:
    from ludus.games.python_game import GameMaker, PythonGame, VectorGame

ATTRIBUTE = "GAME"
GUIDE = "GUIDE"
#: Extra of the package for each library. Other modules that an environment lacks are not Ludus's to bring.
_LIBRARIES = {
    "gymnasium": "gymnasium",
    "pettingzoo": "pettingzoo",
    "pyspiel": "open-spiel",
    "ale_py": "atari",
    "vizdoom": "vizdoom",
    "dm_env": "dm-env",
}

#: Games of users loaded in this process: name -> reference.
_loaded: dict[str, str] = {}


def is_hosted(reference: str) -> bool:
    """Return whether the reference means a game written in Python.

    Entry points are resolved by the registry.
    """
    head, slash, rest = reference.partition("/")
    if slash and rest and head in ADAPTERS:
        return True
    return reference in _loaded or reference.endswith(".py") or (":" in reference and "/" not in reference)


def absolute_reference(reference: str, folder: Path) -> str:
    """Return ``reference`` with the path in it made absolute.

    The path is looked up in ``folder``, then in the current folder. A reference without a path, and a path
    that leads nowhere, stay as they are.
    """
    head, slash, rest = reference.partition("/")
    prefix = f"{head}/" if slash and head in ADAPTERS else ""
    path = rest if prefix else reference
    if prefix:
        names_path = head == "vizdoom" and rest.endswith(".cfg")
    else:
        names_path = bool(slash) or reference.endswith((".py", *importlib.machinery.EXTENSION_SUFFIXES))
    if not names_path:
        return reference
    found = next((p for p in (folder / path, Path(path)) if p.exists()), None)
    return reference if found is None else prefix + _absolute(found)


def _absolute(path: Path) -> str:
    """Return an absolute path without links, unless what a link leads to has another suffix."""
    resolved = path.resolve()
    return str(resolved if resolved.suffix == path.suffix else Path(os.path.abspath(path)))


def portable_reference(reference: str) -> str:
    """Return the reference that works in another process: names of loaded files become their paths."""
    reference = _loaded.get(reference, reference)
    found = _absolute(Path(reference)) if reference.endswith(".py") else reference
    return typed(found) if is_typed(reference) else found


def hosted_maker(reference: str, params: Mapping[str, str]) -> GameMaker:
    """Return a maker of the game under ``params``.

    Raises ``ParamError`` for anything that cannot be found or made.
    """
    return _maker(_loaded.get(reference, reference), tuple(sorted(params.items())))


@lru_cache(maxsize=64)
def _maker(reference: str, params: tuple[tuple[str, str], ...]) -> GameMaker:
    from ludus.games.contained import START_S

    head, slash, rest = reference.partition("/")
    with _guest(reference, START_S):
        made: GameMaker
        if slash and head in ADAPTERS:
            made = _adapted(head, rest, dict(params))
        else:
            made = _OwnGame(reference, dict(params))
    return _ContainedMaker(reference, made)


@contextlib.contextmanager
def _guest(reference: str, limit_s: float = 0.0) -> Iterator[None]:
    """Run code of the game ``reference``. Every error becomes a ``ParamError``."""
    from ludus.games.contained import GameExit, GameHangs, contained

    try:
        with contained(limit_s):
            yield
    except ParamError:
        raise
    except GameExit as error:
        raise ParamError(f"{reference}: cannot be made: {error}") from error
    except GameHangs as error:
        raise ParamError(f"{reference}: cannot be made: the game {error}") from error
    except ValueError as error:  # of an adapter, or of the game
        text, family = _line(error), reference.partition("/")[0] + "/"
        raise ParamError(text if text.startswith(family) else f"{reference}: {text}") from error
    except Exception as error:
        from ludus.games.python_game import ProcessUnusable

        if isinstance(error, ProcessUnusable):
            raise
        raise ParamError(f"{reference}: cannot be made: {type(error).__name__}: {_line(error)}") from error


def _line(error: Exception) -> str:
    """Return the text of ``error`` on one line: some libraries write paragraphs."""
    return " ".join(str(error).split())


class _ContainedMaker:
    """A maker of games whose code is contained in this process (:mod:`ludus.games.contained`)."""

    def __init__(self, reference: str, maker: GameMaker) -> None:
        self._reference, self.guest = reference, maker
        self.spec = maker.spec

    def __getattr__(self, name: str) -> object:
        return getattr(self.guest, name)

    def make(self) -> PythonGame:
        from ludus.games.contained import START_S

        with _guest(self._reference, START_S):
            return self.guest.make()

    def make_drawn(self) -> PythonGame:
        from ludus.games.contained import START_S
        from ludus.games.python_game import make_drawn

        with _guest(self._reference, START_S):
            return make_drawn(self.guest)

    def make_vector(self, matches: int) -> VectorGame | None:
        with _guest(self._reference):
            return self.guest.make_vector(matches)


def _adapted(family: str, name: str, params: Mapping[str, str]) -> GameMaker:
    module, extra, _ = ADAPTERS[family]
    try:
        maker: Callable[[str, Mapping[str, str]], GameMaker] = importlib.import_module(module).maker
        made = maker(name, params)
    except ModuleNotFoundError as error:
        needed = _LIBRARIES.get(error.name or "")  # not a part of a library that is there
        if needed == "gymnasium":  # the extras of all families bring it
            needed = extra
        hint = f"; install it: {install_command(needed)}" if needed else ""
        raise ParamError(f"{family}/{name}: {error}{hint}") from error
    if made.spec.name != f"{family}/{name}":
        _loaded[loaded(made.spec.name)] = f"{family}/{name}"
    return made


class _OwnGame:
    """A user's own class, by file or by module."""

    def __init__(self, reference: str, params: Mapping[str, str]) -> None:
        from ludus.games.python_game import declared_params, typed_params  # numpy: not for games list

        self._reference = reference
        self._factory = _factory(reference)
        module = sys.modules.get(str(getattr(self._factory, "__module__", "")))
        #: Texts that explain the game to people (:mod:`ludus.games.guides`), as the module declares them.
        self.guide: object = getattr(module, GUIDE, None)
        declared = declared_params(self._factory)
        try:
            self._values = typed_params(declared, params)
        except ValueError as error:
            raise ParamError(f"{reference}: {error}") from None
        game = self.make()
        spec = getattr(game, "spec", None)
        if not isinstance(spec, GameSpec):
            if hint := hosted_name([type(game)], type(game).__module__):
                raise ParamError(f"{reference}: {hint}")
            raise ParamError(f"{reference}: spec is {type(spec).__name__}, expected a GameSpec")
        missing = [n for n in _NEEDED if not callable(getattr(game, n, None))]
        if missing:
            raise ParamError(
                f"{reference}: {type(game).__name__} has no {missing[0]}(); needed: {', '.join(_NEEDED)}"
            )
        if spec.seats < 1:
            raise ParamError(f"{reference}: {spec.seats} seats, expected at least 1")
        if problem := scores_problem(spec.scores):
            raise ParamError(f"{reference}: {problem}")
        if spec.scores and not callable(getattr(game, "scores", None)):
            raise ParamError(
                f"{reference}: {type(game).__name__} has no scores(); its spec names {', '.join(spec.scores)}"
            )
        self.spec = msgspec.structs.replace(spec, params=spec.params or tuple(declared))
        _loaded[loaded(self.spec.name)] = reference  # pools and replays have the name alone

    def make(self) -> PythonGame:
        try:
            return self._factory(**self._values)
        except Exception as error:
            raise ParamError(f"{self._reference}: cannot be made: {type(error).__name__}: {error}") from error

    def make_vector(self, matches: int) -> VectorGame | None:
        return None


def hosted_name(things: Sequence[object], module: str) -> str:
    """Return the message that names environments of other libraries among ``things``; "" if there are none.

    Args:
        things: Values of a user's module.
        module: Name under which that module is imported.
    """
    gymnasium, pettingzoo = sys.modules.get("gymnasium"), sys.modules.get("pettingzoo")
    found = [t for t in things if isinstance(t, type)]
    base = getattr(gymnasium, "Env", None)
    own = [t for t in found if base is not None and issubclass(t, base) and t.__module__.endswith(module)]
    if own:
        names = {t.__name__ for t in own}
        registry = getattr(gymnasium, "registry", {})
        ids = [name for name, about in registry.items() if _entry_name(about.entry_point) in names]
        word = f"{own[0].__name__} is an environment of Gymnasium"
        if ids:
            return f"{word}: name it by its id, gymnasium/{module}:{ids[0]}"
        example = f'gymnasium.register("{own[0].__name__}-v0", entry_point={own[0].__name__})'
        name = f"gymnasium/{module}:{own[0].__name__}-v0"
        return f"{word}: register it in the module, {example}, and name it {name}"
    kinds = tuple(k for n in ("ParallelEnv", "AECEnv") if isinstance(k := getattr(pettingzoo, n, None), type))
    own = [t for t in found if kinds and issubclass(t, kinds) and t.__module__.endswith(module)]
    if own:
        return (
            f"{own[0].__name__} is an environment of PettingZoo: give its module a function parallel_env or "
            f"env, and name it pettingzoo/{module}"
        )
    return ""


def _entry_name(entry: object) -> str:
    """Return the name of the class that a registered environment is made by."""
    return entry.rpartition(":")[2] if isinstance(entry, str) else str(getattr(entry, "__name__", ""))


_NEEDED = ("reset", "to_act", "step", "rewards", "outcome", "observe")


def _factory(reference: str) -> Callable[..., PythonGame]:
    name = ATTRIBUTE
    if reference.endswith(".py"):
        module = _load_file(Path(reference))
    else:
        module_name, _, name = reference.partition(":")
        module = import_typed(module_name, reference)
    factory: Callable[..., PythonGame] | None = getattr(module, name, None)
    if not callable(factory):
        importable = Path(reference).stem if reference.endswith(".py") else reference.partition(":")[0]
        if environments := hosted_name(list(vars(module).values()), importable):
            raise ParamError(f"{reference}: {environments}")
        hint = f"end the file with {ATTRIBUTE} = MyGame" if name == ATTRIBUTE else "name a class in it"
        raise ParamError(f"{reference}: has no {name}; {hint}")
    return factory


def _load_file(path: Path) -> object:
    if why := why_unusable(path):
        raise ParamError(f"{path}: {why}; expected a Python file with a game")
    qualified = f"ludus_game_file_{path.stem}"
    module = sys.modules.get(qualified)
    if module is not None and Path(module.__file__ or "").resolve() == path.resolve():
        return module
    spec = importlib.util.spec_from_file_location(qualified, path)
    if spec is None or spec.loader is None:
        raise ParamError(f"{path}: not a module that this Python can load")
    module = importlib.util.module_from_spec(spec)
    sys.modules[qualified] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[qualified]
        if not isinstance(error, Exception):  # SystemExit, KeyboardInterrupt
            raise
        raise ParamError(f"{path}: {type(error).__name__}: {error}") from error
    return module
