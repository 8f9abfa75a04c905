"""A preset with a league against the game it names: players, rules, settings that a population may change."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ludus.algorithms.registry import method_of
from ludus.flow.inputs.whole import whole
from ludus.flow.problem import Problem, Setting
from ludus.flow.spec import GameSpec, decode_spec
from ludus.league.checks import Surroundings, problems
from ludus.league.config import LeagueConfig, Tune
from ludus.presets import schema
from ludus.presets.config import Preset
from ludus.presets.file import LoadedPreset
from ludus.presets.hardware import available_processors
from ludus.presets.hyper import ALGORITHM, PARAMS, tunable_defaults
from ludus.presets.overrides import setting_paths
from ludus.presets.rule_file import rule_problems
from ludus.storage.errors import StorageError
from ludus.storage.references import load_weights

NO_TUNE = Tune()


def league_problems(preset: Preset, declared: GameSpec) -> Iterator[Problem]:
    """Yield every mistake; none where there is no league."""
    league = preset.league
    if league is None:
        return
    seeds: dict[str, str] = {}
    for k, player in enumerate(league.players):
        if player.seed and player.seed not in seeds:
            try:
                seeds[player.seed] = decode_spec(load_weights(player.seed).meta.spec).spec_hash
            except (StorageError, ValueError) as error:
                path = f"league.players.{k}.seed"
                yield Problem(path, f'{path} = "{player.seed}": {error}', player.seed)
                seeds[player.seed] = declared.spec_hash  # said already
    around = Surroundings(
        bots=tuple(bot.name for bot in declared.bots),
        settings=tunable_defaults(preset),
        others=tuple(setting_paths()) + tuple(PARAMS + p.name for p in declared.params),
        algorithm=str(preset.algorithm.__struct_config__.tag),
        on_policy=method_of(preset.algorithm).learns_from_slabs,
        lag=preset.run.lag,
        seats=declared.seats,
        spec_hash=declared.spec_hash,
        seed_specs=seeds,
        in_parallel=preset.in_parallel,
    )
    found = [*problems(league, around), *rule_problems(league)]
    yield from found
    yield from _value_only_problems(preset, league)
    yield from _beside(preset, league, declared)
    yield from _process_problems(preset, league)
    if not found:
        yield from _tuned_values(preset, league, declared)


def _value_only_problems(preset: Preset, league: LeagueConfig) -> Iterator[Problem]:
    """Yield players that ask for updates of the value alone, where the method has none."""
    if method_of(preset.algorithm).value_only:
        return
    for k, player in enumerate(league.players):
        if player.value_only_updates:
            path, wanted = (
                f"league.players.{k}.value_only_updates",
                "0, or an actor-critic method such as appo",
            )
            yield Problem(path, value=player.value_only_updates, expected=wanted)


def _process_problems(preset: Preset, league: LeagueConfig) -> Iterator[Problem]:
    """Yield why the members cannot be in so many processes."""
    count, members, processors = league.processes, len(league.members), available_processors()
    if not count:
        return
    path = "league.processes"
    if members and count > members:
        yield Problem(path, value=count, expected=f"at most {members}, the members of the league")
    elif count > processors:
        yield Problem(path, value=count, expected=f"at most {processors}, the processors of this machine")
    if preset.cluster.members == "parallel":
        yield Problem(path, value=count, expected='0 where cluster.members = "parallel"')
    for setting, value, usual in (
        ("cluster.rollouts", preset.cluster.rollouts, 0),
        ("cluster.learners", preset.cluster.learners, 1),
    ):
        if value != usual:
            wanted = f"{usual} where {path} = {count}: members learn and play in processes of this machine"
            yield Problem(setting, value=value, expected=wanted)


def _beside(preset: Preset, league: LeagueConfig, declared: GameSpec) -> Iterator[Problem]:
    """Yield settings that a league replaces, and a number of lanes that is too small."""
    if preset.opponents:
        text = "expected none where there is a league: league.players.*.meet names the opponents"
        yield Problem("opponents", f"opponents: {text}")
    wanted = "none where there is a league"
    if bot := preset.curriculum.bot:
        yield Problem("curriculum.bot", value=bot, expected=wanted)
    if start := preset.run.start:
        yield Problem("run.start", value=start, expected=f"{wanted}: league.players.*.seed")
    teams = len(set(declared.teams)) or declared.seats
    guests = max(teams - 1, 2 if league.rating_share > 0 else 1)
    if teams == 1 and league.rating_share > 0:
        yield Problem(
            "league.rating_share", value=whole(league.rating_share), expected="0 in a game of one seat"
        )
    elif teams > 1 and league.lanes < 2 * guests:
        wanted = f"at least {2 * guests}, twice the {guests} players that one match of {declared.name}"
        yield Problem("league.lanes", value=league.lanes, expected=f"{wanted} may need")


def _tuned_values(preset: Preset, league: LeagueConfig, declared: GameSpec) -> Iterator[Problem]:
    """Yield values that a population might give a setting and that the setting cannot have."""
    for k, player in enumerate(league.players):
        for setting, tune in player.tune.items():
            ends = {"choices": tune.choices} if tune.choices else {"low": (tune.low,), "high": (tune.high,)}
            for key, values in ends.items():
                for value in values:
                    if wanted := _unfit(preset, declared, setting, value):
                        path = f"league.players.{k}.tune.{setting}.{key}"
                        yield Problem(path, value=whole(value), expected=wanted)


def _unfit(preset: Preset, declared: GameSpec, setting: str, value: float) -> str:
    """Return the expectation that ``value`` does not meet; "" where it fits."""
    if setting.startswith(PARAMS):
        param = next(p for p in declared.params if p.name == setting.removeprefix(PARAMS))
        fits = param.low <= value <= param.high
        return "" if fits else param.expected
    if not setting.startswith(ALGORITHM):
        return "" if value > 0 else "a number > 0"  # of the player's own rules
    fields = {f.name: f.type for f in msgspec.inspect.type_info(type(preset.algorithm)).fields}  # type: ignore[attr-defined]
    kind = schema.present(fields[setting.removeprefix(ALGORITHM)])
    given = round(value) if isinstance(kind, msgspec.inspect.IntType) else value
    return schema.expected(kind) if any(schema.check(given, kind, setting)) else ""


def without_effect(loaded: LoadedPreset) -> Iterator[Problem]:
    """Yield options without effect: every member of the league starts with another value."""
    league = loaded.preset.league
    players = league.players if league is not None else ()
    for path, origin in loaded.origins.items():
        if players and origin == "command line" and all(p.tune.get(path, NO_TUNE).start for p in players):
            start = Setting(f"league.players.0.tune.{path}.start")
            text = (f"{path}: members start with other values; expected ", start, " of each")
            yield Problem(path, text)
