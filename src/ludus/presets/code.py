"""Keys of a preset that may name code, and the origin of their values.

A preset that a user names may load the code that it names; a run's ``config.toml`` may not, for a run
directory may come from another person (:mod:`ludus.games.names`). Every key that can name a file with code
is here, so that one rule decides about all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from ludus.games import typed
from ludus.games.hosted import absolute_reference
from ludus.games.names import is_bot_file
from ludus.presets.config import Preset

GAME, TEACHER = "game.name", "algorithm.teacher"


def code_of(preset: Preset) -> dict[str, str]:
    """Return the references of the keys whose values may load code, by path."""
    teacher = getattr(preset.algorithm, "teacher", "")
    players = preset.league.players if preset.league is not None else ()
    rules = {rule_path(k): player.rule for k, player in enumerate(players) if is_bot_file(player.rule)}
    return {GAME: preset.game.name} | ({TEACHER: teacher} if is_bot_file(teacher) else {}) | rules


def rule_path(entry: int) -> str:
    """Return the path of the rule of a league's entry."""
    return f"league.players.{entry}.rule"


def with_code(preset: Preset, code: dict[str, str]) -> Preset:
    """Return the preset with the references of :func:`code_of` replaced."""
    if GAME in code:
        game = msgspec.structs.replace(preset.game, name=code[GAME])
        preset = msgspec.structs.replace(preset, game=game)
    if TEACHER in code:
        algorithm = msgspec.structs.replace(preset.algorithm, teacher=code[TEACHER])
        preset = msgspec.structs.replace(preset, algorithm=algorithm)
    league = preset.league
    if league is not None and (paths := [k for k in range(len(league.players)) if rule_path(k) in code]):
        players = list(league.players)
        for k in paths:
            players[k] = msgspec.structs.replace(players[k], rule=code[rule_path(k)])
        league = msgspec.structs.replace(league, players=tuple(players))
        preset = msgspec.structs.replace(preset, league=league)
    return preset


def given_code(preset: Preset, folder: Callable[[str], Path] = lambda _: Path()) -> Preset:
    """Return the preset of a user, whose code may be loaded, with absolute paths: its run resumes anywhere.

    ``folder``: from a key's path to the folder from which its value is searched first.
    """
    code = {path: typed_code(text, folder(path)) for path, text in code_of(preset).items()}
    return with_code(preset, code)


def typed_code(text: str, folder: Path = Path()) -> str:
    """Return a reference that the user gave, with an absolute path; allows its code to be loaded."""
    file, colon, name = text.rpartition(":")
    if colon and is_bot_file(text) and not text.endswith(".py"):
        return typed(f"{absolute_reference(file, folder)}:{name}")
    return typed(absolute_reference(text, folder))
