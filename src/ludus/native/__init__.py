"""The only re-export of the compiled core.

Everything compiled is reached as ``ludus.native.core``; its signatures are in the generated
``_core.pyi`` beside this file. Games built outside this package are modules with the same functions
(:class:`NativeGames`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

try:
    from ludus.native import _core as core
except ImportError as error:
    raise ImportError(
        f"the compiled core of ludus is missing or does not fit this Python ({error}); "
        "install the package (pip install .) or build it: cmake -S . -B build -G Ninja && ninja -C build"
    ) from error

if TYPE_CHECKING:
    from ludus.flow import PoolOptions
    from ludus.flow.positions import EndArrays, MatchMoves, PositionQuery
    from ludus.flow.slab import Array

#: Loaded before an engine's own libraries it lets others run where the engine finds nothing to receive
#: (cpp/preload/yield.cpp). Only Linux has it.
YIELD_LIBRARY = Path(__file__).with_name("libludus_yield.so")

ParamError = core.ParamError
ReplayError = core.ReplayError
GameError = core.GameError
SearchError = core.SearchError


class SearchableGames(Protocol):
    """Interface through which a search plays its game: a compiled module, or a game written in Python.

    :mod:`ludus.games.searchable` implements it for Python games. Seeds are as in a pool; ``params`` are
    parameters of the rules as strings.
    """

    def spec_json(self, game: str, params: Mapping[str, str] = ...) -> str:
        """Return the game's spec under these parameters as JSON. Raises ``ParamError``."""
        ...

    def make_search(
        self,
        game: str,
        params: Mapping[str, str],
        settings: Mapping[str, float],
        slots: int,
        evaluator: str,
        rollouts: int = ...,
        seed: int = ...,
        cache: int = ...,
    ) -> core.SearchHandle:
        """Make ``slots`` trees. Raises ``ParamError`` or ``SearchError``."""
        ...

    def make_self_play(
        self,
        game: str,
        params: Mapping[str, str],
        settings: Mapping[str, float],
        seed: int,
        evaluator: str,
        rollouts: int = ...,
        cache: int = ...,
    ) -> core.SelfPlayHandle:
        """Make matches of a search against itself. Raises ``ParamError`` or ``SearchError``."""
        ...

    def read_positions(
        self,
        game: str,
        params: Mapping[str, str],
        seed: int,
        query: PositionQuery,
        obs: list[Array],
        mask: Array,
    ) -> None:
        """Write the positions of a query into the caller's arrays.

        Args:
            game: The game's name in this module.
            params: Parameters of the rules.
            seed: Seed of the matches.
            query: The moves of the matches, and the plies of ``Q`` positions.
            obs: ``packed[Q, ...]`` for each observation tensor.
            mask: ``uint8[Q, A]``.

        Raises:
            SearchError: Arrays that do not fit, or matches that the game does not allow.
        """
        ...

    def read_ends(
        self, game: str, params: Mapping[str, str], seed: int, moves: MatchMoves, ends: EndArrays
    ) -> None:
        """Write how recorded matches ended for seat 0 into ``ends``.

        Raises:
            SearchError: Arrays that do not fit, or matches that the game does not allow.
        """
        ...


class NativeGames(SearchableGames, Protocol):
    """A compiled module that holds games: ``core``, or one made with ``LUDUS_GAME_MODULE``.

    Strings are JSON where the function's docstring mentions JSON.
    """

    def game_names(self) -> list[str]:
        """Return the names of the module's games, in their fixed order."""
        ...

    def replay_verify(self, data: bytes) -> str:
        """Play a replay again and compare every recorded hash (JSON). Raises ``ReplayError``."""
        ...

    def replay_frames(self, data: bytes, every: int = ...) -> list[str]:
        """Return the game's view (JSON) at the start, after every ``every`` ticks and at the end."""
        ...

    def replay_rows(
        self, data: bytes, params: Mapping[str, str], seats: Sequence[int]
    ) -> list[dict[str, Any]]:
        """Play a replay again and return the decisions of each seat: arrays by name.

        Raises:
            ReplayError: The match comes out otherwise.
            ParamError: A bad parameter or seat.
        """
        ...

    def replay_record(
        self,
        game: str,
        params: Mapping[str, str],
        seed: int,
        match: int,
        bots: Sequence[str],
        frame_skip: Sequence[int] = ...,
        hash_every: int = ...,
    ) -> bytes:
        """Play one match of bots and return its replay."""
        ...

    def perft(
        self, game: str, params: Mapping[str, str], seed: int, match: int, frame_skip: int, depth: int
    ) -> int:
        """Return the number of decision paths of exactly ``depth`` decision points."""
        ...

    def playthrough(
        self,
        game: str,
        params: Mapping[str, str],
        seed: int,
        match: int,
        bots: Sequence[str] = ...,
        frame_skip: Sequence[int] = ...,
        steps: int = ...,
    ) -> str:
        """Return a match with everything observable in it, as text."""
        ...

    def signature(self) -> str:
        """Return 16 hex digits: the behaviour of all games of the module."""
        ...

    def game_signature(self, game: str) -> str:
        """Return 16 hex digits: the behaviour of one game."""
        ...

    def conformance(
        self,
        game: str,
        params: Mapping[str, str],
        seed: int,
        matches: int,
        max_ticks: int = ...,
        first: int = ...,
    ) -> str:
        """Return the checks of the game's contract in matches from ``first`` on (JSON).

        ``max_ticks`` 0 = whole matches.
        """
        ...

    def bench_sim(
        self,
        game: str,
        params: Mapping[str, str],
        bots: Sequence[str],
        frame_skip: Sequence[int],
        threads: int,
        matches: int,
        ticks: int,
        seed: int = ...,
    ) -> str:
        """Play bots against bots, ``matches`` slots and ``ticks`` ticks a thread, and return rates (JSON)."""
        ...

    def bench_rollouts(self, game: str, params: Mapping[str, str], rollouts: int, seed: int = ...) -> str:
        """Play random matches from start to end on this thread and return rates (JSON)."""
        ...

    def make_match(
        self, game: str, params: Mapping[str, str], seed: int = ..., match: int = ..., record: bool = ...
    ) -> core.Match:
        """Return a match at its start, recorded if asked for. Raises ``ParamError``."""
        ...

    def make_pool(
        self,
        game: str,
        params: Mapping[str, str],
        plans: Sequence[tuple[Sequence[tuple[int, int, float, str]], int, int, int]],
        rotate: bool,
        options: PoolOptions,
        inputs: int = ...,
    ) -> core.PoolHandle:
        """Make a pool.

        Args:
            game: The game's name in this module.
            params: Parameters of the rules.
            plans: Plan of each role, as :func:`ludus.pool.core_arguments.encode_lineup` returns it.
            rotate: Whether slots seat the plans in turn.
            options: Size, seed and behaviour; ``inputs`` there is not read.
            inputs: Set of observation tensors in use, bit i for tensor i of the spec.

        Raises:
            ParamError: An unknown game, or a wrong parameter.
            PoolError: Options or plans that do not fit the game.
        """
        ...

    def make_planner(
        self, game: str, params: Mapping[str, str], settings: Mapping[str, float]
    ) -> core.PlannerHandle:
        """Make a planner for one seat among bots. Raises ``ParamError`` or ``SearchError``."""
        ...


def cmake_dir() -> Path:
    """Return the folder of ``ludus-config.cmake``, for games that are built outside this package."""
    installed = Path(__file__).resolve().parent / "cmake"
    return installed if installed.is_dir() else Path(__file__).resolve().parents[3] / "cmake"


__all__ = [
    "GameError",
    "NativeGames",
    "ParamError",
    "ReplayError",
    "SearchError",
    "SearchableGames",
    "cmake_dir",
    "core",
]
