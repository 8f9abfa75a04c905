"""Code that a resumed run may load: its game, its learning method, its teacher and its league's rules.

A run directory may come from another person, so the names in its files load built-in and installed games and
methods only, and no bot in Python. For code of the user's own the user either names it again, or started the
run here: then a record of that, which is not in the run directory, names it.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ludus.algorithms import registry
from ludus.flow.inputs.decode import from_json, from_toml, text_of, to_json
from ludus.flow.inputs.shown import shown
from ludus.flow.problem import Argument, Part, Problem
from ludus.flow.process.extensions import ExtensionError
from ludus.games import rulebook
from ludus.games.names import is_installed_name, is_typed
from ludus.presets.code import GAME, TEACHER, code_of, typed_code, with_code
from ludus.presets.config import GameConfig, Preset
from ludus.presets.errors import ConfigError
from ludus.presets.method_file import MethodFile, load_method, method_file
from ludus.storage.errors import CorruptFile, StorageError
from ludus.storage.user_state import read_private, write_private
from ludus.training.run_code import rulebooks

if TYPE_CHECKING:
    from ludus.storage import RunDirectory

MAX_RECORD = 1 << 16


class RunRecord(msgspec.Struct, frozen=True):
    """References that a user gave for a run.

    Args:
        run: Path of the run, of which the record's file name is a hash.
        config: Hash of the table ``game`` of the run's configuration: all that decides which code is loaded
            and with which arguments it is called.
        game: Reference of the game.
        teacher: Of a bot in Python: its name in the configuration, and the reference.
        method: Of a method from a file: the hash of the table ``algorithm``, and the path of the file.
        rulebooks: Paths of the rulebooks that the run's rules were read from.
        rules: Of rules of a league's members from files: the hash of their settings, and the references by
            the paths of their keys.
    """

    run: str
    config: str
    game: str
    teacher: tuple[str, str] = ("", "")
    method: tuple[str, str] = ("", "")
    rulebooks: tuple[str, ...] = ()
    rules: tuple[str, dict[str, str]] = ("", {})


def record_code(run: RunDirectory, configured: Preset, preset: Preset) -> None:
    """Record that this user started or resumed ``run`` with the code that ``preset`` names.

    ``configured``: the settings as ``config.toml`` has them. Nothing is recorded for a run without code of
    the user's own. Raises ``OSError`` or ``StorageError``.
    """
    teacher = code_of(preset).get(TEACHER, "")
    bot = (code_of(configured)[TEACHER], teacher) if is_typed(teacher) else ("", "")
    file = method_file(preset.algorithm)
    method = (_digest(_algorithm(run)), file.path) if file is not None else ("", "")
    books = tuple(str(known[0]) for lines in rulebooks(preset).values() if (known := rulebook.file_of(lines)))
    rules = _rule_references(preset)
    own = (_digest(_rule_settings(configured)), rules) if rules else ("", {})
    if bot[1] or method[1] or books or rules or not is_installed_name(preset.game.name):
        path = str(run.path.resolve())
        books = books or given_rulebooks(run.path)
        record = RunRecord(path, _digest(configured.game), preset.game.name, bot, method, books, own)
        write_private(_file(run.path), to_json(record))


def given_rulebooks(run: Path) -> tuple[str, ...]:
    """Return the paths of the rulebooks that this user gave for a run. Raises ``StorageError``."""
    known = _record(run)
    return known.rulebooks if known is not None else ()


def why_not_recorded(run: RunDirectory, configured: Preset, preset: Preset) -> Problem | None:
    """Record the code of a run (:func:`record_code`). Return what that failed with, and its effect."""
    try:
        record_code(run, configured, preset)
    except (OSError, StorageError) as error:
        code, file = code_of(preset), method_file(preset.algorithm)
        needed = [] if is_installed_name(code[GAME]) else [Argument("game", code[GAME])]
        needed += [Argument("teacher", code[TEACHER])] if TEACHER in code else []
        needed += [Argument("method", file.path)] if file is not None else []
        if rules := _rule_references(preset):
            needed += [Argument("rule", ",".join(dict.fromkeys(rules.values())))]
        if needed:  # without any the run resumes all the same
            text = "; this run could not be recorded as yours, so resuming it will need"
            return Problem(text=(str(error), text, *(part for word in needed for part in (" ", word))))
    return None


def resumed_method(run: RunDirectory, given: str = "") -> MethodFile | None:
    """Load the method of a run from its file, before its configuration is read; None for other methods.

    ``given``: the file that the user named; "" = that of the record, if there is one of this configuration.
    Raises ``StorageError``, and ``ConfigError`` for a method that is not here.
    """
    name = _algorithm(run).get("name", registry.DEFAULT.__struct_config__.tag)
    if not isinstance(name, str):  # the reader of the whole configuration reports it
        return None
    where: Part = Argument("method", given)
    if not given:
        started = run.info().method if run.info_path.is_file() else ""
        if not started:
            _check_known(run, name)
            return None
        known = _record(run.path)
        if known is None or known.method[0] != _digest(_algorithm(run)):
            raise ConfigError(
                f"{run.config}: algorithm.name = {shown(name)}, from {shown(started)}: this user did not "
                "start the run here, and a name read from a file loads no code; if you trust its code, name "
                "it yourself: ",
                Argument("method", form="FILE.py"),
            )
        given = known.method[1]
        where = f"{run.path}: its method's file {shown(given)}"
    file = load_method(typed_code(given), where)
    if file.name != name:
        raise ConfigError(
            f"holds the method {file.name}; expected {shown(name)}, by which {run.path} was trained",
            where=where,
        )
    return file


def resumed_code(run: Path, preset: Preset, game: str = "", teacher: str = "", rule: str = "") -> Preset:
    """Return ``preset`` of the run at ``run`` with the references by which its code is loaded.

    ``game``, ``teacher``, ``rule``: those that the user gave (several rules with commas between them);
    empty = the record's, if there is one of this configuration, else the configuration's own, which load no
    code but what is installed. Raises ``StorageError``, and ``ConfigError`` for a bot or a rule in Python
    that only the configuration names.
    """
    code = code_of(preset)
    rules = resumed_rules(run, preset, rule)
    if teacher and TEACHER not in code:
        raise ConfigError(f"the teacher of {run} is no Python file", where=Argument("teacher", teacher))
    known = None
    if (not game and not is_installed_name(code[GAME])) or (not teacher and TEACHER in code):
        known = _record(run)
    if known is not None:
        game = game or (known.game if known.config == _digest(preset.game) else "")
        teacher = teacher or (known.teacher[1] if known.teacher[0] == code.get(TEACHER) else "")
    if TEACHER in code and not teacher:
        raise ConfigError(
            f"{run / 'config.toml'}: algorithm.teacher = {shown(code[TEACHER])}: this user did not start the "
            "run here, and a name read from a file loads no Python file; if you trust its code, name it "
            "yourself: ",
            Argument("teacher", form="FILE.py"),
        )
    given = {path: text for path, text in ((GAME, game), (TEACHER, teacher)) if text} | rules
    return with_code(preset, {path: typed_code(text) for path, text in given.items()})


def resumed_rules(run: Path, preset: Preset, given: str = "") -> dict[str, str]:
    """Return the references of the rules of a league's members by the paths of their keys.

    They are to be marked with ``typed_code`` before they are loaded. Raises ``StorageError``, and
    ``ConfigError`` for a rule that only the configuration names.
    """
    needed = _rule_references(preset)
    words = [word.strip() for word in given.split(",") if word.strip()]
    if words and not needed:
        raise ConfigError(f"no member of {run} has a rule from a file", where=Argument("rule", given))
    known = None if words or not needed else _record(run)
    if known is not None and known.rules[0] == _digest(_rule_settings(preset)):
        return {path: known.rules[1].get(path, text) for path, text in needed.items()}
    found: dict[str, str] = {}
    for path, text in needed.items():
        file, _, name = text.rpartition(":")
        fitting = [word for word in words if word.rpartition(":")[2] == name]
        fitting.sort(key=lambda word: Path(word.rpartition(":")[0]).name != Path(file).name)
        if words and not fitting:
            raise ConfigError(
                f"no class {shown(name)}, which {path} of {run} needs", where=Argument("rule", given)
            )
        if not fitting:
            raise ConfigError(
                f"{run / 'config.toml'}: {path} = {shown(text)}: this user did not start the run here, and a "
                "name read from a file loads no Python file; if you trust its code, name it yourself: ",
                Argument("rule", form="FILE.py:CLASS"),
            )
        found[path] = fitting[0]
    return found


def _rule_references(preset: Preset) -> dict[str, str]:
    """Return the rules of a league's members that are files, by the paths of their keys."""
    return {path: text for path, text in code_of(preset).items() if path not in (GAME, TEACHER)}


def _rule_settings(preset: Preset) -> dict[str, object]:
    """Return the rules of a league's members with their parameters: what decides which code is called how."""
    players = preset.league.players if preset.league is not None else ()
    return {str(k): [player.rule, player.params] for k, player in enumerate(players) if player.rule}


def _check_known(run: RunDirectory, name: str) -> None:
    """Raise ``ConfigError`` for a method that is neither built in, installed nor registered."""
    try:
        if registry.find(name) is not None:
            return
    except ExtensionError as error:
        raise ConfigError(error, where=f"{run.config}: algorithm.name") from error
    raise ConfigError(
        f"{run.config}: algorithm.name = {shown(name)}: no such method is installed; expected its package, "
        "or its file: ",
        Argument("method", form="FILE.py"),
    )


def _algorithm(run: RunDirectory) -> dict[str, object]:
    """Return the table ``algorithm`` of a run's configuration, unchecked; empty where there is none."""
    try:
        table = from_toml(text_of(run.config_bytes())).get("algorithm")
    except ValueError:  # the reader of the whole configuration reports it
        return {}
    return table if isinstance(table, dict) else {}


def _record(run: Path) -> RunRecord | None:
    name = _file(run)
    data = read_private(name, MAX_RECORD)
    try:
        return None if data is None else from_json(data, RunRecord)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptFile(f"{name} of this user's state: {error}") from error


def _digest(table: GameConfig | dict[str, object]) -> str:
    return hashlib.sha256(msgspec.json.encode(table, order="deterministic")).hexdigest()


def _file(run: Path) -> str:
    return f"runs/{hashlib.sha256(os.fsencode(run.resolve())).hexdigest()[:32]}.json"
