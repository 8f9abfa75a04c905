"""Imitation: its loss against float64 loops, whose rows teach, values, memory, threads."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import torch

from ludus.algorithms.config import ImitationConfig
from ludus.algorithms.imitation.learner import Demonstrations, ImitationLearner, imitation_loss
from ludus.algorithms.learner import LearnerContext
from ludus.algorithms.returns import gae, transitions
from ludus.algorithms.updates.samples import Samples
from ludus.flow import Slab
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from tests.unit.synthetic import act, make_spec, random_slab, tensor

SPEC = make_spec((tensor("counts", "u8", (7,), scale=0.01), tensor("numbers", "f32", (6,))), (4, 1, 3))
POLICY = EncoderConfig(dense=(16,), hidden=(24,), memory_size=12)
TEACHER = 3


def make_learner(memory: str = "none", workers: int = 1, **changes: object) -> ImitationLearner:
    policy = msgspec.structs.replace(POLICY, memory=memory)
    config = msgspec.convert({"minibatches": 1, "micro_batch": 4096, **changes}, ImitationConfig)
    return ImitationLearner(
        config, PolicyNetwork(policy, SPEC, 1), LearnerContext(1, policy=TEACHER, workers=workers)
    )


def demonstrated(seed: int, teacher: int = TEACHER, version: int = 900) -> Slab:
    """A slab of another network's decisions."""
    slab = random_slab(SPEC, 10, 24, seed, idle=0.3, end=0.1)
    network = PolicyNetwork(msgspec.structs.replace(POLICY, hidden=(8,)), SPEC, 7)
    with torch.no_grad():
        next(network.policy_head.parameters()).mul_(40.0)
    act(network, slab, seed, version)
    slab.policy[slab.policy >= 0] = teacher
    return slab


def tensors(learner: ImitationLearner) -> dict[str, np.ndarray]:
    return {n: np.asarray(a) for n, a in learner.weights().tensors.items()}


def same(one: ImitationLearner, two: ImitationLearner) -> bool:
    a, b = tensors(one), tensors(two)
    return all(np.array_equal(a[n], b[n]) for n in a)


def test_the_loss_equals_a_float64_loop() -> None:
    random = np.random.default_rng(3)
    log_prob, entropy, value, target = (random.normal(size=50) for _ in range(4))
    known, agrees = (random.random(50) < 0.5 for _ in range(2))
    config = ImitationConfig(value_coefficient=0.7, entropy_coefficient=0.02)
    total = 0.0
    for i in range(50):
        total += -log_prob[i] - 0.02 * entropy[i]
        if known[i]:
            total += 0.7 * 0.5 * (value[i] - target[i]) ** 2
    given = (
        torch.from_numpy(np.asarray(a, np.float32)) for a in (log_prob, entropy, agrees, value, target, known)
    )
    loss = imitation_loss(config, Demonstrations(*given))
    assert float(loss.total) == pytest.approx(total, rel=1e-5)
    assert float(loss.numbers["loss/imitation"]) == pytest.approx(-log_prob.sum(), rel=1e-5)
    assert float(loss.numbers["imitation/accuracy"]) == agrees.sum()


@pytest.mark.parametrize("memory", ["none", "recall", "gru", "lstm"])
def test_the_reported_loss_is_that_of_the_decisions(memory: str) -> None:
    """-log pi of every decision of the teacher, its returns known or not; of no other decision."""
    learner = make_learner(memory)
    slab = demonstrated(4)
    other = np.zeros_like(slab.policy, bool)
    other[:, ::3] = slab.policy[:, ::3] >= 0
    slab.policy[other] = 0
    mine = (slab.active[:-1] != 0) & (slab.policy[:-1] == TEACHER)
    log_prob = np.zeros_like(slab.log_prob)
    samples = Samples(slab, learner.network, TEACHER, learner.network.initial_memory(24))
    for task in learner._evaluations(samples, slab.value.copy(), log_prob):
        task(0)
    stats = learner.update(slab)
    assert stats.samples == stats.learned == mine.sum() > 50
    assert stats.numbers["loss/imitation"] == pytest.approx(-log_prob[mine].mean(), rel=1e-4)
    assert stats.lag == {0: mine.sum()}


@pytest.mark.parametrize("memory", ["none", "recall", "gru"])
def test_a_learner_comes_to_agree_with_the_teacher(memory: str) -> None:
    learner = make_learner(memory, learning_rate=1e-2, minibatches=4, epochs=3)
    numbers = [learner.update(demonstrated(0)).numbers for _ in range(8)]
    assert numbers[-1]["imitation/accuracy"] > numbers[0]["imitation/accuracy"] + 0.2
    assert numbers[-1]["loss/imitation"] < 0.6 * numbers[0]["loss/imitation"]


def test_decisions_that_the_mask_rules_out_are_not_trained_on() -> None:
    """Lenient heads let bots choose what does nothing."""
    slab = demonstrated(5)
    decided = np.argwhere((slab.active[:-1] != 0) & (slab.policy[:-1] == TEACHER))
    t, row = decided[0]
    illegal = slab.actions[t, row, 0]
    slab.mask[t, row, :4] = 1
    slab.mask[t, row, illegal] = 0
    learner = make_learner()
    stats = learner.update(slab)
    assert stats.samples == len(decided) - 1
    assert np.isfinite(stats.numbers["loss/imitation"])


def test_a_slab_without_the_teacher_changes_nothing() -> None:
    learner = make_learner()
    before = tensors(learner)
    stats = learner.update(demonstrated(6, teacher=0))
    assert stats.samples == stats.learned == 0
    after = tensors(learner)
    assert all(np.array_equal(before[n], after[n]) for n in before)


def test_the_value_learns_what_the_teacher_earns() -> None:
    """With lambda 1 the targets are sums of rewards; the value predicts their mean at least."""
    learner = make_learner(learning_rate=1e-2, value_coefficient=1.0, discount=0.5)
    for _ in range(20):
        slab = demonstrated(1)
        slab.reward[...] = 0.0
        slab.reward[(slab.active[:-1] != 0)] = 3.0
        stats = learner.update(slab)
    assert stats.numbers["loss/value"] < 0.5
    without = make_learner(value_coefficient=0.0)
    head = next(without.network.value_head.parameters()).detach().clone()
    without.update(demonstrated(1))
    assert torch.equal(next(without.network.value_head.parameters()), head)


def test_the_value_learns_from_known_returns_alone() -> None:
    """Without a return: decisions whose match continues after the slab in a row that does not act again."""
    learner = make_learner(normalise_returns=False, discount=0.9, gae_lambda=0.8)
    slab = demonstrated(8)
    samples = Samples(slab, learner.network, TEACHER, learner.network.initial_memory(24))
    value = np.zeros_like(slab.value)
    for task in learner._evaluations(samples, value, np.zeros_like(slab.log_prob)):
        task(0)
    moves = transitions(
        slab.reward, slab.terminated != 0, slab.truncated != 0, None, value, samples.learner_mask
    )
    returns = gae(moves, value, discount=0.9, gae_lambda=0.8)
    decided = samples.learner_mask[:-1]
    known = decided & returns.valid
    assert decided.sum() > known.sum() + 5 > 50
    error = 0.5 * np.square(value[:-1] - returns.target, dtype=np.float64)
    assert error[decided & ~known].sum() > 0.1
    numbers = learner.update(slab).numbers
    assert numbers["loss/value"] == pytest.approx(error[known].sum() / decided.sum(), rel=1e-4)


def test_the_normaliser_learns_from_the_teachers_rows() -> None:
    learner = make_learner()
    slab = demonstrated(9)
    slab.policy[:, ::4][slab.policy[:, ::4] >= 0] = 0  # decisions of another
    demonstrated_steps = (slab.active[:-1] != 0) & (slab.policy[:-1] == TEACHER)
    learner.update(slab)
    network = PolicyNetwork(POLICY, SPEC, 1)
    obs = {name: torch.from_numpy(array[:-1][demonstrated_steps]) for name, array in slab.obs.items()}
    vectors, (expected, found) = network.vectors(obs), (network.normaliser, learner.network.normaliser)
    assert vectors is not None
    assert expected is not None
    assert found is not None
    expected.absorb(vectors)
    assert float(found.count) == float(expected.count) == demonstrated_steps.sum() > 50
    torch.testing.assert_close(found.mean, expected.mean)
    torch.testing.assert_close(found.variance, expected.variance)


@pytest.mark.parametrize("memory", ["gru", "recall"])
def test_memory_of_the_teachers_rows_continues_in_the_next_slab(memory: str) -> None:
    """The second slab starts with the learner's memory of the first one."""
    learner = make_learner(memory, learning_rate=1e-9)
    learner.update(demonstrated(1))
    network = learner.network
    first = Samples(demonstrated(1), network, TEACHER, network.initial_memory(24))
    rows = np.arange(24)
    obs, begins, active = first.sequences(rows, 10)
    with torch.no_grad():
        remembered = network.sequence(obs, first.memory(rows), begins, active).memory
    assert remembered is not None
    slab = demonstrated(2)
    learner.update(slab)
    assert np.abs(slab.memory[TEACHER]).max() > 0
    assert np.allclose(slab.memory[TEACHER], remembered.numpy(), atol=1e-4)


@pytest.mark.parametrize("memory", ["none", "gru"])
def test_a_learner_continues_bit_equal(memory: str) -> None:
    whole, started, resumed = (make_learner(memory) for _ in range(3))
    for seed in range(4):
        whole.update(demonstrated(seed))
        if seed < 2:
            started.update(demonstrated(seed))
    resumed.load_state(*started.state())
    for seed in (2, 3):
        resumed.update(demonstrated(seed))
    assert same(whole, resumed)


def test_several_heads_of_the_value_are_refused() -> None:
    policy = msgspec.structs.replace(POLICY, value_heads=2)
    with pytest.raises(ValueError, match="value_heads = 2: expected 1"):
        ImitationLearner(ImitationConfig(), PolicyNetwork(policy, SPEC, 1), LearnerContext(1))
