"""Samplers on the machines of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable

from ludus.cluster.fleet import Fleet
from ludus.cluster.remote_sampler import RemoteSampler
from ludus.cluster.session import connect, disconnect
from ludus.presets.config import Preset
from ludus.rollouts.exchange import Sampler
from ludus.training.opponents import Seats


class RayMachines:
    """Maker of samplers whose matches are played by the rollouts of a cluster."""

    def __init__(self, preset: Preset, report: Callable[[str], None]) -> None:
        """Connect to the cluster of ``preset``. Raises ``ConfigError``.

        ``report`` is called with a line now and then while machines are missing.
        """
        self._report = report
        connect(preset.cluster)

    def sampler(self, preset: Preset, slabs: int, restarts: int = 0, seats: Seats | None = None) -> Sampler:
        """Return a sampler over the rollouts of ``preset``. Raises ``ConfigError``."""
        fleet = Fleet(preset, restarts, seats, self._report)
        return RemoteSampler(fleet, slabs, joined=preset.run.lag != "async")

    def close(self) -> None:
        """Leave the cluster. Idempotent."""
        disconnect()
