"""The sampler of this process: a pool, the actors that decide for its rows, and the slabs that they fill.

It knows no learner: weights come from sources (:mod:`ludus.rollouts.exchange`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from ludus.evaluation.play import MatchPlayer
from ludus.evaluation.weights import network_of
from ludus.flow import GameSpec, Lineup, PoolOptions, Weights
from ludus.flow.process.as_found import one_thread
from ludus.flow.seeds import SEED_ACTING, SEED_NETWORK, SEED_PAST, SEED_POOL, SEED_SAMPLER, derive_seed
from ludus.policies.accelerator import executor_of
from ludus.policies.config import EncoderConfig, ResnetConfig
from ludus.policies.layers.residual import ResidualNetwork
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network
from ludus.pool import Pool, PoolError
from ludus.pool.factory import make_pool
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.hardware import device_name, pool_thread_count, precision_name
from ludus.rollouts import Collector
from ludus.rollouts.actor import Actor
from ludus.rollouts.bank import Bank
from ludus.rollouts.exchange import Facts, Sampler, WeightSource
from ludus.rollouts.lanes import Lanes
from ludus.rollouts.match_sampler import NO_WEIGHTS, MatchSampler
from ludus.rollouts.network_actor import NetworkActor
from ludus.training.actor_learner.demonstrator import (
    demonstrator_actor,
    demonstrator_inputs,
    other_players,
)
from ludus.training.opponents import Seats, build_seats
from ludus.training.teacher import demonstration_of


@dataclass(frozen=True, slots=True)
class SamplerParts:
    """Everything of a sampler but its matches.

    A controller whose matches are played elsewhere needs nothing else.

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
class LocalSampler(MatchSampler):
    """A sampler in this process (:class:`ludus.rollouts.exchange.Sampler`).

    ``others``: actors of further policy ids: a teacher, opponents of the zoo. ``live``: names of players
    whose weights come from learners; each of their lanes plays on a network that ``build_network`` makes.
    """

    facts: Facts
    lineup: Lineup
    pool: Pool
    bank: Bank
    lanes: Lanes
    collector: Collector
    build_network: Callable[[], Network]
    others: Mapping[int, Actor] = field(default_factory=dict)
    live: Collection[str] = ()
    _played: bool = False
    _live_actors: dict[int, NetworkActor] = field(default_factory=dict)
    _live_networks: list[Network] = field(default_factory=list)  # used again whenever lanes are bound
    _restored: bytes = b""  # the snapshot that the pool has, if it has not played since

    def _load_weights(self, sources: Mapping[int, WeightSource]) -> None:
        for policy, source in sources.items():
            actor = self.facts.actors.get(policy) or self._live_actors[policy]
            if actor.version != source.version:
                actor.version = source.copy_to(actor.network)

    def _follow_live(self, lanes: list[int]) -> Mapping[int, Actor]:
        while len(self._live_networks) < len(lanes):
            self._live_networks.append(self.build_network())
        self._live_actors = {
            lane: NetworkActor(network, self.bank.seed_of(lane), NO_WEIGHTS)
            for lane, network in zip(lanes, self._live_networks, strict=False)
        }
        return self._live_actors


def local_sampler(sampler: Sampler) -> LocalSampler:
    """Return ``sampler``, whose pool is asked for. Raises ``TypeError`` where it is in another process."""
    if not isinstance(sampler, LocalSampler):
        raise TypeError(f"expected a sampler of this process, got {type(sampler).__name__}")
    return sampler


def first_acting(preset: Preset, spec: GameSpec) -> Network:
    """Build the network that acts, of whatever kind. Raises ``ConfigError``."""
    if isinstance(preset.policy, ResnetConfig):
        return first_board_network(preset, spec)
    return first_network(preset, spec).for_acting()


def first_board_network(preset: Preset, spec: GameSpec) -> ResidualNetwork:
    """Build the network that reads planes of a board and that a run starts with, on its device.

    Raises ``ConfigError``.
    """
    if not isinstance(preset.policy, ResnetConfig):
        raise ConfigError('policy.network: expected "resnet"')
    device = device_name(preset)
    seed = derive_seed(preset.run.seed, SEED_NETWORK)
    try:
        network = ResidualNetwork(preset.policy, spec, seed, precision_name(preset.run, device))
    except ValueError as error:
        raise ConfigError(error, where="policy") from error
    return network.to(device)


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
        raise ConfigError(error, where="policy") from error
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
    seed = sampler_seed(preset, index)
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

    players = other_players(preset, spec, params, seed, ids)
    bank = Bank({lane: derive_seed(seed, SEED_PAST, lane) for lane in ids.past}, frozen, parts.seats.cache)
    try:
        pool = make_pool(
            preset.game.name,
            params,
            parts.seats.lineup,
            pool_options(preset, players.values(), pool_seed(seed, restarts, incarnation)),
        )
    except (PoolError, ValueError) as error:
        raise ConfigError(error, where="pool") from error
    try:
        others = {policy: demonstrator_actor(player, pool) for policy, player in players.items()}
    except BaseException:
        pool.close()
        raise
    allocate = executor_of(acting.device).allocate  # the learner's device reads slabs
    return LocalSampler(
        facts=Facts(
            spec=spec,
            params=params,
            slots=pool.slots,
            all_slots=pool.slots,
            slabs=[pool.slab(preset.pool.rollout_length, allocate) for _ in range(slabs)],
            labels=parts.labels,
            actors=parts.actors,
            learned=parts.learned,
        ),
        lineup=parts.seats.lineup,
        pool=pool,
        bank=bank,
        lanes=Lanes(bank.lanes),
        collector=Collector(
            pool,
            {**parts.actors, **others, **bank.idle(acting)},
            learned=parts.learned,
            shown={policy: actor for policy, actor in others.items() if policy == ids.teacher},
        ),
        build_network=lambda: first_network(preset, spec).for_acting(),
        others=others,
        live=parts.seats.live,
    )


def pool_options(preset: Preset, players: Collection[MatchPlayer], seed: int) -> PoolOptions:
    """Return size and behaviour of a sampler's pool.

    Args:
        preset: of the run.
        players: further players of the pool: a teacher, opponents of the zoo.
        seed: of its matches.
    """
    return PoolOptions(
        slots=preset.pool.slots,
        groups=preset.pool.groups,
        threads=pool_thread_count(preset),
        seed=seed,
        on_error="raise" if preset.pool.on_error == "stop" else "truncate",
        timeout_s=preset.pool.timeout_s,
        inputs=demonstrator_inputs(players, preset.policy.inputs),
        states=any(player.search is not None for player in players),
        spirit=preset.team.spirit,
        zero_sum=preset.team.zero_sum,
    )


def sampler_seed(preset: Preset, index: int) -> int:
    """Return the seed of the sampler ``index`` of a run."""
    return derive_seed(preset.run.seed, SEED_SAMPLER, index) if index else preset.run.seed


def pool_seed(seed: int, restarts: int, incarnation: int) -> int:
    """Return the seed of the matches of a sampler, which is another one for each way to start again.

    Args:
        seed: the sampler's.
        restarts: how often all matches of the run started again.
        incarnation: how often those of this sampler started again since then.
    """
    counts = [restarts, incarnation] if incarnation else [restarts] if restarts else []
    return derive_seed(seed, SEED_POOL, *counts)
