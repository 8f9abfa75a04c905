"""Learners of a group on a named cluster: places that are reserved, and ranks that meet at a port."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.reporting.metrics import UpdateMetrics
from ludus.training.runs import start_run
from tests.unit.training.runs import Recorder, small_preset
from tests.unit.training.test_runs import last_weights, same_weights

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]' in the clone of Ludus")

from ray.cluster_utils import Cluster

from ludus.cluster.machines import RayMachines
from ludus.cluster.processes.health import HEALTH

STORE = 150 << 20  # bytes of the object store


@pytest.fixture
def head(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A cluster with three processors: two rollouts and a rank."""
    for name, value in HEALTH.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 3, "include_dashboard": False, "object_store_memory": STORE},
    )
    yield made
    made.shutdown()


class Machines(RayMachines):
    """Machines whose rank 1 can be found."""

    def kill_rank(self) -> None:
        """End the process of rank 1."""
        assert self._ranks is not None
        os.kill(self._ranks.pids[0], signal.SIGKILL)


class KillAt(Recorder):
    """Sink that kills rank 1 once, after the third update."""

    def __init__(self, machines: Machines) -> None:
        super().__init__()
        self._machines, self._killed = machines, False

    def update(self, metrics: UpdateMetrics) -> None:
        """See :meth:`Sink.update`."""
        super().update(metrics)
        if metrics.version == 3 and not self._killed:
            self._killed = True
            self._machines.kill_rank()


def preset_of(address: str, learners: int = 2) -> Preset:
    """Return a run of a few updates on the cluster at ``address``."""
    ends = {"evaluation__every_steps": 0, "evaluation__matches": 0, "evaluation__final_matches": 0}
    run = {"run__max_steps": 800, "run__threads": 1, "run__checkpoint_every_minutes": 0.0001}
    where = {"cluster__rollouts": learners, "cluster__learners": learners, "cluster__address": address}
    return small_preset(**(ends | run | where))


@pytest.mark.slow
def test_a_group_on_a_named_cluster_continues_after_the_death_of_a_rank(
    head: Cluster, tmp_path: Path
) -> None:
    preset = preset_of(head.address)
    with closing(Machines(preset, print)) as machines:
        start_run(preset, tmp_path / "whole", machines=machines)
        recorder = KillAt(machines)
        start_run(preset, tmp_path / "killed", sinks=[recorder], machines=machines)
    assert [text for text in recorder.messages if "rank 1 of 2 is gone" in text]
    assert same_weights(last_weights(tmp_path / "killed"), last_weights(tmp_path / "whole"))


@pytest.mark.slow
def test_ranks_without_room_are_refused_with_both_numbers(
    head: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ludus.cluster.ranks.START_S", 1.0)
    monkeypatch.setattr("ludus.cluster.ranks.REPORT_S", 0.5)
    preset = preset_of(head.address, learners=5)
    lines: list[str] = []
    refused = pytest.raises(ConfigError, match=r"cluster\.learners = 5: 4 CPUs asked, 3 free after 1 s")
    with closing(RayMachines(preset, lines.append)) as machines, refused:
        start_run(preset, tmp_path / "run", machines=machines)
    assert "learners: 4 CPUs asked, 3 free" in lines
    assert not (tmp_path / "run").exists()
