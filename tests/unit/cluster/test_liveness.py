"""Who counts as silent: only a process that has answered once; one that starts has its own limit."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray", reason="Ray is not installed: pip install 'ludus-rl[cluster]'")

import ray
from ray.exceptions import ActorDiedError, GetTimeoutError

from ludus.cluster.elastic.nodes import ClusterNode
from ludus.cluster.processes import actors
from ludus.cluster.processes.actors import PATIENCE_S, Call, RolloutActor, RolloutLost, first_ready
from ludus.cluster.processes.crew import Crew
from ludus.pool import PoolError
from ludus.presets.file import load_preset

NEVER = float("inf")


@dataclass(eq=False)
class Answer:
    """A reference to an answer: when it comes, and whether it is the error of a process that died."""

    at: float
    dead: bool = False


@dataclass
class Machine:
    """A clock, and processes that answer or not, in place of Ray."""

    now: float = 0.0
    killed: list[Process] = field(default_factory=list)

    def wait(
        self, refs: list[Answer], timeout: float = 0.0, **_: object
    ) -> tuple[list[Answer], list[Answer]]:
        self.now = min(max(self.now, min(ref.at for ref in refs)), self.now + timeout)
        ready = [ref for ref in refs if ref.at <= self.now]
        return ready[:1], [ref for ref in refs if ref not in ready[:1]]

    def get(self, ref: Answer, timeout: float = 0.0) -> None:
        self.wait([ref], timeout)
        if ref.at > self.now:
            raise GetTimeoutError("late")
        if ref.dead:
            raise ActorDiedError

    def kill(self, process: Process, no_restart: bool) -> None:
        assert no_restart
        process.dies_at = self.now
        self.killed.append(process)


@dataclass(eq=False)
class Process:
    """A process that starts, and may stop answering or die later."""

    machine: Machine
    starts_at: float
    silent_at: float = NEVER
    dies_at: float = NEVER

    @property
    def ping(self) -> Any:  # noqa: ANN401
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=self.answer))

    @property
    def call(self) -> Any:  # noqa: ANN401
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=lambda *_: self.answer()))

    def answer(self) -> Answer:
        """Return the answer to a ping, or a call, sent now."""
        at = max(self.machine.now, self.starts_at)
        if self.silent_at <= at:
            at = NEVER
        return Answer(min(at, max(self.machine.now, self.dies_at)), self.dies_at <= at)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    for name in ("wait", "get", "kill"):
        monkeypatch.setattr(ray, name, getattr(made, name))
    return made


def actor_of(process: Process, monkeypatch: pytest.MonkeyPatch) -> RolloutActor:
    made = SimpleNamespace(remote=lambda part: process)
    monkeypatch.setattr(ray, "remote", lambda **_: lambda host: made)
    return RolloutActor(1, 0.0)


@pytest.mark.parametrize("starts_at", [11.0, 20.0, 59.0, 12.0001])
def test_a_process_that_starts_late_lives_however_often_it_is_looked_at(
    starts_at: float, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    actor = actor_of(Process(machine, starts_at), monkeypatch)
    while machine.now < 120.0:
        assert actor.named("sampler0").lives()
        machine.now += 2.0
    assert machine.killed == []
    assert not actor.silent


def test_a_process_that_answered_once_and_then_does_not_is_ended(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Process(machine, 20.0, silent_at=30.0)
    actor = actor_of(process, monkeypatch)
    while actor.lives():
        machine.now += 2.0
    assert 30.0 + PATIENCE_S <= machine.now <= 32.0 + PATIENCE_S
    assert machine.killed == [process]
    assert actor.silent


def test_a_process_that_dies_while_it_starts_is_not_silent(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    actor = actor_of(Process(machine, NEVER, dies_at=14.0), monkeypatch)
    assert actor.lives()
    assert not actor.lives()
    assert machine.now == 14.0
    assert not actor.silent


def test_an_answer_that_came_while_another_was_awaited_ends_no_process(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answer comes just before the patience with the second one ends."""
    process = Process(machine, PATIENCE_S - 0.1)
    actor = actor_of(process, monkeypatch)
    late = Answer(PATIENCE_S + 0.1)
    monkeypatch.setattr(actor, "_ping", lambda: late)
    assert actor.lives()
    assert machine.killed == []


def test_the_start_of_each_process_is_found_after_the_time_of_all_is_over(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, fast = (actor_of(Process(machine, at), monkeypatch) for at in (NEVER, 3.0))
    assert not slow.wait_for_start(60.0)
    assert fast.wait_for_start(0.0)


def test_a_call_of_a_process_that_starts_waits_for_it_and_one_of_a_silent_one_does_not(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actors, "fetch", lambda ref, kind: "answer")
    starting = Call(actor_of(Process(machine, 40.0), monkeypatch), (Answer(41.0),))
    assert starting.first() == "answer"
    silent = actor_of(Process(machine, 0.0, silent_at=machine.now + 1.0), monkeypatch)
    assert silent.wait_for_start(0.0)
    machine.now += 1.0
    calls = {7: Call(silent, (Answer(NEVER),))}
    assert first_ready(calls) == 7
    with pytest.raises(RolloutLost, match="neither answers nor ends"):
        silent.wait(Answer(NEVER))


@pytest.mark.parametrize(
    ("settings", "why", "seconds"),
    [
        (
            {"cluster.rollouts": "2"},
            r"1 free processor for it after 240 s; resume the run to start its cluster",
            239.0,
        ),
        (
            {"cluster.rollouts": "2", "cluster.cpus": "4", "cluster.address": "10.0.0.1:6379"},
            r"4 free processors for it after 60 s; resume the run when one has",
            59.0,
        ),
    ],
)
def test_a_rollout_without_a_machine_for_its_successor_is_reported_with_what_helps(
    settings: dict[str, str], why: str, seconds: float, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    preset = load_preset("tic_tac_toe", settings).preset
    lost, other = (actor_of(Process(machine, 0.0), monkeypatch) for _ in range(2))
    for name, fake in (
        ("crew.put_settings", lambda preset: None),
        ("roster.start_all", lambda *_: ([lost, other], [])),
        ("roster.check_alike", lambda about, spec_hash: None),
        ("roster.nodes.node_of", lambda actor: ClusterNode("0" * 8, "rack7")),
    ):
        where = "processes" if name.startswith("crew") else "elastic"
        monkeypatch.setattr(f"ludus.cluster.{where}.{name}", fake)
    crew = Crew(preset)
    late = actor_of(Process(machine, seconds), monkeypatch)
    monkeypatch.setattr("ludus.cluster.elastic.roster.start_one", lambda preset: late)
    crew.replace(0, lost, RolloutLost("gone"))
    assert crew.rollout(0, "sampler0").same_process(late)
    nowhere = actor_of(Process(machine, NEVER), monkeypatch)
    monkeypatch.setattr("ludus.cluster.elastic.roster.start_one", lambda preset: nowhere)
    with pytest.raises(PoolError, match=f"the rollout of part 0 died .gone., and no machine has {why}"):
        crew.replace(0, late, RolloutLost("gone"))
