"""Learner of a member that is reset to other weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ludus.flow import Order, Weights
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.file import parse_preset
from ludus.storage import CorruptFile, RunDirectory
from ludus.storage.frozen import FrozenPlayers, LearnerState
from ludus.storage.journal import Journal
from ludus.storage.tensors import encode_tensors
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.sync_loop import Round
from ludus.training.league.components import LeagueComponents, build_league
from ludus.training.league.learner_states import fits, state_beside_network
from ludus.training.league.member import LeagueMember
from ludus.training.runs import start_run
from tests.unit.training.league.test_league_runs import LEAGUE, assert_equal_runs, start_members
from tests.unit.training.runs import Recorder, resume_run

EXPLOITER = 'role = "main_exploiter"'
RESET_TO_BEST = f'{EXPLOITER}\nfrom = {{rule = "best"}}'  # to a frozen player of its own after each freeze


def preset(lag: str = "sync", steps: int = 3000, exploiter: str = RESET_TO_BEST) -> Preset:
    text = LEAGUE.format(game="matrix", lag=lag, steps=steps)
    assert EXPLOITER in text
    return parse_preset(text.replace(EXPLOITER, exploiter).encode(), "league").preset


def dqn_preset(exploiter: str = EXPLOITER) -> Preset:
    text = LEAGUE.format(game="matrix", lag="sync", steps=100).replace(EXPLOITER, exploiter)
    text = text.replace("learning_rate = 1e-2\nminibatches = 1", 'name = "dqn"')
    return parse_preset(text.replace("[policy]", '[policy]\noutput = "q"').encode(), "league").preset


def resets(run: Path) -> list[str]:
    with Journal.read(run / "league.sqlite") as journal:
        return [str(row.body) for row in journal.rows() if row.kind == "reset"]


@pytest.fixture
def league() -> Iterator[LeagueComponents]:
    built = build_league(preset())
    threads = LearnerThreads(0)
    start_members(built, threads)
    yield built
    threads.close()
    built.close()


def play(member: LeagueMember, rounds: int) -> list[Round]:
    return [member.play(0.0, None) for _ in range(rounds)]


def test_the_optimiser_of_the_frozen_player_continues(league: LeagueComponents) -> None:
    one, other = league.members.values()
    play(one, 3)
    weights, state = one.weights(), state_beside_network(one.components.learner)
    play(one, 2)
    assert fits(other.components.learner, state)
    other.reset_to(weights, state)
    arrays, counters = other.components.learner.state()
    assert counters["adam_steps"] == state.counters["adam_steps"] > 0
    assert counters["version"] == 1
    expected = state.arrays | {f"network.{n}": a for n, a in weights.tensors.items()}
    assert arrays.keys() == expected.keys()
    assert all(np.array_equal(arrays[name], expected[name]) for name in arrays)
    other.reset_to(weights)
    arrays, counters = other.components.learner.state()
    assert counters["adam_steps"] == 0
    assert not any(a.any() for n, a in arrays.items() if n.startswith("adam."))
    assert not fits(other.components.learner, LearnerState({}, state.counters))
    assert not fits(other.components.learner, LearnerState(state.arrays, {}))


def test_a_dqn_member_that_is_reset_has_the_weights_in_its_target_too() -> None:
    league = build_league(dqn_preset())
    threads = LearnerThreads(0)
    one, other = league.members.values()
    start_members(league, threads)
    weights = one.weights()
    before, _ = other.components.learner.state()
    assert any(not np.array_equal(before[f"target.{n}"], a) for n, a in weights.tensors.items())
    other.reset_to(weights)
    after, _ = other.components.learner.state()
    for kind in ("network", "target"):
        assert all(np.array_equal(after[f"{kind}.{n}"], a) for n, a in weights.tensors.items())
    threads.close()
    league.close()


def test_waiting_data_is_dropped() -> None:
    """It was collected by other weights; TLeague clears its replay memory."""
    built = build_league(preset("pipelined"))
    threads = LearnerThreads(0)
    try:
        start_members(built, threads)
        member = built.members["exploiter"]
        (done,) = play(member, 1)
        assert done.update is None
        member.reset_to(member.weights())
        assert member.state.counts.dropped == done.received > 0
        first, second = play(member, 2)
        assert first.update is None  # nothing was left to learn from
        assert second.update is not None
        assert second.update.lag == {0: second.update.samples}
    finally:
        threads.close()
        built.close()


def test_an_optimiser_is_stored_where_a_member_may_be_reset_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []
    reset_to = LeagueMember.reset_to

    def watched(member: LeagueMember, weights: Weights, state: LearnerState | None = None) -> None:
        assert state is not None
        steps.append(state.counters["adam_steps"])
        assert state.counters["version"] == weights.meta.version
        reset_to(member, weights, state)

    monkeypatch.setattr(LeagueMember, "reset_to", watched)
    start_run(preset(steps=2400), tmp_path / "run")
    frozen = RunDirectory.open(tmp_path / "run").frozen
    assert len(resets(tmp_path / "run")) == len(steps) >= 1
    assert min(steps) > 0
    for player, kept in (("main", False), ("exploiter", True)):
        versions = frozen.versions(player)
        assert versions[0] == 0
        assert [frozen.learner_path(player, v).is_file() for v in versions] == [
            kept and v > 0 for v in versions
        ]


def test_a_match_that_an_error_ended_does_not_count(league: LeagueComponents) -> None:
    one = next(iter(league.members.values()))
    one.matchmaker.book.add([Order(0, one.name, (one.name, one.name), ("latest",))])
    result = next(r for done in play(one, 3) for r in done.results)
    good = msgspec.structs.replace(result, tag=1)
    one.matchmaker.on_results([good])
    taken = one.matchmaker.take_results()
    assert taken.episodes == sum(t.wins + t.draws + t.losses for t in taken.tallies) == 1
    one.matchmaker.on_results([msgspec.structs.replace(good, error="the game failed")])
    assert one.matchmaker.take_results() == ((), 0, 0.0)


@pytest.mark.slow
def test_a_resumed_league_resets_members_as_one_never_stopped(tmp_path: Path) -> None:
    burning = f"{RESET_TO_BEST}\nvalue_only_updates = 3"
    start_run(preset("pipelined", 2400, burning), tmp_path / "whole")
    start_run(preset("pipelined", 1700, burning), tmp_path / "parted")
    config = tmp_path / "parted" / "config.toml"
    config.write_text(config.read_text().replace("max_steps = 1700", "max_steps = 2400"))
    resume_run(tmp_path / "parted")
    assert_equal_runs(tmp_path / "whole", tmp_path / "parted")
    assert resets(tmp_path / "whole")


def test_a_lost_optimiser_is_reported_and_starts_from_scratch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FrozenPlayers, "save_learner", lambda *_: None)
    sink = Recorder()
    start_run(preset(steps=2000), tmp_path / "run", sinks=[sink])
    messages = [text for text in sink.messages if "; exploiter continues with a new optimiser" in text]
    assert len(messages) == len(resets(tmp_path / "run")) >= 1
    assert all("no such file" in text for text in messages)


def test_a_state_that_is_none_is_refused(tmp_path: Path) -> None:
    frozen = FrozenPlayers(tmp_path)
    state = LearnerState({"adam.first.w": np.ones(3, np.float32)}, {"adam_steps": 4})
    path = frozen.save_learner("main", 7, state)
    again = frozen.load_learner("main", 7)
    assert again.counters == state.counters
    assert np.array_equal(again.arrays["adam.first.w"], state.arrays["adam.first.w"])
    assert frozen.versions("main") == []  # no player
    for raw, message in (
        (b"x", "not a whole safetensors file"),
        (encode_tensors({}, {"ludus": "{"}), "not the state of a learner"),
        (encode_tensors({"a": np.array([np.nan])}, {"ludus": "{}"}), "not finite"),
    ):
        path.write_bytes(raw)
        with pytest.raises(CorruptFile, match=message):
            frozen.load_learner("main", 7)


def test_the_value_alone_learns_after_a_reset(
    league: LeagueComponents, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = league.members["exploiter"]
    monkeypatch.setattr(member, "config", msgspec.structs.replace(member.config, value_only_updates=2))
    first = member.weights()
    play(member, 1)
    member.reset_to(first)
    changed = [_changed(member, lambda: play(member, 1)) for _ in range(3)]
    assert changed[0] | changed[1]
    assert changed[0] | changed[1] <= {"value_head.weight", "value_head.bias"}
    assert changed[2] - {"value_head.weight", "value_head.bias"}


def _changed(member: LeagueMember, act: Callable[[], object]) -> set[str]:
    """Names of the parameters that ``act`` changes."""
    before = member.weights().tensors
    act()
    after = member.weights().tensors
    names = {n for n, _ in member.components.learner.network.named_parameters()}
    return {n for n in names if not np.array_equal(before[n], after[n])}


def test_value_only_updates_count_from_a_seed_or_a_copy_and_not_from_new_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_run(preset(steps=300), tmp_path / "first")
    burning = f'{EXPLOITER}\nvalue_only_updates = 4\nseed = "{tmp_path / "first"}@last"'
    built = build_league(preset(exploiter=burning))
    try:
        assert {n: m.state.value_only for n, m in built.members.items()} == {"main": 0, "exploiter": 4}
    finally:
        built.close()
    built = build_league(preset(exploiter=f"{EXPLOITER}\nvalue_only_updates = 4"))
    try:
        threads = LearnerThreads(0)
        start_members(built, threads)
        member = built.members["exploiter"]
        assert member.state.value_only == 0
        member.copy(built.members["main"])
        assert member.state.value_only == 4
        play(member, 3)
        assert member.state.value_only == 1
        given: list[bool] = []
        run = member.rounds.run

        def noted(progress: float, evaluate: object = None, *, value_only: bool = False) -> Round:
            given.append(value_only)
            return run(progress, None, value_only=value_only)

        monkeypatch.setattr(member.rounds, "run", noted)
        play(member, 2)
        assert given == [True, False]
        threads.close()
    finally:
        built.close()


def test_a_method_without_updates_of_the_value_alone_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"league\.players\.1\.value_only_updates = 4: expected 0, or an "):
        build_league(dqn_preset(f"{EXPLOITER}\nvalue_only_updates = 4"))
