"""A search's thoughts: visits, values and the expected line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ludus.mcts.player import SearchPlayer, SearchResult
from ludus.web.thoughts.mind import Moment, order_of
from ludus.web.thoughts.thought import HeadThought, Kind, Sees, Thought, Tree


class SearchMind:
    """Thoughts of a search of the seat to move, by the state of the match."""

    kind: Kind = "search"
    sees: Sees = "own"
    frame_skip = 1

    def __init__(
        self, make: Callable[[], SearchPlayer], name: str, *, priors: bool, tree: Tree = "fresh"
    ) -> None:
        """Think with searches.

        Args:
            make: Makes the player, with one tree for each seat.
            name: Name of the player.
            priors: Whether a network gives probabilities of moves.
            tree: ``fresh`` or ``kept``, as in :class:`ludus.web.thoughts.thought.Opinion`.
        """
        self._make, self._player = make, make()
        self.name, self.tree, self._priors = name, tree, priors

    def forget(self) -> None:
        """Start another match with empty trees."""
        self._player = self._make()

    def think(self, moments: Sequence[Moment]) -> list[Thought]:
        """Return a thought for each moment."""
        return [self._thought(moment) for moment in moments]

    def _thought(self, moment: Moment) -> Thought:
        if self.tree == "fresh":
            self._player.restart(moment.tick)
        (found,) = self._player.decide([moment.seat], [moment.state])
        return self._said(moment, found)

    def _said(self, moment: Moment, found: SearchResult) -> Thought:
        root = found.root
        size = len(moment.mask)
        visits, prior, mean = np.zeros(size), np.zeros(size, np.float32), np.zeros(size, np.float32)
        visits[root.moves], prior[root.moves], mean[root.moves] = root.move_visits, root.prior, root.mean
        legal = np.zeros(size, np.bool_)
        legal[root.moves] = True
        choice = moment.action[0] if moment.action else -1
        order = order_of(visits + prior * 1e-3, legal, choice)
        head = HeadThought(
            tuple(order),
            tuple(prior[order].tolist()) if self._priors else (),
            tuple(mean[order].tolist()),
            tuple(int(n) for n in visits[order]),
        )
        share = prior if self._priors else visits / max(1.0, float(visits.sum()))
        return Thought(
            moment.tick,
            moment.seat,
            float(found.value),
            (head,),
            moment.action,
            float(share[choice]) if 0 <= choice < size else None,
            tuple(found.line),
        )
