"""Weights of a slab learner as players of evaluations."""

from __future__ import annotations

from ludus.evaluation.play import Player
from ludus.evaluation.weights import network_of
from ludus.flow import GameSpec
from ludus.policies.outputs import gives_q_values
from ludus.rollouts.network_actor import NetworkActor
from ludus.train.evaluations import Seeded
from ludus.train.run_context import RunContext


def player_of_version(
    context: RunContext, spec: GameSpec, actor: NetworkActor, version: int | None
) -> tuple[int, Seeded]:
    """See :meth:`ludus.train.run_loop.Steps.player`.

    ``actor`` has the weights that act. They play, too, where no checkpoint has ``version``. Raises
    ``StorageError``.
    """
    store, evaluation = context.directory.checkpoints, context.preset.evaluation
    if version is not None and version != actor.version and version in store.versions():
        weights = store.load(version).weights
        device = str(actor.network.device)
        actor = NetworkActor(network_of(weights, spec, f"version {version}", device), actor.seed, version)

    # weights in training explore, weights of a checkpoint do not
    greedy = evaluation.greedy or gives_q_values(actor.network.config)

    def made(seed: int) -> Player:
        own = NetworkActor(actor.network, seed, actor.version, greedy)
        name = context.directory.reference(actor.version, context.evaluated)
        return Player(name, actor=own, frame_skip=context.preset.game.frame_skip)

    return actor.version, made
