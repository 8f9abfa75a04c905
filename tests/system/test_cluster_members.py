"""Members of a league in processes by Ray against members that take turns: equal journals and weights.

One cluster serves the module: starting one takes seconds. Each run starts its members' processes.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from shutil import copyfile
from typing import Any

import msgspec
import pytest

from ludus.presets.config import ClusterConfig, Preset
from ludus.presets.errors import ConfigError
from ludus.presets.file import load_preset
from ludus.reporting.metrics import UpdateMetrics
from ludus.storage import RunDirectory
from ludus.training.machines import LOCAL, JoinedMachines
from ludus.training.resumed import resumed_settings
from ludus.training.runs import resume_run, start_run
from tests.system.test_parallel_league import alphastar, in_processes, kinds, rows_of
from tests.unit.training.league.test_league_runs import LEAGUE, assert_equal_runs, league_preset
from tests.unit.training.league.test_populations import population
from tests.unit.training.runs import Recorder

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]' in the clone of Ludus")

import ray

from ludus.cluster.machines import RayMachines
from ludus.cluster.members import starting
from ludus.cluster.members.hosts import ActorHosts
from ludus.cluster.processes.reaper import descendants
from ludus.training.league.remote.link import MemberHosts

PENNIES = """
from ludus.flow import HeadSpec
from ludus.games.python_game import declare, tensor


class Pennies:
    \"\"\"Four rounds in which the first seat wants equal sides, and the second other ones.\"\"\"

    truncated = False

    def __init__(self):
        observation = [tensor("tick", (1,), "u8", low=0, high=255)]
        self.spec = declare("pennies", seats=2, observation=observation, heads=[HeadSpec("side", 2)])

    def reset(self, seed):
        self.tick, self.lead, self.last = 0, 0, 0

    def to_act(self):
        return (0, 1)

    def step(self, actions):
        self.tick += 1
        self.last = 1 if int(actions[0, 0]) == int(actions[1, 0]) else -1
        self.lead += self.last
        return self.tick == 4

    def rewards(self, out):
        out[:] = self.last, -self.last

    def outcome(self, out):
        place = (self.lead > 0) - (self.lead < 0)
        out[:] = place, -place

    def observe(self, seat, out):
        out["tick"][:] = self.tick


GAME = Pennies
"""

pytestmark = pytest.mark.random_order(disabled=True)  # the tests share a cluster


class MemberCluster(RayMachines):
    """The module's cluster, and the members' processes of each start of a run."""

    def __init__(self) -> None:
        super().__init__(league_preset(), print)
        self.made: list[ActorHosts] = []

    def members(self, preset: Preset, ahead: int) -> MemberHosts:
        """Keep the hosts, to be hurt."""
        made = super().members(preset, ahead)
        assert isinstance(made, ActorHosts)
        self.made.append(made)
        return made


@pytest.fixture(scope="module")
def cluster() -> Iterator[MemberCluster]:
    """A cluster of this machine, which is to have eight processors."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ray, "init", partial(ray.init, num_cpus=8))
        made = MemberCluster()
        yield made
        made.close()


def parallel(preset: Preset, **changes: Any) -> Preset:  # noqa: ANN401
    """Return ``preset`` with a process of the cluster for each member."""
    cluster = ClusterConfig(members="parallel")
    return msgspec.structs.replace(preset, cluster=msgspec.structs.replace(cluster, **changes))


class Hurt(Recorder):
    """Sends signals to processes of members when updates are reported."""

    def __init__(self, cluster: MemberCluster, blows: dict[int, Callable[[ActorHosts], None]]) -> None:
        super().__init__()
        self._cluster, self._blows = cluster, dict(blows)

    def update(self, update: UpdateMetrics) -> None:
        super().update(update)
        if (blow := self._blows.pop(len(self.updates), None)) is not None:
            blow(self._cluster.made[-1])


def sent(number: int, member: int) -> Callable[[ActorHosts], None]:
    """Return a function that sends a signal to the process of a member."""
    return lambda of: os.kill(of.pids[member], number)


def killed(is_rank: bool) -> Callable[[ActorHosts], None]:
    """Return a function that kills a rank, or else a rollout, of some member."""

    def kill(of: ActorHosts) -> None:
        hosts = [p for p in descendants(os.getpid()) if command_of(p).startswith(b"ray::RayHost")]
        others = [p for p in hosts if p not in of.pids and is_rank == has_group(p)]
        os.kill(others[0], signal.SIGKILL)

    return kill


def command_of(pid: int) -> bytes:
    """Return the command line of a process."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def has_group(pid: int) -> bool:
    """Return whether a process learns in a group: its exchanges have a thread."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return any("gloo" in (task / "comm").read_text() for task in tasks)


@pytest.mark.slow
def test_members_on_a_cluster_learn_as_those_that_take_turns(cluster: MemberCluster, tmp_path: Path) -> None:
    preset, here, there = league_preset(lag="pipelined", steps=2700), Recorder(), Recorder()
    start_run(in_processes(preset, 0, 1), tmp_path / "here", sinks=[here])
    start_run(parallel(preset), tmp_path / "there", sinks=[there], machines=cluster)
    assert kinds(tmp_path / "here").count("results") >= 20
    assert {"frozen", "reset"} <= set(kinds(tmp_path / "here"))
    assert_equal_runs(tmp_path / "here", tmp_path / "there")
    assert rows_of(here) == rows_of(there)
    assert not [text for text in there.messages if text.startswith("problem")]


@pytest.mark.slow
def test_a_population_on_a_cluster_copies_between_processes(cluster: MemberCluster, tmp_path: Path) -> None:
    preset = population(steps=1300)
    start_run(in_processes(preset, 0, 1), tmp_path / "here")
    start_run(parallel(preset), tmp_path / "there", machines=cluster)
    assert kinds(tmp_path / "here").count("copied") >= 1
    assert_equal_runs(tmp_path / "here", tmp_path / "there")


@pytest.mark.slow
def test_a_run_resumes_with_its_members_elsewhere(cluster: MemberCluster, tmp_path: Path) -> None:
    run = tmp_path / "parted"
    start_run(in_processes(league_preset(steps=2700), 0, 1), tmp_path / "whole")
    start_run(parallel(league_preset(steps=900)), run, machines=cluster)
    for steps, members in (("1800", "turns"), ("2700", "parallel")):
        resumed = resumed_settings(run, {"run.max_steps": steps, "cluster.members": members})
        resume_run(resumed, machines=cluster if members == "parallel" else LOCAL)
    assert_equal_runs(tmp_path / "whole", run)


@pytest.mark.slow
def test_a_member_that_is_killed_or_stopped_loses_nothing(
    cluster: MemberCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ludus.cluster.processes.actors.PATIENCE_S", 1.0)
    start_run(in_processes(alphastar(steps=3000), 0, 2), tmp_path / "whole")
    recorder = Hurt(cluster, {9: sent(signal.SIGKILL, 1), 17: sent(signal.SIGSTOP, 0)})
    before = len(cluster.made)
    start_run(parallel(alphastar(steps=3000)), tmp_path / "hurt", sinks=[recorder], machines=cluster)
    assert len(cluster.made) == before + 3
    text = "\n".join(recorder.messages)
    assert "the process of main-exploiter is gone" in text
    assert "the process of main is gone: it stopped answering" in text
    assert_equal_runs(tmp_path / "whole", tmp_path / "hurt")


@pytest.mark.slow
def test_members_on_a_cluster_need_no_order(cluster: MemberCluster, tmp_path: Path) -> None:
    recorder = Recorder()
    start_run(parallel(alphastar("async", steps=3000)), tmp_path / "run", sinks=[recorder], machines=cluster)
    assert {u.player for u in recorder.updates} == {"main", "main-exploiter", "league-exploiter"}
    assert max(lag for u in recorder.updates for lag in u.lag) <= 2  # rounds ahead
    changes = {"run.max_steps": "3500"}
    assert resume_run(resumed_settings(tmp_path / "run", changes), machines=cluster).steps >= 3500


@pytest.mark.slow
def test_a_game_in_a_file_and_weights_of_a_seed_travel(
    cluster: MemberCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The members' processes have another current folder: a relative name there is no file."""
    (tmp_path / "pennies.py").write_text(PENNIES)
    text = LEAGUE.format(game=tmp_path / "pennies.py", lag="sync", steps=900)
    (tmp_path / "first.toml").write_text(text.replace("threads = 2", "threads = 2\nseed = 5"))
    start_run(load_preset(str(tmp_path / "first.toml")).preset, tmp_path / "first")
    copyfile(RunDirectory.open(tmp_path / "first").frozen.path("main", 0), tmp_path / "seed.safetensors")
    monkeypatch.chdir(tmp_path)
    text = text.replace('role = "pfsp"', 'role = "pfsp"\nseed = "seed.safetensors"')
    (tmp_path / "league.toml").write_text(text)
    preset = load_preset("league.toml").preset
    start_run(in_processes(preset, 0, 1), tmp_path / "here")
    start_run(parallel(preset), tmp_path / "there", machines=cluster)
    assert_equal_runs(tmp_path / "here", tmp_path / "there")


# ---- rollouts of each member ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("rollouts", [1, 2])
def test_members_with_rollouts_learn_as_those_that_take_turns_on_joined_samplers(
    cluster: MemberCluster, tmp_path: Path, rollouts: int
) -> None:
    preset = league_preset(lag="pipelined", steps=rollouts * 2000)
    machines = JoinedMachines(rollouts) if rollouts > 1 else LOCAL
    start_run(in_processes(preset, 0, 1), tmp_path / "here", machines=machines)
    start_run(parallel(preset, rollouts=rollouts), tmp_path / "there", machines=cluster)
    assert kinds(tmp_path / "here").count("results") >= 15
    assert {"frozen", "reset"} <= set(kinds(tmp_path / "here"))
    assert_equal_runs(tmp_path / "here", tmp_path / "there")


@pytest.mark.slow
def test_members_with_ranks_learn_together_and_go_on_when_one_dies(
    cluster: MemberCluster, tmp_path: Path
) -> None:
    """Resets and copies reach all ranks: these compare their parameters at every checkpoint."""
    preset = parallel(league_preset(steps=3000), rollouts=2, learners=2)
    start_run(preset, tmp_path / "whole", machines=cluster)
    assert {"frozen", "reset"} <= set(kinds(tmp_path / "whole"))
    recorder, before = Hurt(cluster, {4: killed(is_rank=True)}), len(cluster.made)
    start_run(preset, tmp_path / "hurt", sinks=[recorder], machines=cluster)
    assert len(cluster.made) == before + 2
    assert "rank 1 of 2 is gone" in "\n".join(recorder.messages)
    assert_equal_runs(tmp_path / "whole", tmp_path / "hurt")


@pytest.mark.slow
def test_a_member_plays_on_after_the_death_of_a_rollout(cluster: MemberCluster, tmp_path: Path) -> None:
    recorder, before = Hurt(cluster, {8: killed(is_rank=False)}), len(cluster.made)
    preset = parallel(league_preset(steps=3000), rollouts=1)
    assert start_run(preset, tmp_path / "run", sinks=[recorder], machines=cluster).steps >= 3000
    assert len(cluster.made) == before + 1
    assert not [text for text in recorder.messages if text.startswith("problem")]
    assert {update.player for update in recorder.updates[8:]} == {"main", "exploiter"}
    assert max(u.numbers["cluster/deaths"] for u in recorder.updates) == 1


# ---- bad input --------------------------------------------------------------------------------------


def test_processors_of_members_and_their_rollouts_are_counted() -> None:
    here = ClusterConfig(members="parallel", cpus=2, gpus=0.5)
    assert starting.wanted_of(here, 3) == (6, 1.5)
    with_rollouts = msgspec.structs.replace(here, rollouts=4)
    assert starting.wanted_of(with_rollouts, 3) == (24, 7.5)  # members share processors here
    there = msgspec.structs.replace(with_rollouts, address="10.0.0.1:6379")
    assert starting.wanted_of(there, 3) == (30, 7.5)


@pytest.mark.slow
def test_too_few_processors_are_refused_with_both_numbers(
    cluster: MemberCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "all_cpus", lambda: 2.0)
    wanted = r'^cluster\.members = "parallel": 4 CPUs asked, 2 there on this machine, for 2 members; set '
    with pytest.raises(ConfigError, match=wanted):
        start_run(parallel(league_preset(), cpus=2), tmp_path / "run", machines=cluster)
    assert not (tmp_path / "run").exists()
