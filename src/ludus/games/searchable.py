"""Search of games written in Python, with the search interface of a compiled module.

The core does the search: trees, random numbers, batches. It calls a :class:`MatchSource` once per position,
which costs a clone, a move and an observation in Python. So the same algorithm searches compiled games and
Python games with ``clone()``, with equal visits, at the speed of the game's own steps.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import NamedTuple, ParamSpec, TypeVar

import msgspec
import numpy as np

from ludus.flow.positions import EndArrays, MatchMoves, PositionQuery
from ludus.flow.seeds import match_seed
from ludus.flow.slab import Array
from ludus.games import registry
from ludus.games.contained import close_quietly, exit_text
from ludus.games.numbers import over_of
from ludus.games.python_game import GameMaker, PythonGame
from ludus.native import SearchableGames, SearchError, core

P = ParamSpec("P")
T = TypeVar("T")
#: Seat that decides (-1: the match is over), and the outcome for seats 0 and 1.
Turn = tuple[int, float, float]


class SearchRef(NamedTuple):
    """A game's name and its search interface."""

    name: str
    games: SearchableGames


def searchable(reference: str) -> SearchRef:
    """Return the search interface of the game ``reference``. Raises ``ParamError`` on an unknown game.

    Whether the game can be searched shows when a search of it is made.
    """
    if registry.is_python(reference):
        return SearchRef(reference, HostedGames(reference))
    name, native = registry.find(reference)
    return SearchRef(name, native)


def _guest(call: Callable[P, T]) -> Callable[P, T]:
    """Wrap ``call`` of a game: if it calls ``sys.exit``, that is its error and not the end of the process."""

    @functools.wraps(call)
    def contained(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(*args, **kwargs)
        except SystemExit as error:
            raise SearchError(exit_text(error)) from error

    return contained


class MatchSource:
    """Makes, copies and plays matches of one game for the core, which keeps their objects.

    A call leaves its mask and observation in ``mask: uint8[A]`` and ``obs`` (``packed[1, ...]`` a tensor)
    until the next. One thread at a time.
    """

    def __init__(self, maker: GameMaker) -> None:
        """Check the game. Raises ``SearchError`` for one that cannot be cloned."""
        self._make, self.spec = getattr(maker, "guest", maker).make, maker.spec
        self.mask = np.ones(self.spec.mask_size, np.uint8)
        self.obs: list[Array] = [
            np.zeros((1, *t.packed_shape), t.packed_dtype) for t in self.spec.observation
        ]
        self._shown = {t.name: a[0] for t, a in zip(self.spec.observation, self.obs, strict=True)}
        self._actions = np.zeros((self.spec.seats, max(1, len(self.spec.heads))), np.int32)
        self._outcome = np.zeros(self.spec.seats, np.float32)
        game = maker.make()
        try:
            if not callable(getattr(game, "clone", None)):
                raise SearchError(
                    f"{self.spec.name} cannot be searched: {type(game).__name__} has no clone(), "
                    "expected one that returns an independent match at the same position"
                )
        finally:
            close_quietly(game)

    @_guest
    def begin(self, seed: int, match: int) -> tuple[PythonGame, Turn]:
        """Return a new match, reset as a pool of ``seed`` resets its match ``match``."""
        game = self._make()
        game.reset(match_seed(seed, match))
        return game, self._look(game)

    @_guest
    def clone(self, game: PythonGame) -> PythonGame:
        """Return an independent copy of ``game``."""
        copy: Callable[[], PythonGame] = game.clone  # type: ignore[attr-defined]
        return copy()

    @_guest
    def play(self, game: PythonGame, seat: int, move: int) -> Turn:
        """Play ``move`` for ``seat``."""
        self._actions[seat, 0] = move
        if over_of(game.step(self._actions)):
            out = self._outcome
            game.outcome(out)
            return -1, float(out[0]), float(out[1])
        return self._look(game)

    @_guest
    def observe(self, game: PythonGame, seat: int) -> None:
        """Write the seat's observation to ``obs``."""
        game.observe(seat, self._shown)

    def _look(self, game: PythonGame) -> Turn:
        seats = game.to_act()
        if len(seats) != 1:
            raise SearchError(f"{self.spec.name}: to_act() is {list(seats)}, expected one seat")
        seat = int(seats[0])
        if not 0 <= seat < self.spec.seats:
            raise SearchError(f"{self.spec.name}: to_act() names seat {seat} of {self.spec.seats}")
        legal = getattr(game, "legal", None)
        if legal is not None:
            legal(seat, self.mask)
            if not self.mask.any():
                raise SearchError(f"{self.spec.name}: legal() allows seat {seat} no action")
        return seat, 0.0, 0.0


class HostedGames:
    """Implements :class:`ludus.native.SearchableGames` for one game written in Python."""

    def __init__(self, reference: str) -> None:
        """Search the game ``reference``."""
        self._reference = reference

    def _maker(self, params: Mapping[str, str]) -> GameMaker:
        return registry.maker(self._reference, params)

    def spec_json(self, game: str, params: Mapping[str, str] | None = None) -> str:
        """Return the game's spec as JSON; ``game`` is this one, here and below."""
        return msgspec.json.encode(self._maker(params or {}).spec).decode()

    def make_search(
        self,
        game: str,
        params: Mapping[str, str],
        settings: Mapping[str, float],
        slots: int,
        evaluator: str,
        rollouts: int = 1,
        seed: int = 0,
        cache: int = 0,
    ) -> core.SearchHandle:
        """Make trees over positions of the game. Raises ``SearchError`` if it cannot be searched."""
        return core.make_hosted_search(
            MatchSource(self._maker(params)), settings, slots, evaluator, rollouts, seed, cache
        )

    def make_self_play(
        self,
        game: str,
        params: Mapping[str, str],
        settings: Mapping[str, float],
        seed: int,
        evaluator: str,
        rollouts: int = 1,
        cache: int = 0,
    ) -> core.SelfPlayHandle:
        """Make self-play matches of a search. Raises ``SearchError`` if the game cannot be searched."""
        return core.make_hosted_self_play(
            MatchSource(self._maker(params)), settings, seed, evaluator, rollouts, cache
        )

    def read_positions(
        self,
        game: str,
        params: Mapping[str, str],
        seed: int,
        query: PositionQuery,
        obs: list[Array],
        mask: Array,
    ) -> None:
        """Write positions of recorded matches, by re-simulation of their moves. Raises ``SearchError``."""
        core.read_hosted_positions(MatchSource(self._maker(params)), seed, query, obs, mask)

    def read_ends(
        self, game: str, params: Mapping[str, str], seed: int, moves: MatchMoves, ends: EndArrays
    ) -> None:
        """Refuse: Python games do not support final ownership. Raises ``SearchError``."""
        raise SearchError(f"{self._reference} does not count who owns what at the end of a match")
