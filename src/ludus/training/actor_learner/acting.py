"""Weights of a slab learner as players of evaluations."""

from __future__ import annotations

from ludus.evaluation.play import MatchPlayer
from ludus.evaluation.weights import network_of
from ludus.flow import GameSpec, Weights
from ludus.policies.actions.outputs import gives_q_values
from ludus.rollouts.network_actor import NetworkActor
from ludus.training.run_context import RunContext
from ludus.training.run_evaluator import PlayerFactory


def player_of_version(
    context: RunContext, spec: GameSpec, actor: NetworkActor, version: int | None
) -> tuple[int, PlayerFactory]:
    """See :meth:`ludus.training.steps.RunSteps.player`.

    ``actor`` has the weights that act. They play, too, where no checkpoint has ``version``. Raises
    ``StorageError``.
    """
    return player_of_actor(context, actor_of_version(context, spec, actor, version))


def actor_of_version(
    context: RunContext, spec: GameSpec, actor: NetworkActor, version: int | None
) -> NetworkActor:
    """Return an actor of a checkpoint's weights; ``actor`` itself where no checkpoint has them.

    Raises ``StorageError``.
    """
    store = context.directory.checkpoints
    if version is None or version == actor.version or version not in store.versions():
        return actor
    return actor_of(store.load(version).weights, spec, actor)


def actor_of(weights: Weights, spec: GameSpec, actor: NetworkActor) -> NetworkActor:
    """Return an actor of ``weights`` on the device of ``actor`` and with its seed."""
    version, device = weights.meta.version, str(actor.network.device)
    return NetworkActor(network_of(weights, spec, f"version {version}", device), actor.seed, version)


def player_of_actor(context: RunContext, actor: NetworkActor, member: str = "") -> tuple[int, PlayerFactory]:
    """Return the version of the weights of ``actor``, and them as a player. ``member``: of a league."""
    # weights in training explore, weights of a checkpoint do not
    greedy = context.preset.evaluation.greedy or gives_q_values(actor.network.config)

    def made(seed: int) -> MatchPlayer:
        own = NetworkActor(actor.network, seed, actor.version, greedy)
        name = context.directory.reference(actor.version, member)
        return MatchPlayer(name, actor=own, frame_skip=context.preset.game.frame_skip)

    return actor.version, made
