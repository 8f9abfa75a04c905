"""Atari 2600 games by the Arcade Learning Environment: ``atari/Breakout``.

The emulator is driven directly, one instance a match, and the usual preprocessing (Mnih et al. 2015,
Machado et al. 2018) happens here: the last two of the frames that an action is held for, the larger of both
pixel by pixel, shrunk to 84x84 by area, the last four of these as planes. Chance is ours (no-ops at the
start, sticky actions), so that a match depends on its seed and actions alone and can be cloned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ludus.flow.names import nearest
from ludus.flow.slab import Array
from ludus.flow.spec import GameSpec, HeadSpec, ParamSpec
from ludus.games.python_game import Bytes, Floats, Ints, PythonGame, VectorGame, declare, tensor, typed_params
from ludus.native import core

if TYPE_CHECKING:
    from ale_py import Action, ALEInterface

HEIGHT, WIDTH = 210, 160
FRAMES_PER_S = 60

_PARAMS = (
    ParamSpec("frame_skip", "integer", "4", 1, 60, meaning="frames that an action is held for"),
    ParamSpec("stack", "integer", "4", 1, 16, meaning="observed pictures, the newest last"),
    ParamSpec("size", "integer", "84", 16, 160, meaning="height and width of a picture"),
    ParamSpec("sticky", "real", "0.0", 0, 1, meaning="chance that a frame repeats the action before it"),
    ParamSpec("noop_max", "integer", "30", 0, 1000, meaning="most idle frames at the start of a match"),
    ParamSpec(
        "episodic_life", "text", "false", choices=("false", "true"), meaning="a lost life ends the match"
    ),
    ParamSpec(
        "fire_reset",
        "text",
        "true",
        choices=("false", "true"),
        meaning="FIRE is pressed where a game waits for it",
    ),
    ParamSpec(
        "full_action_space", "text", "false", choices=("false", "true"), meaning="all 18 actions, used or not"
    ),
    ParamSpec("max_frames", "integer", "108000", 1, 1 << 30, meaning="a match is cut off there"),
)


class AtariGame:
    """One emulator. With ``episodic_life``, ``reset`` after a lost life continues from there."""

    def __init__(self, maker: AtariMaker) -> None:
        """Start one emulator of the game that ``maker`` describes."""
        self.spec, self._maker = maker.spec, maker
        self._ale = maker.emulator()
        self._ale.reset_game()
        # reset_game leaves the console's memory as the last match and its own chance have it.
        self._start, self._picture = self._ale.cloneSystemState(), self._ale.getScreenGrayscale()
        self._actions = maker.actions
        self._frames = [np.zeros((self._ale_height(), WIDTH), np.uint8) for _ in range(2)]
        self._stack = np.zeros((maker.stack, maker.size, maker.size), np.uint8)
        self._rng = np.random.default_rng(0)
        self._last = self._actions[0]
        self._reward = 0.0
        self._lives = 0
        self._frame_count = 0
        self.truncated = False

    def _ale_height(self) -> int:
        return int(self._ale.getScreenDims()[0])

    def reset(self, seed: int) -> None:
        """Start a match with no-op frames drawn from ``seed``, or continue after a lost life."""
        ale, maker = self._ale, self._maker
        self._rng = np.random.default_rng(seed)
        continues = maker.episodic_life and not ale.game_over() and self._lives > 0 and not self.truncated
        if continues:
            self._wait(self._actions[0])
        else:
            self._frame_count = 0
            self._restart()
            for _ in range(int(self._rng.integers(0, maker.noop_max + 1)) if maker.noop_max else 0):
                self._wait(self._actions[0])
                if ale.game_over():
                    self._restart()
        if maker.fire is not None:
            self._wait(maker.fire)
            if ale.game_over():
                self._restart()
        self._last = self._actions[0]
        self._lives = ale.lives()
        self.truncated = False
        self._reward = 0.0
        self._stack[...] = 0
        core.shrink_max(self._frames[0], self._frames[0], self._stack[-1])

    def _restart(self) -> None:
        """Restore the state that every match starts from, and its picture, which is not part of a state."""
        self._ale.reset_game()
        self._ale.restoreSystemState(self._start)
        self._frames[0][...] = self._picture

    def _wait(self, action: Action) -> None:
        self._ale.act(action)
        self._ale.getScreenGrayscale(self._frames[0])

    def to_act(self) -> Sequence[int]:
        """Return the only seat."""
        return (0,)

    def step(self, actions: Ints) -> bool:
        """Hold an action for ``frame_skip`` frames. True when the game or an episode of one life is over."""
        ale, maker = self._ale, self._maker
        wanted = self._actions[int(actions[0, 0])]
        skip, sticky = maker.frame_skip, maker.sticky
        repeats = (self._rng.random(skip) < sticky).tolist() if sticky > 0.0 else None
        reward, action = 0.0, wanted
        for frame in range(skip):
            action = self._last if repeats is not None and repeats[frame] else wanted
            self._last = action
            reward += ale.act(action)
            if frame >= skip - 2:
                ale.getScreenGrayscale(self._frames[frame & 1])
        self._reward = reward
        self._frame_count += skip
        stack = self._stack
        stack[:-1] = stack[1:]
        other = self._frames[skip & 1] if skip > 1 else self._frames[(skip - 1) & 1]
        core.shrink_max(self._frames[(skip - 1) & 1], other, stack[-1])
        lives = ale.lives()
        over = bool(ale.game_over())
        lost = maker.episodic_life and lives < self._lives
        self._lives = lives
        self.truncated = not over and not lost and self._frame_count >= maker.max_frames
        return over or lost or self.truncated

    def rewards(self, out: Floats) -> None:
        """Write the points of the last step."""
        out[0] = self._reward

    def outcome(self, out: Floats) -> None:
        """Write 0: no one wins or loses against the console."""
        out[0] = 0.0

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        """Write the stacked pictures ``uint8[stack, size, size]``."""
        out["screen"][...] = self._stack

    @property
    def ticks_per_s(self) -> float:
        """Decisions a second of the console."""
        return FRAMES_PER_S / self._maker.frame_skip

    def render(self) -> Bytes:
        """Return the screen in colour: ``uint8[210, 160, 3]``."""
        screen: Bytes = self._ale.getScreenRGB()
        return screen

    def hash(self) -> int:
        """Return a hash of everything that the future depends on."""
        import hashlib

        state = self._ale.cloneSystemState().serialize() if hasattr(self._ale, "cloneSystemState") else b""
        return int.from_bytes(
            hashlib.blake2b(bytes(state) + self._stack.tobytes(), digest_size=8).digest(), "big"
        )


class BareEmulator:
    """An emulator with random actions; the two pictures of a decision are fetched and not processed."""

    def __init__(self, maker: AtariMaker, seed: int) -> None:
        """Start the emulator."""
        self._ale, self._actions, self.frames = maker.emulator(), maker.actions, maker.frame_skip
        self._random = np.random.default_rng(seed)
        self._picture: Bytes = np.zeros((HEIGHT, WIDTH), np.uint8)

    def tick(self) -> None:
        """Hold a random action for ``frames`` frames."""
        ale, action = self._ale, self._actions[int(self._random.integers(len(self._actions)))]
        for frame in range(self.frames):
            ale.act(action)
            if frame >= self.frames - 2:
                ale.getScreenGrayscale(self._picture)
        if ale.game_over():
            ale.reset_game()

    def close(self) -> None:
        """Do nothing: the emulator is part of this process."""


class AtariMaker:
    """Maker of a game, named as in Gymnasium or by its ROM: ``Breakout``, ``MsPacman``, ``ms_pacman``."""

    def __init__(self, name: str, params: Mapping[str, str]) -> None:
        """Declare the game. Raises ``ValueError`` for an unknown game or parameter."""
        from ale_py import roms

        self._rom = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
        known = roms.get_all_rom_ids()
        if self._rom not in known:
            near = nearest(self._rom, known, 0.5)
            hint = f" (did you mean atari/{near}?)" if near else ""
            raise ValueError(f"atari/{name}: no such game{hint}")
        values = {
            **typed_params(_PARAMS, {p.name: p.default_value for p in _PARAMS}),
            **typed_params(_PARAMS, params),
        }
        self.frame_skip, self.stack = int(values["frame_skip"]), int(values["stack"])
        self.size, self.noop_max = int(values["size"]), int(values["noop_max"])
        self.sticky, self.max_frames = float(values["sticky"]), int(values["max_frames"])
        self.episodic_life = bool(values["episodic_life"])
        ale = self.emulator()
        self.actions = list(
            ale.getLegalActionSet() if values["full_action_space"] else ale.getMinimalActionSet()
        )
        labels = tuple(str(a.name).lower() for a in self.actions)
        fires = bool(values["fire_reset"]) and "fire" in labels and len(labels) >= 3
        self.fire = self.actions[labels.index("fire")] if fires else None
        self.spec: GameSpec = declare(
            f"atari/{name}",
            title=f"{name} of the Atari 2600 (Arcade Learning Environment)",
            observation=[
                tensor(
                    "screen",
                    (self.stack, self.size, self.size),
                    "u8",
                    low=0,
                    high=255,
                    scale=1 / 255,
                    meaning="grey pictures, the newest last",
                )
            ],
            heads=[HeadSpec("action", len(self.actions), labels=labels)],
            max_ticks=-(-self.max_frames // self.frame_skip),
            params=_PARAMS,
            meaning="A tick is one decision: frame_skip frames of the emulator.",
        )

    def emulator(self) -> ALEInterface:
        """Create a silent emulator with the game's ROM. Raises ``ValueError`` if it cannot run."""
        import ale_py
        from ale_py import roms

        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        ale = ale_py.ALEInterface()
        ale.setInt("random_seed", 1)
        ale.setFloat("repeat_action_probability", 0.0)
        ale.setBool("sound", False)
        path = roms.get_rom_path(self._rom)
        if path is None:
            raise ValueError(f"atari/{self._rom}: ale-py has no ROM of it")
        if not ale_py.ALEInterface.isSupportedROM(path):  # loadROM would end the process
            raise ValueError(f"atari/{self._rom}: the Arcade Learning Environment cannot play it alone")
        ale.loadROM(path)
        return ale

    def bare(self, seed: int) -> BareEmulator:
        """Start an emulator that plays by itself."""
        return BareEmulator(self, seed)

    def make(self) -> PythonGame:
        """Create a game with its own emulator."""
        return AtariGame(self)

    def make_vector(self, matches: int) -> VectorGame | None:
        """Return None: an emulator a match is faster, and its chance belongs to the match."""
        return None


def maker(name: str, params: Mapping[str, str]) -> AtariMaker:
    """Return a maker of the game ``name``: see :class:`AtariMaker`."""
    return AtariMaker(name, params)
