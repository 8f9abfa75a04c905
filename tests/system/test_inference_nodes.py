"""Thin rollouts on another machine than their server, played by several raylets of this machine."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from ludus.presets.config import ClusterConfig, Preset
from ludus.rollouts.exchange import Sampler
from ludus.training.machines import JoinedMachines

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]' in the clone of Ludus")

import signal

from ray.cluster_utils import Cluster

from ludus.cluster.fleet import Fleet
from ludus.cluster.inference.servers import InferenceServers
from ludus.cluster.processes.crew import Crew
from ludus.cluster.processes.health import HEALTH
from ludus.cluster.remote_sampler import RemoteSampler
from ludus.cluster.session import connect, disconnect
from tests.system.test_cluster import nothing, preset_of, trained

STORE = 100 << 20  # bytes of each machine's object store
MORE = {"policy.memory": "gru", "pool.rollout_length": "16"}


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A cluster of a head that decides nothing and a machine with room for a server."""
    for name, value in HEALTH.items():
        monkeypatch.setenv(name, value)
    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE},
    )
    made.add_node(num_cpus=1, object_store_memory=STORE)
    connect(ClusterConfig(address=made.address))
    yield made
    disconnect()
    made.shutdown()


@pytest.mark.slow
def test_a_server_on_another_machine_gives_the_bits_of_one_process(nodes: Cluster) -> None:
    here = trained(preset_of("minirts", more=MORE), lambda p: JoinedMachines(2).sampler(p), 5, nothing)
    cluster = {"cluster.inference": "1", "cluster.address": nodes.address}
    preset = preset_of("minirts", "sync", 2, MORE | cluster)
    servers = InferenceServers(preset)
    nodes.add_node(num_cpus=2, object_store_memory=STORE)
    crew = Crew(preset)

    def make(preset: Preset) -> Sampler:
        return RemoteSampler(Fleet(preset, crew=crew, servers=servers), 2)

    def kill(sampler: Sampler, version: int) -> None:
        if version == 2:
            threading.Timer(0.05, os.kill, (servers.pids()[0], signal.SIGKILL)).start()

    try:
        there = trained(preset, make, 5, kill)
        assert servers.deaths == 1
    finally:
        crew.close()
        servers.close()
    assert there == here
