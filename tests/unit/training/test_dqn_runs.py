"""Whole runs of DQN: killed and resumed, evaluated without exploration; presets that are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import ludus
from ludus.cli.__main__ import main
from ludus.policies.protocol import Network
from ludus.policies.weights import load_weights
from ludus.presets.checks.game import check_game
from ludus.presets.config import Preset
from ludus.presets.file import PresetError, load_preset, parse_preset
from ludus.rollouts.network_actor import NetworkActor
from ludus.storage import RunDirectory
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .runs import Recorder, reproducible_rows
from .test_runs import last_weights, same_weights, start_and_kill

TOML = """
[game]
name = "tic_tac_toe"
[[opponents]]
name = "random"
[pool]
slots = 16
groups = 2
threads = 1
rollout_length = 8
[policy]
dense = [16]
hidden = [16]
output = "q"
[algorithm]
name = "dqn"
buffer_slabs = 4
batch_size = 32
micro_batch = 20
updates = 2
learning_starts = 100
target_every = 3
priority_alpha = 0.6
[evaluation]
every_steps = 500
matches = 20
final_matches = 30
[run]
max_steps = 1600
threads = 2
"""


def preset_of(**overrides: object) -> Preset:
    text = {key.replace("__", "."): str(value) for key, value in overrides.items()}
    return parse_preset(TOML.encode(), "dqn", overrides=text).preset


@pytest.mark.parametrize(
    ("lag", "opponent"), [("sync", "random"), pytest.param("pipelined", "past", marks=pytest.mark.slow)]
)
def test_resume_after_kill_is_bit_equal(tmp_path: Path, lag: str, opponent: str) -> None:
    overrides: dict[str, object] = {"run__lag": lag, "opponents__0__name": opponent, "run__max_steps": 900}
    if opponent == "past":
        overrides["opponents__0__past_every"] = 3
    preset = preset_of(**overrides)
    start_run(preset, tmp_path / "whole" / "run")
    start_and_kill(preset, tmp_path / "killed" / "run", update=7)
    recorder = Recorder()
    resume_run(tmp_path / "killed" / "run", sinks=[recorder])
    assert 0 < recorder.updates[0].version <= 7
    whole, killed = tmp_path / "whole" / "run", tmp_path / "killed" / "run"
    assert reproducible_rows(killed / "metrics.jsonl") == reproducible_rows(whole / "metrics.jsonl")
    assert same_weights(last_weights(killed), last_weights(whole))


@pytest.fixture
def greedy_actors(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list that gets, for each actor made, whether it is greedy."""
    made: list[bool] = []
    before = NetworkActor.__init__

    def looking(
        self: NetworkActor, network: Network, seed: int, version: int = 0, greedy: bool = False
    ) -> None:
        made.append(greedy)
        before(self, network, seed, version, greedy)

    monkeypatch.setattr(NetworkActor, "__init__", looking)
    return made


def test_weights_that_explore_are_evaluated_without(tmp_path: Path, greedy_actors: list[bool]) -> None:
    recorder = Recorder()
    preset = preset_of(algorithm__epsilon_final=0.5, run__lag="sync")
    start_run(preset, tmp_path / "run", sinks=[recorder])
    assert greedy_actors[0] is False  # the sampler's
    assert any(greedy_actors[1:])
    assert recorder.updates[-1].numbers["dqn/epsilon"] == 0.5
    run = RunDirectory.open(tmp_path / "run")
    weights = load_weights(last_weights(run.path))
    assert float(weights.tensors["epsilon"]) == 0.0
    checkpoint, _ = run.checkpoints.load_last()
    assert float(checkpoint.optimizer["network.epsilon"]) == 0.5
    assert recorder.updates[-1].numbers["learner/sample_reuse"] > 0.3


def test_q_values_play_everywhere_but_in_searches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start_run(preset_of(run__max_steps=300, evaluation__every_steps=0), tmp_path / "run")
    weights = f"{tmp_path / 'run'}@last"
    assert main(["eval", weights, "--against", "random", "--matches", "8", "--json"]) == 0
    ludus.load_policy(weights)
    capsys.readouterr()
    assert main(["eval", f"{weights}+search:8", "--against", "random", "--matches", "2"]) == 2
    assert 'expected weights with policy.output = "logits"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"policy.output": "logits"}, 'policy.output = "logits": algorithm.name = "dqn" trains "q"'),
        ({"policy.memory": "gru"}, 'policy.output = "q" with policy.memory = "gru": expected'),
        ({"algorithm.buffer_slabs": "0"}, "algorithm.buffer_slabs = 0: expected"),
        ({"algorithm.priority_alpha": "1.5"}, "algorithm.priority_alpha = 1.5: expected"),
        ({"algorithm.target": "soft"}, 'algorithm.target = "soft": expected'),
        ({"algorithm.updatess": "2"}, r"unknown key algorithm.updatess \(did you mean updates\?\)"),
        (
            {"game.name": "minirts", "game.params.commands": "tactical", "opponents.0.name": "simple"},
            'policy.output = "q": head .* of minirts (depends on|points at) .*; expected independent heads',
        ),
        (
            {"algorithm.buffer_slabs": "1000000"},
            r"algorithm.buffer_slabs = 1000000: 1000000 slabs of 8 steps and 32 rows need .* MiB; "
            r"algorithm.buffer_mib = 1024 holds \d+ slabs, up to [\d,]+ transitions",
        ),
    ],
)
def test_an_impossible_preset_is_refused_in_one_line(
    tmp_path: Path, overrides: dict[str, str], message: str
) -> None:
    path = tmp_path / "dqn.toml"
    path.write_text(TOML)
    with pytest.raises(PresetError, match=message) as caught:
        check_game(load_preset(str(path), overrides))
    assert len(str(caught.value).splitlines()) == 1


def test_other_methods_refuse_q_values(tmp_path: Path) -> None:
    with pytest.raises(PresetError, match=r'"q": algorithm\.name = "appo" trains "logits"'):
        parse_preset(b'[game]\nname = "tic_tac_toe"\n[policy]\noutput = "q"\n', "x")


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="dqn"),
        pytest.param(
            {"buffer_slabs": 1, "target": "none", "n_steps": 8, "updates": 8, "double": "false"},
            id="q-learning",  # ELF's
            marks=pytest.mark.slow,
        ),
    ],
)
def test_tic_tac_toe_is_learned(tmp_path: Path, settings: dict[str, object]) -> None:
    """A uniform player wins 44% of its matches against another one."""
    base: dict[str, object] = {
        "algorithm__buffer_slabs": 100,
        "algorithm__updates": 4,
        "algorithm__batch_size": 128,
    }
    base |= {"algorithm__discount": 1.0, "algorithm__max_grad_norm": 10.0, "algorithm__learning_rate": 0.002}
    base |= {"policy__hidden": 32, "policy__duelling": "true", "pool__slots": 64}
    base |= {"evaluation__every_steps": 0, "evaluation__final_matches": 300, "run__max_steps": 9000}
    base |= {f"algorithm__{name}": value for name, value in settings.items()}
    result = start_run(preset_of(**base), tmp_path / "run")
    assert result.final[0].won[1] > 0.6
