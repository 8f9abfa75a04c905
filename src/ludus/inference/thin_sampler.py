"""A sampler without networks: its pool plays here, its decisions are made by an inference server."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from ludus.flow import GameSpec, Lineup, Slab, Weights
from ludus.inference.client import InferenceClient, ServedActor
from ludus.inference.messages import NetworkCard
from ludus.pool import Pool
from ludus.rollouts.actor import Actor
from ludus.rollouts.collector import Collector
from ludus.rollouts.exchange import WeightSource
from ludus.rollouts.lanes import Lanes
from ludus.rollouts.match_sampler import MatchSampler


@dataclass(frozen=True, slots=True)
class ThinFacts:
    """Properties of a thin sampler that do not change (:class:`ludus.rollouts.exchange.Facts`).

    Args:
        spec: Interface of the game.
        labels: Names in statistics of the players of a match's result.
        actors: Actors with the weights of learners, by policy id.
        slabs: Slabs to be filled in turn.
        live_name: Start of the names of live players' networks at the servers.
    """

    spec: GameSpec
    labels: dict[str, str]
    actors: Mapping[int, ServedActor]
    slabs: Sequence[Slab]
    live_name: str


class ServedBank:
    """Cards of frozen players, and the actors of the lanes that they play (:class:`PlayerBank`)."""

    def __init__(self, client: InferenceClient, seeds: Mapping[int, int], cache: int) -> None:
        """Start without players.

        Args:
            client: Asks the server.
            seeds: Seed of the draws of each lane.
            cache: Number of players that are kept beside those that play.
        """
        self._client, self._seeds, self._cache = client, dict(seeds), cache
        self._cards: dict[str, NetworkCard] = {}  # least recently used first
        self._actors: dict[int, ServedActor] = {}
        self._bound: dict[int, str] = {}

    def __contains__(self, player: str) -> bool:
        """Return whether the card of ``player`` is kept."""
        return player in self._cards

    @property
    def lanes(self) -> tuple[int, ...]:
        """All lanes, in rising order."""
        return tuple(sorted(self._seeds))

    def seed_of(self, lane: int) -> int:
        """Return the seed of a lane's draws."""
        return self._seeds[lane]

    def put(self, player: str, weights: Weights, keep: Collection[str] = ()) -> None:
        """Refuse weights, which a server has. Raises ``TypeError``."""
        raise TypeError("a thin rollout has no networks: expected a card")

    def put_card(self, player: str, card: NetworkCard, keep: Collection[str] = ()) -> None:
        """Keep the card of ``player``, in place of an earlier one, and those of ``keep``."""
        self._cards.pop(player, None)
        self._cards[player] = card
        self._drop(keep)

    def follow(self, bound: Mapping[int, str]) -> Mapping[int, Actor]:
        """Return the actors of lanes: one for all lanes of an architecture. Raises ``KeyError``."""
        cards: dict[str, NetworkCard] = {}
        for player in dict.fromkeys(bound.values()):
            if player not in self._cards:
                raise KeyError(f"{player} was not put into the bank")
            cards[player] = self._cards[player]
        equal: dict[str, dict[int, tuple[NetworkCard, int]]] = {}
        for lane, player in sorted(bound.items()):
            own = equal.setdefault(cards[player].architecture, {})
            own[lane] = cards[player], self._seeds[lane]
        for player, card in cards.items():
            self._cards.pop(player)
            self._cards[player] = card
        self._bound = dict(bound)
        self._actors = {}
        for lanes in equal.values():
            self._actors.update(dict.fromkeys(lanes, ServedActor.of_lanes(self._client, lanes)))
        self._drop()
        return self._actors

    def _drop(self, keep: Collection[str] = ()) -> None:
        """Drop the least recently used ones above the limit, but those that play or are in ``keep``."""
        needed = {*self._bound.values(), *keep}
        idle = [player for player in self._cards if player not in needed]
        for player in idle[: max(len(self._cards) - self._cache, 0)]:
            del self._cards[player]


@dataclass(slots=True)
class ThinSampler(MatchSampler):
    """A sampler whose networks are elsewhere.

    Weights do not come here: a command that loads them names the version that decides.
    """

    facts: ThinFacts
    lineup: Lineup
    pool: Pool
    bank: ServedBank
    lanes: Lanes
    collector: Collector
    client: InferenceClient
    others: Mapping[int, Actor] = field(default_factory=dict)
    live: Collection[str] = ()
    _played: bool = False
    _live_actors: dict[int, ServedActor] = field(default_factory=dict)
    _restored: bytes = b""

    def _load_weights(self, sources: Mapping[int, WeightSource]) -> None:
        for policy, source in sources.items():
            actor = self.facts.actors.get(policy) or self._live_actors[policy]
            actor.load(source.version)

    def _follow_live(self, lanes: list[int]) -> Mapping[int, Actor]:
        (learner,) = self.facts.actors.values()
        self._live_actors = {}
        for lane in lanes:
            name = f"{self.facts.live_name}{self.lanes.bound[lane]}"
            card = msgspec.structs.replace(learner.card, name=name)
            self._live_actors[lane] = ServedActor(self.client, card, {lane: self.bank.seed_of(lane)})
        return self._live_actors

    def add_player(self, player: str, card: NetworkCard, keep: Collection[str]) -> None:
        """Keep the card of a frozen player."""
        self.bank.put_card(player, card, keep)

    def replace_player(self, player: str, card: NetworkCard) -> None:
        """Let the network of ``card`` play the lane of ``player``, without the memory of its rows."""
        self.bank.put_card(player, card, tuple(self.lanes.bound.values()))
        lane = self.lanes.lane_of(player)
        self._play_lanes(() if lane is None else (lane,))

    def close(self) -> None:
        """Stop the matches, and leave the server. Idempotent."""
        self.pool.close()
        self.client.close()


def idle_actors(
    learner: ServedActor, client: InferenceClient, seeds: Mapping[int, int]
) -> dict[int, ServedActor]:
    """Return actors of all lanes before the first ones are bound, which decide by a learner's weights."""
    return {lane: ServedActor(client, learner.card, {lane: seed}) for lane, seed in seeds.items()}
