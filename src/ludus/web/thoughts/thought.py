"""The thoughts of one player about one match, as data. Without torch and numpy."""

from __future__ import annotations

from typing import Literal

import msgspec

#: A head of at most this many choices is kept whole; of a larger one the first ``MOST_CHOICES``.
SMALL_HEAD = 32
MOST_CHOICES = 24


class ThinkError(ValueError):
    """A player cannot say what it thinks, or a replay cannot be thought over. The message has the reason."""


class HeadThought(msgspec.Struct, frozen=True):
    """One head of a decision. A head without a legal choice has no choices.

    Attributes:
        choices: Legal choices, the most preferred first; of large heads the first :data:`MOST_CHOICES` and
            the choice that was made.
        p: Probability of each choice, given the choices of the heads before; empty where the player has
            none: Q-networks, and searches without a network.
        q: Value of each choice; empty where the player has none. Of a search: 0 without a visit.
        visits: Visits of each choice; empty without a search.
        number: Value of a continuous head: mean, and one deviation below and above, in the game's units.
    """

    choices: tuple[int, ...] = ()
    p: tuple[float, ...] = ()
    q: tuple[float, ...] = ()
    visits: tuple[int, ...] = ()
    number: tuple[float, float, float] | None = None


class Thought(msgspec.Struct, frozen=True):
    """Thought of a player about one decision.

    Attributes:
        tick: Ticks before the decision.
        seat: The seat that decides.
        value: Value for the seat: the discounted return that a network expects, in the units of its rewards;
            of a search in [-1, 1]. None where the player gives none.
        heads: One for each head.
        action: The decision that was made, one choice per head; empty where a bot decided, or no one did.
        chance: Probability of ``action`` for this player, without continuous heads; share of the visits for a
            search without a network; None for Q-networks and without an action.
        line: Expected continuation of a search, from the move that it would play.
        ownership: Owner of each cell when the match is counted, in hundredths: 100 = seat 0, -100 = seat 1;
            empty where the game counts no cells or the player gives none.
    """

    tick: int
    seat: int
    value: float | None
    heads: tuple[HeadThought, ...]
    action: tuple[int, ...] = ()
    chance: float | None = None
    line: tuple[int, ...] = ()
    ownership: tuple[int, ...] = ()


Kind = Literal["network", "q", "search"]
Sees = Literal["own", "team", "all"]
Tree = Literal["", "fresh", "kept"]


class HeadNames(msgspec.Struct, frozen=True):
    """Name of a head, and of each of its choices; a choice beyond ``labels`` is called by its number."""

    name: str
    labels: tuple[str, ...] = ()


class Opinion(msgspec.Struct, frozen=True):
    """All thoughts of one player about one match, in the order of play.

    Attributes:
        name: Name of the player, as in results.
        heads: Names of the heads of a decision.
        kind: ``network``, ``q`` (values instead of probabilities) or ``search``.
        sees: Seats whose observations the value depends on. A value that sees more than its ``own`` seat is
            for spectators.
        tree: Tree of a search: ``fresh``, an empty tree for each position; ``kept``, as in play, the rest of
            the previous position's tree.
        thoughts: The thoughts.
        cut: Whether the match has more decisions than were thought over.
        after: Value of each decision's seat after the decision, None where it is not known; empty: the value
            of the seat's next thought.
    """

    name: str
    heads: tuple[HeadNames, ...]
    kind: Kind
    sees: Sees
    tree: Tree
    thoughts: tuple[Thought, ...]
    cut: bool = False
    after: tuple[float | None, ...] = ()
