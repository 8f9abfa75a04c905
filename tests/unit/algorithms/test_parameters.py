"""The vector of a network's parameters: a card can read each of them, and the gaps between them stay zero."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ludus.algorithms.group import ThreadGroup
from ludus.algorithms.updates.optimiser import SGD, Adam, AdamW, Optimiser, Partial, clip_by_norm
from ludus.algorithms.updates.parameters import FlatParameters, replica_of
from ludus.policies.accelerator import ALIGNMENT

#: Widths of layers: biases and weights that fill no whole number of 64 bytes, and some that do.
ODD, EVEN = (5, 7, 3), (16, 32, 16)


def gaps(parameters: FlatParameters, vector: Tensor) -> Tensor:
    """Return the numbers of ``vector`` that belong to no parameter."""
    return vector[~parameters.marks(parameters.names)]


def network(widths: tuple[int, ...] = ODD) -> nn.Sequential:
    first, middle, last = widths
    made = nn.Sequential(nn.Linear(first, middle), nn.Tanh(), nn.Conv1d(1, 1, 3), nn.Linear(middle - 2, last))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return made


def loss_of(made: nn.Module, seed: int = 2) -> torch.Tensor:
    first = next(made.parameters())
    x = torch.randn((4, 1, first.shape[1]), generator=torch.Generator().manual_seed(seed))
    out: torch.Tensor = made(x)
    return out.square().sum()


@pytest.mark.parametrize("widths", [ODD, EVEN])
def test_every_parameter_starts_at_a_multiple_of_64_bytes(widths: tuple[int, ...]) -> None:
    made = network(widths)
    before = [p.detach().clone() for p in made.parameters()]
    parameters = FlatParameters(made, ALIGNMENT)
    for kept, parameter in zip(before, made.parameters(), strict=True):
        assert torch.equal(kept, parameter)
        assert parameter.data_ptr() % ALIGNMENT == 0
        assert parameter.untyped_storage().data_ptr() == parameters.vector.data_ptr()
    assert parameters.size == sum(p.numel() for p in before)
    assert len(parameters.vector) > parameters.size
    assert not gaps(parameters, parameters.vector).any()
    for parameter in replica_of(made).parameters():
        assert parameter.data_ptr() % ALIGNMENT == 0


KINDS: dict[str, Callable[[FlatParameters], Optimiser]] = {
    "sgd": lambda p: SGD(p, momentum=0.9, weight_decay=0.1),
    "adam": lambda p: Adam(p, max_rms=0.5),
    "adamw": lambda p: AdamW(p, weight_decay=0.1),
    "partial": lambda p: Partial(AdamW(p, weight_decay=0.1), p, {"0.weight", "3.bias"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_gaps_stay_zero_in_gradients_moments_and_sums(kind: str) -> None:
    parameters = FlatParameters(network(), ALIGNMENT)
    optimiser = KINDS[kind](parameters)
    before = parameters.vector.clone()
    written: list[torch.Tensor] = []
    for seed in range(4):
        gradient = torch.full_like(parameters.vector, 7.0)  # of an earlier use
        parameters.gradient(loss_of(parameters.network, seed), parameters.network, gradient)
        with ThreadPoolExecutor(2) as pool:
            total, _ = pool.map(ThreadGroup.add, ThreadGroup.of(2), [gradient, gradient])
        clip_by_norm(total, 1.0)
        optimiser.step(total, 0.05)
        written += [gradient, total]
    for vector in (parameters.vector, *optimiser.vectors().values(), *written):
        assert not gaps(parameters, vector).any()
    assert not torch.equal(parameters.vector, before)


def test_a_gradient_is_that_of_each_parameter_and_zero_without_a_part_in_the_loss() -> None:
    parameters = FlatParameters(network(), ALIGNMENT)
    unused = parameters.names.index("3.weight"), parameters.names.index("3.bias")
    made = parameters.network
    assert isinstance(made, nn.Sequential)
    x = torch.randn((4, 1, 5), generator=torch.Generator().manual_seed(3))
    loss = made[2](made[1](made[0](x))).square().sum()
    expected = torch.autograd.grad(loss, list(made.parameters()), retain_graph=True, allow_unused=True)
    out = torch.full_like(parameters.vector, 7.0)
    parameters.gradient(loss, made, out)
    for k, (part, grad) in enumerate(zip(parameters.cut(out), expected, strict=True)):
        if k in unused:
            assert grad is None
            assert not part.any()
        else:
            assert grad is not None
            assert torch.equal(part, grad.reshape(-1))


def test_the_processor_has_no_gaps() -> None:
    """The last bits of its matrix products depend on where their operands start."""
    made = network()
    parameters = FlatParameters(made)
    assert len(parameters.vector) == parameters.size
    assert torch.equal(parameters.vector, torch.cat([p.detach().reshape(-1) for p in made.parameters()]))
    gradient = torch.full_like(parameters.vector, 7.0)
    parameters.gradient(loss_of(made), made, gradient)
    aligned = FlatParameters(network(), ALIGNMENT)
    other = torch.full_like(aligned.vector, 7.0)
    aligned.gradient(loss_of(aligned.network), aligned.network, other)
    named, others = (
        {n: np.asarray(a, np.float32) for n, a in each.items()}
        for each in (parameters.named(gradient), aligned.named(other))
    )
    for name, array in named.items():
        np.testing.assert_allclose(others[name], array, rtol=1e-5, atol=1e-6, err_msg=name)


def test_files_know_nothing_of_gaps() -> None:
    parameters, other = FlatParameters(network(), ALIGNMENT), FlatParameters(network(EVEN[:1] + ODD[1:]))
    named = parameters.named(parameters.vector)
    assert list(named) == parameters.names
    for (name, array), parameter in zip(named.items(), parameters.network.parameters(), strict=True):
        assert array.shape == tuple(parameter.shape), name
        np.testing.assert_array_equal(array, parameter.detach().numpy())
    filled = torch.zeros_like(parameters.vector)
    parameters.fill(filled, named, "state")
    assert torch.equal(filled, parameters.vector)
    with pytest.raises(ValueError, match=r"state: '0\.weight' has shape \(7, 5\), expected \(7, 16\)"):
        other.fill(torch.zeros_like(other.vector), named, "state")


def test_matrices_and_names_are_marked() -> None:
    parameters = FlatParameters(network(), ALIGNMENT)
    matrices = dict(zip(parameters.names, parameters.cut(parameters.matrices()), strict=True))
    assert {name for name, part in matrices.items() if part.all()} == {"0.weight", "2.weight", "3.weight"}
    assert {name for name, part in matrices.items() if part.any()} == {"0.weight", "2.weight", "3.weight"}
    marks = parameters.marks({"2.bias", "3.weight"})
    assert int(marks.sum()) == 1 + 3 * 5
    assert not gaps(parameters, parameters.matrices()).any()
