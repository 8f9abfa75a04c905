"""A search's thoughts: visits, values and the expected line."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from ludus.mcts.player import SearchPlayer, SearchResult
from ludus.web.thoughts.mind import Moment, order_of
from ludus.web.thoughts.thought import HeadThought, Kind, Sees, Thought, Tree

MOST_FOUND = 2000  # results that are kept, of the newest positions


class _Results:
    """Results of searches from fresh trees by position. Threads may share it."""

    def __init__(self) -> None:
        self._found: OrderedDict[Hashable, SearchResult] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> SearchResult | None:
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
            return self._found.get(key)

    def put(self, key: Hashable, found: SearchResult) -> None:
        with self._lock:
            self._found[key] = found
            while len(self._found) > MOST_FOUND:
                self._found.popitem(last=False)


_FOUND = _Results()


class SearchMind:
    """Thoughts of a search of the seat to move, by the state of the match."""

    kind: Kind = "search"
    sees: Sees = "own"
    frame_skip = 1

    def __init__(
        self,
        make: Callable[[], SearchPlayer],
        name: str,
        *,
        priors: bool,
        tree: Tree = "fresh",
        key: Hashable = None,
    ) -> None:
        """Think with searches.

        Args:
            make: Makes the player, with one tree for each seat.
            name: Name of the player.
            priors: Whether a network gives probabilities of moves.
            tree: ``fresh`` or ``kept``, as in :class:`ludus.web.thoughts.thought.Opinion`.
            key: What, besides a position, the result of a search from a fresh tree depends on; equal ones
                share results. None: this object.
        """
        self._key = object() if key is None else key
        self._make, self._player = make, make()
        self.name, self.tree, self._priors = name, tree, priors

    def forget(self) -> None:
        """Start another match with empty trees."""
        self._player = self._make()

    def think(self, moments: Sequence[Moment]) -> list[Thought]:
        """Return a thought for each moment."""
        return [self._thought(moment) for moment in moments]

    def _thought(self, moment: Moment) -> Thought:
        if self.tree != "fresh":
            (found,) = self._player.decide([moment.seat], [moment.state])
            return self._said(moment, found)
        digest = hashlib.blake2b(moment.state, digest_size=16).digest()
        key = (self._key, digest, moment.tick, moment.seat)
        known = _FOUND.get(key)
        if known is None:
            self._player.restart(moment.tick)
            (known,) = self._player.decide([moment.seat], [moment.state])
            _FOUND.put(key, known)
        return self._said(moment, known)

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
