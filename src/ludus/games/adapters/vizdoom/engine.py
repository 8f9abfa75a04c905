"""Settings and arguments of an engine."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from ludus.flow.inputs.regular import open_regular
from ludus.flow.names import did_you_mean

TICS_PER_S = 35
COMMON = "-netmode 0 +viz_nocheat 0"
HOST = (
    "-deathmatch +sv_spawnfarthest 1 +sv_noautoaim 1 +sv_respawnprotect 1 +sv_forcerespawn 1 "
    "+sv_nocrouch 1 +sv_nojump 1 +sv_noexit 1"
)
#: Most players and bots of a match.
MAX_PLAYERS = 16
MAX_BOTS_FILE = 1 << 16
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,14}")
_IN_FILE = re.compile(r"^\s*name\s+\"?([^\"\s]+)", re.MULTILINE | re.IGNORECASE)
_ABILITIES = ("aiming", "perfection", "reaction", "isp")


class EngineSettings(msgspec.Struct, frozen=True):
    """What an engine is started with. ``buttons`` and ``variables`` are lower-case names, in order."""

    config: Path
    resolution: str
    colour: bool
    depth: bool
    labels: bool
    skill: int
    buttons: tuple[str, ...]
    variables: tuple[str, ...]

    def engine(self) -> Any:
        """Create a DoomGame that is not started yet."""
        import vizdoom

        game = vizdoom.DoomGame()
        game.load_config(str(self.config))
        game.set_window_visible(False)
        game.set_sound_enabled(False)
        game.set_audio_buffer_enabled(False)
        game.set_console_enabled(False)
        game.set_mode(vizdoom.Mode.PLAYER)
        game.set_screen_resolution(getattr(vizdoom.ScreenResolution, f"RES_{self.resolution.upper()}"))
        shown = vizdoom.ScreenFormat.CRCGCB if self.colour else vizdoom.ScreenFormat.GRAY8
        game.set_screen_format(shown)
        game.set_depth_buffer_enabled(self.depth)
        game.set_labels_buffer_enabled(self.labels)
        game.set_automap_buffer_enabled(False)
        game.set_objects_info_enabled(False)
        game.set_sectors_info_enabled(False)
        if self.buttons:
            game.set_available_buttons([getattr(vizdoom.Button, b.upper()) for b in self.buttons])
        game.set_available_game_variables([getattr(vizdoom.GameVariable, v.upper()) for v in self.variables])
        if self.skill:
            game.set_doom_skill(self.skill)
        # The engine writes its settings to its working folder: give it a throw-away file.
        game.set_doom_config_path(os.devnull)
        return game


class Bots(msgspec.Struct, frozen=True):
    """The built-in bots of a match: how many, their names, and their skill."""

    count: int = 0
    names: tuple[str, ...] = ()
    skill: int = -1  # 0 to 100; -1: each as bots.cfg has it

    def arguments(self) -> str:
        """Return the arguments of the host: where the bots are described."""
        return (
            ""
            if self.count == 0 or self.skill < 0
            else f"+viz_bots_path {_bots_file(self.called, self.skill)}"
        )

    @property
    def called(self) -> tuple[str, ...]:
        """Names of the bots; empty: the engine draws them."""
        if self.names or self.skill < 0:
            return self.names
        return tuple(f"Bot{n}" for n in range(1, self.count + 1))

    def add(self, game: Any) -> None:
        """Put the bots into the match of the running host ``game``, in place of any others."""
        game.send_game_command("removebots")
        names = self.called
        for n in range(self.count):
            game.send_game_command(f"addbot {names[n]}" if names else "addbot")


def bots_of(count: int, names: str, skill: int) -> Bots:
    """Return the bots that the parameters describe.

    Args:
        count: Number of bots.
        names: Names and commas, one for each bot; "": drawn by the engine.
        skill: 0 to 100 for all four abilities; -1: each bot's own in ViZDoom's ``bots.cfg``.

    Raises:
        ValueError: Other names than bots, a name that is none, or one that ``bots.cfg`` lacks.
    """
    called = tuple(name.strip() for name in names.split(",")) if names else ()
    if called and len(called) != count:
        raise ValueError(f"bot_names: {len(called)} names, expected one for each of {count} bots")
    for i, name in enumerate(called):
        if not _NAME.fullmatch(name):
            raise ValueError(f"bot_names = {names}: expected letters and digits, at most 15, found {name!r}")
        if name in called[:i]:
            raise ValueError(f"bot_names = {names}: {name} comes twice")
        if skill < 0 and name not in known_bots():
            known = did_you_mean(name, known_bots(), "in bots.cfg", 0.5)
            raise ValueError(f"bot_names: no bot {name}{known}; any name goes with bot_skill")
    return Bots(count, called, skill)


@lru_cache(maxsize=1)
def known_bots() -> tuple[str, ...]:
    """Return the names in ViZDoom's ``bots.cfg``, empty if there is none."""
    import vizdoom

    path = Path(vizdoom.__file__).parent / "bots.cfg"
    if not path.is_file():
        return ()
    with open_regular(path) as file:
        return tuple(_IN_FILE.findall(file.read(MAX_BOTS_FILE).decode("utf-8", "replace")))


@lru_cache(maxsize=64)
def _bots_file(names: tuple[str, ...], skill: int) -> Path:
    """Write a ``bots.cfg`` in which all bots have the same skill, for the life of this process."""
    abilities = "".join(f"    {ability} {skill}\n" for ability in _ABILITIES)
    text = "".join(
        f'{{\n    name {name}\n{abilities}    color "40 cf 00"\n    skin base\n}}\n\n' for name in names
    )
    handle, path = tempfile.mkstemp(".cfg", f"bots{skill}_", _folder())
    with os.fdopen(handle, "w") as file:
        file.write(text)
    return Path(path)


@lru_cache(maxsize=1)
def _folder() -> Path:
    folder, owner = tempfile.mkdtemp(prefix="ludus-bots-"), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # not in a fork of this process
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return Path(folder)


def host_arguments(players: int, port: int, respawn_s: int, bots: Bots) -> str:
    """Return the arguments of the engine that hosts a match of ``players``, itself included."""
    parts = [f"-host {players} {HOST} +viz_respawn_delay {respawn_s}", bots.arguments()]
    return " ".join([*filter(None, parts), f"-port {port} {COMMON} +name seat0 +colorset 0"])


def join_arguments(seat: int, port: int) -> str:
    """Return the arguments of the engine of another ``seat``."""
    return f"-join 127.0.0.1 -port {port} {COMMON} +name seat{seat} +colorset {seat % 8}"
