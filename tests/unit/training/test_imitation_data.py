"""Runs that learn from recorded matches: what is read in which order, resumes, refusals, board networks."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ludus.algorithms.imitation.boards import BoardImitationLearner, recorded_positions
from ludus.datasets.manifest import SplitRule
from ludus.datasets.play import BotMatches
from ludus.datasets.play import record_matches as record_bots
from ludus.evaluation.players import resolve_player
from ludus.flow import Slab
from ludus.games import spec as game_spec
from ludus.games.records.rows import MatchRows
from ludus.native import ReplayError
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError, RunFailed
from ludus.presets.file import PresetError, parse_preset
from ludus.rollouts.commands import RestoreMatches, TakeSnapshot
from ludus.storage import RunDirectory, read_jsonl, read_weights
from ludus.training import runs
from ludus.training.actor_learner.build import build_learner
from ludus.training.alphazero.components import build_alphazero
from ludus.training.records import recorded
from ludus.training.records.order import epoch_order
from ludus.training.records.recorded import Entries, known_rows
from ludus.training.records.sampler import RecordSampler, build_record_sampler
from ludus.training.resumed import resumed_settings
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .recorded import record_matches
from .runs import Recorder, reproducible_rows
from .test_runs import last_weights, same_weights, start_and_kill

TOML = """
[game]
name = "tic_tac_toe"
[pool]
slots = 6
threads = 1
rollout_length = 8
[policy]
dense = [16]
hidden = [16]
[algorithm]
name = "imitation"
minibatches = 2
[evaluation]
every_steps = 200
matches = 2
final_matches = 2
[run]
max_steps = 500
threads = 2
"""
BOARDS = TOML.replace("dense = [16]\nhidden = [16]", 'network = "resnet"\nblocks = 1\nfilters = 8')


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_matches(tmp_path_factory.mktemp("records") / "matches", "tic_tac_toe", 40)


def preset_of(data: Path, toml: str = TOML, /, **overrides: object) -> Preset:
    text = {key.replace("__", "."): str(value) for key, value in overrides.items()}
    return parse_preset(toml.encode(), "data", overrides={"algorithm.data": str(data), **text}).preset


def filled(sampler: RecordSampler, slabs: int) -> list[Slab]:
    """Return copies of the next slabs."""
    made = []
    for _ in range(slabs):
        slab = sampler.facts.slabs[0]
        sampler.play(slab)
        fields = {name: array.copy() for name, array in slab.fields().items()}
        made.append(Slab.of(fields, slab.row_slot, slab.row_seat))
    return made


def matches_of(slabs: list[Slab]) -> list[tuple[bytes, ...]]:
    """Return the whole matches in slabs that follow each other, as their observations and actions."""
    found = []
    for row in range(slabs[0].rows):
        now: list[bytes] = []
        for slab in slabs:
            for t in range(slab.steps):
                if slab.is_first[t, row]:
                    now = []
                now.append(slab.obs["board"][t, row].tobytes() + slab.actions[t, row].tobytes())
                if slab.terminated[t, row]:
                    found.append(tuple(now))
    return found


def test_rows_walk_through_whole_matches_each_once_an_epoch(data: Path) -> None:
    sampler = build_record_sampler(preset_of(data), slabs=1)
    entries = sampler.records.trained
    expected = []
    for match, seat in zip(entries.match.tolist(), entries.seat.tolist(), strict=True):
        rows = sampler.records.read(match, (seat,))[seat].rows
        expected.append(
            tuple(
                rows.obs["board"][i].tobytes() + rows.actions[i].tobytes() for i in range(len(rows.actions))
            )
        )
    slabs = filled(sampler, 30)
    found = matches_of(slabs)
    assert len(found) > 2 * len(expected)
    assert set(found) == set(expected)
    # within one epoch no match has been read more often than in the whole of it, but for those under way
    first = found_order(slabs, len(expected))
    assert sorted(first) == sorted(expected)
    for slab, after in itertools.pairwise(slabs):
        assert (slab.obs["board"][-1] == after.obs["board"][0]).all()
        assert (slab.is_first[-1] == after.is_first[0]).all()
    assert all((slab.active == 1).all() and (slab.truncated == 0).all() for slab in slabs)
    sampler.close()


def found_order(slabs: list[Slab], count: int) -> list[tuple[bytes, ...]]:
    """Return the ``count`` matches that started first."""
    started = []
    for row in range(slabs[0].rows):
        now: list[bytes] = []
        begun = (0, row)
        for number, slab in enumerate(slabs):
            for t in range(slab.steps):
                if slab.is_first[t, row]:
                    now, begun = [], (number * slab.steps + t, row)
                now.append(slab.obs["board"][t, row].tobytes() + slab.actions[t, row].tobytes())
                if slab.terminated[t, row]:
                    started.append((begun, tuple(now)))
    return [match for _, match in sorted(started)[:count]]


def test_the_results_of_matches_are_their_values(data: Path) -> None:
    sampler = build_record_sampler(preset_of(data), slabs=1)
    for slab in filled(sampler, 3):
        ends = slab.terminated != 0
        assert ends.any()
        assert (slab.reward[ends] == slab.value[:-1][ends]).all()
        assert (slab.reward[~ends] == 0.0).all()
        assert {-1.0, 1.0} <= set(slab.value.ravel().tolist()) <= {-1.0, 0.0, 1.0}
    sampler.close()


def test_the_order_depends_on_seed_and_epoch_alone(data: Path) -> None:
    entries = Entries(np.repeat(np.arange(10_000), 2), np.tile([0, 1], 10_000))
    first = epoch_order(entries, 1, 0)
    assert sorted(first.tolist()) == list(range(20_000))
    assert (first[1::2] == first[::2] + 1).all()  # both seats of a match
    assert len(set((entries.match[first[: 2 * 4096]] // 4096).tolist())) == 1  # a part of the files at a time
    assert (first == epoch_order(entries, 1, 0)).all()
    for seed, epoch in ((2, 0), (1, 1)):
        assert (first != epoch_order(entries, seed, epoch)).any()
    slabs = []
    for threads in (1, 4):
        sampler = build_record_sampler(preset_of(data, pool__threads=threads), slabs=1)
        slabs.append(filled(sampler, 12))
        sampler.close()
    for one, other in zip(*slabs, strict=True):
        for name, array in one.fields().items():
            assert array.tobytes() == other.fields()[name].tobytes(), name


def test_a_restored_sampler_continues(data: Path) -> None:
    whole = build_record_sampler(preset_of(data), slabs=1)
    half = build_record_sampler(preset_of(data), slabs=1)
    expected = filled(whole, 20)
    filled(half, 11)
    arrays = half.send(TakeSnapshot())
    resumed = build_record_sampler(preset_of(data), slabs=1)
    resumed.send(RestoreMatches(arrays))
    for slab, other in zip(expected[11:], filled(resumed, 9), strict=True):
        for name, array in slab.fields().items():
            assert array.tobytes() == other.fields()[name].tobytes(), name
    wrong = arrays | {"records.rows": arrays["records.rows"] + 10_000}
    with pytest.raises(ValueError, match=r"records\.rows"):
        resumed.send(RestoreMatches(wrong))
    for sampler in (whole, half, resumed):
        sampler.close()


def test_only_asked_decisions_are_learned(data: Path) -> None:
    every = build_record_sampler(preset_of(data), slabs=1)
    first = build_record_sampler(preset_of(data, algorithm__players="first"), slabs=1)
    won = build_record_sampler(preset_of(data, algorithm__winners="true"), slabs=1)
    assert set(first.records.trained.seat.tolist()) == {0}
    assert len(first.records.trained) == len(every.records.trained) // 2
    assert all((slab.value >= 0.0).all() for slab in filled(won, 4))
    for sampler in (every, first, won):
        sampler.close()


def test_decisions_that_are_not_shown_are_left_out() -> None:
    rows = MatchRows(
        seat=0,
        obs={"board": np.arange(5, dtype=np.uint8)[:, None]},
        mask=np.ones((5, 3), np.uint8),
        actions=np.arange(5, dtype=np.int32)[:, None],
        tick=np.arange(5, dtype=np.int32) * 2,
        reward=np.array([1, 2, 4, 8, 16], np.float32),
        shown=np.array([0, 1, 0, 1, 1], np.uint8),
    )
    left = known_rows(rows, 0.5)
    assert left.tick.tolist() == [2, 6, 8]
    assert left.obs["board"].ravel().tolist() == left.actions.ravel().tolist() == [1, 3, 4]
    # a hidden decision's reward is the earlier one's, the result the last one's
    assert left.reward.tolist() == [6.0, 8.0, 16.5]


@pytest.mark.parametrize(
    ("toml", "lag", "memory"),
    [
        (TOML, "sync", "none"),
        pytest.param(BOARDS, "sync", "", marks=pytest.mark.slow),
        pytest.param(TOML, "pipelined", "gru", marks=pytest.mark.slow),
    ],
)
def test_killed_runs_resume_bit_equal(tmp_path: Path, data: Path, toml: str, lag: str, memory: str) -> None:
    own: dict[str, object] = {"policy__memory": memory, "policy__memory_size": 8} if memory else {}
    preset = preset_of(data, toml, run__lag=lag, run__checkpoint_every_minutes=0.0000001, **own)
    whole, killed = tmp_path / "whole" / "run", tmp_path / "killed" / "run"
    start_run(preset, whole)
    start_and_kill(preset, killed, update=3)
    recorder = Recorder()
    resume_run(killed, sinks=[recorder])
    assert 0 < recorder.updates[0].version <= 3
    assert reproducible_rows(killed / "metrics.jsonl") == reproducible_rows(whole / "metrics.jsonl")
    assert same_weights(last_weights(killed), last_weights(whole))


def test_a_clone_agrees_with_matches_that_it_never_saw(tmp_path: Path, data: Path) -> None:
    recorder = Recorder()
    settings: dict[str, object] = {"algorithm__players": "first", "algorithm__learning_rate": 0.02}
    settings |= {"run__max_steps": 4000}
    start_run(preset_of(data, TOML, **settings), tmp_path / "run", sinks=[recorder])
    initial, last = recorder.evaluations[0], recorder.evaluations[-1]
    assert initial.version == 0
    floor, chance = initial.held_out["imitation/top1"], initial.held_out["imitation/uniform"]
    assert last.held_out["imitation/top1"] > 0.95 > floor
    assert 0.1 < chance < 0.4
    assert last.held_out["imitation/top5"] == 1.0
    assert last.held_out["imitation/decisions"] == initial.held_out["imitation/decisions"] > 0
    report = (tmp_path / "run" / "report.md").read_text()
    assert "## Held-out decisions" in report
    assert "imitation/epoch" in report


def test_board_networks_learn_moves_and_results(data: Path) -> None:
    own: dict[str, object] = {"algorithm__players": "first", "algorithm__symmetries": "false"}
    own |= {"algorithm__learning_rate": 0.01}
    preset = preset_of(data, BOARDS, **own)
    sampler = build_record_sampler(preset, slabs=1)
    learner = build_learner(preset)
    assert isinstance(learner, BoardImitationLearner)
    slab = sampler.facts.slabs[0]
    numbers = []
    for _ in range(40):
        sampler.play(slab)
        learner.start(slab).help(0)
        numbers.append(learner.finish().numbers)
    assert numbers[-1]["loss/imitation"] < 0.5 * numbers[0]["loss/imitation"]
    assert numbers[-1]["loss/value"] < numbers[0]["loss/value"]
    assert learner.version == 40
    sampler.close()
    learner.close()


def test_unknown_results_and_illegal_moves_are_not_learned(data: Path) -> None:
    preset = preset_of(data, BOARDS)
    sampler = build_record_sampler(preset, slabs=1)
    slab = sampler.facts.slabs[0]
    sampler.play(slab)
    slab.mask[0, 0, slab.actions[0, 0, 0]] = 0
    slab.actions[1, 0] = -1
    positions = recorded_positions(slab, 0, ["board"])
    assert len(positions) == slab.steps * slab.rows - 2
    assert (positions.policy.sum(axis=1) == 1.0).all()
    learner = build_learner(preset)
    slab.value[:] = np.nan
    learner.start(slab, 0.0).help(0)
    update = learner.finish()
    assert update.samples == len(positions)
    assert update.numbers["loss/value"] == 0.0
    assert all(np.isfinite(array).all() for array in learner.weights().tensors.values())
    sampler.close()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"game__name": "connect_four"}, "tic_tac_toe"),
        ({"algorithm__players": "frist"}, "frist.*first"),
        ({"algorithm__data": "/nowhere/at/all"}, "/nowhere/at/all"),
    ],
)
def test_data_that_does_not_fit_creates_no_run(
    tmp_path: Path, data: Path, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        start_run(preset_of(data, TOML, **settings), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_record_that_cannot_be_played_ends_the_run_with_its_number(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(replay: bytes, *_: object) -> list[MatchRows]:
        raise ReplayError("replay: it does not come out")

    monkeypatch.setattr(recorded, "read_rows", refuse)
    with pytest.raises(RunFailed, match=r"match [0-9]+: replay: it does not come out"):
        start_run(preset_of(data), tmp_path / "run")


def test_a_set_without_held_out_matches_is_refused(tmp_path: Path) -> None:
    data = record_matches(tmp_path / "all", "tic_tac_toe", 4, held_out=0.0)
    with pytest.raises(ConfigError, match="no held-out matches"):
        start_run(preset_of(data), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("toml", "settings", "message"),
    [
        (TOML, {"algorithm.teacher": "random"}, "one of the two"),
        (TOML, {"algorithm.ema": "0.9"}, "no effect"),
        (BOARDS, {"algorithm.discount": "0.9"}, "no effect"),
        (BOARDS, {"algorithm.parts": "2"}, r"algorithm\.parts.*resnet"),
        (BOARDS, {"algorithm.data": "", "algorithm.teacher": "random"}, "encoder"),
        (TOML, {"algorithm.data": "", "algorithm.teacher": "random", "algorithm.winners": "true"}, "winners"),
        (TOML, {"cluster.rollouts": "2"}, "cluster.rollouts"),
    ],
)
def test_settings_that_exclude_each_other(toml: str, settings: dict[str, str], message: str) -> None:
    from ludus.presets.checks.game import check_game

    with pytest.raises(PresetError, match=message):
        check_game(parse_preset(toml.encode(), "data", overrides={"algorithm.data": "bots", **settings}))


def test_a_run_keeps_to_its_data(tmp_path: Path) -> None:
    data = record_matches(tmp_path / "matches", "tic_tac_toe", 12)
    run = tmp_path / "run"
    start_run(preset_of(data, run__max_steps=100, evaluation__final_matches=0), run)
    before = RunDirectory.open(run).info().data_sha256
    assert len(before) == 64
    data.rename(tmp_path / "gone")
    with pytest.raises(ConfigError, match="matches"):
        resume_run(run)
    record_matches(data, "tic_tac_toe", 13)
    with pytest.raises(ConfigError, match=before[:16]):
        resume_run(run)
    settings = resumed_settings(run, {"algorithm.data": str(tmp_path / "gone"), "run.max_steps": "200"})
    assert runs.resume_run(settings).steps >= 200
    assert runs.resume_run(resumed_settings(run, {"run.max_steps": "300"})).steps >= 300  # it is kept


def test_matches_without_a_result_teach_decisions_alone(tmp_path: Path) -> None:
    data = record_matches(tmp_path / "cut", "tic_tac_toe", 40, plies=4)
    for toml in (TOML, BOARDS):
        sampler = build_record_sampler(preset_of(data, toml), slabs=1)
        learner = build_learner(preset_of(data, toml))
        slab = sampler.facts.slabs[0]
        sampler.play(slab)
        assert slab.truncated.any()
        assert not slab.terminated.any()
        assert np.isnan(slab.value).all()
        learner.start(slab, 0.0).help(0)
        update = learner.finish()
        assert update.samples == slab.steps * slab.rows
        assert all(np.isfinite(number) for number in update.numbers.values())
        assert all(np.isfinite(array).all() for array in learner.weights().tensors.values())
        sampler.close()


def test_equal_numbers_are_no_difference_of_rules(tmp_path: Path) -> None:
    data = record_matches(tmp_path / "go", "go", 12, size=3, komi="2", resignation="on")
    settings = {"game__name": "go", "game__params__size": 3, "game__params__komi": 2.0}
    with pytest.raises(ConfigError, match="resignation = off: the matches have on") as error:
        build_record_sampler(preset_of(data, BOARDS, **settings), slabs=1)
    assert "komi" not in str(error.value)


def test_the_learner_chooses_what_it_observes_of_go(tmp_path: Path) -> None:
    """Features of records are replaced; their komi stays."""
    data = record_matches(tmp_path / "go", "go", 12, size=3, komi=1.5)
    settings: dict[str, object] = {"game__name": "go", "game__params__size": 3}
    settings |= {"game__params__features": "rich", "game__params__komi": 7.5}
    sampler = build_record_sampler(preset_of(data, BOARDS, **settings), slabs=1)
    (slab,) = filled(sampler, 1)
    shapes = {t.name: t.packed_shape for t in game_spec("go", {"size": "3", "features": "rich"}).observation}
    assert {name: array.shape[2:] for name, array in slab.obs.items()} == shapes
    assert slab.terminated.any()
    sampler.close()
    with pytest.raises(ConfigError, match=r"game\.params\.size = 5: the matches have 3"):
        build_record_sampler(preset_of(data, BOARDS, **(settings | {"game__params__size": 5})), slabs=1)


def test_recorded_players_decide_as_often_as_the_clone(tmp_path: Path) -> None:
    data = tmp_path / "bots"
    params = {"commands": "combined"}
    order = BotMatches(
        "minirts", data, params, ("simple",), 6, frame_skip=(50,), split=SplitRule(held_out=0.3)
    )
    record_bots(order)
    settings: dict[str, object] = {"game__name": "minirts", "game__params__commands": "combined"}
    settings |= {"policy__inputs": "globals"}
    sampler = build_record_sampler(preset_of(data, TOML, game__frame_skip=50, **settings), slabs=1)
    (slab,) = filled(sampler, 1)
    assert (slab.active == 1).all()
    sampler.close()
    with pytest.raises(ConfigError, match=r"every 50 ticks; expected game\.frame_skip = 20"):
        build_record_sampler(preset_of(data, TOML, game__frame_skip=20, **settings), slabs=1)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{"run__lag": "async"}, {"algorithm__parts": 2, "run__threads": 4}])
def test_other_ways_to_data_sets(tmp_path: Path, data: Path, changes: dict[str, object]) -> None:
    result = start_run(preset_of(data, TOML, **changes), tmp_path / "run")
    assert result.steps >= 500


ALPHAZERO = """
[game]
name = "tic_tac_toe"
[algorithm]
name = "alphazero"
batch_size = 32
round_positions = 150
sample_reuse = 1.0
window_matches_min = 30
statistics_batches = 2
gate = true
gate_matches = 8
[algorithm.search]
visits = 8
[algorithm.self_play]
slots = 8
[policy]
network = "resnet"
blocks = 1
filters = 8
[evaluation]
every_steps = 0
matches = 0
final_matches = 2
against = ["random"]
visits = 4
[run]
max_steps = 300
threads = 1
"""


def test_alphazero_starts_from_a_clone_plays_gates_and_resumes(tmp_path: Path, data: Path) -> None:
    clone, run = tmp_path / "clone", tmp_path / "run"
    start_run(preset_of(data, BOARDS, run__max_steps=200, evaluation__every_steps=0), clone)
    preset = parse_preset(ALPHAZERO.encode(), "a", overrides={"run.start": f"{clone}@last"}).preset
    initial = build_alphazero(preset).learner.weights().tensors
    for name, tensor in read_weights(last_weights(clone)).tensors.items():
        assert tensor.tobytes() == initial[name].tobytes(), name
    start_run(preset, run)
    assert any(row["event"] == "gate" for row in read_jsonl(run / "events.jsonl"))
    more = resume_run(
        run, more=lambda p: msgspec.structs.replace(p, run=msgspec.structs.replace(p.run, max_steps=600))
    )
    assert more.steps >= 600
    player = resolve_player(f"{clone}@last+search:4", game_spec("tic_tac_toe"))
    assert player.search is not None
