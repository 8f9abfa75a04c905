"""Two samplers that take turns: one plays the new rules of a game, the other ``game.before``.

A counter decides which one fills the next slab: the share of the old rules is added up, and each
whole is a slab of theirs (error diffusion). So the numbers of slabs are exact at any time, and equal seeds
give equal bits.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import cast

import numpy as np

from ludus.flow import RolloutStats, Slab, Terms, joined
from ludus.flow.command import R, SamplerCommand
from ludus.flow.slab import Array
from ludus.rollouts.commands import (
    CountInPlay,
    PlayAhead,
    RestoreMatches,
    StartAt,
    TakeSnapshot,
    arrays_of_part,
    stored_number,
)
from ludus.rollouts.exchange import TIME_STEP, Sampler, SamplerState
from ludus.rollouts.joined_sampler import JoinedSampler, renumbered

NEW, OLD = 0, 1  # numbers of the parts
PREFIXES = "now.", "before."  # of their arrays in a snapshot
TURNS = "turns"  # array of a snapshot: int64[1], the part of a slab that the old rules are owed
WHOLE = 1 << 32  # of a slab


class TurnOrder:
    """Whose turn it is, slab by slab."""

    def __init__(self) -> None:
        """Owe nothing."""
        self.owed = 0  # in 0..WHOLE - 1, of a slab under the old rules

    def next(self, share: float) -> int:
        """Return :data:`NEW` or :data:`OLD` for the next slab.

        Args:
            share: Share of the slabs under the old rules, 0..1.
        """
        self.owed += math.ceil(share * WHOLE)
        if self.owed < WHOLE:
            return NEW
        self.owed -= WHOLE
        return OLD


class AlternatingSampler(JoinedSampler):
    """A sampler that fills each slab under one of two sets of rules.

    Each part keeps its matches while the other one plays. Both follow the same orders and have the same
    weights; lanes of the old rules' part are numbered as in a joined sampler.
    """

    def __init__(self, new: Sampler, old: Sampler, slabs: int, share: float) -> None:
        """Take turns between two samplers with one slab each.

        Args:
            new: Plays the new rules.
            old: Plays the old ones, with the same seats and slots.
            slabs: Number of slabs, filled in turn.
            share: The first value of :attr:`share`.

        Raises:
            ValueError: A part is joined of several itself.
        """
        if any(isinstance(part, JoinedSampler) for part in (new, old)):
            raise ValueError("two sets of rules: expected one sampler for each")
        super().__init__((new, old), slabs=0)
        self.facts = dataclasses.replace(
            self.facts, slabs=[joined([new.facts.slabs[0]]) for _ in range(slabs)]
        )
        self.share = share  # of the slabs under the old rules, from the next one on
        self._terms, self._turns = Terms(), TurnOrder()
        self._not_counted = 0  # time steps

    @property
    def state(self) -> SamplerState:
        """The present state, with the time steps of both parts together; one that has played is enough."""
        states = [part.state for part in self.parts]
        steps = sum(state.time_step for state in states) - self._not_counted
        return SamplerState(steps, any(state.played for state in states), super().state.bound)

    def send(self, command: SamplerCommand[R]) -> R:
        """Carry out ``command``: in both parts, unless it is about turns or the next slab."""
        match command:
            case Terms():
                self._terms = command
                self.share = self.share if command.old_share is None else command.old_share
                return cast(R, None)
            case PlayAhead():
                return cast(R, False)
            case TakeSnapshot():
                return cast(R, self._snapshot())
            case RestoreMatches():
                self._restore(command.arrays)
                return cast(R, None)
            case StartAt():
                self._turns.owed, self._not_counted = 0, command.time_step
        return super().send(command)

    def play(self, slab: Slab, between: Callable[[], None] | None = None) -> RolloutStats:
        """Fill ``slab``. The part whose turn it is plays."""
        number = self._turns.next(self.share)
        part, own = self.parts[number], self.parts[number].facts.slabs[0]
        part.send(self._terms)  # not to the other one, whose matches stand still
        stats = renumbered(part.play(own, between), number, 0, self.facts.actors)
        joined([own], slab)
        stats.before_steps = stats.steps if number == OLD else 0
        stats.in_play = self.send(CountInPlay())
        return stats

    def _snapshot(self) -> dict[str, Array]:
        """Return the arrays of both parts and the turns. A part that has not played has no matches."""
        last = max(part.state.time_step for part in self.parts)
        out: dict[str, Array] = {
            TIME_STEP: np.array([last], np.int64),
            TURNS: np.array([self._turns.owed], np.int64),
        }
        for prefix, part in zip(PREFIXES, self.parts, strict=True):
            out |= {f"{prefix}{name}": array for name, array in part.send(TakeSnapshot()).items()}
        return out

    def _restore(self, arrays: Mapping[str, Array]) -> None:
        owed = stored_number(arrays, TURNS)
        if owed >= WHOLE:
            raise ValueError(f"{TURNS}: {owed}, expected less than {WHOLE}")
        for prefix, part in zip(PREFIXES, self.parts, strict=True):
            part.send(RestoreMatches(arrays_of_part(arrays, prefix)))
        self._turns.owed, self._not_counted = owed, 0
