"""Whether a run that is resumed may load the code that its configuration names.

A run directory may be anybody's, so the names in its ``config.toml`` load built-in and installed games only,
and no bot in Python. For code of the user's own the user either names it again, or started the run here: then
a record of that, which is not in the run directory, says so.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from ludus.flow.decode import from_json, to_json
from ludus.flow.shown import shown
from ludus.games.names import is_installed_name, is_typed
from ludus.presets.code import GAME, TEACHER, code_of, typed_code, with_code
from ludus.presets.config import GameConfig, Preset
from ludus.presets.errors import ConfigError
from ludus.storage import CorruptFile
from ludus.storage.user_state import read_private, write_private

MAX_RECORD = 1 << 16


class RunRecord(msgspec.Struct, frozen=True):
    """``config`` is the hash of the table ``game`` of the run's configuration: all that decides which code is
    loaded and what it is called with. ``game`` is the reference that the user gave; ``teacher`` is that of a
    bot in Python, behind the one in the configuration. ``run`` is the run's path, of which the record's file
    name is a hash.
    """

    run: str
    config: str
    game: str
    teacher: tuple[str, str] = ("", "")


def remember(run: Path, configured: Preset, preset: Preset) -> None:
    """Records that this user started (or resumed) the run at ``run`` with the code that ``preset`` names.

    ``configured``: the settings as ``config.toml`` has them. Nothing is recorded for a built-in or installed
    game without a bot in Python. Raises ``OSError`` or ``StorageError``.
    """
    teacher = code_of(preset).get(TEACHER, "")
    bot = (code_of(configured)[TEACHER], teacher) if is_typed(teacher) else ("", "")
    if bot[1] or not is_installed_name(preset.game.name):
        record = RunRecord(str(run.resolve()), _digest(configured.game), preset.game.name, bot)
        write_private(_file(run), to_json(record))


def resumed_code(run: Path, preset: Preset, game: str = "", teacher: str = "") -> Preset:
    """``preset`` of the run at ``run`` with the references by which its code is loaded.

    ``game``, ``teacher``: those that the user gave; empty = the record's, if there is one of this
    configuration, else the configuration's own, which load no code but what is installed. Raises
    ``StorageError``, and ``ConfigError`` for a bot in Python that only the configuration names.
    """
    code = code_of(preset)
    if teacher and TEACHER not in code:
        raise ConfigError(f"--teacher {shown(teacher)}: the teacher of {run} is no Python file")
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
            "yourself: --teacher FILE.py"
        )
    given = {path: text for path, text in ((GAME, game), (TEACHER, teacher)) if text}
    return with_code(preset, {path: typed_code(text) for path, text in given.items()})


def _record(run: Path) -> RunRecord | None:
    name = _file(run)
    data = read_private(name, MAX_RECORD)
    try:
        return None if data is None else from_json(data, RunRecord)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptFile(f"{name} of this user's state: {error}") from error


def _digest(game: GameConfig) -> str:
    return hashlib.sha256(msgspec.json.encode(game, order="deterministic")).hexdigest()


def _file(run: Path) -> str:
    return f"runs/{hashlib.sha256(os.fsencode(run.resolve())).hexdigest()[:32]}.json"
