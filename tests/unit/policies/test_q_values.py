"""Q-values: duelling, epsilon-greedy draws and their probabilities, weights files, stacked networks."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from ludus.flow import GameSpec, HeadSpec, Weights, WeightsMeta
from ludus.policies.actions.action_distribution import Independent
from ludus.policies.actions.distribution import Heads, uniforms
from ludus.policies.actions.q_values import QValues, absorb_targets
from ludus.policies.config import EncoderConfig
from ludus.policies.layers.normaliser import ValueNormaliser
from ludus.policies.network import PolicyNetwork
from ludus.policies.stacked import StackedNetworks
from ludus.policies.weights import build_policy, load_weights, save_weights
from tests.unit.synthetic import cells_spec, make_spec, pointing_spec, tensor

SIZES = (4, 1, 3)
SPEC = make_spec((tensor("numbers", "f32", (6,)),), SIZES)
POLICY = EncoderConfig(dense=(16,), hidden=(24,), output="q")


def random_q(rows: int, seed: int, *, duelling: bool, epsilon: float = 0.3) -> tuple[QValues, torch.Tensor]:
    """Q-values of three heads, and masks; the last row has a head without any legal choice."""
    rng = np.random.default_rng(seed)
    scores = torch.from_numpy(rng.normal(size=(rows, sum(SIZES))).astype(np.float32))
    value = torch.from_numpy(rng.normal(size=rows).astype(np.float32)) if duelling else None
    legal = rng.random((rows, sum(SIZES))) < 0.6
    legal[:, [0, 4, 5]] = True
    legal[-1, 5:] = False
    mask = torch.from_numpy(legal.astype(np.uint8))
    return QValues(Heads(SIZES), scores, value, torch.tensor(epsilon)), mask


def expected_values(q: QValues, mask: torch.Tensor) -> list[list[dict[int, float]]]:
    """Row -> head -> legal choice -> Q, in plain loops and float64."""
    found = []
    for row in range(len(mask)):
        heads, at = [], 0
        for size in SIZES:
            legal = [c for c in range(size) if mask[row, at + c]] or [0]
            scores = {c: float(q.scores[row, at + c]) for c in legal}
            if q.value is not None:
                mean = sum(scores.values()) / len(scores)
                scores = {c: float(q.value[row]) + s - mean for c, s in scores.items()}
            heads.append(scores)
            at += size
        found.append(heads)
    return found


@pytest.mark.parametrize("duelling", [False, True])
def test_values_are_those_of_plain_loops(duelling: bool) -> None:
    q, mask = random_q(40, 1, duelling=duelling)
    values, greedy = q.values(mask), q.greedy(mask)
    for row, heads in enumerate(expected_values(q, mask)):
        at = 0
        for k, (size, known) in enumerate(zip(SIZES, heads, strict=True)):
            for choice in range(size):
                expected = known.get(choice, -np.inf)
                assert float(values[row, at + choice]) == pytest.approx(expected, abs=1e-5)
            assert int(greedy[row, k]) == max(known, key=lambda c: known[c])
            at += size
    taken = q.taken(mask, greedy)
    best = [np.mean([max(h.values()) for h in heads]) for heads in expected_values(q, mask)]
    np.testing.assert_allclose(taken.numpy(), best, atol=1e-5)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_choices_are_drawn_with_their_probability(epsilon: float) -> None:
    q, mask = random_q(5, 2, duelling=True, epsilon=epsilon)
    draws = 20_000
    log_probs, at = q.log_probs(mask), 0
    many = QValues(q.heads, q.scores.repeat(draws, 1), q.value.repeat(draws), q.epsilon)  # type: ignore[union-attr]
    uniform = torch.from_numpy(uniforms(7, 0, np.arange(5 * draws), 3))
    drawn = many.sample(mask.repeat(draws, 1), uniform)
    actions = drawn.actions.reshape(draws, 5, 3)
    for k, (size, head) in enumerate(zip(SIZES, range(3), strict=True)):
        for row, heads in enumerate(expected_values(q, mask)):
            known = heads[head]
            best = max(known, key=lambda c: known[c])
            for choice in range(size):
                legal = choice in known
                probability = epsilon / len(known) * legal + (1 - epsilon) * (choice == best)
                assert float(log_probs[row, at + choice].exp()) == pytest.approx(probability, abs=1e-6)
                share = float((actions[:, row, k] == choice).float().mean())
                assert share == pytest.approx(probability, abs=0.02)
                assert legal or share == 0.0
        at += size
    np.testing.assert_allclose(
        drawn.log_prob.numpy(),
        many.evaluate(mask.repeat(draws, 1), drawn.actions).log_prob.numpy(),
        atol=1e-6,
    )
    expected = sum(float(log_probs[2, [0, 4, 5][k] + int(actions[0, 2, k])]) for k in range(3))
    assert float(drawn.log_prob[2]) == pytest.approx(expected, abs=1e-5)


def test_without_a_uniform_the_best_choice_is_taken_at_any_epsilon() -> None:
    q, mask = random_q(30, 3, duelling=False, epsilon=1.0)
    assert torch.equal(q.sample(mask, None).actions, q.greedy(mask))


def test_some_rows_are_selected() -> None:
    q, mask = random_q(10, 4, duelling=True)
    q.epsilon = torch.linspace(0.0, 1.0, 10)
    keep = torch.tensor([1, 4, 8])
    assert torch.equal(q.select(keep).values(mask[keep]), q.values(mask)[keep])
    assert torch.equal(q.select(keep).log_probs(mask[keep]), q.log_probs(mask)[keep])


def test_gradients_reach_only_taken_choices() -> None:
    q, mask = random_q(6, 5, duelling=False)
    q.scores.requires_grad_()
    actions = q.greedy(mask)
    (gradient,) = torch.autograd.grad(q.taken(mask, actions).sum(), q.scores)
    expected = torch.zeros_like(gradient)
    for k, at in enumerate((0, 4, 5)):
        expected.scatter_(1, at + actions[:, k : k + 1], 1.0 / 3)
    assert torch.allclose(gradient, expected)


def network(seed: int, epsilon: float = 0.0, **changes: object) -> PolicyNetwork:
    made = PolicyNetwork(msgspec.structs.replace(POLICY, **changes), SPEC, seed)
    with torch.no_grad():
        assert made.epsilon is not None
        made.epsilon.fill_(epsilon)
        made.policy_head.weight.mul_(50.0)  # type: ignore[operator]
    return made


def test_the_value_is_that_of_the_best_decision() -> None:
    obs = {"numbers": torch.randn((9, 6), generator=torch.Generator().manual_seed(1))}
    for duelling in (False, True):
        made = network(1, duelling=duelling)
        made.values.mean.fill_(3.0)  # type: ignore[union-attr]
        made.values.square.fill_(13.0)  # type: ignore[union-attr]
        out = made.step(obs)
        assert isinstance(out.distribution, QValues)
        every = torch.ones((9, sum(SIZES)), dtype=torch.uint8)
        best = out.distribution.taken(every, out.distribution.greedy(every))
        torch.testing.assert_close(out.value, best.detach() * 2.0 + 3.0)


@pytest.mark.parametrize("duelling", [False, True])
def test_stacked_networks_give_the_same_values(duelling: bool) -> None:
    networks = [network(seed, epsilon, duelling=duelling) for seed, epsilon in ((1, 0.0), (2, 0.6))]
    obs = {"numbers": torch.randn((7, 6), generator=torch.Generator().manual_seed(2))}
    mask = torch.ones((7, sum(SIZES)), dtype=torch.uint8)
    together = StackedNetworks(networks).step(obs, None, torch.zeros(7, dtype=torch.bool), (3, 4))
    assert isinstance(together.distribution, QValues)
    for one, rows in zip(networks, (slice(0, 3), slice(3, 7)), strict=True):
        alone = one.step({"numbers": obs["numbers"][rows]})
        assert isinstance(alone.distribution, QValues)
        torch.testing.assert_close(together.value[rows], alone.value, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(
            together.distribution.log_probs(mask)[rows],
            alone.distribution.log_probs(mask[rows]),
            rtol=1e-4,
            atol=1e-4,
        )


def test_weights_files_contain_the_output(tmp_path: Path) -> None:
    made = network(1, 0.25, duelling=True)
    tensors = {n: t.numpy() for n, t in made.state_dict().items()}
    meta = WeightsMeta(
        version=1,
        spec_hash=SPEC.spec_hash,
        architecture=made.architecture,
        spec=msgspec.json.encode(SPEC).decode(),
        game=SPEC.name,
    )
    save_weights(Weights(meta, tensors), tmp_path / "w.safetensors")
    read = build_policy(load_weights(tmp_path / "w.safetensors"))
    assert isinstance(read, PolicyNetwork)
    assert read.config == made.config
    assert read.epsilon is not None
    assert float(read.epsilon) == 0.25
    logits = PolicyNetwork(EncoderConfig(dense=(16,), hidden=(24,)), SPEC, 1)
    assert "epsilon" not in logits.state_dict()  # it is no part of a weights file


def test_new_statistics_keep_predictions() -> None:
    heads, values = [torch.nn.Linear(5, 3), torch.nn.Linear(5, 1)], ValueNormaliser()
    x = torch.randn((4, 5))
    weight = heads[0].weight.clone()
    absorb_targets(torch.tensor([1.0, 3.0]), values, heads)
    assert torch.equal(heads[0].weight, weight)
    before = [values.denormalise(head(x)) for head in heads]
    absorb_targets(torch.tensor([40.0, -50.0, 90.0]), values, heads)
    assert values.moments()[1] > 10.0
    for head, was in zip(heads, before, strict=True):
        torch.testing.assert_close(values.denormalise(head(x)), was, rtol=1e-4, atol=1e-4)


CONTINUOUS = msgspec.structs.replace(
    SPEC, heads=(HeadSpec("push", 2, kind="continuous", low=-1.0, high=1.0), HeadSpec("other", 3))
)


@pytest.mark.parametrize(
    ("spec", "changes", "message"),
    [
        (CONTINUOUS, {}, 'output = "q": head push of synthetic is continuous; expected independent heads'),
        (pointing_spec(), {}, 'output = "q": head unit of synthetic points at units; expected'),
        (cells_spec(), {}, 'output = "q": head unit of synthetic points at units; expected'),
        (SPEC, {"memory": "gru"}, 'output = "q" with policy.memory = "gru": expected policy.memory = "none"'),
        (SPEC, {"memory": "recall"}, 'output = "q" with policy.memory = "recall": expected'),
        (
            SPEC,
            {"output": "logits", "duelling": True},
            'duelling = true with policy.output = "logits": expected policy.output = "q"',
        ),
    ],
)
def test_games_without_q_values_are_refused(spec: GameSpec, changes: dict[str, object], message: str) -> None:
    policy = msgspec.structs.replace(POLICY, **changes)
    with pytest.raises(ValueError, match=message):
        PolicyNetwork(policy, spec, 1)


def test_divergence_is_that_of_plain_loops() -> None:
    (p, mask), (q, _) = random_q(20, 6, duelling=True), random_q(20, 7, duelling=True, epsilon=0.8)
    expected = np.zeros(20)
    for row, (mine, others) in enumerate(
        zip(expected_values(p, mask), expected_values(q, mask), strict=True)
    ):
        for one, other in zip(mine, others, strict=True):
            for choice in one:
                a = 0.3 / len(one) + 0.7 * (choice == max(one, key=lambda c: one[c]))
                b = 0.8 / len(one) + 0.2 * (choice == max(other, key=lambda c: other[c]))
                expected[row] += a * np.log(a / b)
    actions = p.greedy(mask)
    np.testing.assert_allclose(p.divergence(q, mask, actions).numpy(), expected, atol=1e-5)
    np.testing.assert_allclose(p.divergence(p, mask, actions).numpy(), 0.0, atol=1e-6)
    with pytest.raises(TypeError, match="expected Q-values, got Independent"):
        p.divergence(Independent(p.heads, p.scores), mask, actions)
