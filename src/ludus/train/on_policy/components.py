"""Puts the components of a run together. The only place that knows how each is made."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ludus.algorithms.appo.config import AppoConfig
from ludus.algorithms.appo.learner import make_learner
from ludus.algorithms.learner import Learner
from ludus.flow import GameSpec, Lineup, Slab
from ludus.flow.seeds import SEED_ACTING, SEED_NETWORK, SEED_PAST, SEED_POOL, derive_seed
from ludus.games import spec as game_spec
from ludus.policies.network import PolicyNetwork
from ludus.pool import Pool, PoolError
from ludus.pool.factory import make_pool
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.game_checks import params_text
from ludus.presets.hardware import device_name, pool_thread_count, precision_name, thread_count
from ludus.rollouts import Collector
from ludus.rollouts.network_actor import NetworkActor
from ludus.train.opponents import FIRST_PAST, LEARNER, build_lineup, default_opponents, past_config


@dataclass(slots=True)
class Components:
    """Everything that a run is made of. ``acting`` is the network that decides, never the one that learns."""

    spec: GameSpec
    params: dict[str, str]
    lineup: Lineup
    pool: Pool
    learner: Learner
    acting: PolicyNetwork
    actor: NetworkActor
    past: dict[int, NetworkActor]  # policy id -> frozen weights
    collector: Collector
    slabs: list[Slab]
    threads: int

    def close(self) -> None:
        """Stops the pool."""
        self.pool.close()


def resolve_spec(preset: Preset) -> tuple[GameSpec, dict[str, str]]:
    """The game's declaration under the preset's parameters, and these as text."""
    params = params_text(preset.game.params)
    return game_spec(preset.game.name, params), params


def acting_copy(components: Components) -> PolicyNetwork:
    """A network of its own with the learner's weights."""
    learner = components.learner
    network = PolicyNetwork(learner.network.config, components.spec, None, learner.network.precision)
    network.to(learner.network.device)
    learner.copy_to(network)
    return network


def build(preset: Preset, slabs: int = 2, anew: int = 0) -> Components:
    """All components at their beginning. Raises ``ConfigError`` on what cannot be put together.

    ``anew``: how often the run's matches began anew (:func:`ludus.train.on_policy.checkpoint.times_anew`).
    """
    torch.set_num_threads(1)  # parallel work is done by threads that help each other, never OpenMP
    spec, params = resolve_spec(preset)
    lineup = build_lineup(spec, preset)
    if preset.pool.slots % preset.pool.groups:
        raise ConfigError(
            f"pool.slots = {preset.pool.slots}: expected a multiple of pool.groups = {preset.pool.groups}"
        )
    run = preset.run
    device, threads = device_name(run), thread_count(run)
    precision = precision_name(run, device)
    if not isinstance(preset.algorithm, AppoConfig):
        raise ConfigError(f"algorithm: {type(preset.algorithm).__name__} does not learn from a pool's slabs")
    try:
        seed = derive_seed(run.seed, SEED_NETWORK)
        learner = make_learner(
            preset.algorithm,
            PolicyNetwork(preset.policy, spec, seed, precision).to(device),
            seed=seed,
            policy=LEARNER,
            workers=max(threads, 2),
            frame_skip=preset.game.frame_skip or spec.default_frame_skip,
        )
    except ValueError as error:
        raise ConfigError(f"policy: {error}") from error

    def network() -> PolicyNetwork:
        made = PolicyNetwork(preset.policy, spec, seed, precision).to(device).for_acting()
        learner.copy_to(made)
        return made

    acting = network()
    actor = NetworkActor(acting, derive_seed(run.seed, SEED_ACTING))
    past: dict[int, NetworkActor] = {}
    entry = past_config(preset.opponents or default_opponents(spec))
    for slot in range(entry.past_slots if entry else 0):
        policy = FIRST_PAST + slot
        past[policy] = NetworkActor(network(), derive_seed(run.seed, SEED_PAST, policy))
    try:
        pool = make_pool(
            preset.game.name,
            params,
            lineup,
            slots=preset.pool.slots,
            groups=preset.pool.groups,
            threads=pool_thread_count(preset),
            seed=derive_seed(run.seed, SEED_POOL, *([anew] if anew else [])),
            on_error="raise" if preset.pool.on_error == "stop" else "truncate",
            timeout_s=preset.pool.timeout_s,
            inputs=preset.policy.inputs,
        )
    except (PoolError, ValueError) as error:
        raise ConfigError(f"pool: {error}") from error
    return Components(
        spec=spec,
        params=params,
        lineup=lineup,
        pool=pool,
        learner=learner,
        acting=acting,
        actor=actor,
        past=past,
        collector=Collector(pool, {LEARNER: actor, **past}, learned=(LEARNER,)),
        slabs=[pool.slab(preset.pool.rollout_length) for _ in range(slabs)],
        threads=threads,
    )
