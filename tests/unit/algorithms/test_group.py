"""Groups of learners: gloo and threads give equal bits, and the numbers of one learner of all slabs."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ludus.algorithms.alphazero.learner import AlphaZeroLearner
from ludus.algorithms.config import AlphaZeroConfig
from ludus.algorithms.group import ALONE, GroupError, ThreadGroup, compare_ranks
from ludus.algorithms.learner import COMPARED_EVERY, LearnerContext
from ludus.flow.slab import Array
from ludus.games import spec as game_spec
from ludus.policies.config import ResnetConfig
from tests.unit.algorithms.ranks import (
    CASES,
    RANKS,
    UPDATES,
    Outcome,
    in_threads,
    learned,
    learned_alone,
    rank_process,
    sums_of,
)
from tests.unit.synthetic import tower

WAIT_S = 120.0  # for an answer, on a busy machine
#: one minibatch, float32, no draws: one learner of the joined slab makes the same steps
JOINED = [
    name
    for name, case in CASES.items()
    if case.precision == "float32" and case.settings.get("minibatches") == 1
]


class Ranks:
    """The processes of a group of two ranks, joined by a file."""

    def __init__(self, path: Path, timeout_s: float = 60.0) -> None:
        context = multiprocessing.get_context("spawn")
        ends = [context.Pipe() for _ in range(RANKS)]
        self.calls: list[Connection] = [mine for mine, _ in ends]
        self.processes = [
            context.Process(target=rank_process, args=(rank, str(path), timeout_s, theirs), daemon=True)
            for rank, (_, theirs) in enumerate(ends)
        ]
        for process in self.processes:
            process.start()
        for call in self.calls:
            assert self._answer(call) == "joined"

    def ask(self, name: str) -> None:
        for call in self.calls:
            call.send(name)

    def answers(self) -> list[Any]:
        return [self._answer(call) for call in self.calls]

    @staticmethod
    def _answer(call: Connection) -> object:
        assert call.poll(WAIT_S), "a rank does not answer"
        return call.recv()

    def close(self) -> None:
        for process, call in zip(self.processes, self.calls, strict=True):
            if process.is_alive():
                call.send(None)
        for process in self.processes:
            process.join(10.0)
            process.kill()
            process.join()


@pytest.fixture(scope="module")
def gloo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ranks]:
    ranks = Ranks(tmp_path_factory.mktemp("group") / "store")
    yield ranks
    ranks.close()


def furthest(a: Outcome, b: Outcome) -> float:
    """The largest difference of a number of the networks."""
    assert a.tensors.keys() == b.tensors.keys()
    return max(
        float(np.abs(x.astype(np.float64) - b.tensors[n].astype(np.float64)).max())
        for n, x in a.tensors.items()
    )


# ---- sums ----------------------------------------------------------------------------------------


def test_alone_every_sum_is_its_argument() -> None:
    tensor, array = torch.rand(5), np.random.default_rng(1).normal(size=1001).astype(np.float32)
    assert ALONE.add(tensor) is tensor
    assert ALONE.gather(tensor)[0] is tensor
    assert ALONE.joined(array) is array
    assert ALONE.each(0.1) == [0.1]
    assert ALONE.total(3) == 3
    exact = array.astype(np.float64)
    mean = ALONE.mean(exact)
    assert mean == exact.mean()
    assert math.sqrt(ALONE.mean(np.square(exact - mean))) == exact.std()
    assert ALONE.mean(array) == array.mean(dtype=np.float64)


def test_ranks_may_have_rows_and_numbers_that_others_lack(gloo: Ranks) -> None:
    gloo.ask("sums")
    for added, gathered, sums, rows, mean in [*in_threads(ThreadGroup.of(RANKS), sums_of), *gloo.answers()]:
        assert added == [float(np.float32(0.1) + np.float32(0.1)), 3.0]
        assert gathered == [[0], [0, 1]]
        assert list(sums) == ["count", "loss", "only"]
        assert repr(sums["count"]) == "4"  # still an integer
        assert sums["loss"] == 0.1 + 0.2
        assert math.isnan(sums["only"])
        assert rows == [[1.5, 1.5]] * 3
        assert mean == 1.5


# ---- updates -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_processes_and_threads_learn_the_same_bits(gloo: Ranks, name: str) -> None:
    case = CASES[name]
    gloo.ask(name)
    threads = in_threads(ThreadGroup.of(RANKS), lambda group: learned(case, group))
    outcomes = [*threads, *gloo.answers()]
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    first = outcomes[0]
    assert [outcome.digest for outcome in outcomes] == [first.digest] * 4
    for other in outcomes[1:]:
        assert [s.samples for s in other.stats] == [s.samples for s in first.stats]
        assert [s.lag for s in other.stats] == [s.lag for s in first.stats]
        assert [s.numbers for s in other.stats] == [s.numbers for s in first.stats]
    initial = Outcome({n: t.numpy() for n, t in case.learner().network.state_dict().items()}, [])
    assert furthest(first, initial) > 1e-4  # it has learned
    assert first.stats[-1].version == UPDATES


@pytest.mark.parametrize("name", JOINED)
def test_a_group_learns_as_one_learner_of_all_slabs(name: str) -> None:
    case = CASES[name]
    together = in_threads(ThreadGroup.of(RANKS), lambda group: learned(case, group))[1]
    if isinstance(together, BaseException):
        raise together
    alone = learned_alone(case)
    assert furthest(together, alone) < 1e-6
    for mine, whole in zip(together.stats, alone.stats, strict=True):
        assert (mine.samples, mine.learned, mine.lag) == (whole.samples, whole.learned, whole.lag)
        assert mine.gradient_steps == whole.gradient_steps
        assert mine.numbers == pytest.approx(whole.numbers, rel=1e-4, abs=1e-5)


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["appo", "dqn"])
def test_a_spoiled_parameter_ends_the_run(name: str) -> None:
    """After the update whose version is compared, in every rank; also when the state is asked for."""
    case = CASES[name]

    def spoiled(group: ThreadGroup) -> None:
        learner = case.learner(group)
        learner.version = COMPARED_EVERY - 1
        if group.rank == 1:
            with torch.no_grad():
                next(learner.network.parameters()).view(-1)[3] += 1e-7
        learner.update(case.slab(COMPARED_EVERY, group.rank))

    def stored(group: ThreadGroup) -> None:
        learner = case.learner(group)
        if group.rank == 1:
            next(iter(learner.network.buffers())).add_(1.0)
        learner.state()

    for work, version in ((spoiled, COMPARED_EVERY), (stored, 0)):
        for error in in_threads(ThreadGroup.of(RANKS), work):
            assert isinstance(error, GroupError)
            assert str(error).startswith(
                f"version {version}: the parameters of rank 1 of 2 differ from rank 0's"
            )


def test_all_ranks_refuse_rewards_that_one_cannot_learn_from() -> None:
    case = CASES["appo"]

    def refused(group: ThreadGroup) -> str:
        slab = case.slab(0, group.rank)
        if group.rank == 1:
            slab.reward[0, 0] = float("nan")
        return case.learner(group).update(slab).refusal

    first, second = in_threads(ThreadGroup.of(RANKS), refused)
    assert first == second
    assert first.startswith("algorithm.reward_scale = 1: rewards reach nan")


def test_alphazero_has_one_learner() -> None:
    network = tower(ResnetConfig(blocks=1, filters=8, value_hidden=8), game_spec("tic_tac_toe"))
    context = LearnerContext(1, group=ThreadGroup.of(RANKS)[0])
    with pytest.raises(ValueError, match=r'2 learners: expected 1 with algorithm.name = "alphazero"$'):
        AlphaZeroLearner(AlphaZeroConfig(), network, context)


def test_a_rank_that_leaves_or_is_late_ends_the_group() -> None:
    def left(group: ThreadGroup) -> None:
        if group.rank == 1:
            group.leave()
        else:
            group.total(1)

    def late(group: ThreadGroup) -> None:
        if group.rank == 0:
            group.total(1)

    for work, timeout_s in ((left, 60.0), (late, 0.2)):
        error, _ = in_threads(ThreadGroup.of(RANKS, timeout_s), work)
        assert isinstance(error, GroupError)
        assert "rank 0 of 2: another rank has left or is late" in str(error)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "within_s"), [(signal.SIGKILL, 5.0), (signal.SIGSTOP, 20.0)])
def test_a_process_that_is_killed_or_stopped_ends_the_group(
    tmp_path: Path, number: signal.Signals, within_s: float
) -> None:
    ranks = Ranks(tmp_path / "store", timeout_s=8.0)
    try:
        process = ranks.processes[1]
        assert process.pid is not None
        os.kill(process.pid, number)
        started = time.perf_counter()
        ranks.calls[0].send("appo")
        answer = ranks._answer(ranks.calls[0])
        assert isinstance(answer, GroupError)
        assert str(answer).startswith("rank 0 of 2: ")
        assert time.perf_counter() - started < within_s
    finally:
        ranks.processes[1].kill()
        ranks.close()


NUMBERS = np.arange(6, dtype=np.float32) + 1.0
ALIKE: dict[str, Array] = {"a": NUMBERS, "b": NUMBERS * 2.0}
OTHERS: dict[str, dict[str, Array]] = {
    "a name": {"c": NUMBERS, "b": NUMBERS * 2.0},
    "a type": {"a": NUMBERS.view(np.int32), "b": NUMBERS * 2.0},
    "a shape": {"a": NUMBERS.reshape(2, 3), "b": NUMBERS * 2.0},
    "a shape of another order": {"a": NUMBERS.reshape(6, 1), "b": NUMBERS * 2.0},
    "the place of a border": {"a": NUMBERS[:5], "b": np.append(NUMBERS[5:], NUMBERS * 2.0)},
    "a missing one": {"a": NUMBERS},
    "one bit": {"a": NUMBERS, "b": np.nextafter(NUMBERS * 2.0, np.float32(99.0))},
    "the sign of zero": {"a": NUMBERS, "b": NUMBERS * 2.0, "z": np.array([-0.0], np.float32)},
}


def compared(*states: dict[str, Array]) -> list[str]:
    """Return what each rank raises; empty where the ranks agree."""
    ranks = ThreadGroup.of(len(states), 30.0)

    def compare(rank: ThreadGroup) -> str:
        try:
            compare_ranks(rank, states[rank.rank], 7)
        except GroupError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(len(states)) as threads:
        return list(threads.map(compare, ranks))


@pytest.mark.parametrize("what", OTHERS)
def test_equal_bytes_under_another_name_type_or_shape_differ(what: str) -> None:
    alike = ALIKE | ({"z": np.array([0.0], np.float32)} if what == "the sign of zero" else {})
    for text in compared(alike, OTHERS[what]):
        assert "version 7: the parameters of rank 1 of 2 differ from rank 0's" in text


def test_each_rank_that_differs_is_named_by_all() -> None:
    texts = compared(ALIKE, OTHERS["a name"], ALIKE, OTHERS["a shape"])
    assert all("the parameters of rank 1, 3 of 4 differ" in text for text in texts)


def test_equal_numbers_in_another_order_of_memory_are_equal() -> None:
    wide = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert compared({"a": wide}, {"a": np.asfortranarray(wide)}, {"a": wide.T.copy().T}) == ["", "", ""]


def test_a_learner_alone_compares_nothing() -> None:
    compare_ranks(ALONE, {"a": NUMBERS}, 7)
