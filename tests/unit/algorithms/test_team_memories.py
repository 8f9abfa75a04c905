"""A critic over the memories of a team, against float64 loops over single rows; what its learner keeps."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
import pytest
import torch
from torch import Tensor

from ludus.algorithms.config import AppoConfig
from ludus.algorithms.updates.forward import forward_rows
from ludus.algorithms.updates.samples import Samples, in_teams
from ludus.flow import GameSpec, Slab
from ludus.policies.config import EncoderConfig
from ludus.policies.critic import split_memory
from ludus.policies.network import PolicyNetwork
from ludus.policies.stacked import StackedNetworks
from ludus.presets.checks.game import check_game
from ludus.presets.file import PresetError, parse_preset
from tests.unit.synthetic import act, appo_learner, make_spec, random_slab, tensor

TWO = msgspec.structs.replace(make_spec((tensor("card", "f32", (3,)),), (3,)), seats=2, teams=(0, 0))
FOUR = msgspec.structs.replace(TWO, seats=4, teams=(0, 1, 0, 1))
SIX = msgspec.structs.replace(TWO, seats=6, teams=(0, 0, 0, 1, 1, 1))
TEAM = EncoderConfig(
    dense=(7,),
    hidden=(6,),
    activation="tanh",
    norm="none",
    memory="lstm",
    memory_size=5,
    critic="own",
    critic_sees="team",
    normalise_observations=False,
    normalise_values=False,
)
Memory = Literal["gru", "lstm"]


def seated(slab: Slab, seats: int) -> Slab:
    """Rows as a pool has them, matches that end for all seats at once."""
    slab.row_slot = np.arange(slab.rows, dtype=np.int32) // seats
    slab.row_seat = np.arange(slab.rows, dtype=np.int32) % seats
    for name in ("terminated", "truncated"):
        array = getattr(slab, name)
        array[:] = np.repeat(array[:, ::seats], seats, axis=1)
    pending = np.zeros(slab.rows, bool)
    for t in range(slab.steps + 1):
        acts = slab.active[t] != 0
        slab.is_first[t] = pending & acts
        pending &= ~acts
        if t < slab.steps:
            pending |= (slab.terminated[t] | slab.truncated[t]) != 0
    return slab


def played(
    network: PolicyNetwork, seed: int, idle: float = 0.3, foreign: float = 0.0, rows: int = 12
) -> Slab:
    """Return random play of rows that idle, and that other policies play in part, in mid-match."""
    slab = seated(random_slab(network.spec, 7, rows, seed, idle=idle, end=0.12), network.spec.seats)
    rng = np.random.default_rng(seed)
    slab.policy[(rng.random(slab.policy.shape) < foreign) & (slab.active != 0)] = 1
    shape = network.memory_shape
    assert shape is not None
    slab.memory[0] = rng.normal(size=(rows, *shape)).astype(np.float32)
    return slab


def weight(named: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    return named[f"{name}.weight"] @ x + named[f"{name}.bias"]


def cell(kind: Memory, named: dict[str, Tensor], x: Tensor, memory: Tensor) -> Tensor:
    """Return ``[2, M]`` (output, cell) or ``[M]`` after one input of one row."""
    read = weight(named, "critic.recurrent.read", x)
    before = memory[0] if kind == "lstm" else memory
    recur = weight(named, "critic.recurrent.recur", before)
    if kind == "lstm":
        i, f, o, c = (read + recur).chunk(4)
        new = torch.sigmoid(f + 1.0) * memory[1] + torch.sigmoid(i) * torch.tanh(c)
        return torch.stack([torch.sigmoid(o) * torch.tanh(new), new])
    (r, z, n), (rr, rz, rn) = read.chunk(3), recur.chunk(3)
    candidate = torch.tanh(n + torch.sigmoid(r + rr) * rn)
    update = torch.sigmoid(z + rz)
    return (1.0 - update) * candidate + update * before


def reference(
    network: PolicyNetwork, slab: Slab, kind: Memory
) -> tuple[dict[tuple[int, int], Tensor], dict[str, Tensor]]:
    """Return values by time step and row, and the parameters in float64 that they depend on."""
    named = {n: p.detach().double().requires_grad_() for n, p in network.critic_parameters().items()}
    seats, size = network.spec.seats, network.config.memory_size
    mine = (slab.active != 0) & (slab.policy == 0)
    outputs: dict[tuple[int, int], Tensor] = {}
    for row in range(slab.rows):
        memory = torch.from_numpy(slab.memory[0][row]).double()[..., size:]
        for t in range(slab.steps + 1):
            if not mine[t, row]:
                continue
            if slab.is_first[t, row]:
                memory = torch.zeros_like(memory)
            x = torch.from_numpy(slab.obs["card"][t, row]).double()
            x = torch.tanh(weight(named, "critic.dense.layers.0", x))
            x = torch.tanh(weight(named, "critic.join.layers.0", x))
            memory = cell(kind, named, x, memory)
            outputs[t, row] = memory[0] if kind == "lstm" else memory
    values: dict[tuple[int, int], Tensor] = {}
    for (t, row), own in outputs.items():
        start, seat = row - row % seats, row % seats
        order = [(seat + k) % seats for k in range(1, seats)]
        mates = [s for s in order if network.spec.together(s, seat)]
        seen = [outputs.get((t, start + s), torch.zeros(size, dtype=torch.float64)) for s in mates]
        joined = torch.tanh(weight(named, "critic.together.layers.0", torch.cat([own, *seen])))
        values[t, row] = weight(named, "value_head", joined)[0]
    return values, named


@pytest.mark.parametrize("kind", ["gru", "lstm"])
@pytest.mark.parametrize(("spec", "rows"), [(FOUR, 12), (SIX, 12)], ids=["2v2", "3v3"])
@pytest.mark.parametrize("static", [False, True])
def test_values_and_gradients_are_those_of_single_rows_in_float64(
    kind: Memory, spec: GameSpec, rows: int, static: bool
) -> None:
    network = PolicyNetwork(msgspec.structs.replace(TEAM, memory=kind), spec, seed=1)
    network.static = static
    slab = played(network, seed=3, foreign=0.2, rows=rows)
    assert slab.terminated.any()
    samples = Samples(slab, network)
    out = forward_rows(network, samples, np.arange(rows), samples.learner_mask)
    values, named = reference(network, slab, kind)
    where = [divmod(int(i), rows) for i in out.steps]
    expected = torch.stack([values[at] for at in where])
    assert len(values) == len(where)
    torch.testing.assert_close(out.value.double(), expected, atol=1e-6, rtol=1e-5)
    target = torch.from_numpy(np.random.default_rng(5).normal(size=len(where)))
    right = torch.autograd.grad((expected - target).square().sum(), list(named.values()))
    names, parameters = zip(*network.named_parameters(), strict=True)
    loss = (out.value - target.float()).square().sum()
    found = dict(zip(names, torch.autograd.grad(loss, parameters, allow_unused=True), strict=True))
    assert {name for name, gradient in found.items() if gradient is not None} == named.keys()
    for name, gradient in zip(named, right, strict=True):
        assert float(gradient.abs().max()) > 1e-4, name
        torch.testing.assert_close(found[name].double(), gradient, atol=5e-5, rtol=1e-4, msg=name)


def test_parts_that_cut_a_team_compute_the_same() -> None:
    """A row whose team mates lie in another part reads them as extra rows, with their gradients."""
    network = PolicyNetwork(TEAM, SIX, seed=1)
    slab = played(network, seed=4)
    samples = Samples(slab, network)
    whole = forward_rows(network, samples, np.arange(12), samples.learner_mask)
    grads = torch.autograd.grad(whole.value.square().sum(), list(network.critic_parameters().values()))
    summed = [torch.zeros_like(g) for g in grads]
    values = np.zeros(slab.active.size, np.float32)
    for part in (np.array([0, 7, 11]), np.array([5, 1, 2, 3]), np.array([4, 6, 8, 9, 10])):
        out = forward_rows(network, samples, part, samples.learner_mask)
        values[out.steps] = out.value.detach().numpy()
        each = torch.autograd.grad(out.value.square().sum(), list(network.critic_parameters().values()))
        summed = [a + b for a, b in zip(summed, each, strict=True)]
    np.testing.assert_allclose(values[whole.steps], whole.value.detach().numpy(), atol=1e-6)
    for a, b in zip(summed, grads, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_acting_remembers_what_learning_does(kind: Memory) -> None:
    """Steps one by one give the sequence's memory, and choices that depend on the policy's part."""
    network = PolicyNetwork(msgspec.structs.replace(TEAM, memory=kind), FOUR, seed=1)
    slab = played(network, seed=5)
    act(network, slab, 1)
    start = slab.memory[0]
    assert start.shape[1:] == ((2, 10) if kind == "lstm" else (10,))
    memory = torch.from_numpy(start.copy())
    mask = slab.active != 0
    for t in range(slab.steps):
        rows = np.flatnonzero(mask[t])
        obs = {"card": torch.from_numpy(slab.obs["card"][t, rows])}
        first = torch.from_numpy(slab.is_first[t, rows]) != 0
        step = network.step(obs, memory[rows], first)
        assert float(step.value.abs().max()) == 0.0
        shaken = memory[rows].clone()
        shaken[..., 5:] += 1.0
        other = network.step(obs, shaken, first)
        assert torch.equal(step.logits, other.logits)
        assert step.memory is not None
        memory[rows] = step.memory
    samples = Samples(slab, network)
    out = network.sequence(*_inputs(samples, slab.steps))
    assert out.memory is not None
    torch.testing.assert_close(out.memory, memory, atol=1e-6, rtol=1e-5)
    assert not split_memory(memory, 5)[1].equal(split_memory(memory, 5)[0])


def _inputs(samples: Samples, steps: int) -> tuple[dict[str, Tensor], Tensor | None, Tensor, Tensor]:
    rows = np.arange(samples.slab.rows)
    obs, first, active = samples.sequences(rows, steps)
    return obs, samples.memory(rows), first, active


def test_an_own_critic_with_memory_values_its_seat_while_acting() -> None:
    network = PolicyNetwork(msgspec.structs.replace(TEAM, critic_sees="own"), FOUR, seed=1)
    slab = played(network, seed=6)
    act(network, slab, 1)
    samples = Samples(slab, network)
    out = forward_rows(network, samples, np.arange(12), samples.learner_mask)
    np.testing.assert_allclose(out.value.detach().numpy(), slab.value.reshape(-1)[out.steps], atol=1e-6)
    assert slab.value.any()


@pytest.mark.parametrize("sees", ["own", "team"])
def test_lanes_remember_as_their_networks_do(sees: Literal["own", "team"]) -> None:
    config = msgspec.structs.replace(TEAM, critic_sees=sees, normalise_values=True)
    networks = [PolicyNetwork(config, FOUR, seed=seed) for seed in (1, 2, 3)]
    random = torch.Generator().manual_seed(1)
    counts = (4, 1, 3)
    obs, memory = torch.randn((8, 3), generator=random), torch.randn((8, 2, 10), generator=random)
    first = torch.tensor([True, False] * 4)
    found = StackedNetworks(networks).step({"card": obs}, memory, first, counts)
    assert found.memory is not None
    at = 0
    for network, count in zip(networks, counts, strict=True):
        own = slice(at, at + count)
        right = network.step({"card": obs[own]}, memory[own], first[own])
        torch.testing.assert_close(found.memory[own], right.memory, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(found.value[own], right.value, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(found.logits[own], right.logits, atol=1e-6, rtol=1e-5)
        at += count


def test_teams_stay_together_in_a_shuffle() -> None:
    network = PolicyNetwork(TEAM, FOUR, seed=1)
    mates = Samples(played(network, seed=1, rows=40), network).mates_of
    assert mates is not None
    units = np.delete(np.arange(40), [3, 17])  # the mates of 1 and 19 are alone
    shuffled = in_teams(units, mates, np.random.default_rng(1))
    assert sorted(shuffled) == sorted(units)
    place = {int(row): i for i, row in enumerate(shuffled)}
    for row in units:
        mate = int(mates[row, 0])
        assert mate not in place or abs(place[mate] - place[int(row)]) == 1
    assert in_teams(units, mates, np.random.default_rng(2)).tolist() != shuffled.tolist()


def dealt(network: PolicyNetwork, seed: int, slots: int = 32) -> Slab:
    """Both seats are dealt +1 or -1 at a match's start, and paid the other's at its third decision."""
    rng = np.random.default_rng(seed)
    slab = seated(Slab(TWO, 9, 2 * slots), 2)
    cards = rng.choice([-1.0, 1.0], (3, 2 * slots)).astype(np.float32)
    slab.mask[:] = slab.active[:] = 1
    for start in (0, 3, 6, 9):
        slab.is_first[start] = 1
        slab.obs["card"][start, :, 0] = cards[min(start // 3, 2)]
    for end in (2, 5, 8):
        slab.terminated[end] = 1
        slab.reward[end] = cards[end // 3].reshape(-1, 2)[:, ::-1].reshape(-1)
    act(network, slab, seed)
    return slab


def test_a_team_critic_predicts_from_what_both_seats_remember() -> None:
    """No seat sees a card when it is paid for, nor ever the other's."""
    explained = {}
    for sees in ("own", "team"):
        config = AppoConfig(learning_rate=0.01, epochs=4, minibatches=2, discount=1.0, gae_lambda=1.0)
        policy = msgspec.structs.replace(TEAM, critic_sees=sees, dense=(16,), hidden=(16,), memory_size=16)
        learner = appo_learner(config, policy, TWO, seed=1)
        for seed in range(20):
            stats = learner.update(dealt(learner.network, seed))
            assert all(np.isfinite(x) for x in stats.numbers.values())
        explained[sees] = stats.numbers["value/explained_variance"]
    assert explained["own"] < 0.2
    assert explained["team"] > 0.8


@pytest.mark.parametrize("workers", [1, 2])
def test_an_update_has_the_same_bits_for_any_threads_and_after_loading(workers: int) -> None:
    config = AppoConfig(micro_batch=24, minibatches=2, epochs=2)
    learners = [appo_learner(config, TEAM, FOUR, seed=1, workers=n) for n in (1, workers)]
    for seed in range(3):
        slab = played(learners[0].network, seed)
        act(learners[0].network, slab, seed, learners[0].version)
        for learner in learners:
            learner.update(slab)
        loaded = appo_learner(config, TEAM, FOUR, seed=1, workers=workers)
        loaded.load_state(*learners[1].state())
        learners[1] = loaded
    for (name, one), two in zip(
        learners[0].network.state_dict().items(), learners[1].network.state_dict().values(), strict=True
    ):
        assert torch.equal(one, two), name


def test_an_update_of_the_value_alone_leaves_the_policy() -> None:
    learner = appo_learner(AppoConfig(), TEAM, FOUR, seed=1)
    before = {n: p.detach().clone() for n, p in learner.network.named_parameters()}
    slab = played(learner.network, 1)
    act(learner.network, slab, 1)
    learner.update(slab, value_only=True)
    critic = learner.network.critic_parameters()
    assert {n for n in critic if n.startswith("critic.recurrent.")}
    for name, parameter in learner.network.named_parameters():
        assert torch.equal(parameter, before[name]) == (name not in critic), name


def test_the_policy_starts_as_without_an_own_critic() -> None:
    shared = PolicyNetwork(msgspec.structs.replace(TEAM, critic="shared", critic_sees="own"), FOUR, seed=4)
    network = PolicyNetwork(TEAM, FOUR, seed=4)
    mine = dict(network.named_parameters())
    for name, parameter in shared.named_parameters():
        if not name.startswith("value_head."):
            assert torch.equal(parameter, mine[name]), name


PRESET = """[game]
name = "{game}"
[game.params]
mode = "team"
[policy]
critic = "own"
critic_sees = "{sees}"
memory = "lstm"
"""


def test_memories_of_other_teams_are_refused() -> None:
    check_game(parse_preset(PRESET.format(game="pommerman", sees="team").encode(), "mine.toml"))
    with pytest.raises(PresetError) as error:
        check_game(parse_preset(PRESET.format(game="pommerman", sees="all").encode(), "mine.toml"))
    assert error.value.lines == (
        'mine.toml: policy.critic_sees = "all": a critic with learned memory joins the memories of a team; '
        'expected "own" or "team", or policy.memory = "none", not "lstm"',
    )
