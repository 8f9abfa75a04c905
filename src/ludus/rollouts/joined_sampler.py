"""Several samplers as one: their slabs are joined along rows, in a fixed order."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence

import msgspec

from ludus.flow import RolloutStats, Slab, joined
from ludus.flow.command import R, SamplerCommand
from ludus.rollouts.commands import lane_of, lanes_together
from ludus.rollouts.exchange import Facts, Sampler, SamplerState

POLICY = "policy:"  # prefix of a policy's name in results and labels


class JoinedSampler:
    """A sampler with the rows of all its parts (:class:`ludus.rollouts.exchange.Sampler`).

    All parts follow the same orders, each in its own slots. A part binds players to its own lanes; the joined
    sampler numbers these apart, and so do the results that it returns.
    """

    def __init__(self, parts: Sequence[Sampler], slabs: int = 2) -> None:
        """Join ``parts``, one or more of the same run, into ``slabs`` slabs of their rows together.

        The parts are closed with it.
        """
        self.parts = list(parts)
        facts = [part.facts for part in self.parts]
        self.facts = dataclasses.replace(
            facts[0],
            all_slots=sum(own.all_slots for own in facts),
            slabs=[joined([own.slabs[0] for own in facts]) for _ in range(slabs)],
            labels=joined_labels(facts[0], len(facts)),
        )

    @property
    def state(self) -> SamplerState:
        """The present state. Every part has the same time steps."""
        states = [part.state for part in self.parts]
        bound = lanes_together([state.bound for state in states])
        return SamplerState(states[0].time_step, all(state.played for state in states), bound)

    def send(self, command: SamplerCommand[R]) -> R:
        """Let every part carry out its part of ``command``."""
        own = command.parts(len(self.parts))
        return command.joined([part.send(c) for part, c in zip(self.parts, own, strict=True)])

    def play(self, slab: Slab, between: Callable[[], None] | None = None) -> RolloutStats:
        """Fill ``slab``. The parts play one after another."""
        stats = [part.play(part.facts.slabs[0], between) for part in self.parts]
        joined([part.facts.slabs[0] for part in self.parts], slab)
        actors, slots = self.facts.actors, self.facts.slots
        return RolloutStats.joined([renumbered(own, i, i * slots, actors) for i, own in enumerate(stats)])

    def close(self) -> None:
        """Stop the matches of every part. Idempotent."""
        for part in self.parts:
            part.close()


def joined_labels(facts: Facts, count: int) -> dict[str, str]:
    """Return the labels of ``count`` samplers with the same facts, as results of all of them name players."""
    labels = facts.labels.items()
    return {joined_player(name, i, facts.actors): label for i in range(count) for name, label in labels}


def renumbered(stats: RolloutStats, part: int, first: int, learners: Collection[int]) -> RolloutStats:
    """Return statistics of a part whose results have the numbers of lanes and slots among all parts.

    Args:
        stats: Statistics of the part.
        part: Number of the part.
        first: Number of its first slot.
        learners: Policy ids of learners, which are the same in all parts.
    """
    if part == 0:
        return stats
    results = [
        msgspec.structs.replace(
            result,
            slot=result.slot + first,
            players=tuple(joined_player(player, part, learners) for player in result.players),
        )
        for result in stats.results
    ]
    return dataclasses.replace(stats, results=results)


def joined_player(player: str, part: int, learners: Collection[int]) -> str:
    """Return the name among all parts of a player that results and labels of a part name."""
    number = player.removeprefix(POLICY)
    if number == player or int(number) in learners:
        return player
    return f"{POLICY}{lane_of(part, int(number))}"
