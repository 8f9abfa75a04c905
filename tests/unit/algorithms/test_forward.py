"""Single time steps and whole sequences give the same outputs; only the wanted policy's rows are taken."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import torch

from ludus.algorithms.appo import make_learner
from ludus.algorithms.config import AppoConfig
from ludus.algorithms.learner import LearnerContext
from ludus.algorithms.updates.forward import (
    Outputs,
    evaluate,
    forward_rows,
    forward_steps,
    part_size,
    units_of,
)
from ludus.algorithms.updates.samples import Samples
from ludus.flow import Slab
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from tests.unit.synthetic import act, make_spec, random_slab, tensor

SPEC = make_spec(
    (tensor("planes", "u8", (3, 6, 6), scale=0.01), tensor("units", "u8", (4, 5), scale=0.01),
     tensor("numbers", "f32", (6,))),
    (4, 1, 3),
)  # fmt: skip
POLICY = EncoderConfig(channels=(8,), strides=(2,), dense=(16,), hidden=(24,), memory_size=12)
STEPS, ROWS = 9, 12


def played(memory: str) -> tuple[PolicyNetwork, Slab]:
    network = PolicyNetwork(msgspec.structs.replace(POLICY, memory=memory), SPEC, 1)
    slab = random_slab(SPEC, STEPS, ROWS, 1, idle=0.3)
    act(network, slab, 1)
    return network, slab


def decisions(samples: Samples, outputs: Outputs, decided: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities and values of the decisions among ``outputs``, in the order of time steps."""
    order = np.argsort(outputs.steps)
    order = order[np.isin(outputs.steps[order], decided)]
    chosen = outputs.distribution.select(torch.from_numpy(order))
    index = outputs.steps[order]
    np.testing.assert_array_equal(index, decided)
    evaluated = chosen.evaluate(samples.masks(index), samples.actions(index))
    return evaluated.log_prob, outputs.value[torch.from_numpy(order)]


@pytest.mark.parametrize("memory", ["none", "recall"])
def test_time_steps_and_sequences_agree_with_their_gradients(memory: str) -> None:
    network, slab = played(memory)
    samples = Samples(slab, network)
    wanted = samples.learner_mask[:-1]
    decided = np.flatnonzero(wanted)
    shuffled = np.random.default_rng(1).permutation(decided)
    found = []
    for outputs in (
        forward_steps(network, samples, shuffled),
        forward_rows(network, samples, np.random.default_rng(2).permutation(ROWS), wanted),
    ):
        log_prob, value = decisions(samples, outputs, decided)
        gradient = torch.autograd.grad(log_prob.sum() + value.square().sum(), list(network.parameters()))
        found.append([log_prob.detach(), value.detach(), *gradient])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("memory", ["gru", "lstm"])
def test_parts_of_rows_give_what_acting_gave(memory: str) -> None:
    network, slab = played(memory)
    samples = Samples(slab, network)
    value, log_prob = np.zeros_like(slab.value), np.zeros_like(slab.log_prob)
    units = units_of(network, samples.learner_mask)
    np.testing.assert_array_equal(units, np.arange(ROWS))
    for part in (units[:5], units[5:]):
        evaluate(network, samples, part, value, log_prob)
    mask = samples.learner_mask
    np.testing.assert_allclose(value[mask], slab.value[mask], atol=1e-5)
    np.testing.assert_allclose(log_prob[mask[:-1]], slab.log_prob[mask[:-1]], atol=1e-5)
    assert (value[~mask] == 0).all()
    assert (log_prob[~mask[:-1]] == 0).all()


def test_parts_hold_about_a_micro_batch() -> None:
    plain, _ = played("none")
    recurrent, _ = played("gru")
    assert part_size(plain, 48, STEPS) == 48
    assert part_size(recurrent, 48, STEPS) == 5
    assert part_size(recurrent, 3, STEPS) == 1


@pytest.mark.parametrize("memory", ["none", "recall", "gru"])
def test_a_learner_trains_the_rows_of_its_policy_id(memory: str) -> None:
    """Rows of id 0 change nothing for the learner of id 5, and the other way round."""
    config = AppoConfig(micro_batch=48, minibatches=2)
    policy = msgspec.structs.replace(POLICY, memory=memory)
    states = []
    for trained, noise in ((0, False), (5, False), (5, True)):
        learner = make_learner(config, PolicyNetwork(policy, SPEC, 1), LearnerContext(1, policy=trained))
        slab = random_slab(SPEC, STEPS, ROWS, 1, idle=0.3)
        act(learner.network, slab, 1)
        if 0 in slab.memory:
            slab.memory[trained] = slab.memory.pop(0)
        own = np.zeros((STEPS + 1, ROWS), bool)
        own[:, : ROWS // 2] = slab.active[:, : ROWS // 2] != 0
        slab.policy[own] = trained
        slab.policy[~own] = 5 - trained
        if noise:
            slab.log_prob[~own[:-1]] = -3.0
            slab.value[~own] = 9.0
            slab.obs["numbers"][~own] = 7.0
        stats = learner.update(slab)
        assert 0 < stats.samples <= int(own[:-1].sum())
        states.append(learner.state()[0])
    for other in states[1:]:
        for name, array in states[0].items():
            np.testing.assert_array_equal(array, other[name], err_msg=name)


def test_other_networks_are_kept_with_the_state() -> None:
    learner, again = (
        make_learner(AppoConfig(), PolicyNetwork(POLICY, SPEC, seed), LearnerContext(1)) for seed in (1, 2)
    )
    learner.others["target"] = PolicyNetwork(POLICY, SPEC, 3)
    again.others["target"] = PolicyNetwork(POLICY, SPEC, 4)
    again.load_state(*learner.state())
    expected = learner.others["target"].state_dict()
    for name, tensor_ in again.others["target"].state_dict().items():
        np.testing.assert_array_equal(tensor_.numpy(), expected[name].numpy())
    arrays, counters = make_learner(AppoConfig(), PolicyNetwork(POLICY, SPEC, 1), LearnerContext(1)).state()
    with pytest.raises(ValueError, match=r"learner state: target\..*found nothing"):
        again.load_state(arrays, counters)
