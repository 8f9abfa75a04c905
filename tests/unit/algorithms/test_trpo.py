"""TRPO: Fisher products against exact ones, conjugate gradients, the trust region, what an update moves."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

import msgspec
import numpy as np
import pytest
import torch

from ludus.algorithms.actor_critic.advantages import AdvantageBatch
from ludus.algorithms.config import TrpoConfig
from ludus.algorithms.learner import LearnerContext
from ludus.algorithms.trpo.conjugate import solve
from ludus.algorithms.trpo.learner import TrpoLearner
from ludus.algorithms.updates.forward import forward
from ludus.algorithms.updates.samples import Samples
from ludus.algorithms.updates.tasks import Task
from ludus.flow import GameSpec, Slab
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from ludus.presets.file import PresetError, parse_preset
from tests.unit.synthetic import act, make_spec, pointing_spec, random_slab, tensor

SPEC = make_spec((tensor("counts", "u8", (7,), scale=0.01), tensor("numbers", "f32", (6,))), (4, 1, 3))
POLICY = EncoderConfig(dense=(16,), hidden=(24,), critic="own", activation="tanh")
EXACT = TrpoConfig(micro_batch=4096, fisher_share=1.0, normalise_advantages=True)
Result = TypeVar("Result")


def make_learner(
    config: TrpoConfig = EXACT, policy: EncoderConfig = POLICY, spec: GameSpec = SPEC, workers: int = 1
) -> TrpoLearner:
    learner = TrpoLearner(config, PolicyNetwork(policy, spec, 1), LearnerContext(1, workers=workers))
    with torch.no_grad():  # a policy that is not uniform
        for name, parameter in learner.network.named_parameters():
            if name.startswith("policy_head."):
                parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3)) * 0.3)
    return learner


def played(learner: TrpoLearner, seed: int = 5, spec: GameSpec = SPEC) -> Slab:
    slab = random_slab(spec, 10, 24, seed, idle=0.2, end=0.1)
    act(learner.network, slab, seed, learner.version)
    return slab


def batch_of(learner: TrpoLearner, slab: Slab) -> AdvantageBatch:
    samples = Samples(slab, learner.network)
    zeros = np.zeros(slab.reward.shape, np.float32)
    return AdvantageBatch(samples, zeros, zeros, zeros, samples.learner_mask[:-1], ())


def driven(stages: Generator[Sequence[Task], None, Result]) -> Result:
    """Runs all tasks in this thread."""
    try:
        while True:
            for task in next(stages):
                task(0)
    except StopIteration as end:
        result: Result = end.value
        return result


def vectors(learner: TrpoLearner, count: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(8)
    return [torch.randn(learner.parameters.size, generator=generator) for _ in range(count)]


def product(learner: TrpoLearner, slab: Slab, vector: torch.Tensor) -> torch.Tensor:
    batch = batch_of(learner, slab)
    parts = [np.flatnonzero(batch.valid)]
    start = learner.parameters.vector.clone()
    found, count = driven(learner.fisher_product(batch, parts, vector, start))
    assert count == 2 * batch.valid.sum()
    assert torch.equal(learner.parameters.vector, start)
    return found


@pytest.mark.parametrize("difference", [0.1, 0.01])
def test_fisher_products_are_the_exact_ones(difference: float) -> None:
    """Against the Hessian of the divergence, by differentiating twice."""
    learner = make_learner(msgspec.structs.replace(EXACT, difference=difference))
    slab = played(learner)
    batch = batch_of(learner, slab)
    part = np.flatnonzero(batch.valid)
    network, samples = learner.network, batch.samples
    index, new, _ = forward(network, samples, part, batch.valid)
    learner.copy_to(learner._anchor)
    with torch.no_grad():
        _, old, _ = forward(learner._anchor, samples, part, batch.valid)
    kl = old.divergence(new, samples.masks(index), samples.actions(index)).mean()
    parameters = list(network.parameters())
    first = torch.autograd.grad(kl, parameters, create_graph=True, allow_unused=True, materialize_grads=True)
    flat = torch.cat([g.reshape(-1) for g in first])
    for vector in vectors(learner, 3):
        second = torch.autograd.grad(
            flat @ vector, parameters, retain_graph=True, allow_unused=True, materialize_grads=True
        )
        exact = torch.cat([g.reshape(-1) for g in second])
        found = product(learner, slab, vector)
        assert float(torch.cosine_similarity(found, exact, dim=0)) > 0.999
        assert float(found.norm()) == pytest.approx(float(exact.norm()), rel=0.02)
        assert float(found[_critic(learner)].abs().max()) == 0.0


def _critic(learner: TrpoLearner) -> torch.Tensor:
    """Which parameters are the value's."""
    own = learner.network.critic_parameters()
    cut = learner.parameters.cut(learner.parameters.vector)
    names = zip(learner.parameters.names, cut, strict=True)
    return torch.cat([torch.full_like(part, name in own, dtype=torch.bool) for name, part in names])


@pytest.mark.parametrize("memory", ["none", "recall"])
def test_layers_without_second_derivatives_have_products(memory: str) -> None:
    """Pooled entities and dependent heads: v F v is twice the divergence of a short step, over its square."""
    spec = pointing_spec()
    policy = EncoderConfig(dense=(12,), hidden=(16,), context=8, critic="own", memory=memory)  # type: ignore[arg-type]
    learner = make_learner(EXACT, policy, spec)
    slab = played(learner, spec=spec)
    batch = batch_of(learner, slab)
    learner.copy_to(learner._anchor)
    start = learner.parameters.vector.clone()
    part = np.flatnonzero(batch.valid)
    for vector in vectors(learner, 2):
        vector[_critic(learner)] = 0.0
        found = product(learner, slab, vector)
        length = 0.02 / float(vector.norm())
        divergences = []
        for sign in (1.0, -1.0):
            learner.parameters.vector.copy_(start + sign * length * vector)
            loss, count = learner._divergence(batch, learner.minibatches.replicas[0], part)
            divergences.append(float(loss.total.detach()) / count)
        learner.parameters.vector.copy_(start)
        assert float(vector @ found) == pytest.approx(sum(divergences) / length**2, rel=0.05)


def test_conjugate_gradients_solve_a_linear_system() -> None:
    generator = torch.Generator().manual_seed(1)
    root = torch.randn(12, 12, generator=generator, dtype=torch.float64)
    matrix = root @ root.T + 0.5 * torch.eye(12, dtype=torch.float64)
    b = torch.randn(12, generator=generator, dtype=torch.float64)

    def run(steps: int) -> tuple[torch.Tensor, float, float, int]:
        solver = solve(b, steps, tolerance=1e-12)
        p = next(solver)
        try:
            while True:
                p = solver.send(matrix @ p)
        except StopIteration as end:
            return tuple(end.value)

    x, curvature, residual, _ = run(40)
    np.testing.assert_allclose(x, torch.linalg.solve(matrix, b), rtol=1e-6)
    assert curvature == pytest.approx(float(x @ matrix @ x))
    assert residual < 1e-10
    few, curved, left, products = run(3)
    assert products == 3
    assert left == pytest.approx(float((b - matrix @ few).norm() / b.norm()))
    assert curved == pytest.approx(float(few @ matrix @ few))
    assert next(solve(torch.zeros(3), 5), None) is None  # nothing to solve


@pytest.mark.parametrize("memory", ["none", "recall"])
@pytest.mark.parametrize("norm", ["none", "layer", "group", "batch"])
def test_ratios_are_one_at_lag_zero(memory: str, norm: str) -> None:
    """Then the surrogate of standardised advantages is 0, also after updates that moved statistics."""
    policy = msgspec.structs.replace(POLICY, memory=memory, norm=norm)
    learner = make_learner(policy=policy)
    for seed in range(2):
        learner.update(played(learner, seed))
    slab = played(learner, 9)
    assert abs(learner.update(slab).numbers["loss/policy"]) < 1e-6
    slab.log_prob[...] += 0.1 * (slab.actions[..., 0] - 1)  # of another policy
    assert abs(learner.update(slab).numbers["loss/policy"]) > 1e-4


def test_an_update_stays_in_the_trust_region_and_improves() -> None:
    for bound in (0.01, 0.002):
        learner = make_learner(msgspec.structs.replace(EXACT, max_kl=bound))
        numbers = learner.update(played(learner)).numbers
        assert 0.5 * bound < numbers["policy/kl"] <= bound
        assert numbers["trpo/improvement"] > 0.0
        assert 0.0 < numbers["trpo/step_share"] <= 1.0


def test_a_step_that_leaves_the_trust_region_is_shortened() -> None:
    """Without damping and from few decisions the quadratic model promises too much."""
    rough = {"damping": 0.0, "fisher_share": 0.05, "conjugate_steps": 3, "max_kl": 0.02}
    learner = make_learner(msgspec.structs.replace(EXACT, **rough))
    numbers = learner.update(played(learner)).numbers
    assert numbers["policy/kl"] <= 0.02
    assert 0.0 < numbers["trpo/step_share"] < 1.0


def test_the_value_does_not_move_the_policy() -> None:
    """Nor the policy's step the value: without a step that improves, the policy is what it was."""
    learner = make_learner(msgspec.structs.replace(EXACT, max_kl=1e-12))
    before, value = learner.parameters.vector.clone(), _critic(learner)
    numbers = learner.update(played(learner)).numbers
    moved = learner.parameters.vector != before
    assert moved[value].any()
    if numbers["trpo/step_share"] == 0.0:
        assert not moved[~value].any()
    assert float((learner.parameters.vector - before)[~value].norm()) < 1e-3


def test_a_rewarded_action_becomes_likelier() -> None:
    learner = make_learner(msgspec.structs.replace(EXACT, max_kl=0.05, discount=0.0))
    for seed in range(8):
        slab = played(learner, seed)
        slab.reward[...] = (slab.actions[..., 0] == 1).astype(np.float32)
        learner.update(slab)
    slab = played(learner, 9)
    assert (slab.actions[..., 0][slab.active[:-1] != 0] == 1).mean() > 0.6


def test_bits_do_not_depend_on_the_threads_and_parts_add_up() -> None:
    found = []
    for workers, micro_batch in ((1, 64), (3, 64), (1, 4096)):
        learner = make_learner(msgspec.structs.replace(EXACT, micro_batch=micro_batch), workers=workers)
        plan = learner.start(played(learner))
        for worker in reversed(range(workers)):
            plan.help(worker)
        learner.finish()
        found.append(learner.parameters.vector.clone())
    assert torch.equal(found[0], found[1])
    np.testing.assert_allclose(found[0].numpy(), found[2].numpy(), atol=2e-3)


def test_a_shared_critic_is_refused() -> None:
    with pytest.raises(ValueError, match='critic = "shared": the value would move the policy'):
        TrpoLearner(EXACT, PolicyNetwork(EncoderConfig(dense=(4,), hidden=(4,)), SPEC, 1), LearnerContext(1))


def test_a_preset_with_a_shared_critic_is_refused() -> None:
    text = b'[game]\nname = "tic_tac_toe"\n[algorithm]\nname = "trpo"\n[run]\nmax_steps = 9\n'
    with pytest.raises(PresetError, match=r'policy\.critic = "shared": .* "trpo" trains "own"'):
        parse_preset(text, "shared")


def test_updates_of_the_value_alone_leave_the_policy() -> None:
    learner = make_learner()
    before, value = learner.parameters.vector.clone(), _critic(learner)
    learner.update(played(learner), value_only=True)
    moved = learner.parameters.vector != before
    assert moved[value].any()
    assert not moved[~value].any()


def test_no_parameter_moves_while_an_operated_network_settles() -> None:
    """A trust-region step has no learning rate that could be 0."""
    learner = make_learner()
    learner.settle = 1
    before = learner.parameters.vector.clone()
    numbers = learner.update(played(learner)).numbers
    assert "policy/kl" not in numbers
    assert torch.equal(learner.parameters.vector, before)
    assert learner.settle == 0
    assert "policy/kl" in learner.update(played(learner)).numbers
    assert not torch.equal(learner.parameters.vector, before)


def test_differentiated_decisions_are_counted() -> None:
    learner = make_learner(msgspec.structs.replace(EXACT, conjugate_steps=3, epochs=2, minibatches=2))
    stats = learner.update(played(learner))
    assert stats.learned == stats.samples * (1 + 2 * 3 + 2)
    assert stats.gradient_steps == 1 + 2 * 2
