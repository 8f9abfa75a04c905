"""The only re-export of the compiled core.

Everything compiled is reached as ``ludus.native.core``; its signatures are in the generated
``_core.pyi`` beside this file. Games built outside this package are modules with the same functions
(:class:`NativeGames`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

try:
    from ludus.native import _core as core
except ImportError as error:
    raise ImportError(
        f"the compiled core of ludus is missing or does not fit this Python ({error}); "
        "install the package (pip install .) or build it: cmake -S . -B build -G Ninja && ninja -C build"
    ) from error

#: Loaded before an engine's own libraries it lets others run where the engine finds nothing to receive
#: (cpp/preload/yield.cpp). Linux alone has it.
YIELD_LIBRARY = Path(__file__).with_name("libludus_yield.so")

ParamError = core.ParamError
ReplayError = core.ReplayError
GameError = core.GameError
SearchError = core.SearchError


class SearchableGames(Protocol):
    """What a search asks of whoever plays its game: a compiled module, or a game written in Python
    (:mod:`ludus.games.searchable`)."""

    def spec_json(self, game: str, params: Mapping[str, str] = ...) -> str: ...

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
    ) -> core.SearchHandle: ...

    def make_self_play(
        self,
        game: str,
        params: Mapping[str, str],
        settings: Mapping[str, float],
        seed: int,
        evaluator: str,
        rollouts: int = ...,
        cache: int = ...,
    ) -> core.SelfPlayHandle: ...

    def read_positions(
        self,
        game: str,
        params: Mapping[str, str],
        seed: int,
        match: object,
        actions: object,
        offset: object,
        first: object,
        wanted: object,
        rows: object,
        obs: list[object],
        mask: object,
    ) -> None: ...

    def read_ends(
        self,
        game: str,
        params: Mapping[str, str],
        seed: int,
        match: object,
        actions: object,
        offset: object,
        ownership: object,
        score: object,
        counted: object,
    ) -> None: ...


class NativeGames(SearchableGames, Protocol):
    """A compiled module that holds games: ``core``, or one made with ``LUDUS_GAME_MODULE``.

    Texts are JSON where the function's docstring in ``_core.pyi`` says so.
    """

    def game_names(self) -> list[str]: ...

    def replay_verify(self, data: bytes) -> str: ...

    def replay_frames(self, data: bytes, every: int = ...) -> list[str]: ...

    def replay_record(
        self,
        game: str,
        params: Mapping[str, str],
        seed: int,
        match: int,
        bots: Sequence[str],
        frame_skip: Sequence[int] = ...,
        hash_every: int = ...,
    ) -> bytes: ...

    def perft(
        self, game: str, params: Mapping[str, str], seed: int, match: int, frame_skip: int, depth: int
    ) -> int: ...

    def playthrough(
        self,
        game: str,
        params: Mapping[str, str],
        seed: int,
        match: int,
        bots: Sequence[str] = ...,
        frame_skip: Sequence[int] = ...,
        steps: int = ...,
    ) -> str: ...

    def signature(self) -> str: ...

    def game_signature(self, game: str) -> str: ...

    def conformance(
        self, game: str, params: Mapping[str, str], seed: int, matches: int, max_ticks: int = ...
    ) -> str: ...

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
    ) -> str: ...

    def bench_rollouts(self, game: str, params: Mapping[str, str], rollouts: int, seed: int = ...) -> str: ...

    def make_match(
        self, game: str, params: Mapping[str, str], seed: int = ..., match: int = ...
    ) -> core.Match: ...

    def make_pool(
        self,
        game: str,
        params: Mapping[str, str],
        plans: Sequence[tuple[Sequence[tuple[int, int, float, str]], int, int, int]],
        rotate: bool,
        slots: int,
        groups: int,
        threads: int,
        seed: int,
        num_matches: int | None,
        autoreset: str,
        truncate_ticks: int,
        raise_errors: bool,
        record_all: bool,
        record_matches: Sequence[int],
        hash_every: int,
        inputs: int = ...,
    ) -> core.PoolHandle: ...

    def make_planner(
        self, game: str, params: Mapping[str, str], settings: Mapping[str, float]
    ) -> core.PlannerHandle: ...


def cmake_dir() -> Path:
    """Folder of ``ludus-config.cmake``, for games that are built outside this package."""
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
