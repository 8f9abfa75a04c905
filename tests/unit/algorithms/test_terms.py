"""UPGO, KL penalties, a teacher, rates and epochs that follow the KL: against float64 loops."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from ludus.algorithms.actor_critic.learner import ActorCriticLearner
from ludus.algorithms.config import SettingError
from ludus.algorithms.learner import LearnerContext, UpdateStats
from ludus.algorithms.returns import upgo
from ludus.algorithms.updates.samples import Samples
from ludus.flow import Slab, Weights
from ludus.policies.actions.action_distribution import Independent
from ludus.policies.config import EncoderConfig, ResnetConfig
from ludus.policies.network import PolicyNetwork
from ludus.policies.weights import save_weights
from tests.unit.algorithms.test_methods import METHODS, POLICY, SPEC, make_learner
from tests.unit.algorithms.test_returns import Moments, decisions_of
from tests.unit.synthetic import act, make_spec, pointing_spec, random_slab, tensor, tower

EVERY_METHOD = ["appo", *METHODS]
Learner = ActorCriticLearner[Any]
Settings = dict[str, Any]


def sharp(learner: Learner) -> Learner:
    """Far from uniform."""
    with torch.no_grad():
        next(learner.network.policy_head.parameters()).mul_(60.0)
    return learner


def played(learner: Learner, seed: int, end: float = 0.1) -> Slab:
    slab = random_slab(SPEC, 10, 24, seed, idle=0.3, end=end)
    act(learner.network, slab, seed, learner.version)
    return slab


# ---- UPGO ----------------------------------------------------------------------------------------


def upgoing(m: Moments, discount: float) -> dict[tuple[int, int], float]:
    """Returns that follow a next decision only where it turned out no worse than its value."""
    found = {}
    for row in range(m.reward.shape[1]):
        chain = decisions_of(m, row)
        later: float | None = None  # G of the next decision
        after: float | None = None  # r + discount V of the next decision
        for d in reversed(chain):
            if d.bootstrap is None:
                later = after = None
                continue
            follows = d.bootstrap
            if d.linked and later is not None and after is not None and after >= d.bootstrap:
                follows = later
            total = d.reward + discount * follows
            later, after = total, d.reward + discount * d.bootstrap
            found[d.t, row] = total
    return found


@pytest.mark.parametrize("idle", [0.0, 0.5])
def test_upgoing_returns_equal_a_float64_loop(idle: float) -> None:
    m = Moments(seed=11, idle=idle)
    advantage = upgo(m.transitions(), m.value, discount=0.9)
    expected = np.zeros(m.reward.shape)
    for (t, row), total in upgoing(m, 0.9).items():
        expected[t, row] = total - float(m.value[t, row])
    assert np.count_nonzero(expected) > 100
    np.testing.assert_allclose(advantage, expected, atol=5e-5)


@pytest.mark.parametrize("standardised", [False, True])
@pytest.mark.parametrize("method", EVERY_METHOD)
def test_upgo_is_an_addend_with_weights_of_at_most_one(method: str, standardised: bool) -> None:
    """Its advantages are standardised where the method's own are, over the same decisions."""
    settings: Settings = {"discount": 0.9, "normalise_advantages": standardised, "entropy_coefficient": 0.0}
    learner = make_learner(method, upgo_coefficient=0.5, **settings)
    slab = played(learner, 1)
    shift = np.random.default_rng(2).normal(size=slab.log_prob.shape).astype(np.float32) * 0.5
    log_prob = slab.log_prob.copy()
    slab.log_prob += shift
    m = Moments(0, 10, 24)
    m.reward, m.terminated, m.truncated = slab.reward, slab.terminated != 0, slab.truncated != 0
    m.final_value, m.value, m.active = slab.final_value, slab.value, slab.active != 0
    advantage = {at: total - float(slab.value[at]) for at, total in upgoing(m, 0.9).items()}
    mean, deviation = 0.0, 1.0
    if standardised:
        given = np.array(list(advantage.values()))
        mean, deviation = float(given.mean()), float(given.std())
        assert abs(deviation - 1.0) > 0.2
    terms = [
        -min(math.exp(-float(shift[at])), 1.0) * (a - mean) / deviation * float(log_prob[at])
        for at, a in advantage.items()
    ]
    numbers = learner.update(slab).numbers
    assert numbers["loss/upgo"] == pytest.approx(float(np.mean(terms)), rel=1e-4, abs=1e-5)


# ---- how far an update may go --------------------------------------------------------------------


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_epochs_end_above_a_kl(method: str) -> None:
    settings: Settings = {"epochs": 4, "minibatches": 2, "learning_rate": 3e-3}
    kls: list[float] = []
    for epochs in (1, 2, 3, 4):
        learner = make_learner(method, **settings | {"epochs": epochs})
        stats = learner.update(played(learner, 1))
        kls.append(stats.numbers["policy/kl"] * epochs - sum(kls))
    assert kls == sorted(kls)  # of each epoch
    learner = make_learner(method, **settings, target_kl=(kls[1] + kls[2]) / 2)
    stats = learner.update(played(learner, 1))
    assert stats.numbers["learner/epochs"] == 3
    assert stats.learned == 3 * stats.samples
    learner = make_learner(method, **settings, target_kl=kls[3] * 2)
    assert learner.update(played(learner, 1)).numbers["learner/epochs"] == 4


def test_a_learning_rate_follows_the_kl() -> None:
    """Up by 1.5 below half of the target, down above twice of it, kept between; resumed where it was."""
    settings: Settings = {"epochs": 3, "minibatches": 2, "learning_rate": 3e-3}
    sums = [0.0]
    for epochs in (2, 3):
        probe = make_learner("appo", **settings | {"epochs": epochs})
        sums.append(probe.update(played(probe, 1)).numbers["policy/kl"] * epochs)
    kl = sums[2] - sums[1]  # of the last epoch
    rates = []
    for target in (kl * 10, kl, kl / 50):
        learner = make_learner("appo", **settings, learning_rate_kl=target)
        assert learner.update(played(learner, 1)).numbers["learner/learning_rate"] == pytest.approx(3e-3)
        again = make_learner("appo", **settings, learning_rate_kl=target)
        again.load_state(*learner.state())
        slab = played(learner, 2)
        stats = [x.update(slab).numbers["learner/learning_rate"] for x in (learner, again)]
        assert stats[0] == stats[1]
        rates.append(stats[0])
    assert rates == pytest.approx([3e-3 * 1.5, 3e-3, 3e-3 / 1.5])


def test_a_learning_rate_that_follows_the_kl_has_bounds() -> None:
    learner = make_learner("appo", learning_rate=8e-3, learning_rate_kl=10.0)
    rates = [learner.update(played(learner, n)).numbers["learner/learning_rate"] for n in range(3)]
    assert rates == pytest.approx([8e-3] * 3)  # 1.2e-2 would be above 1e-2
    learner = make_learner(
        "appo", epochs=2, learning_rate=1e-3, learning_rate_final=6e-4, learning_rate_kl=1e-12
    )
    rates = [learner.update(played(learner, n)).numbers["learner/learning_rate"] for n in range(3)]
    assert rates == pytest.approx([1e-3, 1e-3 / 1.5, 1e-3 / 1.5])


# ---- divergences ---------------------------------------------------------------------------------


def probabilities(network: PolicyNetwork, samples: Samples, steps: np.ndarray) -> list[np.ndarray]:
    """One array ``float64[N, choices]`` a head, illegal choices 0, for a policy without learned memory."""
    with torch.no_grad():
        distribution, _ = network.flat(samples.observations(steps), samples.recalled(steps))
    assert isinstance(distribution, Independent)
    logits = distribution.logits.double().numpy()
    legal = samples.masks(steps).numpy() != 0
    found, offset = [], 0
    for size in network.heads.sizes:
        part = np.where(legal[:, offset : offset + size], logits[:, offset : offset + size], -np.inf)
        part = np.exp(part - part.max(axis=1, keepdims=True))
        found.append(part / part.sum(axis=1, keepdims=True))
        offset += size
    return found


def divergence(p: list[np.ndarray], q: list[np.ndarray]) -> float:
    """Mean KL(p || q) of whole decisions."""
    total = 0.0
    for a, b in zip(p, q, strict=True):
        for x, y in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True):
            if x > 0.0:
                total += x * math.log(x / y)
    return total / len(p[0])


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_the_kl_penalty_is_that_from_the_weights_at_the_start(method: str) -> None:
    """Two steps: at the first the divergence and its slope are 0, at the second it is one step's."""
    settings: Settings = {"minibatches": 1, "learning_rate": 1e-2}
    learner = sharp(make_learner(method, **settings, epochs=1))
    slab = played(learner, 1)
    before, samples = sharp(make_learner(method)).network, Samples(slab, learner.network)
    stats = learner.update(slab)
    moved = learner.network
    learner = sharp(make_learner(method, **settings, epochs=2, kl_coefficient=0.7))
    numbers = learner.update(slab).numbers
    trained = np.flatnonzero(transitions_of(slab).valid)
    assert len(trained) == stats.samples
    # observation statistics move after the gradients; the penalty saw them as at the update's start
    assert moved.normaliser is not None
    assert before.normaliser is not None
    moved.normaliser.load_state_dict(before.normaliser.state_dict())
    expected = divergence(probabilities(before, samples, trained), probabilities(moved, samples, trained))
    assert expected > 1e-3
    assert numbers["loss/anchor_kl"] == pytest.approx(expected / 2, rel=1e-3)


def transitions_of(slab: Slab) -> Any:  # noqa: ANN401
    m = Moments(0, 10, 24)
    m.reward, m.terminated, m.truncated = slab.reward, slab.terminated != 0, slab.truncated != 0
    m.final_value, m.value, m.active = slab.final_value, slab.value, slab.active != 0
    return m.transitions()


def test_a_kl_penalty_keeps_the_policy_near() -> None:
    def moved(coefficient: float) -> float:
        learner = make_learner("a2c", epochs=6, learning_rate=1e-2, kl_coefficient=coefficient)
        return learner.update(played(learner, 1)).numbers["policy/kl"]

    assert moved(20.0) < 0.3 * moved(0.0)


@pytest.mark.parametrize("memory", ["none", "recall", "gru", "lstm"])
def test_at_the_start_there_is_no_divergence(memory: str) -> None:
    """With every memory, rows and single decisions alike; the anchor follows from update to update."""
    policy = msgspec.structs.replace(POLICY, memory=memory)
    learner = make_learner("appo", policy, kl_coefficient=1.0, learning_rate=1e-2)
    for seed in range(3):
        assert abs(learner.update(played(learner, seed)).numbers["loss/anchor_kl"]) < 1e-6


def test_dependent_heads_have_a_divergence_too() -> None:
    known = make_learner("appo").objective
    policy = EncoderConfig(dense=(16,), hidden=(24,), context=16)
    config = msgspec.convert(
        {"kl_coefficient": 1.0, "epochs": 2, "learning_rate": 1e-2}, type(make_learner("appo").config)
    )
    learner = ActorCriticLearner(known, config, PolicyNetwork(policy, pointing_spec(), 1), LearnerContext(1))
    slab = random_slab(pointing_spec(), 10, 24, 1)
    act(learner.network, slab, 1)
    assert learner.update(slab).numbers["loss/anchor_kl"] > 1e-6


# ---- a teacher -----------------------------------------------------------------------------------


def teach(folder: Path, memory: str = "none", seed: int = 5) -> str:
    """A teacher's file."""
    policy = msgspec.structs.replace(POLICY, memory=memory)
    teacher = sharp(make_learner("appo", policy))
    teacher.parameters.vector.add_(
        torch.randn(teacher.parameters.size, generator=torch.Generator().manual_seed(seed)) * 0.1
    )
    save_weights(teacher.weights(), folder / f"{memory}.safetensors")
    return str(folder / f"{memory}.safetensors")


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_the_teachers_term_is_its_divergence_from_the_learner(tmp_path: Path, method: str) -> None:
    learner = make_learner(method, teacher=teach(tmp_path), teacher_coefficient=0.5)
    slab = played(learner, 1)
    extra = learner._extra.teacher
    assert extra is not None
    samples = Samples(slab, learner.network)
    trained = np.flatnonzero(transitions_of(slab).valid)
    p, q = (probabilities(n, samples, trained) for n in (extra.network, learner.network))
    expected = divergence(p, q)
    assert expected > 0.1
    assert learner.update(slab).numbers["loss/teacher_kl"] == pytest.approx(expected, rel=1e-4)


def test_a_policy_nears_its_teacher_while_the_coefficient_is_above_zero(tmp_path: Path) -> None:
    settings: Settings = {
        "teacher": teach(tmp_path),
        "teacher_coefficient": 3.0,
        "learning_rate": 1e-2,
        "minibatches": 4,
    }
    distances = {}
    for progress in (0.0, 1.0):  # the coefficient falls to 0
        learner = make_learner("appo", **settings)
        for seed in range(12):
            learner.start(played(learner, seed), progress).help(0)
            stats = learner.finish()
        distances[progress] = stats.numbers["loss/teacher_kl"]
    assert distances[0.0] < 0.5 * distances[1.0]
    learner = make_learner("appo", **settings, teacher_coefficient_final=3.0)
    for seed in range(12):
        learner.start(played(learner, seed), 1.0).help(0)
        stats = learner.finish()
    assert stats.numbers["loss/teacher_kl"] == pytest.approx(distances[0.0], rel=1e-3)


def gone_on(
    network: PolicyNetwork, seed: int, memory: torch.Tensor | None
) -> tuple[Slab, torch.Tensor | None]:
    """Return a slab whose matches continue the previous one's, and the memory at its end."""
    slab = random_slab(SPEC, 10, 24, seed, idle=0.3)
    if memory is not None:
        fresh = np.zeros(24, bool)
        for t in range(11):
            slab.is_first[t] = fresh & (slab.active[t] != 0)
            fresh &= slab.active[t] == 0
            if t < 10:
                fresh |= (slab.terminated[t] | slab.truncated[t]) != 0
    start = network.initial_memory(24) if memory is None else memory
    if start is None:
        act(network, slab, seed)
        return slab, torch.zeros(24)
    slab.memory[0] = start.numpy().copy()
    after = start.clone()
    for t in range(10):
        rows = np.flatnonzero(slab.active[t] != 0)
        obs = {n: torch.from_numpy(x[t, rows]) for n, x in slab.obs.items()}
        out = network.step(obs, after[rows], torch.from_numpy(slab.is_first[t, rows]) != 0)
        drawn = out.distribution.sample(torch.from_numpy(slab.mask[t, rows]), torch.rand(len(rows), 3))
        slab.actions[t, rows], slab.log_prob[t, rows] = drawn.actions.numpy(), drawn.log_prob.numpy()
        assert out.memory is not None
        after[rows] = out.memory
    return slab, after


@pytest.mark.parametrize("memory", ["none", "recall", "gru", "lstm"])
@pytest.mark.parametrize("forgets", [False, True])
def test_a_teacher_with_memory_keeps_it_from_slab_to_slab(tmp_path: Path, memory: str, forgets: bool) -> None:
    """A learner with the teacher's weights, which hardly moves: no divergence as long as both remember."""
    policy = msgspec.structs.replace(POLICY, memory=memory)
    settings: Settings = {"teacher": teach(tmp_path, memory), "learning_rate": 1e-12}
    learner = make_learner("appo", policy, **settings)
    assert learner._extra.teacher is not None
    kept: torch.Tensor | None = None
    for seed in range(4):
        # statistics of observations would move the learner alone
        learner.network.load_state_dict(learner._extra.teacher.network.state_dict())
        slab, kept = gone_on(learner.network, seed, kept)
        if forgets and seed == 3:
            learner._extra.teacher._memory = None
        if seed == 2:  # killed and resumed
            again = make_learner("appo", policy, **settings)
            again.load_state(*learner.state())
            learner = again
            assert learner._extra.teacher is not None
        numbers = learner.update(slab).numbers
    assert (abs(numbers["loss/teacher_kl"]) > 1e-4) == (forgets and memory != "none")


def test_a_teacher_with_memory_continues_bit_equal(tmp_path: Path) -> None:
    policy = msgspec.structs.replace(POLICY, memory="gru")
    learner, again = (make_learner("a2c", policy, teacher=teach(tmp_path, "lstm")) for _ in range(2))
    kept: torch.Tensor | None = None
    for seed in range(3):
        slab, kept = gone_on(learner.network, seed, kept)
        if seed == 2:
            again.load_state(*learner.state())
            again.update(slab)
        learner.update(slab)
    for name, array in learner.state()[0].items():
        np.testing.assert_array_equal(array, again.state()[0][name], err_msg=name)


def test_several_threads_give_the_bits_of_one(tmp_path: Path) -> None:
    from tests.unit.algorithms.test_appo import run

    settings: Settings = {"teacher": teach(tmp_path, "gru"), "kl_coefficient": 0.5, "upgo_coefficient": 0.5}
    settings |= {"micro_batch": 48, "minibatches": 2, "epochs": 2, "target_kl": 1.0}
    policy = msgspec.structs.replace(POLICY, memory="gru")
    states = []
    for workers in (1, 3):
        learner = make_learner("appo", policy, **settings)
        learner.minibatches = type(learner.minibatches)(learner.network, learner.parameters, workers)
        stats: list[UpdateStats] = [run(learner, played(learner, seed), workers) for seed in range(2)]
        states.append((learner.state()[0], stats[-1].numbers))
    for name, array in states[0][0].items():
        np.testing.assert_array_equal(array, states[1][0][name], err_msg=name)
    assert states[0][1] == states[1][1]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("missing", r"none\.safetensors: no such weights file; expected a file, RUN@best"),
        ("text", r"not a readable safetensors file"),
        ("other game", r"weights for synthetic with spec \w+, expected synthetic with spec \w+"),
        ("tower", r"weights of AlphaZero, expected policy\.network = \"encoder\""),
        ("values", r"has policy\.output = \"q\", expected \"logits\""),
        ("inputs", r"reads \"numbers\", expected no more than policy\.inputs: counts"),
        ("gru", r"has policy\.memory = \"gru\", expected none or recall, or a learner with gru or lstm"),
    ],
)
def test_unfit_teachers_are_refused(tmp_path: Path, kind: str, message: str) -> None:
    path = tmp_path / ("gru.safetensors" if kind == "gru" else "none.safetensors")
    if kind == "text":
        path.write_text("no weights")
    elif kind == "other game":
        spec = make_spec((tensor("numbers", "f32", (3,)),), (4, 1, 3))
        other: Any = make_learner("appo").objective
        config = make_learner("appo").config
        network = PolicyNetwork(EncoderConfig(dense=(4,), hidden=(4,)), spec, 1)
        save_weights(ActorCriticLearner(other, config, network, LearnerContext(1)).weights(), path)
    elif kind == "tower":
        weights = make_learner("appo").weights()
        made = tower(ResnetConfig(blocks=1, filters=4), make_spec((tensor("board", "u8", (2, 3, 3)),), (9,)))
        meta = msgspec.structs.replace(weights.meta, architecture=made.architecture)
        spec_text = msgspec.json.encode(made.spec).decode()
        meta = msgspec.structs.replace(meta, spec=spec_text, spec_hash=made.spec.spec_hash)
        tensors = {n: t.numpy() for n, t in made.state_dict().items()}
        save_weights(Weights(meta, tensors), path)
    elif kind == "values":
        objective: Any = make_learner("appo").objective
        values = PolicyNetwork(msgspec.structs.replace(POLICY, output="q"), SPEC, 1)
        save_weights(
            ActorCriticLearner(objective, make_learner("appo").config, values, LearnerContext(1)).weights(),
            path,
        )
    elif kind == "gru":
        teach(tmp_path, "gru")
    elif kind == "inputs":
        teach(tmp_path)
    reads = msgspec.structs.replace(POLICY, inputs=("counts",) if kind == "inputs" else ())
    with pytest.raises(SettingError, match=message) as caught:
        make_learner("appo", reads, teacher=str(path))
    assert str(caught.value).startswith(f'algorithm.teacher = "{path}": ')
