"""Further players of a run's pool: the one that a method learns from, and opponents of the zoo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
from ludus.storage import StorageError, resolve_weights, zoo
from ludus.training.opponents import PolicyIds
from ludus.training.teacher import demonstration_of, teacher_weights


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
        text = shown.teacher
        if zoo.is_zoo(text):  # as the run's own copy of the weights, by which it is resumed
            weights, search = teacher_weights(preset)
            text = f"{resolve_weights(weights)}{search}"
        return resolve_player(
            text,
            spec,
            seed=derive_seed(seed, SEED_PAST, policy),
            frame_skip=preset.game.frame_skip,
            greedy=shown.greedy,
            params=params,
            device=preset.run.device,
        )
    except (ConfigError, StorageError, BotError, OSError) as error:
        raise ConfigError(error, where=f'algorithm.teacher = "{shown.teacher}"') from error


def zoo_players(
    preset: Preset, spec: GameSpec, params: dict[str, str], seed: int, ids: Mapping[str, int]
) -> dict[int, MatchPlayer]:
    """Resolve the opponents of the zoo, by policy id. Raises ``ConfigError``.

    Args:
        preset: ``run.device``.
        spec: the game.
        params: its parameters.
        seed: the sampler's.
        ids: policy ids by name.
    """
    found = {}
    for name, policy in ids.items():
        own = derive_seed(seed, SEED_PAST, policy)
        try:
            found[policy] = resolve_player(name, spec, seed=own, params=params, device=preset.run.device)
        except (ConfigError, StorageError, OSError) as error:
            raise ConfigError(error, where=f'opponents.name = "{name}"') from error
    return found


def other_players(
    preset: Preset, spec: GameSpec, params: dict[str, str], seed: int, ids: PolicyIds
) -> dict[int, MatchPlayer]:
    """Resolve the teacher and the opponents of the zoo, by policy id. Raises ``ConfigError``.

    Args:
        preset: of the run.
        spec: the game.
        params: its parameters.
        seed: the sampler's.
        ids: policy ids of the pool.
    """
    teacher = demonstrator(preset, spec, params, seed, ids.teacher)
    players = {ids.teacher: teacher} if teacher is not None else {}
    return players | zoo_players(preset, spec, params, seed, ids.zoo)


def demonstrator_inputs(others: Iterable[MatchPlayer], learner: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tensors that a pool observes for the learner and ``others``; empty = all."""
    actors = [player.actor for player in others]
    if not learner or any(isinstance(actor, ScriptedActor) for actor in actors):  # it may read any
        return ()
    read = [t.name for actor in actors if isinstance(actor, NetworkActor) for t in actor.network.inputs]
    return tuple(dict.fromkeys((*learner, *read)))


def demonstrator_actor(teacher: MatchPlayer, pool: Pool) -> Actor:
    """Return the actor of a player's rows. Raises ``ConfigError`` for a game that cannot be searched.

    A search starts every decision with an empty tree, so that a killed run resumes bit for bit.
    """
    if teacher.search is not None:
        actor = teacher.search(pool)
        if isinstance(actor, SearchActor):
            actor.forgets = True
        return actor
    return teacher.actor or BotActor(pool.spec)
