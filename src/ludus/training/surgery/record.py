"""Matches that surgery plays, and the comparison of two networks on them."""

from __future__ import annotations

import msgspec
import numpy as np
import torch

from ludus.algorithms import registry
from ludus.algorithms.updates.samples import Samples, team_rows
from ludus.flow import Slab, Weights
from ludus.flow.seeds import SEED_SURGERY, derive_seed
from ludus.league.matchmaker import LATEST
from ludus.policies.config import EncoderConfig
from ludus.policies.critic import Mates, Others
from ludus.policies.network import PolicyNetwork
from ludus.policies.weights import WeightsError, build_policy
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import CurriculumConfig, OpponentConfig, Preset
from ludus.rollouts.commands import LoadWeights
from ludus.rollouts.exchange import StoredWeights
from ludus.surgery.apply import old_memory
from ludus.surgery.old_view import OldView, old_view
from ludus.surgery.plan import ConversionPlan, Side, SurgeryError
from ludus.surgery.verify import LargestDifferences, Moments, compare
from ludus.training.actor_learner.sampler import build_sampler
from ludus.training.surgery.conversion import Pair, side_of

STEPS, SLOTS = 128, 32  # of a recording: 100 steps in a row, 4,096 decisions


def record(preset: Preset, weights: Weights, warm_up: int = 1) -> tuple[Slab, int]:
    """Play matches of ``weights`` against themselves under the game of ``preset``.

    Args:
        preset: Its game, seed and network.
        weights: Of that network.
        warm_up: Slabs that are played before, so that the recording starts in mid-match.

    Returns:
        A slab of :data:`STEPS` time steps, and the policy id that decides in it.
    """
    spec, _ = resolve_spec(preset)
    alone = spec.seats == 1
    run = msgspec.structs.replace(
        preset.run,
        seed=derive_seed(preset.run.seed, SEED_SURGERY),
        topology="many_to_one",
        start="",
    )
    plain = msgspec.structs.replace(
        preset,
        opponents=() if alone else (OpponentConfig(LATEST, frame_skip=preset.game.frame_skip),),
        pool=msgspec.structs.replace(preset.pool, slots=SLOTS, groups=1, rollout_length=STEPS),
        algorithm=registry.DEFAULT,
        curriculum=CurriculumConfig(),
        league=None,
        run=run,
        cluster=type(preset.cluster)(),
    )
    sampler = build_sampler(plain, slabs=1)
    try:
        (policy,) = sampler.facts.learned
        sampler.send(LoadWeights({policy: StoredWeights(weights)}))
        for _ in range(warm_up + 1):
            sampler.play(sampler.facts.slabs[0])
    finally:
        sampler.close()
    return sampler.facts.slabs[0], policy


@torch.no_grad()
def measure(plan: ConversionPlan, pair: Pair) -> LargestDifferences:
    """Compare two networks on a recording.

    With one spec the old network plays. With two the new one plays the new game, and the old one sees the
    columns that it knew (:class:`ludus.surgery.old_view.OldView`).

    Args:
        plan: From the old network to the new one.
        pair: Weights before and after.

    Raises:
        SurgeryError: The networks are not those of the plan.
    """
    one, two = network_of(pair.old), network_of(pair.new)
    view: OldView | None = None
    same = plan.old_spec == plan.new_spec
    if same and {t.name for t in two.inputs} <= {t.name for t in one.inputs}:
        slab, policy = record(msgspec.structs.replace(pair.preset, policy=one.config), pair.old)
        memory = slab.memory.get(policy)
    else:  # a pool writes the tensors that its network reads
        slab, policy = record(pair.preset, pair.new)
        rows = slab.memory.get(policy)
        memory = None if rows is None else old_memory(plan, rows)
        hints, target = pair.conversion.hints, pair.conversion.target
        view = old_view(side_of(pair.old.meta, "old weights"), Side(target.config, target.spec), hints)
        one = _with_spec(one, view)
    obs = {n: torch.from_numpy(a[:STEPS]) for n, a in slab.obs.items()}
    mask = torch.from_numpy(slab.mask[:STEPS]).flatten(0, 1)
    masks = (mask, mask) if view is None else view.masks(mask)
    others = _others(slab, two, policy)
    seen = view.others(others) if view is not None and others is not None else None
    moments = Moments(
        old=obs if view is None else view.observations(obs),
        new=obs,
        first=torch.from_numpy(slab.is_first[:STEPS] != 0),
        old_mask=masks[0],
        new_mask=masks[1],
        memory=torch.from_numpy(memory) if memory is not None else None,
        old_others=_others(slab, one, policy) if view is None else seen,
        new_others=others,
        mates=_mates(slab, two),
    )
    return compare(plan, one, two, moments, pair.old.tensors)


def _with_spec(network: PolicyNetwork, view: OldView) -> PolicyNetwork:
    """Return a network with equal weights that reads the observations of a view."""
    assert isinstance(view.config, EncoderConfig)
    made = PolicyNetwork(view.config, view.spec, seed=None)
    made.load_state_dict(dict(zip(made.state_dict(), network.state_dict().values(), strict=True)))
    return made


def _others(slab: Slab, network: PolicyNetwork, policy: int) -> Others | None:
    """Return the observations of the seats that a centralised critic sees; None for others."""
    if not network.centralised or network.team_memories:
        return None
    return Samples(slab, network, policy).others(np.arange(STEPS * slab.rows))


def _mates(slab: Slab, network: PolicyNetwork) -> Mates | None:
    """Return the rows of the seats whose memories a critic joins; None for others."""
    rows = team_rows(slab, network)
    return None if rows is None else Mates(torch.from_numpy(rows))


def network_of(weights: Weights) -> PolicyNetwork:
    """Return the network of weights. Raises ``SurgeryError`` where they do not fit."""
    try:
        network = build_policy(weights)
    except WeightsError as error:
        raise SurgeryError("weights", str(error), "weights of a network") from error
    assert isinstance(network, PolicyNetwork)
    return network
