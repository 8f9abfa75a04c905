"""Simulation without learning: speed, playthroughs as text, signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ludus.flow.inputs.decode import from_json
from ludus.games.registry import find, spec, text_params
from ludus.native import core


class SimBench(msgspec.Struct, frozen=True):
    """Speed of bots against bots inside the core; nothing is observed or learned.

    ``steps_per_s`` counts decisions (of bots); ``ns_per_tick`` and ``ns_per_unit`` are per core;
    ``ns_per_unit`` is None for games without units.
    """

    game: str
    threads: int
    ticks: int
    seconds: float
    decisions: int
    matches: int
    ticks_per_s: float
    steps_per_s: float
    ns_per_tick: float
    ns_per_unit: float | None
    mean_units: float
    mean_match_ticks: float
    clone_ns: float
    state_bytes: int


def bench_sim(
    game: str,
    params: Mapping[str, object] | None = None,
    *,
    bots: Sequence[str] = (),
    frame_skip: Sequence[int] = (),
    threads: int = 1,
    matches: int = 16,
    ticks: int = 2_000_000,
    seed: int = 1,
) -> SimBench:
    """Play ``ticks`` ticks in ``matches`` slots on each of ``threads`` threads.

    By default the game's first bot holds every seat. Raises ``ParamError`` on unknown names.
    """
    ref = find(game)
    if not bots:
        known = spec(game, params).bots
        bots = [known[0].name if known else "uniform"]
    text = ref.native.bench_sim(
        ref.name, text_params(params or {}), list(bots), list(frame_skip), threads, matches, ticks, seed
    )
    return from_json(text, SimBench)


def playthrough(
    game: str,
    params: Mapping[str, object] | None = None,
    *,
    seed: int = 1,
    match: int = 0,
    bots: Sequence[str] = ("uniform",),
    steps: int = 20,
) -> str:
    """Return the first ``steps`` decisions of a match with everything observable, as text."""
    ref = find(game)
    return ref.native.playthrough(ref.name, text_params(params or {}), seed, match, list(bots), [], steps)


def signature() -> str:
    """Return 16 hex digits for the behaviour of all built-in games; a commit that changes it names it."""
    return core.signature()


def game_signature(game: str) -> str:
    """Return 16 hex digits for the behaviour of one game under its default parameters."""
    ref = find(game)
    return ref.native.game_signature(ref.name)


def build_info() -> dict[str, str]:
    """Return build settings of the compiled core (compiler, optimisation, asserts), for bug reports."""
    return core.build_info()
