"""Settings by the last part of their path: ``learning_rate`` for ``algorithm.learning_rate``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from ludus.flow.names import nearest
from ludus.flow.problem import NONE_NEAR, Argument, Near, Noun, Problem, Setting, near_of
from ludus.presets.schema import SYNONYMS

PARAMS = "game.params."


def option_of(path: str) -> str:
    """Return the option of a path in a command: ``--algorithm.learning-rate``. Errors name the path."""
    return "--" + path.replace("_", "-")


def path_of(key: str) -> str:
    """Return the path of a setting as a user wrote it: ``run.max_steps`` for ``--run.max-steps``."""
    return key.lstrip("-").replace("-", "_")


def ends_with(path: str, key: str) -> bool:
    """Return whether ``key`` is ``path`` or its last parts."""
    return path == key or path.endswith(f".{key}")


def full_path(
    key: str, here: Collection[str], every: Collection[str], params: Callable[[], Iterable[str]] = tuple
) -> str | Problem:
    """Return the path of the setting that ``key`` names by its last part.

    Args:
        key: The setting as the user wrote it: ``learning-rate``, ``pool.slots``.
        here: Paths of the settings that the preset has, with its method and network.
        every: Paths of all settings, which other presets have.
        params: Returns the names of the game's parameters; called where no setting has that name.

    Returns:
        The path, or the problem: no such setting, or several.
    """
    name = path_of(key)
    for paths in (here, every):
        found = [path for path in paths if ends_with(path, name)]
        if name in found:
            return name
        if len(found) > 1:
            listed = tuple(part for path in found for part in (", ", Setting(path)))
            return Problem(key, ("which one? ", *listed[1:]))
        if found:
            return found[0]
    parameters = list(params())
    if name in parameters:
        return PARAMS + name
    near, see = _near(name, here, parameters), Argument("explain", command="train PRESET")
    return Problem(key, ("unknown ", Noun()), near=near, more=("; see: ", see))


def _near(name: str, here: Collection[str], parameters: Iterable[str]) -> Near:
    """Return the settings whose last part is nearest, or the setting of a name in other programs."""
    settings: dict[str, list[str]] = {}
    for path in (*here, *(PARAMS + p for p in parameters)):
        settings.setdefault(path.rpartition(".")[2], []).append(path)
    if name in SYNONYMS:
        found = [path for path in here if ends_with(path, SYNONYMS[name])]
    else:
        found = settings.get(nearest(name, settings, 0.7), [])
    if not found:
        return near_of(name, settings, "settings", 1.0) if len(settings) <= 20 else NONE_NEAR
    return Near(tuple(map(Setting, found)))
