"""Adapters for games of other libraries. Each module imports its library on first use."""

from __future__ import annotations

#: First part of a reference -> module with ``maker(name, params)``, extra of the package, hosted games.
ADAPTERS: dict[str, tuple[str, str, str]] = {
    "gymnasium": ("ludus.games.adapters.gymnasium", "gymnasium", "any registered environment"),
    "pettingzoo": ("ludus.games.adapters.pettingzoo", "pettingzoo", "parallel and AEC environments"),
    "atari": ("ludus.games.adapters.atari", "atari", "the games of the Arcade Learning Environment"),
    "openspiel": ("ludus.games.adapters.open_spiel", "open-spiel", "sequential and simultaneous games"),
    "vizdoom": (
        "ludus.games.adapters.vizdoom",
        "vizdoom",
        "scenarios for one player, against bots or against each other",
    ),
    "dm_env": ("ludus.games.adapters.dm_env", "dm-env", "environments with DeepMind's interface"),
}

#: Files for ``ludus games fetch`` -> module with ``manifest()`` and ``folder()``.
FETCHED: dict[str, str] = {"vizdoom-scenarios": "ludus.games.adapters.vizdoom.fetched"}
