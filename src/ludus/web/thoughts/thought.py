"""The thoughts of one player about one match, as data. Without torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.flow.slab import Array

Floats = npt.NDArray[np.floating]
Observed = Mapping[str, Array]

#: A head of at most this many choices is kept whole; of a larger one the first ``MOST_CHOICES``.
SMALL_HEAD = 32
MOST_CHOICES = 24


class ThinkError(ValueError):
    """A player cannot say what it thinks, or a replay cannot be thought over. The message says why."""


class HeadThought(msgspec.Struct, frozen=True):
    """One head of a decision. A head without a legal choice has no choices.

    Attributes:
        choices: Legal choices, the most preferred first; of large heads the first :data:`MOST_CHOICES` and
            the choice that was made.
        p: Probability of each choice, given the choices of the heads before; empty where the player has
            none: Q-networks, and searches without a network.
        q: Value of each choice; empty where the player has none. Of a search: 0 without a visit.
        visits: Visits of each choice; empty without a search.
        number: Of a continuous head: mean, and one deviation below and above, in the game's units.
    """

    choices: tuple[int, ...] = ()
    p: tuple[float, ...] = ()
    q: tuple[float, ...] = ()
    visits: tuple[int, ...] = ()
    number: tuple[float, float, float] | None = None


class Thought(msgspec.Struct, frozen=True):
    """What a player thinks of one decision.

    Attributes:
        tick: Ticks before the decision.
        seat: The seat that decides.
        value: Value for the seat: the discounted return that a network expects, in the units of its rewards;
            of a search in [-1, 1]. None where the player gives none.
        heads: One for each head.
        action: The decision that was made, one choice per head; empty where a bot decided, or nobody did.
        chance: Probability of ``action`` for this player, without continuous heads; share of the visits for a
            search without a network; None for Q-networks and without an action.
        line: Expected continuation of a search, from the move that it would play.
    """

    tick: int
    seat: int
    value: float | None
    heads: tuple[HeadThought, ...]
    action: tuple[int, ...] = ()
    chance: float | None = None
    line: tuple[int, ...] = ()


Kind = Literal["network", "q", "search"]
Sees = Literal["own", "team", "all"]
Tree = Literal["", "fresh", "kept"]


class Opinion(msgspec.Struct, frozen=True):
    """All thoughts of one player about one match, in the order of play.

    Attributes:
        name: Name of the player, as in results.
        kind: ``network``, ``q`` (values instead of probabilities) or ``search``.
        sees: Seats whose observations the value depends on. A value that sees more than its ``own`` seat is
            for spectators.
        tree: Of a search: ``fresh``, each position with an empty tree; ``kept``, as in play, each with what
            is left of the tree of the position before.
        thoughts: The thoughts.
        cut: Whether the match has more decisions than were thought over.
    """

    name: str
    kind: Kind
    sees: Sees
    tree: Tree
    thoughts: tuple[Thought, ...]
    cut: bool = False


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
    """A player that says what it thinks. One match at a time, its moments in the order of play."""

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
    """Return legal choices by falling weight, the first of equals first, cut as :class:`HeadThought` says.

    Args:
        weights: ``float32[size]``.
        legal: ``bool[size]``.
        chosen: Choice that is kept in any case; -1: none.
    """
    there = legal.nonzero()[0]
    order = there[(-weights[there]).argsort(kind="stable")]
    if len(weights) > SMALL_HEAD:
        first = order[:MOST_CHOICES].tolist()
        return [*first, chosen] if chosen >= 0 and chosen not in first and legal[chosen] else first
    kept: list[int] = order.tolist()
    return kept
