"""Pointing at the cells of planes: which choice is which cell, masks, gradients, what is refused."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import torch

from ludus.flow import GameSpec, HeadSpec
from ludus.policies.actions.autoregressive import LinearKey
from ludus.policies.actions.pointed import Cells
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from tests.unit.policies.test_autoregressive import legal_decisions
from tests.unit.synthetic import cells_spec, make_spec, random_slab, tensor

FLAT = EncoderConfig(
    channels=(), strides=(), dense=(12,), hidden=(16,), context=8
)  # cells know their planes alone
DEEP = msgspec.structs.replace(FLAT, channels=(4, 6), strides=(1, 2))
RESIDUAL = msgspec.structs.replace(FLAT, channels=(4, 6), strides=(1, 2), convolution="residual")
HEIGHT, WIDTH = 4, 3


def make(config: EncoderConfig, spec: GameSpec, loud: float = 60.0) -> PolicyNetwork:
    """Return a network far from uniform."""
    network = PolicyNetwork(config, spec, seed=1)
    with torch.no_grad():
        for head in network.policy_head.each:  # type: ignore[union-attr]
            for layer in (head.plain, head.query):
                if layer is not None:
                    layer.weight.mul_(loud)
    return network


def moments(spec: GameSpec, rows: int, seed: int = 2) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    slab = random_slab(spec, 1, rows, seed)
    return {n: torch.from_numpy(x[0]) for n, x in slab.obs.items()}, torch.from_numpy(slab.mask[0])


def one_head(by_columns: bool, size: int = HEIGHT * WIDTH) -> GameSpec:
    spec = make_spec(
        (tensor("map", "u8", (2, HEIGHT, WIDTH), scale=0.01), tensor("numbers", "f32", (3,))), ()
    )
    head = HeadSpec("cell", size, points_at="map", rows=HEIGHT * WIDTH, by_columns=by_columns)
    return msgspec.structs.replace(spec, heads=(head,))


@pytest.mark.parametrize("by_columns", [False, True])
def test_a_choice_points_at_its_cell(by_columns: bool) -> None:
    """With all cells alike but one, exactly that cell's choice has another probability."""
    spec = one_head(by_columns)
    network = make(FLAT, spec)
    mask = torch.ones((1, spec.mask_size), dtype=torch.uint8)
    for y in range(HEIGHT):
        for x in range(WIDTH):
            planes = torch.zeros((1, 2, HEIGHT, WIDTH), dtype=torch.uint8)
            planes[0, :, y, x] = torch.tensor([90, 250], dtype=torch.uint8)
            distribution = network.step({"map": planes, "numbers": torch.ones((1, 3))}).distribution
            evaluated = [
                float(distribution.evaluate(mask, torch.tensor([[c]])).log_prob.detach())
                for c in range(spec.heads[0].size)
            ]
            odd = x * HEIGHT + y if by_columns else y * WIDTH + x
            others = [p for c, p in enumerate(evaluated) if c != odd]
            assert max(others) - min(others) < 1e-5
            assert abs(evaluated[odd] - others[0]) > 1e-3


def test_a_choices_features_are_those_of_its_cell() -> None:
    """``chosen`` gives the features of the cell whose logit ``scores`` gives at that choice."""
    planes = torch.randn((5, 7, HEIGHT, WIDTH))
    key = torch.randn((8, 7))
    query = torch.randn((5, 8))
    for by_columns in (False, True):
        head = one_head(by_columns, 14).heads[0]
        scores = Cells(planes).scores(query, LinearKey(key), head)
        for choice in range(12):
            features = Cells(planes).chosen(torch.full((5,), choice), head)
            torch.testing.assert_close((query * (features @ key.T)).sum(1), scores[:, choice])
        assert not Cells(planes).chosen(torch.full((5,), 13), head).any()


@pytest.mark.parametrize("config", [FLAT, DEEP, RESIDUAL], ids=["no layer", "convolutions", "residual"])
def test_probabilities_of_all_legal_decisions_sum_to_one(config: EncoderConfig) -> None:
    spec = cells_spec()
    network = make(config, spec)
    obs, mask = moments(spec, 4)
    for row in range(4):
        decisions = legal_decisions(spec, mask[row].numpy())
        n = len(decisions)
        many = {k: x[row : row + 1].expand(n, *x.shape[1:]).contiguous() for k, x in obs.items()}
        masks = mask[row : row + 1].expand(n, -1)
        with torch.no_grad():
            distribution = network.step(many).distribution
            evaluated = distribution.evaluate(masks, torch.tensor(decisions))
            drawn = distribution.sample(
                masks, torch.from_numpy(np.random.default_rng(row).random((n, 3), np.float32))
            )
        assert float(evaluated.log_prob.double().exp().sum()) == pytest.approx(1.0, abs=1e-5)
        assert float(evaluated.log_prob.std()) > 0.05
        assert set(map(tuple, drawn.actions.tolist())) <= set(decisions)


def test_time_steps_of_a_batch_are_evaluated_as_alone() -> None:
    spec = cells_spec()
    network = make(DEEP, spec)
    obs, mask = moments(spec, 20)
    drawn = network.step(obs).distribution.sample(mask, torch.full((20, 3), 0.3))
    keep = torch.zeros(20, dtype=torch.bool)
    keep[[2, 3, 11, 19]] = True
    whole, _ = network.flat(obs)
    evaluated = whole.select(keep).evaluate(mask[keep], drawn.actions[keep])
    torch.testing.assert_close(evaluated.log_prob, drawn.log_prob[keep], atol=1e-6, rtol=1e-6)


def test_gradients_are_finite_and_reach_every_parameter() -> None:
    spec = cells_spec()
    network = make(DEEP, spec)
    obs, mask = moments(spec, 50)
    draws = torch.rand((50, 3), generator=torch.Generator().manual_seed(1))
    drawn = network.step(obs).distribution.sample(mask, draws)
    distribution, value = network.flat(obs)
    evaluated = distribution.evaluate(mask, drawn.actions)
    loss = evaluated.log_prob.sum() + evaluated.entropy.sum() + value.sum()
    grads = torch.autograd.grad(loss, list(network.parameters()), allow_unused=True)
    for (name, _), grad in zip(network.named_parameters(), grads, strict=True):
        assert grad is not None, name
        assert bool(torch.isfinite(grad).all()), name
        assert float(grad.abs().max()) > 0.0, name


def test_the_policy_starts_nearly_uniform() -> None:
    spec = one_head(True)
    network = PolicyNetwork(DEEP, spec, seed=3)
    obs, mask = moments(spec, 30)
    mask[:] = 1
    evaluated = network.flat(obs)[0].evaluate(mask, torch.zeros((30, 1), dtype=torch.int64))
    assert float(evaluated.entropy.detach().min()) > 0.98 * np.log(12)


def test_heads_that_do_not_fit_their_planes_are_refused() -> None:
    spec = one_head(False)
    with pytest.raises(ValueError, match=r"point at 'map'; policy\.inputs must name it"):
        PolicyNetwork(msgspec.structs.replace(FLAT, inputs=("numbers",)), spec)
    head = msgspec.structs.replace(spec.heads[0], rows=11)
    with pytest.raises(ValueError, match="11 cells of 'map', which is 4x3"):
        PolicyNetwork(FLAT, msgspec.structs.replace(spec, heads=(head,)))
    head = msgspec.structs.replace(spec.heads[0], points_at="numbers", rows=3)
    with pytest.raises(ValueError, match="point at 'numbers'"):
        PolicyNetwork(FLAT, msgspec.structs.replace(spec, heads=(head,)))


def test_the_spec_hash_depends_on_the_order_of_cells() -> None:
    assert len({one_head(b, s).spec_hash for b in (False, True) for s in (12, 13)}) == 4
