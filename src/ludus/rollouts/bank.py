"""The bank: frozen networks by player, and the actors of the lanes that they play."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ludus.flow import Weights
from ludus.policies.protocol import Network
from ludus.rollouts.lane_actor import LaneActor
from ludus.rollouts.network_actor import NetworkActor
from ludus.rollouts.shelf import Shelf

CACHE = 64


class Bank:
    """At most ``cache`` networks, and those that play; add the rest again before they play.

    One thread calls it, between two slabs. ``seeds``: lane -> seed of its draws, independent of the player.
    ``build`` makes a network that acts.
    """

    def __init__(
        self,
        seeds: Mapping[int, int],
        build: Callable[[Weights], Network],
        cache: int = CACHE,
    ) -> None:
        """Start without networks."""
        self._seeds, self._build, self._shelf = dict(seeds), build, Shelf(cache)
        self._networks: dict[str, tuple[Network, int]] = {}  # network and version
        self._actors: dict[int, LaneActor] = {}
        self._stacks: dict[str, LaneActor] = {}  # by game and architecture

    def __contains__(self, player: str) -> bool:
        """Return whether the network of ``player`` is kept."""
        return player in self._networks

    def __len__(self) -> int:
        """Return the number of networks."""
        return len(self._networks)

    @property
    def lanes(self) -> tuple[int, ...]:
        """All lanes, in rising order."""
        return tuple(sorted(self._seeds))

    def seed_of(self, lane: int) -> int:
        """Return the seed of a lane's draws."""
        return self._seeds[lane]

    def put(self, player: str, weights: Weights, keep: Collection[str] = ()) -> None:
        """Build the network of ``player``, in place of an earlier one.

        Networks of ``keep`` are not dropped for it: they are about to play.
        """
        self._networks[player] = self._build(weights), weights.meta.version
        self._drop(self._shelf.put(player, keep))

    def idle(self, network: Network) -> dict[int, NetworkActor]:
        """Return actors of all lanes before the first ones are bound, on a placeholder network."""
        return {lane: NetworkActor(network, seed) for lane, seed in self._seeds.items()}

    def follow(self, bound: Mapping[int, str]) -> dict[int, LaneActor]:
        """Return the actors of lanes that play ``bound`` players: one for all lanes of an architecture.

        Raises ``KeyError`` for an unknown lane and for a player without a network; nothing has changed then.
        """
        if self._shelf.bound == bound and self._actors:
            return self._actors
        loaded = {player: self._network(player) for player in dict.fromkeys(bound.values())}
        equal: dict[str, dict[int, NetworkActor]] = {}
        for lane, player in sorted(bound.items()):
            network, version = loaded[player]
            key = f"{network.spec.spec_hash} {network.precision} {network.architecture}"
            equal.setdefault(key, {})[lane] = NetworkActor(network, self._seeds[lane], version)
        dropped = self._shelf.follow(bound)
        stacks, self._stacks, self._actors = self._stacks, {}, {}
        for key, lanes in equal.items():
            actor = stacks.get(key)
            if actor is None or not actor.reload(lanes):
                actor = LaneActor(lanes)
            self._stacks[key] = actor
            self._actors.update(dict.fromkeys(lanes, actor))
        self._drop(dropped)
        return self._actors

    def _network(self, player: str) -> tuple[Network, int]:
        if player not in self._networks:
            raise KeyError(f"{player} was not put into the bank")
        return self._networks[player]

    def _drop(self, players: list[str]) -> None:
        for player in players:
            del self._networks[player]
