from __future__ import annotations

import math

import pytest

from ludus.games import simulate
from ludus.games.registry import BUILT_IN
from ludus.native import ParamError, core


@pytest.mark.parametrize("game", BUILT_IN)
def test_figures_of_the_benchmark_are_consistent(game: str) -> None:
    r = simulate.bench_sim(game, ticks=2_000, matches=2, threads=2)
    assert r.threads == 2
    assert r.ticks >= 4_000
    assert math.isclose(r.ticks_per_s, r.ticks / r.seconds, rel_tol=1e-6)
    assert math.isclose(r.ns_per_tick, 1e9 * r.seconds * r.threads / r.ticks, rel_tol=1e-6)
    assert r.decisions > 0
    assert r.state_bytes < 88 * 1024


def test_the_benchmark_refuses_invalid_arguments() -> None:
    with pytest.raises(ParamError, match=r"unknown bot 'perfct' \(did you mean perfect\?\)"):
        simulate.bench_sim("tic_tac_toe", bots=["perfct"])
    with pytest.raises(ParamError, match="3 bots for 2 seats"):
        simulate.bench_sim("tic_tac_toe", bots=["random"] * 3)
    with pytest.raises(ParamError, match="threads"):
        simulate.bench_sim("tic_tac_toe", threads=0)


def test_perft_counts_tic_tac_toe() -> None:
    assert [core.perft("tic_tac_toe", {}, 1, 0, 0, d) for d in range(1, 7)] == [
        9,
        72,
        504,
        3024,
        15120,
        54720,
    ]


def test_a_playthrough_is_reproducible_and_follows_the_seed() -> None:
    text = simulate.playthrough("tic_tac_toe", seed=1)
    assert text == simulate.playthrough("tic_tac_toe", seed=1)
    assert text != simulate.playthrough("tic_tac_toe", seed=2)
    assert "seat 0 legal 111111111" in text
