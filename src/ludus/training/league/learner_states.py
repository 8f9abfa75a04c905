"""States of learners that pass from one player of a league to another."""

from __future__ import annotations

from ludus.algorithms.learner import SETTLE, Learner, SlabLearner
from ludus.flow import Weights
from ludus.flow.slab import Array
from ludus.storage.frozen import LearnerState

NETWORK = "network"


def state_beside_network(learner: Learner) -> LearnerState:
    """Return what ``learner`` holds besides the weights of its network: optimiser and counters."""
    arrays, counters = learner.state()
    return LearnerState({n: a for n, a in arrays.items() if not n.startswith(f"{NETWORK}.")}, counters)


def fits(learner: Learner, state: LearnerState) -> bool:
    """Return whether ``state`` has the arrays and counters of ``learner``, in their shapes."""
    own = state_beside_network(learner)
    shapes = [{n: a.shape for n, a in s.arrays.items()} for s in (state, own)]
    counters = [s.counters.keys() - {SETTLE} for s in (state, own)]
    return shapes[0] == shapes[1] and counters[0] == counters[1]


def state_from(
    fresh: Learner, weights: Weights, state: LearnerState | None
) -> tuple[dict[str, Array], dict[str, int]]:
    """Return a learner's whole state that starts from ``weights``.

    Args:
        fresh: a new learner of the same settings, whose state fills the gaps.
        weights: of the network; without ``state`` of the learner's other networks too.
        state: of the learner that froze the weights; None: the optimiser starts from scratch.
    """
    arrays, counters = fresh.state()
    kinds = [NETWORK]
    if state is not None:
        arrays, counters = arrays | state.arrays, counters | state.counters
    elif isinstance(fresh, SlabLearner):
        kinds += fresh.others
    for kind in kinds:
        arrays |= {f"{kind}.{n}": a for n, a in weights.tensors.items() if f"{kind}.{n}" in arrays}
    return arrays, counters
