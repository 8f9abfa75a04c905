"""One update of APPO against plain float64 loops: statistics, advantages, clipping, schedules, shuffles."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
import torch

from ludus.algorithms.actor_critic.advantages import AdvantageBatch
from ludus.algorithms.config import A2cConfig, AppoConfig
from ludus.algorithms.loss import Loss
from ludus.algorithms.updates.samples import Index
from ludus.flow import Slab
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from tests.unit.synthetic import AppoLearner, act, appo_learner, make_spec, random_slab, tensor

SPEC = make_spec((tensor("counts", "u8", (7,), scale=0.01), tensor("numbers", "f32", (6,))), (4, 1, 3))
POLICY = EncoderConfig(dense=(16,), hidden=(24,), memory_size=12)
STEPS, ROWS = 10, 24


def make_learner(memory: str = "none", **changes: object) -> AppoLearner:
    config = msgspec.convert({"minibatches": 1, "micro_batch": 4096, **changes}, AppoConfig)
    return appo_learner(config, msgspec.structs.replace(POLICY, memory=memory), SPEC, seed=1)


def first_moment(learner: AppoLearner) -> torch.Tensor:
    """Of Adam."""
    return learner.optimiser.vectors()["adam.first"]


def played(learner: AppoLearner, seed: int) -> Slab:
    """Every row decides at every step."""
    slab = random_slab(SPEC, STEPS, ROWS, seed)
    act(learner.network, slab, seed, learner.version)
    return slab


def test_observation_statistics_are_those_of_every_decision_that_was_learned_from() -> None:
    learner = make_learner()
    seen: list[list[float]] = []
    for seed in range(3):
        slab = played(learner, seed)
        learner.update(slab)
        for t in range(STEPS):
            for row in range(ROWS):
                counts = [0.01 * float(x) for x in slab.obs["counts"][t, row]]
                seen.append(counts + [float(x) for x in slab.obs["numbers"][t, row]])
    assert learner.network.normaliser is not None
    count = len(seen)
    for column, (mean, variance) in enumerate(
        zip(learner.network.normaliser.mean.tolist(), learner.network.normaliser.variance.tolist())
    ):
        values = [row[column] for row in seen]
        expected = sum(values) / count
        assert mean == pytest.approx(expected, abs=1e-5)
        assert variance == pytest.approx(sum((v - expected) ** 2 for v in values) / count, rel=1e-4)
    assert float(learner.network.normaliser.count) == count


def advantages(slab: Slab, discount: float, decay: float) -> np.ndarray:
    """Generalised advantage estimates of rows that always decide, one number at a time."""
    out = np.zeros((STEPS, ROWS))
    for row in range(ROWS):
        later = 0.0
        for t in reversed(range(STEPS)):
            follows = float(slab.value[t + 1, row])
            if slab.terminated[t, row]:
                follows, later = 0.0, 0.0
            elif slab.truncated[t, row]:
                follows, later = float(slab.final_value[t, row]), 0.0
            delta = float(slab.reward[t, row]) + discount * follows - float(slab.value[t, row])
            later = delta + discount * decay * later
            out[t, row] = later
    return out


@pytest.mark.parametrize("standardised", [True, False])
def test_policy_loss_is_that_of_advantages_with_mean_0_and_deviation_1(standardised: bool) -> None:
    learner = make_learner(normalise_advantages=standardised, discount=0.9, gae_lambda=0.8)
    slab = played(learner, 1)
    slab.reward[:] = 3.0 + 5.0 * slab.reward
    shift = np.random.default_rng(2).normal(size=slab.log_prob.shape).astype(np.float32) * 0.3
    slab.log_prob += shift  # the behaviour policy was another one: ratio exp(-shift)
    advantage = advantages(slab, 0.9, 0.8)
    if standardised:
        advantage = (advantage - advantage.mean()) / advantage.std()
    total = 0.0
    for a, s in zip(advantage.ravel().tolist(), shift.ravel().tolist()):
        ratio = math.exp(-s)
        total -= min(ratio * a, min(max(ratio, 0.8), 1.2) * a)
    assert learner.update(slab).numbers["loss/policy"] == pytest.approx(total / advantage.size, abs=1e-4)


@pytest.mark.parametrize(("bound", "share"), [(0.5, 0.5), (2.0, 1.0), (0.0, 1.0)])
def test_gradients_longer_than_the_bound_are_cut_to_it(bound: float, share: float) -> None:
    """Adam's first moment after one step is (1 - beta1) times the gradient. ``bound``: in norms."""
    norm = make_learner(max_grad_norm=0.0).update(played(make_learner(), 1)).numbers["learner/grad_norm"]
    learner = make_learner(max_grad_norm=bound * norm)
    stats = learner.update(played(learner, 1))
    assert stats.numbers["learner/grad_norm"] == pytest.approx(norm, rel=1e-5)  # what is reported is not cut
    assert float(first_moment(learner).norm()) == pytest.approx((1.0 - 0.9) * share * norm, rel=1e-4)


@pytest.mark.parametrize(("progress", "constant"), [(0.0, 0.1), (0.25, 0.3), (1.0, 0.9)])
def test_entropy_coefficient_moves_to_its_final_value(progress: float, constant: float) -> None:
    def gradient(start: float, end: float) -> np.ndarray:
        """Return the gradient of the first minibatch, times 1 - beta1."""
        learner = make_learner(entropy_coefficient=start, entropy_coefficient_final=end, max_grad_norm=0.0)
        with torch.no_grad():  # a uniform policy's entropy has no slope
            next(learner.network.policy_head.parameters()).mul_(40.0)
        learner.update(played(learner, 1), progress)
        return first_moment(learner).numpy().copy()

    falling = gradient(0.1, 0.9)
    np.testing.assert_allclose(falling, gradient(constant, constant), atol=1e-6)
    assert np.abs(falling - gradient(0.5, 0.5)).max() > 1e-4


@pytest.mark.parametrize("memory", ["none", "gru"])
def test_every_epoch_of_every_version_has_its_own_shuffle(memory: str) -> None:
    """An epoch's minibatches share out all decisions (rows, with memory), in a new order."""
    learner = make_learner(memory, epochs=2, minibatches=3)
    original = learner._loss
    parts: list[list[int]] = []

    def note(
        batch: AdvantageBatch, network: PolicyNetwork, part: Index, entropy_coefficient: float
    ) -> tuple[Loss, int]:
        parts.append(part.tolist())
        return original(batch, network, part, entropy_coefficient)

    learner._loss = note  # type: ignore[method-assign]
    for seed in range(3):
        learner.update(played(learner, seed))
    assert len(parts) == 3 * 2 * 3
    epochs = [[n for part in parts[i : i + 3] for n in part] for i in range(0, len(parts), 3)]
    units = STEPS * ROWS if memory == "none" else ROWS
    for epoch in epochs:
        assert sorted(epoch) == list(range(units))
    assert len({tuple(e) for e in epochs}) == len(epochs)
    firsts = [set(parts[i]) for i in range(0, len(parts), 3)]
    assert len({frozenset(f) for f in firsts}) == len(firsts)  # the minibatches differ, not their order alone


def test_parameters_without_a_part_in_the_loss_have_no_gradient() -> None:
    """An earlier gradient in the same place is not learned again."""
    learner = make_learner()
    parameters, network = learner.parameters, learner.network
    out = torch.full_like(parameters.vector, 7.0)
    head = network.value_head.bias
    parameters.gradient(3.0 * head.sum(), network, out)
    for name, gradient in parameters.named(out).items():
        assert (gradient == (3.0 if name == "value_head.bias" else 0.0)).all(), name


@pytest.mark.parametrize(("reward", "scale"), [(-1e30, "1e-30"), (3e38, "3e-39"), (1e20, "1e-20")])
def test_rewards_whose_squares_overflow_are_refused_by_name(reward: float, scale: str) -> None:
    learner = make_learner()
    slab = played(learner, 1)
    slab.reward[3, 4] = reward
    stats = learner.update(slab)
    assert stats.refusal == (
        f"algorithm.reward_scale = 1: rewards reach {abs(reward):.3g}, too large to learn from; scale them: "
        f"expected about {scale}, or smaller rewards in the game"
    )
    assert learner.version == 0
    for fitting in (make_learner(reward_scale=1e-38), make_learner(reward_clip=1.0)):
        assert fitting.update(slab).refusal == ""
        assert fitting.version == 1


def test_an_update_of_the_value_alone_leaves_the_policy_and_the_next_one_moves_it() -> None:
    learner = make_learner()
    value = {n for n in learner.parameters.names if n in learner.network.critic_parameters()}

    def moved(value_only: bool) -> set[str]:
        before = learner.parameters.named(learner.parameters.vector)
        learner.update(played(learner, 1), value_only=value_only)
        after = learner.parameters.named(learner.parameters.vector)
        return {n for n in before if not np.array_equal(before[n], after[n])}

    assert moved(True) <= value
    assert moved(False) - value


def test_settings_of_another_method_are_refused() -> None:
    learner = make_learner()
    learner.set_config(AppoConfig(learning_rate=0.5))
    assert learner.config.learning_rate == 0.5
    with pytest.raises(TypeError, match="expected AppoConfig, got A2cConfig"):
        learner.set_config(A2cConfig())
