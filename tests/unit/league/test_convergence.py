"""Leagues without networks: exact best answers on games whose equilibria are known."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.league import config as cfg
from tests.unit.league.games import ROCK_PAPER_SCISSORS, Answers, disc, exploitability


@pytest.mark.parametrize("name", ["rock_paper_scissors", "disc"])
@pytest.mark.parametrize(
    ("meet", "bound"),
    [
        ((cfg.Fsp(),), 0.15),
        ((cfg.Pfsp(weighting="squared"),), 0.15),
        ((cfg.Pfsp(weighting="linear"),), 0.15),
        ((cfg.Psro(),), 0.15),
        ((cfg.Latest(weight=0.35), cfg.Pfsp(weight=0.65)), 0.3),
    ],
)
def test_the_mixture_of_the_frozen_becomes_hard_to_exploit(
    name: str, meet: tuple[cfg.AnyMeet, ...], bound: float
) -> None:
    table = ROCK_PAPER_SCISSORS if name == "rock_paper_scissors" else disc(30)
    run = Answers(table, "main", meet)
    gains = []
    for number in range(60):
        run.period(number)
        # PSRO converges in its Nash mixture, fictitious play in the mean of its history.
        mixture = run.nash() if isinstance(meet[0], cfg.Psro) else run.uniform()
        gains.append(exploitability(table, mixture))
    assert gains[0] > 0.4
    assert gains[-1] < bound
    assert np.mean(gains[-10:]) < 0.5 * np.mean(gains[:10])


def test_self_play_without_a_league_goes_round_in_circles() -> None:
    """Its newest player is always beaten: what the mixtures above are for."""
    run = Answers(ROCK_PAPER_SCISSORS, "main", (cfg.Latest(),))
    for number in range(30):
        run.period(number)
        newest = np.eye(3)[run.policies["main"]]
        assert exploitability(ROCK_PAPER_SCISSORS, newest) == 1.0


def test_fictitious_play_reaches_all_three_and_evenly() -> None:
    run = Answers(ROCK_PAPER_SCISSORS, "main", (cfg.Fsp(),))
    for number in range(150):
        run.period(number, orders=400)
    np.testing.assert_allclose(run.uniform(), 1 / 3, atol=0.1)
