"""The topology of vanilla A3C: pools in turn, each gradient at the pool's own copy of the weights."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch

from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.config import AppoConfig
from ludus.presets.checks.game import check_game
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.file import PresetError, load_preset
from ludus.storage import RunDirectory
from ludus.training.actor_learner.build import build_learner
from ludus.training.actor_learner.round_robin_loop import TurnRounds
from ludus.training.actor_learner.trainer import build_components, make_rounds
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .runs import Recorder, reproducible_rows, small_preset
from .test_runs import last_weights, same_weights, start_and_kill

POOLS = 4
TURNS: dict[str, object] = {
    "run__topology": "one_to_one",
    "run__pools": POOLS,
    "algorithm__minibatches": 1,
    "evaluation__every_steps": 0,
    "evaluation__matches": 0,
    "evaluation__final_matches": 0,
}
#: Parameters move by learning_rate times the gradient, which nothing shortens.
PLAIN: dict[str, object] = {
    "algorithm__optimizer": "sgd",
    "algorithm__momentum": 0.0,
    "algorithm__learning_rate": 0.1,
    "algorithm__max_grad_norm": 0.0,
    "algorithm__normalise_returns": "false",
    "run__lag": "sync",
}


def turn_rounds(preset: Preset) -> TurnRounds:
    components = build_components(preset)
    _, rounds = make_rounds(components, preset)
    assert isinstance(rounds, TurnRounds)
    return rounds


def close(rounds: TurnRounds) -> None:
    rounds.learner_threads.close()
    rounds.components.close()


@pytest.mark.parametrize("name", ["appo", "a2c"])
def test_each_gradient_is_that_of_the_copy_and_moves_what_all_share(name: str) -> None:
    """The run equals one written out here: a learner for each gradient, a sum of the gradients."""
    preset = small_preset(**TURNS, **PLAIN, algorithm__name=name)
    rounds = turn_rounds(preset)
    shared = cast("ActorCriticLearner[AppoConfig]", rounds.components.learner)
    rate = shared.config.learning_rate
    by_hand = shared.parameters.vector.clone()
    lags: list[list[int]] = []
    try:
        for _ in range(3 * POOLS):
            pool = rounds.pools[rounds.turn % POOLS]
            alone = cast("ActorCriticLearner[AppoConfig]", build_learner(preset))
            torch.nn.Module.load_state_dict(alone.network, pool.copy.state_dict())
            alone.version = shared.version
            before, full = alone.parameters.vector.clone(), pool.full
            if full is not None:
                alone.update(full.slab, 0.0)
                by_hand -= before - alone.parameters.vector
            done = rounds.run(0.0)
            assert (done.update is None) == (full is None)
            if done.update is not None:
                lags.append(list(done.update.lag))
            np.testing.assert_allclose(shared.parameters.vector.numpy(), by_hand.numpy(), atol=2e-6)
            assert all(torch.equal(a, b) for a, b in zip(pool.copy.parameters(), shared.network.parameters()))
            assert rate == 0.1
    finally:
        close(rounds)
    assert lags[POOLS:] == [[POOLS - 1]] * len(lags[POOLS:])
    assert len({float(p.copy.value_head.weight.detach().sum()) for p in rounds.pools}) == POOLS


def test_moments_of_returns_are_shared_and_change_no_prediction() -> None:
    """At learning rate 0 the shared network predicts the same in every unit of returns."""
    preset = small_preset(**TURNS, algorithm__learning_rate=1e-12, algorithm__reward_scale=20)
    rounds = turn_rounds(preset)
    network = cast("ActorCriticLearner[AppoConfig]", rounds.components.learner).network
    obs = {t.name: torch.ones((1, *t.packed_shape)).to(torch.uint8) for t in network.inputs}

    def predictions() -> tuple[float, float]:
        assert network.values is not None
        _, deviation = network.values.moments()
        with torch.no_grad():
            return float(network.for_acting().step(obs).value), deviation

    try:
        while rounds.components.learner.version < 1:
            rounds.run(0.0)
        first, scale = predictions()
        for _ in range(2 * POOLS):
            rounds.run(0.0)
        last, other_scale = predictions()
    finally:
        close(rounds)
    assert abs(scale - other_scale) > 1e-3
    assert last == pytest.approx(first, abs=1e-4)


def test_both_lags_give_the_same_bits_and_other_topologies_do_not(tmp_path: Path) -> None:
    for lag in ("sync", "pipelined"):
        start_run(small_preset(**TURNS, run__lag=lag, run__max_steps=600), tmp_path / lag)
    assert same_weights(last_weights(tmp_path / "sync"), last_weights(tmp_path / "pipelined"))
    standard = small_preset(**{**TURNS, "run__topology": "many_to_one"}, run__max_steps=600)
    start_run(standard, tmp_path / "standard")
    assert not same_weights(last_weights(tmp_path / "sync"), last_weights(tmp_path / "standard"))


def test_a_killed_run_resumes_bit_by_bit(tmp_path: Path) -> None:
    settings = TURNS | {"evaluation__every_steps": 150, "evaluation__matches": 4, "run__max_steps": 500}
    settings |= {"policy__memory": "gru", "policy__memory_size": 8}
    preset = small_preset(**settings)
    start_run(preset, tmp_path / "whole" / "run")
    start_and_kill(preset, tmp_path / "killed" / "run", update=10)
    recorder = Recorder()
    resume_run(tmp_path / "killed" / "run", sinks=[recorder])
    assert 1 < recorder.updates[0].version <= 10
    assert same_weights(last_weights(tmp_path / "killed" / "run"), last_weights(tmp_path / "whole" / "run"))
    rows = reproducible_rows(tmp_path / "whole" / "run" / "metrics.jsonl")
    assert reproducible_rows(tmp_path / "killed" / "run" / "metrics.jsonl") == rows


@pytest.mark.slow
def test_a_run_that_is_killed_before_all_pools_have_played_resumes_bit_by_bit(tmp_path: Path) -> None:
    settings = TURNS | {"run__max_steps": 400, "run__checkpoint_every_minutes": 0.0000001}
    preset = small_preset(**settings)
    start_run(preset, tmp_path / "whole" / "run")
    start_and_kill(preset, tmp_path / "killed" / "run", update=1)
    checkpoint = RunDirectory.open(tmp_path / "killed" / "run").checkpoints.load_last()[0]
    pools = [{n for n in checkpoint.rollout if n.startswith(f"pool{i}.")} for i in range(preset.run.pools)]
    assert {f"pool{i}.collector.time_step" for i in range(preset.run.pools)} <= set(checkpoint.rollout)
    assert min(map(len, pools)) == 1 < max(map(len, pools))
    resume_run(tmp_path / "killed" / "run")
    assert same_weights(last_weights(tmp_path / "killed" / "run"), last_weights(tmp_path / "whole" / "run"))


def test_matches_of_another_user_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUDUS_STATE_DIR", str(tmp_path / "mine"))
    start_run(small_preset(**TURNS, run__max_steps=200), tmp_path / "run")
    monkeypatch.setenv("LUDUS_STATE_DIR", str(tmp_path / "theirs"))
    recorder = Recorder()

    def more(preset: Preset) -> Preset:
        return small_preset(**TURNS, run__max_steps=400)

    result = resume_run(tmp_path / "run", sinks=[recorder], more=more)
    assert result.steps >= 400
    assert recorder.updates[0].numbers["rollout/dropped"] > 0


@pytest.mark.parametrize(
    ("preset", "settings", "expected"),
    [
        ("minirts-league", {}, "there is a league"),
        ("go5", {}, 'algorithm.name = "alphazero"'),
        ("minirts", {"run.lag": "async"}, 'run.lag = "async"'),
        ("minirts", {"opponents.0.name": "past"}, 'an opponent is "past"'),
    ],
)
def test_settings_that_do_not_fit_are_refused(preset: str, settings: dict[str, str], expected: str) -> None:
    with pytest.raises(PresetError) as error:
        check_game(load_preset(preset, {**settings, "run.topology": "one_to_one"}))
    text = f'settings["run.topology"]: run.topology = "one_to_one": expected "many_to_one" where {expected}'
    assert text in error.value.lines


def test_slots_and_pools_must_fit() -> None:
    with pytest.raises(PresetError, match="expected an integer from 2 to 64"):
        load_preset("minirts", {"run.pools": "1"})
    with pytest.raises(ConfigError) as error:
        start_run(small_preset(**{**TURNS, "run__pools": 3}), Path("nowhere"))
    assert str(error.value) == ("pool.slots = 16: expected a multiple of run.pools = 3 times pool.groups = 2")
    with pytest.raises(PresetError, match="value_heads = 2"):
        small_preset(**TURNS, policy__value_heads=2)
    with pytest.raises(ConfigError, match=r'expected 0 where run\.topology = "one_to_one"'):
        start_run(small_preset(**TURNS, run__queue=1), Path("nowhere"))
    assert not Path("nowhere").exists()
