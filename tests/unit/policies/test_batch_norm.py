"""Batch norms: what they compute, their statistics, and that learners refresh them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from ludus.algorithms.config import AppoConfig
from ludus.algorithms.learner import LearnerContext, SlabLearner, UpdateStats
from ludus.algorithms.updates.samples import Samples
from ludus.algorithms.updates.tasks import Task
from ludus.flow import Slab
from ludus.policies.config import EncoderConfig
from ludus.policies.layers.batch_norm import BatchNorm, NormSums, batch_norms, observing
from ludus.policies.layers.torso import Dense, Planes
from ludus.policies.network import PolicyNetwork
from tests.unit.synthetic import act, appo_learner, make_spec, random_slab, tensor

SPEC = make_spec((tensor("planes", "u8", (3, 6, 6), scale=0.01), tensor("numbers", "f32", (6,))), (4, 3))
CONFIG = EncoderConfig(channels=(8, 5), strides=(2, 1), dense=(16,), hidden=(24,), norm="batch")


def filled(norm: BatchNorm, seed: int) -> BatchNorm:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for part in (norm.mean, norm.bias):
            part.copy_(torch.randn(part.shape, generator=generator))
        norm.variance.copy_(torch.rand(norm.variance.shape, generator=generator) + 0.1)
    return norm


@pytest.mark.parametrize("shape", [(9, 5), (4, 5, 3, 2)])
def test_a_norm_equals_torchs_in_eval_mode(shape: tuple[int, ...]) -> None:
    norm, x = filled(BatchNorm(5), 1), torch.randn(shape, generator=torch.Generator().manual_seed(2))
    expected = functional.batch_norm(x, norm.mean, norm.variance, None, norm.bias, False, 0.0, 1e-5)
    torch.testing.assert_close(norm(x), expected)


def test_folded_weights_give_the_same() -> None:
    norm = filled(BatchNorm(5), 1)
    generator = torch.Generator().manual_seed(3)
    x, weight = torch.randn(2, 3, 6, 6, generator=generator), torch.randn(5, 3, 3, 3, generator=generator)
    bias = torch.randn(5, generator=generator)
    folded = functional.conv2d(x, *norm.folded(weight, bias))
    torch.testing.assert_close(folded, norm(functional.conv2d(x, weight, bias)), atol=1e-5, rtol=1e-5)


def test_statistics_become_those_of_the_inputs() -> None:
    """Whatever the statistics and the bias were: the first call replaces them, in parts or at once."""
    x = torch.randn(60, 5, 3, 2, generator=torch.Generator().manual_seed(2)) * 3.0 + 7.0
    x[:, 1] *= 0.01
    for parts in ([60], [10, 20, 30]):
        norm = filled(BatchNorm(5), 1)
        sums = NormSums(norm)
        for part in torch.split(x, parts):
            with observing([norm]) as seen:
                norm(part)
            sums.add(seen)
        sums.absorb()
        torch.testing.assert_close(norm.mean, x.mean((0, 2, 3)), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(norm.variance, x.var((0, 2, 3), correction=0), rtol=1e-4, atol=1e-6)
    before = norm.mean.clone()
    with observing([norm]) as seen:
        norm(x + 1.0)
    sums.clear()
    sums.add(seen)
    sums.absorb()
    share = 1.0 / 1.9  # of two updates, the older fades to 0.9
    torch.testing.assert_close(norm.mean, before + share, rtol=1e-4, atol=1e-4)


def test_nothing_is_recorded_outside_observing() -> None:
    norm = BatchNorm(5)
    norm(torch.randn(3, 5))
    assert norm.seen is None
    with observing([norm]) as seen:
        norm(torch.randn(3, 5))
        norm(torch.zeros(0, 5))
    assert len(seen[0]) == 1


def played(network: PolicyNetwork, seed: int, version: int = 0) -> Slab:
    slab = random_slab(SPEC, 10, 24, seed, idle=0.3)
    act(network, slab, seed, version)
    return slab


def inputs_of_norms(network: PolicyNetwork, samples: Samples, index: np.ndarray) -> list[Tensor]:
    """Return the inputs of each norm for decisions in one batch, ``[N, C, ...]``, by inverting the norm."""
    outputs: list[Tensor] = []
    hooks = []
    for norm in batch_norms(network):

        def note(module: BatchNorm, y: Tensor) -> Tensor:
            outputs.append(y)
            return y

        hooks.append((norm, norm.observed))
        norm.observed = note.__get__(norm)  # type: ignore[method-assign]
    with torch.no_grad():
        network.flat(samples.observations(index))
    inputs = []
    for (norm, observed), y in zip(hooks, outputs, strict=True):
        norm.observed = observed  # type: ignore[method-assign]
        shape = (1, -1, *([1] * (y.dim() - 2)))
        z = y - norm.bias.detach().reshape(shape)
        inputs.append(z * torch.sqrt(norm.variance + 1e-5).reshape(shape) + norm.mean.reshape(shape))
    return inputs


@pytest.mark.parametrize("workers", [1, 2])
def test_an_update_gives_the_statistics_of_its_trained_decisions(workers: int) -> None:
    """One step a parameter of rate 0: the same weights in all passes."""
    config = AppoConfig(micro_batch=48, minibatches=3, epochs=2, learning_rate=1e-30)
    learner = appo_learner(config, CONFIG, SPEC, seed=1, workers=workers)
    slab = played(learner.network, 1)
    samples = Samples(slab, learner.network)
    trained = np.flatnonzero(samples.learner_mask[:-1])
    expected = inputs_of_norms(learner.network, samples, trained)
    assert len(expected) == 4  # two convolutions, dense, hidden
    stats = learner.update(slab)
    assert stats.samples > 0.9 * len(trained)
    for norm, x in zip(_in_order(learner.network), expected, strict=True):
        dims = (0, 2, 3) if x.dim() == 4 else (0,)
        deviation = x.std(dims)
        assert float(norm.weight) == 1.0
        error = (norm.mean - x.mean(dims)).abs() / deviation
        assert float(error.max()) < 0.1  # the last decision of a row may be left out
        np.testing.assert_allclose(norm.variance, x.var(dims, correction=0), rtol=0.2)
        assert float((norm.variance - 1.0).abs().max()) > 0.1


def _in_order(network: PolicyNetwork) -> list[BatchNorm]:
    torso = network.planes["planes"]
    assert isinstance(torso, Planes)
    assert torso.norms is not None
    assert network.dense is not None
    assert network.dense.norms is not None
    assert isinstance(network.join, Dense)
    assert network.join.norms is not None
    every = [*torso.norms, *network.dense.norms, *network.join.norms]
    return [norm for norm in every if isinstance(norm, BatchNorm)]


class Elsewhere(SlabLearner[AppoConfig]):
    """A method whose gradients do not come from :class:`Minibatches`."""

    def _stages(self, samples: Samples, progress: float, stats: UpdateStats) -> Iterator[Sequence[Task]]:
        stats.samples = int(samples.learner_mask[:-1].sum())
        yield [lambda worker: None]


def test_a_method_with_gradients_of_its_own_refreshes_them_too() -> None:
    network = PolicyNetwork(CONFIG, SPEC, seed=1)
    learner = Elsewhere(AppoConfig(micro_batch=48), network, LearnerContext(1))
    slab = played(network, 1)
    samples = Samples(slab, network)
    expected = inputs_of_norms(network, samples, np.flatnonzero(samples.learner_mask[:-1]))
    learner.update(slab)
    for norm, x in zip(_in_order(network), expected, strict=True):
        dims = (0, 2, 3) if x.dim() == 4 else (0,)
        np.testing.assert_allclose(norm.mean, x.mean(dims), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(norm.variance, x.var(dims, correction=0), rtol=1e-3, atol=1e-5)


def test_a_slab_without_decisions_changes_no_statistics() -> None:
    learner = appo_learner(AppoConfig(), CONFIG, SPEC, seed=1)
    slab = random_slab(SPEC, 4, 8, 1)
    slab.active[:] = 0
    slab.policy[:] = -1
    assert learner.update(slab).samples == 0
    assert all(float(n.weight) == 0.0 for n in batch_norms(learner.network))


def test_entity_rows_have_no_norm_and_an_own_critic_has_its_own() -> None:
    spec = make_spec((tensor("units", "u8", (5, 8), scale=0.01), tensor("numbers", "f32", (6,))), (4,))
    network = PolicyNetwork(msgspec.structs.replace(CONFIG, critic="own"), spec, seed=1)
    names = {name.rsplit(".norms", 1)[0] for name, m in network.named_modules() if isinstance(m, BatchNorm)}
    assert names == {"dense", "join", "critic.dense", "critic.join"}
