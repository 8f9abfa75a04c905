"""Games of other libraries by the names that these libraries use: ``LunarLander-v3``, ``connect_four_v3``.

A reference puts the library in front: ``gymnasium/LunarLander-v3``. The tables come from the installed
libraries, which are imported to read them; nothing is made.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from ludus.flow.names import nearest
from ludus.games.adapters import ADAPTERS

#: Module of each library that has a table of names, by the first part of its references.
_MODULES = {
    "gymnasium": "gymnasium",
    "atari": "ale_py",
    "pettingzoo": "pettingzoo",
    "openspiel": "pyspiel",
    "vizdoom": "vizdoom",
}
#: These libraries.
LISTED = tuple(_MODULES)
#: A game of each library that can be hosted, as the library calls it.
EXAMPLES = {
    "gymnasium": "CartPole-v1",
    "pettingzoo": "classic/connect_four_v3",
    "atari": "Breakout",
    "openspiel": "kuhn_poker",
    "vizdoom": "basic",
    "dm_env": "my_package:MyEnvironment",
}
#: Atari's games as ale-py registers them in Gymnasium: ``ALE/Pong-v5``, ``PongNoFrameskip-v4``.
_ATARI = re.compile(
    r"ALE/([A-Za-z]+)(?:-ram)?(?:-v\d+)?|([A-Z][A-Za-z]*?)(?:-ram)?(?:NoFrameskip|Deterministic)-v\d+"
)
_VERSION = re.compile(r"[-_]v\d+$")
_SHOWN = 3  # references of one name in a message


def installed() -> list[str]:
    """Return the libraries whose games can be listed, by the first part of their references."""
    return [family for family, module in _MODULES.items() if _is_there(module)]


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # a finder that forbids it, a module that is half there
        return False


def names(family: str) -> list[str]:
    """Return the references of a library's games in its order, empty if it is missing or broken.

    Raises ``KeyError`` for a family without a table.
    """
    table = _TABLES[family]
    try:
        return [f"{family}/{name}" for name in table()] if family in installed() else []
    except Exception:  # other people's code
        return []


def missing(family: str) -> dict[str, str]:
    """Return references of :func:`names` whose files are not there, with the command that fetches them."""
    table = _MISSING.get(family)
    return {f"{family}/{name}": command for name, command in table().items()} if table else {}


def find(name: str, families: Iterable[str] = _MODULES) -> tuple[list[str], list[str]]:
    """Return references of games that a library calls ``name``, and of one that is called nearly so.

    Case, separators and a version at the end do not count.
    """
    every = [reference for family in families for reference in names(family)]
    wanted = plain(name)
    same = [r for r in every if wanted in _called(r)]
    if same:
        exact = [r for r in same if r.endswith(name)]
        return sorted(exact or same, key=lambda r: (-_version(r), r.count("/"))), []
    short = {plain(r.rpartition("/")[2]): r for r in every}
    near = nearest(wanted, short, 0.75) if len(wanted) > 2 else ""
    return [], [short[near]] if near else []


def hint(name: str) -> str:
    """Return `` (did you mean gymnasium/LunarLander-v3?)`` for a game of an installed library, else ""."""
    if name.partition("/")[0] in ADAPTERS:
        return ""
    if atari := _ATARI.fullmatch(name):
        return f" (did you mean atari/{atari[1] or atari[2]}?)"
    same, near = find(name)
    found = same[:_SHOWN] or near
    return f" (did you mean {' or '.join(found)}?)" if found else ""


def versioned(name: str) -> bool:
    """Return whether a name ends in a version, as only names of other libraries do."""
    return _VERSION.search(name) is not None


def _called(reference: str) -> tuple[str, str, str]:
    """Return a reference, its name in the library, and the last part of that, all plain."""
    return plain(reference), plain(reference.partition("/")[2]), plain(reference.rpartition("/")[2])


def _version(reference: str) -> int:
    found = _VERSION.search(reference)
    return int(found[0][2:]) if found else 0


def plain(name: str) -> str:
    """Return a name without case, separators and a version at the end."""
    return re.sub(r"[^a-z0-9]", "", _VERSION.sub("", name.lower()))


def _gymnasium() -> Iterable[str]:
    import gymnasium

    ours = {"ludus", "ALE"}  # the latter are atari/... here
    return [
        name
        for name, about in gymnasium.registry.items()
        if about.namespace not in ours and "ale_py" not in str(about.entry_point)
    ]


def _atari() -> Iterable[str]:
    from ale_py import roms

    return [_camel(rom) for rom in roms.get_all_rom_ids()]


def _camel(rom: str) -> str:
    """Return ``MsPacman`` for ``ms_pacman``, as Gymnasium calls it; the adapter reads both."""
    name = "".join(part.capitalize() for part in rom.split("_"))
    return name if re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() == rom else rom


def _pettingzoo() -> Iterable[str]:
    spec = importlib.util.find_spec("pettingzoo")
    folders = [Path(p) for p in (spec.submodule_search_locations if spec else None) or ()]
    found = {
        f"{path.parent.name}/{path.stem}" for folder in folders for path in folder.glob("*/*_v[0-9]*.py")
    }
    return sorted(name for name in found if not name.startswith(("test/", "utils/")))


def _openspiel() -> Iterable[str]:
    import pyspiel

    return list(pyspiel.registered_names())


def _vizdoom() -> Iterable[str]:
    from ludus.games.adapters.vizdoom.scenario import names

    return names()


def _vizdoom_missing() -> dict[str, str]:
    from ludus.games.adapters.vizdoom import fetched, scenario

    return dict.fromkeys(scenario.not_fetched(), fetched.COMMAND)


_TABLES: dict[str, Callable[[], Iterable[str]]] = {
    "gymnasium": _gymnasium,
    "atari": _atari,
    "pettingzoo": _pettingzoo,
    "openspiel": _openspiel,
    "vizdoom": _vizdoom,
}
_MISSING: dict[str, Callable[[], dict[str, str]]] = {"vizdoom": _vizdoom_missing}
