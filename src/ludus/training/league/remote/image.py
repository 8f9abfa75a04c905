"""Players and lanes of a sampler in another process, known without asking it.

Equal commands leave equal players on equal lanes. A sampler over several rollouts binds players in each of
them; it numbers their lanes apart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ludus.flow import Orders, Weights
from ludus.rollouts.commands import (
    AddPlayer,
    MissingPlayers,
    Seated,
    SeatPlayers,
    lanes_apart,
    lanes_together,
    part_of,
)
from ludus.rollouts.exchange import Sampler
from ludus.rollouts.lanes import Lanes, players_of_lanes, settled
from ludus.rollouts.shelf import Shelf
from ludus.training.opponents import Seats


@dataclass(frozen=True, slots=True)
class _PartImage:
    """Lanes of one process that plays, and the frozen players whose weights it keeps."""

    lanes: Lanes
    shelf: Shelf

    def follow(self, live: Collection[str]) -> None:
        """Note on the shelf who plays."""
        frozen = {lane: p for lane, p in self.lanes.bound.items() if p not in live}
        if frozen != self.shelf.bound or not frozen:
            self.shelf.follow(frozen)


class SamplerImage:
    """Players and lanes of a sampler of one or more parts."""

    def __init__(self, seats: Seats, parts: int = 1) -> None:
        """Start with free lanes.

        Args:
            seats: Controllers of each seat.
            parts: Number of processes that play.
        """
        plan = seats.lineup.plans[0]
        self._known = {*seats.labels.values(), *(c.bot for c in plan.controllers if c.policy < 0)}
        self._live = seats.live
        self._parts = [_PartImage(Lanes(seats.ids.past), Shelf(seats.cache)) for _ in range(parts)]

    @property
    def bound(self) -> dict[int, str]:
        """Players by the lane that plays them."""
        return lanes_together([part.lanes.bound for part in self._parts])

    def needed(self, orders: Orders) -> list[str]:
        """Return the frozen players that ``orders`` or bound lanes need."""
        named = {*players_of_lanes(orders, self._known), *self.bound.values()}
        return sorted(player for player in named if player not in self._live)

    def keeps(self, player: str) -> bool:
        """Return whether some part keeps ``player``."""
        return any(player in part.shelf for part in self._parts)

    def missing(self, players: Sequence[str]) -> list[str]:
        """See :class:`ludus.rollouts.commands.MissingPlayers`."""
        shelves = [part.shelf for part in self._parts]
        return [p for p in players if p not in self._live and not all(p in shelf for shelf in shelves)]

    def add(self, player: str, keep: Collection[str]) -> None:
        """See :class:`ludus.rollouts.commands.AddPlayer`."""
        for part in self._parts:
            part.shelf.put(player, keep)

    def replace(self, player: str) -> None:
        """See :class:`ludus.rollouts.commands.ReplacePlayer`."""
        for part in self._parts:
            part.shelf.put(player, tuple(part.lanes.bound.values()))
            part.follow(self._live)

    def load(self, lanes: Mapping[int, str]) -> None:
        """See :class:`ludus.rollouts.commands.BindLanes`."""
        for part, own in zip(self._parts, lanes_apart(lanes, len(self._parts)), strict=True):
            part.lanes.load(own)

    def seat(self, orders: Orders, bind: bool, in_play: Collection[int]) -> Seated:
        """See :class:`ludus.rollouts.commands.SeatPlayers`. ``in_play``: lanes of matches in play."""
        answers = []
        for number, part in enumerate(self._parts):
            late = False
            if bind:
                used = {lane for i, lane in map(part_of, in_play) if i == number}
                late = bool(part.lanes.bind(players_of_lanes(orders, self._known), used))
            part.follow(self._live)
            bound = part.lanes.bound
            answers.append(Seated(settled(orders, bound) and not late, dict(bound)))
        return SeatPlayers(orders).joined(answers)


class KeptPlayers:
    """Weights of the frozen players that a sampler over rollouts keeps, for rollouts that replace others.

    A rollout that replaced another one lacks players that the manager does not bring again.
    """

    def __init__(self, sampler: Sampler, seats: Seats, parts: int) -> None:
        """Follow ``sampler`` of ``parts`` rollouts from its start."""
        self._sampler, self._image = sampler, SamplerImage(seats, parts)
        self._weights: dict[str, Weights] = {}
        self.in_play: Collection[int] = ()  #: lanes of matches in play

    @property
    def players(self) -> Collection[str]:
        """Players whose weights are kept."""
        return self._weights.keys()

    def put(self, player: str, weights: Weights, keep: Collection[str], replace: bool) -> None:
        """Keep the weights of a player, and those of no player that they push out."""
        if replace:
            self._image.replace(player)
        else:
            self._image.add(player, keep)
        self._weights[player] = weights
        self._weights = {p: w for p, w in self._weights.items() if self._image.keeps(p)}

    def load(self, lanes: Mapping[int, str]) -> None:
        """Follow :class:`ludus.rollouts.commands.BindLanes`."""
        self._image.load(lanes)

    def seat(self, orders: Orders, bind: bool) -> None:
        """Bring players that a rollout lacks, before ``orders`` are followed."""
        needed = tuple(self._image.needed(orders))
        self._image.seat(orders, bind, self.in_play)
        for player in self._sampler.send(MissingPlayers(needed)):
            if player in self._weights:
                self._sampler.send(AddPlayer(player, self._weights[player], needed))
