"""Every method learns: a remembered colour in seconds, tic-tac-toe and CartPole in a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ludus.algorithms.learner import LearnerContext
from ludus.algorithms.registry import find, resolve
from ludus.games.names import typed
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from ludus.presets.file import load_preset
from ludus.training.runs import start_run
from tests.unit.algorithms.test_appo import corridor_spec, play_corridor

METHODS = ["a2c", "impala", "policy_gradient"]


@pytest.mark.parametrize(
    ("method", "memory", "low", "high"),
    [*((method, "lstm", 0.9, 1.0) for method in METHODS), ("a2c", "none", 0.35, 0.65)],
)
def test_methods_with_memory_remember_a_colour(method: str, memory: str, low: float, high: float) -> None:
    """The colour is visible at a match's first decision only: policies without memory can only guess."""
    known = find(method)
    assert known is not None
    policy = EncoderConfig(dense=(16,), hidden=(16,), memory=memory, memory_size=16)  # type: ignore[arg-type]
    settings = {"learning_rate": 1e-2, "minibatches": 4, "micro_batch": 4096, "normalise_advantages": True}
    config = msgspec.convert(settings, known.config)
    learner: Any = resolve(known.learner)(
        config, PolicyNetwork(policy, corridor_spec(), 1), LearnerContext(seed=1)
    )
    place, goal = np.zeros(64, np.int64), np.zeros(64, np.int64)
    scores = []
    for update in range(18):
        slab, score = play_corridor(learner, 16, 64, update, place, goal)
        learner.update(slab)
        scores.append(score)
    assert low <= np.mean(scores[-5:]) <= high


#: One pass over each slab: nothing but small steps keeps these methods near the policy that acted.
ONE_PASS = {"algorithm.epochs": "1", "algorithm.minibatches": "8", "run.threads": "1"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "rate"), [("a2c", "2.5e-3"), ("impala", "1e-3"), ("policy_gradient", "2.5e-3")]
)
def test_methods_balance_cartpole(tmp_path: Path, method: str, rate: str) -> None:
    pytest.importorskip("gymnasium")
    changes = {"algorithm.name": method, "algorithm.learning_rate": rate, "run.max_steps": "250000"}
    changes |= {"algorithm.normalise_advantages": "true"}
    result = start_run(load_preset("cartpole", ONE_PASS | changes).preset, tmp_path / "run")
    assert result.final[0].mean_return >= 475
    assert result.reason.startswith("target = 475")


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_methods_beat_random_at_tic_tac_toe(tmp_path: Path, method: str) -> None:
    """A random player that opens wins 58%, the other one 29%."""
    changes = {"algorithm.name": method, "run.max_steps": "250000", "evaluation.every_steps": "0"}
    result = start_run(load_preset("tic_tac_toe", ONE_PASS | changes).preset, tmp_path / "run")
    assert result.final[0].won[1] > 0.75
    assert result.final[0].counts[2] < result.final[0].matches * 0.2


@pytest.mark.slow
def test_trpo_beats_random_at_tic_tac_toe(tmp_path: Path) -> None:
    changes = {"algorithm.name": "trpo", "policy.critic": "own", "run.max_steps": "120000"}
    changes |= {"algorithm.max_kl": "0.03", "evaluation.every_steps": "0", "pool.rollout_length": "16"}
    final = start_run(load_preset("tic_tac_toe", changes).preset, tmp_path / "run").final[0]
    assert final.won[1] > 0.7


@pytest.mark.slow
def test_trpo_balances_cartpole(tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    changes = {"algorithm.name": "trpo", "policy.critic": "own", "algorithm.max_kl": "0.02"}
    changes |= {"run.max_steps": "300000", "run.threads": "1", "algorithm.learning_rate": "2e-3"}
    result = start_run(load_preset("cartpole", changes).preset, tmp_path / "run")
    assert result.final[0].mean_return >= 475
    assert result.reason.startswith("target = 475")


CUE = """
[game]
name = "{game}"
[pool]
slots = 64
rollout_length = 24
[policy]
dense = []
hidden = [32]
memory = "{memory}"
memory_size = 32
[algorithm]
learning_rate = 5e-3
discount = 0.95
[evaluation]
every_steps = 0
final_matches = 300
[run]
max_steps = 60_000
threads = 1
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("memory", "low", "high"), [("gru", 0.9, 1.0), ("lstm", 0.9, 1.0), ("none", 0.2, 0.45)]
)
def test_a_cue_is_named_when_it_is_gone(tmp_path: Path, memory: str, low: float, high: float) -> None:
    """A whole run of a Python game with three cues: a policy without memory names them by chance."""
    game = Path(__file__).with_name("cue_game.py")
    preset = tmp_path / "cue.toml"
    preset.write_text(CUE.format(game=typed(str(game)), memory=memory))
    result = start_run(load_preset(str(preset)).preset, tmp_path / "run")
    assert low <= result.final[0].mean_return <= high
