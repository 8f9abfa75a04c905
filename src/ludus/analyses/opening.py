"""Openings of random moves, drawn in pairs: two matches with one opening, each player from either seat.

Two deterministic searches would repeat one match. A random opening makes their matches differ, and a pair
gives none of the players the better half.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from ludus.evaluation.play import MatchPlayer
from ludus.flow.seeds import derive_seed
from ludus.flow.slab import Array
from ludus.flow.spec import GameSpec
from ludus.games.searchable import searchable
from ludus.mcts import SearchConfig, Trees
from ludus.pool import Pool
from ludus.rollouts.actor import ActInput, Actor, Decision


class DrawnOpenings:
    """Random moves of openings: uniform among the legal moves that do not end the match.

    A move depends on the seed, the opening's number, the ply and the position. One thread at a time.
    """

    def __init__(self, spec: GameSpec, params: Mapping[str, str], seed: int, plies: int) -> None:
        """Draw openings of ``plies`` plies of a game that can be searched.

        Args:
            spec: The game.
            params: Its parameters.
            seed: Seed of all openings.
            plies: Plies of an opening; 0: no openings.
        """
        self.plies, self._seed = plies, seed
        name, native = searchable(spec.name)
        self._trees = Trees(name, params, SearchConfig(visits=1), evaluator="null", native=native)

    def move(self, state: bytes, mask: Array, number: int, ply: int) -> int:
        """Return the move of opening ``number`` at ``ply``.

        Args:
            state: State of the match.
            mask: ``uint8[A]``, 1 = legal.
            number: Number of the opening.
            ply: Plies played.
        """
        rng = np.random.Generator(np.random.Philox(derive_seed(self._seed, number, ply)))
        moves = [int(move) for move in rng.permutation(np.flatnonzero(mask))]
        for move in moves:
            self._trees.set_state(0, state)
            self._trees.play(0, move)
            if not self._trees.over(0):
                return move
        return moves[0]


class OpenedActor:
    """An actor that plays the moves of an opening in the first plies of a match, and then its own.

    Every slot of the pool plays one match, and the matches of slots 2k and 2k + 1 have one opening.
    """

    def __init__(self, pool: Pool, inner: Actor, openings: DrawnOpenings, first: int) -> None:
        """Open the matches of ``pool`` for ``inner``.

        Args:
            pool: The pool, in which match m is in slot m.
            inner: The player.
            openings: Draws the moves of openings.
            first: Number of the opening of matches 0 and 1.
        """
        self._pool, self._inner, self._openings, self._first = pool, inner, openings, first
        self.memory_shape = inner.memory_shape

    @property
    def version(self) -> int:
        """Version of the player's weights."""
        return self._inner.version

    def act(self, batch: ActInput) -> Decision:
        """See :meth:`ludus.rollouts.actor.Actor.act`."""
        slots = [int(self._pool.row_slot[row]) for row in batch.rows]
        plies = [self._pool.slot_tick(slot) for slot in slots]
        opened = np.array(plies) < self._openings.plies
        if not opened.any():
            return self._inner.act(batch)
        whole = _empty(batch)
        for k in np.flatnonzero(opened):
            state, number = self._pool.slot_state(slots[k]), self._first + slots[k] // 2
            whole.actions[k, 0] = self._openings.move(state, batch.mask[k], number, plies[k])
        if not opened.all():
            decision = self._inner.act(_rows_of(batch, ~opened))
            whole.actions[~opened] = decision.actions
            whole.log_prob[~opened], whole.value[~opened] = decision.log_prob, decision.value
            if decision.memory is not None and whole.memory is not None:
                whole.memory[~opened] = decision.memory
        return whole

    def value(
        self, obs: Mapping[str, Array], memory: Array | None, is_first: Array
    ) -> npt.NDArray[np.float32]:
        """See :meth:`ludus.rollouts.actor.Actor.value`."""
        return self._inner.value(obs, memory, is_first)


def opened(player: MatchPlayer, openings: DrawnOpenings, first: int) -> MatchPlayer:
    """Return ``player`` with openings; a bot of the core decides from the first ply as before.

    Args:
        player: The player.
        openings: Draws the moves of openings.
        first: Number of the first match's opening.
    """
    if not openings.plies or (player.actor is None and player.search is None):
        return player
    actor, search = player.actor, player.search

    def made(pool: Pool) -> Actor:
        inner = search(pool) if search is not None else actor
        assert inner is not None
        return OpenedActor(pool, inner, openings, first)

    return dataclasses.replace(player, actor=None, search=made)


def _rows_of(batch: ActInput, there: npt.NDArray[np.bool_]) -> ActInput:
    return ActInput(
        {name: array[there] for name, array in batch.obs.items()},
        batch.mask[there],
        None if batch.memory is None else batch.memory[there],
        batch.is_first[there],
        batch.step,
        batch.rows[there],
        tuple((policy, int(there.sum())) for policy, _ in batch.policies[:1]),
    )


def _empty(batch: ActInput) -> Decision:
    """Return decisions to be filled in; memory stays as it is."""
    rows = len(batch.rows)
    memory = None if batch.memory is None else batch.memory.copy()
    return Decision(
        np.zeros((rows, 1), np.int32), np.zeros(rows, np.float32), np.zeros(rows, np.float32), memory
    )
