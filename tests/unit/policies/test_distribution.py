"""Masked factored decisions: probabilities, sampling, divergences, random numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from ludus.flow.masks import legal_choices, possible_choices
from ludus.policies.actions.action_distribution import Independent
from ludus.policies.actions.distribution import Heads, uniforms
from ludus.policies.actions.heads import heads_of
from tests.unit.synthetic import pointing_spec

SIZES = (4, 1, 6)


def batch(seed: int, rows: int, legal: float = 0.5) -> tuple[Tensor, Tensor]:
    """Logits (negative ones too) and masks, some heads of which have no legal choice."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(rows, sum(SIZES))) * 5 - 3
    mask = rng.random((rows, sum(SIZES))) < legal
    return torch.from_numpy(logits).float(), torch.from_numpy(mask.astype(np.uint8))


def slow_log_probs(logits: Tensor, mask: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    out = np.full(logits.shape, -np.inf)
    for row in range(len(logits)):
        offset = 0
        for size in SIZES:
            legal = [j for j in range(offset, offset + size) if mask[row, j]] or [offset]
            weights = np.exp(logits[row, legal].double().numpy())
            out[row, legal] = np.log(weights / weights.sum())
            offset += size
    return out


def test_log_probs_equal_the_slow_ones() -> None:
    logits, mask = batch(1, 200)
    heads = Heads(SIZES)
    np.testing.assert_allclose(heads.log_probs(logits, mask).numpy(), slow_log_probs(logits, mask), atol=2e-6)


def test_entropy_and_divergence_equal_sums_over_all_decisions() -> None:
    logits, mask = batch(2, 100)
    other, _ = batch(3, 100)
    heads = Heads(SIZES)
    p, q = slow_log_probs(logits, mask), slow_log_probs(other, mask)
    with np.errstate(invalid="ignore"):
        entropy = -np.where(np.isfinite(p), np.exp(p) * p, 0).sum(axis=1)
        kl = np.where(np.isfinite(p), np.exp(p) * (p - q), 0).sum(axis=1)
    log_p, log_q = heads.log_probs(logits, mask), heads.log_probs(other, mask)
    np.testing.assert_allclose(heads.entropy(log_p).numpy(), entropy, atol=2e-5)
    np.testing.assert_allclose(heads.kl(log_p, log_q).numpy(), kl, atol=2e-5)


def test_gradients_of_log_prob_and_entropy_are_finite_and_zero_where_illegal() -> None:
    logits, mask = batch(4, 50)
    logits.requires_grad_()
    heads = Heads(SIZES)
    log_probs = heads.log_probs(logits, mask)
    actions = heads.greedy(log_probs.detach())
    loss = heads.log_prob_of(log_probs, actions).sum() + heads.entropy(log_probs).sum()
    (grad,) = torch.autograd.grad(loss, logits)
    assert bool(torch.isfinite(grad).all())
    assert bool((grad[mask == 0] == 0).all())
    assert bool((grad[mask == 1] != 0).any())


def test_samples_follow_the_probabilities_and_are_never_illegal() -> None:
    logits, mask = batch(5, 8)
    heads = Heads(SIZES)
    log_probs = heads.log_probs(logits, mask)
    draws = 20_000
    counts = np.zeros(logits.shape)
    offsets = np.cumsum((0, *SIZES[:-1]))
    for step in range(0, draws, 1000):
        many = log_probs.repeat(1000, 1)
        actions = heads.sample(many, torch.from_numpy(uniforms(9, step, np.arange(8000), 3))).numpy()
        np.add.at(counts, (np.arange(8000)[:, None] % 8, actions + offsets), 1)
    np.testing.assert_allclose(counts / draws, log_probs.exp().numpy(), atol=0.02)
    assert (counts[log_probs.numpy() == -np.inf] == 0).all()


def test_heads_of_one_size_equal_each_head_alone() -> None:
    heads, one = Heads((3, 3, 3, 3)), Heads((3,))
    logits, mask = (x.repeat(1, 2)[:, :12] for x in batch(6, 300))
    uniform = torch.from_numpy(uniforms(4, 0, np.arange(300), 4))
    log_probs = heads.log_probs(logits, mask)
    drawn, likeliest = heads.sample(log_probs, uniform), heads.greedy(log_probs)
    assert drawn.shape == likeliest.shape == (300, 4)
    for k in range(4):
        at = slice(3 * k, 3 * k + 3)
        alone = one.log_probs(logits[:, at], mask[:, at])
        assert torch.equal(log_probs[:, at], alone)
        assert torch.equal(drawn[:, k : k + 1], one.sample(alone, uniform[:, k : k + 1]))
        assert torch.equal(likeliest[:, k : k + 1], one.greedy(alone))


@pytest.mark.parametrize("uniform", [0.0, 1.0 - 2.0**-24])
def test_extreme_uniforms_pick_the_first_and_last_legal_choice(uniform: float) -> None:
    heads = Heads((6,))
    mask = torch.tensor([[0, 1, 0, 1, 1, 0]], dtype=torch.uint8)
    log_probs = heads.log_probs(torch.zeros(1, 6), mask)
    assert int(heads.sample(log_probs, torch.full((1, 1), uniform))) == (1 if uniform == 0.0 else 4)


def test_uniforms_depend_only_on_seed_step_row_and_head() -> None:
    rows = np.arange(100, dtype=np.int32)
    whole = uniforms(1, 5, rows, 3)
    np.testing.assert_array_equal(whole[[7, 93, 4]], uniforms(1, 5, np.array([7, 93, 4]), 3))
    for other in (uniforms(2, 5, rows, 3), uniforms(1, 6, rows, 3)):
        assert (other != whole).mean() > 0.99
    assert len(np.unique(whole)) == whole.size
    many = uniforms(3, 0, np.arange(100_000), 2)
    assert many.min() >= 0.0
    assert many.max() < 1.0
    assert many.mean(axis=0) == pytest.approx([0.5, 0.5], abs=5e-3)
    assert abs(np.corrcoef(many[:, 0], many[:, 1])[0, 1]) < 0.02
    assert abs(np.corrcoef(many[:-1, 0], many[1:, 0])[0, 1]) < 0.02


def test_a_dependent_mask_is_the_conjunction_of_the_chosen_rows() -> None:
    """Against loops; the third head depends on both before it."""
    heads = Heads((3, 4, 5), ((), (0,), (0, 1)))
    rng = np.random.default_rng(6)
    mask = rng.integers(0, 2, (64, 3 + 3 * 4 + 3 * 5 + 4 * 5)).astype(np.uint8)
    actions = np.stack([rng.integers(0, n, 64) for n in heads.sizes], axis=1)
    for k in range(3):
        found = heads.legal(torch.from_numpy(mask), k, torch.from_numpy(actions)).numpy()
        for row in range(64):
            a, b, _ = actions[row]
            if k == 0:
                legal = mask[row, :3]
            elif k == 1:
                legal = mask[row, 3:15].reshape(3, 4)[a]
            else:
                legal = mask[row, 15:30].reshape(3, 5)[a] & mask[row, 30:].reshape(4, 5)[b]
            np.testing.assert_array_equal(found[row], legal != 0)


def test_numpy_and_torch_read_masks_equally() -> None:
    spec = pointing_spec()
    heads = heads_of(spec)
    rng = np.random.default_rng(8)
    mask = rng.integers(0, 2, (50, spec.mask_size)).astype(np.uint8)
    actions = np.stack([rng.integers(0, n, 50) for n in heads.sizes], axis=1)
    for k in range(3):
        found = legal_choices(spec, mask, k, actions)
        np.testing.assert_array_equal(
            found, heads.legal(torch.from_numpy(mask), k, torch.from_numpy(actions)).numpy()
        )
        for row in range(50):
            assert not (found[row] & ~possible_choices(spec, mask[row], k)).any()


def test_divergence_has_the_gradients_of_both_and_ignores_illegal_choices() -> None:
    heads = Heads((3, 2))
    generator = torch.Generator().manual_seed(5)
    ours = torch.randn(4, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    theirs = torch.randn(4, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[1, 1, 0, 1, 1], [1, 1, 1, 1, 0], [0, 0, 0, 1, 1], [1, 0, 1, 1, 1]])

    def total() -> torch.Tensor:
        p, q = Independent(heads, ours), Independent(heads, theirs)
        return p.divergence(q, mask, torch.zeros(4, 2, dtype=torch.int64)).sum()

    for logits, gradient in zip((ours, theirs), torch.autograd.grad(total(), (ours, theirs)), strict=True):
        assert float(gradient.abs().max()) > 0.01
        for row, column in ((0, 0), (0, 2), (1, 3), (2, 4), (3, 2)):
            with torch.no_grad():
                logits[row, column] += 0.01
                above = float(total())
                logits[row, column] -= 0.02
                below = float(total())
                logits[row, column] += 0.01
            assert float(gradient[row, column]) == pytest.approx((above - below) / 0.02, abs=1e-3)
