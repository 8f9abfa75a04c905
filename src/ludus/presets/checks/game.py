"""Checks a preset against its game: the game exists and has these bots, parameters and observations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from ludus.algorithms.registry import CheckInput, method_of
from ludus.flow.inputs.shown import shell
from ludus.flow.names import did_you_mean, nearest
from ludus.flow.problem import HasProblems, Problem, near_of
from ludus.flow.spec import PLACE, GameSpec, decode_spec
from ludus.games import libraries, list_games, spec, text_params
from ludus.games.hosted import is_hosted
from ludus.games.names import is_installed_name
from ludus.mcts.text import SUFFIX, is_search, parse_search
from ludus.policies.encoders import encoder_problem
from ludus.presets import schema
from ludus.presets.checks.params import param_problems
from ludus.presets.checks.training import training_problems
from ludus.presets.config import ParamValue, Preset, TeamConfig
from ludus.presets.file import LoadedPreset, PresetError
from ludus.storage import read_weights, zoo
from ludus.storage.errors import StorageError

#: Opponents that are not bots: the learner's own weights, now and earlier.
LEARNED_OPPONENTS = ("latest", "past")


def find_game(reference: str) -> GameSpec:
    """Return the spec of a game under its default parameters. Raises :class:`PresetError`."""
    try:
        return spec(reference)
    except ValueError as error:  # no such game, a module that cannot be loaded, or one that holds no game
        if not is_installed_name(reference) or is_hosted(reference) or reference in list_games():
            raise PresetError(error) from error
        ours = not libraries.versioned(reference) and nearest(reference, list_games(), 0.85)
        near = "" if ours else libraries.hint(reference)
        near = near or did_you_mean(reference, list_games(), "games")
        raise PresetError(f"unknown game {reference}{near}; see: ludus games list") from None


def params_text(params: Mapping[str, ParamValue]) -> dict[str, str]:
    """Return parameters as the core takes them. Raises ``ParamError``."""
    return text_params(params)


def resolve_spec(preset: Preset) -> tuple[GameSpec, dict[str, str]]:
    """Return the game's declaration under the preset's parameters, and these as text."""
    params = params_text(preset.game.params)
    return spec(preset.game.name, params), params


def effective_params(declared: GameSpec, preset: Preset) -> dict[str, ParamValue]:
    """Return every parameter of the rules, the game's defaults included."""
    defaults: dict[str, ParamValue] = {
        p.name: p.default_value if p.kind == "text" else schema.number(p.default_value)
        for p in declared.params
    }
    return {**defaults, **preset.game.params}


def check_game(loaded: LoadedPreset) -> GameSpec:
    """Return the spec of the preset's game under its parameters.

    Raises :class:`PresetError` with every mistake.
    """
    preset = loaded.preset
    try:
        declared = find_game(preset.game.name)
    except PresetError as error:
        wrong = (msgspec.structs.replace(p, path="game.name").within("game.name") for p in error.problems)
        raise PresetError(*loaded.placed(wrong)) from None
    problems = [*param_problems(preset.game.params, declared, reference=preset.game.name)]
    if not problems:
        try:  # bots and observations may depend on the parameters
            declared = spec(preset.game.name, preset.game.params)
        except ValueError as error:
            problems = [Problem("game.params", line) for line in str(error).splitlines()]
    problems += [*_bot_problems(preset, declared), *_input_problems(preset, declared)]
    problems += [
        *_team_problems(preset, declared),
        *_score_problems(preset, declared),
        *method_problems(preset, declared),
    ]
    problems += training_problems(preset, declared)
    if preset.league is not None:
        # numpy: not for presets without a league
        from ludus.presets.checks.league import league_problems, without_effect

        problems += [*league_problems(preset, declared), *without_effect(loaded)]
    if problems:
        raise PresetError(*loaded.placed(problems))
    return declared


def _bot_problems(preset: Preset, declared: GameSpec) -> Iterator[Problem]:
    bots = [b.name for b in declared.bots]
    show = f"; see: ludus games show {shell(preset.game.name)}"
    named = [(f"opponents.{i}.name", o.name, True) for i, o in enumerate(preset.opponents)]
    named += [(f"evaluation.against.{i}", name, False) for i, name in enumerate(preset.evaluation.against)]
    if preset.curriculum.bot:
        named.append(("curriculum.bot", preset.curriculum.bot, False))
    for path, name, learned in named:
        if zoo.is_zoo(name) and not path.startswith("curriculum"):
            yield from _zoo_problems(path, name, declared)
            continue
        if not learned and is_search(name):
            yield from _search_problems(path, name, declared)
            continue
        valid = [*bots, *LEARNED_OPPONENTS] if learned else [*bots, "random", "uniform"]
        if name not in valid:
            text, near = f"{path}: unknown bot {name} of {declared.name}", near_of(name, valid, "there are")
            yield Problem(path, text, name, near=near, more=show)


def _zoo_problems(path: str, name: str, declared: GameSpec) -> Iterator[Problem]:
    try:
        about = read_weights(zoo.path_of(name)).meta
        if is_search(full := zoo.played(name)[0]):
            parse_search(full)
        theirs = decode_spec(about.spec)
    except (StorageError, ValueError) as error:
        yield from (problem.within(path) for problem in HasProblems(error).problems)
        return
    if theirs.name != declared.name:
        yield Problem(path, f"{path}: {name} plays {theirs.name}, not {declared.name}")
    elif theirs.spec_hash != declared.spec_hash:
        text = f"plays {declared.name} under other parameters, or another version of its rules"
        yield Problem(path, f"{path}: {name} {text}")


def _search_problems(path: str, name: str, declared: GameSpec) -> Iterator[Problem]:
    if SUFFIX in name:
        yield Problem(path, f"{path}: {name}: expected a bot, random, uniform, zoo:NAME or mcts:VISITS")
        return
    try:
        parse_search(name)
    except ValueError as error:
        yield Problem(path, f"{path}: {error}")
    if not (declared.turn_based and declared.perfect_information and declared.deterministic):
        yield Problem(path, f"{path}: {name}: {declared.name} cannot be searched")


def method_problems(preset: Preset, declared: GameSpec) -> Iterator[Problem]:
    """Yield what the method's own checks find: settings that it cannot train this game with."""
    pool = preset.pool
    around = CheckInput(declared, preset.policy, pool.rollout_length, pool.slots * declared.seats)
    for path, text in method_of(preset.algorithm).problems(preset.algorithm, around):
        yield Problem(path, text)


def _input_problems(preset: Preset, declared: GameSpec) -> Iterator[Problem]:
    tensors = [t.name for t in declared.observation]
    for i, name in enumerate(preset.policy.inputs):
        if name not in tensors:
            path = f"policy.inputs.{i}"
            text = f"{path}: unknown observation {name} of {declared.name}"
            yield Problem(path, text, name, near=near_of(name, tensors, "observations"))
    if problem := encoder_problem(getattr(preset.policy, "encoder", "")):
        yield Problem("policy.encoder", f"policy.encoder: {problem}")
    sees = getattr(preset.policy, "critic_sees", "own")
    if sees == "all" and declared.seats == 1:
        path = "policy.critic_sees"
        yield Problem(path, f'{path} = "all": {declared.name} has one seat; expected "own"')
    elif sees == "team" and not _has_teammates(declared):
        path = "policy.critic_sees"
        wanted = '"own" or "all"' if declared.seats > 1 else '"own"'
        yield Problem(path, f'{path} = "team": {declared.name} has no teams; expected {wanted}')
    free = getattr(preset.policy, "deviation", "state") == "free"
    if free and not any(head.kind == "continuous" for head in declared.heads):
        path = "policy.deviation"
        yield Problem(path, f'{path} = "free": {declared.name} has no continuous heads; expected "state"')


def _team_problems(preset: Preset, declared: GameSpec) -> Iterator[Problem]:
    """Yield settings of ``team`` that the game has no use for."""
    team = preset.team
    given = {
        "team.spirit": team.spirit != 0.0,
        "team.spirit_final": team.spirit_final is not None,
        "team.zero_sum": team.zero_sum,
    }
    if team == TeamConfig():
        return
    if not _has_teammates(declared):
        path = next(path for path, is_given in given.items() if is_given)
        there = ", ".join(_games_with_teams())
        text = f"{path}: {preset.game.name} has no teams under these parameters; games with teams: {there}"
        yield Problem(path, f"{text}; see: ludus games show {shell(preset.game.name)}")
    elif team.zero_sum and len(set(declared.teams)) == 1:
        wanted = f"false, or a game with two teams or more: {preset.game.name} has one"
        yield Problem("team.zero_sum", value=True, expected=wanted)


def _score_problems(preset: Preset, declared: GameSpec) -> Iterator[Problem]:
    """Yield what is wrong with the score by which versions are compared."""
    path, score, named = "evaluation.score", preset.evaluation.score, declared.scores
    if not score:
        return
    if score == PLACE:
        yield Problem(path, value=score, expected="a score that is better the higher it is")
    elif not named:
        yield Problem(path, f"{path} = {score}: {declared.name} names no scores under these parameters")
    elif score not in named:
        text = f"{path}: unknown score {score} of {declared.name}"
        yield Problem(path, text, score, near=near_of(score, named, "scores"))


def _has_teammates(declared: GameSpec) -> bool:
    """Return whether some seat wins and loses together with another."""
    return len(set(declared.teams)) < len(declared.teams)


def _games_with_teams() -> list[str]:
    """Return the installed games that have teams, with the parameter that makes them where one must."""
    found: list[str] = []
    for name in list_games():
        declared = spec(name)
        if _has_teammates(declared):
            found.append(name)
            continue
        makes = (
            f"{name} (game.params.{param.name} = {choice})"
            for param in declared.params
            for choice in param.choices
            if _has_teammates(spec(name, {param.name: choice}))
        )
        found += [first] if (first := next(makes, "")) else []
    return [*found, "pettingzoo/NAME (game.params.teams = by_name)"]
