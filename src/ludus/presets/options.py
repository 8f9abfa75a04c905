"""Options of settings by the last part of their path: ``--learning-rate``, ``--algorithm.learning-rate``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from ludus.flow.names import did_you_mean, nearest
from ludus.presets.schema import SYNONYMS, Problem

PARAMS = "game.params."


def option_of(path: str) -> str:
    """Return the command-line option of a path: ``--algorithm.learning-rate``."""
    return "--" + path.replace("_", "-")


def ends_with(path: str, key: str) -> bool:
    """Return whether ``key`` is ``path`` or its last parts."""
    return path == key or path.endswith(f".{key}")


def full_path(
    key: str, here: Collection[str], every: Collection[str], params: Callable[[], Iterable[str]] = tuple
) -> str | Problem:
    """Return the path of the setting that an option names by its last part.

    Args:
        key: The option without its dashes in front: ``learning-rate``, ``self-play.slots``.
        here: Paths of the settings that the preset has, with its method and network.
        every: Paths of all settings, which other presets have.
        params: Returns the names of the game's parameters; called where no setting has that name.

    Returns:
        The path, or the problem: no such setting, or several.
    """
    name = key.replace("-", "_")
    for paths in (here, every):
        found = [path for path in paths if ends_with(path, name)]
        if name in found:
            return name
        if len(found) > 1:
            return Problem(key, f"which one? {', '.join(map(option_of, found))}")
        if found:
            return found[0]
    parameters = list(params())
    if name in parameters:
        return PARAMS + name
    return Problem(key, f"unknown option{_hint(name, here, parameters)}; see: --explain")


def _hint(name: str, here: Collection[str], parameters: Iterable[str]) -> str:
    """Return a hint: the settings whose last part is nearest, or those of a name in other programs."""
    options: dict[str, list[str]] = {}
    for path in (*here, *(PARAMS + p for p in parameters)):
        options.setdefault(path.rpartition(".")[2], []).append(path)
    near = nearest(name, options, 0.7)
    if name in SYNONYMS:
        found = [path for path in here if ends_with(path, SYNONYMS[name])]
    else:
        found = options.get(near, [])
    if not found:
        return did_you_mean(name, options, "settings", 1.0) if len(options) <= 20 else ""
    return f" (did you mean {' or '.join(map(option_of, found))}?)"
