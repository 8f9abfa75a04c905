"""Acting and learning on streams that work late: every order that events allow gives the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pytest

from ludus.algorithms.appo import make_learner
from ludus.algorithms.config import AppoConfig
from ludus.algorithms.learner import LearnerContext
from ludus.flow import Slab
from ludus.flow.slab import Array
from ludus.policies.accelerator import Event, Executor, Plain, Stream
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from ludus.rollouts.actor import ActInput
from ludus.rollouts.network_actor import NetworkActor
from tests.taped import Taped
from tests.unit.synthetic import AppoLearner, make_spec, random_slab, tensor

SPEC = make_spec((tensor("numbers", "f32", (3,)),), (3,))
POLICY = EncoderConfig(dense=(4,), hidden=(4,), norm="batch", memory="recall")
CONFIG = AppoConfig(minibatches=2, epochs=2)
STEPS, ROWS, ROUNDS = 2, 5, 4


def learner_of(executor: Executor) -> AppoLearner:
    return make_learner(CONFIG, PolicyNetwork(POLICY, SPEC, 1), LearnerContext(1, executor=executor))


def fill(slab: Slab, actor: NetworkActor, seed: int) -> Iterator[Array]:
    """Play a slab with the actor, into the same arrays every time; yield what it decides."""
    drawn = random_slab(SPEC, STEPS, ROWS, seed, idle=0.2)
    for name, array in drawn.fields().items():
        slab.fields()[name][...] = array
    if seed == 2:
        slab.active[:], slab.policy[:] = 0, -1  # nothing is learned, and nothing waited for
    memory = np.zeros((ROWS, 2, 3), np.float32)
    slab.memory[0][...] = memory
    for t in range(STEPS):
        rows = np.flatnonzero(slab.active[t]).astype(np.int32)
        if not len(rows):
            continue
        obs = {name: array[t, rows] for name, array in slab.obs.items()}
        batch = ActInput(obs, slab.mask[t, rows], memory[rows], slab.is_first[t, rows], t, rows)
        decision = actor.act(batch)
        slab.actions[t, rows], slab.log_prob[t, rows] = decision.actions, decision.log_prob
        slab.value[t, rows], slab.version[t, rows] = decision.value, actor.version
        assert decision.memory is not None
        memory[rows] = decision.memory
        yield from (decision.actions, decision.log_prob, decision.value, decision.memory)


def trained(executor: Executor) -> list[Array]:
    """Play and learn in turn on one slab, whose arrays are overwritten as soon as an update is over."""
    learner = learner_of(executor)
    acting = PolicyNetwork(POLICY, SPEC, 2)
    actor = NetworkActor(acting, 3, executor=executor)
    slab = random_slab(SPEC, STEPS, ROWS, 0)
    slab.memory[0] = np.zeros((ROWS, 2, 3), np.float32)
    found: list[Array] = []
    actor.version = learner.copy_to(acting)
    for k in range(ROUNDS):
        found += fill(slab, actor, k)
        if k == 3:
            slab.version -= 1  # V-trace needs a pass of its own
        learner.update(slab, k / ROUNDS)
        for array in slab.fields().values():
            array[...] = 1
        actor.version = learner.copy_to(acting)
    found += learner.state()[0].values()
    return found


@pytest.fixture(scope="module")
def expected() -> list[Array]:
    return trained(Plain(static=True))


@pytest.mark.parametrize(
    ("first", "last"), [(0, 16), pytest.param(16, 200, marks=pytest.mark.slow)], ids=["some", "more"]
)
def test_late_streams_change_no_bit(first: int, last: int, expected: list[Array]) -> None:
    for seed in range(first, last):
        found = trained(Taped(seed))
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs, err_msg=f"seed {seed}")


class CountedEvent:
    """Counts waits of the host."""

    def __init__(self, event: Event, owner: Counted) -> None:
        self.event, self.owner = event, owner

    def synchronize(self) -> None:
        """Count, and wait."""
        self.owner.waits += 1
        self.event.synchronize()


class CountedStream:
    """Counts waits of the host."""

    def __init__(self, stream: Stream, owner: Counted) -> None:
        self.stream, self.owner = stream, owner

    def record(self) -> Event:
        """Return an event that counts."""
        return CountedEvent(self.stream.record(), self.owner)

    def wait(self, event: Event) -> None:
        """Let the stream wait."""
        self.stream.wait(event)

    def synchronize(self) -> None:
        """Count, and wait."""
        self.owner.waits += 1
        self.stream.synchronize()


class Counted(Taped):
    """A tape that counts the host's waits for streams."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = 0

    def stream(self) -> Stream:
        """See :meth:`ludus.policies.accelerator.Executor.stream`."""
        return CountedStream(super().stream(), self)

    def on(self, stream: Stream) -> AbstractContextManager[object]:
        """Return a context that waits for nothing, as a card's."""
        return nullcontext()


@pytest.mark.parametrize(("lag", "waits"), [(0, 2), (1, 3)])
def test_an_update_waits_at_most_three_times(lag: int, waits: int) -> None:
    executor = Counted()
    learner = learner_of(executor)
    slab = random_slab(SPEC, STEPS, ROWS, 1)
    slab.memory[0] = np.zeros((ROWS, 2, 3), np.float32)
    for _ in range(3):
        slab.version[:] = learner.version - lag
        executor.waits = 0
        assert learner.update(slab).gradient_steps == 4
        assert executor.waits == waits
