"""A game of one engine: one player, against the scenario's monsters or the built-in bots."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ludus.flow.slab import Array
from ludus.games.adapters.vizdoom.engine import (
    ALIVE_TICS,
    JOIN_TICS,
    TICS_PER_S,
    begin,
    gather,
    gathered,
    host_arguments,
    missing_bots,
)
from ludus.games.adapters.vizdoom.processes import (
    EngineWatch,
    check_process,
    engine_processes,
    kill,
    starting,
)
from ludus.games.adapters.vizdoom.quiet import quiet
from ludus.games.adapters.vizdoom.setting import MatchSetting
from ludus.games.adapters.vizdoom.shaping import Shaper, VariableReader
from ludus.games.adapters.vizdoom.tally import FragTally, best_of_bots, outcomes, places, scoreboard
from ludus.games.python_game import Bytes, Floats, Ints

T = TypeVar("T")

START_S = 20.0  # for an engine to load a map


class VizdoomGame:
    """A game of one player with its own engine process, which is started once.

    Raises ``RuntimeError`` if the engine dies or freezes; :meth:`reset` then starts another one. The library
    does not always return from a call whose engine is killed: the pool then replaces this process
    (``pool.timeout_s``).
    """

    def __init__(self, maker: MatchSetting) -> None:
        """Start the engine. Raises ``ProcessUnusable`` if this process cannot start one."""
        self.spec, self._maker = maker.spec, maker
        self._bots, self._actions = maker.bots, maker.actions
        self._watch = EngineWatch()
        self._game: Any = None
        self._start()
        self._seat = maker.seat()
        self._tally, self._shaper = FragTally(), Shaper(maker.shaping)
        self._variables = VariableReader(maker.shaping.variables)
        self._plain = maker.shaping.plain and maker.shaping.scenario == 1.0
        self._reward, self._tics = 0.0, 0
        self._board: dict[int, int] = {}
        self.truncated = False

    @property
    def engines(self) -> set[int]:
        """Process ids of the engines that run now: one, or none after a failure."""
        return self._watch.pids & engine_processes()

    def _start(self) -> None:
        game = self._maker.engine()
        if self._maker.match:
            # An engine of one player opens no port.
            game.add_game_args(host_arguments(1, 0, self._maker.respawn_s, self._bots))
            game.set_episode_timeout(0)  # the end is ours
        with starting, quiet():
            check_process()
            before = engine_processes()
            game.init()
            self._watch.begin(engine_processes() - before)
        self._game = game

    def _call(self, what: str, limit_s: float, function: Callable[[], T]) -> T:
        """Run ``function`` under the watchdog; an engine that fails is ended."""
        if self._game is None:
            raise RuntimeError("the engine of this match is gone")
        try:
            return self._watch.call(what, limit_s, function)
        except RuntimeError:
            self.close()
            raise

    def reset(self, seed: int) -> None:
        """Start a match with ``seed``."""
        if self._game is None:
            self._start()
        self.truncated, self._tics, self._board = False, 0, {}
        self._call("start", START_S, lambda: self._again(seed))

    def _again(self, seed: int) -> None:
        game = self._game
        game.set_seed(seed)
        game.new_episode()
        if self._maker.match:
            self._deathmatch(game, seed)
        self._tally.start(game)
        if not self._plain:
            self._shaper.start(self._variables.read(game))
        self._seat.look(game)

    def _deathmatch(self, game: Any, seed: int) -> None:
        """Start a match against the bots, which depends on ``seed`` and the decisions only.

        In a match for several, a new episode continues the random numbers of the last one; loading the map
        by its name starts them again.
        """
        game.set_action([0.0] * len(self._actions.buttons))
        game.send_game_command(f"rngseed set {seed}")
        game.send_game_command(f"map {game.get_doom_map()}")
        game.advance_action(2, True)
        gather(game, self._bots)
        for tic in range(JOIN_TICS):
            game.advance_action(1, True)
            if gathered(game, 1, self._bots) and (tic >= ALIVE_TICS or not game.is_player_dead()):
                break
        if not gathered(game, 1, self._bots):
            raise missing_bots(game, 1, self._bots)
        begin(game, self._maker.respawn_s)

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
        pressed = self._actions.press(actions[0])
        reward = self._call("tic", self._maker.tic_s, lambda: game.make_action(pressed, tics))
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
        game, self._game = self._game, None
        if game is None:
            return
        if self._watch.late:
            kill(self._watch.pids)
        with contextlib.suppress(Exception):  # of an engine that has ended
            game.close()
        kill(self._watch.pids)
        self._watch.begin(set())
