"""Whether enough decisions have a return, for methods that bootstrap from no value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

FIRST_UPDATES = 16  # decisions are counted over these


class Demand(NamedTuple):
    """What a method asks of the decisions of slabs."""

    least: float  # share in [0, 1] of them that must have a return
    setting: str  # under which it is asked: ``algorithm.KEY = VALUE``
    instead: str  # a setting under which it is not


@dataclass(slots=True)
class Counted:
    """Decisions of the first updates."""

    decided: int = 0
    taught: int = 0

    def refusal(self, demand: Demand, version: int, rollout_length: int) -> str:
        """Why the run cannot learn; "" where it can, or while it is too early to say.

        Args:
            demand: what the method asks.
            version: of the weights that the present update makes.
            rollout_length: time steps of a slab.
        """
        if version != FIRST_UPDATES or self.taught >= demand.least * self.decided:
            return ""
        share = self.taught / self.decided
        return (
            f"{demand.setting}: {share:.1%} of the decisions of the first {FIRST_UPDATES} updates belong to "
            f"matches that end in their slab, expected at least {demand.least:.0%}; raise "
            f"pool.rollout_length, which is {rollout_length}, or set {demand.instead}"
        )
