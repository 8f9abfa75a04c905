"""Decisions of a population are carried out: copies, settings, new game parameters."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from ludus.algorithms.learner import SlabLearner
from ludus.presets.config import Preset
from ludus.presets.file import parse_preset
from ludus.storage import RunDirectory
from ludus.storage.journal import Journal
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.league.components import build_league
from ludus.training.runs import start_run
from tests.unit.training.league.test_league_runs import LEAGUE, assert_equal_runs, start_members
from tests.unit.training.runs import Recorder, resume_run

MEMBER = """
[[league.players]]
name = "{name}"
role = "population"
[league.players.tune."algorithm.learning_rate"]
low = 1e-4
high = 1e-1
start = [1e-3, 1e-2]
[league.players.tune."game.params.reward_wood"]
low = 0.0
high = 1.0
how = "resample"
start = [0.1]
"""
POPULATION = """
[game.params]
mode = "one_vs_one"
[league.population]
rule = "ftw"
every = 400
below = 0.9
mutation = 1.0
"""


def population(lag: str = "pipelined", steps: int = 2500) -> Preset:
    head, _, _ = LEAGUE.format(game="pommerman", lag=lag, steps=steps).partition("[league]")
    text = head.replace("dense = []", "dense = []\nchannels = [4]\nstrides = [4]")
    members = "".join(MEMBER.format(name=name) for name in ("p0", "p1"))
    return parse_preset((text + POPULATION + members).encode(), "population").preset


def test_members_copy_each_other_and_change_settings(tmp_path: Path) -> None:
    sink = Recorder()
    start_run(population(), tmp_path / "run", sinks=[sink])
    with Journal.read(tmp_path / "run" / "league.sqlite") as journal:
        kinds = [row.kind for row in journal.rows()]
    assert kinds.count("copied") >= 2
    for name in ("p0", "p1"):
        versions = [u.version for u in sink.updates if u.player == name]
        assert versions == sorted(set(versions))
        assert len({u.numbers["learner/learning_rate"] for u in sink.updates if u.player == name}) > 1
    assert not [text for text in sink.messages if text.startswith("problem")]


def test_a_resumed_population_continues_as_one_that_never_stopped(tmp_path: Path) -> None:
    start_run(population(), tmp_path / "whole")
    start_run(population(steps=1300), tmp_path / "parted")
    config = tmp_path / "parted" / "config.toml"
    config.write_text(config.read_text().replace("max_steps = 1300", "max_steps = 2500"))
    resume_run(tmp_path / "parted")
    assert_equal_runs(tmp_path / "whole", tmp_path / "parted")


@pytest.mark.slow
def test_members_of_one_entry_train_as_those_of_two(tmp_path: Path) -> None:
    written_out = population(steps=1300)
    assert written_out.league is not None
    entry = msgspec.structs.replace(written_out.league.players[0], name="p", count=2)
    league = msgspec.structs.replace(written_out.league, players=(entry,))
    start_run(written_out, tmp_path / "two")
    start_run(msgspec.structs.replace(written_out, league=league), tmp_path / "one")
    assert "count = 2" in (tmp_path / "one" / "config.toml").read_text()
    assert_equal_runs(tmp_path / "two", tmp_path / "one")


def test_a_copy_has_the_weights_and_keeps_its_version(tmp_path: Path) -> None:
    built = build_league(population())
    threads = LearnerThreads(0)
    try:
        start_members(built, threads)
        one, other = built.members.values()
        before, time_step = other.version, other.components.sampler.state.time_step
        old_sampler = other.components.sampler
        other.copy(one)
        assert other.version == before + 1
        assert other.set_hyper({"algorithm.learning_rate": 0.05, "game.params.reward_wood": 0.7})
        assert other.components.sampler.facts.params["reward_wood"] == "0.7"
        assert other.components.sampler is other.seating.sampler is not old_sampler
        assert other.components.sampler.state.time_step == time_step
        assert isinstance(other.components.learner, SlabLearner)
        assert other.components.learner.config.learning_rate == 0.05
        copied, source = other.weights().tensors, one.weights().tensors
        assert all(np.array_equal(copied[name], source[name]) for name in source)
        acting = other.components.actor.network.state_dict()
        assert all(np.array_equal(acting[name].numpy(), source[name]) for name in source)
        assert not other.set_hyper({"algorithm.learning_rate": 0.01, "game.params.reward_wood": 0.7})
    finally:
        threads.close()
        built.close()


@pytest.mark.slow
def test_a_player_whose_file_is_gone_retires(tmp_path: Path) -> None:
    text = LEAGUE.format(game="matrix", lag="sync", steps=3000)
    start_run(parse_preset(text.encode(), "league").preset, tmp_path / "run")
    run = RunDirectory.open(tmp_path / "run")
    versions = run.frozen.versions("main")
    for version in versions[:-1]:
        run.frozen.path("main", version).unlink()
    config = tmp_path / "run" / "config.toml"
    config.write_text(config.read_text().replace("max_steps = 3000", "max_steps = 5000"))
    sink = Recorder()
    resume_run(tmp_path / "run", sinks=[sink])
    with Journal.read(run.league) as journal:
        retired = {row.member for row in journal.rows() if row.kind == "retired"}
    assert retired
    assert retired <= {f"main:{version}" for version in versions[:-1]}
    assert any("retires from the league" in text for text in sink.messages)
