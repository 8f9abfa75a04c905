"""Files that the code of a game comes from: what a run records, so that a change of it is noticed.

Built-in games have none: a run records the number of ``ludus signature`` for them.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ludus.flow.inputs.regular import open_regular
from ludus.games.adapters import ADAPTERS
from ludus.games.registry import BUILT_IN, game_file, is_python, maker, python_reference

MAX_BYTES = 1 << 22  # of a Python file whose imports are followed
MAX_ENTRIES = 20_000  # of a package's folders that are looked at
MAX_FILES = 256  # of a package; of a larger one only the modules that are named
#: Packages that only host a game: of these the game's own module is a file of the game.
_HOSTS = ("gymnasium", "pettingzoo", "ale_py", "vizdoom", "pyspiel", "open_spiel", "dm_env", "ludus")
_INSTALLED = ("site-packages", "dist-packages")
_CODE = (".py", ".so", ".pyd")


def game_files(reference: str, params: Mapping[str, object] | None = None) -> dict[str, Path]:
    """Return the files that the code of a game comes from, by their names in short.

    A file or module is itself; a package is all of its modules. An environment of another library is the
    modules that register and define its class.

    Args:
        reference: The game, whose code may be loaded and has been.
        params: Its parameters.

    Raises:
        ParamError: There is no such game.
    """
    if reference in BUILT_IN:
        return {}
    if not is_python(reference):
        return _named(game_file(reference))
    text = python_reference(reference)
    head, slash, rest = text.partition("/")
    if slash and head in ADAPTERS:
        maker(reference, params)  # its modules are imported then
        with contextlib.suppress(Exception):  # of a library; a game that plays must not end here
            return _adapted(head, rest)
        return {}
    if text.endswith(".py"):
        maker(reference, params)
        return _with_imports(_named(Path(text)))
    module, _, attribute = text.partition(":")
    maker(reference, params)
    made = getattr(sys.modules.get(module), attribute, None)
    return _modules(module, getattr(made, "__module__", module))


def _adapted(family: str, name: str) -> dict[str, Path]:
    if family == "gymnasium":
        return _modules(*_of_gymnasium(name))
    if family == "pettingzoo":
        module = name if "." in name else "pettingzoo." + name.replace("/", ".")
        made = sys.modules[module]
        creator = getattr(made, "raw_env", None) or getattr(made, "parallel_env", None)
        return _modules(module, getattr(creator, "__module__", module))
    if family == "dm_env":
        module, _, attribute = name.partition(":")
        creator = getattr(sys.modules[module], attribute)
        return _modules(module, getattr(creator, "__module__", module))
    if family == "vizdoom":
        return _scenario(name)
    return _modules({"openspiel": "pyspiel", "atari": "ale_py"}[family])


def _of_gymnasium(name: str) -> Iterator[str]:
    """Yield the modules that register an environment, define its class, and wrap it."""
    import gymnasium

    module, colon, environment = name.rpartition(":")
    if colon:
        yield module
    registered = gymnasium.spec(environment)
    for entry in (registered.entry_point, registered.vector_entry_point):
        if entry is not None:
            yield _module_of(entry)
    for wrapper in registered.additional_wrappers:
        yield wrapper.entry_point.partition(":")[0]


def _module_of(entry: Any) -> str:  # noqa: ANN401 - a string or a callable
    if isinstance(entry, str):
        module, _, attribute = entry.partition(":")
        made = getattr(sys.modules.get(module), attribute, None)
        return str(getattr(made, "__module__", module))
    return str(getattr(entry, "__module__", None) or type(entry).__module__)


def _scenario(name: str) -> dict[str, Path]:
    """Return the configuration of a scenario, and the files beside it that it names."""
    from ludus.games.adapters.vizdoom import configuration, scenario

    read = configuration.read(scenario.config_of(name))
    folder = read.path.parent
    files = [path for path in (read.path, read.map_file, read.game_file) if path is not None]
    return {path.relative_to(folder).as_posix(): path for path in files if path.is_relative_to(folder)}


def _named(path: Path) -> dict[str, Path]:
    return {path.name: path}


def _modules(*names: str) -> dict[str, Path]:
    """Return the files of modules: all of a package that one is in, and the file of any other module."""
    files: dict[str, Path] = {}
    for name in dict.fromkeys(names):
        top = name.partition(".")[0]
        if top in _HOSTS:
            files |= _module(name)
        else:
            files |= _package(top) or _with_imports(_module(name))
    return files


def _with_imports(files: dict[str, Path]) -> dict[str, Path]:
    """Add the modules beside a file (or in folders there) that it imports, and those that they import."""
    found, waiting = dict(files), [Path(os.path.realpath(path)) for path in files.values()]
    roots, known = {path.parent for path in waiting}, set(waiting)
    while waiting and len(found) < MAX_FILES:
        for name in sorted(_imported(waiting.pop())):
            file = Path(os.path.realpath(getattr(sys.modules.get(name), "__file__", None) or os.devnull))
            root = next((root for root in roots if _is_beside(name, file, root)), None)
            if root is not None and file not in known:
                found[file.relative_to(root).as_posix()] = file
                known.add(file)
                waiting.append(file)
    return found


def _is_beside(name: str, file: Path, folder: Path) -> bool:
    """Return whether a module is the user's own: in ``folder``, and not of an installation there."""
    top = name.partition(".")[0]
    if top in _HOSTS or top in sys.stdlib_module_names or folder not in file.parents:
        return False
    parts = file.relative_to(folder).parts
    return not any(part.startswith(".") or part in _INSTALLED for part in parts)


def _imported(path: Path) -> set[str]:
    """Return the modules that a file imports by absolute names, if it is a Python file."""
    if path.suffix != ".py":
        return set()
    try:
        with open_regular(path) as file:
            tree = ast.parse(file.read(MAX_BYTES))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found | {name[:dot] for name in found for dot, sign in enumerate(name) if sign == "."}


def _module(name: str) -> dict[str, Path]:
    found = sys.modules.get(name)
    file = getattr(found, "__file__", None)
    if file is None:
        with contextlib.suppress(ImportError, ValueError):
            spec = importlib.util.find_spec(name)
            file = spec.origin if spec is not None and spec.has_location else None
    if file is None:
        return {}
    package = name if getattr(found, "__path__", None) is not None else name.rpartition(".")[0]
    return {"/".join([*filter(None, package.split(".")), Path(file).name]): Path(file)}


def _package(top: str) -> dict[str, Path]:
    """Return the modules of a package, empty for a single module or a package that is too large."""
    files: dict[str, Path] = {}
    seen = 0
    for root in map(Path, getattr(sys.modules.get(top), "__path__", ())):
        for folder, below, names in os.walk(root):
            below[:] = sorted(name for name in below if name != "__pycache__" and not name.startswith("."))
            for path in (Path(folder, name) for name in sorted(names)):
                if path.suffix in _CODE and path.is_file():
                    files[f"{top}/{path.relative_to(root).as_posix()}"] = path
            seen += len(names) + len(below)
            if len(files) > MAX_FILES or seen > MAX_ENTRIES:
                return {}
    return files
