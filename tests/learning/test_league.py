"""Leagues on games with known equilibria: the exact exploitability of their frozen players.

In the disc each action beats those clockwise of it, in Blotto each division of soldiers loses to another: a
player that meets only itself runs in a circle. A league that meets its whole past has a mixture of frozen
players that hardly any player beats. Full sizes: ``benchmarks/strength/equilibria.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.strength.equilibria import measured
from benchmarks.strength.population import train


@pytest.mark.slow
def test_a_league_is_exploited_less_than_naive_self_play() -> None:
    """Ten periods of 12 updates are short enough for every run of the tests."""
    small = {"algorithm.learning_rate": "0.1"}
    naive, league = (
        measured("disc", m, overrides=small, steps=60_000, period=6_000) for m in ("naive", "fsp")
    )
    assert naive.frozen == league.frozen == 10
    assert naive.last > 0.5
    assert league.uniform < min(0.2, naive.uniform)
    assert league.last < naive.last


@pytest.mark.slow
@pytest.mark.parametrize("game", ["disc", "blotto"])
@pytest.mark.parametrize("method", ["fsp", "pfsp", "psro"])
def test_leagues_find_the_middle_of_a_game_without_a_best_action(game: str, method: str) -> None:
    assert measured(game, method, steps=250_000).uniform < 0.2


@pytest.mark.slow
@pytest.mark.parametrize(("game", "bound"), [("disc", 0.45), ("blotto", 0.5)])
def test_naive_self_play_stays_away_from_the_middle(game: str, bound: float) -> None:
    assert measured(game, "naive", steps=250_000).uniform > bound


@pytest.mark.slow
def test_a_league_learns_to_bluff() -> None:
    """Kuhn poker: 35% of the matches against itself, 65% by PFSP."""
    naive, league = (
        measured("kuhn", method, steps=1_000_000, period=50_000) for method in ("naive", "self_pfsp")
    )
    assert league.uniform < 0.18
    assert league.uniform < 0.75 * naive.uniform


@pytest.mark.slow
def test_a_population_rescues_bad_learning_rates(tmp_path: Path) -> None:
    """Three of four members start with rates 30 times and more off the best one."""
    pytest.importorskip("gymnasium")
    changes, stays = (
        train(1, 1_000_000, 0.0, on, tmp_path, "", tmp_path / "weights") for on in (True, False)
    )
    best = max(stays.returns)
    assert best > 400
    assert min(changes.returns) > 0.9 * best
    assert changes.final > 0.9 * best > sorted(stays.returns)[-2]
    assert changes.copies > 0
    assert stays.copies == 0
    assert stays.first == stays.last
