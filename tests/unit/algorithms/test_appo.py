"""The learner: ratio 1 at lag 0, gradients, bootstraps, determinism, resume, and that it learns."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import pytest
import torch

from ludus.algorithms.actor_critic.objective import Decisions
from ludus.algorithms.appo import appo_loss
from ludus.algorithms.config import AppoConfig
from ludus.algorithms.learner import UpdateStats
from ludus.algorithms.updates.samples import Samples
from ludus.algorithms.updates.tasks import Task, UpdatePlan
from ludus.flow import GameSpec, Slab
from ludus.policies.config import EncoderConfig
from tests.unit.synthetic import (
    AppoLearner,
    act,
    appo_learner,
    cells_spec,
    make_spec,
    pointing_spec,
    random_slab,
    tensor,
)

SPEC = make_spec(
    (
        tensor("planes", "u8", (3, 6, 6), scale=0.01),
        tensor("units", "u8", (4, 5), scale=0.01),
        tensor("numbers", "f32", (6,)),
    ),
    (4, 1, 3),
)
POLICY = EncoderConfig(channels=(8,), strides=(2,), dense=(16,), hidden=(24,), memory_size=12)
NETWORKS = {
    memory: msgspec.structs.replace(POLICY, memory=memory) for memory in ("none", "recall", "gru", "lstm")
}
NETWORKS |= {
    "own critic, recall, batch norm": msgspec.structs.replace(
        POLICY, critic="own", memory="recall", norm="batch", hidden=(24, 16), activation="elu"
    ),
    "lstm, residual, batch norm": msgspec.structs.replace(
        POLICY, norm="batch", convolution="residual", memory="lstm", leaky_slope=0.1
    ),
}
MEMORIES = list(NETWORKS)


def make_learner(memory: str = "none", workers: int = 1, **changes: object) -> AppoLearner:
    config = msgspec.convert({"micro_batch": 48, "minibatches": 3, "epochs": 2, **changes}, AppoConfig)
    return appo_learner(config, NETWORKS[memory], SPEC, seed=1, workers=workers)


def played(learner: AppoLearner, seed: int, idle: float = 0.3, steps: int = 10, rows: int = 24) -> Slab:
    slab = random_slab(SPEC, steps, rows, seed, idle=idle)
    act(learner.network, slab, seed, learner.version)
    return slab


def run(learner: AppoLearner, slab: Slab, workers: int) -> UpdateStats:
    """An update by several threads."""
    plan = learner.start(slab, 0.25)
    threads = [threading.Thread(target=plan.help, args=(w,)) for w in range(1, workers)]
    for thread in threads:
        thread.start()
    plan.help(0)
    for thread in threads:
        thread.join()
    return learner.finish()


def today(learner: AppoLearner, slab: Slab) -> tuple[np.ndarray, np.ndarray]:
    """Values and log-probabilities of the slab's decisions by the learner's present weights."""
    samples = Samples(slab, learner.network)
    value, log_prob = slab.value.copy(), slab.log_prob.copy()
    for task in learner._evaluations(samples, value, log_prob):
        task(0)
    return value, log_prob


@pytest.mark.parametrize("memory", MEMORIES)
def test_ratio_is_one_at_lag_zero(memory: str) -> None:
    """Masks, several heads, idle moments, matches that end inside the slab, memory."""
    learner = make_learner(memory)
    for seed in range(3):  # normalisers and weights have moved since the start
        learner.update(played(learner, seed))
    with torch.no_grad():  # far from uniform, so that a mask left out would show
        next(learner.network.policy_head.parameters()).mul_(40.0)
    slab = played(learner, 9)
    value, log_prob = today(learner, slab)
    learner_mask = slab.active[:-1] != 0
    assert slab.log_prob[learner_mask].std() > 0.2
    np.testing.assert_allclose(np.exp(log_prob - slab.log_prob)[learner_mask], 1.0, atol=2e-6)
    np.testing.assert_allclose(value[slab.active != 0], slab.value[slab.active != 0], atol=2e-6)


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("spec", [pointing_spec(), cells_spec()], ids=["entities", "cells"])
def test_ratio_is_one_at_lag_zero_with_heads_that_depend_on_each_other(spec: GameSpec, memory: str) -> None:
    config = AppoConfig(micro_batch=48, minibatches=3, epochs=2)
    policy = msgspec.structs.replace(NETWORKS[memory], channels=(8, 8), strides=(1, 2), context=16)
    learner = appo_learner(config, policy, spec, seed=1, workers=2)
    for seed in range(2):
        slab = random_slab(spec, 10, 24, seed, idle=0.3)
        act(learner.network, slab, seed, learner.version)
        stats = run(learner, slab, 2)
        assert stats.numbers["policy/entropy"] > 0.5
    with torch.no_grad():
        for layer in learner.network.policy_head.parameters():
            layer.mul_(2.0)
    slab = random_slab(spec, 10, 24, 9, idle=0.3)
    act(learner.network, slab, 9, learner.version)
    _, log_prob = today(learner, slab)
    learner_mask = slab.active[:-1] != 0
    assert slab.log_prob[learner_mask].std() > 0.2
    np.testing.assert_allclose(np.exp(log_prob - slab.log_prob)[learner_mask], 1.0, atol=3e-6)
    slab.mask[:] = 1
    _, unmasked = today(learner, slab)
    assert np.abs(np.exp(unmasked - slab.log_prob)[learner_mask] - 1.0).max() > 0.1


def test_log_probabilities_without_the_mask_differ() -> None:
    learner = make_learner()
    slab = played(learner, 1)
    slab.mask[:] = 1
    _, log_prob = today(learner, slab)
    assert np.abs(np.exp(log_prob - slab.log_prob)[slab.active[:-1] != 0] - 1.0).max() > 0.1


@pytest.mark.parametrize("memory", ["recall", "gru", "lstm"])
def test_log_probabilities_without_memory_resets_differ(memory: str) -> None:
    learner = make_learner(memory)
    with torch.no_grad():
        next(learner.network.policy_head.parameters()).mul_(40.0)
    slab = played(learner, 1)
    slab.is_first[1:] = 0
    _, log_prob = today(learner, slab)
    assert np.abs(np.exp(log_prob - slab.log_prob)[slab.active[:-1] != 0] - 1.0).max() > 1e-3


@pytest.mark.parametrize("memory", MEMORIES)
def test_first_update_at_lag_zero_clips_nothing(memory: str) -> None:
    learner = make_learner(memory, epochs=1, minibatches=1)
    stats = learner.update(played(learner, 1))
    assert stats.numbers["policy/clip_fraction"] == 0.0
    assert abs(stats.numbers["policy/kl"]) < 1e-6
    assert stats.samples > 0
    assert stats.lag == {0: int((played(learner, 1).active[:-1] != 0).sum())}


def gradient_of(learner: AppoLearner, slab: Slab, micro_batch: int) -> tuple[torch.Tensor, int]:
    """The gradient of the one minibatch as the optimiser sees it, and the number of its micro-batches."""
    changes = {"micro_batch": micro_batch, "epochs": 1, "minibatches": 1, "max_grad_norm": 0.0}
    learner.set_config(msgspec.structs.replace(learner.config, **changes))
    seen: list[torch.Tensor] = []

    def keep(gradient: torch.Tensor, learning_rate: float) -> None:
        seen.append(gradient.clone())

    learner.optimiser.step = keep  # type: ignore[method-assign]
    plan = learner.start(slab)
    plan.help(0)
    learner.finish()
    return seen[0], plan.tasks_run[0]


@pytest.mark.parametrize("memory", MEMORIES)
def test_micro_batches_add_up_to_the_full_batch(memory: str) -> None:
    slab = played(make_learner(memory), 1)
    slab.log_prob += np.random.default_rng(1).normal(size=slab.log_prob.shape).astype(np.float32) * 0.2
    whole, one = gradient_of(make_learner(memory), slab, 100_000)
    parts, many = gradient_of(make_learner(memory), slab, 20)
    assert one == 1
    assert many > 5
    assert float(whole.norm()) > 1e-3
    torch.testing.assert_close(parts, whole, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("memory", MEMORIES)
def test_bits_do_not_depend_on_the_number_of_threads(memory: str) -> None:
    states = []
    for workers in (1, 2, 3):
        learner = make_learner(memory, workers)
        for seed in range(3):
            slab = played(learner, seed)
            slab.version[:] -= seed % 2  # with and without V-trace's own pass
            run(learner, slab, workers)
        states.append(learner.state()[0])
    for other in states[1:]:
        for name, array in states[0].items():
            np.testing.assert_array_equal(array, other[name], err_msg=name)


@pytest.mark.parametrize("memory", MEMORIES)
def test_state_round_trip_continues_bit_equal(memory: str) -> None:
    learner = make_learner(memory)
    for seed in range(2):
        learner.update(played(learner, seed))
    arrays, counters = learner.state()
    arrays = {n: a.copy() for n, a in arrays.items()}
    other = appo_learner(learner.config, learner.network.config, SPEC, seed=77)
    other.load_state(arrays, msgspec.json.decode(msgspec.json.encode(counters), type=dict[str, int]))
    assert (other.version, other.steps) == (learner.version, learner.steps)
    for seed in range(2, 4):
        slab = played(learner, seed)
        a, b = learner.update(slab), other.update(slab)
        assert a == b
    for name, array in learner.state()[0].items():
        np.testing.assert_array_equal(array, other.state()[0][name], err_msg=name)


def test_a_state_of_another_network_is_refused() -> None:
    arrays, counters = make_learner().state()
    with pytest.raises(ValueError, match=r"network\.recurrent"):
        make_learner("gru").load_state(arrays, counters)
    del arrays["adam.first.value_head.bias"]
    with pytest.raises(ValueError, match=r"adam\.first: no array 'value_head\.bias'"):
        make_learner().load_state(arrays, counters)


@pytest.mark.parametrize("memory", MEMORIES)
def test_time_steps_that_the_learner_did_not_decide_change_nothing(memory: str) -> None:
    """Idle moments and moments of other policies may hold any bytes."""
    outcomes = []
    for noise in (0, 1):
        learner = make_learner(memory)
        slab = random_slab(SPEC, 10, 24, 5, idle=0.3)
        slab.policy[:, 12:][slab.active[:, 12:] != 0] = 3  # rows of a frozen opponent
        act(learner.network, slab, 2)
        rng = np.random.default_rng(noise)
        dull = (slab.active == 0) | (slab.policy != 0)
        for array in slab.obs.values():
            array[dull] = rng.integers(0, 100, array[dull].shape)
        slab.value[dull] = rng.normal(size=int(dull.sum()))
        slab.mask[dull] = 0
        slab.log_prob[dull[:-1]] = -5.0 * noise
        slab.version[dull[:-1]] = -9 * noise
        stats = learner.update(slab)
        assert 0 < stats.samples <= int((~dull[:-1]).sum())
        outcomes.append(learner.state()[0])
    for name, array in outcomes[0].items():
        np.testing.assert_array_equal(array, outcomes[1][name], err_msg=name)


def test_a_slab_without_own_decisions_is_an_update_without_change() -> None:
    learner = make_learner()
    before, _ = learner.state()
    slab = random_slab(SPEC, 5, 4, 1)
    slab.policy[:] = 2
    stats = learner.update(slab)
    assert (stats.samples, stats.version, learner.version) == (0, 1, 1)
    for name, array in learner.state()[0].items():
        np.testing.assert_array_equal(array, before[name])


@pytest.mark.parametrize("vtrace", [False, True])
def test_targets_stay_in_the_games_units_under_value_normalisation(vtrace: bool) -> None:
    """Returns near 500: V-trace and normalised returns together find them."""
    learner = make_learner(vtrace=vtrace, learning_rate=3e-3, discount=0.0, entropy_coefficient=0.0)
    for seed in range(12):
        slab = random_slab(SPEC, 8, 16, seed)
        slab.reward[:] = 500.0 + 10.0 * slab.reward
        act(learner.network, slab, seed, learner.version)
        slab.version[:] -= seed % 2
        stats = learner.update(slab)
    assert stats.numbers["value/target_mean"] == pytest.approx(500.0, abs=5.0)
    value, _ = today(learner, slab)
    assert value[:-1].mean() == pytest.approx(500.0, abs=5.0)
    assert stats.numbers["loss/value"] < 5.0


def test_old_decisions_are_weighed_by_their_ratio() -> None:
    """One decision a match, reward 1: the target is 1 if it is likely today, and V(s) if it no longer is."""
    learner = make_learner(gae_lambda=1.0)
    slab = random_slab(SPEC, 1, 64, 1)
    slab.reward[:], slab.terminated[:], slab.truncated[:] = 1.0, 1, 0
    act(learner.network, slab, 1, version=-1)
    slab.log_prob[:, :32] += 30.0  # ratio near 0 today
    stats = learner.update(slab)
    value, _ = slab.value, None
    expected = np.concatenate([value[0, :32], np.ones(32)]).mean()
    assert stats.lag == {1: 64}
    assert stats.numbers["value/target_mean"] == pytest.approx(expected, abs=0.1)
    assert abs(stats.numbers["value/target_mean"] - 1.0) > 0.2


def test_rewards_are_scaled_and_clipped() -> None:
    learner = make_learner(reward_scale=10.0, reward_clip=0.5, discount=0.0)
    slab = played(learner, 1, idle=0.0)
    slab.reward[:] = 3.0
    assert learner.update(slab).numbers["rollout/reward_mean"] == pytest.approx(0.5)


def test_schedules_follow_progress() -> None:
    learner = make_learner(learning_rate=1e-3, learning_rate_schedule="linear")
    plan = learner.start(played(learner, 1), progress=0.75)
    plan.help(0)
    assert learner.finish().numbers["learner/learning_rate"] == pytest.approx(2.5e-4)


def test_weights_carry_version_and_act_alike() -> None:
    learner = make_learner("lstm")
    learner.update(played(learner, 1))
    weights = learner.weights()
    assert (weights.meta.version, weights.meta.steps) == (1, learner.steps)
    other = make_learner("lstm")
    assert learner.copy_to(other.network) == 1
    for name, value in other.network.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), weights.tensors[name])


def test_updates_are_started_and_finished_in_turn() -> None:
    learner = make_learner()
    with pytest.raises(RuntimeError, match="no update was started"):
        learner.finish()
    slab = played(learner, 1)
    plan = learner.start(slab)
    with pytest.raises(RuntimeError, match="has not been finished"):
        learner.start(slab)
    while not plan.help(0, block=False):
        pass
    assert learner.finish().version == 1


def test_the_clipped_surrogate_equals_values_computed_by_hand() -> None:
    """Ratio 1.5 with advantage +1 is worth 1.2 and has no gradient; with advantage -1 it counts in full."""
    config = AppoConfig(clip_ratio=0.2, value_coefficient=0.5, clip_value=0.0)
    log_prob = torch.log(torch.tensor([1.5, 1.5, 0.5])).requires_grad_()
    value = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    terms = appo_loss(
        config,
        Decisions(
            log_prob=log_prob,
            behaviour_log_prob=torch.zeros(3),
            advantage=torch.tensor([1.0, -1.0, 1.0]),
            entropy=torch.tensor([0.1, 0.2, 0.3]),
            value=value,
            old_value=torch.zeros(3),
            target=torch.tensor([1.0, 0.0, 3.0]),
        ),
        0.5,
    )
    assert float(terms.numbers["loss/policy"].detach()) == pytest.approx(-(1.2 - 1.5 + 0.5))
    assert float(terms.numbers["loss/value"].detach()) == pytest.approx(2.0)
    assert float(terms.total.detach()) == pytest.approx(-0.2 + 0.5 * 2.0 - 0.5 * 0.6)
    assert int(terms.numbers["policy/clip_fraction"]) == 3
    d_policy, d_value = torch.autograd.grad(terms.total, [log_prob, value])
    torch.testing.assert_close(d_policy, torch.tensor([0.0, 1.5, -0.5]))
    torch.testing.assert_close(d_value, torch.tensor([0.0, 1.0, 0.0]))


def test_value_clipping_keeps_predictions_near_the_old_ones() -> None:
    config = AppoConfig(clip_value=0.1)
    value = torch.tensor([1.0], requires_grad=True)
    zero = torch.zeros(1)
    terms = appo_loss(
        config,
        Decisions(
            log_prob=zero,
            behaviour_log_prob=zero,
            advantage=zero,
            entropy=zero,
            value=value,
            old_value=zero,
            target=torch.tensor([2.0]),
        ),
        0.0,
    )
    assert float(terms.numbers["loss/value"].detach()) == pytest.approx(0.5 * 1.9**2)
    assert float(torch.autograd.grad(terms.numbers["loss/value"], value)[0]) == 0.0


def test_an_error_in_a_task_is_raised_in_every_thread() -> None:
    def fail(_: int) -> None:
        raise ArithmeticError("broken task")

    def stages() -> Iterator[Sequence[Task]]:
        yield [lambda _: None]
        yield [fail]

    plan = UpdatePlan(stages())
    with pytest.raises(ArithmeticError, match="broken task"):
        plan.help(0)
    with pytest.raises(ArithmeticError, match="broken task"):
        plan.help(1)
    with pytest.raises(ArithmeticError, match="broken task"):
        plan.wait()
    assert plan.done


def test_stages_run_one_after_another() -> None:
    log: list[str] = []
    lock = threading.Lock()

    def note(text: str) -> Task:
        def task(_: int) -> None:
            with lock:
                log.append(text)

        return task

    def stages() -> Iterator[Sequence[Task]]:
        for stage in "abc":
            log.append(f"before {stage}")
            yield [note(stage) for _ in range(20)]
        log.append("end")

    plan = UpdatePlan(stages())
    threads = [threading.Thread(target=plan.help, args=(w,)) for w in range(4)]
    for thread in threads:
        thread.start()
    plan.wait()
    for thread in threads:
        thread.join()
    expected = [x for s in "abc" for x in [f"before {s}", *[s] * 20]]
    assert log == [*expected, "end"]
    assert sum(plan.tasks_run.values()) == 60


# ---- it learns ---------------------------------------------------------------------------------


def corridor_spec() -> GameSpec:
    return make_spec((tensor("numbers", "f32", (2,)),), (2, 2))


def play_corridor(
    learner: AppoLearner, steps: int, rows: int, seed: int, place: np.ndarray, goal: np.ndarray
) -> tuple[Slab, float]:
    """Three cells; head 0 moves, head 1 must say the goal's colour at the right end for reward 1.

    The colour is seen at the first decision of a match only, so without memory half of the matches
    are lost. Every third moment of each row is idle. Returns the slab and the mean final reward.
    """
    spec = learner.spec
    slab = Slab(spec, steps, rows)
    memory = learner.network.initial_memory(rows)
    if memory is not None:
        slab.memory[0] = memory.numpy().copy()
    rng = np.random.default_rng(seed)
    ends: list[float] = []
    fresh = np.ones(rows, bool)
    place[:], goal[:] = 0, rng.integers(0, 2, rows)
    for t in range(steps + 1):
        busy = (t + np.arange(rows)) % 3 != 0
        slab.obs["numbers"][t, :, 0] = place / 2.0
        slab.obs["numbers"][t, :, 1] = np.where(fresh, goal * 2.0 - 1.0, 0.0)
        slab.mask[t] = 1
        slab.mask[t, :, 0] = place > 0  # no way left of the start
        slab.active[t] = busy
        slab.is_first[t] = fresh & busy
        slab.policy[t] = np.where(busy, 0, -1)
        step = Slab(spec, 1, rows)
        for name in ("mask", "active", "is_first", "policy"):
            getattr(step, name)[0] = getattr(slab, name)[t]
        step.obs["numbers"][0] = slab.obs["numbers"][t]
        act_rows = np.flatnonzero(busy)
        obs = {"numbers": torch.from_numpy(slab.obs["numbers"][t, act_rows])}
        first = torch.from_numpy(slab.is_first[t, act_rows]) != 0
        out = learner.network.step(obs, memory[act_rows] if memory is not None else None, first)
        slab.value[t, act_rows] = out.value.numpy()
        if t == steps:
            break
        if memory is not None and out.memory is not None:
            memory[act_rows] = out.memory
        heads = learner.network.heads
        log_probs = heads.log_probs(out.logits, torch.from_numpy(slab.mask[t, act_rows]))
        actions = heads.sample(log_probs, torch.from_numpy(rng.random((len(act_rows), 2), np.float32)))
        slab.actions[t, act_rows] = actions.numpy()
        slab.log_prob[t, act_rows] = heads.log_prob_of(log_probs, actions).numpy()
        slab.version[t] = learner.version
        fresh &= ~busy
        place[act_rows] += np.where(slab.actions[t, act_rows, 0] == 1, 1, -1)
        done = busy & (place == 2)
        slab.reward[t] = np.where(done, slab.actions[t, :, 1] == goal, 0.0)
        slab.terminated[t] = done
        ends.extend(slab.reward[t, done].tolist())
        place[done], goal[done], fresh = 0, rng.integers(0, 2, int(done.sum())), fresh | done
    return slab, float(np.mean(ends)) if ends else 0.0


@pytest.mark.parametrize(
    ("memory", "low", "high"), [("gru", 0.9, 1.0), ("recall", 0.9, 1.0), ("none", 0.35, 0.65)]
)
def test_policies_with_memory_learn_to_recall_a_colour(memory: str, low: float, high: float) -> None:
    """With memory nearly every match ends well; without it none can do better than guess."""
    policy = EncoderConfig(dense=(16,), hidden=(16,), memory=memory, memory_size=16)  # type: ignore[arg-type]
    config = AppoConfig(learning_rate=1e-2, entropy_coefficient=0.01, minibatches=2, micro_batch=4096)
    learner = appo_learner(config, policy, corridor_spec(), seed=1)
    place, goal = np.zeros(64, np.int64), np.zeros(64, np.int64)
    scores = []
    for update in range(30):
        slab, score = play_corridor(learner, 16, 64, update, place, goal)
        learner.update(slab)
        scores.append(score)
    assert low <= np.mean(scores[-5:]) <= high


@pytest.mark.parametrize("memory", MEMORIES)
def test_bfloat16_acts_and_learns_alike(memory: str) -> None:
    """Encoders in half precision on both sides; weights, heads, memory and the loss stay float32."""
    learner = appo_learner(
        AppoConfig(micro_batch=64, minibatches=2),
        msgspec.structs.replace(POLICY, memory=memory),
        SPEC,
        seed=1,
        precision="bfloat16",
    )
    full = appo_learner(learner.config, learner.network.config, SPEC, seed=1)
    slab = played(learner, 3)
    value, log_prob = today(learner, slab)
    learner_mask = slab.active[:-1] != 0
    np.testing.assert_allclose(np.exp(log_prob - slab.log_prob)[learner_mask], 1.0, atol=1e-3)
    exact, _ = today(full, slab)
    error = np.abs(exact - value)[slab.active != 0].max()
    assert 0.0 < error < 0.05
    assert np.isfinite(learner.update(slab).numbers["learner/grad_norm"])
    assert all(a.dtype != np.float16 for a in learner.weights().tensors.values())


def play_pointing(learner: AppoLearner, steps: int, rows: int, seed: int) -> tuple[Slab, float]:
    """One decision a match: half a point for the unit that shines, half for the target of its colour."""
    spec = learner.spec
    slab = random_slab(spec, steps, rows, seed, end=0.0)
    rng = np.random.default_rng(seed)
    units = slab.obs["units"]
    units[:] = rng.integers(1, 60, units.shape)
    shining = rng.integers(0, 3, (steps + 1, rows))
    np.put_along_axis(units[..., 0], shining[..., None], 200, axis=2)
    colours = rng.permuted(np.tile(np.arange(1, 6), (steps + 1, rows, 1)), axis=2)
    units[..., 1] = colours * 40
    slab.mask[:] = 1
    slab.reward[:], slab.terminated[:], slab.truncated[:], slab.final_value[:] = 0.0, 1, 0, 0.0
    slab.is_first[:] = 1
    act(learner.network, slab, seed, learner.version)
    unit, _, target = np.moveaxis(slab.actions, 2, 0)
    found = unit == shining[:-1]
    own = np.take_along_axis(colours[:-1], np.minimum(unit, 2)[..., None], axis=2)[..., 0]
    theirs = np.take_along_axis(colours[:-1], np.minimum(target, 4)[..., None], axis=2)[..., 0]
    mates = (unit < 3) & (target < 5) & (target != unit) & (abs(own - theirs) <= 1)
    slab.reward[:] = 0.5 * found + 0.5 * mates
    return slab, float(slab.reward.mean())


def test_a_pointer_learns_to_point_at_the_choice_of_the_first_one() -> None:
    """The second pointer must point at the choice of the first one: chance gives 0.25, blindness 0.7."""
    policy = EncoderConfig(dense=(32,), hidden=(32,), context=32)
    config = AppoConfig(learning_rate=3e-3, entropy_coefficient=0.003, minibatches=4, epochs=2)
    learner = appo_learner(config, policy, pointing_spec(), seed=1)
    scores = []
    for update in range(20):
        slab, score = play_pointing(learner, 4, 256, update)
        learner.update(slab)
        scores.append(score)
    assert np.mean(scores[:2]) < 0.35
    assert np.mean(scores[-5:]) > 0.8
