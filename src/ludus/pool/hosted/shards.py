"""The shard that fits a game."""

from __future__ import annotations

from ludus.games.contained import close_quietly
from ludus.games.python_game import GameMaker, VectorGame
from ludus.pool.hosted.control_block import ControlBlock
from ludus.pool.hosted.shard import PoolPlan, Shard
from ludus.pool.multi_agent import MultiAgentShard
from ludus.pool.single_agent import SingleAgentShard
from ludus.pool.vector_env import VectorEnvShard


def make_shard(maker: GameMaker, plan: PoolPlan, control: ControlBlock, slots: range, worker: int) -> Shard:
    """Return a vectorised shard if the game supports it, else one with a game object for each slot."""
    if plan.spec.seats > 1:
        return MultiAgentShard(plan, control, slots, worker, maker.make)
    if not plan.truncate_ticks and not plan.alone and not plan.spec.scores and len(slots) > 0:
        first = maker.make_vector(len(slots))
        if first is not None:
            close_quietly(first)

            def make() -> VectorGame:
                made = maker.make_vector(len(slots))
                assert made is not None
                return made

            return VectorEnvShard(plan, control, slots, worker, make)
    return SingleAgentShard(plan, control, slots, worker, maker.make)
