"""Learners in groups: what each rank is made from and reads, and the process of one rank."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import msgspec
import numpy as np
import torch
import torch.distributed as dist

from ludus.algorithms.group import ALONE, Group, GroupError, ThreadGroup, TorchGroup
from ludus.algorithms.learner import LearnerContext, SlabLearner, UpdateStats
from ludus.algorithms.registry import find, resolve
from ludus.algorithms.updates.parameters import tensors_of
from ludus.flow import Slab
from ludus.flow.slab import Array, joined
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from tests.unit.synthetic import act, make_spec, random_slab, tensor

SPEC = make_spec((tensor("counts", "u8", (7,), scale=0.01), tensor("numbers", "f32", (6,))), (4, 3))
POLICY = EncoderConfig(dense=(12,), hidden=(16,), memory_size=8)
RANKS = 2
UPDATES = 3


@dataclass(frozen=True)
class Case:
    """A method with its settings."""

    method: str
    policy: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    precision: str = "float32"
    empty: tuple[int, ...] = ()  # updates for which rank 1 has no decision

    def learner(self, group: Group = ALONE) -> SlabLearner[Any]:
        """Return the learner of a rank before its first update."""
        known = find(self.method)
        assert known is not None
        config = msgspec.convert({"micro_batch": 20, **self.settings}, known.config)
        learner = resolve(known.learner)(config, self.network(), LearnerContext(1, group=group))
        assert isinstance(learner, SlabLearner)
        return learner

    def network(self) -> PolicyNetwork:
        return PolicyNetwork(msgspec.structs.replace(POLICY, **self.policy), SPEC, 1, self.precision)

    def slab(self, update: int, rank: int) -> Slab:
        """Return what a rank reads for an update; rank 0's decisions are a version older than rank 1's."""
        slab = random_slab(SPEC, 6, 16, 10 * update + rank, idle=0.3, end=0.15)
        if rank == 1 and update in self.empty:
            slab.active[:] = 0
            slab.policy[:] = -1
        act(self.network(), slab, 10 * update + rank, max(update - 1 + rank, 0))
        return slab


CASES = {
    "appo": Case("appo"),
    "appo, one minibatch": Case("appo", settings={"minibatches": 1}),
    "appo, four minibatches": Case("appo", settings={"minibatches": 4}),
    "appo, bfloat16": Case("appo", settings={"minibatches": 1}, precision="bfloat16"),
    "appo, bfloat16, four minibatches": Case("appo", settings={"minibatches": 4}, precision="bfloat16"),
    "appo, part of a pass": Case("appo", settings={"minibatches": 4, "sample_reuse": 0.6}),
    "appo, rate and passes by the divergence": Case(
        "appo", settings={"minibatches": 2, "epochs": 3, "target_kl": 1e-4, "learning_rate_kl": 1e-4}
    ),
    "appo, upgoing returns": Case("appo", settings={"minibatches": 1, "upgo_coefficient": 0.5}),
    "appo, two value heads": Case(
        "appo", {"value_heads": 2}, {"minibatches": 1, "value_discounts": [0.9, 0.99]}
    ),
    "appo, gru": Case("appo", {"memory": "gru"}, {"minibatches": 1}),
    "appo, critic with memory": Case("appo", {"memory": "lstm", "critic": "own"}, {"minibatches": 2}),
    "appo, recall": Case("appo", {"memory": "recall"}, {"minibatches": 1}),
    "appo, batch norms": Case("appo", {"norm": "batch"}, {"minibatches": 1}),
    "appo, empty rank": Case("appo", settings={"minibatches": 1}, empty=(0, 1, 2)),
    "appo, gru, batch norms, empty rank": Case(
        "appo", {"memory": "gru", "norm": "batch"}, {"minibatches": 2}, empty=(0, 2)
    ),
    "impala": Case("impala", settings={"minibatches": 1}),
    "impala, empty rank": Case("impala", settings={"minibatches": 1}, empty=(1, 2)),
    "a2c": Case("a2c", settings={"minibatches": 1, "n_steps": 3}),
    "policy gradient": Case("policy_gradient", settings={"minibatches": 1}),
    "policy gradient, mean": Case("policy_gradient", settings={"minibatches": 1, "baseline": "mean"}),
    "policy gradient, mean, empty rank": Case(
        "policy_gradient", settings={"minibatches": 1, "baseline": "mean"}, empty=(0, 1)
    ),
    "trpo": Case(
        "trpo", {"critic": "own", "activation": "tanh"}, {"conjugate_steps": 4, "fisher_share": 1.0}
    ),
    "trpo, batch norms, empty rank": Case(
        "trpo", {"critic": "own", "activation": "tanh", "norm": "batch"}, {"conjugate_steps": 4}, empty=(1,)
    ),
    "dqn": Case(
        "dqn",
        {"output": "q", "duelling": True},
        {"buffer_slabs": 3, "batch_size": 32, "updates": 3, "learning_starts": 1, "priority_alpha": 0.6},
    ),
    "dqn, empty rank at first": Case(
        "dqn",
        {"output": "q"},
        {"buffer_slabs": 3, "batch_size": 32, "updates": 2, "learning_starts": 20, "normalise_returns": True},
        empty=(0,),
    ),
    "imitation": Case("imitation", settings={"minibatches": 1}),
    "imitation, gru, empty rank": Case("imitation", {"memory": "gru"}, {"minibatches": 2}, empty=(1, 2)),
}


@dataclass(frozen=True)
class Outcome:
    """State of a rank after the updates of a case."""

    tensors: dict[str, Array]
    stats: list[UpdateStats]

    @property
    def digest(self) -> str:
        digest = hashlib.sha256()
        for name, array in self.tensors.items():
            digest.update(name.encode() + array.tobytes())
        return digest.hexdigest()


def learned(case: Case, group: Group) -> Outcome:
    """Return the outcome of one rank; all ranks call this."""
    learner = case.learner(group)
    stats = [learner.update(case.slab(update, group.rank), 0.1 * update) for update in range(UPDATES)]
    learner.state()  # compares the ranks
    return Outcome(tensors_of(learner.network), stats)


def learned_alone(case: Case) -> Outcome:
    """Return the outcome of one learner that reads the slabs of all ranks as one."""
    learner, stats = case.learner(), []
    for update in range(UPDATES):
        slab = joined([case.slab(update, rank) for rank in range(RANKS)])
        stats.append(learner.update(slab, 0.1 * update))
    return Outcome(tensors_of(learner.network), stats)


def in_threads(groups: Sequence[ThreadGroup], work: Callable[[ThreadGroup], object]) -> list[Any]:
    """Return ``work(group)`` or its ``GroupError`` of every rank, each in a thread."""
    found: list[Any] = [None] * len(groups)

    def run(group: ThreadGroup) -> None:
        try:
            found[group.rank] = work(group)
        except GroupError as error:
            found[group.rank] = error
        except BaseException as error:
            found[group.rank] = error
            group.leave()

    threads = [threading.Thread(target=run, args=(group,)) for group in groups]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def sums_of(
    group: Group,
) -> tuple[list[float], list[list[float]], dict[str, float], list[list[float]], float]:
    """Return one result of every function of a group."""
    rank = group.rank
    own = {"count": 2, "loss": 0.1 * (rank + 1)} | ({"only": float("nan")} if rank else {})
    rows = np.full((3 * rank, 2), 0.5 + rank, np.float32)  # rank 0 has none
    return (
        group.add(torch.tensor([0.1, 1.0 + rank])).tolist(),
        [part.tolist() for part in group.gather(torch.arange(rank + 1))],
        group.sums(own),
        group.joined(rows).tolist(),
        group.mean(rows[:, 0]),
    )


def rank_process(rank: int, path: str, timeout_s: float, calls: Connection) -> None:
    """Join a group by the file ``path``, and answer the names of cases."""
    torch.set_num_threads(1)
    store = dist.FileStore(path, RANKS)  # type: ignore[attr-defined]
    group = TorchGroup(store, rank, RANKS, timeout_s=timeout_s)
    calls.send("joined")
    while (name := calls.recv()) is not None:
        try:
            calls.send(sums_of(group) if name == "sums" else learned(CASES[name], group))
        except Exception as error:  # the test reads it
            calls.send(error)
    group.close()
