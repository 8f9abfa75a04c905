"""Learner processes: equal bits for any number of them, and errors of the run where one is lost."""

from __future__ import annotations

import gc
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ludus.algorithms.learner import SlabLearner
from ludus.algorithms.updates.samples import pieces
from ludus.algorithms.updates.tasks import DividedTasks, LearnerProcessError
from ludus.flow import Slab
from ludus.flow.slab import Array
from ludus.policies.weights import save_weights
from ludus.pool.hosted.shared import wait_for
from ludus.training.learner_processes.exchange import Exchange
from ludus.training.learner_processes.leader import LearnerProcesses
from ludus.training.learner_processes.memory import Memory
from ludus.training.learner_processes.worker import Recipe
from tests.unit.algorithms.ranks import CASES, SPEC, UPDATES, Case

PARTS = 4
ANCHORED = Case("appo", settings={"minibatches": 2, "epochs": 2, "kl_coefficient": 0.5})
CRITIC = Case("appo", {"critic": "own"}, {"minibatches": 1, "micro_batch": 4096})
SHORT = Case("trpo", {"critic": "own"}, {"conjugate_steps": 1, "epochs": 1, "micro_batch": 4096})
DIVIDED = {
    **{name: case for name, case in CASES.items() if case.method != "dqn"},
    "appo, anchor": ANCHORED,
    "appo, one part": CRITIC,
    "trpo, short": SHORT,
}
FAST = (
    "appo, one part",
    "appo, anchor",
    "appo, gru",
    "appo, batch norms",
    "appo, two value heads",
    "imitation, gru, empty rank",
)
State = tuple[dict[str, Array], dict[str, int]]


class OneProcessMemory(Memory):
    """Memory of threads of this process, which a lock of files does not keep apart."""

    def __init__(self, size: int, others: OneProcessMemory | None = None) -> None:
        """Make the memory, or map another thread's."""
        super().__init__(size, others.descriptors if others is not None else ())
        self.mutex: threading.Lock = others.mutex if others is not None else threading.Lock()

    @contextmanager
    def locked(self, look: Callable[[], None]) -> Iterator[None]:
        with self.mutex:
            yield


class Member(Exchange):
    """A thread in the place of a process."""

    def __init__(self, learner: SlabLearner[Any], rank: int, memory: Memory) -> None:
        super().__init__(learner, rank)
        self._memory = memory
        self.tasks = 0  # of all lists
        self.ran = 0  # tasks that this thread ran

    def start(self, slab: Slab, progress: float, value_only: bool) -> None:
        """Every thread starts its updates itself."""

    def prepare(self) -> None:
        """Nothing has to be prepared."""

    def state_loaded(self) -> None:
        """No state is loaded."""

    def close(self) -> None:
        """The thread ends by itself."""

    def _run(self, tasks: DividedTasks, worker: int) -> None:
        self.tasks += len(tasks)
        super()._run(tasks, worker)
        self.ran -= 1  # the number after the last

    def _next(self) -> int:
        self.ran += 1
        return super()._next()

    def _wait(self) -> None:
        poll, bell = select.poll(), self.memory.bells[self.rank]
        poll.register(bell.wait_descriptor, select.POLLIN)
        assert wait_for(poll, 60.0), "another thread has failed"
        bell.clear()

    def _look(self) -> None:
        pass

    def _end(self) -> None:
        pass


def run_together(work: Callable[[int], None], size: int) -> None:
    threads = [threading.Thread(target=work, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120.0)


def cut(case: Case, parts: int = PARTS) -> Case:
    return replace(case, settings={**case.settings, "parts": parts})


def slabs_of(case: Case) -> list[Slab]:
    return [case.slab(update, 0) for update in range(UPDATES)]


def learned(learner: SlabLearner[Any], slabs: list[Slab]) -> State:
    """Make an update from each slab; return the state afterwards."""
    for number, slab in enumerate(slabs):
        learner.update(slab, 0.1 * number)
    return learner.state()


def check_equal(one: State, other: State) -> None:
    assert one[1] == other[1]
    assert one[0].keys() == other[0].keys()
    for name, array in one[0].items():
        np.testing.assert_array_equal(array, other[0][name], err_msg=name)


def by_threads(case: Case, size: int) -> tuple[list[State], list[Member]]:
    """Make the updates of a case with ``size`` learners in threads; return their states."""
    memory, slabs = OneProcessMemory(size), slabs_of(case)
    members = [Member(case.learner(), rank, OneProcessMemory(size, memory)) for rank in range(size)]
    states: dict[int, State] = {}

    def learn(rank: int) -> None:
        members[rank].learner.divide(members[rank])
        states[rank] = learned(members[rank].learner, slabs)

    run_together(learn, size)
    memory.close()
    return [states[rank] for rank in range(size)], members


def check_bits(name: str, sizes: tuple[int, ...]) -> None:
    case = cut(DIVIDED[name])
    alone = learned(case.learner(), slabs_of(case))
    for size in sizes:
        states, members = by_threads(case, size)
        for state in states:
            check_equal(alone, state)
        assert sum(member.ran for member in members) == members[0].tasks > PARTS


@pytest.mark.parametrize("name", FAST)
def test_one_two_and_four_workers_give_equal_bits(name: str) -> None:
    check_bits(name, (2, 4))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(DIVIDED) - set(FAST)))
def test_more_methods_give_equal_bits(name: str) -> None:
    check_bits(name, (1, 2, 3, 4, 7))


def test_the_bits_depend_on_the_number_of_parts() -> None:
    case = DIVIDED["appo, one part"]
    whole, parted = (learned(cut(case, n).learner(), slabs_of(case))[0] for n in (1, PARTS))
    unequal = [name for name, array in whole.items() if not np.array_equal(array, parted[name])]
    assert unequal
    for name in unequal:
        np.testing.assert_allclose(
            np.asarray(whole[name], np.float64), np.asarray(parted[name], np.float64), atol=2e-4, err_msg=name
        )


def test_auto_of_an_old_run_is_one_part() -> None:
    case = DIVIDED["appo, one part"]
    old, one = case.learner(), cut(case, 1).learner()
    assert old.config.parts == "auto"
    check_equal(learned(old, slabs_of(case)), learned(one, slabs_of(case)))


@pytest.mark.parametrize(
    ("items", "size", "multiple", "expected"),
    [(10, 4, 1, [4, 3, 3]), (10, 4, 2, [3, 3, 2, 2]), (10, 100, 4, [3, 3, 2, 2]), (3, 100, 4, [1, 1, 1])],
)
def test_pieces_are_a_multiple_of_the_parts(
    items: int, size: int, multiple: int, expected: list[int]
) -> None:
    assert [len(p) for p in pieces(np.arange(items), size, multiple)] == expected


def test_results_longer_than_the_room_for_them_arrive_whole() -> None:
    """Each process sees that some are too long, makes the same larger room, and meets again."""
    memory = OneProcessMemory(2)
    case = DIVIDED["appo"]
    members = [Member(case.learner(), rank, OneProcessMemory(2, memory)) for rank in range(2)]
    found: list[dict[int, bytes]] = [{}, {}]
    texts = [bytes([i]) * (10_000 * i) for i in range(5)]

    def run(rank: int) -> None:
        for _ in range(2):  # both halves of the memory
            tasks = DividedTasks(
                [lambda worker: None] * len(texts),
                lambda i: (found[rank].__setitem__(i, texts[i]), texts[i])[1],  # type: ignore[func-returns-value]
                found[rank].__setitem__,
            )
            found[rank].clear()
            members[rank]._run(tasks, 0)

    run_together(run, 2)
    assert found == [dict(enumerate(texts))] * 2
    memory.close()


# ---- processes ----------------------------------------------------------------------------------------


def recipe_of(learner: SlabLearner[Any]) -> Recipe:
    return Recipe(
        algorithm=msgspec.json.encode(learner.config).decode(),
        policy=learner.network.architecture,
        spec=msgspec.json.encode(SPEC).decode(),
        precision=learner.network.precision,
        seed=learner.seed,
        rows=learner.policy,
        frame_skip=learner.frame_skip,
    )


@contextmanager
def divided(case: Case, others: int = 1, stopped_s: float = 10.0) -> Iterator[SlabLearner[Any]]:
    """Return a learner whose updates ``others`` processes make with this one."""
    learner = case.learner()
    learner.divide(LearnerProcesses(learner, recipe_of(learner), others, stopped_s=stopped_s))
    try:
        yield learner
    finally:
        learner.close()


def pids_of(learner: SlabLearner[Any]) -> list[int]:
    processes = learner.minibatches.processes
    assert isinstance(processes, LearnerProcesses)
    return processes.pids


def is_there(pid: int) -> bool:
    """Return whether a process exists; a zombie does."""
    return Path(f"/proc/{pid}").exists()


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until(true: Callable[[], bool]) -> None:
    for _ in range(300):
        if true():
            return
        time.sleep(0.1)
    raise AssertionError("not within 30 s")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_process_learns_with_this_one() -> None:
    """Signals that end a run are left to the run's process; a loaded state continues with its bits."""
    case = cut(DIVIDED["appo, gru, batch norms, empty rank"])
    slabs = slabs_of(case)
    alone = learned(case.learner(), slabs)
    gc.collect()
    before = descriptors()
    with divided(case) as learner:
        first = learner.state()
        check_equal(learned(learner, slabs), alone)
        (pid,) = pids_of(learner)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(pid, number)
        learner.load_state(*first)
        check_equal(learned(learner, slabs), alone)
        assert pids_of(learner) == [pid]
        learner.update(slabs[0], value_only=True)
        learner.set_config(msgspec.structs.replace(learner.config, learning_rate=0.25))
        learner.settle = 1
        learner.update(slabs[0])
        assert learner.settle == 0
        learner.update(slabs[1])
    assert not is_there(pid)
    del learner
    gc.collect()
    assert descriptors() == before


@pytest.mark.slow
@pytest.mark.parametrize("others", [1, 3])
@pytest.mark.parametrize(
    "name", ["appo", "appo, two value heads", "trpo", "imitation, gru, empty rank", "impala"]
)
def test_processes_give_the_bits_of_one(name: str, others: int) -> None:
    case = cut(DIVIDED[name])
    with divided(case, others) as learner:
        check_equal(learned(learner, slabs_of(case)), learned(case.learner(), slabs_of(case)))
        pids = pids_of(learner)
        assert len(pids) == others
    assert not any(map(is_there, pids))


@pytest.mark.slow
def test_a_teacher_is_loaded_by_every_process(tmp_path: Path) -> None:
    teacher = tmp_path / "teacher.safetensors"
    gru = cut(DIVIDED["appo, gru"])
    save_weights(gru.learner().weights(), teacher)
    case = replace(gru, settings={**gru.settings, "teacher": str(teacher)})
    with divided(case) as learner:
        check_equal(learned(learner, slabs_of(case)), learned(case.learner(), slabs_of(case)))
        assert any(name.startswith("teacher.") for name in learner.state()[0])


def test_a_killed_process_is_an_error() -> None:
    """Between two updates; no later update starts, and nothing of the others stays."""
    case = cut(DIVIDED["appo"])
    slabs = slabs_of(case)
    with divided(case, 2) as learner:
        learner.update(slabs[0])
        pids = pids_of(learner)
        os.kill(pids[0], signal.SIGKILL)
        wait_until(lambda: not is_running(pids[0]))
        with pytest.raises(LearnerProcessError, match="learner process 1 was ended by SIGKILL"):
            learner.update(slabs[1])
        with pytest.raises(LearnerProcessError, match="ended by SIGKILL"):
            learner.prepare()
    assert not any(map(is_there, pids))


def test_a_stopped_process_is_an_error() -> None:
    """In an update, which waits for it. A process that runs again in time is none."""
    case = cut(DIVIDED["appo"])
    slabs = slabs_of(case)
    with divided(case, stopped_s=1.5) as learner:
        learner.update(slabs[0])
        (pid,) = pids_of(learner)
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(0.3, os.kill, (pid, signal.SIGCONT)).start()
        learner.update(slabs[0])
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(LearnerProcessError, match=r"process 1 was stopped for longer than 1\.5 s"):
            learner.update(slabs[1])
    assert not is_there(pid)


def test_parameters_that_differ_are_an_error() -> None:
    """Whatever changed them behind the learner's back."""
    case = cut(DIVIDED["appo"])
    slabs = slabs_of(case)
    with divided(case) as learner:
        learner.update(slabs[0])
        learner.parameters.vector[0] += 1.0
        with pytest.raises(LearnerProcessError, match="the parameters of learner process 1 differ"):
            learner.update(slabs[1])


def test_a_process_that_cannot_build_its_learner_says_why() -> None:
    learner = DIVIDED["appo"].learner()
    wrong = msgspec.structs.replace(recipe_of(learner), algorithm='{"name": "no_such_method"}')
    learner.divide(LearnerProcesses(learner, wrong, 1))
    with pytest.raises(LearnerProcessError, match=r"failed: ValueError: algorithm\.name = .no_such_method"):
        learner.update(slabs_of(DIVIDED["appo"])[0])
    pids = pids_of(learner)
    learner.close()
    assert not any(map(is_there, pids))


@pytest.mark.slow
def test_a_forgotten_learner_leaves_no_process() -> None:
    case = cut(DIVIDED["appo"])
    learner = case.learner()
    learner.divide(LearnerProcesses(learner, recipe_of(learner), 1))
    learner.update(slabs_of(case)[0])
    (pid,) = pids_of(learner)
    del learner
    gc.collect()
    assert not is_there(pid)


PARENT = """
import os, signal, sys, time
from tests.unit.algorithms.test_learner_processes import *
case = cut(DIVIDED["appo"])
slabs = slabs_of(case)
with divided(case) as learner:
    learner.update(slabs[0])
    print(*pids_of(learner), flush=True)
    while True:
        learner.update(slabs[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_end_of_the_run_ends_its_processes(number: signal.Signals) -> None:
    """In the middle of an update, in whatever way the run's process ends."""
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert is_running(pid)
    parent.send_signal(number)
    assert parent.wait(30.0) != 0
    wait_until(lambda: not is_running(pid))
    parent.stdout.close()
