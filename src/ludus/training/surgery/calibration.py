"""Statistics of new places: of observation columns and of units under batch norm, from matches.

The new network plays. Old outputs never read new places, so it plays as the old one does while these have the
statistics of a fresh network.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from ludus.algorithms.updates.forward import forward, part_size, units_of
from ludus.algorithms.updates.samples import Samples, pieces
from ludus.flow import Weights
from ludus.flow.slab import Array
from ludus.policies.layers.batch_norm import EPS, BatchNorm, NormSums, observing
from ludus.policies.network import PolicyNetwork
from ludus.presets.config import Preset
from ludus.surgery.plan import ConversionPlan, SurgeryError
from ludus.training.surgery.conversion import Conversion
from ludus.training.surgery.record import network_of, record

Places = npt.NDArray[np.int64]
Found = dict[str, tuple[Places, Array]]
COLUMNS = "normaliser"
MICRO_BATCH = 1024  # time steps of a pass
_STATISTICS = "mean", "variance"


class New(NamedTuple):
    """Places without statistics: ``columns`` of observations, ``units`` by the name of their batch norm."""

    columns: Places
    units: dict[str, Places]

    @property
    def counts(self) -> tuple[int, int]:
        """Numbers of columns and of units."""
        return len(self.columns), sum(map(len, self.units.values()))


def new_places(plan: ConversionPlan | None) -> New:
    """Return the places of a new network that are neither kept nor copies and have statistics."""
    tensors = {t.name: t for t in plan.tensors} if plan is not None else {}
    mean = tensors.get(f"{COLUMNS}.mean")
    columns = np.zeros(0, np.int64)
    if plan is not None and mean is not None and mean.source:
        columns = plan.fresh(mean.name)
    units: dict[str, Places] = {}
    for name in tensors:
        norm, _, leaf = name.rpartition(".")
        if plan is not None and leaf == "variance" and f"{norm}.bias" in tensors:
            fresh = plan.fresh(f"{norm}.mean")
            units |= {norm: fresh} if len(fresh) else {}
    return New(columns, units)


@torch.no_grad()
def calibrate(conversion: Conversion, preset: Preset, weights: Weights) -> New:
    """Give new columns and units the statistics of matches that the new network plays.

    From now on ``conversion`` sets them as if they had been seen all along.

    Args:
        conversion: To the new network.
        preset: Settings after surgery.
        weights: Of the new network.

    Returns:
        The places that were new. Nothing is played where there are none.

    Raises:
        SurgeryError: No one decides in the matches.
    """
    new = new_places(conversion.plan)
    if not any(new.counts):
        return new
    network = network_of(weights)
    slab, policy = record(preset, weights)
    samples = Samples(slab, network, policy)
    if not samples.learner_mask[:-1].any():
        raise SurgeryError("game", preset.game.name, "a decision in the matches of a calibration")
    found: Found = {}
    if len(new.columns):
        vectors = network.vectors(samples.observations(np.flatnonzero(samples.learner_mask[:-1])))
        assert vectors is not None
        seen = vectors.double().numpy()[:, new.columns]
        found |= _set(network, COLUMNS, new.columns, seen.mean(axis=0), seen.var(axis=0))
    for _ in new.units:  # a layer reads what the one before it gives: a pass settles one more of them
        before = found
        found = found | _units(network, samples, new.units)
        if all(n in before and np.allclose(before[n][1], found[n][1], rtol=1e-5) for n in found):
            break
    conversion.statistics = found
    return new


def _units(network: PolicyNetwork, samples: Samples, units: dict[str, Places]) -> Found:
    """Set the statistics of units to those of one pass over all decisions, and return them by tensor."""
    sums = NormSums(network)
    wanted = samples.learner_mask[:-1]
    for part in pieces(units_of(network, wanted), part_size(network, MICRO_BATCH, len(wanted))):
        with observing(sums.norms) as seen:
            forward(network, samples, part, wanted)
        sums.add(seen)
    found: Found = {}
    names = {id(m): n for n, m in network.named_modules() if isinstance(m, BatchNorm)}
    for norm, total in zip(sums.norms, sums.sums, strict=True):
        places = units.get(names[id(norm)])
        if places is None or total is None:
            continue
        deviation = np.sqrt(norm.variance.double().numpy() + EPS)
        mean, square = (x.numpy() for x in (total[0] / total[2], total[1] / total[2]))
        spread = deviation**2 * np.maximum(square - mean**2, 0.0)
        shifted = norm.mean.double().numpy() + deviation * mean
        found |= _set(network, names[id(norm)], places, shifted[places], spread[places])
    return found


def _set(
    network: PolicyNetwork,
    module: str,
    places: Places,
    mean: npt.NDArray[np.float64],
    variance: npt.NDArray[np.float64],
) -> Found:
    """Write statistics into a module of the network and return them by tensor."""
    state = network.state_dict()  # its tensors are the network's own
    found: Found = {}
    for leaf, numbers in zip(_STATISTICS, (mean, variance), strict=True):
        name = f"{module}.{leaf}"
        found[name] = (places, numbers.astype(np.float32))
        state[name][torch.from_numpy(places)] = torch.from_numpy(found[name][1])
    return found
