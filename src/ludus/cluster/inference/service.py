"""The networks of one fleet at the inference servers of its run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import count
from typing import Any

import msgspec

from ludus.cluster.checks import part_of
from ludus.cluster.inference.orders import ThinOrder
from ludus.cluster.inference.servers import InferenceServers
from ludus.cluster.processes.actors import put
from ludus.evaluation.play import MatchPlayer
from ludus.evaluation.weights import network_of
from ludus.flow import Weights
from ludus.flow.seeds import SEED_ACTING, SEED_PAST, derive_seed
from ludus.inference.messages import NetworkCard
from ludus.inference.shelves import FIXED, name_of
from ludus.policies.protocol import Network
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.rollouts.match_sampler import NO_WEIGHTS
from ludus.rollouts.network_actor import NetworkActor, RandomActor
from ludus.training.actor_learner.demonstrator import other_players
from ludus.training.actor_learner.sampler import SamplerParts, pool_options, pool_seed, sampler_seed

LEARNER, LIVE, FROZEN = "learner", "live", "frozen"  # kinds of names, besides fixed networks


class FleetService:
    """Publishes a fleet's weights under separate names, and describes its thin samplers."""

    def __init__(
        self,
        servers: InferenceServers,
        preset: Preset,
        name: str,
        parts: SamplerParts,
        settings: Any,  # noqa: ANN401
    ) -> None:
        """Register a fleet.

        Args:
            servers: The servers of the run.
            preset: Settings of the fleet.
            name: Name of its samplers, which no other fleet has.
            parts: Everything of a sampler but its matches.
            settings: Reference to what rollouts get of the preset.

        Raises:
            ConfigError: A player that cannot be loaded, or that decides by the state of the matches.
        """
        self._servers, self._preset, self._name, self._parts = servers, part_of(preset), name, parts
        run = msgspec.structs.replace(self._preset.run, device="cpu")  # the servers may have GPUs
        here = msgspec.structs.replace(self._preset, run=run)
        self._players = other_players(here, parts.spec, parts.params, 0, parts.seats.ids)
        self._fixed = {policy: self._fixed_card(policy, p) for policy, p in self._players.items()}
        self._stocks = count(1)
        servers.register(name, settings)

    def _fixed_card(self, policy: int, player: MatchPlayer) -> NetworkCard | None:
        """Return the card of a teacher or an opponent of the zoo; None for a bot. Raises ``ConfigError``."""
        name = name_of(self._name, FIXED, str(policy))
        match player.actor:
            case None if player.search is None:
                return None
            case NetworkActor() as actor:
                return _card(name, actor.network, 0, actor.version, greedy=actor.greedy)
            case RandomActor():
                inputs = tuple(t.name for t in self._parts.spec.observation)
                return NetworkCard(name, 0, 0, name, inputs, None)
        raise ConfigError(
            f"cluster.inference = {self._preset.cluster.inference}: expected 0 where {player.name} plays, "
            "which decides by the state of its matches"
        )

    # ---- samplers --------------------------------------------------------------------------------

    def order(self, number: int, restarts: int, incarnation: int) -> ThinOrder:
        """Return the description of a rollout's sampler.

        Args:
            number: Number of the rollout.
            restarts: How often the run's matches started again.
            incarnation: How often the rollout was replaced.
        """
        parts, ids = self._parts, self._parts.seats.ids
        seed = sampler_seed(self._preset, number)
        seat, server = divmod(number, len(self._servers))
        learner = parts.actors[ids.learner].network
        others = {
            policy: None if card is None else (card, derive_seed(seed, SEED_PAST, policy))
            for policy, card in self._fixed.items()
        }
        options = pool_options(self._preset, self._players.values(), pool_seed(seed, restarts, incarnation))
        card = _card(self.learner_name(ids.learner), learner, NO_WEIGHTS, NO_WEIGHTS)
        return ThinOrder(
            incarnation=incarnation,
            params=parts.params,
            lineup=parts.seats.lineup,
            options=options,
            steps=self._preset.pool.rollout_length,
            labels=parts.labels,
            learner=(ids.learner, card, derive_seed(seed, SEED_ACTING)),
            learned=parts.learned,
            lanes={lane: derive_seed(seed, SEED_PAST, lane) for lane in ids.past},
            cache=parts.seats.cache,
            live=parts.seats.live,
            live_name=self.live_name(""),
            others=others,
            shown=(ids.teacher,) if ids.teacher in others else (),
            server=server,
            address=self._servers.address(server),
            seat=seat,
        )

    # ---- weights ---------------------------------------------------------------------------------

    def learner_name(self, policy: int) -> str:
        """Return the name of the learner's network with a policy id."""
        return name_of(self._name, LEARNER, str(policy))

    def live_name(self, player: str) -> str:
        """Return the name of a live player's network."""
        return name_of(self._name, LIVE, player)

    def publish(self, name: str, version: int, tensors: Any, keep: Collection[int]) -> None:  # noqa: ANN401
        """See :meth:`InferenceServers.publish`."""
        self._servers.publish(name, version, tensors, keep)

    def add_player(self, player: str, weights: Weights) -> NetworkCard:
        """Serve a frozen player, and return its card. Raises ``ConfigError`` for weights of another game."""
        network = network_of(weights, self._parts.spec, f"snapshot {weights.meta.version}")
        name, stock = name_of(self._name, FROZEN, player), next(self._stocks)
        self._servers.add(name, stock, put(weights))
        return _card(name, network, stock, weights.meta.version)

    def need(self, players: Mapping[str, Any]) -> None:
        """Keep these frozen players."""
        self._servers.need(self._name, [name_of(self._name, FROZEN, player) for player in players])

    def missing(self, players: Collection[str]) -> list[str]:
        """Return the frozen ones of ``players`` that the servers do not have."""
        frozen = [player for player in players if player not in self._parts.seats.live]
        return [p for p in frozen if not self._servers.has(name_of(self._name, FROZEN, p))]

    @property
    def deaths(self) -> int:
        """Number of servers that were replaced."""
        return self._servers.deaths

    def close(self) -> None:
        """Drop the fleet's networks. Idempotent."""
        self._servers.forget(self._name)


def _card(name: str, network: Network, stock: int, version: int, *, greedy: bool = False) -> NetworkCard:
    key = f"{network.spec.spec_hash} {network.precision} {network.architecture}"
    shape = network.memory_shape
    inputs = tuple(tensor.name for tensor in network.inputs)
    return NetworkCard(name, stock, version, key, inputs, None if shape is None else tuple(shape), greedy)
