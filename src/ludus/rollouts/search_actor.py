"""A searched player as an actor: it reads the matches' states from the pool, not the observations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ludus.flow.slab import Array
from ludus.games import registry
from ludus.games.searchable import searchable
from ludus.mcts.evaluator import Evaluator
from ludus.mcts.planner import Planner, PlannerConfig
from ludus.mcts.player import SearchPlayer
from ludus.mcts.text import SearchText
from ludus.pool import Pool
from ludus.pool.native import NativePool
from ludus.rollouts.actor import ActInput, Decision


class SearchActor:
    """One tree a row of the pool. ``log_prob`` is the log share of the move's visits; no memory.

    :attr:`forgets`: every search starts from scratch, and its draws depend on the actor's seed and the time
    step, not on the searches before.
    """

    def __init__(
        self,
        pool: Pool,
        params: Mapping[str, str],
        text: SearchText,
        evaluator: Evaluator | str,
        seed: int,
        version: int = 0,
    ) -> None:
        """Search with ``evaluator`` for the rows of ``pool``; ``text`` holds the settings."""
        name, native = searchable(pool.spec.name)
        self._pool, self.version, self.forgets = pool, version, False
        self.memory_shape: tuple[int, ...] | None = None
        self._player = SearchPlayer(
            name, params, text, evaluator, slots=pool.rows, seed=seed % 2**63, native=native
        )

    def act(self, batch: ActInput) -> Decision:
        """See :meth:`ludus.rollouts.actor.Actor.act`."""
        slots = [int(self._pool.row_slot[row]) for row in batch.rows]
        states = [self._pool.slot_state(slot) for slot in slots]
        plies = [self._pool.slot_tick(slot) for slot in slots]
        if self.forgets:
            self._player.restart(batch.step)
        found = self._player.decide([int(r) for r in batch.rows], states, plies=plies)
        actions = np.array([[f.move] for f in found], np.int32)
        share = [f.root.policy[np.searchsorted(f.root.moves, f.move)] for f in found]
        log_prob = np.log(np.maximum(np.array(share, np.float32), 1e-9))
        return Decision(actions, log_prob, np.array([f.value for f in found], np.float32), None)

    def value(
        self, obs: Mapping[str, Array], memory: Array | None, is_first: Array
    ) -> npt.NDArray[np.float32]:
        """Return zeros: the states of matches that were cut off are gone."""
        return np.zeros(len(is_first), np.float32)


class PlannerActor:
    """One plan a row and decision."""

    def __init__(
        self,
        pool: NativePool,
        params: Mapping[str, str],
        config: PlannerConfig,
        frame_skip: int,
        seed: int,
    ) -> None:
        """Plan for the rows of ``pool``."""
        name, native = registry.find(pool.spec.name)
        self._pool, self._seed, self.version = pool, seed, 0
        self.memory_shape: tuple[int, ...] | None = None
        self.planner = Planner(name, params, config, frame_skip=frame_skip, native=native)

    def act(self, batch: ActInput) -> Decision:
        """See :meth:`ludus.rollouts.actor.Actor.act`."""
        actions = np.zeros((len(batch.rows), 1), np.int32)
        value = np.zeros(len(batch.rows), np.float32)
        for i, row in enumerate(batch.rows):
            slot, seat = int(self._pool.row_slot[row]), int(self._pool.row_seat[row])
            seed = (self._seed * 1_000_003 + batch.step * 65_537 + int(row)) % 2**63
            plan = self.planner.plan(self._pool.slot_state(slot), seat, seed)
            actions[i] = plan.choice
            value[i] = 2.0 * plan.mean[plan.choice] - 1.0
        return Decision(actions, np.zeros(len(batch.rows), np.float32), value, None)

    def value(
        self, obs: Mapping[str, Array], memory: Array | None, is_first: Array
    ) -> npt.NDArray[np.float32]:
        """Return zeros: the states of matches that were cut off are gone."""
        return np.zeros(len(is_first), np.float32)
