"""Registration of every compiled game with Gymnasium; ``import ludus.gymnasium`` calls it."""

from __future__ import annotations

import warnings

_HOME = "ludus.games.exports.gymnasium"


def register_all() -> list[str]:
    """Register ``ludus/NAME-vVERSION`` for every installed game, keep existing ids, and return all.

    An installed game whose module cannot be used is left out with a warning.
    """
    from gymnasium.envs.registration import register, registry

    from ludus.games.registry import is_python, list_games, spec
    from ludus.native import ParamError

    ids = []
    for name in list_games():
        if is_python(name):
            continue
        try:
            version = spec(name).version
        except ParamError as error:
            warnings.warn(f"not registered with Gymnasium: {error}", RuntimeWarning, stacklevel=2)
            continue
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
