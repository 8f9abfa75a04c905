"""Whether a run that is resumed may load the code that its configuration names.

A run directory may be anybody's, so the name in its ``config.toml`` loads built-in and installed games only.
For a game of the user's own the user either names the code again, or started the run here: then a record of
that, which is not in the run directory, says so.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from ludus.flow.decode import from_json
from ludus.games import typed
from ludus.games.hosted import placed
from ludus.games.names import is_installed_name
from ludus.presets.config import GameConfig, Preset
from ludus.storage import CorruptFile
from ludus.storage.user_state import read_private, write_private

MAX_RECORD = 1 << 16


class RunRecord(msgspec.Struct, frozen=True):
    """``config`` is the hash of the table ``game`` of the run's configuration: all that decides which code is
    loaded and what it is called with. ``game`` is the reference that the user gave. ``run``
    is the run's path, of which the record's file name is a hash.
    """

    run: str
    config: str
    game: str


def remember(run: Path, configured: GameConfig, game: str) -> None:
    """Records that this user started (or resumed) the run at ``run`` with the code that ``game`` names.

    ``configured``: the game as ``config.toml`` has it. Nothing is recorded for a built-in or installed game.
    Raises ``OSError`` or ``StorageError``.
    """
    if not is_installed_name(game):
        record = RunRecord(str(run.resolve()), _digest(configured), game)
        write_private(_file(run), msgspec.json.encode(record))


def resumed_game(run: Path, preset: Preset, game: str = "") -> Preset:
    """``preset`` of the run at ``run`` with the reference by which its game is loaded.

    ``game``: what the user gave; empty = the record's, if there is one of this configuration, else the
    configuration's own, which loads no code but what is installed. Raises ``StorageError``.
    """
    configured, known = preset.game, None
    if not game and not is_installed_name(configured.name):
        known = _record(run)
    if known is not None and known.config == _digest(configured):
        game = known.game
    if not game:
        return preset
    chosen = typed(placed(game, Path()))
    return msgspec.structs.replace(preset, game=msgspec.structs.replace(configured, name=chosen))


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
    return f"runs/{hashlib.sha256(str(run.resolve()).encode()).hexdigest()[:32]}.json"
