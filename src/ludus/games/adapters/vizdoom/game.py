"""A game of one engine: one player, against the scenario's monsters or the built-in bots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ludus.flow.slab import Array
from ludus.games.adapters.vizdoom.engine import TICS_PER_S, host_arguments
from ludus.games.adapters.vizdoom.match import check_process, free_port
from ludus.games.adapters.vizdoom.shaping import Shaper, VariableReader
from ludus.games.adapters.vizdoom.tally import Tally, best_of_bots, outcomes, places, scoreboard
from ludus.games.python_game import Bytes, Floats, Ints

if TYPE_CHECKING:
    from ludus.games.adapters.vizdoom.maker import VizdoomMaker


class VizdoomGame:
    """A game of one player with its own engine process, which is started once."""

    def __init__(self, maker: VizdoomMaker) -> None:
        """Start the engine. Raises ``ProcessUnusable`` if this process cannot start one."""
        check_process()
        self.spec, self._maker = maker.spec, maker
        self._game = maker.engine()
        self._bots, self._actions = maker.bots, maker.actions
        if maker.match:
            self._game.add_game_args(host_arguments(1, free_port(), maker.respawn_s, self._bots))
            self._game.set_episode_timeout(0)  # the end is ours
        self._game.init()
        self._seat = maker.seat()
        self._tally, self._shaper = Tally(), Shaper(maker.shaping)
        self._variables = VariableReader(maker.shaping.variables)
        self._plain = maker.shaping.plain and maker.shaping.scenario == 1.0
        self._reward, self._tics = 0.0, 0
        self._board: dict[int, int] = {}
        self.truncated = False

    def reset(self, seed: int) -> None:
        """Start a match with ``seed``."""
        game = self._game
        game.set_seed(seed)
        game.new_episode()
        self.truncated, self._tics, self._board = False, 0, {}
        if self._bots.count:
            self._bots.add(game)
        self._tally.start(game)
        if not self._plain:
            self._shaper.start(self._variables.read(game))
        self._seat.look(game)

    def to_act(self) -> Sequence[int]:
        """Return the only seat."""
        return (0,)

    def legal(self, seat: int, out: Array) -> None:
        """Write the legal choices: all but those that press a button that is off."""
        self._actions.legal(out)

    def step(self, actions: Ints) -> bool:
        """Hold the decision for ``frame_skip`` tics. True when the match is over."""
        game, tics = self._game, self._maker.frame_skip
        if self._maker.match:
            tics = min(tics, self._maker.match_tics - self._tics)
        reward = game.make_action(self._actions.press(actions[0]), tics)
        self._tics += tics
        over = bool(game.is_episode_finished())
        if self._maker.match:
            over = over or self._tics >= self._maker.match_tics
            self._board = scoreboard(game) if over else {}
        else:
            self.truncated = over and bool(game.is_episode_timeout_reached())
        self._tally.update(game, reward)
        self._reward = (
            reward if self._plain else self._shaper.reward(reward, self._variables.read(game), over)
        )
        self._seat.look(game)
        return over

    def rewards(self, out: Floats) -> None:
        """Write the shaped reward of the last step."""
        out[0] = self._reward

    def outcome(self, out: Floats) -> None:
        """Write +1 for as many frags as the best bot or more, else -1; 0 without bots."""
        out[0] = outcomes([self._tally.frags], self._board)[0] if self._maker.match else 0.0

    def scores(self, out: Floats) -> None:
        """Write the named scores of the match: ``float32[1, F]``."""
        tally = self._tally
        if not self._maker.match:
            out[0] = tally.reward, tally.killed
            return
        place = places([tally.frags], self._board)[0]
        best = [best_of_bots(self._board, [0])] * (self._bots.count > 0)
        out[0] = (tally.frags, tally.kills, tally.deaths, tally.suicides, place, *best)

    def observe(self, seat: int, out: Mapping[str, Array]) -> None:
        """Write the screen and the game variables."""
        self._seat.write(out)

    @property
    def ticks_per_s(self) -> float:
        """Decisions a second of the engine."""
        return float(TICS_PER_S / self._maker.frame_skip)

    def render(self) -> Bytes | None:
        """Return the screen that the player sees."""
        return self._seat.drawn()

    def close(self) -> None:
        """End the engine."""
        self._game.close()
