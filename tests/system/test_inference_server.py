"""Thin rollouts and inference servers against one process, bit for bit, and what happens when servers die.

One cluster serves the module: starting it takes seconds.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from ludus.presets.config import ClusterConfig, Preset
from ludus.presets.errors import ConfigError
from ludus.rollouts.exchange import Sampler
from ludus.training.machines import JoinedMachines
from ludus.training.runs import start_run
from tests.unit.training.league.test_league_runs import assert_equal_runs, journal_rows, league_preset
from tests.unit.training.runs import small_preset
from tests.unit.training.test_imitation_runs import preset_of as imitation
from tests.unit.training.test_imitation_runs import weights_of
from tests.unit.training.test_runs import last_weights, same_weights

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]' in the clone of Ludus")

import ray

from ludus.cluster import session
from ludus.cluster.fleet import Fleet
from ludus.cluster.inference.servers import InferenceServers
from ludus.cluster.machines import RayMachines
from ludus.cluster.processes.crew import Crew
from ludus.cluster.remote_sampler import RemoteSampler
from tests.system.test_cluster import assert_each_once, nothing, preset_of, trained

pytestmark = pytest.mark.random_order(disabled=True)  # the tests share a cluster and its processes
CPUS = 8  # that the cluster believes to have


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """A cluster of this machine, with room for four rollouts and two servers."""
    init = ray.init
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ray, "init", lambda **options: init(num_cpus=CPUS, **options))
        session.connect(ClusterConfig())
    yield
    _shared.close()
    session.disconnect()


class SharedProcesses:
    """Rollouts and a server on which the tests play; others take their place when one has died."""

    def __init__(self) -> None:
        self._crew: Crew | None = None
        self._servers: InferenceServers | None = None

    def of(self, preset: Preset) -> tuple[Crew, InferenceServers]:
        """Return processes for as many rollouts and servers as ``preset`` has."""
        wanted = preset.cluster
        if self._servers is not None and len(self._servers) != wanted.inference:
            self.close()
        if self._crew is not None and (self._crew.deaths or len(self._crew) != wanted.rollouts):
            self._crew.close()
            self._crew = None
        self._servers = self._servers or InferenceServers(preset)
        self._crew = self._crew or Crew(preset)
        return self._crew, self._servers

    def close(self) -> None:
        """End all. Idempotent."""
        if self._crew is not None:
            self._crew.close()
        if self._servers is not None:
            self._servers.close()
        self._crew = self._servers = None


_shared = SharedProcesses()


def served(preset: Preset) -> Sampler:
    """Return a sampler over thin rollouts."""
    crew, servers = _shared.of(preset)
    fleet = Fleet(preset, crew=crew, servers=servers)
    return RemoteSampler(fleet, 2, joined=preset.run.lag != "async")


def joined(count: int) -> Callable[[Preset], Sampler]:
    """Return a maker of samplers of one process that join ``count``."""
    return lambda preset: JoinedMachines(count).sampler(preset)


def thin(name: str, lag: str, rollouts: int, more: dict[str, str]) -> Preset:
    """Return a preset with thin rollouts and one server."""
    return preset_of(name, lag, rollouts, more | {"cluster.inference": "1"})


def test_thin_rollouts_load_neither_torch_nor_networks() -> None:
    preset = thin("tic_tac_toe", "sync", 2, {})
    with closing(served(preset)) as sampler:
        assert isinstance(sampler, RemoteSampler)
        for actor in sampler.fleet._rollouts.actors:
            loaded = set(actor.ask("modules").first())
            assert {"numpy", "ludus.inference.client"} <= loaded
            assert not {"torch", "ludus.policies.network", "ludus.rollouts.network_actor"} & loaded
            settings = {"ludus.policies", "ludus.policies.config", "ludus.policies.encoders"}
            assert {name for name in loaded if name.startswith("ludus.policies")} <= settings


@pytest.mark.parametrize(
    ("name", "lag", "updates", "more"),
    [
        ("minirts", "pipelined", 3, {"policy.memory": "gru"}),
        pytest.param("minirts", "sync", 4, {"policy.memory": "lstm"}, marks=pytest.mark.slow),
        pytest.param("minirts", "sync", 10, {}, marks=pytest.mark.slow),
        pytest.param("minirts-dqn", "sync", 4, {"algorithm.learning_starts": "64"}, marks=pytest.mark.slow),
        pytest.param("minirts-imitation", "pipelined", 4, {}, marks=pytest.mark.slow),
        pytest.param("minirts-units", "sync", 3, {}, marks=pytest.mark.slow),
    ],
)
def test_four_thin_rollouts_and_a_server_give_the_bits_of_one_process(
    name: str, lag: str, updates: int, more: dict[str, str]
) -> None:
    here = trained(preset_of(name, lag, more=more), joined(4), updates, nothing)
    there = trained(thin(name, lag, 4, more), served, updates, nothing)
    assert there == here


def when_asked(sampler: Sampler, version: int, act: Callable[[InferenceServers], None]) -> None:
    """Call ``act`` a moment after the third update, in a thread: rollouts play the next slab then."""
    if version == 3:
        assert isinstance(sampler, RemoteSampler)
        _, servers = _shared.of(sampler.fleet._preset)
        threading.Timer(0.02, act, (servers,)).start()


@pytest.mark.slow
@pytest.mark.parametrize(("ends", "patience_s"), [(signal.SIGKILL, 10.0), (signal.SIGSTOP, 1.0)])
def test_a_server_that_dies_in_mid_match_is_replaced_and_nothing_is_lost_or_counted_twice(
    ends: signal.Signals, patience_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ludus.cluster.processes.actors.PATIENCE_S", patience_s)
    more = {"pool.rollout_length": "64", "policy.memory": "gru"}
    here = trained(preset_of("minirts", more=more), joined(2), 6, nothing)
    ended: list[int] = []

    def end(servers: InferenceServers) -> None:
        ended.extend(servers.pids())
        os.kill(ended[0], ends)

    _, servers = _shared.of(thin("minirts", "sync", 2, more))
    before, losses = servers.deaths, list[int]()

    def each(sampler: Sampler, version: int) -> None:
        when_asked(sampler, version, end)
        if version == 6:
            assert isinstance(sampler, RemoteSampler)
            losses.extend(actor.ask("losses").first() for actor in sampler.fleet._rollouts.actors)

    there = trained(thin("minirts", "sync", 2, more), served, 6, each)
    assert len(ended) == 1
    assert servers.deaths == before + 1
    assert sum(losses) > 0, "no rollout waited for the server when it ended"
    assert servers.pids() != ended
    assert there == here
    assert_each_once(there.results)


@pytest.mark.slow
def test_a_thin_rollout_that_is_killed_is_replaced_and_no_match_counts_twice() -> None:
    killed: list[int] = []

    def kill_once(sampler: Sampler, version: int) -> None:
        assert isinstance(sampler, RemoteSampler)
        if version == 4 and not killed:
            killed.append(sampler.fleet.pids()[1])
            os.kill(killed[0], signal.SIGKILL)

    after = trained(thin("tic_tac_toe", "sync", 2, {}), served, 12, kill_once)
    assert len(killed) == 1
    assert len(after.results) > 12
    assert_each_once(after.results)


class Machines(RayMachines):
    """The module's processes, which stay."""

    def __init__(self, preset: Preset) -> None:
        self._report = print
        self._crew, self._servers = _shared.of(preset)

    def close(self) -> None:
        """Do nothing: the next test plays on the same processes."""


def past(**changes: object) -> Preset:
    """Return a run of twelve updates against past weights."""
    more = {"run__max_steps": 1200, "run__lag": "pipelined", "evaluation__every_steps": 0}
    ends = {"evaluation__matches": 0, "evaluation__final_matches": 0}
    opponents = {"opponents__0__name": "past", "opponents__0__past_every": 2}
    return small_preset(**(more | ends | opponents | changes))


@pytest.mark.slow
@pytest.mark.parametrize("idle", [64, 0])
def test_frozen_opponents_are_served(idle: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Players that servers have dropped are added again before they play."""
    monkeypatch.setattr("ludus.cluster.inference.servers.IDLE_PLAYERS", idle)
    start_run(past(), tmp_path / "joined", machines=JoinedMachines(2))
    preset = past(cluster__rollouts=2, cluster__inference=1)
    with closing(Machines(preset)) as machines:
        start_run(preset, tmp_path / "run", machines=machines)
    assert same_weights(last_weights(tmp_path / "run"), last_weights(tmp_path / "joined"))


def test_a_league_is_served_its_frozen_and_its_live_opponents(tmp_path: Path) -> None:
    preset = league_preset(steps=2700)
    start_run(preset, tmp_path / "here", machines=JoinedMachines(2))
    there = msgspec.structs.replace(preset, cluster=ClusterConfig(rollouts=2, inference=1))
    with closing(Machines(there)) as machines:
        start_run(there, tmp_path / "there", machines=machines)
    assert {"frozen", "results"} <= {str(row[1]) for row in journal_rows(tmp_path / "here")}
    assert_equal_runs(tmp_path / "here", tmp_path / "there")


@pytest.mark.slow
def test_opponents_of_the_zoo_are_served() -> None:
    more = {"opponents.0.name": "zoo:capture-the-flag-easy"}
    here = trained(preset_of("capture-the-flag", more=more), joined(2), 3, nothing)
    there = trained(thin("capture-the-flag", "sync", 2, more), served, 3, nothing)
    assert there == here


@pytest.mark.parametrize("greedy", ["false", pytest.param("true", marks=pytest.mark.slow)])
def test_teachers_with_weights_are_served(greedy: str, tmp_path: Path) -> None:
    teacher = weights_of(tmp_path / "teacher", policy__memory="gru", policy__memory_size=8)
    changes = {"algorithm__teacher": teacher, "algorithm__greedy": greedy, "pool__slots": 8}
    here = trained(imitation(**changes), joined(2), 3, nothing)
    preset = imitation(**changes, cluster__rollouts=2, cluster__inference=1)
    assert trained(preset, served, 3, nothing) == here


def test_a_teacher_that_searches_is_refused() -> None:
    more = {"algorithm.name": "imitation", "algorithm.teacher": "mcts:4"}
    with pytest.raises(ConfigError, match=r"cluster\.inference = 1: expected 0 where mcts:4 plays"):
        served(thin("tic_tac_toe", "sync", 2, more))


def test_async_joins_requests_of_several_rollouts() -> None:
    preset = thin("minirts", "async", 2, {"run.max_lag": "4"})
    _, servers = _shared.of(preset)
    after = trained(preset, served, 8, nothing)
    assert_each_once(after.results)
    ((calls, rows),) = servers.counts()
    assert rows > calls > 0


@pytest.mark.slow
def test_two_servers_give_the_bits_of_one_process() -> None:
    here = trained(preset_of("minirts"), joined(4), 4, nothing)
    preset = preset_of("minirts", "sync", 4, {"cluster.inference": "2"})
    assert trained(preset, served, 4, nothing) == here
    assert all(calls > 0 for calls, _ in _shared.of(preset)[1].counts())
