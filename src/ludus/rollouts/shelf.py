"""Names of frozen players whose networks are kept: at most so many, and those that play."""

from __future__ import annotations

from collections.abc import Collection, Mapping


class Shelf:
    """Kept players, least recently used first. Equal calls keep equal players in every process."""

    def __init__(self, limit: int) -> None:
        """Keep at most ``limit`` players, and those that play."""
        self._limit = limit
        self._kept: dict[str, None] = {}
        self.bound: dict[int, str] = {}  #: players by the lane that plays them

    def __contains__(self, player: str) -> bool:
        """Return whether ``player`` is kept."""
        return player in self._kept

    def __len__(self) -> int:
        """Return the number of players."""
        return len(self._kept)

    def put(self, player: str, keep: Collection[str] = ()) -> list[str]:
        """Keep ``player``, and return those that are dropped for it, none of ``keep``."""
        self._kept.pop(player, None)
        self._kept[player] = None
        return self._drop(keep)

    def follow(self, bound: Mapping[int, str]) -> list[str]:
        """Note that lanes play ``bound`` players, and return the players that are dropped.

        Raises ``KeyError`` for a player that is not kept; nothing has changed then.
        """
        players = dict.fromkeys(bound.values())
        if missing := [player for player in players if player not in self._kept]:
            raise KeyError(f"{missing[0]} was not put into the bank")
        for player in players:
            self._kept.pop(player)
            self._kept[player] = None
        self.bound = dict(bound)
        return self._drop()

    def _drop(self, keep: Collection[str] = ()) -> list[str]:
        """Drop the least recently used ones above the limit, but those that play or are in ``keep``."""
        needed = {*self.bound.values(), *keep}
        over = len(self._kept) - self._limit
        dropped = [player for player in self._kept if player not in needed][: max(over, 0)]
        for player in dropped:
            del self._kept[player]
        return dropped
