"""Unit commands are learned: heads that point at units win more against nobody's play than chance does."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.games import spec as game_spec
from ludus.policies.distribution import Heads
from ludus.rollouts.network_actor import RandomActor
from ludus.train.api import start_run
from ludus.train.evaluator import Player, play_evaluation, scripted_player
from ludus.train.preset_file import load_preset

SKIP = 25
PARAMS = {"commands": "units", "tick_limit": "3000"}


@pytest.mark.timeout(300)
def test_minirts_by_unit_commands_against_noop(tmp_path: Path) -> None:
    """Against a side that does nothing a match is a race: find its base in 120 orders (chance: 56%)."""
    spec = game_spec("minirts", PARAMS)
    chance, _ = play_evaluation(
        spec,
        PARAMS,
        Player("chance", actor=RandomActor(Heads.of(spec), 1), frame_skip=SKIP),
        scripted_player("noop", spec, 2, SKIP),
        matches=300,
        seed=3,
    )
    overrides = {
        "opponents.0.name": "noop",
        "game.frame_skip": str(SKIP),
        "game.params.tick_limit": PARAMS["tick_limit"],
        "pool.steps": "32",
        "algorithm.learning_rate": "1e-3",
        "algorithm.discount": "0.998",
        "algorithm.gae_lambda": "0.97",
        "curriculum.ticks": "0",
        "run.threads": "1",
        "run.max_minutes": "0",
        "run.max_steps": "250000",
        "evaluation.every_steps": "1000000",
        "evaluation.final_matches": "300",
    }
    preset = load_preset("presets/minirts-units.toml", overrides).preset
    result = start_run(preset, tmp_path / "run")
    final = {r.against: r for r in result.final}["noop"]
    assert final.ci_low > chance.ci_high
