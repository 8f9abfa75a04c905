"""A sampler over rollouts: N slabs are joined along rows, in the order of the rollouts.

Trainers see one sampler with N times the slots. Which weights play which slab is decided before the rollouts
are asked, so equal seeds give equal bits, and one rollout gives the bits of a sampler in this process.
Lanes, slots and arrays of a snapshot have the numbers that
:class:`ludus.rollouts.joined_sampler.JoinedSampler` gives its parts.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import cast

import numpy as np

from ludus.cluster.fleet import Fleet
from ludus.cluster.messages import Tensors
from ludus.cluster.processes.actors import put
from ludus.cluster.weights import arrays_of
from ludus.flow import RolloutStats, Slab, Terms
from ludus.flow.command import R, SamplerCommand
from ludus.rollouts.commands import (
    LoadWeights,
    PlayAhead,
    RestoreMatches,
    lanes_apart,
    lanes_together,
)
from ludus.rollouts.exchange import Facts, SamplerState, WeightSource
from ludus.rollouts.joined_sampler import joined_labels, renumbered


class RemoteSampler:
    """A sampler whose matches a fleet plays (:class:`ludus.rollouts.exchange.Sampler`)."""

    def __init__(self, fleet: Fleet, slabs: int, joined: bool = True) -> None:
        """Own ``fleet``. Its arrays are copied to ``slabs`` slabs of this process.

        Args:
            fleet: The rollouts.
            slabs: Number of slabs to be filled in turn.
            joined: Whether a slab has the rows of all rollouts instead of one, as they come.
        """
        self.fleet, self._joined, self.played = fleet, joined, False
        facts = Facts(
            spec=fleet.spec,
            params=fleet.params,
            slots=fleet.layout.slots,
            all_slots=len(fleet) * fleet.layout.slots,
            slabs=[self._slab() for _ in range(slabs)],
            labels=fleet.labels,
            actors=fleet.actors,
            learned=fleet.learned,
        )
        self.facts = dataclasses.replace(facts, labels=joined_labels(facts, len(fleet)))

    def _slab(self) -> Slab:
        layout, parts = self.fleet.layout, range(len(self.fleet) if self._joined else 1)
        slab = Slab(self.fleet.spec, self.fleet.steps, layout.rows * len(parts))
        slab.row_slot = np.concatenate([layout.row_slot + i * layout.slots for i in parts])
        slab.row_seat = np.concatenate([layout.row_seat for _ in parts])
        return slab

    @property
    def state(self) -> SamplerState:
        """The present state, as far as slabs were received."""
        return SamplerState(self.fleet.time_step, self.played, lanes_together(self.fleet.bound))

    def send(self, command: SamplerCommand[R]) -> R:
        """Let the rollouts carry out ``command``. Terms and weights are sent with the next slab's request."""
        match command:
            case Terms():
                self.fleet.terms = command
            case LoadWeights():
                self._load_weights(command)
            case PlayAhead():
                if self._joined:  # slabs of single rollouts are asked for by :meth:`play`
                    self.fleet.terms = command.terms
                    self.fleet.ask()
                return cast(R, self._joined)
            case _:
                answer = self.fleet.send(command)
                self.played = self.played or isinstance(command, RestoreMatches)
                return answer
        return cast(R, None)

    def _load_weights(self, command: LoadWeights) -> None:
        for policy, source in command.policies.items():
            actor = self.facts.actors[policy]
            if actor.version != source.version:
                actor.version = source.copy_to(actor.network)
                self.fleet.send_weights(policy, actor.version, put(arrays_of(actor.network)))
        live: dict[tuple[str, int], object] = {}  # one copy of a player's weights for all of its lanes
        for number, lanes in enumerate(lanes_apart(command.lanes, len(self.fleet))):
            for lane, source in lanes.items():
                self._send_live(number, lane, source, live)

    def _send_live(
        self, number: int, lane: int, source: WeightSource, sent: dict[tuple[str, int], object]
    ) -> None:
        """Send the weights of ``source`` to a rollout, unless it has them.

        Args:
            number: Number of the rollout.
            lane: A live player's lane there.
            source: The player's learner.
            sent: References by player and version; new ones are added.
        """
        version, key = source.version, (self.fleet.bound[number][lane], source.version)
        if self.fleet.live_version(number, lane) != version:
            if key not in sent:
                sent[key] = put(dict(source.newest().tensors))
            self.fleet.send_live(number, lane, version, sent[key])

    def play(self, slab: Slab, between: Callable[[], None] | None = None) -> RolloutStats:
        """Fill ``slab``; ``between`` is called once, before it."""
        if between is not None:
            between()
        start = time.perf_counter()
        parts: list[RolloutStats] = []
        for number, answer, arrays in self.fleet.play() if self._joined else [self.fleet.play_first()]:
            self._copy(slab, number if self._joined else 0, arrays)
            first = number * self.facts.slots
            parts.append(renumbered(answer.stats, number, first, self.facts.actors))
        self.played = True
        total = RolloutStats.joined(parts, parallel=True)
        total.total_s = time.perf_counter() - start
        total.numbers = self.fleet.counts.numbers()
        return total

    def _copy(self, slab: Slab, number: int, arrays: Tensors) -> None:
        """Copy a rollout's arrays to its rows of ``slab``."""
        rows = self.fleet.layout.rows
        place = slice(number * rows, (number + 1) * rows)
        fields = slab.fields()
        for name, array in arrays.items():
            if name.startswith("memory."):
                policy = int(name.removeprefix("memory."))
                shape = (slab.rows, *array.shape[1:])
                if policy not in slab.memory or slab.memory[policy].shape != shape:
                    slab.memory[policy] = np.zeros(shape, np.float32)
                slab.memory[policy][place] = array
            else:
                fields[name][:, place] = array

    def close(self) -> None:
        """Stop the matches. Idempotent."""
        self.fleet.close()
