"""A2C, policy gradient, IMPALA: returns and losses against float64 loops, ratio 1, what is refused."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
import torch

from ludus.algorithms.a2c import a2c_returns
from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.actor_critic.objective import Decisions
from ludus.algorithms.actor_critic.returns import vtrace_returns
from ludus.algorithms.config import MethodConfig
from ludus.algorithms.learner import LearnerContext
from ludus.algorithms.policy_gradient import policy_gradient_returns
from ludus.algorithms.registry import find, resolve
from ludus.algorithms.returns import Returns, monte_carlo, transitions
from ludus.flow import Slab
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from tests.unit.algorithms.test_returns import Moments, decisions_of
from tests.unit.synthetic import act, make_spec, random_slab, tensor

SPEC = make_spec((tensor("counts", "u8", (7,), scale=0.01), tensor("numbers", "f32", (6,))), (4, 1, 3))
POLICY = EncoderConfig(dense=(16,), hidden=(24,), memory_size=12)
METHODS = ["a2c", "impala", "policy_gradient"]
MEMORIES = ["none", "recall", "gru", "lstm"]
NORMS = ["none", "layer", "group", "batch"]

Learner = ActorCriticLearner[Any]


def config_of(method: str, **changes: object) -> MethodConfig:
    known = find(method)
    assert known is not None
    config: MethodConfig = msgspec.convert(changes, known.config)
    return config


def make_learner(method: str, policy: EncoderConfig = POLICY, **changes: object) -> Learner:
    known = find(method)
    assert known is not None
    config = config_of(method, **{"minibatches": 1, "micro_batch": 4096, **changes})
    made = resolve(known.learner)(config, PolicyNetwork(policy, SPEC, 1), LearnerContext(1))
    assert isinstance(made, ActorCriticLearner)
    return made


def played(learner: Learner, seed: int, idle: float = 0.3, end: float = 0.1) -> Slab:
    slab = random_slab(SPEC, 10, 24, seed, idle=idle, end=end)
    act(learner.network, slab, seed, learner.version)
    return slab


# ---- ratio 1 at lag 0 ----------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("norm", NORMS)
def test_ratios_are_one_at_lag_zero(method: str, memory: str, norm: str) -> None:
    """After updates that have moved weights and statistics, with matches that end inside the slab."""
    policy = msgspec.structs.replace(POLICY, memory=memory, norm=norm)
    learner = make_learner(method, policy, normalise_advantages=False)
    for seed in range(2):
        learner.update(played(learner, seed))
    with torch.no_grad():  # far from uniform
        next(learner.network.policy_head.parameters()).mul_(40.0)
    slab = played(learner, 9)
    numbers = learner.update(slab).numbers
    assert abs(numbers["policy/kl"]) < 1e-6
    assert numbers["policy/clip_fraction"] < 1e-9 or method == "impala"  # its bound is 1 itself


# ---- returns -------------------------------------------------------------------------------------


def moments(seed: int, idle: float) -> Moments:
    return Moments(seed=seed, idle=idle)


def ends_at(m: Moments, t: int, row: int) -> bool:
    """Whether the match ends before the row's next decision."""
    for later in range(t, len(m.reward)):
        if m.terminated[later, row] or m.truncated[later, row]:
            return True
        if m.active[later + 1, row]:
            return False
    return False


def sums(m: Moments, discount: float) -> dict[tuple[int, int], float]:
    """Discounted rewards to the end of the match, of decisions whose match ends in the slab."""
    found = {}
    for row in range(m.reward.shape[1]):
        chain = decisions_of(m, row)
        for i, start in enumerate(chain):
            total, weight = 0.0, 1.0
            for d in chain[i:]:
                total += weight * d.reward
                weight *= discount
                if ends_at(m, d.t, row):
                    found[start.t, row] = total
                    break
                if not d.linked:
                    break
    return found


def check(out: Returns, target: dict[tuple[int, int], float], baseline: npt.NDArray[np.float64]) -> None:
    valid = np.zeros(out.valid.shape, bool)
    for (t, row), value in target.items():
        valid[t, row] = True
        assert out.target[t, row] == pytest.approx(value, abs=5e-5)
        assert out.advantage[t, row] == pytest.approx(value - baseline[t, row], abs=5e-5)
    np.testing.assert_array_equal(out.valid, valid)


@pytest.mark.parametrize("idle", [0.0, 0.4, 0.8])
@pytest.mark.parametrize("baseline", ["none", "mean"])
def test_monte_carlo_returns_are_those_of_matches_that_end(idle: float, baseline: str) -> None:
    m = moments(3, idle)
    expected = sums(m, 0.9)
    assert 0.1 < len(expected) / m.active[:-1].sum() < 0.95
    config = config_of("policy_gradient", discount=0.9, baseline=baseline)
    out = policy_gradient_returns(config, m.transitions(), m.value, None)  # type: ignore[arg-type]
    mean = float(np.mean(list(expected.values()))) if baseline == "mean" else 0.0
    check(out, expected, np.full(m.reward.shape, mean))


def test_returns_without_a_value_need_none_of_a_truncated_match() -> None:
    """A learner whose values are not known in acting has no value of a truncated match's last observation."""
    m = moments(3, 0.4)
    moves = transitions(m.reward, m.terminated, m.truncated, None, m.value, m.active)
    out = monte_carlo(moves, discount=0.9)
    check(out, sums(m, 0.9), np.zeros(m.reward.shape))


def test_without_a_match_that_ends_nothing_is_trained_on() -> None:
    m = moments(1, 0.3)
    m.terminated[:] = m.truncated[:] = False
    out = monte_carlo(m.transitions(), discount=0.9)
    assert not out.valid.any()
    for baseline in ("none", "mean"):
        config = config_of("policy_gradient", baseline=baseline)
        returns = policy_gradient_returns(config, m.transitions(), m.value, None)  # type: ignore[arg-type]
        assert not returns.valid.any()


def returns_to_the_end(m: Moments, discount: float, n: int) -> dict[tuple[int, int], float]:
    """``n`` rewards (0: all of the slab), then the value of what follows."""
    found = {}
    for row in range(m.reward.shape[1]):
        chain = decisions_of(m, row)
        for i, start in enumerate(chain):
            if start.bootstrap is None:
                continue
            total, weight, left = 0.0, 1.0, n or len(chain)
            for d in chain[i:]:
                if d.bootstrap is None:
                    total += weight * float(m.value[d.t, row])
                    break
                total += weight * d.reward
                weight, left = weight * discount, left - 1
                if left == 0 or not d.linked:
                    total += weight * d.bootstrap
                    break
            found[start.t, row] = total
    return found


@pytest.mark.parametrize("n", [0, 1, 3, 24, 100])
def test_a2c_sums_n_rewards_and_the_value_after_them(n: int) -> None:
    m = moments(5, 0.4)
    config = config_of("a2c", discount=0.9, n_steps=n)
    out = a2c_returns(config, m.transitions(), m.value, None)  # type: ignore[arg-type]
    check(out, returns_to_the_end(m, 0.9, n), m.value[:-1].astype(np.float64))


def test_a_value_as_baseline_bootstraps_at_the_end_of_the_slab() -> None:
    m = moments(5, 0.4)
    config = config_of("policy_gradient", discount=0.9)
    out = policy_gradient_returns(config, m.transitions(), m.value, None)  # type: ignore[arg-type]
    check(out, returns_to_the_end(m, 0.9, 0), m.value[:-1].astype(np.float64))


@pytest.mark.parametrize("rho_clip", [1.0, 2.0])
def test_impala_returns_are_v_trace(rho_clip: float) -> None:
    """Equation 1 of the paper and its advantage r + discount v(s') - V(s), one number at a time."""
    m = moments(7, 0.4)
    config = config_of("impala", discount=0.9, rho_clip=rho_clip, c_clip=1.5)
    out = vtrace_returns(config, m.transitions(), m.value, m.ratio)  # type: ignore[arg-type]
    count = 0
    for row in range(m.reward.shape[1]):
        follows = 0.0  # v(s') of the next decision
        for d in reversed(decisions_of(m, row)):
            value = float(m.value[d.t, row])
            if d.bootstrap is None:
                follows = value
                continue
            ratio = float(m.ratio[d.t, row])
            after = follows if d.linked else d.bootstrap
            delta = min(rho_clip, ratio) * (d.reward + 0.9 * d.bootstrap - value)
            target = value + delta + 0.9 * min(1.5, ratio) * (after - d.bootstrap)
            assert out.target[d.t, row] == pytest.approx(target, abs=5e-5)
            assert out.advantage[d.t, row] == pytest.approx(d.reward + 0.9 * after - value, abs=5e-5)
            follows, count = target, count + 1
    assert count == out.valid.sum() > 100


# ---- losses --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "changes", "bound"),
    [
        ("a2c", {"clip_ratio": 1.2}, 1.2),
        ("impala", {"rho_clip": 1.1}, 1.1),
        ("policy_gradient", {"clip_ratio": 1.3}, 1.3),
        ("policy_gradient", {"clip_ratio": 1.3, "baseline": "none"}, 1.3),
    ],
)
def test_loss_equals_a_float64_loop(method: str, changes: dict[str, object], bound: float) -> None:
    rng = np.random.default_rng(1)
    log_prob, behaviour, advantage, entropy, value, target = rng.normal(size=(6, 50))
    ratios = np.exp(log_prob - behaviour)
    config: Any = config_of(method, **changes)
    tensors = [torch.tensor(x, requires_grad=True) for x in (log_prob, value)]
    given = Decisions(
        log_prob=tensors[0],
        behaviour_log_prob=torch.tensor(behaviour),
        advantage=torch.tensor(advantage),
        entropy=torch.tensor(entropy),
        value=tensors[1],
        old_value=torch.zeros(50, dtype=torch.float64),
        target=torch.tensor(target),
    )
    loss = loss_of(method)(config, given, 0.3)
    policy = sum(-min(r, bound) * a * p for r, a, p in zip(ratios, advantage, log_prob, strict=True))
    errors = sum(0.5 * (v - t) ** 2 for v, t in zip(value, target, strict=True))
    learned = method != "policy_gradient" or config.baseline == "value"
    total = policy - 0.3 * sum(entropy) + (0.5 * errors if learned else 0.0)
    assert loss.numbers["loss/policy"].item() == pytest.approx(policy)
    assert loss.total.item() == pytest.approx(total)
    assert ("loss/value" in loss.numbers) == learned
    assert loss.numbers["policy/clip_fraction"].item() == sum(r > bound for r in ratios)
    kl = sum(r - 1.0 - math.log(r) for r in ratios)
    assert loss.numbers["policy/kl"].item() == pytest.approx(kl)
    by_policy, by_value = torch.autograd.grad(loss.total, tensors)  # the weight is held constant
    np.testing.assert_allclose(by_policy.numpy(), -np.minimum(ratios, bound) * advantage)
    np.testing.assert_allclose(by_value.numpy(), 0.5 * (value - target) * learned)


def loss_of(method: str) -> Any:  # noqa: ANN401
    return make_learner(method).objective.loss


def test_a2c_learns_from_old_decisions_by_clipped_weights() -> None:
    """The whole update: weights come from the probabilities that the slab holds."""
    learner = make_learner("a2c", normalise_advantages=False, clip_ratio=1.5, n_steps=2, discount=0.9)
    slab = played(learner, 1)
    shift = np.random.default_rng(2).normal(size=slab.log_prob.shape).astype(np.float32)
    log_prob = slab.log_prob.copy()
    slab.log_prob += shift
    numbers = learner.update(slab).numbers
    m = Moments(0, 10, 24)
    m.reward, m.terminated, m.truncated = slab.reward, slab.terminated != 0, slab.truncated != 0
    m.final_value, m.value, m.active = slab.final_value, slab.value, slab.active != 0
    expected = returns_to_the_end(m, 0.9, 2)
    terms = [
        -min(math.exp(-float(shift[t, row])), 1.5)
        * (value - float(slab.value[t, row]))
        * float(log_prob[t, row])
        for (t, row), value in expected.items()
    ]
    assert numbers["loss/policy"] == pytest.approx(float(np.mean(terms)), rel=1e-4, abs=1e-5)


# ---- what has no return --------------------------------------------------------------------------


@pytest.mark.parametrize(("endless", "refused"), [(14, True), (4, False)])
def test_too_few_decisions_with_a_return_are_refused(endless: int, refused: bool) -> None:
    """Counted over the first updates, a resume between them included."""
    learner = make_learner("policy_gradient", baseline="none")
    for update in range(20):
        if update == 8:
            again = make_learner("policy_gradient", baseline="none")
            again.load_state(*learner.state())
            learner = again
        stats = learner.update(played(learner, update, end=0.0 if update < endless else 0.3))
        assert bool(stats.refusal) == (refused and update == 15)
        if stats.refusal:
            assert stats.refusal.startswith('algorithm.baseline = "none": ')
            assert "expected at least 20%" in stats.refusal
            assert "pool.rollout_length, which is 10" in stats.refusal


def test_a_value_as_baseline_refuses_nothing() -> None:
    learner = make_learner("policy_gradient")
    assert not any(learner.update(played(learner, n, end=0.0)).refusal for n in range(17))
