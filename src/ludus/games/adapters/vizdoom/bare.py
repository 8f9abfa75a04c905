"""The engine without Ludus: what a user's own loop over ``vizdoom.DoomGame`` plays."""

from __future__ import annotations

import numpy as np

from ludus.games.adapters.vizdoom.engine import host_arguments
from ludus.games.adapters.vizdoom.processes import starting
from ludus.games.adapters.vizdoom.quiet import quiet
from ludus.games.adapters.vizdoom.setting import MatchSetting


class BareEngine:
    """A running engine with random choices; its screen is fetched and not processed."""

    def __init__(self, maker: MatchSetting, seed: int) -> None:
        """Start the engine of a game of one player, with its bots."""
        self._actions, self._bots, self.frames = maker.actions, maker.bots, maker.frame_skip
        self._match = maker.match
        self._sizes = np.array([head.size for head in maker.actions.heads])
        self._random = np.random.default_rng(seed)
        self._tics, self._match_tics = 0, maker.match_tics if maker.match else 1 << 30
        self._game = maker.engine()
        if self._match:
            self._game.add_game_args(host_arguments(1, 0, maker.respawn_s, self._bots))
            self._game.set_episode_timeout(0)
        self._game.set_seed(seed)
        with starting, quiet():
            self._game.init()
        self._start()

    def tick(self) -> None:
        """Hold a random decision for ``frames`` tics, and fetch the screen."""
        choices = self._random.integers(0, self._sizes, dtype=np.int32)
        self._game.make_action(self._actions.press(choices), self.frames)
        self._tics += self.frames
        if self._tics >= self._match_tics or self._game.is_episode_finished():
            self._game.new_episode()
            self._start()
        state = self._game.get_state()
        if state is not None:
            np.asarray(state.screen_buffer)

    def close(self) -> None:
        """End the engine."""
        self._game.close()

    def _start(self) -> None:
        self._tics = 0
        if self._bots.count:
            self._bots.add(self._game)
