"""Parts of a league's member: its state, its settings, its learner, its pool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
import numpy as np

from ludus.algorithms.learner import Learner
from ludus.algorithms.updates.parameters import load_tensors
from ludus.evaluation.weights import check_spec
from ludus.flow import Controller, GameSpec, SeatPlan
from ludus.flow.lineups import lineup_of
from ludus.flow.seeds import SEED_LEAGUE, derive_seed
from ludus.flow.slab import Array
from ludus.league.config import LeagueConfig, PlayerConfig
from ludus.league.events import MAX_WHY
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.hardware import thread_count
from ludus.rollouts.actor import ActInput
from ludus.rollouts.commands import LoadWeights
from ludus.storage import load_weights
from ludus.training.actor_learner.build import Components, LocalWeights, build_learner
from ludus.training.actor_learner.state import TrainerState
from ludus.training.machines import Machines
from ludus.training.opponents import PolicyIds, Seats

LEARNER = 0  # policy id of the member in its own pool
STREAM_MEMBER = 4  # below SEED_LEAGUE: seeds of members


class MemberState(msgspec.Struct):
    """State of a member in a checkpoint, apart from tensors and matches.

    ``hyper``: its settings by path. ``pools``: how often its pool was built again. ``value_only``: number of
    updates to come in which only the parameters move that the value alone depends on. ``withdrawn``: why it
    plays no more, empty while it does.
    """

    counts: TrainerState = msgspec.field(default_factory=TrainerState)
    hyper: dict[str, float] = {}
    pools: int = 0
    value_only: int = 0
    withdrawn: Annotated[str, msgspec.Meta(max_length=MAX_WHY)] = ""


def member_preset(preset: Preset, index: int) -> Preset:
    """Return the run's preset with the seed of member number ``index``."""
    seed = derive_seed(preset.run.seed, SEED_LEAGUE, STREAM_MEMBER, index)
    return msgspec.structs.replace(preset, run=msgspec.structs.replace(preset.run, seed=seed))


def member_learner(
    preset: Preset,
    config: PlayerConfig,
    index: int,
    *,
    seeded: bool = True,
    tensors: Mapping[str, Array] | None = None,
) -> Learner:
    """Build the learner of member number ``index``, with new weights or those of its seed.

    ``seeded``: whether the seed is used. ``tensors``: those of the seed; None: its file is here. Raises
    ``ConfigError``.
    """
    learner = build_learner(preset, LEARNER)
    if config.seed and seeded:
        held = dict(tensors or {})
        if not held:
            seed = load_weights(config.seed)
            check_spec(seed.meta, learner.network.spec, config.seed)
            held = seed.tensors
        try:
            load_tensors(learner.network, held, "", config.seed)
        except ValueError as error:
            assert preset.league is not None
            entry = preset.league.entry_of(index)
            raise ConfigError(error, where=f"league.players.{entry}.seed") from error
    return learner


def member_seats(spec: GameSpec, league: LeagueConfig, frame_skip: int, name: str) -> Seats:
    """Return the seats of the pool of the member ``name``. Without orders it would meet itself.

    All plans have the same controllers in the same order: the member's own policy, the lanes, the game's
    bots. A lane is a policy id that is bound to one player at a time.
    """
    ids = PolicyIds(LEARNER, tuple(range(1, 1 + league.lanes)))
    controllers = (
        Controller(policy=LEARNER),
        *(Controller(policy=lane, weight=0.0) for lane in ids.past),
        *(Controller(bot=bot.name, weight=0.0) for bot in spec.bots),
    )
    plan = SeatPlan(controllers=controllers, frame_skip=frame_skip)
    others = frozenset(player.name for player in league.members) - {name}
    return Seats(ids, lineup_of(spec, plan, plan), {LEARNER: name}, league.cache, others)


def member_components(
    preset: Preset, name: str, restarts: int, learner: Learner, machines: Machines
) -> Components:
    """Build a sampler for the member ``name``, joined to ``learner``. Raises ``ConfigError``.

    Args:
        preset: of the member.
        name: the member.
        restarts: how often its matches started again.
        learner: the member's.
        machines: makes the sampler.
    """
    assert preset.league is not None
    spec, _ = resolve_spec(preset)
    seats = member_seats(spec, preset.league, preset.game.frame_skip, name)
    sampler = machines.sampler(preset, slabs=slabs_of(preset), restarts=restarts, seats=seats)
    sampler.send(LoadWeights({LEARNER: LocalWeights(learner)}))
    return Components(sampler, learner, LEARNER, thread_count(preset.run))


def slabs_of(preset: Preset) -> int:
    """Return the number of a member's slabs: each round to come may be this member's."""
    return 2 + preset.ahead


def check_weights(components: Components) -> None:
    """Let the acting weights decide for rows of a slab that was played, before others meet them.

    Raises ``NotFinite`` if they have diverged.
    """
    slab = components.sampler.facts.slabs[0]
    rows = np.flatnonzero(slab.active[0]).astype(np.int32)
    if not len(rows):
        return
    actor = components.actor
    shape = actor.memory_shape
    actor.act(
        ActInput(
            {name: array[0, rows] for name, array in slab.obs.items()},
            slab.mask[0, rows],
            None if shape is None else np.zeros((len(rows), *shape), np.float32),
            np.ones(len(rows), np.uint8),
            0,
            rows,
            ((components.policy, len(rows)),),
        )
    )


def continues_without(preset: Preset) -> bool:
    """Return whether a league continues without a member that fails."""
    return preset.league is not None and preset.league.on_failure == "continue"
