"""Acting and learning on streams that work late: every order that events allow gives the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import msgspec
import numpy as np
import pytest

from ludus.algorithms.appo import make_learner
from ludus.algorithms.config import AppoConfig
from ludus.algorithms.learner import LearnerContext
from ludus.flow import Slab
from ludus.flow.slab import Array
from ludus.policies.accelerator import DeviceEvent, Executor, Plain, Stream
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from ludus.rollouts.actor import ActInput
from ludus.rollouts.network_actor import NetworkActor
from tests.taped import Taped
from tests.unit.synthetic import AppoLearner, make_spec, random_slab, tensor

SPEC = msgspec.structs.replace(make_spec((tensor("numbers", "f32", (3,)),), (3,)), seats=2)
POLICY = EncoderConfig(dense=(4,), hidden=(4,), norm="batch", memory="recall")
CENTRALISED = msgspec.structs.replace(POLICY, memory="none", critic="own", critic_sees="all")
CONFIG = AppoConfig(minibatches=2, epochs=2)
STEPS, ROWS, ROUNDS = 2, 5, 4


def learner_of(executor: Executor, policy: EncoderConfig = POLICY) -> AppoLearner:
    return make_learner(CONFIG, PolicyNetwork(policy, SPEC, 1), LearnerContext(1, executor=executor))


def slab_of(seed: int) -> Slab:
    """Return a slab of two matches and a half, with memory that a policy may ignore."""
    slab = random_slab(SPEC, STEPS, ROWS, seed)
    slab.row_slot, slab.row_seat = (x.astype(np.int32) for x in np.divmod(np.arange(ROWS), SPEC.seats))
    slab.memory[0] = np.zeros((ROWS, 2, 3), np.float32)
    return slab


def fill(slab: Slab, actor: NetworkActor, seed: int) -> Iterator[Array]:
    """Play a slab with the actor, into the same arrays every time; yield what it decides."""
    drawn = random_slab(SPEC, STEPS, ROWS, seed, idle=0.2)
    for name, array in drawn.fields().items():
        slab.fields()[name][...] = array
    if seed == 2:
        slab.active[:], slab.policy[:] = 0, -1  # without learning or waiting
    memory = np.zeros((ROWS, 2, 3), np.float32)
    slab.memory[0][...] = memory
    recalls = actor.network.memory_shape is not None
    for t in range(STEPS):
        rows = np.flatnonzero(slab.active[t]).astype(np.int32)
        if not len(rows):
            continue
        obs = {name: array[t, rows] for name, array in slab.obs.items()}
        given = memory[rows] if recalls else None
        batch = ActInput(obs, slab.mask[t, rows], given, slab.is_first[t, rows], t, rows)
        decision = actor.act(batch)
        slab.actions[t, rows], slab.log_prob[t, rows] = decision.actions, decision.log_prob
        slab.value[t, rows], slab.version[t, rows] = decision.value, actor.version
        yield from (decision.actions, decision.log_prob, decision.value)
        if recalls:
            assert decision.memory is not None
            memory[rows] = decision.memory
            yield decision.memory


def trained(executor: Executor, policy: EncoderConfig = POLICY) -> list[Array]:
    """Play and learn in turn on one slab, whose arrays are overwritten as soon as an update is over."""
    learner = learner_of(executor, policy)
    acting = PolicyNetwork(policy, SPEC, 2)
    actor = NetworkActor(acting, 3, executor=executor)
    slab = slab_of(0)
    found: list[Array] = []
    actor.version = learner.copy_to(acting)
    for k in range(ROUNDS):
        found += fill(slab, actor, k)
        if k == 3:
            slab.version -= 1  # V-trace needs a separate pass
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
        assert_equal(trained(Taped(seed)), expected, seed)


def assert_equal(found: list[Array], expected: list[Array], seed: int) -> None:
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs, err_msg=f"seed {seed}")


def test_late_streams_change_no_bit_of_a_centralised_critic() -> None:
    expected = trained(Plain(static=True), CENTRALISED)
    for seed in range(4):
        assert_equal(trained(Taped(seed), CENTRALISED), expected, seed)


class CountedEvent:
    """Counts waits of the host."""

    def __init__(self, event: DeviceEvent, owner: Counted) -> None:
        self.event, self.owner = event, owner

    def synchronize(self) -> None:
        """Count, and wait."""
        self.owner.waits += 1
        self.event.synchronize()


class CountedStream:
    """Counts waits of the host."""

    def __init__(self, stream: Stream, owner: Counted) -> None:
        self.stream, self.owner = stream, owner

    def record(self) -> DeviceEvent:
        """Return an event that counts."""
        return CountedEvent(self.stream.record(), self.owner)

    def wait(self, event: DeviceEvent) -> None:
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


@pytest.mark.parametrize(("policy", "lag", "waits"), [(POLICY, 0, 2), (POLICY, 1, 3), (CENTRALISED, 1, 3)])
def test_an_update_waits_at_most_three_times(policy: EncoderConfig, lag: int, waits: int) -> None:
    executor = Counted()
    learner = learner_of(executor, policy)
    slab = slab_of(1)
    for _ in range(3):
        slab.version[:] = learner.version - lag
        executor.waits = 0
        assert learner.update(slab).gradient_steps == 4
        assert executor.waits == waits
