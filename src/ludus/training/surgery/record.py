"""Matches that surgery plays: to calibrate new observation columns, and to compare two networks."""

from __future__ import annotations

import msgspec
import numpy as np
import torch

from ludus.algorithms import registry
from ludus.algorithms.samples import Samples
from ludus.flow import RolloutStats, Slab, Weights
from ludus.flow.seeds import SEED_SURGERY, derive_seed
from ludus.league.matchmaker import LATEST
from ludus.policies.critic import Others
from ludus.policies.network import PolicyNetwork
from ludus.policies.weights import WeightsError, build_policy
from ludus.presets.config import CurriculumConfig, OpponentConfig, Preset
from ludus.presets.game_checks import resolve_spec
from ludus.rollouts.exchange import StoredWeights
from ludus.surgery.old_view import old_view
from ludus.surgery.plan import Plan, Side, SurgeryError
from ludus.surgery.verify import Moments, Verification, compare
from ludus.training.actor_learner.sampler import build_sampler
from ludus.training.surgery.conversion import Conversion, Pair

STEPS, SLOTS = 128, 32  # of a recording: 100 steps in a row, 4,096 decisions
CALIBRATED = "normaliser.mean", "normaliser.variance"


class _Sink:
    """Keeps no statistics of a slab."""

    def put(self, slab: Slab, stats: RolloutStats) -> None:
        """See :class:`ludus.rollouts.exchange.SlabSink`."""


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
        (policy,) = sampler.learned
        sampler.take({policy: StoredWeights(weights)})
        for _ in range(warm_up + 1):
            sampler.play(sampler.slabs[0], _Sink())
    finally:
        sampler.close()
    return sampler.slabs[0], policy


@torch.no_grad()
def calibrate(conversion: Conversion, preset: Preset, weights: Weights) -> int:
    """Give the normaliser's new columns the statistics of matches that the new network plays.

    It cannot see these columns yet. From now on ``conversion`` sets them as if they had been seen all along.

    Args:
        conversion: To the new network.
        preset: Settings after surgery.
        weights: Of the new network.

    Returns:
        The number of columns; 0 where none is new.
    """
    columns = new_columns(conversion.plan)
    if not len(columns):
        return 0
    network = network_of(weights)
    slab, policy = record(preset, weights)
    samples = Samples(slab, network, policy)
    decided = np.flatnonzero(samples.learner_mask[:-1])
    if not len(decided):
        raise SurgeryError("game", preset.game.name, "a decision in the matches of a calibration")
    vectors = network.vectors(samples.observations(decided))
    assert vectors is not None
    seen = vectors.double().numpy()[:, columns]
    conversion.statistics = {
        CALIBRATED[0]: (columns, seen.mean(axis=0).astype(np.float32)),
        CALIBRATED[1]: (columns, seen.var(axis=0).astype(np.float32)),
    }
    return len(columns)


def new_columns(plan: Plan | None) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the normaliser's columns ``int64[n]`` that are neither kept nor copies."""
    tensors = {t.name: t for t in plan.tensors} if plan is not None else {}
    mean = tensors.get(CALIBRATED[0])
    axis = plan.axis(mean.axes[0]) if plan is not None and mean is not None and mean.axes else None
    return axis.fresh() if axis is not None and mean is not None and mean.source else np.zeros(0, np.int64)


@torch.no_grad()
def measure(plan: Plan, pair: Pair) -> Verification:
    """Compare two networks on a recording of matches.

    The old network plays. Where the spec changed or the new one reads other tensors, that one does; the old
    one has no memory then. Columns and choices that the old network does not know are not in its view.

    Args:
        plan: From the old network to the new one.
        pair: Weights before and after.

    Raises:
        SurgeryError: The networks are not those of the plan.
    """
    one, two = network_of(pair.old), network_of(pair.new)
    reads = {t.name for t in two.inputs} <= {t.name for t in one.inputs}
    if plan.old_spec == plan.new_spec and reads:
        slab, policy = record(msgspec.structs.replace(pair.preset, policy=one.config), pair.old)
        memory = slab.memory.get(policy)
    else:  # a pool writes the tensors that its network reads
        slab, policy = record(pair.preset, pair.new)
        start = one.initial_memory(slab.rows)
        memory = None if start is None else start.numpy()
    obs = {n: torch.from_numpy(a[:STEPS]) for n, a in slab.obs.items()}
    mask = torch.from_numpy(slab.mask[:STEPS]).flatten(0, 1)
    seen, masks = obs, (mask, mask)
    if plan.old_spec != plan.new_spec:
        if one.centralised or two.centralised:
            raise SurgeryError("--verify", "a centralised critic", "the same spec before and after")
        view = old_view(Side(one.config, one.spec), Side(two.config, two.spec), pair.conversion.hints)
        seen, masks = view.observations(obs), view.masks(mask)
        state = one.state_dict()
        one = PolicyNetwork(one.config, view.spec)
        one.load_state_dict(state)
    others: list[Others | None] = [None, None]
    index = np.arange(STEPS * slab.rows)
    if one.centralised or two.centralised:
        others = [Samples(slab, n, policy).others(index) if n.centralised else None for n in (one, two)]
    moments = Moments(
        old=seen,
        new=obs,
        first=torch.from_numpy(slab.is_first[:STEPS] != 0),
        old_mask=masks[0],
        new_mask=masks[1],
        memory=torch.from_numpy(memory) if memory is not None else None,
        old_others=others[0],
        new_others=others[1],
    )
    return compare(plan, one, two, moments)


def network_of(weights: Weights) -> PolicyNetwork:
    """Return the network of weights. Raises ``SurgeryError`` where they do not fit."""
    try:
        network = build_policy(weights)
    except WeightsError as error:
        raise SurgeryError("weights", str(error), "weights of a network") from error
    assert isinstance(network, PolicyNetwork)
    return network
