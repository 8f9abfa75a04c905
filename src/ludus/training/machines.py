"""Machines that play the matches of a run: this process, or others that a caller brings."""

from __future__ import annotations

from typing import Protocol

from ludus.presets.config import Preset
from ludus.rollouts.exchange import Sampler
from ludus.training.actor_learner.sampler import build_sampler


class Machines(Protocol):
    """Maker of samplers. The caller that made it closes it after the run."""

    def sampler(self, preset: Preset, index: int = 0, *, slabs: int = 2, restarts: int = 0) -> Sampler:
        """Return a sampler without weights (:func:`ludus.training.actor_learner.sampler.build_sampler`).

        Raises:
            ConfigError: Settings that do not fit together, or machines that do not fit the settings.
        """
        ...


class OneProcess:
    """This process plays."""

    def sampler(self, preset: Preset, index: int = 0, *, slabs: int = 2, restarts: int = 0) -> Sampler:
        """See :meth:`Machines.sampler`."""
        return build_sampler(preset, index, slabs=slabs, restarts=restarts)


LOCAL: Machines = OneProcess()
