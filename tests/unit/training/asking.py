"""Samplers that fill a slab when they are asked for it, as processes on other machines do, without Ray."""

from __future__ import annotations

from collections import deque
from typing import cast

import numpy as np

from ludus.flow import RolloutStats, Slab, Terms
from ludus.presets.config import Preset
from ludus.rollouts.exchange import Sampler, SlabSink
from ludus.training.actor_learner.sampler import build_sampler
from ludus.training.machines import LocalMachines
from ludus.training.opponents import Seats


class AskedSampler:
    """A sampler that plays at :meth:`ask` and delivers at :meth:`play`. ``events`` has its calls in order."""

    def __init__(self, sampler: Sampler, events: list[str]) -> None:
        self._sampler, self._events = sampler, events
        self._full: deque[tuple[dict[str, np.ndarray], RolloutStats, dict[int, int]]] = deque()
        slab = sampler.slabs[0]
        self._slab = Slab(sampler.spec, slab.steps, slab.rows)  # the learner reads the others
        self._in_play: dict[int, int] = {}
        self._time_steps: deque[int] = deque()  # before each slab that was asked for

    @property
    def time_step(self) -> int:
        return self._time_steps[0] if self._time_steps else self._sampler.time_step

    def __getattr__(self, name: str) -> object:
        if name in ("snapshot", "restore", "start_at"):
            assert not self._full, f"{name} while a slab is asked for"
        return getattr(self._sampler, name)

    def ask(self, terms: Terms) -> bool:
        if not self._full:
            self._in_play = self._sampler.in_play()
        self._events.append("ask")
        self._time_steps.append(self._sampler.time_step)
        self._sampler.play(self._slab, self, terms=terms)
        return True

    def put(self, *arguments: object) -> None:
        """Take a slab of :meth:`ask`, or weights as a sampler."""
        slab, stats = arguments[:2]
        if not isinstance(slab, Slab):
            self._sampler.put(*arguments)  # type: ignore[arg-type]
            return
        fields = {name: array.copy() for name, array in slab.fields().items()}
        assert isinstance(stats, RolloutStats)
        self._full.append((fields, stats, self._sampler.in_play()))

    def play(
        self,
        slab: Slab,
        sink: SlabSink,
        between: object = None,
        terms: Terms = Terms(),  # noqa: B008  frozen
    ) -> object:
        if not self._full:
            self.ask(terms)
        fields, stats, self._in_play = self._full.popleft()
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
        sink.put(slab, stats)
        return stats

    def in_play(self) -> dict[int, int]:
        return self._in_play if self._full else self._sampler.in_play()


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
        return cast(Sampler, AskedSampler(made, self.events))
