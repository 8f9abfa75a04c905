"""Optimisers on a flat vector against torch's own, clipping, schedules, and their state."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import numpy as np
import pytest
import torch
from torch import nn

from ludus.algorithms.config import SlabLearnerConfig
from ludus.algorithms.schedules import Schedule, rate_factor
from ludus.algorithms.updates.optimiser import (
    SGD,
    Adam,
    AdamW,
    Optimiser,
    Partial,
    clip_by_norm,
    load_optimiser_state,
    make_optimiser,
    optimiser_state,
)
from ludus.algorithms.updates.parameters import FlatParameters

DECAY = 0.1


def make_network() -> nn.Sequential:
    network = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return network


def decayed(network: nn.Module) -> list[dict[str, object]]:
    """Torch's parameter groups: matrices decay, biases do not."""
    parameters = list(network.parameters())
    return [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": DECAY},
        {"params": [p for p in parameters if p.dim() == 1], "weight_decay": 0.0},
    ]


Own = Callable[[FlatParameters], Optimiser]
Torch = Callable[[nn.Module], torch.optim.Optimizer]
KINDS: dict[str, tuple[Own, Torch]] = {
    "sgd": (lambda p: SGD(p), lambda n: torch.optim.SGD(n.parameters(), 1.0)),
    "sgd-momentum": (
        lambda p: SGD(p, momentum=0.9, weight_decay=DECAY),
        lambda n: torch.optim.SGD(decayed(n), 1.0, momentum=0.9),
    ),
    "adam": (
        lambda p: Adam(p, (0.8, 0.95), 1e-5),
        lambda n: torch.optim.Adam(n.parameters(), 1.0, betas=(0.8, 0.95), eps=1e-5),
    ),
    "adamw": (lambda p: AdamW(p, weight_decay=DECAY), lambda n: torch.optim.AdamW(decayed(n), 1.0)),
}


def gradients(size: int, count: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    return [torch.randn(size, generator=generator) * 10.0 ** (i % 3 - 1) for i in range(count)]


@pytest.mark.parametrize("kind", KINDS)
def test_steps_equal_those_of_torch_optim(kind: str) -> None:
    """Over steps with gradients of different sizes and a learning rate that falls."""
    make_own, make_torch = KINDS[kind]
    parameters = FlatParameters(make_network())
    own = make_own(parameters)
    reference = make_network()
    other = make_torch(reference)
    for number, gradient in enumerate(gradients(parameters.size, 12)):
        rate = 0.05 / (1 + number)
        for parameter, part in zip(reference.parameters(), parameters.cut(gradient.clone()), strict=True):
            parameter.grad = part.reshape(parameter.shape)
        for group in other.param_groups:
            group["lr"] = rate
        other.step()
        own.step(gradient.clone(), rate)
    for found, expected in zip(parameters.network.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_restored_state_continues_bit_equal(kind: str) -> None:
    make_own, _ = KINDS[kind]
    parameters = FlatParameters(make_network())
    own = make_own(parameters)
    first, second = gradients(parameters.size, 2)
    own.step(first.clone(), 0.1)
    arrays, counters = optimiser_state(own, parameters)
    middle = parameters.vector.clone()
    own.step(second.clone(), 0.1)
    again = FlatParameters(make_network())
    again.vector.copy_(middle)
    other = make_own(again)
    load_optimiser_state(other, again, arrays, counters | {"adam_steps": 1, "version": 7}, "state")
    other.step(second.clone(), 0.1)
    np.testing.assert_array_equal(again.vector.numpy(), parameters.vector.numpy())


def test_a_state_that_lacks_something_is_refused() -> None:
    parameters = FlatParameters(make_network())
    own = Adam(parameters)
    arrays, counters = optimiser_state(own, parameters)
    with pytest.raises(ValueError, match="state: no counter 'adam_steps'"):
        load_optimiser_state(own, parameters, arrays, {}, "state")
    del arrays["adam.second.2.bias"]
    with pytest.raises(ValueError, match=r"state: adam\.second: no array '2\.bias'"):
        load_optimiser_state(own, parameters, arrays, counters, "state")


@pytest.mark.parametrize(("limit", "length"), [(0.0, 5.0), (2.0, 2.0), (5.0, 5.0), (9.0, 5.0)])
def test_clipping_shortens_and_returns_the_length_before(limit: float, length: float) -> None:
    gradient = torch.tensor([3.0, -4.0])
    assert clip_by_norm(gradient, limit) == pytest.approx(5.0)
    torch.testing.assert_close(gradient, torch.tensor([0.6, -0.8]) * length)


@pytest.mark.parametrize(
    ("schedule", "final", "drops", "expected"),
    [
        ("constant", 0.1, 2, [1.0, 1.0, 1.0]),
        ("linear", 0.0, 0, [1.0, 0.75, 0.0]),
        ("linear", 0.2, 0, [1.0, 0.8, 0.2]),
        ("cosine", 0.0, 0, [1.0, 0.5 + 0.5 * math.cos(math.pi / 4), 0.0]),
        ("cosine", 0.5, 0, [1.0, 0.75 + 0.25 * math.cos(math.pi / 4), 0.5]),
        ("steps", 0.1, 0, [1.0, 1.0, 1.0]),
        ("steps", 0.1, 2, [0.01, 0.01, 0.01]),
    ],
)
def test_schedules_reach_their_final_values(
    schedule: Schedule, final: float, drops: int, expected: list[float]
) -> None:
    """At the start, after a quarter and at the end of the budget."""
    found = [rate_factor(schedule, progress, final, drops) for progress in (0.0, 0.25, 1.0)]
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("bound", [0.5, 1.0, 5.0])
def test_gradients_are_cut_to_roots_of_their_second_moment(bound: float) -> None:
    """Against a float64 loop: v takes the gradients before the cut."""
    parameters = FlatParameters(make_network())
    start = parameters.vector.double().numpy().copy()
    own = Adam(parameters, (0.8, 0.9), 1e-5, max_rms=bound)
    given = gradients(parameters.size, 12)
    for gradient in given:
        own.step(gradient.clone(), 0.01)
    cut = 0
    for i, x in enumerate(start.tolist()):
        m = v = 0.0
        for t, gradient in enumerate(given, 1):
            g = float(gradient[i])
            v = 0.9 * v + 0.1 * g * g
            most = bound * math.sqrt(v / (1.0 - 0.9**t))
            cut += abs(g) > most * 1.0001
            m = 0.8 * m + 0.2 * min(max(g, -most), most)
            x -= 0.01 * (m / (1.0 - 0.8**t)) / (math.sqrt(v / (1.0 - 0.9**t)) + 1e-5)
        assert float(parameters.vector[i]) == pytest.approx(x, abs=2e-6)
    assert (cut > 0) == (bound < 5.0)


def test_settings_choose_the_optimiser() -> None:
    parameters = FlatParameters(make_network())
    sgd = make_optimiser(SlabLearnerConfig(optimizer="sgd", momentum=0.7), parameters)
    assert isinstance(sgd, SGD)
    assert (sgd.momentum, sgd.weight_decay) == (0.7, 0.0)
    adam = make_optimiser(
        SlabLearnerConfig(adam_betas=(0.5, 0.6), adam_eps=0.1, max_grad_rms=5.0), parameters
    )
    assert isinstance(adam, Adam)
    assert (adam.betas, adam.eps, adam.max_rms) == ((0.5, 0.6), 0.1, 5.0)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("constant", [0.1, 0.1]),
        ("linear", [0.08, 0.02]),
        ("cosine", [0.06 + 0.04 * math.cos(math.pi / 4), 0.02]),
    ],
)
def test_the_learning_rate_ends_at_its_final_value(schedule: str, expected: list[float]) -> None:
    config = msgspec.convert(
        {"learning_rate": 0.1, "learning_rate_schedule": schedule, "learning_rate_final": 0.02},
        SlabLearnerConfig,
    )
    assert [config.learning_rate_at(p) for p in (0.25, 1.0)] == pytest.approx(expected)


@pytest.mark.parametrize("kind", [Adam, SGD])
def test_a_partial_optimiser_moves_some_parameters_and_the_moments_of_all(
    kind: Callable[[FlatParameters], Optimiser],
) -> None:
    both = [FlatParameters(make_network()) for _ in range(2)]
    whole, inner = kind(both[0]), kind(both[1])
    part = Partial(inner, both[1], {"2.weight", "2.bias"})
    before = both[1].named(both[1].vector)
    for number in range(3):
        gradient = torch.randn(both[0].size, generator=torch.Generator().manual_seed(number))
        whole.step(gradient.clone(), 0.1)
        part.step(gradient.clone(), 0.1)
    moved, after = (p.named(p.vector) for p in both)
    for name, array in after.items():
        expected = moved if name.startswith("2.") else before
        assert np.array_equal(array, expected[name]), name
    assert part.counters() == whole.counters()
    for name, vector in whole.vectors().items():
        assert torch.equal(part.vectors()[name], vector), name
    part.set_counters({"adam_steps": 9})
    assert inner.counters() in ({"adam_steps": 9}, {})
