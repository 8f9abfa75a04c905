"""Player that a method learns from: ``algorithm.teacher`` as a player of a run's pool."""

from __future__ import annotations

from ludus.evaluation.play import MatchPlayer
from ludus.evaluation.players import resolve_player
from ludus.flow import GameSpec
from ludus.flow.seeds import SEED_PAST, derive_seed
from ludus.pool import Pool
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.rollouts.actor import Actor
from ludus.rollouts.bot_actor import BotActor
from ludus.rollouts.network_actor import NetworkActor
from ludus.rollouts.scripted import BotError, ScriptedActor
from ludus.rollouts.search_actor import SearchActor
from ludus.storage import StorageError
from ludus.training.teacher import demonstration_of


def demonstrator(
    preset: Preset, spec: GameSpec, params: dict[str, str], seed: int, policy: int
) -> MatchPlayer | None:
    """Resolve the player that the preset's method learns from; None for others. Raises ``ConfigError``.

    Args:
        preset: ``algorithm.teacher`` and ``algorithm.greedy``.
        spec: the game.
        params: its parameters.
        seed: the sampler's.
        policy: the teacher's policy id.
    """
    shown = demonstration_of(preset)
    if shown is None:
        return None
    try:
        return resolve_player(
            shown.teacher,
            spec,
            seed=derive_seed(seed, SEED_PAST, policy),
            frame_skip=preset.game.frame_skip,
            greedy=shown.greedy,
            params=params,
            device=preset.run.device,
        )
    except (ConfigError, StorageError, BotError, OSError) as error:
        raise ConfigError(error, where=f'algorithm.teacher = "{shown.teacher}"') from error


def demonstrator_inputs(teacher: MatchPlayer | None, learner: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tensors that a pool observes for the learner and its teacher; empty = all."""
    actor = teacher.actor if teacher is not None else None
    if isinstance(actor, ScriptedActor):  # it may read any
        return ()
    if learner and isinstance(actor, NetworkActor):
        return tuple(dict.fromkeys((*learner, *(t.name for t in actor.network.inputs))))
    return learner


def demonstrator_actor(teacher: MatchPlayer, pool: Pool) -> Actor:
    """Return the actor of the teacher's rows. Raises ``ConfigError`` for a game that cannot be searched.

    A search starts every decision with an empty tree, so that a killed run resumes bit for bit.
    """
    if teacher.search is not None:
        actor = teacher.search(pool)
        if isinstance(actor, SearchActor):
            actor.forgets = True
        return actor
    return teacher.actor or BotActor(pool.spec)
