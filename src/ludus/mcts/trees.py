"""Search trees for one or many matches of a game: one tree per slot, their leaves in one batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, decode_spec
from ludus.mcts.config import SearchConfig
from ludus.mcts.evaluator import CORE_EVALUATORS, Evaluator, LeafBatch
from ludus.native import SearchableGames, core

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RootStatistics:
    """Statistics of the legal moves at the root, in the order of their numbers.

    Attributes:
        seat: The seat to move.
        visits: Visits of the root.
        value: Value for ``seat``, in [-1, 1].
        moves: Numbers of the legal moves.
        move_visits: Visits of each move.
        prior: Prior probability of each move.
        mean: Value of each move for ``seat``; 0 without visits.
        policy: Policy target.
    """

    seat: int
    visits: int
    value: float
    moves: Ints
    move_visits: Ints
    prior: Floats
    mean: Floats
    policy: Floats


class Trees:
    """``slots`` matches of ``game`` and their trees. One thread at a time."""

    def __init__(
        self,
        game: str,
        params: Mapping[str, str] | None = None,
        config: SearchConfig | None = None,
        *,
        evaluator: Evaluator | str = "rollout",
        slots: int = 1,
        rollouts: int = 1,
        seed: int = 0,
        native: SearchableGames | None = None,
    ) -> None:
        """Make the trees.

        Args:
            game: Name of the game.
            params: Its parameters.
            config: Settings of the search.
            evaluator: One of :data:`CORE_EVALUATORS`, or an :class:`Evaluator`.
            slots: Number of matches.
            rollouts: Random rollouts per leaf, with the evaluator ``rollout``.
            seed: Seed of the evaluator.
            native: Compiled module of the game; default: the package's own.

        Raises:
            SearchError: A ``ValueError``: a game with chance, hidden information or simultaneous moves, or
                settings out of range.
        """
        self.config = config or SearchConfig()
        module = native or cast(SearchableGames, core)
        params = dict(params or {})
        self.spec: GameSpec = decode_spec(module.spec_json(game, params))
        kind = evaluator if isinstance(evaluator, str) else "batch"
        if kind not in (*CORE_EVALUATORS, "batch"):
            raise ValueError(f"evaluator {kind!r}, expected one of {', '.join(CORE_EVALUATORS)}")
        self._evaluator = None if isinstance(evaluator, str) else evaluator
        self._core = module.make_search(
            game, params, self.config.settings(), slots, kind, rollouts, seed, self.config.cache
        )
        self._batch = LeafBatch(self.spec, slots * self.config.leaves)
        if self._evaluator is not None:
            self._core.attach(self._batch.arrays())

    @property
    def slots(self) -> int:
        """Number of matches."""
        return int(self._core.slots)

    def reset(self, slot: int, seed: int, match: int = 0) -> None:
        """Start the match ``(seed, match)`` in the slot."""
        self._core.reset(slot, seed, match)

    def set_state(self, slot: int, state: bytes) -> bool:
        """Set a slot's match to a state.

        Args:
            slot: Slot number.
            state: From :meth:`state`, or from a pool of the same game and parameters.

        Returns:
            True if the tree is kept: the state is at most two moves after the slot's.
        """
        return bool(self._core.set_state(slot, state))

    def state(self, slot: int) -> bytes:
        """Return the slot's state as the core keeps it."""
        return self._core.state(slot)

    def play(self, slot: int, move: int) -> None:
        """Play a move and keep the tree below it. Raise ``GameError`` for an illegal move."""
        self._core.play(slot, move)

    def over(self, slot: int) -> bool:
        """Whether the slot's match has ended."""
        return bool(self._core.over(slot))

    def outcome(self, slot: int) -> tuple[float, ...]:
        """Return the outcome of a finished match, one number per seat: +1 won, 0 drawn, -1 lost."""
        return tuple(self._core.outcome(slot))

    def run(
        self,
        slots: Sequence[int],
        *,
        visits: int = 0,
        seconds: float = 0.0,
        noise: bool = False,
        seed: int = 0,
        until: Callable[[], bool] | None = None,
    ) -> None:
        """Search the matches of ``slots`` in parallel, with at least one visit each.

        Args:
            slots: Slot numbers.
            visits: Visits of each root; 0 = the configuration's.
            seconds: Time limit in seconds; 0 = none.
            noise: Add Dirichlet noise to the roots' priors.
            seed: Seed of noise and rollouts.
            until: Asked between visits whether to end the search early.
        """
        core_, end = self._core, time.perf_counter() + seconds
        for slot in slots:
            core_.begin(slot, visits or self.config.visits, noise, seed)
        rounds = 64 if seconds > 0.0 or until is not None else 1 << 20
        while True:
            count = core_.collect(rounds)
            if count > 0:
                assert self._evaluator is not None
                core_.deliver(*self._evaluator.evaluate(self._batch, count))
            if all(core_.done(slot) for slot in slots):
                return
            late = seconds > 0.0 and time.perf_counter() >= end
            if late or (until is not None and until()):
                for slot in slots:
                    core_.stop(slot)

    def choose(self, slot: int, temperature: float = 0.0) -> int:
        """Choose a move: in proportion to visits ** (1 / ``temperature``); 0 = the most visited."""
        return int(self._core.choose(slot, temperature))

    def root(self, slot: int) -> RootStatistics:
        """Return statistics of the slot's root; after ``play`` or ``set_state``, of the kept tree."""
        return RootStatistics(*self._core.report(slot))

    def line(self, slot: int, move: int = -1, most: int = 16) -> list[int]:
        """Return the most visited continuation, at most ``most`` moves.

        It starts with ``move``; -1: from the root.
        """
        return [m for m, _ in self._core.line(slot, move, most)]

    def line_visits(self, slot: int, move: int = -1, most: int = 16) -> list[tuple[int, int]]:
        """Return :meth:`line`, each move with its visits."""
        return [(m, visits) for m, visits in self._core.line(slot, move, most)]

    def restrict(self, slot: int, seat: int, barred: Sequence[int], depth: int) -> None:
        """Exclude moves from the slot's searches. A change empties the tree.

        Args:
            slot: Slot number.
            seat: The seat whose moves are excluded.
            barred: Move numbers. They stay if no other move is legal.
            depth: The restriction holds at fewer than ``depth`` moves below the root; 0 lifts it.

        Raises:
            SearchError: An invalid seat or move.
        """
        mask = bytearray(self.spec.mask_size)
        for move in barred:
            mask[move] = 1
        self._core.restrict(slot, seat, bytes(mask), depth)

    def consistent(self, slot: int) -> bool:
        """Whether the visits of the slot's tree add up; walks all of it."""
        return bool(self._core.consistent(slot))

    @property
    def simulations(self) -> int:
        """Number of simulations since the trees were made."""
        return int(self._core.simulations())
