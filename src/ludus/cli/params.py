"""Game names, parameters and bots of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ludus.cli.errors import UserError
from ludus.cli.words import said
from ludus.flow.inputs.shown import shell
from ludus.flow.names import did_you_mean
from ludus.flow.spec import GameSpec
from ludus.presets import schema
from ludus.presets.checks.game import find_game
from ludus.presets.checks.params import param_problems
from ludus.presets.config import ParamValue


def read_params(given: Iterable[str], game: str = "") -> dict[str, ParamValue]:
    """Read each ``--param NAME=VALUE``; a path of a rulebook becomes its text.

    Raises:
        UserError: A text has another form.
        ParamError: A rulebook cannot be read.
    """
    from ludus.games import rulebook

    out: dict[str, ParamValue] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UserError(f"--param {text}: expected NAME=VALUE")
        number = schema.number(value)
        name = name.replace("-", "_")
        out[name] = value if isinstance(number, str) else number
        if name == "rulebook" and rulebook.is_path(value):
            out[name] = rulebook.read(Path(value), check=game == rulebook.GAME)
    return out


def read_game(game: str, given: Iterable[str]) -> tuple[str, dict[str, ParamValue]]:
    """Read a game and its ``--param`` from the command line. Raise :class:`UserError` or ``ParamError``.

    The path of a rulebook (.toml) becomes the game ``rts`` with that rulebook.
    """
    from ludus.games import rulebook

    if not rulebook.is_path(game):
        return typed(game), read_params(given, game)
    params = read_params(given, rulebook.GAME)
    if "rulebook" in params:
        raise UserError(f"--param rulebook: {game} is the rulebook already")
    return rulebook.GAME, {**params, "rulebook": rulebook.read(Path(game))}


def typed(game: str) -> str:
    """Mark ``game`` as given by the user, so that its code may be loaded: :func:`ludus.games.typed`.

    Only for the value of an argument or option, never for a name from a file.
    """
    from ludus.games import typed as mark

    return mark(game)


def game_spec(game: str, params: Mapping[str, ParamValue] | None = None) -> GameSpec:
    """Return the spec of a game under ``params``. Raise :class:`UserError` with every mistake."""
    from ludus.games import spec

    declared = find_game(game)
    problems = list(param_problems(params or {}, declared, prefix="", reference=game))
    if problems:
        raise UserError("\n".join(f"--param {said(p)}" for p in problems))
    return spec(game, params or {})


def check_bot(name: str, spec: GameSpec, game: str, extra: tuple[str, ...] = ()) -> None:
    """Raise :class:`UserError` unless ``name`` is a bot of the game or one of ``extra``.

    Args:
        name: Name of the bot.
        spec: Spec of the game.
        game: Reference by which the game was named, for the message.
        extra: Further valid names.
    """
    valid = [*(b.name for b in spec.bots), *extra]
    if name not in valid:
        near = did_you_mean(name, valid, "there are")
        raise UserError(f"unknown bot {name} of {spec.name}{near}; see: ludus games show {shell(game)}")
