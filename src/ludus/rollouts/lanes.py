"""Lanes: policy ids that stand for frozen players, one player a lane at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

LANES = 8


class Lanes:
    """Which player each lane plays.

    A lane gets another player only while nothing uses it: no match in play, no standing order. So every match
    is played to its end by the player that began it. :attr:`bound` is all that a checkpoint needs.
    """

    def __init__(self, ids: Iterable[int]) -> None:
        self.ids = tuple(sorted(ids))
        self.bound: dict[int, str] = {}  # lane -> player

    def load(self, bound: Mapping[int, str]) -> None:
        """The inverse of :attr:`bound`. Raises ``ValueError`` for lanes that are not there."""
        if not set(bound) <= set(self.ids) or len(set(bound.values())) < len(bound):
            raise ValueError(f"lanes: {dict(bound)}, expected a player once, and lanes of {list(self.ids)}")
        self.bound = dict(bound)

    def lane_of(self, player: str) -> int | None:
        """The lane that plays ``player``."""
        return next((lane for lane, bound in self.bound.items() if bound == player), None)

    def bind(self, wanted: Sequence[str], used: Collection[int]) -> list[str]:
        """Binds ``wanted`` players, the first ones first; returns those for whom no lane is free.

        ``used``: lanes of matches in play and of standing orders. Lanes that are neither used nor of a wanted
        player are bound to nobody.
        """
        self.bound = {lane: p for lane, p in self.bound.items() if lane in used or p in set(wanted)}
        free = [lane for lane in self.ids if lane not in self.bound]
        late = []
        for player in dict.fromkeys(wanted):
            if self.lane_of(player) is not None:
                continue
            if not free:
                late.append(player)
                continue
            self.bound[free.pop(0)] = player
        return late
