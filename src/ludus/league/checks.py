"""Mistakes in a league's settings beyond the types of their values.

The caller checks types, and names of rules, with ``presets.schema.check`` before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from ludus.flow.inputs.whole import whole
from ludus.flow.problem import Problem, near_of
from ludus.league import config as cfg
from ludus.league.roles import ROLES, Choices, choices_of
from ludus.league.standings import GROUPS, PERIOD, SIGMA

NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
RESERVED = (*GROUPS, "latest", "past", "seed", "itself", "learner")
#: Settings of a network, a pool or an optimiser as it is built.
FIXED = tuple(
    f"algorithm.{key}"
    for key in ("adam_betas", "adam_eps", "max_grad_rms", "micro_batch", "momentum", "parts")
)
TUNABLE = ("algorithm.", "game.params.")


class Surroundings(msgspec.Struct, frozen=True):
    """Settings of the rest of the preset.

    ``settings``: the preset's numbers by path, ``algorithm.learning_rate``; ``others``: paths of all
    settings, also of those that no population can change. ``algorithm``, ``lag``: names.
    ``on_policy``: the method learns from slabs of fresh matches.
    ``seats``: players of a match. ``seed_specs``: for each seed that was opened, the hash of its spec.
    """

    bots: tuple[str, ...] = ()
    settings: Mapping[str, float] = {}
    others: tuple[str, ...] = ()
    algorithm: str = ""
    on_policy: bool = True
    lag: str = "pipelined"
    seats: int = 2
    spec_hash: str = ""
    seed_specs: Mapping[str, str] = {}
    in_parallel: bool = False


def problems(league: cfg.LeagueConfig, around: Surroundings) -> list[Problem]:
    """Return every mistake in settings of a :class:`ludus.league.league.League`."""
    return list(_problems(league, around))


def _problems(league: cfg.LeagueConfig, around: Surroundings) -> Iterator[Problem]:
    if not around.on_policy:
        wanted = "a method that learns from slabs of fresh matches, such as appo, where there is a league"
        yield Problem("algorithm.name", value=around.algorithm, expected=wanted)
    if around.lag == "async" and not around.in_parallel:
        wanted = "sync or pipelined where the members of a league take turns (league.processes = 0)"
        yield Problem("run.lag", value="async", expected=wanted)
    if not league.players:
        yield Problem("league.players", value=[], expected="at least one player")
    names = [p.name for p in league.members]
    owners: dict[str, str] = {}
    for k, player in enumerate(league.players):
        path = f"league.players.{k}"
        yield from _names(path, player, owners, around.bots)
        if player.role not in ROLES:
            near = near_of(player.role, ROLES, "roles")
            yield Problem(f"{path}.role", value=player.role, expected="a role of a league", near=near)
            continue
        choices = choices_of(player)
        if player.rule:
            yield from _beside_rule(path, player)
        else:
            yield from _meet(path, choices, names, around.bots)
            yield from _choices(path, choices, names, around.bots)
            if player.params:
                yield Problem(
                    f"{path}.params", f"{path}.params: expected {path}.rule, whose parameters these are"
                )
        for setting, tune in player.tune.items():
            yield from _tune(f"{path}.tune.{setting}", setting, tune, choices, around)
        spec = around.seed_specs.get(player.seed, around.spec_hash)
        if player.seed and spec != around.spec_hash:
            yield Problem(f"{path}.seed", value=player.seed, expected="weights of this game's spec")
    yield from _together(league, around)


def _together(league: cfg.LeagueConfig, around: Surroundings) -> Iterator[Problem]:
    """Yield mistakes in the players as a whole."""
    known = [(k, p, ROLES[p.role].kind) for k, p in enumerate(league.players) if p.role in ROLES]
    kinds = [kind for _, player, kind in known for _ in player.member_names]
    if league.score == "return":
        if around.seats == 1:
            wanted = "outcome in a game of one seat, which has no opponents"
            yield Problem("league.score", value="return", expected=wanted)
        elif league.score_range <= 0:
            wanted = "the most by which the returns of two players of a match differ"
            wanted += ', where score is "return"'
            yield Problem("league.score_range", value=whole(league.score_range), expected=wanted)
    elif league.score_range:
        yield Problem(
            "league.score_range", value=whole(league.score_range), expected='0 where score is "outcome"'
        )
    for k, player, kind in known:
        if kind == "exploiter" and "main" not in kinds:
            mains = ", ".join(name for name, role in ROLES.items() if role.kind == "main")
            wanted = f"a player of a main role too ({mains})"
            yield Problem(f"league.players.{k}.role", value=player.role, expected=wanted)
    if not isinstance(league.population, cfg.NoPopulation):
        tag = type(league.population).__struct_config__.tag
        if kinds.count("population") < 2:
            wanted = "at least two players of the role population"
            yield Problem("league.population.rule", value=tag, expected=wanted)
        if around.seats == 1 and league.population.fitness == "win_rate":
            wanted = "return in a game of one seat"
            yield Problem("league.population.fitness", value="win_rate", expected=wanted)
    elif any(p.tune for p in league.players):
        path = "league.population"
        yield Problem(path, f"{path} is missing: expected a rule where players have settings to tune")


def _names(
    path: str, player: cfg.PlayerConfig, owners: dict[str, str], bots: tuple[str, ...]
) -> Iterator[Problem]:
    """Mistakes in the names of an entry's members. ``owners``: name -> path of the entry that has it."""
    if not player.name and not player.names:
        wanted = f"a name, or names of several players in {path}.names"
        yield Problem(f"{path}.name", value="", expected=wanted)
        return
    if player.name and player.names:
        yield Problem(f"{path}.name", value=player.name, expected=f"no name beside {path}.names")
    if player.names and player.count not in (None, len(player.names)):
        wanted = f"{len(player.names)}, the number of {path}.names"
        yield Problem(f"{path}.count", value=player.count, expected=wanted)
    for k, name in enumerate(player.member_names):
        where = f"{path}.names.{k}" if player.names else f"{path}.name"
        wanted = ""
        if not NAME.fullmatch(name):
            wanted = "lower-case letters, digits, - and _"
        elif name in owners:
            wanted = f"another name than {owners[name]} has"
        elif name in bots:
            wanted = "another name than a bot of the game has"
        elif name in RESERVED:
            wanted = f"another name; {', '.join(RESERVED)} mean something else"
        if wanted:
            yield Problem(where, value=name, expected=wanted)
        owners.setdefault(name, path)


def _beside_rule(path: str, player: cfg.PlayerConfig) -> Iterator[Problem]:
    """Yield choices of an entry whose rule of one's own makes them."""
    default = cfg.PlayerConfig()
    for field in msgspec.structs.fields(cfg.PlayerConfig):
        if field.name in ("meet", "freeze", "origin") and getattr(player, field.name) != getattr(
            default, field.name
        ):
            where = f"{path}.{field.encode_name}"
            yield Problem(where, f"{where}: expected none beside {path}.rule, which decides it")


def _meet(path: str, choices: Choices, names: list[str], bots: tuple[str, ...]) -> Iterator[Problem]:
    if not any(rule.weight > 0 for rule in choices.meet):
        yield Problem(f"{path}.meet", f"{path}.meet: all weights are 0; expected one above 0")
    for k, rule in enumerate(choices.meet):
        where = f"{path}.meet.{k}"
        if isinstance(rule, (cfg.Pfsp, cfg.Fsp, cfg.Uniform)):
            yield from _among(f"{where}.among", rule.among, [*GROUPS, *names, *bots])
        elif isinstance(rule, cfg.NamedMember) and rule.name not in names:
            yield _unknown(f"{where}.name", rule.name, "a player of the league", names)
        elif isinstance(rule, cfg.NamedBot) and rule.name not in bots:
            yield _unknown(f"{where}.name", rule.name, "a bot of the game", bots)
        elif isinstance(rule, cfg.NamedPlayer):
            member, _, version = rule.name.partition(":")
            if member not in names:
                yield _unknown(f"{where}.name", rule.name, "PLAYER:VERSION", [f"{n}:0" for n in names])
            elif not (version.isascii() and version.isdecimal()):
                wanted = f"PLAYER:VERSION, as in {member}:0"
                yield Problem(f"{where}.name", value=rule.name, expected=wanted)


def _choices(path: str, choices: Choices, names: list[str], bots: tuple[str, ...]) -> Iterator[Problem]:
    freeze, origin = choices.freeze, choices.origin
    if isinstance(freeze, cfg.Beats):
        yield from _among(f"{path}.freeze.against", freeze.against, [*GROUPS, *names, *bots])
        if freeze.max_steps and freeze.max_steps < freeze.min_steps:
            wanted = f"0 or at least min_steps, {freeze.min_steps}"
            yield Problem(f"{path}.freeze.max_steps", value=freeze.max_steps, expected=wanted)
    if isinstance(origin, cfg.Nearest) and origin.low >= origin.high:
        yield Problem(
            f"{path}.from.low", value=whole(origin.low), expected=f"less than high, {origin.high:g}"
        )


def _among(path: str, among: tuple[str, ...], valid: list[str]) -> Iterator[Problem]:
    if not among:
        yield Problem(path, value=[], expected=f"at least one of {', '.join(GROUPS)} or a player")
    for name in among:
        if name not in valid:
            yield _unknown(path, name, "a group or a player of the league", valid)


def _tune(
    path: str, setting: str, tune: cfg.Tune, choices: Choices, around: Surroundings
) -> Iterator[Problem]:
    own = own_settings(choices)
    defaults = {n: v for n, v in around.settings.items() if n.startswith(TUNABLE) and n not in FIXED} | own
    if setting not in defaults:
        if setting in (SIGMA, PERIOD):
            rule = 'an elo rule in "meet"' if setting == SIGMA else 'the rule period in "freeze"'
            yield Problem(path, f"{path}: cannot be tuned here; expected {rule} of the player")
        elif setting in FIXED or setting in around.others:
            homes = f"a number of {TUNABLE[0]} or {TUNABLE[1]} that a running member can change"
            yield Problem(path, f"{path}: cannot be tuned; expected {homes}, {SIGMA} or {PERIOD}")
        else:
            text = f"{path}: unknown setting; expected a number of the preset"
            yield Problem(path, text, near=near_of(setting, defaults))
        return
    if choices.kind != "population":
        yield Problem(path, f"{path}: expected only in players of the role population")
    yield from _bounds(path, setting, tune, defaults[setting])


def _bounds(path: str, setting: str, tune: cfg.Tune, default: float) -> Iterator[Problem]:
    """Bounds in their order, and first values within them: ``start``, or the preset's."""
    if not tune.choices and tune.low >= tune.high:
        yield Problem(f"{path}.high", value=whole(tune.high), expected=f"more than low, {tune.low:g}")
        return
    choices = ", ".join(f"{value:g}" for value in tune.choices)
    within = f"one of {choices}" if tune.choices else f"a number from {tune.low:g} to {tune.high:g}"

    def fits(value: float) -> bool:
        return value in tune.choices if tune.choices else tune.low <= value <= tune.high

    if not all(map(fits, tune.start)):
        yield Problem(f"{path}.start", value=list(tune.start), expected=f"each {within}")
    elif not tune.start and not fits(default):
        text = f"{path}: members start with {setting} = {default:g}; expected {within}, or start"
        yield Problem(path, text)


def own_settings(choices: Choices) -> dict[str, float]:
    """Return the settings of a player's own rules that a population may change, with their values."""
    own: dict[str, float] = {}
    for rule in choices.meet:
        if isinstance(rule, cfg.Elo):
            own[SIGMA] = rule.sigma
    if isinstance(choices.freeze, cfg.Period):
        own[PERIOD] = choices.freeze.steps
    return own


def _unknown(path: str, name: str, expected: str, valid: Sequence[str]) -> Problem:
    return Problem(path, value=name, expected=expected, near=near_of(name, valid))


def differences(old: cfg.LeagueConfig, new: cfg.LeagueConfig) -> list[str]:
    """Why a run of the league ``old`` cannot be resumed as ``new``: the journal would mean something else.

    The file of a rule may lie elsewhere: what is compared is its class.
    """
    old, new = _with_rule_names(old), _with_rule_names(new)
    found = []
    if [p.name for p in old.members] != [p.name for p in new.members]:
        was, now = (", ".join(p.name for p in league.members) for league in (old, new))
        return [f"league.players = {now}: expected the players of the run, {was}"]
    for k, (player, other) in enumerate(zip(old.members, new.members, strict=True)):
        found += [
            f"league.players.{new.entry_of(k)}.{field.encode_name} differs: expected the value at the start"
            for field in msgspec.structs.fields(cfg.PlayerConfig)
            if getattr(player, field.name) != getattr(other, field.name)
        ]
    found = list(dict.fromkeys(found))
    found += [
        f"league.{field.encode_name} differs: expected the value at the start"
        for field in msgspec.structs.fields(cfg.LeagueConfig)
        if field.name not in ("players", "lanes", "cache", "processes", "on_failure")
        and getattr(old, field.name) != getattr(new, field.name)
    ]
    return found


def _with_rule_names(league: cfg.LeagueConfig) -> cfg.LeagueConfig:
    """Return the settings with the class or name of each rule of one's own in place of its path."""
    players = tuple(
        msgspec.structs.replace(player, rule=player.rule.rpartition(":")[2]) for player in league.players
    )
    return msgspec.structs.replace(league, players=players)
