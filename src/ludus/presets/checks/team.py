"""Settings of rewards that a team shares, against the game: whether it has teams at all."""

from __future__ import annotations

from collections.abc import Iterator

from ludus.flow.inputs.shown import shell
from ludus.flow.problem import Problem
from ludus.flow.spec import GameSpec
from ludus.games import list_games, spec
from ludus.presets.config import Preset, TeamConfig


def team_problems(preset: Preset, declared: GameSpec) -> Iterator[Problem]:
    """Yield settings of ``team`` that the game has no use for."""
    team = preset.team
    given = {
        "team.spirit": team.spirit != 0.0,
        "team.spirit_final": team.spirit_final is not None,
        "team.zero_sum": team.zero_sum,
    }
    if team == TeamConfig():
        return
    if not has_teammates(declared):
        path = next(path for path, is_given in given.items() if is_given)
        there = ", ".join(games_with_teams())
        text = f"{path}: {preset.game.name} has no teams under these parameters; games with teams: {there}"
        yield Problem(path, f"{text}; see: ludus games show {shell(preset.game.name)}")
    elif team.zero_sum and len(set(declared.teams)) == 1:
        wanted = f"false, or a game with two teams or more: {preset.game.name} has one"
        yield Problem("team.zero_sum", value=True, expected=wanted)


def has_teammates(declared: GameSpec) -> bool:
    """Return whether some seat wins and loses together with another."""
    return len(set(declared.teams)) < len(declared.teams)


def games_with_teams() -> list[str]:
    """Return the installed games that have teams, with the parameter that makes them where one must."""
    found: list[str] = []
    for name in list_games():
        declared = spec(name)
        if has_teammates(declared):
            found.append(name)
            continue
        makes = (
            f"{name} (game.params.{param.name} = {choice})"
            for param in declared.params
            for choice in param.choices
            if has_teammates(spec(name, {param.name: choice}))
        )
        found += [first] if (first := next(makes, "")) else []
    return [*found, "pettingzoo/NAME (game.params.teams = by_name)"]
