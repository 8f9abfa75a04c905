"""Decisions of networks at the time steps of a slab, to compare exports with."""

from __future__ import annotations

import numpy as np
import torch

from ludus.codecs.arrays import ArrayDecoder
from ludus.export.check import Compared, compare
from ludus.export.graph import PolicyGraph
from ludus.export.model import convert
from ludus.export.recorded import RecordedStep
from ludus.export.reference import Seen, act
from ludus.flow import Slab
from ludus.flow.slab import Array
from ludus.policies.actions.distribution import uniforms
from ludus.policies.protocol import Network


def moments_of(network: Network, slab: Slab) -> list[RecordedStep]:
    """Return the decisions of a network at every time step of a slab, its memory running through them."""
    decoder, shape = ArrayDecoder(network.inputs), network.memory_shape
    memory: Array | None = None if shape is None else np.zeros((slab.rows, *shape), np.float32)
    out = []
    for t in range(slab.steps + 1):
        obs = {i.name: slab.obs[i.name][t].copy() for i in network.inputs}
        seen = Seen(obs, slab.mask[t].copy(), memory, slab.is_first[t] != 0)
        acted = act(network, seen, uniforms(1, t, np.arange(slab.rows), len(network.spec.heads)))
        out.append(RecordedStep(seen, decoder.decode(obs), acted))
        memory = acted.memory
    return out


def exported(network: Network, slab: Slab) -> Compared:
    """Convert a network and compare the graph with it at the time steps of a slab."""
    graph = PolicyGraph(network)
    return compare(convert(graph), graph, moments_of(network, slab))


def disturb(network: Network) -> Network:
    """Move every number of a network away from its start, as training does, but not far."""
    random = torch.Generator().manual_seed(3)
    parameters = {name for name, _ in network.named_parameters()}
    with torch.no_grad():
        for name, value in network.state_dict().items():
            drawn = torch.randn(value.shape, generator=random)
            last = name.rpartition(".")[2]
            if name in parameters:
                value.add_(drawn * 0.03)
            elif last in ("running_var", "variance", "square"):
                value.add_(drawn.abs())
            elif last in ("running_mean", "mean"):
                value.add_(drawn * 0.1)
    return network
