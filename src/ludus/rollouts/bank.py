"""The bank: frozen networks by player, and the actors of the lanes that they play."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ludus.flow import Weights
from ludus.policies.protocol import Network
from ludus.rollouts.lane_actor import LaneActor
from ludus.rollouts.network_actor import NetworkActor

CACHE = 64


class Bank:
    """Keeps at most ``cache`` networks, and those that play; it makes the others again when they play.

    One thread calls it, between two slabs. ``seeds``: lane -> seed of its draws, whichever player it plays.
    ``build`` makes a network that acts; :attr:`load` reads the weights of a player that is not there.
    """

    def __init__(
        self,
        seeds: Mapping[int, int],
        build: Callable[[Weights], Network],
        cache: int = CACHE,
    ) -> None:
        self._seeds, self._build, self._cache = dict(seeds), build, cache
        self.load: Callable[[str], Weights] = _not_there
        self._networks: dict[str, tuple[Network, int]] = {}  # network and version, least recently used first
        self._actors: dict[int, LaneActor] = {}
        self._bound: dict[int, str] = {}

    def __contains__(self, player: str) -> bool:
        return player in self._networks

    def __len__(self) -> int:
        return len(self._networks)

    @property
    def lanes(self) -> tuple[int, ...]:
        return tuple(sorted(self._seeds))

    def put(self, player: str, weights: Weights, keep: Collection[str] = ()) -> None:
        """A player's network, without reading its weights.

        Networks of ``keep`` are not dropped for it: they are about to play.
        """
        self._networks.pop(player, None)
        self._networks[player] = self._build(weights), weights.meta.version
        self._drop(keep)

    def idle(self, network: Network) -> dict[int, NetworkActor]:
        """Actors of all lanes before the first ones are bound, on a network that is not theirs."""
        return {lane: NetworkActor(network, seed) for lane, seed in self._seeds.items()}

    def follow(self, bound: Mapping[int, str]) -> dict[int, LaneActor]:
        """The actors of lanes that play ``bound`` players: one for all lanes of an architecture.

        What :attr:`load` raises is raised, and nothing has changed. Raises ``KeyError`` for an unknown lane.
        """
        if self._bound == bound and self._actors:
            return self._actors
        loaded = {player: self._known(player) for player in dict.fromkeys(bound.values())}
        alike: dict[str, dict[int, NetworkActor]] = {}
        for lane, player in sorted(bound.items()):
            network, version = loaded[player]
            key = f"{network.spec.spec_hash} {network.precision} {network.architecture}"
            alike.setdefault(key, {})[lane] = NetworkActor(network, self._seeds[lane], version)
        for player, entry in loaded.items():
            self._networks.pop(player, None)
            self._networks[player] = entry
        self._bound = dict(bound)
        self._actors = {}
        for lanes in alike.values():
            actor = LaneActor(lanes)
            self._actors.update(dict.fromkeys(lanes, actor))
        self._drop()
        return self._actors

    def _known(self, player: str) -> tuple[Network, int]:
        if player in self._networks:
            return self._networks[player]
        weights = self.load(player)
        return self._build(weights), weights.meta.version

    def _drop(self, keep: Collection[str] = ()) -> None:
        """Forgets the least recently used ones above the limit, but those that play or are in ``keep``."""
        needed = {*self._bound.values(), *keep}
        over = len(self._networks) - self._cache
        idle = [player for player in self._networks if player not in needed]
        for player in idle[: max(over, 0)]:
            del self._networks[player]


def _not_there(player: str) -> Weights:
    raise KeyError(f"{player} was not put into the bank, and nothing reads it from disk")
