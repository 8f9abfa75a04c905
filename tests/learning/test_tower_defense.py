"""A policy learns where to build: most matches are survived; random choices survive one in a hundred."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.flow import Controller, Lineup, MatchResult, PoolOptions, SeatPlan
from ludus.pool.native import NativePool
from ludus.presets.file import load_preset
from ludus.training.runs import start_run


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_tower_defense_is_survived(tmp_path: Path) -> None:
    overrides = {
        "run.max_minutes": "0",
        "run.max_steps": "110000",
        "evaluation.every_steps": "0",
        "evaluation.final_matches": "200",
    }
    preset = load_preset("presets/tower-defense.toml", overrides).preset
    result = start_run(preset, tmp_path / "run")
    assert result.final[0].won[1] > 0.6


@pytest.mark.slow
def test_random_play_survives_as_often_as_in_the_paper() -> None:
    """36.3% (ELF paper, table 3), for a player that draws among all cells at every tick."""
    random = Lineup((SeatPlan((Controller(bot="random"),), frame_skip=1),))
    results: list[MatchResult] = []
    with NativePool("tower_defense", {}, random, PoolOptions(slots=32, num_matches=1000, seed=1)) as pool:
        while not pool.finished:
            batch = pool.recv()
            results += batch.results
            pool.send(batch.group)
    assert len(results) == 1000
    survived = sum(r.outcome[0] > 0 for r in results) / 1000
    assert abs(survived - 0.363) < 0.03
