"""The protocol of a rule of one's own: three methods, in place of ``meet``, ``freeze`` and ``from``.

A rule is a class. The league makes a new object for each decision and calls one method of it, twice: a rule
keeps nothing between two decisions, and equal inputs have equal answers. So a resumed run decides as the run
would have. Chance comes from ``random`` only, which depends on the run's seed, the member and the decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

from ludus.league.rules.view import LeagueView

T = TypeVar("T")


class RuleRandom(Protocol):
    """Random numbers of one decision."""

    def uniform(self) -> float:
        """Draw a number in [0, 1)."""
        ...

    def pick(self, items: list[T]) -> T:
        """Draw one of ``items``, each as likely."""
        ...


class LeagueRule(Protocol):
    """Interface of a rule. Its class is called with the keys of ``params`` as keywords."""

    def meet(self, view: LeagueView, random: RuleRandom) -> Mapping[str, float]:
        """Return the weights of opponents by name; a player that is left out has weight 0.

        The next orders are drawn by these weights. If no weight is above 0, an exploiter meets a live main,
        and any other member meets itself.
        """
        ...

    def freeze(self, view: LeagueView, random: RuleRandom) -> bool:
        """Return whether a copy of the member is frozen now. Asked after each of its rounds."""
        ...

    def origin(self, view: LeagueView, random: RuleRandom) -> str:
        """Return what the member continues from after a freeze.

        ``itself``, ``seed`` (its first weights) or the name of a frozen player.
        """
        ...


MEET, FREEZE, ORIGIN = "meet", "freeze", "origin"
METHODS = (MEET, FREEZE, ORIGIN)  #: names of the methods; their order is part of a decision's random stream
