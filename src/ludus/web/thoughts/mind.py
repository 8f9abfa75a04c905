"""Players that give their thoughts, and the moments that they think over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ludus.flow.slab import Array
from ludus.web.thoughts.thought import MOST_CHOICES, SMALL_HEAD, Kind, Sees, Thought, Tree

Floats = npt.NDArray[np.floating]
Observed = Mapping[str, Array]


@dataclass(slots=True)
class Moment:
    """A decision to be thought over: what the seat observes, and what it may do.

    Attributes:
        tick: Ticks before the decision.
        seat: The seat that decides.
        obs: Packed tensors by name.
        mask: ``uint8[A]``, 1 = legal.
        action: The decision that was made; empty if it is not known.
        state: State of the match, for searches; empty for networks.
        others: Latest observations of the other seats that decide as policies, by seat, for values that see
            them.
        kept: Whether the player itself would decide here, so that its memory keeps the moment.
    """

    tick: int
    seat: int
    obs: Observed
    mask: Array
    action: tuple[int, ...] = ()
    state: bytes = b""
    others: dict[int, Observed] | None = None
    kept: bool = True


class Mind(Protocol):
    """A player that gives its thoughts. One match at a time, its moments in the order of play."""

    name: str
    kind: Kind
    sees: Sees
    tree: Tree
    frame_skip: int  # ticks between two decisions; 1 in games with turns

    def think(self, moments: Sequence[Moment]) -> list[Thought]:
        """Return a thought for each moment."""
        ...

    def forget(self) -> None:
        """Start another match."""
        ...


def order_of(weights: Floats, legal: npt.NDArray[np.bool_], chosen: int) -> list[int]:
    """Return legal choices by falling weight, the first of equals first, cut as in :class:`HeadThought`.

    Args:
        weights: ``float32[size]``.
        legal: ``bool[size]``.
        chosen: Choice kept in any case; -1: none.
    """
    there = legal.nonzero()[0]
    order = there[(-weights[there]).argsort(kind="stable")]
    if len(weights) > SMALL_HEAD:
        first = order[:MOST_CHOICES].tolist()
        return [*first, chosen] if chosen >= 0 and chosen not in first and legal[chosen] else first
    kept: list[int] = order.tolist()
    return kept
