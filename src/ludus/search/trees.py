"""Searches of one or many matches of a game: a tree a slot, leaves of all of them in one batch."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, decode_spec
from ludus.native import SearchableGames, core
from ludus.search.config import SearchConfig
from ludus.search.evaluator import CORE_EVALUATORS, Batch, Evaluator

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RootStatistics:
    """What a search says about the legal moves of its root, in the order of their numbers.

    ``value`` is for ``seat``, who decides; ``mean`` the value of each move for that seat (0 where it has no
    visit); ``policy`` what a learner is to be taught.
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
    """``slots`` matches of ``game`` and their trees. One thread at a time.

    ``evaluator``: one of :data:`CORE_EVALUATORS`, or whoever answers batches. Raises ``SearchError`` (a
    ``ValueError``) for games of chance, hidden information or simultaneous moves, and for settings out of
    range. ``native`` is the compiled module of the game (the package's own unless the game is outside it).
    """

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
        self._batch = Batch(self.spec, slots * self.config.leaves)
        if self._evaluator is not None:
            self._core.attach(self._batch.arrays())

    @property
    def slots(self) -> int:
        return int(self._core.slots)

    def reset(self, slot: int, seed: int, match: int = 0) -> None:
        """The slot begins the match ``(seed, match)``."""
        self._core.reset(slot, seed, match)

    def set_state(self, slot: int, state: bytes) -> bool:
        """The slot goes to ``state`` (of a pool of the same game and parameters, :meth:`state`, nowhere
        else).

        Its tree is kept where the state lies at most two moves below the slot's; True then.
        """
        return bool(self._core.set_state(slot, state))

    def state(self, slot: int) -> bytes:
        """The slot's state as the core keeps it."""
        return self._core.state(slot)

    def play(self, slot: int, move: int) -> None:
        """Plays a legal move; the tree below it is kept. Raises ``GameError`` when it is not legal."""
        self._core.play(slot, move)

    def over(self, slot: int) -> bool:
        """Whether the slot's match has ended."""
        return bool(self._core.over(slot))

    def outcome(self, slot: int) -> tuple[float, ...]:
        """Of a match that is over: +1 won, 0 drawn, -1 lost, a seat each."""
        return tuple(self._core.outcome(slot))

    def run(
        self,
        slots: Sequence[int],
        *,
        visits: int = 0,
        seconds: float = 0.0,
        noise: bool = False,
        seed: int = 0,
    ) -> None:
        """Searches the matches of ``slots`` side by side, to ``visits`` (0 = the configuration's) each, or
        until ``seconds`` have passed (0 = no limit); at least one visit is always made.
        """
        core_, end = self._core, time.perf_counter() + seconds
        for slot in slots:
            core_.begin(slot, visits or self.config.visits, noise, seed)
        rounds = 64 if seconds > 0.0 else 1 << 20
        while True:
            count = core_.collect(rounds)
            if count > 0:
                assert self._evaluator is not None
                core_.deliver(*self._evaluator.evaluate(self._batch, count))
            if all(core_.done(slot) for slot in slots):
                return
            if seconds > 0.0 and time.perf_counter() >= end:
                for slot in slots:
                    core_.stop(slot)

    def choose(self, slot: int, temperature: float = 0.0) -> int:
        """The move after a search: by visits to the power of 1 / ``temperature``, 0 = the most visited."""
        return int(self._core.choose(slot, temperature))

    def root(self, slot: int) -> RootStatistics:
        """What the slot's search found. After ``play`` or ``set_state``: what was kept."""
        return RootStatistics(*self._core.report(slot))

    def line(self, slot: int, move: int = -1, most: int = 16) -> list[int]:
        """The most visited continuation from ``move`` on (-1: from the root), ``move`` included."""
        return [m for m, _ in self._core.line(slot, move, most)]

    def line_visits(self, slot: int, move: int = -1, most: int = 16) -> list[tuple[int, int]]:
        """:meth:`line`, each move with its visits."""
        return [(m, visits) for m, visits in self._core.line(slot, move, most)]

    def restrict(self, slot: int, seat: int, barred: Sequence[int], depth: int) -> None:
        """Searches of the slot leave out moves.

        Args:
            seat: Whose moves.
            barred: Move numbers. Where nothing else is legal, they stay.
            depth: The restriction holds fewer than so many moves below the root; 0 lifts it.

        A change empties the tree. Raises ``SearchError``.
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
        """Since the trees were made."""
        return int(self._core.simulations())

    def forget(self) -> None:
        """The evaluator answers otherwise from now on: empties the cache."""
        self._core.forget()
