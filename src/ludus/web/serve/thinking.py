"""Thoughts of the players of a match, as pages show them: never while a person plays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ludus.games.match import Match
from ludus.games.views import View
from ludus.storage.errors import StorageError
from ludus.web.moves import choice_name
from ludus.web.serve.messages import ThoughtView
from ludus.web.serve.seats import ActorSeat, SearchSeat, Seat
from ludus.web.thoughts.live import Onlooker
from ludus.web.thoughts.thought import HeadThought

MOST_NAMED = 32  # choices of a head


class Thinking:
    """Asks networks and searches how they rate their decisions. One match, in the order of play."""

    def __init__(self, match: Match, view: View, seats: Sequence[Seat]) -> None:
        """Look on at ``seats``, and load the weights that play there."""
        self._spec, self._params, self._view, self._seats = match.spec, match.params, view, seats
        self._networks = [s for s, p in enumerate(seats) if isinstance(p, ActorSeat) and p.weights]
        named = {p.weights: p.device for p in seats if isinstance(p, ActorSeat) and p.weights}
        self._onlookers = {weights: self._onlooker(weights, device) for weights, device in named.items()}

    def thought(self, match: Match, seat: int, action: tuple[int, ...]) -> ThoughtView | None:
        """Return what the player of ``seat`` thinks of its decision; None for a bot."""
        player = self._seats[seat]
        if isinstance(player, SearchSeat):
            return self._searched(match, seat, player)
        if not isinstance(player, ActorSeat) or not player.weights:
            return None
        onlooker = self._onlookers.get(player.weights)
        if onlooker is None:
            return None
        try:
            found = onlooker.think(match, seat, action)
        except ValueError:
            self._onlookers[player.weights] = None  # the match continues without
            return None
        document = match.view()
        heads = tuple(self._pairs(k, head, action, document) for k, head in enumerate(found.heads))
        return ThoughtView(seat, match.tick, found.value, heads)

    def take_back(self) -> None:
        """Ask players with a memory no more: they remember a decision that was taken back."""
        for player in self._seats:
            if isinstance(player, ActorSeat) and player.actor.memory_shape is not None:
                self._onlookers[player.weights] = None

    def _onlooker(self, weights: str, device: str) -> Onlooker | None:
        from ludus.web.thoughts.resolve import mind_of

        try:
            mind = mind_of(weights, self._spec, self._params, device=device)
            return Onlooker(mind, self._networks)
        except (ValueError, OSError, StorageError):
            return None  # the run is gone, or its weights are others now: the match continues without

    def _searched(self, match: Match, seat: int, player: SearchSeat) -> ThoughtView | None:
        found = player.found
        if found is None:
            return None
        root, document = found.root, match.view()
        order = sorted(range(len(root.moves)), key=lambda k: -int(root.move_visits[k]))[:MOST_NAMED]
        names = [self._name((int(root.moves[k]),), document) for k in order]
        policy = tuple((name, round(float(root.policy[k]), 4)) for name, k in zip(names, order, strict=True))
        visits = tuple((name, int(root.move_visits[k])) for name, k in zip(names, order, strict=True))
        line = tuple(self._name((move,), document) for move in found.line[:MOST_NAMED])
        return ThoughtView(seat, match.tick, round(float(found.value), 4), (policy,), visits, line)

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
