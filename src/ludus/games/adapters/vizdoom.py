"""Scenarios of ViZDoom: ``vizdoom/basic``, or the path of a ``.cfg``: ``vizdoom/./mine.cfg``.

One player, or with ``players`` a match of several (``vizdoom_match.py``).

A tick is one decision, repeated for ``frame_skip`` tics of the engine. A seat observes the screen, scaled
down by area averaging, and the scenario's game variables.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ludus.flow.inputs.regular import why_unusable
from ludus.flow.names import did_you_mean
from ludus.flow.slab import Array
from ludus.flow.spec import GameSpec, HeadSpec, ParamSpec
from ludus.games.python_game import Bytes, Floats, Ints, PythonGame, VectorGame, declare, tensor, typed_params
from ludus.native import core

_PARAMS = (
    ParamSpec("frame_skip", "integer", "4", 1, 100, meaning="tics that a decision is held for"),
    ParamSpec("height", "integer", "72", 8, 120, meaning="of the observed screen, pixels"),
    ParamSpec("width", "integer", "128", 8, 160, meaning="of the observed screen, pixels"),
    ParamSpec("colour", "text", "true", choices=("false", "true"), meaning="red, green and blue, else grey"),
    ParamSpec(
        "actions",
        "text",
        "single",
        choices=("single", "multi"),
        meaning="one button at a time or none; or a head for each button, all at once",
    ),
    ParamSpec("skill", "integer", "0", 0, 5, meaning="difficulty; 0 = the scenario's own"),
    ParamSpec("players", "integer", "1", 1, 8, meaning="seats; from 2 on they play against each other"),
    ParamSpec("match_tics", "integer", "4200", 1, 1 << 20, meaning="length of such a match; 35 are a second"),
    ParamSpec("tic_s", "real", "10.0", 0.1, 600, meaning="an engine that needs longer for a tic is frozen"),
)


class VizdoomSeat:
    """One player's observations, and the buttons of its decisions."""

    def __init__(self, maker: VizdoomMaker, buttons: int) -> None:
        """Allocate the observation of one player, for an engine with ``buttons`` buttons."""
        self._single = maker.single
        self._press = [0] * buttons
        self._screen = np.zeros((maker.channels, *maker.size), np.uint8)
        self._variables = np.zeros(maker.variables, np.float32)
        self.picture: Bytes | None = None  # of the engine's own size

    def look(self, game: Any) -> None:
        """Read the screen; after the end the last image stays."""
        state = game.get_state()
        if state is None:
            return
        self.picture = picture = np.ascontiguousarray(state.screen_buffer)
        planes = picture[None] if picture.ndim == 2 else picture
        if planes.shape == self._screen.shape:
            self._screen[...] = planes
        else:
            for plane, out in zip(planes, self._screen, strict=True):
                core.shrink_max(plane, plane, out)
        if len(self._variables):
            self._variables[...] = state.game_variables

    def press(self, action: Ints) -> list[int]:
        """Convert ``action: int32[K]`` to the engine's buttons."""
        press = self._press
        if self._single:
            choice = int(action[0])
            press[:] = [0] * len(press)
            if choice:
                press[choice - 1] = 1
        else:
            press[:] = action.tolist()
        return press

    def write(self, out: Mapping[str, Array]) -> None:
        """Write every tensor of the spec."""
        out["screen"][...] = self._screen
        if len(self._variables):
            out["variables"][...] = self._variables

    def drawn(self) -> Bytes | None:
        """Return the engine's own picture, ``uint8[H, W]`` or ``[H, W, 3]``; None before the first."""
        if self.picture is None or self.picture.ndim == 2:
            return self.picture
        return self.picture.transpose(1, 2, 0)


class VizdoomGame:
    """A game of one player with its own engine process."""

    def __init__(self, maker: VizdoomMaker) -> None:
        """Start the engine. Raises ``ProcessUnusable`` if this process cannot start one."""
        from ludus.games.adapters.vizdoom_match import check_process

        check_process()
        self.spec, self._maker = maker.spec, maker
        self._game = maker.engine()
        self._game.init()
        self._interface = maker.seat()
        self._reward = 0.0
        self.truncated = False

    def reset(self, seed: int) -> None:
        """Start a match with ``seed``."""
        self._game.set_seed(seed)
        self._game.new_episode()
        self.truncated = False
        self._interface.look(self._game)

    def to_act(self) -> Sequence[int]:
        """Return the only seat."""
        return (0,)

    def step(self, actions: Ints) -> bool:
        """Hold the decision for ``frame_skip`` tics. True when the episode is finished."""
        game = self._game
        self._reward = game.make_action(self._interface.press(actions[0]), self._maker.frame_skip)
        over = bool(game.is_episode_finished())
        self.truncated = over and bool(game.is_episode_timeout_reached())
        self._interface.look(game)
        return over

    def rewards(self, out: Floats) -> None:
        """Write the scenario's reward of the last step."""
        out[0] = self._reward

    def outcome(self, out: Floats) -> None:
        """Write 0: a single player has no opponent."""
        out[0] = 0.0

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        """Write the screen and the game variables."""
        self._interface.write(out)

    @property
    def ticks_per_s(self) -> float:
        """Decisions a second of the engine."""
        from ludus.games.adapters.vizdoom_match import TICS_PER_S

        return float(TICS_PER_S / self._maker.frame_skip)

    def render(self) -> Bytes | None:
        """Return the screen that the player sees."""
        return self._interface.drawn()

    def close(self) -> None:
        """End the engine."""
        self._game.close()


class VizdoomMaker:
    """Maker of a scenario under parameters."""

    def __init__(self, name: str, params: Mapping[str, str]) -> None:
        """Load the scenario and declare its spec. Raises ``ValueError`` for one that cannot be played."""
        import vizdoom

        self._config = Path(name) if name.endswith(".cfg") else Path(vizdoom.scenarios_path) / f"{name}.cfg"
        if self._config.exists() and (why := why_unusable(self._config)):
            raise ValueError(f"vizdoom/{name}: {why}; expected a scenario (.cfg)")
        if not self._config.is_file():
            known = sorted(p.stem for p in Path(vizdoom.scenarios_path).glob("*.cfg"))
            hint = did_you_mean(f"vizdoom/{name}", [f"vizdoom/{k}" for k in known], "there are", 0.7)
            raise ValueError(f"vizdoom/{name}: no such scenario{hint}")
        values: dict[str, Any] = {
            **typed_params(_PARAMS, {p.name: p.default_value for p in _PARAMS}),
            **typed_params(_PARAMS, params),
        }
        self.frame_skip, self.size = values["frame_skip"], (values["height"], values["width"])
        self.channels = 3 if values["colour"] else 1
        self.single, self._skill = values["actions"] == "single", values["skill"]
        self.players, self.match_tics = values["players"], values["match_tics"]
        self.tic_s = float(values["tic_s"])
        game = self.engine()
        buttons = [b.name.lower() for b in game.get_available_buttons()]
        names = [v.name.lower() for v in game.get_available_game_variables()]
        self.variables, self._buttons = len(names), len(buttons)
        if not buttons:
            raise ValueError(f"vizdoom/{name}: the scenario has no buttons")
        if any(b.endswith("_delta") for b in buttons) and not self.single:
            raise ValueError(f"vizdoom/{name}: {buttons} has buttons with a range; use actions = single")
        screen = tensor(
            "screen",
            (self.channels, *self.size),
            "u8",
            low=0,
            high=255,
            scale=1 / 255,
            meaning="the screen",
        )
        seen = [screen]
        if names:
            seen.append(tensor("variables", (len(names),), meaning=", ".join(names)))
        if self.single:
            heads = [HeadSpec("button", len(buttons) + 1, labels=("none", *buttons))]
        else:
            heads = [HeadSpec(b, 2, labels=("off", "on")) for b in buttons]
        tics = self.match_tics if self.players > 1 else game.get_episode_timeout() or 1 << 30
        self.spec: GameSpec = declare(
            f"vizdoom/./{self._config.name}" if name.endswith(".cfg") else f"vizdoom/{name}",
            title=f"{self._config.stem} of ViZDoom",
            observation=seen,
            heads=heads,
            seats=self.players,
            max_ticks=-(-int(tics) // self.frame_skip),
            params=_PARAMS,
            meaning="A tick is one decision: frame_skip tics of the engine, 35 of which are a second.",
        )

    def engine(self) -> Any:
        """Create a DoomGame that is not started yet."""
        import vizdoom

        game = vizdoom.DoomGame()
        game.load_config(str(self._config))
        game.set_window_visible(False)
        game.set_sound_enabled(False)
        game.set_console_enabled(False)
        game.set_mode(vizdoom.Mode.PLAYER)
        game.set_screen_resolution(vizdoom.ScreenResolution.RES_160X120)
        grey = self.channels == 1
        game.set_screen_format(vizdoom.ScreenFormat.GRAY8 if grey else vizdoom.ScreenFormat.CRCGCB)
        game.set_depth_buffer_enabled(False)
        game.set_labels_buffer_enabled(False)
        game.set_automap_buffer_enabled(False)
        if self._skill:
            game.set_doom_skill(self._skill)
        # The engine writes its settings to its working folder: give it a throw-away file.
        game.set_doom_config_path(os.devnull)
        return game

    def seat(self) -> VizdoomSeat:
        """Create the observations and buttons of one player."""
        return VizdoomSeat(self, self._buttons)

    def make(self) -> PythonGame:
        """Create a game of one player, or a match of several."""
        if self.players == 1:
            return VizdoomGame(self)
        from ludus.games.adapters.vizdoom_match import VizdoomMatch

        return VizdoomMatch(self)

    def make_vector(self, matches: int) -> VectorGame | None:
        """Return None: ViZDoom has no vectorised environments."""
        return None


def maker(name: str, params: Mapping[str, str]) -> VizdoomMaker:
    """Return a maker of the scenario ``name``: see :class:`VizdoomMaker`."""
    return VizdoomMaker(name, params)
