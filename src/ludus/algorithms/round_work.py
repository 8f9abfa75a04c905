"""The network's work in one round of a run, from settings: what it evaluates, what it learns."""

from __future__ import annotations

from typing import NamedTuple

from ludus.algorithms.config import ActorCriticConfig, AlphaZeroConfig
from ludus.algorithms.updates.minibatch import passes


class RoundSize(NamedTuple):
    """Size of a round.

    Attributes:
        slots: Matches in parallel.
        groups: Groups of slots whose decisions are evaluated together.
        steps: Time steps of a slab.
        threads: Threads that work at the same time.
    """

    slots: int
    groups: int
    steps: int
    threads: int


class RoundWork(NamedTuple):
    """Work of the network in one round: of a slab, or of a batch of a search on every thread.

    Attributes:
        calls: Calls of the acting network.
        acted: Decisions that it evaluates in them.
        learned: Differentiated decisions.
        gradient_steps: Steps of the optimiser.
        tasks: Tasks of a gradient step, each on one thread.
    """

    calls: int
    acted: int
    learned: float = 0.0
    gradient_steps: int = 0
    tasks: int = 1


def of_slab(config: ActorCriticConfig, size: RoundSize) -> RoundWork:
    """Return the work of a slab that passes of minibatches learn. Decisions are one seat's of each match."""
    decisions = size.slots * size.steps
    shares = passes(config)
    learned = sum(shares) * decisions
    steps = sum(max(1, round(share * config.minibatches)) for share in shares)
    tasks = -(-learned // (steps * config.micro_batch))
    return RoundWork(size.steps * size.groups, 2 * decisions, learned, steps, int(tasks))


def of_search(config: AlphaZeroConfig, size: RoundSize) -> RoundWork:
    """Return the work of a batch of self-play on every thread. It outnumbers the batches of learning."""
    return RoundWork(1, config.self_play.slots * size.threads)
