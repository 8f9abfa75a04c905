"""Whole runs by imitation: every kind of teacher, killed runs, presets that are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ludus.cli.__main__ import main
from ludus.evaluation.players import resolve_player
from ludus.games import spec as game_spec
from ludus.games.names import typed, typed_player
from ludus.policies.weights import load_weights
from ludus.presets.checks.game import check_game
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.file import PresetError, load_preset, parse_preset
from ludus.training.actor_learner.build import build, build_learner
from ludus.training.actor_learner.sampler import local_sampler
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .runs import Recorder, reproducible_rows, small_preset
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
[algorithm]
name = "imitation"
teacher = "mcts:4"
minibatches = 2
micro_batch = 32
[evaluation]
every_steps = 0
final_matches = 4
[run]
max_steps = 600
threads = 2
"""


def preset_of(**overrides: object) -> Preset:
    text = {key.replace("__", "."): str(value) for key, value in overrides.items()}
    return parse_preset(TOML.encode(), "imitation", overrides=text).preset


def weights_of(folder: Path, **settings: object) -> str:
    """Return a run whose weights may teach."""
    start_run(small_preset(run__max_steps=200, evaluation__every_steps=0, **settings), folder)
    return f"{folder}@last"


@pytest.mark.parametrize(
    ("teacher", "lag", "memory"),
    [
        ("perfect", "sync", "none"),
        pytest.param("mcts:8", "sync", "none", marks=pytest.mark.slow),
        pytest.param("weights", "pipelined", "gru", marks=pytest.mark.slow),
    ],
)
def test_killed_runs_resume_bit_equal(tmp_path: Path, teacher: str, lag: str, memory: str) -> None:
    """The run has a copy of a teacher with weights."""
    named = teacher
    if teacher == "weights":
        named = weights_of(tmp_path / "teacher", policy__memory="gru", policy__memory_size=8)
    overrides: dict[str, object] = {"algorithm__teacher": named, "run__lag": lag}
    overrides |= {"policy__memory": memory, "policy__memory_size": 8, "algorithm__seats": "all"}
    preset = preset_of(**overrides, run__checkpoint_every_minutes=0.0000001)
    whole, killed = tmp_path / "whole" / "run", tmp_path / "killed" / "run"
    start_run(preset, whole)
    start_and_kill(preset, killed, update=3)
    if teacher == "weights":
        (tmp_path / "teacher").rename(tmp_path / "gone")
    recorder = Recorder()
    resume_run(killed, sinks=[recorder])
    assert 0 < recorder.updates[0].version <= 3
    assert reproducible_rows(killed / "metrics.jsonl") == reproducible_rows(whole / "metrics.jsonl")
    assert same_weights(last_weights(killed), last_weights(whole))


BOT = """
class Middle:
    def decide(self, scene):
        legal = scene.legal()
        return "b2" if "b2" in legal else legal[0]
"""


def test_a_bot_in_python_teaches(tmp_path: Path) -> None:
    """Its first move is always the middle of the board; the policy learns it."""
    bot = tmp_path / "middle.py"
    bot.write_text(BOT)
    changes = {
        "algorithm__teacher": typed(str(bot)),
        "algorithm__learning_rate": 0.01,
        "run__max_steps": 6000,
    }
    recorder = Recorder()
    start_run(preset_of(**changes, algorithm__seats="all"), tmp_path / "run", sinks=[recorder])
    assert recorder.updates[-1].numbers["imitation/accuracy"] > 0.9
    player = resolve_player(f"{tmp_path / 'run'}@last", game_spec("tic_tac_toe"), greedy=True)
    assert player.actor is not None


@pytest.mark.parametrize(
    ("teacher", "low", "high", "outcomes"),
    [("last", 0.95, 1.0, (0, 0, 50)), ("first", 0.95, 1.0, (0, 50, 0)), ("random", 0.2, 0.5, None)],
)
def test_a_bot_of_the_core_teaches(
    tmp_path: Path, teacher: str, low: float, high: float, outcomes: tuple[int, int, int] | None
) -> None:
    """The policy learns scissors and rock; a random bot cannot be predicted."""
    recorder = Recorder()
    changes = {"game__name": "matrix", "opponents__0__name": "first", "evaluation__final_matches": 50}
    preset = preset_of(**changes, algorithm__teacher=teacher, algorithm__learning_rate=0.03)
    final = start_run(preset, tmp_path / "run", sinks=[recorder]).final[0]
    assert low <= recorder.updates[-1].numbers["imitation/accuracy"] <= high
    assert outcomes is None or (final.wins, final.draws, final.losses) == outcomes
    assert {name for update in recorder.updates for name in update.outcomes} == {"first"}


def test_weights_teach_from_one_seat_or_all(tmp_path: Path) -> None:
    """With one seat the opponent is a bot; with all seats the teacher meets itself."""
    teacher = weights_of(tmp_path / "teacher")
    for seats, opponent in (("one", "random"), ("all", "teacher")):
        recorder = Recorder()
        preset = preset_of(algorithm__teacher=teacher, algorithm__seats=seats, run__max_steps=300)
        start_run(preset, tmp_path / seats, sinks=[recorder])
        assert {name for update in recorder.updates for name in update.outcomes} == {opponent}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithm__teacher": ""}, 'algorithm.teacher = "": expected RUN@best'),
        ({"algorithm__teacher": "prefect"}, "a bot, FILE.py or a search (did you mean perfect?)"),
        ({"algorithm__teacher": "mtcs:4"}, 'algorithm.teacher = "mtcs:4": expected RUN@best'),
        (
            {"algorithm__teacher": "simple", "game__name": "minirts"},
            'algorithm.teacher = "simple": the decisions of simple are not choices of minirts',
        ),
        ({"run__lag": "async", "run__over_lag": "drop"}, 'run.over_lag = "drop": expected "wait"'),
    ],
)
def test_impossible_presets_are_refused(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    preset = tmp_path / "preset.toml"
    preset.write_text(TOML)
    settings = {key.replace("__", "."): str(value) for key, value in changes.items()}
    with pytest.raises(PresetError) as error:
        check_game(load_preset(str(preset), settings))
    lines = [line for line in str(error.value).splitlines() if message in line]
    assert len(lines) == 1


@pytest.mark.parametrize(
    ("teacher", "message"),
    [
        ("nowhere@best", r'algorithm\.teacher = "nowhere@best": '),
        ("other", r'algorithm\.teacher = ".*": weights of .*|algorithm\.teacher = ".*connect_four.*'),
        ("missing.py", r'algorithm\.teacher = "missing\.py": missing\.py: no such file'),
    ],
)
def test_an_impossible_teacher_leaves_no_run(tmp_path: Path, teacher: str, message: str) -> None:
    if teacher == "other":
        changes = {"game__name": "connect_four", "opponents__0__name": "random", "policy__channels": "4"}
        teacher = weights_of(tmp_path / "connect_four", **changes, policy__strides="1")
    with pytest.raises(ConfigError, match=message):
        start_run(preset_of(algorithm__teacher=typed_player(teacher)), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_several_value_heads_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    preset = tmp_path / "preset.toml"
    preset.write_text(TOML)
    command = ["train", str(preset), "--run-dir", str(tmp_path / "run"), "--quiet"]
    assert main([*command, "--policy.value_heads", "2"]) == 2
    assert 'algorithm.name = "imitation" trains one; expected 1' in capsys.readouterr().err


def test_reinforcement_starts_from_a_clone(tmp_path: Path) -> None:
    """``run.start`` starts with the policy and the value of the clone."""
    start_run(preset_of(), tmp_path / "clone")
    settings = {"policy__dense": "16", "policy__hidden": "16", "run__start": f"{tmp_path / 'clone'}@last"}
    started = build_learner(small_preset(**settings)).weights().tensors
    cloned = load_weights(last_weights(tmp_path / "clone")).tensors
    assert all(np.array_equal(started[n], a) for n, a in cloned.items())


def test_the_learner_trains_the_teachers_rows() -> None:
    components = build(preset_of())
    try:
        plans = local_sampler(components.sampler).lineup.plans
        (first,), (second,) = plans[0].controllers, plans[1].controllers
        assert (first.policy, second.bot) == (1, "random")
        assert components.sampler.facts.labels["policy:1"] == "teacher"
    finally:
        components.close()
