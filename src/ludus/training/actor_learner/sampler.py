"""The sampler of this process: a pool, the actors that decide for its rows, and the slabs that they fill.

It knows no learner: weights come from sources (:mod:`ludus.rollouts.exchange`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from ludus.evaluation.weights import network_of
from ludus.flow import GameSpec, Lineup, Orders, PoolOptions, RolloutStats, Slab, Terms, Weights
from ludus.flow.command import R, SamplerCommand
from ludus.flow.lineups import teams_of_plans
from ludus.flow.process.as_found import one_thread
from ludus.flow.seeds import SEED_ACTING, SEED_NETWORK, SEED_PAST, SEED_POOL, SEED_SAMPLER, derive_seed
from ludus.flow.slab import Array
from ludus.policies.accelerator import executor_of
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from ludus.policies.protocol import Network
from ludus.pool import Pool, PoolError
from ludus.pool.factory import make_pool
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.hardware import device_name, pool_thread_count, precision_name
from ludus.rollouts import Collector, commands
from ludus.rollouts.actor import Actor
from ludus.rollouts.bank import Bank
from ludus.rollouts.exchange import INCARNATION, TIME_STEP, Facts, Sampler, SamplerState, WeightSource
from ludus.rollouts.lanes import Lanes, players_of_lanes, settled, slot_orders
from ludus.rollouts.network_actor import NetworkActor
from ludus.training.actor_learner.demonstrator import (
    demonstrator,
    demonstrator_actor,
    demonstrator_inputs,
    zoo_players,
)
from ludus.training.opponents import Seats, build_seats
from ludus.training.teacher import demonstration_of

NO_WEIGHTS = -1  # version of an actor that has not taken any
POOL = "pool"  # array of a snapshot that holds the matches
ROWS = "collector."  # prefix of a snapshot's other arrays


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
class LocalSampler:
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

    @property
    def state(self) -> SamplerState:
        """The present state."""
        return SamplerState(self.collector.time_step, self._played, self.lanes.bound)

    def send(self, command: SamplerCommand[R]) -> R:
        """Carry out ``command``."""
        return cast(R, self._answer(command))

    def _answer(self, command: SamplerCommand[Any]) -> object:
        match command:
            case Terms():
                self.pool.set_terms(command)
            case commands.LoadWeights():
                self._load_weights({**command.policies, **command.lanes})
            case commands.MissingPlayers():
                return [p for p in command.players if p not in self.live and p not in self.bank]
            case commands.AddPlayer():
                self.bank.put(command.player, command.weights, command.keep)
            case commands.ReplacePlayer():
                self._replace(command.player, command.weights)
            case commands.SeatPlayers():
                return self._seat(command.orders, command.bind)
            case commands.BindLanes():
                self.lanes.load(command.lanes)
            case commands.PlayAhead():
                return False
            case commands.CountInPlay():
                return self._in_play()
            case commands.LanesInPlay():
                return tuple(sorted(self.lanes_in_play()))
            case commands.TakeSnapshot():
                step = {TIME_STEP: np.array([self.collector.time_step], np.int64)}
                return self.snapshot() if self._played else step
            case commands.RestoreMatches():
                self._restore(command.arrays)
            case commands.StartAt():
                self.collector.start_at(command.time_step)
            case _:
                raise TypeError(f"{type(command).__name__}: not a command of samplers")
        return None

    def _load_weights(self, sources: Mapping[int, WeightSource]) -> None:
        for policy, source in sources.items():
            actor = self.facts.actors.get(policy) or self._live_actors[policy]
            if actor.version != source.version:
                actor.version = source.copy_to(actor.network)

    # ---- players ---------------------------------------------------------------------------------

    def _replace(self, player: str, weights: Weights) -> None:
        self.bank.put(player, weights, tuple(self.lanes.bound.values()))
        lane = self.lanes.lane_of(player)
        self._play_lanes(() if lane is None else (lane,))

    def _seat(self, orders: Orders, bind: bool) -> commands.Seated:
        before, late = self.lanes.bound, False
        if bind:
            late = bool(self.lanes.bind(players_of_lanes(orders, self._controllers()), self.lanes_in_play()))
        bound = self.lanes.bound
        self._play_lanes({lane for lane, player in bound.items() if before.get(lane) != player})
        self._order(orders)
        return commands.Seated(settled(orders, bound) and not late, dict(bound))

    def _order(self, orders: Orders) -> None:
        """Give the pool ``orders``, with the lanes that are bound."""
        bound = self.lanes.bound
        if orders.batch:
            of_policy = {c.policy: i for i, c in enumerate(self.lineup.plans[0].controllers) if c.policy >= 0}
            indices = self._controllers() | {player: of_policy[lane] for lane, player in bound.items()}
            teams = teams_of_plans(self.facts.spec)
            self.pool.set_orders(*slot_orders(orders, self.pool.slots, teams, indices.__getitem__))
            return
        players = orders.mixture
        there = {lane: players[player] for lane, player in bound.items() if player in players}
        share = sum(there.values())
        if there or not players:
            scale = sum(players.values()) / share if share else 0.0
            self._draw({lane: weight * scale for lane, weight in there.items()})

    def _controllers(self) -> dict[str, int]:
        """Return the indices of the controllers of learned policies and bots, by name."""
        labels = self.facts.labels
        names = {policy: labels[f"policy:{policy}"] for policy in self.facts.actors}
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
        self.collector.set_actors({**self.facts.actors, **self.others, **frozen, **self._live_actors}, fresh)

    def lanes_in_play(self) -> set[int]:
        """Return the lanes that decide in a match which has started and not ended."""
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

    def play(self, slab: Slab, between: Callable[[], None] | None = None) -> RolloutStats:
        """Fill ``slab``."""
        self._played, self._restored = True, b""
        stats = self.collector.collect(slab, between)
        stats.in_play = self._in_play()
        return stats

    def _in_play(self) -> dict[int, int]:
        tags = Counter[int]()
        for group in range(self.pool.groups):
            tags.update(self.pool.in_play(group).tags.tolist())
        return dict(tags)

    def snapshot(self) -> dict[str, Array]:
        """Return matches and rows' memory as arrays, whether or not they have filled a slab."""
        matches = np.frombuffer(self._restored or self.pool.snapshot(), np.uint8)
        return {POOL: matches} | {f"{ROWS}{name}": a for name, a in self.collector.state().items()}

    def _restore(self, arrays: Mapping[str, Array]) -> None:
        if arrays.keys() - {INCARNATION} == {TIME_STEP}:  # without matches
            self.collector.start_at(commands.stored_number(arrays, TIME_STEP))
            return
        if POOL not in arrays:
            raise ValueError(f"no array {POOL}")
        matches = arrays[POOL].tobytes()
        self.pool.restore(matches)
        self.collector.restore(commands.arrays_of_part(arrays, ROWS))
        self._played, self._restored = True, matches

    def close(self) -> None:
        """Stop the matches. Idempotent."""
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
    players = {ids.teacher: teacher} if teacher is not None else {}
    players |= zoo_players(preset, spec, params, seed, ids.zoo)
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
                inputs=demonstrator_inputs(players.values(), preset.policy.inputs),
                states=any(player.search is not None for player in players.values()),
                spirit=preset.team.spirit,
                zero_sum=preset.team.zero_sum,
            ),
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


def pool_seed(seed: int, restarts: int, incarnation: int) -> int:
    """Return the seed of the matches of a sampler, which is another one for each way to start again.

    Args:
        seed: the sampler's.
        restarts: how often all matches of the run started again.
        incarnation: how often those of this sampler started again since then.
    """
    counts = [restarts, incarnation] if incarnation else [restarts] if restarts else []
    return derive_seed(seed, SEED_POOL, *counts)
