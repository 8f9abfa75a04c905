"""Scenarios by name: data in ``scenarios.toml``, and where the ``.cfg`` of each lies."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from ludus.flow.inputs.decode import from_toml
from ludus.flow.names import did_you_mean


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Name and defaults of a scenario; ``scenarios.toml`` explains the fields."""

    title: str = ""
    source: Literal["vizdoom", "fetched"] = "vizdoom"
    config: str = ""
    buttons: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    actions: str = "single"
    turn_choices: int = 11
    turn_degrees: float = 10.0
    players: int = 1
    most_players: int = 16
    bots: int = 0
    match: bool = False
    respawn_s: int = 0
    match_tics: int = 4200
    shaping: str = "none"


@lru_cache(maxsize=1)
def scenarios() -> dict[str, Scenario]:
    """Return the scenarios that have data, by name."""
    text = resources.files(__package__).joinpath("scenarios.toml").read_text(encoding="utf-8")
    tables = from_toml(text)
    defaults = tables.pop("defaults")
    return {name: msgspec.convert({**defaults, **table}, Scenario) for name, table in tables.items()}


def scenario_of(name: str) -> Scenario:
    """Return the data of a scenario; of a name without data, or of a path, the defaults."""
    return scenarios().get(name, Scenario())


def names() -> list[str]:
    """Return the names of all scenarios: of the library, and of those that can be fetched."""
    import vizdoom

    own = {path.stem for path in Path(vizdoom.scenarios_path).glob("*.cfg")}
    return sorted(own | {name for name, s in scenarios().items() if s.source == "fetched"})


def not_fetched() -> list[str]:
    """Return the names of scenarios that can be fetched and are not stored, or not whole."""
    from ludus.games.adapters.vizdoom import fetched

    stored = set(fetched.names())
    return [
        name
        for name, data in scenarios().items()
        if data.source == "fetched" and (data.config or name) not in stored
    ]


def config_of(name: str) -> Path:
    """Return the ``.cfg`` of a scenario, by its name or path.

    Raises ``ValueError`` for a scenario that is not there. ``configuration.py`` reads the file.
    """
    import vizdoom

    if name.endswith(".cfg"):
        return Path(name)
    data = scenario_of(name)
    if data.source == "fetched":
        return _fetched(name, data.config or name)
    path = Path(vizdoom.scenarios_path) / f"{data.config or name}.cfg"
    if not path.is_file():
        known = [f"vizdoom/{k}" for k in names()]
        raise ValueError(
            f"vizdoom/{name}: no such scenario{did_you_mean(f'vizdoom/{name}', known, 'there are', 0.7)}"
        )
    return path


def _fetched(name: str, config: str) -> Path:
    from ludus.games.adapters.vizdoom import fetched

    path = fetched.config(config)
    if path is None:
        raise ValueError(f"vizdoom/{name}: {fetched.missing()}")
    return path
