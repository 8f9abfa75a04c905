"""Settings and arguments of an engine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from ludus.games.adapters.vizdoom.bots import Bots

TICS_PER_S = 35
COMMON = "-netmode 0 +viz_nocheat 0"
HOST = (
    "-deathmatch +sv_spawnfarthest 1 +sv_noautoaim 1 +sv_respawnprotect 1 +sv_forcerespawn 1 "
    "+sv_nocrouch 1 +sv_nojump 1 +sv_noexit 1"
)
#: Most players and bots of a match: of the engine.
MAX_PLAYERS = 16
#: Tics within which all bots have joined a match.
JOIN_TICS = 70
#: Tics for which a match waits for its players: a bot that joins at a player's place kills it.
ALIVE_TICS = 16


class EngineSettings(msgspec.Struct, frozen=True):
    """Settings of an engine. ``buttons`` and ``variables`` are lower-case names, in order."""

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
        # The engine carries the sway of the weapon from one match into the next.
        game.add_game_args("+movebob 0")
        # The engine writes its settings to its working folder: give it a throw-away file.
        game.set_doom_config_path(os.devnull)
        return game


def host_arguments(players: int, port: int, respawn_s: int, bots: Bots) -> str:
    """Return the arguments of the engine that hosts a match of ``players``, itself included."""
    parts = [f"-host {players} {HOST} +viz_respawn_delay {respawn_s}", bots.arguments()]
    return " ".join([*filter(None, parts), f"-port {port} {COMMON} +name seat0 +colorset 0"])


def join_arguments(seat: int, port: int) -> str:
    """Return the arguments of the engine of another ``seat``."""
    return f"-join 127.0.0.1 -port {port} {COMMON} +name seat{seat} +colorset {seat % 8}"


def gather(game: Any, bots: Bots) -> None:
    """Let the bots join the match of the running host. Players and bots come back at once until then."""
    game.send_game_command("viz_respawn_delay 0")
    bots.add(game)


def gathered(game: Any, players: int, bots: Bots) -> bool:
    """Return whether all bots take part in the match of a host."""
    return bool(game.get_server_state().player_count >= players + bots.count)


def begin(game: Any, respawn_s: int) -> None:
    """Start the match of the host, with the time of ``respawn_s`` until a player is back."""
    game.send_game_command(f"viz_respawn_delay {respawn_s}")


def missing_bots(game: Any, players: int, bots: Bots) -> RuntimeError:
    """Return the error of bots that have not joined."""
    there = max(0, game.get_server_state().player_count - players)
    return RuntimeError(f"start: {there} of {bots.count} bots joined within {JOIN_TICS} tics")
