"""Samplers on the machines of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ludus.cluster.crew import Crew
from ludus.cluster.fleet import Fleet
from ludus.cluster.remote_sampler import RemoteSampler
from ludus.cluster.remote_workers import RemoteWorkers
from ludus.cluster.sent_preset import sent_preset
from ludus.cluster.session import connect, disconnect
from ludus.presets.config import Preset
from ludus.rollouts.exchange import Sampler
from ludus.training.opponents import Seats

if TYPE_CHECKING:
    from ludus.mcts.network import NetworkEvaluator
    from ludus.training.alphazero.components import AlphaZeroComponents
    from ludus.training.alphazero.workers import SelfPlayWorkers


class RayMachines:
    """Maker of samplers over the rollouts of a cluster (:class:`ludus.training.machines.Machines`).

    All samplers that are asked for play on the same rollouts: those of a league's members.
    """

    def __init__(self, preset: Preset, report: Callable[[str], None]) -> None:
        """Connect to the cluster of ``preset``. Raises ``ConfigError``.

        ``report`` is called with a line now and then while machines are missing.
        """
        self._report = report
        self._crew: Crew | None = None
        sent_preset(preset)  # a file that cannot be sent is refused before Ray starts
        connect(preset.cluster)

    def sampler(
        self,
        preset: Preset,
        index: int = 0,
        *,
        slabs: int = 2,
        restarts: int = 0,
        seats: Seats | None = None,
    ) -> Sampler:
        """See :meth:`ludus.training.machines.Machines.sampler`."""
        if index:
            raise ValueError(f"sampler {index}: expected one over all rollouts")
        fleet = Fleet(preset, restarts, seats, crew=self._started(preset))
        return RemoteSampler(fleet, slabs, joined=preset.run.lag != "async")

    def reserve(self, preset: Preset) -> None:
        """See :meth:`ludus.training.machines.Machines.reserve`."""
        self._started(preset)

    def _started(self, preset: Preset) -> Crew:
        """Return the rollouts, which start if none have."""
        self._crew = self._crew or Crew(preset, self._report)
        return self._crew

    def workers(
        self, preset: Preset, components: AlphaZeroComponents, session: int, evaluator: NetworkEvaluator
    ) -> SelfPlayWorkers:
        """See :meth:`ludus.training.machines.Machines.workers`; ``evaluator`` plays after ``set_weights``."""
        crew = self._started(preset)
        return RemoteWorkers(preset, components.spec, components.seed, session, crew)

    def close(self) -> None:
        """End the rollouts and leave the cluster. Idempotent."""
        self.end_rollouts()
        disconnect()

    def end_rollouts(self) -> None:
        """End the rollouts. The next sampler starts others. Idempotent."""
        if self._crew is not None:
            self._crew.close()
            self._crew = None
