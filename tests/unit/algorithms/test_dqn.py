"""DQN: targets and losses against float64 loops, the replay buffer, draws by priority, threads, resume."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
import torch

from ludus.algorithms.config import DqnConfig
from ludus.algorithms.dqn.learner import DqnLearner
from ludus.algorithms.dqn.loss import dqn_loss
from ludus.algorithms.dqn.replay_buffer import ENDED, NStepReturns, n_step_returns, slab_transitions
from ludus.algorithms.dqn.sampling import FLOOR, draw_by_priority, draw_evenly, priority_of
from ludus.algorithms.learner import LearnerContext, UpdateStats
from ludus.flow import Slab
from ludus.policies.actions.q_values import QValues
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from tests.unit.synthetic import act, make_spec, random_slab, tensor

SPEC = make_spec((tensor("units", "u8", (4, 5), scale=0.01), tensor("numbers", "f32", (6,))), (4, 1, 3))
POLICY = EncoderConfig(dense=(16,), hidden=(24,), output="q", duelling=True)
PLAIN: dict[str, object] = {
    "buffer_slabs": 3,
    "batch_size": 48,
    "micro_batch": 20,
    "updates": 3,
    "learning_starts": 1,
}


def learner_of(workers: int = 1, policy: EncoderConfig = POLICY, **changes: object) -> DqnLearner:
    config = msgspec.convert({**PLAIN, **changes, "name": "dqn"}, DqnConfig)
    return DqnLearner(config, PolicyNetwork(policy, SPEC, 1), LearnerContext(1, workers=workers))


def played(learner: DqnLearner, seed: int, steps: int = 10, rows: int = 12) -> Slab:
    """Return a slab with idle time steps, another policy's, and matches that end or are cut off."""
    slab = random_slab(SPEC, steps, rows, seed, idle=0.3)
    other = np.random.default_rng(seed).random(slab.policy.shape) < 0.2
    slab.policy[other & (slab.active != 0)] = 1
    act(learner.network, slab, seed, learner.version)
    return slab


def mine(slab: Slab) -> npt.NDArray[np.bool_]:
    decided: npt.NDArray[np.bool_] = (slab.active != 0) & (slab.policy == 0)
    return decided


def whole(learner: DqnLearner, slab: Slab, workers: int = 1, progress: float = 0.25) -> UpdateStats:
    plan = learner.start(slab, progress)
    threads = [threading.Thread(target=plan.help, args=(w,)) for w in range(1, workers)]
    for thread in threads:
        thread.start()
    plan.help(0)
    for thread in threads:
        thread.join()
    return learner.finish()


def loop_returns(slab: Slab, t: int, row: int, gamma: float, n: int) -> tuple[float, int, float] | None:
    """Return, successor and discount of one decision by walking through its row; None: it has none."""
    decided = mine(slab)
    total, factor, steps = 0.0, 1.0, 0
    last: tuple[float, int, float] | None = None
    at = t
    while steps < n:
        reward, successor = 0.0, None
        for now in range(at, slab.steps):
            reward += float(slab.reward[now, row])
            if slab.terminated[now, row]:
                successor = ENDED
            elif slab.truncated[now, row]:
                return last  # what came after was not seen
            elif decided[now + 1, row]:
                successor = now + 1
            if successor is not None:
                break
        if successor is None:  # the slab ends first
            return last
        total += factor * reward
        factor *= gamma
        steps += 1
        if successor == ENDED:
            return total, ENDED, 0.0
        last = total, successor, factor
        if successor == slab.steps:
            return last
        at = successor
    return last


def after(slab: Slab, gamma: float, n: int) -> NStepReturns:
    moves, successor = slab_transitions(slab, slab.reward.copy(), mine(slab))
    return n_step_returns(moves, successor, discount=gamma, n_steps=n)


@pytest.mark.parametrize("n", [1, 2, 5, 50])
def test_returns_are_those_of_plain_loops(n: int) -> None:
    kinds = {"ended": 0, "last": 0, "none": 0, "inside": 0}
    for seed in range(4):
        slab = played(learner_of(), seed, steps=14, rows=20)
        found = after(slab, 0.9, n)
        for t, row in zip(*np.nonzero(mine(slab)[:-1]), strict=True):
            expected = loop_returns(slab, t, row, 0.9, n)
            assert found.valid[t, row] == (expected is not None)
            if expected is None:
                kinds["none"] += 1
                continue
            assert found.returns[t, row] == pytest.approx(expected[0], abs=1e-4)
            assert found.successor[t, row] == expected[1]
            assert found.discount[t, row] == pytest.approx(expected[2], abs=1e-6)
            kinds["ended" if expected[1] == ENDED else "last" if expected[1] == 14 else "inside"] += 1
        assert not found.valid[~mine(slab)[:-1]].any()
    assert min(kinds.values()) >= 10


def test_the_value_of_a_cut_match_is_never_used() -> None:
    slab = played(learner_of(), 1)
    before = after(slab, 0.9, 3)
    slab.final_value[:] = 1e6
    slab.value[:] = -1e6
    again = after(slab, 0.9, 3)
    np.testing.assert_array_equal(again.returns, before.returns)
    np.testing.assert_array_equal(again.discount, before.discount)


def q_of(network: PolicyNetwork, slab: Slab, t: int, row: int) -> list[npt.NDArray[np.float64]]:
    """Q of each head's choices, -inf where illegal, in the game's units."""
    obs = {name: torch.from_numpy(slab.obs[name][t, [row]]) for name in ("units", "numbers")}
    with torch.no_grad():
        out = network.step(obs)
    assert isinstance(out.distribution, QValues)
    values = network.denormalise(out.distribution.values(torch.from_numpy(slab.mask[t, [row]])))
    return np.split(values.numpy()[0].astype(np.float64), [4, 5])


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("target", ["hard", "none"])
def test_targets_are_those_of_plain_loops(double: bool, target: str) -> None:
    """A mean over heads of the values of each head's best choice, which double lets the learner's choose."""
    learner = learner_of(double=double, target=target, discount=0.9, target_every=1000, learning_rate=0.05)
    for seed in range(3):
        slab = played(learner, seed)
        learner.update(slab)
    online, other = learner.network, learner.others.get("target", learner.network)
    assert target == "none" or not torch.equal(online.value_head.weight, other.value_head.weight)
    decisions = learner.replay_buffer.decisions()
    newest = decisions[decisions // (10 * 12) == 2]
    batch = learner.replay_buffer.batch(newest)
    found = np.zeros(len(newest), np.float32)
    learner._targets(batch, np.arange(len(newest)), found, 0)
    differs = 0
    for i, number in enumerate(newest):
        t, row = divmod(int(number) % 120, 12)
        expected = loop_returns(slab, t, row, 0.9, 3)
        assert expected is not None
        total, successor, factor = expected
        if successor != ENDED:
            chooser = q_of(online if double else other, slab, successor, row)
            valued = q_of(other, slab, successor, row)
            best = [int(part.argmax()) for part in chooser]
            total += factor * np.mean([part[a] for part, a in zip(valued, best, strict=True)])
            differs += best != [int(part.argmax()) for part in valued]
        assert found[i] == pytest.approx(total, abs=1e-4)
    assert (differs > 0) == (double and target == "hard")


@pytest.mark.parametrize("delta", [0.0, 0.5])
def test_the_loss_is_that_of_plain_loops(delta: float) -> None:
    rng = np.random.default_rng(1)
    q, target = rng.normal(size=50), rng.normal(size=50)
    weight = rng.random(50)
    total = 0.0
    for a, y, w in zip(q, target, weight, strict=True):
        size = abs(y - a)
        total += w * (0.5 * size**2 if delta == 0.0 or size <= delta else delta * (size - 0.5 * delta))
    mine, wanted, weights = (torch.tensor(x, dtype=torch.float32) for x in (q, target, weight))
    mine.requires_grad_()
    loss, error = dqn_loss(mine, wanted, weights, delta)
    assert float(loss.total.detach()) == pytest.approx(total, rel=1e-5)
    np.testing.assert_allclose(error.numpy(), target - q, atol=1e-6)
    (gradient,) = torch.autograd.grad(loss.total, mine)
    clipped = np.clip(q - target, -delta, delta) if delta else q - target
    np.testing.assert_allclose(gradient.numpy(), weight * clipped, atol=1e-6)


def test_the_replay_buffer_returns_the_slabs_that_were_added() -> None:
    learner = learner_of(updates=1, n_steps=2, discount=0.8)
    slabs = [played(learner, seed) for seed in range(5)]
    for slab in slabs:
        learner.update(slab)
    buffer = learner.replay_buffer
    assert buffer.filled == 3
    held = [slabs[3], slabs[4], slabs[2]]  # the newest took the places of the oldest
    decisions = buffer.decisions()
    assert len(decisions) == sum(int(after(s, 0.8, 2).valid.sum()) for s in held)
    batch = buffer.batch(decisions)
    seen, then = buffer.observations(batch.observations), buffer.observations(batch.successors)
    masks = buffer.masks(batch.successors)
    for i, number in enumerate(decisions):
        k, within = divmod(int(number), 120)
        t, row = divmod(within, 12)
        slab = held[k]
        expected = loop_returns(slab, t, row, 0.8, 2)
        assert expected is not None
        assert batch.returns[i] == pytest.approx(expected[0], abs=1e-5)
        assert batch.discount[i] == pytest.approx(expected[2], abs=1e-6)
        np.testing.assert_array_equal(batch.actions[i], slab.actions[t, row])
        for name in ("units", "numbers"):
            np.testing.assert_array_equal(seen[name][i], slab.obs[name][t, row])
            if expected[1] != ENDED:
                np.testing.assert_array_equal(then[name][i], slab.obs[name][expected[1], row])
        if expected[1] != ENDED:
            np.testing.assert_array_equal(masks[i], slab.mask[expected[1], row])


def test_slabs_of_another_size_and_too_many_of_them_are_refused() -> None:
    learner = learner_of()
    learner.update(played(learner, 1))
    with pytest.raises(ValueError, match="slabs of 10 steps of 12 rows, found 5 steps of 12 rows"):
        learner.update(played(learner, 1, steps=5))
    small = learner_of(buffer_slabs=1000, buffer_mib=1.0)
    message = r"buffer_slabs = 1000: 1000 slabs of 10 steps and 12 rows need 9\.\d MiB; .* holds 102 slabs"
    with pytest.raises(ValueError, match=message):
        small.update(played(small, 1))


def test_draws_follow_priorities() -> None:
    priorities = np.array([0.0, 3.0, 0.0, 1.0, 0.5, 0.0, 5.5, 0.0], np.float32)
    rng = np.random.default_rng(1)
    counts = np.zeros(8)
    for _ in range(400):
        drawn, weight = draw_by_priority(priorities, 25, 0.7, rng)
        counts += np.bincount(drawn, minlength=8)
        expected = (4 * priorities[drawn].astype(np.float64) / 10.0) ** -0.7
        np.testing.assert_allclose(weight, expected / expected.max(), rtol=1e-6)
    np.testing.assert_allclose(counts / counts.sum(), priorities / 10.0, atol=0.01)
    assert set(np.flatnonzero(counts)) == {1, 3, 4, 6}
    _, even = draw_by_priority(priorities, 25, 0.0, rng)
    np.testing.assert_array_equal(even, 1.0)


def test_even_draws_are_even() -> None:
    drawn, weight = draw_evenly(np.array([3, 9, 11]), 30_000, np.random.default_rng(1))
    np.testing.assert_allclose(np.bincount(drawn)[[3, 9, 11]] / 30_000, 1 / 3, atol=0.02)
    np.testing.assert_array_equal(weight, 1.0)


def test_errors_become_priorities() -> None:
    policy = msgspec.structs.replace(POLICY, normalise_observations=False)
    learner = learner_of(policy=policy, priority_alpha=0.5, updates=1, batch_size=40, learning_rate=1e-12)
    slab = played(learner, 1)
    learner.update(slab)
    priorities = learner.replay_buffer.priorities().copy()
    changed = np.flatnonzero((priorities != 1.0) & (priorities > 0.0))
    assert 10 < len(changed) <= 40
    target = np.zeros(len(changed), np.float32)
    learner._targets(learner.replay_buffer.batch(changed), np.arange(len(changed)), target, 0)
    for y, number in zip(target, changed, strict=True):
        t, row = divmod(int(number), 12)
        q = q_of(learner.network, slab, t, row)
        mean = np.mean([part[a] for part, a in zip(q, slab.actions[t, row], strict=True)])
        assert priorities[number] == pytest.approx((abs(y - mean) + FLOOR) ** 0.5, rel=1e-4)
    assert learner.replay_buffer.highest == pytest.approx(max(1.0, priorities.max()))
    np.testing.assert_allclose(
        priority_of(np.array([-2.0, 0.5], np.float32), 0.5), (np.array([2.0, 0.5]) + FLOOR) ** 0.5, rtol=1e-6
    )


def test_schedules_reach_their_final_values() -> None:
    config = DqnConfig(epsilon=0.8, epsilon_final=0.2, epsilon_share=0.5)
    assert [config.epsilon_at(p) for p in (0.0, 0.25, 0.5, 1.0)] == pytest.approx([0.8, 0.5, 0.2, 0.2])
    assert DqnConfig(epsilon_share=0.0).epsilon_at(0.0) == pytest.approx(0.05)
    config = DqnConfig(priority_beta=0.4, priority_beta_final=0.8)
    assert [config.priority_beta_at(p) for p in (0.0, 0.5, 1.0)] == pytest.approx([0.4, 0.6, 0.8])
    learner = learner_of(epsilon=0.8, epsilon_final=0.2, epsilon_share=0.5)
    acting = PolicyNetwork(POLICY, SPEC, 2)
    learner.copy_to(acting)
    assert float(acting.epsilon) == pytest.approx(0.8)  # type: ignore[arg-type]
    stats = learner.update(played(learner, 1), 0.25)
    learner.copy_to(acting)
    assert float(acting.epsilon) == pytest.approx(0.5)  # type: ignore[arg-type]
    assert stats.numbers["dqn/epsilon"] == pytest.approx(0.5)
    assert float(learner.weights().tensors["epsilon"]) == 0.0
    assert float(learner.state()[0]["network.epsilon"]) == pytest.approx(0.5)


def vectors(learner: DqnLearner) -> tuple[torch.Tensor, torch.Tensor]:
    target = learner.others["target"]
    return learner.parameters.vector, torch.cat([p.detach().reshape(-1) for p in target.parameters()])


def test_the_target_network_is_copied_every_so_many_steps() -> None:
    learner = learner_of(target_every=4, updates=3, learning_rate=0.01)
    equal = []
    for seed in range(4):  # 3, 6, 9, 12 steps
        learner.update(played(learner, seed))
        equal.append(torch.equal(*vectors(learner)))
    assert equal == [False, False, False, True]


def test_a_polyak_target_moves_by_tau() -> None:
    learner = learner_of(target="polyak", target_tau=0.25, updates=1, learning_rate=0.01)
    start = vectors(learner)[1].clone()
    learner.update(played(learner, 1))
    online, target = vectors(learner)
    torch.testing.assert_close(target, 0.75 * start + 0.25 * online)
    assert "target" not in learner_of(target="none").others


@pytest.mark.parametrize("tau", [0.0, 0.25])
def test_a_polyak_target_normalises_like_the_learner(tau: float) -> None:
    """Statistics are not weights: they come over whole with every gradient step."""
    learner = learner_of(target="polyak", target_tau=tau, updates=1)
    for seed in range(3):
        before = {name: buffer.clone() for name, buffer in learner.network.named_buffers()}
        learner.update(played(learner, seed))
        target = dict(learner.others["target"].named_buffers())
        for name, buffer in before.items():
            if name.startswith("normaliser."):  # as the learner's were during the step
                torch.testing.assert_close(target[name], buffer, msg=name)
    assert float(target["normaliser.count"]) > 0
    assert not torch.equal(target["normaliser.mean"], learner.network.normaliser.mean)  # type: ignore[union-attr]


def test_normalised_returns_keep_the_predictions_of_both_networks() -> None:
    learner = learner_of(normalise_returns=True, target_every=7, learning_rate=1e-3, reward_scale=20.0)
    for seed in range(3):
        learner.update(played(learner, seed))
    slab = played(learner, 9)
    mean, deviation = learner.network.values.moments()  # type: ignore[union-attr]
    assert deviation > 5.0
    before = [q_of(n, slab, 0, 0) for n in (learner.network, learner.others["target"])]
    learner._absorb_targets(np.array([50.0, -300.0], np.float32))
    assert learner.network.values.moments() != (mean, deviation)  # type: ignore[union-attr]
    for was, network in zip(before, (learner.network, learner.others["target"]), strict=True):
        for a, b in zip(was, q_of(network, slab, 0, 0), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


def updates(learner: DqnLearner, seeds: range, workers: int = 1) -> Iterator[UpdateStats]:
    for seed in seeds:
        yield whole(learner, played(learner, seed), workers, progress=seed / 8)


CASES: list[dict[str, Any]] = [
    {"target": "hard", "target_every": 4},
    {"priority_alpha": 0.6, "target": "polyak"},
    {"target": "none"},
]


@pytest.mark.parametrize("changes", CASES)
def test_three_threads_give_the_bits_of_one(changes: dict[str, Any]) -> None:
    one, three = learner_of(1, **changes), learner_of(3, **changes)
    assert [s.numbers for s in updates(one, range(4))] == [s.numbers for s in updates(three, range(4), 3)]
    assert torch.equal(one.parameters.vector, three.parameters.vector)


@pytest.mark.parametrize("changes", CASES)
def test_a_learner_continues_from_its_state(changes: dict[str, Any]) -> None:
    first = learner_of(**changes)
    list(updates(first, range(5)))
    arrays, counters = first.state()
    rest = [s.numbers for s in updates(first, range(5, 8))]
    second = learner_of(**changes)
    second.load_state(arrays, counters)
    assert second.network.epsilon is not None
    assert [s.numbers for s in updates(second, range(5, 8))] == rest
    assert torch.equal(first.parameters.vector, second.parameters.vector)
    mine, theirs = first.state()[0], second.state()[0]
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("replay_buffer.actions", lambda a: a + 4, r"buffer\.actions: expected choices of synthetic"),
        (
            "replay_buffer.successor",
            lambda a: a + 99,
            r"buffer\.successor: expected time steps up to 10",
        ),
        (
            "replay_buffer.mask",
            lambda a: a[:, :4],
            r"buffer\.mask: expected uint8\(1, 11, 12, 8\), found uint8\(1, 4, ",
        ),
        (
            "replay_buffer.returns",
            lambda a: a.astype(np.float64),
            r"buffer\.returns: expected float32",
        ),
        ("replay_buffer.obs.units", None, r"buffer\.obs\.units: expected .*, found nothing"),
        ("target.epsilon", None, r"target\.epsilon: expected \(\), found nothing"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(name: str, change: object, message: str) -> None:
    learner = learner_of()
    learner.update(played(learner, 1))
    arrays, counters = learner.state()
    if change is None:
        del arrays[name]
    else:
        arrays[name] = change(arrays[name])  # type: ignore[operator]
    with pytest.raises(ValueError, match=message):
        learner_of().load_state(arrays, counters)
    with pytest.raises(ValueError, match="no counter 'gradient_steps'"):
        learner_of().load_state(learner.state()[0], {k: n for k, n in counters.items() if k[0] != "g"})


def test_learned_decisions_are_counted() -> None:
    learner = learner_of(learning_starts=100, updates=2, batch_size=30)
    slabs = [played(learner, seed, steps=8, rows=12) for seed in range(3)]
    valid = [int(after(s, 0.99, 3).valid.sum()) for s in slabs]
    held = 0
    for slab, new in zip(slabs, valid, strict=True):
        held += new
        stats = learner.update(slab)
        assert stats.samples == new
        assert stats.learned == (60 if held >= 100 else 0)
        assert stats.numbers["dqn/transitions"] == held
        assert ("loss/td" in stats.numbers) == (held >= 100)
    assert valid[0] < 100 < held
    assert learner.steps == held


def test_a_slab_without_decisions_changes_nothing() -> None:
    learner = learner_of()
    slab = played(learner, 1)
    slab.active[:] = 0
    slab.policy[:] = -1
    before = learner.parameters.vector.clone()
    stats = learner.update(slab)
    assert (stats.samples, stats.learned, stats.version) == (0, 0, 1)
    assert torch.equal(learner.parameters.vector, before)


def test_values_of_one_decision_are_learned() -> None:
    """Rewards that depend on one head's choice, no successors: Q becomes their mean over heads."""
    learner = learner_of(
        policy=msgspec.structs.replace(POLICY, duelling=False),
        discount=0.0,
        n_steps=1,
        learning_rate=0.01,
        updates=25,
        batch_size=64,
        buffer_slabs=1,
        target="none",
        huber_delta=0.0,
        max_grad_norm=0.0,
    )
    for seed in range(6):
        slab = random_slab(SPEC, 16, 24, seed, end=0.0)
        slab.mask[:] = 1
        act(learner.network, slab, seed, learner.version)
        slab.reward[:] = slab.actions[..., 0] - 2.0 * (slab.actions[..., 2] == 1)
        learner.update(slab)
    assert learner.network.epsilon is not None
    best = q_of(learner.network, slab, 3, 5)
    assert int(best[0].argmax()) == 3
    assert int(best[2].argmax()) != 1
    taken = np.mean([p[a] for p, a in zip(best, slab.actions[3, 5], strict=True)])
    assert taken == pytest.approx(float(slab.reward[3, 5]), abs=0.35)


def test_a_network_of_log_odds_is_refused() -> None:
    logits = msgspec.structs.replace(POLICY, output="logits", duelling=False)
    with pytest.raises(ValueError, match='output = "logits": expected "q", which dqn trains'):
        learner_of(policy=logits)


def test_an_update_of_the_value_alone_is_refused() -> None:
    learner = learner_of()
    slab = random_slab(SPEC, 4, 6, 1)
    with pytest.raises(ValueError, match=r'algorithm\.name = "dqn" has no updates of the value alone'):
        learner.start(slab, value_only=True)
