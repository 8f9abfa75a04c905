"""Gradients written by hand against autograd and against finite differences, in float64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ludus.policies.layers.scan import scan
from ludus.policies.memory import Recurrent


def example(kind: str) -> tuple[Recurrent, Tensor, Tensor, Tensor, Tensor]:
    """Return a layer, features ``[T, B, D]``, memory, first and active flags; rows idle and restart."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        layer = Recurrent(kind, 4, 5).double()
        features = torch.randn(7, 3, 4, dtype=torch.float64)
        memory = torch.randn(3, *layer.shape, dtype=torch.float64)
        first, active = torch.rand(7, 3) < 0.3, torch.rand(7, 3) < 0.7
    assert bool((first & active).any())
    assert not bool(active.all())
    return layer, features, memory, first, active


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_scan_equals_autograd_over_steps(kind: str) -> None:
    layer, features, memory, first, active = example(kind)
    features.requires_grad_()
    memory.requires_grad_()
    wanted = [features, memory, *layer.parameters()]
    weights = torch.randn(7, 3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    outputs, last = layer.sequence(features, memory, first, active)
    by_hand = torch.autograd.grad((outputs * weights).sum() + last.square().sum(), wanted)

    now, slow = memory, []
    for t in range(7):
        after = layer.step(features[t], now, first[t])
        now = torch.where(active[t].reshape(-1, *([1] * len(layer.shape))), after, now)
        slow.append(layer.output(now))
    torch.testing.assert_close(outputs, torch.stack(slow))
    torch.testing.assert_close(last, now)
    by_autograd = torch.autograd.grad((torch.stack(slow) * weights).sum() + now.square().sum(), wanted)
    for a, b in zip(by_hand, by_autograd, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_scan_equals_finite_differences(kind: str) -> None:
    layer, features, memory, first, active = example(kind)
    keep = (~(first & active)).double().unsqueeze(2)
    busy = active.double().unsqueeze(2)
    read = layer.read(features).detach().requires_grad_()
    weight = layer.recur.weight.detach().requires_grad_()
    bias = layer.recur.bias.detach().requires_grad_()
    memory.requires_grad_()

    def run(read: Tensor, memory: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return scan(kind, read, memory, keep, busy, weight, bias)

    assert torch.autograd.gradcheck(run, (read, memory, weight, bias))
