"""AlphaZero's minibatch on an accelerator: taped as called, near the processor's, nothing read early."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
import pytest
import torch

from ludus.algorithms.alphazero.learner import AlphaZeroLearner
from ludus.algorithms.alphazero.samples import Ends, Positions
from ludus.algorithms.config import AlphaZeroConfig
from ludus.algorithms.learner import LearnerContext, UpdateStats
from ludus.flow import GameSpec
from ludus.flow.process.as_found import one_thread
from ludus.games import spec as game_spec
from ludus.mcts import LeafBatch
from ludus.mcts.network import NetworkEvaluator
from ludus.policies.accelerator import Executor, Plain
from ludus.policies.config import ResnetConfig
from ludus.policies.layers.residual import ResidualNetwork
from ludus.presets.checks.game import resolve_spec
from ludus.presets.file import load_preset
from tests.taped import Taped
from tests.unit.synthetic import tower

PRESETS = ("go5", "connect-four", "tic_tac_toe-alphazero")
SIZE = 24


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Batches are small: several threads would wait for each other."""
    threads = torch.get_num_threads()
    one_thread()
    yield
    torch.set_num_threads(threads)


def positions(spec: GameSpec, count: int, seed: int, ends: bool) -> Positions:
    """Return drawn positions, with the ends of their matches or without."""
    random = np.random.default_rng(seed)
    obs = {
        t.name: random.integers(0, 256, (count, *t.packed_shape)).astype(t.packed_dtype)
        for t in spec.observation
    }
    mask = (random.random((count, spec.mask_size)) < 0.7).astype(np.uint8)
    mask[:, 0] = 1
    policy = random.random((count, spec.mask_size)).astype(np.float32) * mask
    policy /= policy.sum(axis=1, keepdims=True)
    known = None
    if ends:
        cells = spec.counted_cells
        known = Ends(
            (random.random(count) < 0.6).astype(np.uint8),
            random.integers(-1, 2, (count, cells)).astype(np.int8),
            random.normal(0.0, 20.0, count).astype(np.float32),
        )
    value = random.uniform(-1.0, 1.0, count).astype(np.float32)
    return Positions(obs, mask, policy, value, known)


class Case:
    """A preset's learner of small minibatches, with a schedule whose rate changes at every step."""

    def __init__(self, name: str, **changes: object) -> None:
        preset = load_preset(name, {"policy.blocks": "2", "run.precision": "float32"}).preset
        assert isinstance(preset.algorithm, AlphaZeroConfig)
        assert isinstance(preset.policy, ResnetConfig)
        self.spec, _ = resolve_spec(preset)
        self.policy = preset.policy
        settings = {"batch_size": SIZE, "warmup": 50, "max_grad_norm": 0.5, "statistics_batches": 2}
        self.config = msgspec.structs.replace(preset.algorithm, **settings | changes)
        self.ends = preset.policy.ownership

    def learner(self, executor: Executor | None) -> AlphaZeroLearner:
        return AlphaZeroLearner(
            self.config, tower(self.policy, self.spec), LearnerContext(3, workers=1), executor
        )

    def learned(
        self, executor: Executor | None, updates: int = 3
    ) -> tuple[AlphaZeroLearner, list[UpdateStats]]:
        """Return a learner after updates of two minibatches each, with publishes between, and statistics."""
        learner = self.learner(executor)
        stats = []
        for k in range(updates):
            ends = self.ends and k != 1  # matches that were all resigned have no ends to learn
            data = positions(self.spec, 2 * SIZE, k, ends)
            stats.append(learner.learn(data, 0.1 * k))
            learner.publish(data)
        learner.close()
        return learner, stats


def vectors(learner: AlphaZeroLearner) -> list[torch.Tensor]:
    return [learner.parameters.vector, learner.average, *learner.optimiser.vectors().values()]


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("seed", [None, 3])
def test_taped_minibatches_are_those_of_the_function(name: str, seed: int | None) -> None:
    case = Case(name)
    ours, our_stats = case.learned(Taped(seed))
    theirs, their_stats = case.learned(Plain(static=True))
    for a, b in zip(vectors(ours), vectors(theirs), strict=True):
        assert torch.equal(a, b)
    assert [s.numbers for s in our_stats] == [s.numbers for s in their_stats]
    assert ours.optimiser.counters() == theirs.optimiser.counters()
    for a, b in zip(ours.playing.state_dict().values(), theirs.playing.state_dict().values(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize(("optimizer", "max_grad_norm"), [("sgd", 0.5), ("adamw", 0.0)])
def test_an_accelerator_learns_what_the_processor_learns(
    name: str, optimizer: str, max_grad_norm: float
) -> None:
    rate = {"sgd": 5e-3, "adamw": 1e-3}[optimizer]
    case = Case(name, optimizer=optimizer, max_grad_norm=max_grad_norm, learning_rate=rate)
    before = case.learner(None).parameters.vector.clone()
    ours, our_stats = case.learned(Plain(static=True))
    theirs, their_stats = case.learned(None)
    moved = float((theirs.parameters.vector - before).abs().max())
    assert moved > 1e-4
    for a, b in zip(vectors(ours)[:2], vectors(theirs)[:2], strict=True):
        assert float((a - b).abs().max()) < min(1e-5, 0.05 * moved)
    for one, other in zip(our_stats, their_stats, strict=True):
        assert one.numbers == pytest.approx(other.numbers, rel=1e-4, abs=1e-5)
        assert (one.samples, one.gradient_steps) == (other.samples, other.gradient_steps)
    assert ours.optimiser.counters() == theirs.optimiser.counters()


def test_a_restored_learner_continues_with_the_same_bits() -> None:
    """The program is not prepared again: it reads the restored weights, moments and counters."""
    case = Case("tic_tac_toe-alphazero", optimizer="adamw")
    learner, _ = case.learned(Taped(1))
    arrays, counters = learner.state()
    data = positions(case.spec, 2 * SIZE, 9, case.ends)
    first = learner.learn(data, 0.5).numbers
    expected = [v.clone() for v in vectors(learner)]
    learner.learn(data, 0.6)
    learner.load_state(arrays, counters)
    assert learner.learn(data, 0.5).numbers == first
    for a, b in zip(vectors(learner), expected, strict=True):
        assert torch.equal(a, b)


def test_numbers_of_a_minibatch_are_those_of_all_its_samples() -> None:
    """Summed on the device: an update of two minibatches has the mean of both."""
    case = Case("go5", learning_rate=1e-12, symmetries=False, optimizer="sgd", momentum=0.0)
    one, two = positions(case.spec, SIZE, 1, True), positions(case.spec, SIZE, 2, True)
    both = positions(case.spec, 0, 1, True)
    both = Positions(
        {n: np.concatenate([one.obs[n], two.obs[n]]) for n in both.obs},
        np.concatenate([one.mask, two.mask]),
        np.concatenate([one.policy, two.policy]),
        np.concatenate([one.value, two.value]),
        Ends.join([p.ends for p in (one, two) if p.ends is not None]),
    )
    learner = case.learner(Taped())
    a, b, c = (learner.learn(p, 0.0) for p in (one, two, both))
    assert (c.samples, c.gradient_steps, c.learned) == (2 * SIZE, 2, 2 * SIZE)
    for name in ("loss/policy", "loss/value", "learner/grad_norm"):
        assert c.numbers[name] == pytest.approx((a.numbers[name] + b.numbers[name]) / 2, rel=1e-4)
    counted = [s.numbers["learner/counted"] for s in (a, b)]
    assert c.numbers["learner/counted"] == sum(counted)
    for name in ("loss/ownership", "loss/score"):
        expected = (a.numbers[name] * counted[0] + b.numbers[name] * counted[1]) / sum(counted)
        assert c.numbers[name] == pytest.approx(expected, rel=1e-4)


def rounds(executor: Executor, spec: GameSpec) -> list[np.ndarray]:
    """Return the answers of three threads' evaluators between rounds of learning."""
    policy = ResnetConfig(blocks=1, filters=4, value_hidden=4)
    config = AlphaZeroConfig(batch_size=8, learning_rate=0.5, warmup=0, statistics_batches=1)
    network: ResidualNetwork = tower(policy, spec)
    learner = AlphaZeroLearner(config, network, LearnerContext(3, workers=1), executor)
    evaluator = NetworkEvaluator(learner.publish(None), symmetries="random", executor=executor)
    threads = [evaluator.sibling(k) for k in range(3)]
    batch = LeafBatch(spec, 16)
    out: list[np.ndarray] = []
    for number in range(3):
        for thread in threads:
            random = np.random.default_rng(number)
            for array in batch.obs.values():
                array[...] = random.integers(0, 256, array.shape)
            out.extend(a.copy() for a in thread.evaluate(batch, 16 - number))
        data = positions(spec, 16, number, False)
        learner.learn(data, 0.0)
        assert evaluator.load(learner.publish(data))
        threads = [evaluator.sibling(10 * number + k, thread) for k, thread in enumerate(threads)]
    return out


def test_streams_that_run_late_give_the_same_matches() -> None:
    spec = game_spec("tic_tac_toe")
    expected = rounds(Plain(static=True), spec)
    assert not np.array_equal(expected[0], expected[6])
    for seed in range(8):
        for a, b in zip(rounds(Taped(seed), spec), expected, strict=True):
            np.testing.assert_array_equal(a, b)
