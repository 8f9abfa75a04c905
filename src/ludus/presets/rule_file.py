"""Rules of a league from a file: ``./mine.py:Newest``.

Loading one runs its file, so only a reference that the user gave is loaded (:mod:`ludus.games.names`). A name
without a file is that of an installed package's rule (:mod:`ludus.league.rules.registry`).
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from ludus.flow.inputs.shown import shown
from ludus.flow.problem import Argument, HasProblems, Problem, near_of
from ludus.flow.process.code_files import CodeFile, sha256_of
from ludus.flow.process.extensions import ExtensionError
from ludus.games.names import is_bot_file, is_typed
from ludus.league.config import LeagueConfig, PlayerConfig
from ludus.league.rules import registry
from ludus.league.rules.checked import CheckedRule, in_words
from ludus.league.rules.registry import MakeRule
from ludus.presets.code import rule_path
from ludus.presets.errors import ConfigError
from ludus.presets.user_code import read_code, run_code

_EXPECTED = "expected a Python file and the name of a class with meet, freeze and origin: FILE.py:CLASS"


@dataclass(frozen=True, slots=True)
class LoadedRule:
    """The class of a rule.

    Args:
        name: Its name in the journal: ``mine.py:Newest``, or the name that a package declares.
        make: The class.
        path: Absolute path of its file; "" = unknown.
        sha256: Hash of the bytes that were run, or of the package's module; "" = unknown.
    """

    name: str
    make: MakeRule = field(repr=False)
    path: str
    sha256: str


#: Files that this process has run: path -> their hash and module.
_loaded: dict[str, tuple[str, object]] = {}


def load_rule(reference: str) -> LoadedRule:
    """Return the class of a rule; its file is run unless this process has run it as it is now.

    Raises:
        ConfigError: The reference is not the user's, its file cannot be run, or has no such rule.
    """
    if not is_bot_file(reference):
        return _installed(reference)
    if not is_typed(reference):
        raise ConfigError(
            "a name read from a file loads no Python file; if you trust this code, name it yourself: ",
            Argument("rule", form="FILE.py:CLASS", command="resume"),
        )
    file, _, name = reference.rpartition(":")
    if not file or reference.endswith(".py"):
        raise ConfigError(f"no class; {_EXPECTED}")
    path = Path(os.path.realpath(file))
    data = read_code(file, path, shown(file), _EXPECTED)
    sha256 = hashlib.sha256(data).hexdigest()
    known = _loaded.get(str(path))
    if known is None or known[0] != sha256:
        known = _loaded[str(path)] = (sha256, run_code(path, data, shown(file), _EXPECTED, "rule"))
    found: object = getattr(known[1], name, None)
    if found is None:
        classes = [key for key, value in vars(known[1]).items() if isinstance(value, type)]
        raise ConfigError(
            Problem(
                text=f"{shown(file)} has no class {shown(name)}", near=near_of(name, classes, "its classes")
            )
        )
    try:
        make = registry.checked(found)
    except ValueError as error:
        raise ConfigError(f"{name} {error}") from error
    return LoadedRule(f"{path.name}:{name}", make, str(path), sha256)


def rules_of(league: LeagueConfig) -> dict[str, CheckedRule]:
    """Return the rules of one's own by member, with their parameters. Raises ``ConfigError``."""
    return {player.name: _with_params(player) for player in league.members if player.rule}


def rule_problems(league: LeagueConfig) -> Iterator[Problem]:
    """Yield every rule that cannot be loaded, and parameters that it does not take."""
    for k, player in enumerate(league.players):
        if not player.rule:
            continue
        try:
            rule = load_rule(player.rule)
        except HasProblems as error:
            for problem in error.problems:
                placed = msgspec.structs.replace(problem, path=rule_path(k))
                yield placed.within(f"{rule_path(k)} = {shown(player.rule)}")
            continue
        yield from _params_problems(f"league.players.{k}.params", rule, player)


def rule_files(league: LeagueConfig) -> list[CodeFile]:
    """Return the files of the rules, which have been loaded."""
    found = []
    for k, player in enumerate(league.players):
        if player.rule and (rule := load_rule(player.rule)).path:
            found.append(CodeFile(rule_path(k), Path(rule.path).name, rule.path, rule.sha256))
    return found


def _installed(name: str) -> LoadedRule:
    """Return the rule of an installed package. Raises ``ConfigError``."""
    try:
        make = registry.find(name)
    except ExtensionError as error:
        raise ConfigError(error) from error
    if make is None:
        text = f"no rule of an installed package; {_EXPECTED}, or the name of such a rule"
        raise ConfigError(Problem(text=text, near=registry.near(name)))
    path = str(getattr(sys.modules.get(make.__module__), "__file__", None) or "")
    return LoadedRule(name, make, path, sha256_of(Path(path)) if path else "")


def _with_params(player: PlayerConfig) -> CheckedRule:
    rule = load_rule(player.rule)
    return CheckedRule(rule.name, partial(rule.make, **player.params), rule.sha256, rule.path)


def _params_problems(path: str, rule: LoadedRule, player: PlayerConfig) -> Iterator[Problem]:
    """Yield parameters that the rule's class does not take or refuses."""
    known = registry.keywords(rule.make)
    if known is not None and (unknown := [key for key in player.params if key not in known]):
        for key in unknown:
            text = f"unknown key {path}.{key}"
            yield Problem(f"{path}.{key}", text, near=near_of(key, known, f"parameters of {rule.name}"))
        return
    try:
        rule.make(**player.params)
    except (Exception, SystemExit) as error:
        yield Problem(path, f"{path}: {shown(rule.name)} cannot be made: {in_words(error)}")
