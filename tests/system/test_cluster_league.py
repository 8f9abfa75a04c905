"""Leagues on rollouts by Ray against one process: equal journals and equal weights.

One cluster serves the module: starting one takes seconds. A league of fewer rollouts plays on the first ones.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ludus.presets.config import ClusterConfig, Preset
from ludus.reporting.metrics import UpdateMetrics
from ludus.rollouts.exchange import Sampler
from ludus.training.machines import JoinedMachines
from ludus.training.opponents import Seats
from ludus.training.runs import start_run
from tests.unit.training.league.test_league_runs import (
    assert_equal_runs,
    journal_rows,
    league_preset,
)
from tests.unit.training.league.test_populations import population
from tests.unit.training.runs import Recorder, resume_run

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]' in the clone of Ludus")

from ludus.cluster.fleet import Fleet
from ludus.cluster.machines import RayMachines
from ludus.cluster.remote_sampler import RemoteSampler

pytestmark = pytest.mark.random_order(disabled=True)  # the tests share a cluster and its rollouts

STEPS = 2700  # of all members of a league


def on_rollouts(preset: Preset, rollouts: int) -> Preset:
    """Return ``preset`` on a number of rollouts."""
    return msgspec.structs.replace(preset, cluster=ClusterConfig(rollouts=rollouts))


@pytest.fixture(scope="module")
def machines() -> Iterator[RayMachines]:
    """Two rollouts on a cluster of this machine."""
    made = RayMachines(on_rollouts(league_preset(), 2), print)
    made.sampler(on_rollouts(league_preset(), 2)).close()
    yield made
    made.close()


def kinds(run: Path) -> list[str]:
    """Return the kinds of the events in the journal."""
    return [str(row[1]) for row in journal_rows(run)]


@pytest.mark.slow
def test_a_league_on_one_rollout_has_the_journal_and_weights_of_one_process(
    machines: RayMachines, tmp_path: Path
) -> None:
    preset = league_preset(lag="pipelined", steps=STEPS)
    start_run(preset, tmp_path / "here")
    start_run(on_rollouts(preset, 1), tmp_path / "there", machines=machines)
    assert kinds(tmp_path / "here").count("results") >= 20
    assert {"frozen", "reset"} <= set(kinds(tmp_path / "here"))
    assert_equal_runs(tmp_path / "here", tmp_path / "there")


def test_a_league_on_two_rollouts_has_the_bits_of_two_joined_samplers(
    machines: RayMachines, tmp_path: Path
) -> None:
    preset = league_preset(steps=2 * STEPS)
    start_run(preset, tmp_path / "here", machines=JoinedMachines(2))
    start_run(on_rollouts(preset, 2), tmp_path / "there", machines=machines)
    assert kinds(tmp_path / "here").count("results") >= 20
    assert_equal_runs(tmp_path / "here", tmp_path / "there")


@pytest.mark.slow
def test_a_resumed_league_continues_as_one_that_never_stopped(machines: RayMachines, tmp_path: Path) -> None:
    preset = on_rollouts(league_preset(lag="pipelined", steps=STEPS), 2)
    start_run(preset, tmp_path / "whole", machines=machines)
    start_run(
        on_rollouts(league_preset(lag="pipelined", steps=1500), 2), tmp_path / "parted", machines=machines
    )
    config = tmp_path / "parted" / "config.toml"
    config.write_text(config.read_text().replace("max_steps = 1500", f"max_steps = {STEPS}"))
    resume_run(tmp_path / "parted", machines=machines)
    assert_equal_runs(tmp_path / "whole", tmp_path / "parted")


def test_a_league_resumed_on_fewer_rollouts_starts_its_matches_again(
    machines: RayMachines, tmp_path: Path
) -> None:
    run, recorder = tmp_path / "run", Recorder()
    start_run(on_rollouts(league_preset(steps=1000), 2), run, machines=machines)
    config = run / "config.toml"
    text = config.read_text().replace("max_steps = 1000", "max_steps = 2000")
    config.write_text(text.replace("rollouts = 2", "rollouts = 1"))
    assert resume_run(run, machines=machines, sinks=[recorder]).steps >= 2000
    assert any("it has the matches of 2, now 1 play" in text for text in recorder.messages)


def test_a_population_on_a_rollout_builds_pools_with_new_game_parameters(
    machines: RayMachines, tmp_path: Path
) -> None:
    start_run(population(steps=1300), tmp_path / "here")
    start_run(on_rollouts(population(steps=1300), 1), tmp_path / "there", machines=machines)
    assert kinds(tmp_path / "here").count("copied") >= 1
    assert_equal_runs(tmp_path / "here", tmp_path / "there")


class Fleets(RayMachines):
    """The module's machines, and the fleets of the samplers that a run gets from them."""

    def __init__(self, machines: RayMachines) -> None:
        self._machines, self.made = machines, list[Fleet]()

    def sampler(
        self,
        preset: Preset,
        index: int = 0,
        *,
        slabs: int = 2,
        restarts: int = 0,
        seats: Seats | None = None,
    ) -> Sampler:
        made = self._machines.sampler(preset, index, slabs=slabs, restarts=restarts, seats=seats)
        assert isinstance(made, RemoteSampler)
        self.made.append(made.fleet)
        return made


class Asked(Recorder):
    """Sink that counts the slabs that rollouts were asked for, at each update, and kills a process."""

    def __init__(self, machines: Fleets, kill_at: int = -1) -> None:
        super().__init__()
        self.machines, self.kill_at, self.asked = machines, kill_at, list[int]()

    def update(self, metrics: UpdateMetrics) -> None:
        super().update(metrics)
        self.asked.append(sum(fleet.asked for fleet in self.machines.made))
        if len(self.updates) == self.kill_at:
            (fleet, *_) = self.machines.made
            os.kill(fleet.pids()[1], signal.SIGKILL)


def ahead_of(preset: Preset, rollouts: int) -> Preset:
    """Return ``preset`` two rounds ahead, with a checkpoint only at its end."""
    run = msgspec.structs.replace(preset.run, checkpoint_every_minutes=0.0)
    return msgspec.structs.replace(preset, run=run, cluster=ClusterConfig(rollouts=rollouts, ahead=2))


@pytest.mark.slow
def test_rounds_ahead_are_in_flight_and_change_no_bits(machines: RayMachines, tmp_path: Path) -> None:
    preset = league_preset(lag="pipelined", steps=2500)
    start_run(ahead_of(preset, 0), tmp_path / "here", machines=JoinedMachines(2))
    fleets = Fleets(machines)
    sink = Asked(fleets)
    short = league_preset(lag="pipelined", steps=1250)
    start_run(ahead_of(short, 2), tmp_path / "there", sinks=[sink], machines=fleets)
    assert set(sink.asked) == {2}
    config = tmp_path / "there" / "config.toml"
    config.write_text(config.read_text().replace("max_steps = 1250", "max_steps = 2500"))
    resume_run(tmp_path / "there", machines=machines)
    assert_equal_runs(tmp_path / "here", tmp_path / "there")


@pytest.mark.slow
def test_slabs_ahead_that_died_with_a_rollout_are_played_again_by_one_successor(
    machines: RayMachines, tmp_path: Path
) -> None:
    fleets = Fleets(machines)
    sink = Asked(fleets, kill_at=4)
    result = start_run(
        ahead_of(league_preset(steps=2500), 2), tmp_path / "run", sinks=[sink], machines=fleets
    )
    assert result.steps >= 2500
    assert {fleet.deaths for fleet in fleets.made} == {1}
    assert set(sink.asked) == {2}
    assert {update.player for update in sink.updates[4:]} == {"main", "exploiter"}


class Killing(Recorder):
    """Sink that kills a process once, after five updates."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self.pid = pid

    def update(self, metrics: UpdateMetrics) -> None:
        super().update(metrics)
        if len(self.updates) == 5:
            os.kill(self.pid, signal.SIGKILL)


@pytest.mark.slow
def test_both_members_play_on_after_the_death_of_their_rollout(machines: RayMachines, tmp_path: Path) -> None:
    preset, run = on_rollouts(league_preset(steps=1500), 1), tmp_path / "run"
    sampler = machines.sampler(preset)
    assert isinstance(sampler, RemoteSampler)
    (pid,), deaths = sampler.fleet.pids(), sampler.fleet.deaths
    sink = Killing(pid)
    start_run(preset, run, sinks=[sink], machines=machines)
    assert sampler.fleet.deaths == deaths + 1
    assert sampler.fleet.pids() != [pid]
    assert {update.player for update in sink.updates[5:]} == {"main", "exploiter"}
    sampler.close()
    config = run / "config.toml"
    config.write_text(config.read_text().replace("max_steps = 1500", "max_steps = 2000"))
    assert resume_run(run, machines=machines, sinks=[sink]).steps >= 2000
    config.write_text(config.read_text().replace("max_steps = 2000", "max_steps = 2500"))
    config.write_text(config.read_text().replace("rollouts = 1", "rollouts = 0"))
    assert not [text for text in sink.messages if "start again" in text or text.startswith("problem")]
    assert resume_run(run, sinks=[sink]).steps >= 2500
    assert any("the matches of a rollout that replaced another" in text for text in sink.messages)
