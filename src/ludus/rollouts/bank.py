"""The bank: frozen weights by version, and the lanes (policy ids) for which they decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ludus.flow import Orders, Weights
from ludus.policies.protocol import Network
from ludus.rollouts.network_actor import NetworkActor


class Bank:
    """One thread calls it, between two slabs.

    ``seeds``: lane -> seed of its draws, whichever weights it plays. ``build`` makes a network that acts.
    """

    def __init__(self, seeds: Mapping[int, int], build: Callable[[Weights], Network]) -> None:
        self._seeds, self._build = dict(seeds), build
        self._weights: dict[int, Weights] = {}
        self._networks: dict[int, Network] = {}  # of versions that play

    def __contains__(self, version: int) -> bool:
        return version in self._weights

    def put(self, weights: Weights) -> None:
        """Stores weights under their version."""
        self._weights[weights.meta.version] = weights

    def idle(self, network: Network) -> dict[int, NetworkActor]:
        """Actors of all lanes before the first orders, on a network that is not theirs."""
        return {lane: NetworkActor(network, seed) for lane, seed in self._seeds.items()}

    def follow(self, orders: Orders) -> dict[int, NetworkActor]:
        """The actors of ``orders.lanes``. Forgets weights that ``orders`` does not keep.

        Raises ``KeyError`` for a version that was not put here or a lane that the bank does not have.
        """
        self._weights = {v: w for v, w in self._weights.items() if v in orders.kept}
        self._networks = {
            v: self._networks.get(v) or self._build(self._weights[v]) for v in set(orders.lanes.values())
        }
        return {
            lane: NetworkActor(self._networks[version], self._seeds[lane], version)
            for lane, version in orders.lanes.items()
        }
