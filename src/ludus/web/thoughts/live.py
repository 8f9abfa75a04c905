"""Thoughts about one decision of a match in play."""

from __future__ import annotations

from collections.abc import Iterable

from ludus.games.match import Match
from ludus.web.thoughts.mind import Mind, Moment, Observed
from ludus.web.thoughts.thought import Thought


class Onlooker:
    """Thinks over a match while it is played, one decision at a time.

    A player with memory remembers what it was asked about: ask at each decision of the seat, in the order of
    play. Not safe for several threads.
    """

    def __init__(self, mind: Mind, policies: Iterable[int] = ()) -> None:
        """Look on with ``mind``.

        Args:
            mind: The player (:func:`ludus.web.thoughts.resolve.mind_of`).
            policies: Seats whose observations a value that sees other seats may use, as its learner did:
                those that networks play, not bots.
        """
        self.mind = mind
        self._policies = frozenset(policies)
        self._latest: dict[int, Observed] = {}
        self._kept: dict[int, int] = {}
        mind.forget()

    def think(self, match: Match, seat: int, action: tuple[int, ...] = ()) -> Thought:
        """Return the player's thought about the decision of ``seat`` now.

        Args:
            match: The match, before the decision.
            seat: The seat, which has to be among ``match.to_act``.
            action: The decision, where it is known: heads that depend on others are shown given it, else
                given the player's own.

        Raises:
            ThinkError: The decision does not fit the game's heads.
            SearchError: A search of a match that is over. (Both are ``ValueError``.)
        """
        mind, tick = self.mind, match.tick
        searched = mind.kind == "search"
        others: dict[int, Observed] | None = None
        if mind.sees != "own":
            acting = match.to_act
            self._latest.update((s, match.observe(s)) for s in self._policies if s in acting)
            others = {s: o for s, o in self._latest.items() if s != seat}
        kept = tick % mind.frame_skip == 0 and self._kept.get(seat) != tick
        if kept:
            self._kept[seat] = tick
        moment = Moment(
            tick,
            seat,
            {} if searched else match.observe(seat),
            match.legal(seat),
            action,
            match.state if searched else b"",
            others,
            kept,
        )
        (thought,) = mind.think([moment])
        return thought
