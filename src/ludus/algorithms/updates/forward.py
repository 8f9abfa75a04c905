"""Forward passes of a learner's network over parts of a slab, with and without memory.

Without learned memory, time steps are independent and a part is any of them. With it a part is whole rows,
whose memory at t = 0 the slab holds. ``T`` steps, ``R`` rows, ``N`` outputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ludus.algorithms.updates.samples import Index, Samples, steps_of
from ludus.policies.actions.action_distribution import ActionDistribution
from ludus.policies.network import PolicyNetwork
from ludus.policies.transfer import downloaded

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]


class Outputs(NamedTuple):
    """Outputs of the network at ``N`` time steps."""

    steps: Index  # int64[N], numbers of the time steps: t * R + row
    distribution: ActionDistribution  # over N
    value: Tensor  # float32[N], or [N, K] with K > 1 value heads; normalised


def units_of(network: PolicyNetwork, wanted: Bools) -> Index:
    """Return the units of parts: numbers of rows if the policy has learned memory, otherwise of time steps.

    Args:
        network: Network that learns.
        wanted: ``bool[T or T+1, R]``, the time steps that outputs are needed for.
    """
    return np.flatnonzero(wanted if network.recurrent is None else wanted.any(axis=0))


def part_size(network: PolicyNetwork, micro_batch: int, steps: int) -> int:
    """Return how many units hold about ``micro_batch`` time steps of a slab of ``steps``."""
    return micro_batch if network.recurrent is None else max(1, micro_batch // steps)


def steps_in(network: PolicyNetwork, samples: Samples, part: Index) -> Index:
    """Return ``int64[N]``: the learner's time steps in one part of :func:`units_of` its mask, in order."""
    if network.recurrent is None:
        return part
    index = steps_of(part, len(samples.learner_mask), samples.slab.rows)
    chosen: Index = index[samples.learner_mask.reshape(-1)[index]]
    return chosen


def forward(network: PolicyNetwork, samples: Samples, part: Index, wanted: Bools) -> Outputs:
    """Return the network's outputs for one part of :func:`units_of`, with gradients.

    Args:
        network: Network that learns, or a replica of it.
        samples: Slab of the part.
        part: Units.
        wanted: ``bool[T or T+1, R]``, the time steps of rows that outputs are returned for.
    """
    if network.recurrent is None:
        return forward_steps(network, samples, part)
    return forward_rows(network, samples, part, wanted)


def forward_steps(network: PolicyNetwork, samples: Samples, index: Index) -> Outputs:
    """Return outputs for the single time steps ``index: [N]``."""
    distribution, value = network.flat(
        samples.observations(index), samples.recalled(index), samples.others(index)
    )
    return Outputs(index, distribution, value)


def forward_rows(network: PolicyNetwork, samples: Samples, rows: Index, wanted: Bools) -> Outputs:
    """Return outputs for the wanted time steps of ``rows``, run through memory from t = 0."""
    steps = len(wanted)
    index = steps_of(rows, steps, samples.slab.rows)
    obs, first, active = samples.sequences(rows, steps)
    out = network.sequence(obs, samples.memory(rows), first, active, samples.mates(rows, steps))
    keep = wanted.reshape(-1)[index]
    chosen = samples.tensor(keep)
    return Outputs(index[keep], out.distribution.select(chosen), out.value.flatten(0, 1)[chosen])


@torch.no_grad()
def evaluate(network: PolicyNetwork, samples: Samples, part: Index, value: Floats, log_prob: Floats) -> None:
    """Write the network's values and probabilities of one part, without gradients.

    Args:
        network: Network that learns, or a replica of it.
        samples: Slab of the part.
        part: Units of ``samples.learner_mask``.
        value: ``float32[T+1, R]``, or ``[T+1, R, K]`` with K > 1 value heads, in the game's units.
        log_prob: ``float32[T, R]``, of the actions that were taken.
    """
    index, distribution, values = forward(network, samples, part, samples.learner_mask)
    value.reshape(-1, *value.shape[2:])[index] = downloaded(network.denormalise(values).float())
    decided = index < log_prob.size  # time steps at T have no decision
    index = index[decided]
    evaluated = distribution.select(samples.tensor(decided)).evaluate(
        samples.masks(index), samples.actions(index)
    )
    log_prob.reshape(-1)[index] = downloaded(evaluated.log_prob)
