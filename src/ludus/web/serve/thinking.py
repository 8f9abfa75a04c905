"""Thoughts of the players of a match that no person plays, as pages show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ludus.games.match import Match
from ludus.games.views import View
from ludus.storage.errors import StorageError
from ludus.web.moves import choice_name
from ludus.web.serve.messages import Thought
from ludus.web.serve.seats import ActorSeat, SearchSeat, Seat
from ludus.web.thoughts.live import Onlooker
from ludus.web.thoughts.thought import HeadThought

MOST_NAMED = 32  # choices of a head


class Thinking:
    """Asks networks and searches what they think of their own decisions. One match, in the order of play."""

    def __init__(self, match: Match, view: View, seats: Sequence[Seat]) -> None:
        """Look on at ``seats``; weights are loaded when they are asked first."""
        self._spec, self._params, self._view, self._seats = match.spec, match.params, view, seats
        self._networks = [s for s, p in enumerate(seats) if isinstance(p, ActorSeat) and p.weights]
        self._onlookers: dict[str, Onlooker | None] = {}

    def thought(self, match: Match, seat: int, action: tuple[int, ...]) -> Thought | None:
        """Return what the player of ``seat`` thinks of its decision; None for a bot."""
        player = self._seats[seat]
        if isinstance(player, SearchSeat):
            return self._searched(match, seat, player)
        if not isinstance(player, ActorSeat) or not player.weights:
            return None
        onlooker = self._onlooker(player.weights)
        if onlooker is None:
            return None
        found = onlooker.think(match, seat, action)
        document = match.view()
        heads = tuple(self._pairs(k, head, action, document) for k, head in enumerate(found.heads))
        return Thought(seat, match.tick, found.value, heads)

    def _onlooker(self, weights: str) -> Onlooker | None:
        if weights not in self._onlookers:
            from ludus.web.thoughts.resolve import mind_of

            try:
                made: Onlooker | None = Onlooker(mind_of(weights, self._spec, self._params), self._networks)
            except (ValueError, OSError, StorageError):
                made = None  # the run is gone, or its weights are others now: the match continues without
            self._onlookers[weights] = made
        return self._onlookers[weights]

    def _searched(self, match: Match, seat: int, player: SearchSeat) -> Thought | None:
        found = player.found
        if found is None:
            return None
        root, document = found.root, match.view()
        order = sorted(range(len(root.moves)), key=lambda k: -int(root.move_visits[k]))[:MOST_NAMED]
        names = [self._name((int(root.moves[k]),), document) for k in order]
        policy = tuple((name, round(float(root.policy[k]), 4)) for name, k in zip(names, order, strict=True))
        visits = tuple((name, int(root.move_visits[k])) for name, k in zip(names, order, strict=True))
        line = tuple(self._name((move,), document) for move in found.line[:MOST_NAMED])
        return Thought(seat, match.tick, round(float(found.value), 4), (policy,), visits, line)

    def _pairs(
        self, head: int, thought: HeadThought, action: tuple[int, ...], document: Mapping[str, Any]
    ) -> tuple[tuple[str, float], ...]:
        """Return names and probabilities of a head's choices; values where the player has only these."""
        numbers = thought.p or thought.q
        spec = self._spec.heads[head]
        out = []
        for choice, number in list(zip(thought.choices, numbers, strict=False))[:MOST_NAMED]:
            label = spec.labels[choice] if choice < len(spec.labels) else str(choice)
            name = self._name((choice,), document) if len(self._spec.heads) == 1 else f"{spec.name} {label}"
            out.append((name, round(float(number), 4)))
        return tuple(out)

    def _name(self, action: tuple[int, ...], document: Mapping[str, Any]) -> str:
        return choice_name(action, self._spec, self._view, document)
