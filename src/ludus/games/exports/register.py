"""Registers every compiled game with Gymnasium. Gymnasium calls it by an entry point when it is imported."""

from __future__ import annotations

_HOME = "ludus.games.exports.gymnasium"


def register_all() -> list[str]:
    """``ludus/NAME-vVERSION`` of every game that this installation has; ids that exist stay. Returns all."""
    from gymnasium.envs.registration import register, registry

    from ludus.games.registry import find, is_python, list_games, spec

    ids = []
    for name in list_games():
        if is_python(name):
            continue
        find(name)
        version = spec(name).version
        full = f"ludus/{name}-v{version}"
        ids.append(full)
        if full not in registry:
            register(
                full,
                entry_point=f"{_HOME}:make_env",
                vector_entry_point=f"{_HOME}:make_vector_env",
                kwargs={"game": name},
            )
    return ids
