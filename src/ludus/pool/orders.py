"""Standing orders: the controller of each plan, and the tag, of the matches that start in a slot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, Lineup

Controllers = npt.NDArray[np.int32]
Tags = npt.NDArray[np.uint64]


class InPlay(NamedTuple):
    """The matches in play in the slots of a group.

    ``controllers`` holds an index a plan, as :meth:`ludus.pool.protocol.Pool.set_orders` takes them: the
    first of equal controllers. A slot without a match in play has tag 0 and controllers -1.
    """

    tags: Tags  # [slots of the group]
    controllers: Controllers  # [slots of the group, plans]


def checked_orders(
    spec: GameSpec,
    lineup: Lineup,
    slots: int,
    orders: npt.NDArray[np.integer],
    tags: npt.NDArray[np.integer],
) -> tuple[Controllers, Tags]:
    """Return controllers and tags, with the order of each team at all of its plans.

    Args:
        spec: Spec of the game, for teams.
        lineup: Plans and their controllers.
        slots: Number of slots of the pool.
        orders: ``[slots, plans]`` index of the controller, -1 to draw one.
        tags: ``[slots]`` numbers >= 0; 0 without an order.

    Raises:
        ValueError: An entry out of range; the message names slot, plan and range.
    """
    plans = len(lineup.plans)
    given: list[tuple[str, object, tuple[int, ...]]] = [
        ("orders", orders, (slots, plans)),
        ("tags", tags, (slots,)),
    ]
    for name, array, shape in given:
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu":
            kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
            raise ValueError(f"set_orders: {name} of type {kind}, expected an array of integers")
        if array.shape != shape:
            raise ValueError(f"set_orders: {name} of shape {list(array.shape)}, expected {list(shape)}")
    counts = np.array([len(plan.controllers) for plan in lineup.plans])
    wrong = (orders < -1) | (orders >= counts)
    if wrong.any():
        slot, plan = np.argwhere(wrong)[0].tolist()
        value, last = int(orders[slot, plan]), int(counts[plan]) - 1
        raise ValueError(
            f"set_orders: slot {slot}, plan {plan}: controller {value}, expected -1 (drawn) or 0..{last}"
        )
    controllers = orders.astype(np.int32)
    if spec.teams:
        _spread(spec.teams, counts.tolist(), controllers)
    if tags.dtype.kind == "i" and (tags < 0).any():
        slot = int(np.flatnonzero(tags < 0)[0])
        raise ValueError(f"set_orders: slot {slot}: tag {int(tags[slot])}, expected an integer >= 0")
    idle = (controllers < 0).all(axis=1) & (tags != 0)
    if idle.any():
        slot = int(np.flatnonzero(idle)[0])
        raise ValueError(
            f"set_orders: slot {slot} has tag {int(tags[slot])} and no order; expected tag 0, or a controller"
        )
    return controllers, tags.astype(np.uint64)


def _spread(teams: tuple[int, ...], counts: list[int], controllers: Controllers) -> None:
    """Write the order of a team to each of its plans, in place."""
    for team in dict.fromkeys(teams):
        plans = [p for p, other in enumerate(teams) if other == team]
        wanted = controllers[:, plans].max(axis=1)
        apart = (controllers[:, plans] >= 0) & (controllers[:, plans] != wanted[:, None])
        if apart.any():
            slot = int(np.flatnonzero(apart.any(axis=1))[0])
            given = controllers[slot, plans].tolist()
            raise ValueError(
                f"set_orders: slot {slot}: plans {plans} are a team and play as one; "
                f"their orders are {given}, expected equal ones or -1"
            )
        least = min(counts[p] for p in plans)
        if (wanted >= least).any():
            slot = int(np.flatnonzero(wanted >= least)[0])
            short = next(p for p in plans if counts[p] == least)
            raise ValueError(
                f"set_orders: slot {slot}: controller {int(wanted[slot])} for the team of plans {plans}; "
                f"plan {short} has controllers 0..{least - 1}"
            )
        controllers[:, plans] = wanted[:, None]
