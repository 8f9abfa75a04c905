"""Policies learn MiniRTS by strategic orders and by unit commands, well above random play."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.evaluation.play import MatchPlayer, play_evaluation, scripted_player
from ludus.evaluation.results import EvalResult
from ludus.evaluation.settings import MatchSettings
from ludus.games import spec as game_spec
from ludus.policies.actions.heads import heads_of
from ludus.presets.file import load_preset
from ludus.rollouts.network_actor import RandomActor
from ludus.training.runs import start_run


def trained(preset: str, steps: int, folder: Path, **overrides: str) -> EvalResult:
    """Return the final 300 matches against the only opponent, after so many decisions."""
    short = {
        "run.max_minutes": "0",
        "run.max_steps": str(steps),
        "evaluation.every_steps": "1000000",
        "evaluation.final_matches": "300",
    }
    result = start_run(load_preset(preset, short | overrides).preset, folder)
    (final,) = result.final
    return final


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_training_beats_simple_in_minirts(tmp_path: Path) -> None:
    """Random choices win 20% (ELF paper: 24%)."""
    final = trained("presets/minirts.toml", 200_000, tmp_path / "run", **{"algorithm.epochs": "3"})
    assert final.against == "simple"
    assert final.won[1] > 0.28


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_unit_commands_beat_noop_in_minirts(tmp_path: Path) -> None:
    """Heads that point at units. Against a side that does nothing a match is a race: find its base in 120
    decisions (chance: 56%).
    """
    skip, params = 25, {"commands": "units", "tick_limit": "3000"}
    spec = game_spec("minirts", params)
    chance, _ = play_evaluation(
        spec,
        params,
        MatchPlayer("chance", actor=RandomActor(heads_of(spec), 1), frame_skip=skip),
        scripted_player("noop", spec, 2, skip),
        MatchSettings(matches=300, seed=3),
    )
    changes = {
        "opponents.0.name": "noop",
        "game.frame_skip": str(skip),
        "game.params.tick_limit": params["tick_limit"],
        "pool.rollout_length": "32",
        "algorithm.learning_rate": "1e-3",
        "algorithm.discount": "0.998",
        "algorithm.gae_lambda": "0.97",
        "curriculum.ticks": "0",
        "run.threads": "1",
    }
    final = trained("presets/minirts-units.toml", 250_000, tmp_path / "run", **changes)
    assert final.against == "noop"
    assert final.won[1] > chance.won[2]
