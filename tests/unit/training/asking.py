"""Samplers that fill a slab when they are asked for it, as processes on other machines do, without Ray."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable
from typing import cast

import numpy as np

from ludus.flow import RolloutStats, Slab
from ludus.flow.command import R, SamplerCommand
from ludus.presets.config import Preset
from ludus.rollouts.commands import CountInPlay, PlayAhead, RestoreMatches, StartAt, TakeSnapshot
from ludus.rollouts.exchange import Facts, Sampler, SamplerState
from ludus.training.actor_learner.sampler import build_sampler
from ludus.training.machines import LocalMachines
from ludus.training.opponents import Seats


class AskedSampler:
    """A sampler that plays at :class:`PlayAhead` and delivers at :meth:`play`. ``events``: both, in order."""

    def __init__(self, sampler: Sampler, events: list[str]) -> None:
        self._sampler, self._events = sampler, events
        self._full: deque[tuple[dict[str, np.ndarray], RolloutStats]] = deque()
        slab = self.facts.slabs[0]
        self._slab = Slab(self.facts.spec, slab.steps, slab.rows)  # the learner reads the others
        self._time_steps: deque[int] = deque()  # before each slab that was asked for

    @property
    def facts(self) -> Facts:
        return self._sampler.facts

    @property
    def state(self) -> SamplerState:
        state = self._sampler.state
        return dataclasses.replace(state, time_step=self._time_steps[0]) if self._time_steps else state

    def send(self, command: SamplerCommand[R]) -> R:
        if isinstance(command, PlayAhead):
            self._events.append("ask")
            self._sampler.send(command.terms)
            self._play_ahead()
            return cast(R, True)
        if isinstance(command, CountInPlay | TakeSnapshot | RestoreMatches | StartAt):
            assert not self._full, f"{command} while a slab is asked for"
        return self._sampler.send(command)

    def _play_ahead(self) -> None:
        self._time_steps.append(self._sampler.state.time_step)
        stats = self._sampler.play(self._slab)
        fields = {name: array.copy() for name, array in self._slab.fields().items()}
        self._full.append((fields, stats))

    def play(self, slab: Slab, between: Callable[[], None] | None = None) -> RolloutStats:
        if not self._full:
            self.send(PlayAhead())
        fields, stats = self._full.popleft()
        self._time_steps.popleft()
        self._events.append("play")
        slab.memory = {
            int(name.removeprefix("memory.")): array
            for name, array in fields.items()
            if name.startswith("memory.")
        }
        own = slab.fields()
        for name, array in fields.items():
            own[name][...] = array
        return stats

    def close(self) -> None:
        self._sampler.close()


class AskedMachines(LocalMachines):
    """Machines whose samplers play when they are asked."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def sampler(
        self,
        preset: Preset,
        index: int = 0,
        *,
        slabs: int = 2,
        restarts: int = 0,
        seats: Seats | None = None,
    ) -> Sampler:
        made = build_sampler(preset, index, slabs=slabs, restarts=restarts, seats=seats)
        return AskedSampler(made, self.events)
