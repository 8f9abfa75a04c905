"""Descriptions of thin samplers and of servers' places. This module needs neither Ray nor torch."""

from __future__ import annotations

from dataclasses import dataclass

from ludus.flow import Lineup, PoolOptions
from ludus.inference.messages import NetworkCard


@dataclass(frozen=True, slots=True)
class ThinOrder:
    """Description of a sampler whose networks are elsewhere; its settings follow as a separate argument.

    Args:
        incarnation: How often this rollout was replaced.
        params: Parameters of the game.
        lineup: Controllers of each seat.
        options: Size, seed and behaviour of the pool.
        steps: Length of a slab.
        labels: Names in statistics of the players of a match's result.
        learner: Policy id of the learner, its network, and the seed of its draws.
        learned: Policy ids whose memory at the first time step is part of a slab.
        lanes: Seed of the draws of each lane.
        cache: Number of frozen players that are kept.
        live: Players of lanes that play with the newest weights of other learners.
        live_name: Start of the names of their networks.
        others: Networks and seeds of further policy ids; None: a bot, for which the pool decides.
        shown: Policy ids that a learner imitates.
        server: Number of the server that decides.
        address: Name by which it is found.
        seat: Number of the rollout among the rollouts of the server.
    """

    incarnation: int
    params: dict[str, str]
    lineup: Lineup
    options: PoolOptions
    steps: int
    labels: dict[str, str]
    learner: tuple[int, NetworkCard, int]
    learned: tuple[int, ...]
    lanes: dict[int, int]
    cache: int
    live: frozenset[str]
    live_name: str
    others: dict[int, tuple[NetworkCard, int] | None]
    shown: tuple[int, ...]
    server: int
    address: str
    seat: int


@dataclass(frozen=True, slots=True)
class ServerPlace:
    """Where a server listens.

    Args:
        machine: Ray's number of its machine.
        path: Socket there.
    """

    machine: str
    path: str
