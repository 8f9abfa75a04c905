"""The sampler of this process: a pool, the actors that decide for its rows, and the slabs that they fill.

It knows no learner: weights come from sources, slabs go to a sink (:mod:`ludus.rollouts.exchange`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from ludus.evaluation.weights import network_of
from ludus.flow import GameSpec, Lineup, Orders, PoolOptions, RolloutStats, Slab, Terms, Weights
from ludus.flow.as_found import one_thread
from ludus.flow.lineups import teams_of_plans
from ludus.flow.seeds import SEED_ACTING, SEED_NETWORK, SEED_PAST, SEED_POOL, SEED_SAMPLER, derive_seed
from ludus.flow.slab import Array
from ludus.policies.accelerator import executor_of
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network
from ludus.pool import Pool, PoolError
from ludus.pool.factory import make_pool
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.game_checks import resolve_spec
from ludus.presets.hardware import device_name, pool_thread_count, precision_name
from ludus.rollouts import Collector
from ludus.rollouts.actor import Actor
from ludus.rollouts.bank import Bank
from ludus.rollouts.exchange import Sampler, SlabSink, WeightSource
from ludus.rollouts.lanes import Lanes, slot_orders
from ludus.rollouts.network_actor import NetworkActor
from ludus.training.actor_learner.demonstrator import demonstrator, demonstrator_actor, demonstrator_inputs
from ludus.training.opponents import Seats, build_seats
from ludus.training.teacher import demonstration_of

NO_WEIGHTS = -1  # version of an actor that has not taken any
POOL = "pool"  # array of a snapshot that holds the matches
ROWS = "collector."  # prefix of a snapshot's other arrays


@dataclass(frozen=True, slots=True)
class SamplerParts:
    """Everything of a sampler but its matches.

    A controller that has the matches played elsewhere needs these parts alone.

    Attributes:
        spec: Interface of the game.
        params: Parameters of the game.
        seats: Controllers of each seat.
        seed: Seed of the sampler, of which those of matches, draws and lanes are derived.
        actors: Actors of the learners' policy ids, without weights yet.
        learned: Policy ids whose memory at the first time step is part of a slab.
        labels: Names in statistics of the players of a match's result (``policy:3``).
    """

    spec: GameSpec
    params: dict[str, str]
    seats: Seats
    seed: int
    actors: dict[int, NetworkActor]
    learned: tuple[int, ...]
    labels: dict[str, str]


@dataclass(slots=True)
class LocalSampler:
    """A sampler in this process (:class:`ludus.rollouts.exchange.Sampler`).

    ``actors``: the learned policy ids' actors, each on a network of its own. ``others``: actors of further
    policy ids: a teacher. ``live``: names of players whose weights come by :meth:`take`; each of their lanes
    plays on a network that ``build_network`` makes.
    """

    spec: GameSpec
    params: dict[str, str]
    lineup: Lineup
    pool: Pool
    actors: dict[int, NetworkActor]
    bank: Bank
    lanes: Lanes
    collector: Collector
    slabs: list[Slab]
    labels: dict[str, str]
    build_network: Callable[[], Network]
    others: Mapping[int, Actor] = field(default_factory=dict)
    live: Collection[str] = ()
    played: bool = False
    _live_actors: dict[int, NetworkActor] = field(default_factory=dict)
    _live_networks: list[Network] = field(default_factory=list)  # used again whenever lanes are bound
    _restored: bytes = b""  # the snapshot that the pool has, if it has not played since

    @property
    def slots(self) -> int:
        """See :attr:`ludus.rollouts.exchange.Sampler.slots`."""
        return self.pool.slots

    @property
    def all_slots(self) -> int:
        """See :attr:`ludus.rollouts.exchange.Sampler.all_slots`."""
        return self.pool.slots

    @property
    def learned(self) -> Collection[int]:
        """See :attr:`ludus.rollouts.exchange.Sampler.learned`."""
        return self.collector.learned

    @property
    def time_step(self) -> int:
        """See :attr:`ludus.rollouts.exchange.Sampler.time_step`."""
        return self.collector.time_step

    @property
    def bound(self) -> Mapping[int, str]:
        """See :attr:`ludus.rollouts.exchange.Sampler.bound`."""
        return self.lanes.bound

    def take(self, sources: Mapping[int, WeightSource]) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.take`."""
        for policy, source in sources.items():
            actor = self.actors[policy] if policy in self.actors else self._live_actors[policy]
            if actor.version != source.version:
                actor.version = source.copy_to(actor.network)

    # ---- players ---------------------------------------------------------------------------------

    def missing(self, players: Collection[str]) -> list[str]:
        """See :meth:`ludus.rollouts.exchange.Sampler.missing`."""
        return [player for player in players if player not in self.live and player not in self.bank]

    def put(self, player: str, weights: Weights, keep: Collection[str] = ()) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.put`."""
        self.bank.put(player, weights, keep)

    def replace(self, player: str, weights: Weights) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.replace`."""
        self.bank.put(player, weights, tuple(self.bound.values()))
        lane = self.lanes.lane_of(player)
        self._play_lanes(() if lane is None else (lane,))

    def seat(self, orders: Orders) -> bool:
        """See :meth:`ludus.rollouts.exchange.Sampler.seat`."""
        before = self.lanes.bound
        late = self.lanes.bind(self._in_lanes(orders), self._lanes_in_play())
        bound = self.lanes.bound
        self._play_lanes({lane for lane, player in bound.items() if before.get(lane) != player})
        return self._order(orders) and not late

    def follow_orders(self, orders: Orders) -> bool:
        """See :meth:`ludus.rollouts.exchange.Sampler.follow_orders`."""
        self._play_lanes()
        return self._order(orders)

    def load_lanes(self, bound: Mapping[int, str]) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.load_lanes`."""
        self.lanes.load(bound)

    def _in_lanes(self, orders: Orders) -> list[str]:
        """Players of ``orders`` that need a lane, each once."""
        if not orders.batch:
            return list(orders.mixture)
        known = self._controllers()
        return list(dict.fromkeys(p for order in orders.batch for p in order.players if p not in known))

    def _order(self, orders: Orders) -> bool:
        """Give the pool ``orders``, with the lanes that are bound."""
        bound = self.lanes.bound
        if orders.batch:
            of_policy = {c.policy: i for i, c in enumerate(self.lineup.plans[0].controllers) if c.policy >= 0}
            indices = self._controllers() | {player: of_policy[lane] for lane, player in bound.items()}
            teams = teams_of_plans(self.spec)
            self.pool.set_orders(*slot_orders(orders, self.slots, teams, indices.__getitem__))
            return True
        players = orders.mixture
        there = {lane: players[player] for lane, player in bound.items() if player in players}
        share = sum(there.values())
        if there or not players:
            scale = sum(players.values()) / share if share else 0.0
            self._draw({lane: weight * scale for lane, weight in there.items()})
        return len(there) == len(players) == len(bound)

    def _controllers(self) -> dict[str, int]:
        """Return the indices of the controllers of learned policies and bots, by name."""
        names = {policy: self.labels[f"policy:{policy}"] for policy in self.actors}
        controllers = list(enumerate(self.lineup.plans[0].controllers))
        learned = {names[c.policy]: i for i, c in controllers if c.policy in names}
        return learned | {c.bot: i for i, c in controllers if c.policy < 0}

    def _play_lanes(self, fresh: Collection[int] = ()) -> None:
        """Let the networks of bound players decide for their lanes; ``fresh`` lanes have an empty memory."""
        bound = self.lanes.bound
        frozen = self.bank.follow({lane: p for lane, p in bound.items() if p not in self.live})
        live = sorted(lane for lane, p in bound.items() if p in self.live)
        while len(self._live_networks) < len(live):
            self._live_networks.append(self.build_network())
        self._live_actors = {
            lane: NetworkActor(network, self.bank.seed_of(lane), NO_WEIGHTS)
            for lane, network in zip(live, self._live_networks, strict=False)
        }
        self.collector.set_actors({**self.actors, **self.others, **frozen, **self._live_actors}, fresh)

    def _lanes_in_play(self) -> set[int]:
        """Lanes that decide in a match which has started and not ended."""
        used = set[int]()
        for group in range(self.pool.groups):
            controllers = self.pool.in_play(group).controllers
            for index, plan in enumerate(self.lineup.plans):
                policies = np.array([c.policy for c in plan.controllers])
                chosen = controllers[:, index]
                used.update(policies[np.unique(chosen[chosen >= 0])].tolist())
        return used.intersection(self.lanes.ids)

    def _draw(self, weights: Mapping[int, float]) -> None:
        """Draw lanes by ``weights`` from now on, other controllers by the weights of the lineup."""
        for index, plan in enumerate(self.lineup.plans):
            if not any(c.policy in self.lanes.ids for c in plan.controllers):
                continue
            mixture = [
                weights.get(c.policy, 0.0) if c.policy in self.lanes.ids else c.weight
                for c in plan.controllers
            ]
            self.pool.set_mixture(index, mixture)

    # ---- matches ---------------------------------------------------------------------------------

    def ask(self, terms: Terms) -> bool:
        """See :meth:`ludus.rollouts.exchange.Sampler.ask`: nothing is asked for."""
        return False

    def play(
        self,
        slab: Slab,
        sink: SlabSink,
        between: Callable[[], None] | None = None,
        terms: Terms = Terms(),  # noqa: B008  frozen
    ) -> RolloutStats:
        """See :meth:`ludus.rollouts.exchange.Sampler.play`."""
        self.pool.set_terms(terms)
        self.played, self._restored = True, b""
        stats = self.collector.collect(slab, between)
        sink.put(slab, stats)
        return stats

    def in_play(self) -> dict[int, int]:
        """See :meth:`ludus.rollouts.exchange.Sampler.in_play`."""
        tags = Counter[int]()
        for group in range(self.pool.groups):
            tags.update(self.pool.in_play(group).tags.tolist())
        return dict(tags)

    def snapshot(self) -> dict[str, Array]:
        """See :meth:`ludus.rollouts.exchange.Sampler.snapshot`."""
        matches = np.frombuffer(self._restored or self.pool.snapshot(), np.uint8)
        return {POOL: matches} | {f"{ROWS}{name}": a for name, a in self.collector.state().items()}

    def restore(self, state: Mapping[str, Array]) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.restore`."""
        if POOL not in state:
            raise ValueError(f"no array {POOL}")
        matches = state[POOL].tobytes()
        self.pool.restore(matches)
        self.collector.restore({n.removeprefix(ROWS): a for n, a in state.items() if n.startswith(ROWS)})
        self.played, self._restored = True, matches

    def start_at(self, time_step: int) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.start_at`."""
        self.collector.start_at(time_step)

    def close(self) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.close`."""
        self.pool.close()


def local_sampler(sampler: Sampler) -> LocalSampler:
    """Return ``sampler``, whose pool is asked for. Raises ``TypeError`` where it is in another process."""
    if not isinstance(sampler, LocalSampler):
        raise TypeError(f"expected a sampler of this process, got {type(sampler).__name__}")
    return sampler


def first_network(preset: Preset, spec: GameSpec, only: Collection[str] | None = None) -> PolicyNetwork:
    """Build the network that a run starts with, on its device. Raises ``ConfigError``.

    ``only``: names of the matrices that are drawn; None for all. The others hold numbers without a meaning.
    """
    if not isinstance(preset.policy, EncoderConfig):
        raise ConfigError("policy.network: expected encoder, to be trained on a pool's slabs")
    device = device_name(preset)
    seed = derive_seed(preset.run.seed, SEED_NETWORK)
    try:
        network = PolicyNetwork(preset.policy, spec, None, precision_name(preset.run, device))
    except ValueError as error:
        raise ConfigError(f"policy: {error}") from error
    network.initialise(seed, only)
    return network.to(device)


def sampler_parts(preset: Preset, index: int = 0, *, seats: Seats | None = None) -> SamplerParts:
    """Build everything of a sampler but its matches. Raises ``ConfigError``.

    Args:
        preset: of the run.
        index: the sampler's number among those of a run; each draws on its own.
        seats: controllers of each seat; None: the preset's opponents.
    """
    one_thread()
    spec, params = resolve_spec(preset)
    seats = seats or build_seats(spec, preset)
    if preset.pool.slots % preset.pool.groups:
        raise ConfigError(
            f"pool.slots = {preset.pool.slots}: expected a multiple of pool.groups = {preset.pool.groups}"
        )
    run = preset.run
    seed = derive_seed(run.seed, SEED_SAMPLER, index) if index else run.seed
    acting = first_network(preset, spec).for_acting()
    learner = seats.ids.learner
    return SamplerParts(
        spec=spec,
        params=params,
        seats=seats,
        seed=seed,
        actors={learner: NetworkActor(acting, derive_seed(seed, SEED_ACTING), NO_WEIGHTS)},
        learned=() if demonstration_of(preset) is not None else (learner,),
        labels={f"policy:{policy}": name for policy, name in seats.labels.items()},
    )


def build_sampler(
    preset: Preset,
    index: int = 0,
    *,
    slabs: int = 2,
    restarts: int = 0,
    incarnation: int = 0,
    seats: Seats | None = None,
) -> LocalSampler:
    """Build a sampler whose actors have no weights yet. Raises ``ConfigError``.

    Args:
        preset: of the run.
        index: the sampler's number among those of a run; each draws on its own.
        slabs: number of slabs that it fills in turn.
        restarts: how often the run's matches started again
            (:func:`ludus.training.actor_learner.checkpoint.count_restarts`).
        incarnation: how many samplers of this number have been lost since then.
        seats: controllers of each seat; None: the preset's opponents.
    """
    parts = sampler_parts(preset, index, seats=seats)
    spec, params, ids, seed = parts.spec, parts.params, parts.seats.ids, parts.seed
    acting = parts.actors[ids.learner].network

    def frozen(weights: Weights) -> Network:
        return network_of(weights, spec, f"snapshot {weights.meta.version}", str(acting.device))

    teacher = demonstrator(preset, spec, params, seed, ids.teacher)
    bank = Bank({lane: derive_seed(seed, SEED_PAST, lane) for lane in ids.past}, frozen, parts.seats.cache)
    try:
        pool = make_pool(
            preset.game.name,
            params,
            parts.seats.lineup,
            PoolOptions(
                slots=preset.pool.slots,
                groups=preset.pool.groups,
                threads=pool_thread_count(preset),
                seed=pool_seed(seed, restarts, incarnation),
                on_error="raise" if preset.pool.on_error == "stop" else "truncate",
                timeout_s=preset.pool.timeout_s,
                inputs=demonstrator_inputs(teacher, preset.policy.inputs),
                states=teacher is not None and teacher.search is not None,
                spirit=preset.team.spirit,
                zero_sum=preset.team.zero_sum,
            ),
        )
    except (PoolError, ValueError) as error:
        raise ConfigError(f"pool: {error}") from error
    try:
        others = {ids.teacher: demonstrator_actor(teacher, pool)} if teacher is not None else {}
    except BaseException:
        pool.close()
        raise
    allocate = executor_of(acting.device).allocate  # the learner's device reads slabs
    return LocalSampler(
        spec=spec,
        params=params,
        lineup=parts.seats.lineup,
        pool=pool,
        actors=parts.actors,
        bank=bank,
        lanes=Lanes(bank.lanes),
        collector=Collector(
            pool, {**parts.actors, **others, **bank.idle(acting)}, learned=parts.learned, shown=others
        ),
        slabs=[pool.slab(preset.pool.rollout_length, allocate) for _ in range(slabs)],
        labels=parts.labels,
        build_network=lambda: first_network(preset, spec).for_acting(),
        others=others,
        live=parts.seats.live,
    )


def pool_seed(seed: int, restarts: int, incarnation: int) -> int:
    """Return the seed of the matches of a sampler, which is another one for each way to start again.

    Args:
        seed: the sampler's.
        restarts: how often all matches of the run started again.
        incarnation: how often those of this sampler started again since then.
    """
    counts = [restarts, incarnation] if incarnation else [restarts] if restarts else []
    return derive_seed(seed, SEED_POOL, *counts)
