"""Lanes: policy ids that stand for frozen players, one player a lane at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

LANES = 8


class Lanes:
    """Which player each lane plays.

    A lane gets another player only while nothing uses it: no match in play, no standing order. So every match
    is played to its end by the player that began it. Part of a checkpoint: :attr:`bound`.
    """

    def __init__(self, ids: Iterable[int], bound: Mapping[int, str] | None = None) -> None:
        self.ids = tuple(sorted(ids))
        self.bound: dict[int, str] = {}  # lane -> player, in the order in which they were bound
        for lane, player in (bound or {}).items():
            if lane not in self.ids or player in self.bound.values():
                raise ValueError(f"lane {lane} of {player!r}: expected lanes {list(self.ids)}, a player once")
            self.bound[lane] = player

    def lane_of(self, player: str) -> int | None:
        """The lane that plays ``player``."""
        return next((lane for lane, bound in self.bound.items() if bound == player), None)

    def bind(self, wanted: Sequence[str], used: Collection[int]) -> list[str]:
        """Binds ``wanted`` players, the first ones first; returns those for whom no lane is free.

        ``used``: lanes of matches in play and of standing orders. A player keeps its lane until another one
        needs it.
        """
        free = [lane for lane in self.ids if lane not in self.bound]
        free += [
            lane for lane, player in self.bound.items() if lane not in used and player not in set(wanted)
        ]
        late = []
        for player in dict.fromkeys(wanted):
            if self.lane_of(player) is not None:
                continue
            if not free:
                late.append(player)
                continue
            lane = free.pop(0)
            self.bound.pop(lane, None)  # so that lanes stand in the order in which they were bound
            self.bound[lane] = player
        return late
