"""Files that code and rules of a run come from: recorded when it starts, compared when it is resumed.

``run.json`` has the hashes of the start. A resume under other files appends a line to ``changes.jsonl``: the
files of a run are those of the start with all of these lines.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from ludus.algorithms.registry import method_of
from ludus.flow.process.code_files import CodeChange, CodeFile, applied, changed, code_file, sha256_of
from ludus.games import rulebook
from ludus.games.sources import game_files
from ludus.presets.code import GAME, TEACHER, code_of
from ludus.presets.config import ParamValue, Preset
from ludus.presets.method_file import NAME, method_file
from ludus.presets.rule_file import rule_files
from ludus.reporting.changes import read_changes

if TYPE_CHECKING:
    from ludus.storage import RunDirectory

RULEBOOK = "rulebook"  # the parameter of a game


def code_files(preset: Preset) -> tuple[CodeFile, ...]:
    """Return the files of a preset's game, teacher, rules and rulebooks, and of a method that a package has.

    Its code has been loaded. The file of ``--method`` is not among them (:func:`method_code`).
    """
    found = game_code(preset.game.name, preset.game.params)
    if teacher := code_of(preset).get(TEACHER, ""):
        file = Path(teacher if teacher.endswith(".py") else teacher.rpartition(":")[0])
        found += [code_file(TEACHER, file)]
    if preset.league is not None:
        found += rule_files(preset.league)
    if method_file(preset.algorithm) is None:
        found += [_package_method(preset)]
    for setting, lines in rulebooks(preset).items():
        if known := rulebook.file_of(lines):
            found += [CodeFile(setting, known[0].name, str(known[0]), known[1])]
    return tuple(file for file in found if file is not None)


def game_code(game: str, params: dict[str, ParamValue]) -> list[CodeFile | None]:
    """Return the files of a game; none of one that is not here, which its checks report."""
    try:
        files = game_files(game, params)
    except (ValueError, OSError):
        return []
    return [code_file(GAME, path, name) for name, path in files.items()]


def _package_method(preset: Preset) -> CodeFile | None:
    """Return the module of a method that an installed package has; None for a method of Ludus."""
    module = method_of(preset.algorithm).config.__module__
    path = getattr(sys.modules.get(module), "__file__", None)
    if path is None or module.partition(".")[0] == "ludus":
        return None
    return code_file(NAME, Path(path))


def method_code(preset: Preset) -> CodeFile | None:
    """Return the file of ``--method``, as it was run; None for another method."""
    file = method_file(preset.algorithm)
    return CodeFile(NAME, Path(file.path).name, file.path, file.sha256) if file is not None else None


def rulebooks(preset: Preset) -> dict[str, ParamValue]:
    """Return the rulebooks of the rules and of the old rules, by the path of the setting."""
    before = preset.game.before
    tables = {"game.params": preset.game.params}
    tables |= {"game.before.params": before.params} if before is not None else {}
    return {f"{path}.{RULEBOOK}": t[RULEBOOK] for path, t in tables.items() if RULEBOOK in t}


def known_files(run: RunDirectory) -> tuple[CodeFile, ...]:
    """Return the files of a run as they were when it was started or resumed last. Raises ``CorruptFile``."""
    info = run.info()
    method = CodeFile(NAME, Path(info.method).name, info.method, info.method_sha256)
    files = (*info.code, *([method] if info.method_sha256 else []))
    for change in read_changes(run):
        for file in change.code:
            files = applied(files, file)
    return files


def changed_code(run: RunDirectory, preset: Preset, books: Collection[str]) -> tuple[CodeChange, ...]:
    """Return the files of a run that are others now than when it was started or resumed last.

    A run keeps the lines of its rulebooks, so a changed rulebook is reported as ``kept``.

    Args:
        run: The run.
        preset: Its settings, whose code has been loaded.
        books: Paths of rulebooks that this user has given for the run. No other path of its files is read.

    Raises:
        CorruptFile: Its files are damaged.
    """
    then, method = known_files(run), method_code(preset)
    here = [f for f in code_files(preset) if not f.setting.endswith(f".{RULEBOOK}")]
    found = changed(then, [*here, *([method] if method is not None else [])])
    kept = [
        CodeChange(f.setting, f.name, f.path, f.sha256, sha256_of(Path(f.path)), kept=True)
        for f in then
        if f.setting.endswith(f".{RULEBOOK}") and f.path in books
    ]
    return (*found, *(change for change in kept if change.after not in ("", change.before)))


def changed_game(run: RunDirectory, game: str, params: dict[str, ParamValue]) -> tuple[CodeChange, ...]:
    """Return the files of a run's game that have changed since it was trained. Raises ``CorruptFile``."""
    here = [file for file in game_code(game, params) if file is not None]
    return changed(known_files(run), here)
