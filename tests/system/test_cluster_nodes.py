"""Machines that die under a run, played by several raylets of this machine."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ludus.presets.config import ClusterConfig, Preset
from ludus.reporting.metrics import UpdateMetrics
from ludus.rollouts.exchange import Sampler
from ludus.training.actor_learner.trainer import slabs_of
from ludus.training.runs import start_run
from tests.unit.training.league.test_league_runs import assert_equal_runs, league_preset
from tests.unit.training.runs import Recorder

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]' in the clone of Ludus")

import signal

import ray
from ray.cluster_utils import Cluster

from ludus.cluster.fleet import Fleet
from ludus.cluster.machines import RayMachines
from ludus.cluster.processes.health import HEALTH
from ludus.cluster.remote_sampler import RemoteSampler
from ludus.cluster.session import connect, disconnect
from tests.system.test_cluster import assert_each_once, preset_of, trained

STORE = 100 << 20  # bytes of each machine's object store


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A cluster of a head that plays nothing and two machines with a processor each."""
    for name, value in HEALTH.items():
        monkeypatch.setenv(name, value)
    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE},
    )
    for _ in range(2):
        made.add_node(num_cpus=1, object_store_memory=STORE)
    connect(ClusterConfig(address=made.address))
    yield made
    disconnect()
    made.shutdown()


def on_nodes(preset: Preset) -> Sampler:
    """Return a sampler over separate rollouts."""
    return RemoteSampler(Fleet(preset), slabs_of(preset.run))


def fleet_of(sampler: Sampler) -> list[int]:
    """Return the process ids of the rollouts."""
    assert isinstance(sampler, RemoteSampler)
    return sampler.fleet.pids()


@pytest.mark.slow
def test_a_run_outlives_a_machine_and_counts_no_match_twice(nodes: Cluster) -> None:
    """The raylet of one rollout is killed; its successor starts on a machine that joined later."""
    killed: list[str] = []

    def kill_once(sampler: Sampler, version: int) -> None:
        if version == 2 and not killed:
            assert len(fleet_of(sampler)) == 2
            first, *_ = nodes.worker_nodes
            killed.append(first.node_id)
            nodes.add_node(num_cpus=1, object_store_memory=STORE)
            nodes.remove_node(first, allow_graceful=False)

    more = {"cluster.address": nodes.address}
    after = trained(preset_of("tic_tac_toe", rollouts=2, more=more), on_nodes, 6, kill_once)
    assert len(killed) == 1
    assert len(after.results) > 0
    assert_each_once(after.results)
    alive = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
    assert killed[0] not in alive


class OnNodes(RayMachines):
    """The machines of the module's cluster."""

    def __init__(self) -> None:
        self._report = print


class KillNode(Recorder):
    """Kills a machine, once, after some updates; another one joins before."""

    def __init__(self, nodes: Cluster, after: int) -> None:
        super().__init__()
        self._nodes, self._after = nodes, after

    def update(self, update: UpdateMetrics) -> None:
        super().update(update)
        if len(self.updates) == self._after:
            first, *_ = self._nodes.worker_nodes
            self._nodes.add_node(num_cpus=1, object_store_memory=STORE)
            self._nodes.remove_node(first, allow_graceful=False)


@pytest.mark.slow
def test_members_on_two_machines_go_on_when_one_dies(nodes: Cluster, tmp_path: Path) -> None:
    """Each machine has room for one member, so that weights of live players pass from one to the other."""
    preset = league_preset(lag="pipelined", steps=2000)
    turns = msgspec.structs.replace(preset, cluster=ClusterConfig(ahead=1))
    start_run(turns, tmp_path / "here")
    cluster = ClusterConfig(members="parallel", address=nodes.address)
    recorder = KillNode(nodes, 8)
    apart = msgspec.structs.replace(preset, cluster=cluster)
    start_run(apart, tmp_path / "there", sinks=[recorder], machines=OnNodes())
    assert "is gone" in "\n".join(recorder.messages)
    assert_equal_runs(tmp_path / "here", tmp_path / "there")


@pytest.mark.slow
def test_two_minutes_of_random_kills(nodes: Cluster) -> None:
    """Rollouts are killed or stopped at random; training continues, and no match counts twice."""
    draws, until, events = random.Random(1), time.monotonic() + 120, [0]

    def harm(sampler: Sampler, version: int) -> None:
        if time.monotonic() < until and draws.random() < 0.02:
            events[0] += 1
            number = draws.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP])
            os.kill(draws.choice(fleet_of(sampler)), number)

    more = {"cluster.address": nodes.address}
    after = trained(preset_of("tic_tac_toe", rollouts=2, more=more), on_nodes, 3000, harm)
    assert events[0] > 5
    assert_each_once(after.results)
