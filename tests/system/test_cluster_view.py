"""The view of a cluster: metrics, the line while machines are missing, digests of weights, the bench."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from ludus.cli.__main__ import main
from ludus.pool import PoolError
from ludus.presets.config import ClusterConfig, Preset
from ludus.presets.errors import ConfigError
from ludus.presets.file import load_preset
from ludus.reporting.run_view import RunView
from ludus.storage import RunDirectory
from ludus.training.actor_learner.build import build_learner
from ludus.training.runs import start_run

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]' in the clone of Ludus")

import ray

from ludus.cluster.machines import RayMachines
from ludus.cluster.processes import starting
from ludus.cluster.remote_sampler import RemoteSampler
from ludus.cluster.weights import arrays_of, digest_of
from ludus.training.opponents import Seats

pytestmark = pytest.mark.random_order(disabled=True)  # the tests share a cluster and its rollouts


def preset_of(rollouts: int, lag: str = "sync", steps: int = 600) -> Preset:
    """Return a preset of short slabs."""
    settings = {
        "run.threads": "1",
        "run.lag": lag,
        "run.max_steps": str(steps),
        "pool.slots": "8",
        "pool.rollout_length": "8",
        "evaluation.every_steps": "0",
        "evaluation.matches": "0",
        "evaluation.final_matches": "0",
        "cluster.rollouts": str(rollouts),
    }
    return load_preset("tic_tac_toe", settings).preset


def ignore(line: str) -> None:
    """Do nothing with a line about missing machines: they start slowly where the machine is loaded."""


@pytest.fixture(scope="module")
def machines() -> Iterator[RayMachines]:
    """Two rollouts of a cluster of this machine, on which all tests play."""
    made = RayMachines(preset_of(2), ignore)
    made.sampler(preset_of(2)).close()
    yield made
    made.close()


class KillsOne(RayMachines):
    """Machines of which a rollout dies before the first slab."""

    def __init__(self, machines: RayMachines) -> None:
        """Use the rollouts of ``machines``."""
        self._machines = machines

    def sampler(
        self,
        preset: Preset,
        index: int = 0,
        *,
        slabs: int = 2,
        restarts: int = 0,
        seats: Seats | None = None,
    ) -> RemoteSampler:
        """Build a sampler and kill its second rollout."""
        made = self._machines.sampler(preset, index, slabs=slabs, restarts=restarts, seats=seats)
        assert isinstance(made, RemoteSampler)
        os.kill(made.fleet.pids()[1], signal.SIGKILL)
        return made


@pytest.mark.slow
def test_every_update_has_the_numbers_of_each_rollout(
    machines: RayMachines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start_run(preset_of(2), tmp_path / "run", machines=KillsOne(machines))
    assert capsys.readouterr() == ("", "")  # Ray's own message about the dead process is not shown
    updates, _ = RunView(RunDirectory(tmp_path / "run")).metrics()
    assert len(updates) > 3
    for update in updates:
        numbers = update.under("cluster")
        assert numbers["rollouts"] == 2.0
        assert numbers["deaths"] == 1.0
        assert numbers["slabs_dropped"] <= 1.0
        assert 0.0 < numbers["wait_s"] <= update.numbers["time/collect_s"]
        for rollout in "01":
            assert numbers[f"lag/{rollout}"] == 0.0
            assert 0.0 <= numbers[f"idle/{rollout}"] < 1.0
    newest = updates[-1].under("cluster")
    assert newest["matches_per_s/0"] > 0.0
    assert newest["matches_per_s/1"] > 0.0


def test_a_rollout_that_plays_other_weights_than_were_sent_ends_the_run(
    machines: RayMachines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ludus.cluster.fleet.DIGEST_EVERY", 3)
    sampler = machines.sampler(preset_of(1))
    assert isinstance(sampler, RemoteSampler)
    fleet = sampler.fleet
    try:
        ((policy, actor),) = fleet.actors.items()
        build_learner(preset_of(1)).copy_to(actor.network)
        arrays = arrays_of(actor.network)
        fleet.send_weights(policy, 6, ray.put(arrays))
        digests = [answer.digests for _ in range(6) for _, answer, _ in fleet.play()]
        assert [bool(d) for d in digests] == [True, False, False, True, False, False]
        assert digests[0] == digests[3] == {policy: digest_of(arrays)}
        later = {name: array + 1 for name, array in arrays.items()}
        fleet.send_weights(policy, 7, ray.put(later))
        fleet._sent[0][policy] = 7  # so that they are not sent
        with pytest.raises(PoolError, match="rollout 0: its acting weights differ from version 7"):
            list(fleet.play())
    finally:
        sampler.close()


class Slow:
    """A process that starts when it is waited for the third time, or never."""

    def __init__(self, starts: bool) -> None:
        self._left = 2 if starts else 1 << 30

    def wait_for_start(self, seconds: float) -> bool:
        """Count the call."""
        self._left -= 1
        return self._left < 0


class Room:
    """Processors for some of the rollouts."""

    def __init__(self, cpus: float) -> None:
        self._cpus = cpus

    def cpus(self) -> float:
        """Return the processors that were given."""
        return self._cpus

    def gpus(self) -> float:
        """Return 0."""
        return 0.0


def test_a_line_shows_what_is_missing_while_machines_are_awaited() -> None:
    lines: list[str] = []
    actors = [Slow(True) for _ in range(4)]
    starting.wait_for_all(actors, ClusterConfig(rollouts=4, cpus=3), Room(4), lines.append)
    assert lines == ["0 of 4 rollouts: 12 CPUs asked, 4 free"] * 2


def test_processes_that_have_room_are_starting() -> None:
    lines: list[str] = []
    actors = [Slow(True), Slow(True)]
    starting.wait_for_all(actors, ClusterConfig(rollouts=2), Room(2), lines.append)
    assert set(lines) == {"0 of 2 rollouts: processes are starting"}


def test_machines_that_do_not_come_are_refused_with_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "START_S", 0.0)
    actors = [Slow(False), Slow(False)]
    with pytest.raises(ConfigError, match=r"0 of 2 rollouts started within 0 s: 2 CPUs asked, 1 free; set"):
        starting.wait_for_all(actors, ClusterConfig(rollouts=2), Room(1), ignore)


def test_one_of_two_rollouts_that_has_room_is_the_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "START_S", 0.0)
    asked = ClusterConfig(rollouts=2, address="10.0.0.1:6379")
    late = Slow(False)
    started = Slow(False)
    started.wait_for_start = lambda seconds: True  # type: ignore[method-assign]
    why = r"0 free; set settings\[.cluster\.rollouts.\] = 1, or add a machine: ray start --address=10\.0"
    with pytest.raises(ConfigError, match=why):
        starting.wait_for_all([started, late], asked, Room(1), ignore)


def test_fewer_rollouts_may_start_once_all_that_have_room_have(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ClusterConfig(rollouts=3, min_rollouts=1, address="10.0.0.1:6379")
    lines: list[str] = []
    actors = [Slow(True), Slow(True), Slow(False)]
    starting.wait_for_all(actors, asked, Room(2), lines.append)
    assert lines[0] == "0 of 3 rollouts: 3 CPUs asked, 2 free"
    assert [actor.wait_for_start(0.0) for actor in actors] == [True, True, False]
    monkeypatch.setattr(starting, "START_S", 0.0)
    with pytest.raises(ConfigError, match="0 of 3 rollouts started within 0 s"):
        starting.wait_for_all([Slow(False)] * 3, asked, Room(0), ignore)


def test_the_bench_plays_the_same_matches_both_ways(
    machines: RayMachines, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ludus.cli.commands.train.machines_of", lambda preset: nullcontext(machines))
    command = ["bench", "cluster", "tic_tac_toe", "--rollouts", "1", "--seconds", "0.5"]
    command += ["--pool.slots", "8", "--pool.rollout-length", "8"]
    assert main([*command, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["same_weights"] is True
    assert (result["rollouts"], result["matches"]) == (1, 8)
    assert result["rounds"] >= 1
    times = result["cluster_round_s"] / result["process_round_s"]
    assert result["overhead_percent"] == pytest.approx(100.0 * (times - 1.0))
