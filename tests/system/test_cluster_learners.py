"""Learners of a group by Ray: equal seeds, ranks that die, and states of all ranks in checkpoints.

One cluster and two rollouts serve the module; every run starts a separate rank.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from ludus.algorithms.learner import Learner
from ludus.presets.config import ClusterConfig, Preset
from ludus.presets.errors import ConfigError, Interrupted, RunFailed
from ludus.presets.file import load_preset
from ludus.reporting.metrics import UpdateMetrics
from ludus.storage import RunDirectory
from ludus.training.runs import MAX_GROUPS, start_run
from tests.unit.training.runs import Recorder, reproducible_rows, resume_run, small_preset
from tests.unit.training.test_runs import InterruptAt, last_weights, same_weights

pytest.importorskip("ray", reason="Ray is not installed: pip install '.[cluster]' in the clone of Ludus")

from ludus.cluster.group_learner import GroupLearner, share_of
from ludus.cluster.machines import RayMachines
from ludus.cluster.processes import actors
from ludus.cluster.processes.actors import RolloutActor
from ludus.cluster.processes.crew import Crew
from ludus.cluster.ranks import Ranks
from ludus.cluster.session import connect, disconnect

pytestmark = pytest.mark.random_order(disabled=True)  # the tests share a cluster and its rollouts

_crews: list[Crew] = []


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """A cluster of this machine, with two rollouts."""
    connect(ClusterConfig())
    _crews.append(Crew(small()))
    yield
    _crews.pop().close()
    disconnect()


class Machines(RayMachines):
    """The module's rollouts, which stay, with separate ranks."""

    def __init__(self) -> None:
        self._report, self._crew = print, _crews[0]
        self._ranks: Ranks | None = None
        self._groups = 0
        self.learner: GroupLearner | None = None

    def grouped(self, preset: Preset, learner: Learner) -> Learner:
        """Keep the learner, to be looked at."""
        made = super().grouped(preset, learner)
        assert isinstance(made, GroupLearner)
        self.learner = made
        return made

    @property
    def ranks(self) -> Ranks:
        """The ranks of the present group."""
        assert self._ranks is not None
        return self._ranks

    @property
    def groups(self) -> int:
        """Number of groups so far."""
        return self._groups

    def close(self) -> None:
        """End only the ranks."""
        self._end_group()


class At(Recorder):
    """Sink that calls a function once, after an update with the version ``version``."""

    def __init__(self, version: int, call: Callable[[], None]) -> None:
        super().__init__()
        self._at, self._call = version, call
        self.called = 0.0
        self.again = 0.0  #: seconds from the call to the next update

    def update(self, metrics: UpdateMetrics) -> None:
        super().update(metrics)
        if self.called and not self.again:
            self.again = time.monotonic() - self.called
        if metrics.version == self._at and not self.called:
            self._call()
            self.called = time.monotonic()


def small(**changes: object) -> Preset:
    """Return a run of a few updates by two learners and two rollouts, saved after each."""
    more = {"run__max_steps": 1000, "run__lag": "pipelined", "evaluation__every_steps": 0}
    ends = {"evaluation__matches": 0, "evaluation__final_matches": 0, "run__threads": 1}
    saved = {"run__checkpoint_every_minutes": 0.0001}
    cluster = {"cluster__rollouts": 2, "cluster__learners": 2}
    return small_preset(**(more | ends | saved | cluster | changes))


def signal_rank(machines: Machines, number: signal.Signals) -> Callable[[], None]:
    """Return a function that sends a signal to rank 1."""
    return lambda: os.kill(machines.ranks.pids[0], number)


def assert_same_run(a: Path, b: Path) -> None:
    """Check that two runs have equal weights and metrics."""
    assert same_weights(last_weights(a), last_weights(b))

    def rows(run: Path) -> list[dict[str, object]]:
        return [
            {key: value for key, value in row.items() if not key.startswith("cluster/")}
            for row in reproducible_rows(run / "metrics.jsonl")
        ]

    assert rows(a) == rows(b)


def test_a_run_continues_after_the_death_of_a_rank_with_the_bits_of_an_undisturbed_one(
    tmp_path: Path,
) -> None:
    with closing(Machines()) as machines:
        start_run(small(), tmp_path / "whole", machines=machines)
        recorder = At(3, signal_rank(machines, signal.SIGKILL))
        start_run(small(), tmp_path / "killed", sinks=[recorder], machines=machines)
        assert machines.groups == 3
    (text,) = [text for text in recorder.messages if "problem" in text]
    assert "rank 1 of 2 is gone: ActorDiedError" in text
    assert text.endswith("the newest checkpoint stands; a new group continues from there")
    assert_same_run(tmp_path / "killed", tmp_path / "whole")


def spoil(machines: Machines) -> None:
    """Change one parameter of rank 1."""
    assert machines.learner is not None
    arrays, counters = machines.learner.state()
    name = next(name for name in arrays if name.startswith("network.") and name.endswith("weight"))
    spoiled = np.array(arrays[name])
    spoiled.reshape(-1)[0] += 1e-3
    machines.ranks.tell("load_state", [(arrays | {name: spoiled}, counters, {}, {})])
    machines.ranks.answers()


@pytest.mark.slow
def test_a_parameter_that_differs_on_one_rank_ends_the_run_at_the_next_checkpoint(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with closing(Machines()) as machines:
        recorder = At(3, lambda: spoil(machines))
        changed = small(run__lag="sync", run__checkpoint_every_minutes=0.0)
        with pytest.raises(RunFailed, match=r"the parameters of rank 1 of 2 differ from rank 0's"):
            start_run(changed, run, sinks=[recorder], machines=machines)
        assert machines.groups == 1
    assert RunDirectory.open(run).checkpoints.versions() == []
    assert RunDirectory.open(run).status().state == "failed"


def test_shares_of_rollouts_are_as_equal_as_they_can_be() -> None:
    assert share_of(2, 2) == [(0, 1), (1, 2)]
    assert share_of(5, 3) == [(0, 2), (2, 4), (4, 5)]


@pytest.mark.slow
def test_a_rank_that_stops_answering_ends_its_group_within_a_minute(tmp_path: Path) -> None:
    with closing(Machines()) as machines:
        start_run(small(), tmp_path / "whole", machines=machines)
        recorder = At(3, signal_rank(machines, signal.SIGSTOP))
        start_run(small(), tmp_path / "stopped", sinks=[recorder], machines=machines)
    (text,) = [text for text in recorder.messages if "problem" in text]
    assert "rank 1 of 2 is gone: it stopped answering" in text
    assert recorder.again < 60.0
    assert_same_run(tmp_path / "stopped", tmp_path / "whole")


@pytest.mark.slow
def test_a_group_that_is_lost_before_the_first_checkpoint_starts_from_the_beginning(tmp_path: Path) -> None:
    changed = small(run__checkpoint_every_minutes=0.0)
    with closing(Machines()) as machines:
        start_run(changed, tmp_path / "whole", machines=machines)
        recorder = At(3, signal_rank(machines, signal.SIGKILL))
        start_run(changed, tmp_path / "killed", sinks=[recorder], machines=machines)
    assert [update.version for update in recorder.updates][:5] == [1, 2, 3, 1, 2]
    assert_same_run(tmp_path / "killed", tmp_path / "whole")


@pytest.mark.slow
def test_groups_that_end_again_and_again_at_one_checkpoint_end_the_run(tmp_path: Path) -> None:
    with closing(Machines()) as machines:

        class Always(Recorder):
            def update(self, metrics: UpdateMetrics) -> None:
                super().update(metrics)
                if metrics.version == 3:
                    os.kill(machines.ranks.pids[0], signal.SIGKILL)

        changed = small(run__checkpoint_every_minutes=0.0)
        with pytest.raises(RunFailed, match="rank 1 of 2 is gone"):
            start_run(changed, tmp_path / "run", sinks=[Always()], machines=machines)
        assert machines.groups == MAX_GROUPS
    assert RunDirectory.open(tmp_path / "run").status().state == "failed"


def middle(name: str, **changes: str) -> Preset:
    """Return a run of a shipped preset with small slabs, by two learners."""
    settings = {
        "run.threads": "1",
        "pool.slots": "8",
        "pool.rollout_length": "8",
        "cluster.rollouts": "2",
        "cluster.learners": "2",
        "run.max_steps": "1800",
        "evaluation.every_steps": "0",
        "evaluation.matches": "0",
        "evaluation.final_matches": "0",
    }
    return load_preset(
        name, settings | {key.replace("__", "."): value for key, value in changes.items()}
    ).preset


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "own"),
    [
        (middle("minirts-dqn", algorithm__learning_starts="64"), "rank1.replay_buffer.actions"),
        (middle("minirts-imitation", policy__memory="gru", run__lag="pipelined"), "rank1.row_memory.memory"),
        (middle("minirts", policy__memory="gru"), ""),
    ],
    ids=["dqn", "imitation", "appo"],
)
def test_a_resumed_run_has_the_bits_of_a_whole_one(preset: Preset, own: str, tmp_path: Path) -> None:
    with closing(Machines()) as machines:
        start_run(preset, tmp_path / "whole", machines=machines)
        with pytest.raises(Interrupted):
            start_run(preset, tmp_path / "run", sinks=[InterruptAt(5)], machines=machines)
        checkpoint, _ = RunDirectory.open(tmp_path / "run").checkpoints.load_last()
        assert [name for name in checkpoint.optimizer if name == own] == [own][: bool(own)]
        assert bool(own) or not [name for name in checkpoint.optimizer if name.startswith("rank1.")]
        resume_run(tmp_path / "run", machines=machines)
    assert_same_run(tmp_path / "run", tmp_path / "whole")


@pytest.mark.slow
def test_twenty_updates_of_minirts_by_two_learners_repeat(tmp_path: Path) -> None:
    preset = middle("minirts", run__max_steps=str(20 * 8 * 8 * 2), pool__slots="64")
    with closing(Machines()) as machines:
        for name in "ab":
            start_run(preset, tmp_path / name, machines=machines)
    assert_same_run(tmp_path / "a", tmp_path / "b")


@pytest.mark.slow
def test_a_state_of_another_number_of_learners_is_refused() -> None:
    from ludus.training.actor_learner.build import build_learner

    with closing(Machines()) as machines:
        learner = machines.grouped(small(), build_learner(small()))
        arrays, counters = learner.state()
        with pytest.raises(ValueError, match="learner state: of 3 learners, expected 2"):
            learner.load_state(arrays, counters | {"ranks": 3})


@pytest.mark.slow
def test_a_rank_that_starts_later_than_a_silent_one_is_ended_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    patience, wait_for_start = actors.PATIENCE_S, RolloutActor.wait_for_start

    def waited(actor: RolloutActor, seconds: float) -> bool:
        started = wait_for_start(actor, seconds)
        if seconds > 1.0:
            monkeypatch.setattr(actors, "PATIENCE_S", patience)  # a busy machine may answer later
        return started

    monkeypatch.setattr(RolloutActor, "wait_for_start", waited)
    monkeypatch.setattr("ludus.cluster.ranks.WATCH_S", 0.01)
    monkeypatch.setattr(actors, "PATIENCE_S", 0.05)
    ranks = Ranks(small(), False, print)
    try:
        assert len(ranks.pids) == 1
    finally:
        ranks.close()


def test_more_learners_than_processors_are_refused_with_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ludus.cluster.ranks.all_cpus", lambda: 1.0)
    with pytest.raises(
        ConfigError,
        match=r'cluster\.learners = 2: 2 processors asked, 1 there; set settings\["cluster.learners"\] = 1',
    ):
        Ranks(small(), False, print)


def test_more_learners_than_cards_are_refused_with_both_numbers() -> None:
    with pytest.raises(ConfigError, match=r"cluster\.learners = 9: 9 GPUs asked, 0 there"):
        Ranks(small(cluster__learners=9, cluster__rollouts=9), True, print)
