"""Networks of an inference server, by name and number of their weights."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ludus.flow import Weights, WeightsMeta
from ludus.flow.slab import Array
from ludus.inference.messages import Ask, ServedMind
from ludus.policies.protocol import Network
from ludus.rollouts.actor import Actor
from ludus.rollouts.exchange import StoredWeights
from ludus.rollouts.lane_actor import LaneActor
from ludus.rollouts.network_actor import NetworkActor, RandomActor

KEPT_STOCKS = 4  # weights of one frozen player that were replaced one after another
IDLE_ACTORS = 64  # actors of sets of lanes that were asked for last


class NetworkRecipe(Protocol):
    """Makes the networks of one sampler. Raises ``ValueError`` for weights that do not fit."""

    def learner(self) -> Network:
        """Make a network that acts with the weights of a learner, which are copied into it."""
        ...

    def frozen(self, weights: Weights) -> Network:
        """Make the network of a frozen player."""
        ...

    def fixed(self, name: str) -> Actor:
        """Return the actor of a teacher or of an opponent of the zoo. Raises ``KeyError``."""
        ...


@dataclass(slots=True)
class _Shelf:
    """Weights of one name by their number, and networks that have them."""

    weights: dict[int, Weights] = field(default_factory=dict)
    networks: dict[int, Network] = field(default_factory=dict)
    frozen: bool = False


class Shelves:
    """Weights that arrive in one thread, and networks that another thread makes of them.

    The name of a network starts with the name of its sampler and a slash.
    """

    def __init__(self, recipe_of: Callable[[str], NetworkRecipe], arrived: Callable[[], None]) -> None:
        """Start empty.

        Args:
            recipe_of: Makes the recipe of a sampler, by its name.
            arrived: Called after weights have arrived.
        """
        self._recipe_of, self._arrived = recipe_of, arrived
        self._lock = threading.Lock()
        self._samplers: dict[str, int] = {}  # how often each was registered
        self._registered = 0
        self._recipes: dict[str, tuple[int, NetworkRecipe]] = {}
        self._shelves: dict[str, _Shelf] = {}
        self._spare: dict[str, list[Network]] = {}
        self._actors: OrderedDict[tuple[ServedMind, ...], Actor] = OrderedDict()

    # ---- what arrives ----------------------------------------------------------------------------

    def register(self, sampler: str) -> None:
        """Serve the networks of a sampler, whose recipe can be made from now on."""
        with self._lock:
            self._registered += 1
            self._samplers[sampler] = self._registered
        self._arrived()

    def publish(self, name: str, version: int, tensors: Mapping[str, Array], keep: Collection[int]) -> None:
        """Serve a version of a learner's weights, and the earlier versions ``keep``."""
        with self._lock:
            shelf = self._shelves.setdefault(name, _Shelf())
            shelf.weights = {v: w for v, w in shelf.weights.items() if v in keep}
            shelf.weights[version] = Weights(WeightsMeta(version, "", "", "", ""), dict(tensors))
        self._arrived()

    def add(self, name: str, stock: int, weights: Weights) -> None:
        """Serve a frozen player, besides earlier ones of that name."""
        with self._lock:
            shelf = self._shelves.setdefault(name, _Shelf(frozen=True))
            shelf.weights[stock] = weights
            shelf.weights = {s: shelf.weights[s] for s in sorted(shelf.weights)[-KEPT_STOCKS:]}
        self._arrived()

    def drop(self, names: Collection[str]) -> None:
        """Drop the frozen players ``names``, which no rollout plays with any more."""
        with self._lock:
            for name in names:
                self._shelves.pop(name, None)

    def forget(self, sampler: str) -> None:
        """Drop everything of a sampler that was closed."""
        with self._lock:
            self._samplers.pop(sampler, None)
            for name in [name for name in self._shelves if sampler_of(name) == sampler]:
                del self._shelves[name]

    # ---- what decides; one thread ----------------------------------------------------------------

    def has(self, ask: Ask) -> bool:
        """Return whether all weights of a request have arrived."""
        with self._lock:
            return all(self._has(mind) for mind in ask.minds)

    def _has(self, mind: ServedMind) -> bool:
        if sampler_of(mind.name) not in self._samplers:
            return False
        shelf = self._shelves.get(mind.name)
        return mind.stock in shelf.weights if shelf is not None else is_fixed(mind.name)

    def actor_of(self, ask: Ask) -> Actor:
        """Return the actor that answers a request. Raises what its recipe does."""
        if len(ask.minds) == 1:
            return self._single(ask.minds[0])
        actor = self._actors.pop(ask.minds, None)
        if actor is None:
            lanes = {
                mind.policy: NetworkActor(self.network(mind), mind.seed, mind.version) for mind in ask.minds
            }
            actor = LaneActor(lanes)
        self._actors[ask.minds] = actor
        while len(self._actors) > IDLE_ACTORS:
            self._actors.popitem(last=False)
        return actor

    def _single(self, mind: ServedMind) -> Actor:
        if is_fixed(mind.name):
            fixed = self._recipe(mind.name).fixed(mind.name)
            if isinstance(fixed, RandomActor):
                return RandomActor(fixed.heads, mind.seed)
        return NetworkActor(self.network(mind), mind.seed, mind.version, greedy=mind.greedy)

    def network(self, mind: ServedMind) -> Network:
        """Return a network with the weights that ``mind`` names. Raises what its recipe does."""
        recipe = self._recipe(mind.name)
        if is_fixed(mind.name):
            fixed = recipe.fixed(mind.name)
            if not isinstance(fixed, NetworkActor):
                raise ValueError(f"{mind.name} is no network")
            return fixed.network
        with self._lock:
            shelf = self._shelves[mind.name]
            weights, held = shelf.weights[mind.stock], set(shelf.weights)
        spare = self._spare.setdefault(sampler_of(mind.name), [])
        for stock in [stock for stock in shelf.networks if stock not in held]:
            dropped = shelf.networks.pop(stock)
            if not shelf.frozen:
                spare.append(dropped)
        network = shelf.networks.get(mind.stock)
        if network is None:
            if shelf.frozen:
                network = recipe.frozen(weights)
            else:
                network = spare.pop() if spare else recipe.learner()
                StoredWeights(weights).copy_to(network)
            shelf.networks[mind.stock] = network
        return network

    def _recipe(self, name: str) -> NetworkRecipe:
        sampler = sampler_of(name)
        with self._lock:
            number, known = self._samplers[sampler], set(self._samplers)
        if self._recipes.get(sampler, (0,))[0] != number:
            self._recipes[sampler] = number, self._recipe_of(sampler)
            self._spare.pop(sampler, None)
            for other in self._recipes.keys() - known:  # they were closed
                del self._recipes[other]
                self._spare.pop(other, None)
        return self._recipes[sampler][1]


def sampler_of(name: str) -> str:
    """Return the sampler of a network's name."""
    return name.partition("/")[0]


def name_of(sampler: str, kind: str, what: str) -> str:
    """Return the name of a network: of a learner's policy id, a live or frozen player, or a fixed one."""
    return f"{sampler}/{kind}/{what}"


FIXED = "fixed"  # kind of teachers and of opponents of the zoo, which a server makes of the run's settings


def is_fixed(name: str) -> bool:
    """Return whether a name is that of a teacher, or of an opponent of the zoo."""
    return name.split("/", 2)[1:2] == [FIXED]
