"""Networks of the shipped presets, made narrow, the time steps that they see, and all that they compute."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.flow import Controller, GameSpec, Lineup, PoolOptions, SeatPlan, Slab
from ludus.flow.slab import Array
from ludus.policies.accelerator import Compute
from ludus.policies.actions.outputs import gives_q_values
from ludus.policies.config import EncoderConfig
from ludus.policies.critic import Mates, Others
from ludus.policies.layers.batch_norm import NormSums, batch_norms, observing
from ludus.policies.network import PolicyNetwork
from ludus.pool.native import NativePool
from ludus.presets.checks.game import resolve_spec
from ludus.presets.file import load_preset, shipped_presets
from tests.unit.preset_choice import need
from tests.unit.synthetic import random_slab

STEPS, SLOTS = 5, 3

Arrays = dict[str, Array]


def narrow(policy: EncoderConfig) -> EncoderConfig:
    """Return a network of the same forms with narrow layers."""
    return msgspec.structs.replace(
        policy,
        channels=(8,) * len(policy.channels),
        dense=(12,) * len(policy.dense),
        hidden=(16,) * len(policy.hidden),
        memory_size=10,
        context=8,
    )


@functools.cache
def cases() -> dict[str, tuple[str, EncoderConfig]]:
    """Return the preset and the network of each shipped preset with a policy network, equal ones once."""
    found: dict[tuple[str, str, EncoderConfig], str] = {}
    for name in shipped_presets():
        preset = load_preset(name).preset
        if isinstance(preset.policy, EncoderConfig):
            key = preset.game.name, str(sorted(preset.game.params.items())), narrow(preset.policy)
            found.setdefault(key, name)
    return {name: (name, policy) for (_, _, policy), name in found.items()}


def is_library(name: str) -> bool:
    """Return whether a preset's game belongs to a library, whose start takes seconds."""
    return "/" in load_preset(name).preset.game.name


@functools.cache
def observed(name: str) -> tuple[GameSpec, Slab]:
    """Return the spec of a preset's game, and random play; random numbers for a library's game."""
    need(name)
    preset = load_preset(name).preset
    spec, params = resolve_spec(preset)
    if is_library(name):
        return spec, random_slab(spec, STEPS, 2 * SLOTS, 3, idle=0.3)
    lineup = Lineup((SeatPlan((Controller(policy=0),)),) * spec.seats)
    with NativePool(preset.game.name, params, lineup, PoolOptions(slots=SLOTS, threads=0, seed=3)) as pool:
        slab = pool.slab(STEPS)
        for part in range(4):  # the matches' first steps show little
            pool.attach(0, slab)
            for t in range(STEPS):
                pool.recv(0)
                pool.random_actions(0, part * STEPS + t)
                pool.send(0)
            pool.recv(0)
        fields = {field: array.copy() for field, array in slab.fields().items()}
        return spec, Slab.of(fields, slab.row_slot.copy(), slab.row_seat.copy())


def trained(network: PolicyNetwork, obs: Mapping[str, Tensor], seed: int) -> PolicyNetwork:
    """Move every number of a network away from its start, as training does."""
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=random) * 0.1)
        vectors = network.vectors(obs)
        if network.normaliser is not None and vectors is not None:
            network.normaliser.absorb(vectors)
        if network.values is not None:
            heads = network.config.value_heads
            returns = torch.randn((50, heads) if heads > 1 else (50,), generator=random)
            network.values.absorb(returns * 3.0 + 1.0, network.value_head)
        sums = NormSums(network)
        recalled = (
            network.initial_memory(len(next(iter(obs.values())))) if network.recall is not None else None
        )
        with observing(sums.norms) as seen:
            network.encode(obs, recalled)
        sums.add(seen)
        sums.absorb()
        if network.epsilon is not None:
            network.epsilon.fill_(0.2)
    return network


def network_of(policy: EncoderConfig, spec: GameSpec, slab: Slab, seed: int = 1) -> PolicyNetwork:
    """Return a network that does not look new."""
    obs = {name: torch.from_numpy(array).flatten(0, 1) for name, array in slab.obs.items()}
    return trained(PolicyNetwork(policy, spec, seed), obs, seed)


def inputs(network: PolicyNetwork, slab: Slab, seed: int) -> Arrays:
    """Return all that :func:`computed` reads, at the slab's steps; drawn where no game has a say.

    Rows are shuffled, and rows and steps idle.
    """
    random = np.random.default_rng(seed)
    steps, rows, heads = slab.steps, slab.rows, len(network.heads.sizes)
    order = random.permutation(rows)
    out: Arrays = {
        f"o.{t.name}": np.ascontiguousarray(slab.obs[t.name][:steps, order]) for t in network.inputs
    }
    out["mask"] = np.ascontiguousarray(slab.mask[:steps, order])
    out["uniform"] = random.random((steps * rows, heads), np.float32)
    active = random.random((steps, rows)) < 0.7
    out["active"], out["first"] = active, active & (random.random((steps, rows)) < 0.3)
    if network.memory_shape is not None:
        out["memory"] = random.normal(size=(rows, *network.memory_shape)).astype(np.float32)
    if network.team_memories:
        assert network.critic is not None
        out["mates"] = random.integers(-1, rows, (rows, network.critic.seats))
    elif network.centralised:
        assert network.critic is not None
        seen = random.integers(0, steps * rows, steps * rows * network.critic.seats)
        for t in network.inputs:
            out[f"s.{t.name}"] = slab.obs[t.name][:steps].reshape(steps * rows, *t.packed_shape)[seen]
        out["present"] = random.random(len(seen)) < 0.6
    actions = drawn(network, out)
    out["actions"] = actions
    return out


@torch.no_grad()
def drawn(network: PolicyNetwork, arrays: Arrays) -> npt.NDArray[np.int32]:
    """Return legal decisions ``int32[N, K]``, drawn by the network."""
    given = {name: torch.from_numpy(array) for name, array in arrays.items()}
    steps, rows = given["first"].shape
    memory = network.initial_memory(steps * rows)
    out = network.step(_flat(network, given), memory, given["first"].flatten())
    sample = out.distribution.sample(given["mask"].flatten(0, 1), given["uniform"])
    return sample.actions.numpy().astype(np.int32)


def _flat(network: PolicyNetwork, given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {t.name: given[f"o.{t.name}"].flatten(0, 1) for t in network.inputs}


def _others(network: PolicyNetwork, given: Mapping[str, Tensor]) -> Others | None:
    if not network.centralised:
        return None
    obs, present = {t.name: given[f"s.{t.name}"] for t in network.inputs}, given["present"]
    if network.static:
        return Others(obs, torch.arange(len(present)), present)
    place = present.nonzero().squeeze(1)
    return Others({name: x[place] for name, x in obs.items()}, place)


def computed(network: PolicyNetwork, other: PolicyNetwork | None = None) -> Compute:
    """Return a function that acts, evaluates and differentiates; ``other``: for a divergence."""
    parameters = [p for p in network.parameters() if p.requires_grad]
    sums = NormSums(network)

    def compute(given: Mapping[str, Tensor]) -> dict[str, Tensor]:
        steps = len(given["first"])
        flat, mask, active = _flat(network, given), given["mask"].flatten(0, 1), given["active"].flatten()
        memory = given.get("memory")
        start = None if memory is None else memory.repeat(steps, *([1] * (memory.dim() - 1)))
        acted = network.step(flat, start, given["first"].flatten())
        sample, best = (acted.distribution.sample(mask, u) for u in (given["uniform"], None))
        out = {"log_prob": sample.log_prob, "best log_prob": best.log_prob, "acted value": acted.value}
        out |= {"actions": sample.actions, "best": best.actions}
        if acted.memory is not None:
            out["acted memory"] = acted.memory
        obs = {t.name: given[f"o.{t.name}"] for t in network.inputs}
        for total in sums.totals:
            total.zero_()
        with observing(batch_norms(network)) as seen:
            if network.memory_shape is not None:
                mates = Mates(given["mates"]) if "mates" in given else None
                made = network.sequence(obs, memory, given["first"], given["active"], mates)
                assert made.memory is not None
                distribution, value = made.distribution, made.value.flatten(0, 1)
                out["memory"] = made.memory
            else:
                distribution, value = network.flat(flat, None, _others(network, given), active)
        sums.add(seen)
        evaluated = distribution.evaluate(mask, given["actions"])
        terms = evaluated.log_prob + 0.1 * evaluated.entropy
        if gives_q_values(network.config):
            terms = distribution.taken(mask, given["actions"])  # type: ignore[attr-defined]
        terms = terms + value.square().reshape(len(mask), value.shape[1] if value.dim() > 1 else 1).sum(dim=1)
        if other is not None:
            theirs = other.flat(flat)[0]
            terms = terms + distribution.divergence(theirs, mask, given["actions"])
        loss = terms.masked_fill(~active, 0.0).mean()
        gradients: tuple[Tensor | None, ...] = torch.autograd.grad(loss, parameters, allow_unused=True)
        idle = ~active
        out |= {"loss": loss.detach(), "value": network.denormalise(value.detach())}
        out |= {"entropy": evaluated.entropy.detach().masked_fill(idle, 0.0)}
        out |= {"evaluated": evaluated.log_prob.detach().masked_fill(idle, 0.0)}
        out["value"] = out["value"].masked_fill(idle.reshape(-1, *([1] * (value.dim() - 1))), 0.0)
        for k, (gradient, parameter) in enumerate(zip(gradients, parameters, strict=True)):
            out[f"gradient {k}"] = torch.zeros_like(parameter) if gradient is None else gradient
        for k, total in enumerate(sums.totals):
            out[f"norm {k}"] = total
        return out

    return compute
