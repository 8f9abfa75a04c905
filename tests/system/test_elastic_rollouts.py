"""Rollouts that join, are drained and die during a run, played by several raylets of this machine.

One cluster serves the module: starting it takes seconds. Its head plays nothing.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from ludus.cli.__main__ import main
from ludus.mcts import Matches
from ludus.presets.config import ClusterConfig, Preset
from ludus.reporting.metrics import UpdateMetrics
from ludus.rollouts.exchange import Sampler
from ludus.storage import RunDirectory
from ludus.storage.jsonl import read_jsonl
from ludus.training.actor_learner.trainer import slabs_of
from ludus.training.machines import JoinedMachines
from ludus.training.runs import start_run
from tests.unit.training.league.test_league_runs import assert_equal_runs, league_preset
from tests.unit.training.runs import Recorder, small_preset
from tests.unit.training.test_runs import last_weights, same_weights

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]' in the clone of Ludus")

from ray.cluster_utils import Cluster

from ludus.cluster.elastic import nodes
from ludus.cluster.fleet import Fleet
from ludus.cluster.machines import RayMachines
from ludus.cluster.processes.crew import Crew
from ludus.cluster.processes.health import HEALTH
from ludus.cluster.remote_sampler import RemoteSampler
from ludus.cluster.session import connect, disconnect
from tests.system import test_cluster_alphazero as alphazero
from tests.system.test_cluster import assert_each_once, preset_of, trained

pytestmark = [pytest.mark.random_order(disabled=True), pytest.mark.slow]

STORE = 100 << 20  # bytes of each machine's object store
WAIT_S = 60.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster of a head that plays nothing."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in HEALTH.items():
            patch.setenv(name, value)
        made = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE},
        )
        yield made
        made.shutdown()


class Machines:
    """Machines with a processor each, by name."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._there = cluster, dict[str, object]()

    def add(self, name: str) -> None:
        """Let a machine join the cluster."""
        self._there[name] = self._cluster.add_node(num_cpus=1, node_name=name, object_store_memory=STORE)

    def drain(self, name: str) -> None:
        """Ask the cluster to give a machine up."""
        nodes.drain(nodes.find_node(name, nodes.present_nodes()), "a test")

    def kill(self, name: str) -> None:
        """End a machine at once, with all that runs there."""
        self._cluster.remove_node(self._there.pop(name), allow_graceful=False)

    def close(self) -> None:
        """End all that are left."""
        for name in list(self._there):
            self.kill(name)


@pytest.fixture
def machines(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    """One machine, ``first``; the crew looks for others between any two slabs."""
    monkeypatch.setattr("ludus.cluster.processes.crew.LOOK_S", 0.0)
    made = Machines(cluster)
    made.add("first")
    yield made
    made.close()


class At(Recorder):
    """Does something after some updates of a run."""

    def __init__(self, **actions: Callable[[], None]) -> None:
        super().__init__()
        self._actions = {int(name.removeprefix("update")): do for name, do in actions.items()}

    def update(self, metrics: UpdateMetrics) -> None:
        super().update(metrics)
        if action := self._actions.pop(metrics.version, None):
            action()


def wait_for(holds: Callable[[], bool]) -> None:
    """Wait until ``holds``."""
    end = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def wait_for_start(crew: Crew) -> None:
    """Wait until a rollout that joins has started."""
    wait_for(lambda: any(starting.about.is_there() for starting in crew._roster._starting))


def past(**changes: object) -> Preset:
    """Return a run of twelve updates of three parts, against past weights."""
    more = {"run__max_steps": 3600, "run__lag": "pipelined", "evaluation__every_steps": 0}
    ends = {"evaluation__matches": 0, "evaluation__final_matches": 0}
    opponents = {"opponents__0__name": "past", "opponents__0__past_every": 2}
    return small_preset(**(more | ends | opponents | changes))


def events_of(run: Path) -> list[dict[str, object]]:
    """Return the events of a run about rollouts."""
    return [e for e in read_jsonl(RunDirectory(run).events_path) if str(e["event"]).startswith("rollout ")]


def test_a_rollout_joins_and_one_leaves_and_the_bits_are_those_of_one_process(
    cluster: Cluster, machines: Machines, tmp_path: Path
) -> None:
    start_run(past(), tmp_path / "here", machines=JoinedMachines(3))
    settings = {"cluster__rollouts": 3, "cluster__min_rollouts": 1, "cluster__address": cluster.address}
    preset = past(**settings)

    def join() -> None:
        machines.add("second")
        assert playing._crew is not None
        wait_for_start(playing._crew)

    with closing(RayMachines(preset, print)) as playing:
        sink = At(update3=join, update6=lambda: machines.drain("first"))
        start_run(preset, tmp_path / "there", sinks=[sink], machines=playing)
        wait_for(lambda: [n.node.name for n in nodes.present_nodes() if n.cpus] == ["second"])
    assert same_weights(last_weights(tmp_path / "there"), last_weights(tmp_path / "here"))
    told = [(e["event"], e["node"], e["homes"]) for e in events_of(tmp_path / "there")]
    assert told == [
        ("rollout joined", "first", [0, 0, 0]),
        ("rollout joined", "second", [0, 0, 1]),
        ("rollout drained", "first", [1, 1, 1]),
    ]
    assert "rollout 1 joined on second and plays part 2" in sink.messages
    assert "rollout 0 left first, which is drained" in sink.messages
    assert [u.numbers["cluster/present"] for u in sink.updates[::11]] == [1.0, 1.0]
    assert max(u.numbers["cluster/present"] for u in sink.updates) == 2.0
    assert sink.updates[-1].numbers["cluster/deaths"] == 0.0


def test_a_league_plays_on_rollouts_that_come_and_go_with_the_bits_of_one_process(
    cluster: Cluster, machines: Machines, tmp_path: Path
) -> None:
    preset = league_preset(lag="pipelined", steps=5400)
    start_run(preset, tmp_path / "here", machines=JoinedMachines(2))
    two = ClusterConfig(rollouts=2, min_rollouts=1, address=cluster.address)
    preset = msgspec.structs.replace(preset, cluster=two)

    def join() -> None:
        machines.add("second")
        assert playing._crew is not None
        wait_for_start(playing._crew)

    todo: list[Callable[[], None]] = [join, lambda: machines.drain("first")]

    class Changing(Recorder):
        def update(self, metrics: UpdateMetrics) -> None:
            super().update(metrics)
            if todo and len(self.updates) % 8 == 0:
                todo.pop(0)()

    with closing(RayMachines(preset, print)) as playing:
        start_run(preset, tmp_path / "there", sinks=[Changing()], machines=playing)
    assert [e["event"] for e in events_of(tmp_path / "there")] == [
        "rollout joined",
        "rollout joined",
        "rollout drained",
    ]
    assert_equal_runs(tmp_path / "here", tmp_path / "there")


def test_commands_show_a_cluster_and_drain_a_machine(
    cluster: Cluster, machines: Machines, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cluster", "status", cluster.address, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["machines"]
    assert [(m["name"], m["cpus"], m["processes"], m["draining"]) for m in found if m["name"] == "first"] == [
        ("first", 1.0, 0, False)
    ]
    assert main(["cluster", "drain", "second", "--address", cluster.address]) == 2
    assert "second: no machine of the cluster; expected the name or id of one of: " in capsys.readouterr().err
    head = next(m["id"] for m in found if m["name"] != "first")
    assert main(["cluster", "drain", head, "--address", cluster.address]) == 2
    assert "the machine of the cluster's head" in capsys.readouterr().err
    assert main(["cluster", "drain", "first", "--address", cluster.address]) == 0
    assert main(["cluster", "status", cluster.address]) == 0
    assert "first" not in capsys.readouterr().out


def test_self_play_moves_between_two_requests_and_no_match_comes_twice(
    cluster: Cluster, machines: Machines
) -> None:
    more = {"cluster__min_rollouts": "1", "cluster__address": cluster.address}
    with closing(RayMachines(alphazero.preset(3, **more), print)) as playing:
        with alphazero.self_play(playing, alphazero.preset(3, **more)) as workers:
            parts: list[Matches] = []

            def play(moves: int) -> None:
                workers.play_until(workers.moves() + moves, lambda: False)
                workers.pause()
                workers.start()
                workers.pause()
                parts.append(workers.take_matches())

            crew = workers._crew
            play(600)
            assert crew.present == 1
            machines.add("second")
            wait_for_start(crew)
            play(600)
            assert [crew.home(part) for part in range(3)] == [0, 0, 1]
            machines.drain("first")
            play(600)
            assert [crew.home(part) for part in range(3)] == [1, 1, 1]
            assert workers.numbers()["cluster/present"] == 1.0
            os.kill(workers.pids()[0], signal.SIGKILL)
            machines.add("third")
            play(600)
            assert workers.deaths == 1
            assert min(crew.incarnations) == 2  # more where another one has joined since
        matches = Matches.join(parts)
    alphazero.assert_each_once(matches)
    assert alphazero.incarnations(matches) >= {0, 1, 2}


@pytest.fixture
def connected(cluster: Cluster, machines: Machines) -> Iterator[str]:
    """The address of a cluster that this process is connected to, with a second machine."""
    machines.add("second")
    preset = preset_of("tic_tac_toe", rollouts=1, more={"cluster.address": cluster.address})
    connect(preset.cluster)
    yield cluster.address
    disconnect()


@pytest.mark.parametrize("how", ["machine", "process"])
def test_the_parts_of_a_lost_rollout_restart_on_another_and_no_match_counts_twice(
    how: str, connected: str, machines: Machines
) -> None:
    crews: list[Crew] = []
    lost: list[int] = []

    def on_both(preset: Preset) -> Sampler:
        crews.append(Crew(preset))
        return RemoteSampler(Fleet(preset, crew=crews[0]), slabs_of(preset.run))

    def lose_one(sampler: Sampler, version: int) -> None:
        assert isinstance(sampler, RemoteSampler)
        if version == 5 and not lost:
            pids = sampler.fleet.pids()
            assert len(set(pids)) == 2
            lost.append(pids[0])
            if how == "machine":
                (rollout,) = [r for r in crews[0]._roster.present.values() if r.number == crews[0].home(0)]
                machines.kill(rollout.node.name)
            else:
                os.kill(pids[0], signal.SIGKILL)

    more = {"cluster.min_rollouts": "1", "cluster.address": connected}
    after = trained(preset_of("tic_tac_toe", rollouts=4, more=more), on_both, 20, lose_one)
    with closing(crews[0]) as crew:
        assert len(lost) == crew.deaths == 1
        assert crew.incarnations == [1, 1, 0, 0]
        kinds = [event.kind for event in crew.take_events()]
        assert kinds[:3] == ["rollout joined", "rollout joined", "rollout lost"]
    assert len(after.results) > 40
    assert_each_once(after.results)


def test_in_async_a_rollout_with_two_parts_plays_one_at_a_time_and_each_gets_its_turn(
    cluster: Cluster, machines: Machines
) -> None:
    crews: list[Crew] = []

    def on_one(preset: Preset) -> Sampler:
        crews.append(Crew(preset))
        return RemoteSampler(Fleet(preset, crew=crews[0]), slabs_of(preset.run), joined=False)

    slabs: list[list[int]] = []

    def join(sampler: Sampler, version: int) -> None:
        assert isinstance(sampler, RemoteSampler)
        fleet = sampler.fleet
        assert len(fleet._flying) <= crews[0].present
        slabs.append([counts.slabs for counts in fleet.counts.rollouts])
        if version == 6 and crews[0].present == 1 and "second" not in machines._there:
            machines.add("second")
            wait_for_start(crews[0])

    settings = {"cluster.min_rollouts": "1", "cluster.address": cluster.address, "run.max_lag": "2"}
    preset = preset_of("tic_tac_toe", "async", 2, settings)
    connect(preset.cluster)
    try:
        after = trained(preset, on_one, 16, join)
        assert crews[0].present == 2
    finally:
        crews[0].close()
        disconnect()
    assert all(abs(a - b) <= 1 for a, b in slabs[:4])
    assert min(slabs[-1]) >= 4
    assert_each_once(after.results)
