"""Heads decided one after the other: probabilities, pointers, masks, embeddings from head to head."""

from __future__ import annotations

import itertools

import msgspec
import numpy as np
import pytest
import torch

from ludus.flow import GameSpec
from ludus.policies.actions.action_distribution import Independent
from ludus.policies.actions.autoregressive import AutoregressiveDistribution
from ludus.policies.actions.distribution import Heads
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from tests.unit.synthetic import pointing_spec, random_slab

CONFIG = EncoderConfig(dense=(12,), hidden=(16,), context=8, memory_size=6)


def make(seed: int = 1, loud: float = 60.0) -> PolicyNetwork:
    """Return a network far from uniform."""
    network = PolicyNetwork(CONFIG, pointing_spec(), seed=seed)
    with torch.no_grad():
        for head in network.policy_head.each:  # type: ignore[union-attr]
            for layer in (head.plain, head.query):
                if layer is not None:
                    layer.weight.mul_(loud)
    return network


def moments(rows: int, seed: int = 2) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    slab = random_slab(pointing_spec(), 1, rows, seed)
    return {n: torch.from_numpy(x[0]) for n, x in slab.obs.items()}, torch.from_numpy(slab.mask[0])


def legal_decisions(spec: GameSpec, mask: np.ndarray) -> list[tuple[int, ...]]:
    """Every legal decision of one row, by loops over the tables."""
    sizes = [h.size for h in spec.heads]
    parts, at = [], 0
    for head in spec.heads:
        tables = []
        for rows in [sizes[d] for d in head.depends_on] or [1]:
            tables.append(mask[at : at + rows * head.size].reshape(rows, head.size))
            at += rows * head.size
        parts.append(tables)
    out: list[tuple[int, ...]] = [()]
    for head, tables in zip(spec.heads, parts, strict=True):
        longer = []
        for chosen in out:
            keys = [chosen[d] for d in head.depends_on] or [0]
            legal = [c for c in range(head.size) if all(t[k, c] for t, k in zip(tables, keys, strict=True))]
            longer += [(*chosen, c) for c in legal or [0]]
        out = longer
    return out


def test_probabilities_of_all_legal_decisions_sum_to_one() -> None:
    spec, network = pointing_spec(), make()
    obs, mask = moments(12)
    for row in range(12):
        decisions = legal_decisions(spec, mask[row].numpy())
        n = len(decisions)
        many = {k: x[row : row + 1].expand(n, *x.shape[1:]).contiguous() for k, x in obs.items()}
        with torch.no_grad():
            evaluated = network.step(many).distribution.evaluate(
                mask[row : row + 1].expand(n, -1), torch.tensor(decisions)
            )
        assert float(evaluated.log_prob.double().exp().sum()) == pytest.approx(1.0, abs=1e-5)


def test_draws_follow_the_probabilities_and_are_always_legal() -> None:
    spec, network = pointing_spec(), make(loud=20.0)
    obs, mask = moments(3, seed=5)
    rng = np.random.default_rng(1)
    repeat = 4_000
    for row in range(3):
        many = {k: x[row : row + 1].expand(repeat, *x.shape[1:]).contiguous() for k, x in obs.items()}
        masks = mask[row : row + 1].expand(repeat, -1)
        with torch.no_grad():
            distribution = network.step(many).distribution
            drawn = distribution.sample(masks, torch.from_numpy(rng.random((repeat, 3), np.float32)))
            evaluated = distribution.evaluate(masks, drawn.actions)
        torch.testing.assert_close(drawn.log_prob, evaluated.log_prob, atol=1e-6, rtol=1e-6)
        legal = set(legal_decisions(spec, mask[row].numpy()))
        counts: dict[tuple[int, ...], int] = {}
        for action in map(tuple, drawn.actions.tolist()):
            counts[action] = counts.get(action, 0) + 1
        assert set(counts) <= legal
        probabilities = {
            tuple(a): float(p.exp()) for a, p in zip(drawn.actions.tolist(), drawn.log_prob, strict=True)
        }
        for action, count in counts.items():
            assert count / repeat == pytest.approx(probabilities[action], abs=0.04)


def test_the_likeliest_choice_is_taken_head_by_head() -> None:
    """No other choice of the last head, or of the first, is likelier given the others."""
    network = make()
    obs, mask = moments(40)
    distribution = network.step(obs).distribution
    heads = network.heads
    with torch.no_grad():
        best = distribution.sample(mask, None)
        for target in range(6):
            other = best.actions.clone()
            other[:, 2] = target
            legal = heads.legal(mask, 2, other)[torch.arange(40), target]
            evaluated = distribution.evaluate(mask, other)
            assert bool((evaluated.log_prob <= best.log_prob + 1e-6)[legal].all())


def test_a_pointers_logit_follows_its_entity() -> None:
    """Exchanging two entity rows and their mask entries exchanges the choices, nothing else."""
    network = make()
    obs, mask = moments(20)
    mask[:, :4] = 1
    mask[:, 4:] = 1
    swapped = {**obs, "units": obs["units"].clone()}
    swapped["units"][:, [0, 1]] = obs["units"][:, [1, 0]]
    actions = torch.tensor([[0, 1, 2]] * 20)
    other = torch.tensor([[1, 1, 2]] * 20)
    with torch.no_grad():
        a = network.step(obs).distribution.evaluate(mask, actions).log_prob
        b = network.step(swapped).distribution.evaluate(mask, other).log_prob
        c = network.step(obs).distribution.evaluate(mask, other).log_prob
    torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)
    assert float((a - c).abs().max()) > 1e-2


def test_later_heads_see_the_earlier_choices() -> None:
    """The last head's distribution differs by what was chosen before, under masks that do not."""
    network = make()
    obs, mask = moments(10)
    mask[:] = 1
    with torch.no_grad():
        distribution = network.step(obs).distribution
        ratios = []
        for unit, order in itertools.product((0, 1, 3), (0, 1, 2)):
            a, b = (torch.tensor([[unit, order, t]] * 10) for t in (0, 4))
            ratios.append(distribution.evaluate(mask, a).log_prob - distribution.evaluate(mask, b).log_prob)
    spread = torch.stack(ratios).std(dim=0)
    assert float(spread.min()) > 1e-3


def test_time_steps_of_a_batch_are_evaluated_as_alone() -> None:
    network = make()
    obs, mask = moments(30)
    drawn = network.step(obs).distribution.sample(mask, torch.full((30, 3), 0.3))
    keep = torch.zeros(30, dtype=torch.bool)
    keep[[2, 3, 11, 29]] = True
    whole, _ = network.flat(obs)
    part = whole.select(keep)
    assert isinstance(part, AutoregressiveDistribution)
    evaluated = part.evaluate(mask[keep], drawn.actions[keep])
    torch.testing.assert_close(evaluated.log_prob, drawn.log_prob[keep], atol=1e-6, rtol=1e-6)
    alone, _ = network.flat({n: x[keep] for n, x in obs.items()})
    torch.testing.assert_close(
        evaluated.entropy, alone.evaluate(mask[keep], drawn.actions[keep]).entropy, atol=1e-6, rtol=1e-6
    )


def test_gradients_are_finite_and_reach_every_parameter() -> None:
    network = make()
    obs, mask = moments(50)
    drawn = network.step(obs).distribution.sample(mask, torch.full((50, 3), 0.6))
    distribution, value = network.flat(obs)
    evaluated = distribution.evaluate(mask, drawn.actions)
    loss = evaluated.log_prob.sum() + evaluated.entropy.sum() + value.sum()
    grads = torch.autograd.grad(loss, list(network.parameters()), allow_unused=True)
    for (name, _), grad in zip(network.named_parameters(), grads, strict=True):
        assert grad is not None, name
        assert bool(torch.isfinite(grad).all()), name
        assert float(grad.abs().max()) > 0.0, name


def test_pointers_need_their_tensor() -> None:
    spec = pointing_spec()
    with pytest.raises(ValueError, match="point at 'units'"):
        PolicyNetwork(msgspec.structs.replace(CONFIG, inputs=("numbers",)), spec)


def test_seed_fixes_the_numbers() -> None:
    a, b, c = (PolicyNetwork(CONFIG, pointing_spec(), seed=s).state_dict() for s in (1, 1, 2))
    assert all(torch.equal(a[n], b[n]) for n in a)
    assert not torch.equal(a["policy_head.each.0.embedding"], c["policy_head.each.0.embedding"])


def test_divergence_follows_the_chain_rule() -> None:
    """Its mean over decisions of the first policy is the divergence of whole decisions, by enumeration."""
    spec, p, q = pointing_spec(), make(1, 20.0), make(7, 20.0)
    obs, mask = moments(6)
    for row in range(6):
        decisions = torch.tensor(legal_decisions(spec, mask[row].numpy()))
        n = len(decisions)
        many = {k: x[row : row + 1].expand(n, *x.shape[1:]).contiguous() for k, x in obs.items()}
        masks = mask[row : row + 1].expand(n, -1)
        with torch.no_grad():
            ours, theirs = p.step(many).distribution, q.step(many).distribution
            log_p = ours.evaluate(masks, decisions).log_prob.double()
            log_q = theirs.evaluate(masks, decisions).log_prob.double()
            chain = ours.divergence(theirs, masks, decisions).double()
            itself = ours.divergence(ours, masks, decisions)
        exact = float((log_p.exp() * (log_p - log_q)).sum())
        assert exact > 1e-3
        assert float((log_p.exp() * chain).sum()) == pytest.approx(exact, rel=1e-3)
        assert float(itself.abs().max()) == 0.0


def test_divergence_needs_heads_of_the_same_kind() -> None:
    obs, mask = moments(2)
    pointing = make().step(obs).distribution
    plain = Independent(Heads((2,)), torch.zeros(2, 2))
    actions = torch.zeros(2, len(pointing_spec().heads), dtype=torch.int64)
    with pytest.raises(TypeError, match="expected heads in turn"):
        pointing.divergence(plain, mask, actions)
    with pytest.raises(TypeError, match="expected independent heads"):
        plain.divergence(pointing, torch.ones(2, 2), actions)
