"""Runs of AlphaZero: files, resuming, the gate, refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from ludus.algorithms.alphazero.learner import AlphaZeroLearner
from ludus.algorithms.alphazero.samples import Positions
from ludus.algorithms.learner import UpdateStats
from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.settings import MatchSettings
from ludus.games import replays
from ludus.presets.checks.game import check_game
from ludus.presets.config import Preset
from ludus.presets.document import to_toml
from ludus.presets.errors import ConfigError
from ludus.presets.file import PresetError, load_preset, parse_preset
from ludus.reporting.run_view import RunView
from ludus.storage import CorruptFile, RunDirectory, read_jsonl
from ludus.training.alphazero import trainer as trainer_module
from ludus.training.alphazero.checkpoint import AlphaZeroState
from ludus.training.alphazero.components import AlphaZeroComponents, build_alphazero
from ludus.training.alphazero.gate import Gate, GateResult, Named
from ludus.training.alphazero.trainer import AlphaZeroTrainer
from ludus.training.run_context import RunContext
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run
from tests.unit.training.stepped import Stepped

TOML = """
[game]
name = "tic_tac_toe"
[algorithm]
name = "alphazero"
batch_size = 32
round_positions = 150
sample_reuse = 1.0
window_matches_min = 30
statistics_batches = 2
[algorithm.search]
visits = 8
[algorithm.self_play]
slots = 8
[policy]
network = "resnet"
blocks = 1
filters = 8
value_hidden = 8
[evaluation]
every_steps = 0
matches = 0
final_matches = 4
against = ["perfect", "mcts:10"]
visits = 4
[run]
max_steps = 450
threads = 2
precision = "float32"
"""


def preset(**changes: str) -> Preset:
    return parse_preset(TOML.encode(), "test", overrides=changes).preset


@pytest.mark.usefixtures("stepped_self_play")
def test_a_run_writes_the_files_of_every_run_and_resumes(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    result = start_run(preset(), run_dir)
    assert result.steps >= 450
    assert [r.against for r in result.final] == ["perfect", "mcts:10"]
    run = RunDirectory.open(run_dir)
    rows = [r for r in read_jsonl(run.metrics_path) if r["kind"] == "update"]
    assert rows[-1]["steps"] == result.steps
    assert "Final matches" in run.report.read_text()
    files = sorted(run.self_play.glob("*.safetensors"))
    assert files

    more = resume_run(
        run_dir,
        more=lambda p: msgspec.structs.replace(p, run=msgspec.structs.replace(p.run, max_steps=700)),
    )
    assert more.steps >= 700
    assert more.version > result.version
    rows = [r for r in read_jsonl(run.metrics_path) if r["kind"] == "update"]
    steps = [r["steps"] for r in rows]
    assert steps == sorted(set(steps))  # type: ignore[type-var]

    rated = evaluate(f"{run_dir}@last+search:4", "random", MatchSettings(matches=4))
    assert rated.matches == 4
    assert evaluate(f"{run_dir}@last", "mcts:5,plies=0", MatchSettings(matches=4)).matches == 4
    with pytest.raises(ConfigError, match="did you mean c_puct"):
        evaluate(f"{run_dir}@last+search:4,cpuct=1", "random", MatchSettings(matches=4))


@pytest.mark.usefixtures("stepped_self_play")
def test_a_resumed_run_learns_from_the_matches_that_it_learned_from(tmp_path: Path) -> None:
    changes = {"algorithm.round_positions": "40", "algorithm.window_matches_min": "5", "run.max_steps": "800"}
    start_run(preset(**changes), tmp_path / "run")
    run = RunDirectory.open(tmp_path / "run")
    checkpoint, _ = run.checkpoints.load_last()
    before = msgspec.json.decode(checkpoint.state, type=AlphaZeroState)
    assert 3 <= len(before.chunks) < before.next_chunk - 2  # older ones have left
    components = build_alphazero(preset(**changes))
    context = RunContext(preset(**changes), run)
    trainer = AlphaZeroTrainer(context, components, checkpoint)
    assert [c.number for c in components.replay_buffer.chunks] == before.chunks
    assert components.replay_buffer.total_matches == before.matches
    trainer.close()
    context.report.close()


def test_a_game_written_in_python_is_learned_too(tmp_path: Path) -> None:
    pytest.importorskip("pyspiel")
    changes = {"game.name": "openspiel/tic_tac_toe", "evaluation.against": "random"}
    run_dir = tmp_path / "run"
    result = start_run(preset(**changes), run_dir)
    assert result.steps >= 450
    assert result.version >= 1
    kept = sorted(RunDirectory.open(run_dir).replays.glob("*.ludus"))
    assert kept
    for path in kept:
        assert replays.info(path.read_bytes()).reproduced == "yes"
    rated = evaluate(f"{run_dir}@last+search:4", "mcts:5", MatchSettings(matches=4))
    assert (rated.game, rated.matches, rated.errors) == ("openspiel/tic_tac_toe", 4, 0)


def test_matches_after_the_last_checkpoint_are_kept_and_damage_is_reported(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    start_run(preset(), run_dir)
    run = RunDirectory.open(run_dir)
    newest = sorted(run.self_play.glob("*.safetensors"))[-1]
    # Matches that were finished and written, as if the process had died before its next checkpoint.
    copy = newest.with_name(f"{int(newest.stem) + 1:09d}.safetensors")
    copy.write_bytes(newest.read_bytes())

    def on(p: Preset) -> Preset:
        return msgspec.structs.replace(p, run=msgspec.structs.replace(p.run, max_steps=1))

    before = next(iter(reversed([r for r in read_jsonl(run.metrics_path) if r["kind"] == "update"])))
    resumed = resume_run(run_dir, more=on)
    assert resumed.steps > int(str(before["steps"]))
    copy.write_bytes(copy.read_bytes()[:-100])
    with pytest.raises(CorruptFile, match=copy.name):
        resume_run(run_dir, more=on)


def test_a_gate_rejects_weights(tmp_path: Path) -> None:
    changes = {"algorithm.gate": "true", "algorithm.gate_matches": "16", "algorithm.gate_score": "0.99"}
    result = start_run(preset(**changes), tmp_path / "run")
    events = [e for e in read_jsonl(tmp_path / "run" / "events.jsonl") if e["event"] == "gate"]
    assert events
    assert not any(e["passed"] for e in events)
    assert result.version >= 1
    # The weights that play and that candidates meet are still the initial ones.
    run = RunDirectory.open(tmp_path / "run")
    learner = build_alphazero(preset(**changes)).learner
    learner.publish(None)
    first, playing = learner.weights().tensors, run.load_snapshot(0).tensors
    newest = run.checkpoints.load(result.version).weights.tensors
    assert first.keys() == playing.keys() == newest.keys()
    for name, tensor in first.items():
        np.testing.assert_array_equal(playing[name], tensor)
    assert any((newest[name] != tensor).any() for name, tensor in first.items())
    resume_run(
        tmp_path / "run",
        more=lambda p: msgspec.structs.replace(p, run=msgspec.structs.replace(p.run, max_steps=600)),
    )
    np.testing.assert_array_equal(run.load_snapshot(0).tensors[name], first[name])


@pytest.mark.usefixtures("stepped_self_play")
def test_a_gate_compares_candidates_with_the_current_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Candidates meet the weights that play, never themselves: at the start, after a pass, after a resume."""
    differ: list[bool] = []
    gate = Gate.gate

    def looking(
        judge: Gate, candidate: Named, playing: Named, number: int, interrupted: Callable[[], bool]
    ) -> GateResult:
        pairs = zip(candidate[0].parameters(), playing[0].parameters(), strict=True)
        differ.append(any(not torch.equal(a, b) for a, b in pairs))
        assert candidate[1] != playing[1]
        return gate(judge, candidate, playing, number, interrupted)

    monkeypatch.setattr(Gate, "gate", looking)
    changes = {
        "algorithm.gate": "true",
        "algorithm.gate_matches": "16",
        "algorithm.gate_score": "0.01",
        "run.max_steps": "1500",
    }
    start_run(preset(**changes), tmp_path / "run")
    first = len(differ)
    assert first >= 2
    resume_run(
        tmp_path / "run",
        more=lambda p: msgspec.structs.replace(p, run=msgspec.structs.replace(p.run, max_steps=2500)),
    )
    assert len(differ) > first
    assert all(differ)
    events = [e for e in read_jsonl(tmp_path / "run" / "events.jsonl") if e["event"] == "gate"]
    assert any(e["passed"] for e in events)


@pytest.mark.parametrize(
    ("device", "lag", "beside"),
    [
        ("cpu", "", False),
        ("cpu", "async", True),
        ("cuda", "", True),
        ("cuda", "sync", False),
        ("cuda", "async", True),
    ],
)
def test_self_play_continues_beside_learning_on_a_card(
    device: str, lag: str, beside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A setting of one's own wins. The card is a name here: networks stay on the processor."""
    playing: list[bool] = []
    learn = AlphaZeroLearner.learn
    running = False

    def build(chosen: Preset) -> AlphaZeroComponents:
        made = build_alphazero(chosen)
        made.device = device
        return made

    def started(_: Stepped) -> None:
        nonlocal running
        running = True

    def paused(_: Stepped) -> None:
        nonlocal running
        running = False

    def learned(learner: AlphaZeroLearner, positions: Positions, progress: float) -> UpdateStats:
        playing.append(running)
        return learn(learner, positions, progress)

    monkeypatch.setattr(trainer_module, "build_alphazero", build)
    monkeypatch.setattr(Stepped, "start", started)
    monkeypatch.setattr(Stepped, "pause", paused)
    monkeypatch.setattr(AlphaZeroLearner, "learn", learned)
    changes = {"run.lag": lag} if lag else {}
    start_run(
        preset(**{"run.max_steps": "300", "evaluation.final_matches": "0"}, **changes), tmp_path / "run"
    )
    assert playing
    assert set(playing) == {beside}


def test_wrong_presets_are_refused_with_a_reason() -> None:
    for change, message in (
        ({"policy.blocks": "0"}, "policy.blocks = 0: expected an integer from 1 to 1000"),
        (
            {"policy.hidden": "8"},
            'policy.hidden: this key needs policy.network = "encoder", here it is "resnet"',
        ),
        ({"algorithm.name": "alphazro"}, "did you mean alphazero"),
        ({"algorithm.clip_ratio": "0.1"}, 'algorithm.clip_ratio: this key needs algorithm.name = "appo"'),
        ({"algorithm.search.visits": "0"}, "search.visits = 0"),
    ):
        with pytest.raises(PresetError, match=message):
            preset(**change)
    with pytest.raises(PresetError, match=r'algorithm\.search: this key needs algorithm\.name = "alphazero"'):
        parse_preset(b'[game]\nname = "minirts"\n[algorithm.search]\nvisits = 5\n', "test")
    with pytest.raises(PresetError, match="cannot be searched"):
        check_game(load_preset("minirts", {"evaluation.against": "mcts:4"}))
    assert parse_preset(to_toml(preset()).encode(), "again").preset == preset()


GO = {
    "game.name": "go",
    "game.params.size": "5",
    "evaluation.against": "random",
    "policy.filters": "16",
    "policy.ownership": "true",
    "policy.score": "true",
    "algorithm.learning_rate": "0.05",
    "algorithm.round_positions": "600",
    "evaluation.final_matches": "2",
    "run.max_steps": "2400",
}


@pytest.mark.slow
@pytest.mark.usefixtures("stepped_self_play")
def test_a_run_learns_how_matches_end(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    start_run(preset(**GO), run_dir)
    run = RunDirectory.open(run_dir)
    updates, _ = RunView(run).metrics()
    learned = [u.numbers for u in updates if "loss/policy" in u.numbers]
    assert len(learned) >= 2
    assert all(x["learner/counted"] == x["learner/samples"] for x in learned)  # no resignations here
    assert learned[-1]["loss/ownership"] < 0.65  # ln 2 knows nothing
    assert "| loss/ownership | loss/score |" in run.report.read_text()
    more = resume_run(
        run_dir,
        more=lambda p: msgspec.structs.replace(p, run=msgspec.structs.replace(p.run, max_steps=3000)),
    )
    assert more.steps >= 3000
    assert RunView(run).metrics()[0][-1].numbers["learner/counted"] > 0
    assert evaluate(f"{run_dir}@last+search:4", "random", MatchSettings(matches=2)).matches == 2


def test_ownership_and_score_are_refused_where_nothing_is_counted(tmp_path: Path) -> None:
    for key, value in (
        ("policy.ownership", "true"),
        ("policy.score", "true"),
        ("algorithm.search.score_share", "0.5"),
    ):
        message = rf"{key} = {value}: tic_tac_toe does not count .*; games that do: go"
        with pytest.raises(ConfigError, match=message):
            start_run(preset(**{key: value}), tmp_path / "run")
        with pytest.raises(PresetError, match=message):
            check_game(load_preset("tic_tac_toe-alphazero", {key: value}))
        with pytest.raises(PresetError, match=r"needs (policy|algorithm)\.(network|name) = "):
            load_preset("minirts", {key: value})
    assert not (tmp_path / "run").exists()


def test_ownership_is_refused_for_games_written_in_python(tmp_path: Path) -> None:
    pytest.importorskip("pyspiel")
    changes = {
        "game.name": "openspiel/tic_tac_toe",
        "evaluation.against": "random",
        "policy.ownership": "true",
    }
    with pytest.raises(ConfigError, match=r"policy\.ownership = true: openspiel/tic_tac_toe does not count"):
        start_run(preset(**changes), tmp_path / "run")


def test_games_that_cannot_be_searched_leave_no_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        start_run(preset(**{"game.name": "minirts", "evaluation.against": "simple"}), tmp_path / "run")
    assert not (tmp_path / "run").exists()
