"""The sampler: a pool, the actors that decide for its rows, and the slabs that they fill.

It knows no learner: weights come from sources, slabs go to a sink (:mod:`ludus.rollouts.exchange`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch

from ludus.evaluation.weights import network_of
from ludus.flow import GameSpec, Lineup, RolloutStats, Slab, Weights
from ludus.flow.pool_options import PoolOptions
from ludus.flow.seeds import SEED_ACTING, SEED_NETWORK, SEED_PAST, SEED_POOL, SEED_SAMPLER, derive_seed
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
from ludus.rollouts.exchange import SlabSink, WeightSource
from ludus.rollouts.lanes import Lanes
from ludus.rollouts.network_actor import NetworkActor
from ludus.training.actor_learner.demonstrator import demonstrator, demonstrator_actor, demonstrator_inputs
from ludus.training.opponents import Seats, build_seats

NO_WEIGHTS = -1  # version of an actor that has not taken any


@dataclass(slots=True)
class Sampler:
    """One thread plays with it.

    ``actors``: the learned policy ids' actors, each on a network of its own. ``labels``: what statistics call
    a player of a match's result.
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
    others: Mapping[int, Actor] = field(default_factory=dict)  # who decides for other policy ids: a teacher

    def take(self, sources: Mapping[int, WeightSource]) -> None:
        """The policy ids' acting networks get their sources' newest weights, where these are others."""
        for policy, source in sources.items():
            actor = self.actors[policy]
            if actor.version != source.version:
                actor.version = source.copy_to(actor.network)

    def seat(self, players: Mapping[str, float]) -> bool:
        """The frozen players of the matches that begin from now on, with the weights of the pool's draws.

        A match in play goes on with the player that began it. A player for whom no lane is free yet is left
        out until this is called again; the others are drawn in its place. Returns whether all have lanes and
        no other player is in a match. Called between slabs.
        """
        before = self.lanes.bound
        late = self.lanes.bind(tuple(players), self._lanes_in_play())
        bound = self.lanes.bound
        self.play_lanes({lane for lane, player in bound.items() if before.get(lane) != player})
        there = {lane: players[player] for lane, player in bound.items() if player in players}
        share = sum(there.values())
        if there or not players:
            scale = sum(players.values()) / share if share else 0.0
            self._draw({lane: weight * scale for lane, weight in there.items()})
        return not late and len(there) == len(bound)

    def play_lanes(self, fresh: Collection[int] = ()) -> None:
        """The bank's networks decide for the lanes that are bound; ``fresh`` ones remember nothing."""
        lanes = self.bank.follow(self.lanes.bound)
        self.collector.set_actors({**self.actors, **self.others, **lanes}, fresh)

    def _lanes_in_play(self) -> set[int]:
        """Lanes that decide in a match which has begun and not ended."""
        used = set[int]()
        for group in range(self.pool.groups):
            controllers = self.pool.in_play(group).controllers
            for index, plan in enumerate(self.lineup.plans):
                policies = np.array([c.policy for c in plan.controllers])
                chosen = controllers[:, index]
                used.update(policies[np.unique(chosen[chosen >= 0])].tolist())
        return used.intersection(self.lanes.ids)

    def _draw(self, weights: Mapping[int, float]) -> None:
        """The pool draws lanes by ``weights``, everybody else by the weights of the lineup."""
        for index, plan in enumerate(self.lineup.plans):
            if not any(c.policy in self.lanes.ids for c in plan.controllers):
                continue
            mixture = [
                weights.get(c.policy, 0.0) if c.policy in self.lanes.ids else c.weight
                for c in plan.controllers
            ]
            self.pool.set_mixture(index, mixture)

    def play(self, slab: Slab, sink: SlabSink, between: Callable[[], None] | None = None) -> RolloutStats:
        """Fills ``slab`` and hands it over. ``between`` is called before every time step."""
        stats = self.collector.collect(slab, between)
        sink.put(slab, stats)
        return stats

    def close(self) -> None:
        """Stops the pool. Idempotent."""
        self.pool.close()


def first_network(preset: Preset, spec: GameSpec) -> PolicyNetwork:
    """The network that a run begins with, on its device. Raises ``ConfigError``."""
    if not isinstance(preset.policy, EncoderConfig):
        raise ConfigError("policy.network: expected encoder, to be trained on a pool's slabs")
    device = device_name(preset.run)
    seed = derive_seed(preset.run.seed, SEED_NETWORK)
    try:
        network = PolicyNetwork(preset.policy, spec, seed, precision_name(preset.run, device))
    except ValueError as error:
        raise ConfigError(f"policy: {error}") from error
    return network.to(device)


def build_sampler(
    preset: Preset, index: int = 0, *, slabs: int = 2, anew: int = 0, seats: Seats | None = None
) -> Sampler:
    """A sampler whose actors have no weights yet. Raises ``ConfigError``.

    ``index``: a run's samplers have numbers, and draws of their own. ``anew``: how often the run's matches
    started again (:func:`ludus.training.actor_learner.checkpoint.times_anew`). ``seats``: who may sit where,
    None: the preset's opponents.
    """
    torch.set_num_threads(1)  # parallel work is done by threads that help each other, never OpenMP
    spec, params = resolve_spec(preset)
    seats = seats or build_seats(spec, preset)
    if preset.pool.slots % preset.pool.groups:
        raise ConfigError(
            f"pool.slots = {preset.pool.slots}: expected a multiple of pool.groups = {preset.pool.groups}"
        )
    run = preset.run
    seed = derive_seed(run.seed, SEED_SAMPLER, index) if index else run.seed
    acting = first_network(preset, spec).for_acting()
    ids = seats.ids
    actors = {ids.learner: NetworkActor(acting, derive_seed(seed, SEED_ACTING), NO_WEIGHTS)}

    def frozen(weights: Weights) -> Network:
        return network_of(weights, spec, f"snapshot {weights.meta.version}", str(acting.device))

    teacher = demonstrator(preset, spec, params, seed, ids.teacher)
    bank = Bank({lane: derive_seed(seed, SEED_PAST, lane) for lane in ids.past}, frozen, seats.cache)
    try:
        pool = make_pool(
            preset.game.name,
            params,
            seats.lineup,
            PoolOptions(
                slots=preset.pool.slots,
                groups=preset.pool.groups,
                threads=pool_thread_count(preset),
                seed=derive_seed(seed, SEED_POOL, *([anew] if anew else [])),
                on_error="raise" if preset.pool.on_error == "stop" else "truncate",
                timeout_s=preset.pool.timeout_s,
                inputs=demonstrator_inputs(teacher, preset.policy.inputs),
                states=teacher is not None and teacher.search is not None,
            ),
        )
    except (PoolError, ValueError) as error:
        raise ConfigError(f"pool: {error}") from error
    try:
        others = {ids.teacher: demonstrator_actor(teacher, pool)} if teacher is not None else {}
    except BaseException:
        pool.close()
        raise
    return Sampler(
        spec=spec,
        params=params,
        lineup=seats.lineup,
        pool=pool,
        actors=actors,
        bank=bank,
        lanes=Lanes(bank.lanes),
        collector=Collector(
            pool,
            {**actors, **others, **bank.idle(acting)},
            learned=() if others else actors,
            shown=others,
        ),
        slabs=[pool.slab(preset.pool.rollout_length) for _ in range(slabs)],
        labels={f"policy:{policy}": name for policy, name in seats.labels.items()},
        others=others,
    )
