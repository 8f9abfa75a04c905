"""Samplers and learners on the machines of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ludus.algorithms.group import GroupError
from ludus.algorithms.learner import Learner, SlabLearner
from ludus.cluster.checks import host_and_port
from ludus.cluster.fleet import Fleet
from ludus.cluster.group_learner import GroupLearner
from ludus.cluster.inference.servers import InferenceServers
from ludus.cluster.members.hosts import ActorHosts
from ludus.cluster.processes.crew import Crew
from ludus.cluster.ranks import Ranks
from ludus.cluster.remote_sampler import RemoteSampler
from ludus.cluster.remote_workers import RemoteWorkers
from ludus.cluster.sent_preset import sent_preset
from ludus.cluster.session import connect, disconnect
from ludus.policies.accelerator import kind_of
from ludus.presets.config import ClusterConfig, Preset
from ludus.presets.errors import ConfigError
from ludus.rollouts.exchange import Sampler
from ludus.training.league.remote.link import MemberHosts
from ludus.training.machines import MachineEvent
from ludus.training.opponents import Seats

if TYPE_CHECKING:
    from ludus.mcts.network import NetworkEvaluator
    from ludus.training.alphazero.components import AlphaZeroComponents
    from ludus.training.alphazero.workers import SelfPlayWorkers


class RayMachines:
    """Maker of samplers and groups of learners on a cluster (:class:`ludus.training.machines.Machines`).

    The first request connects to the cluster, or starts it: by then this process has the lock of the run.
    All samplers, such as the members' samplers of a league, play on the same rollouts.
    """

    _unconnected: ClusterConfig | None = None  # the cluster that the first request connects to
    _servers: InferenceServers | None = None
    _crew: Crew | None = None
    _ranks: Ranks | None = None

    def __init__(self, preset: Preset, report: Callable[[str], None]) -> None:
        """Keep the cluster of ``preset`` for the first request.

        Args:
            preset: Settings of the run.
            report: Called with a line now and then while machines are missing.

        Raises:
            ConfigError: A file that cannot be sent, or an address that is none.
        """
        self._report = report
        self._groups = 0
        sent_preset(preset)  # a file that cannot be sent is refused before Ray starts
        host_and_port(preset.cluster.address)
        self._unconnected = preset.cluster

    def _connect(self) -> None:
        """Connect to the cluster, if this is the first request. Raises ``ConfigError``."""
        if self._unconnected is not None:
            connect(self._unconnected)
            self._unconnected = None

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
        crew = self._started(preset)
        fleet = Fleet(preset, restarts, seats, crew=crew, servers=self._servers)
        return RemoteSampler(fleet, slabs, joined=preset.run.lag != "async")

    def grouped(self, preset: Preset, learner: Learner) -> Learner:
        """See :meth:`ludus.training.machines.Machines.grouped`."""
        if preset.cluster.learners == 1:
            return learner
        where = f"cluster.learners = {preset.cluster.learners}"
        if not isinstance(learner, SlabLearner):
            name = preset.algorithm.__struct_config__.tag
            raise ConfigError(
                f'{where}: expected 1 where algorithm.name = "{name}", whose learner is no SlabLearner'
            )
        self._end_group()
        self._connect()
        self._groups += 1
        try:
            self._ranks = Ranks(preset, kind_of(learner.network.device) == "cuda", self._report)
            return GroupLearner(preset, learner, self._ranks, f"group{self._groups}")
        except GroupError as error:
            raise ConfigError(error, where=where) from error

    def _end_group(self) -> None:
        """End the learners of the last group. Idempotent."""
        if self._ranks is not None:
            self._ranks.close()
            self._ranks = None

    def reserve(self, preset: Preset) -> None:
        """See :meth:`ludus.training.machines.Machines.reserve`."""
        self._started(preset)

    def _started(self, preset: Preset) -> Crew:
        """Return the rollouts, which start if none have."""
        self._connect()
        if self._crew is None and preset.cluster.inference:
            self._servers = self._servers or InferenceServers(preset, self._report)
        self._crew = self._crew or Crew(preset, self._report)
        return self._crew

    def members(self, preset: Preset, ahead: int) -> MemberHosts:
        """See :meth:`ludus.training.machines.Machines.members`."""
        self._connect()
        return ActorHosts(preset, ahead, self._report)

    def workers(
        self, preset: Preset, components: AlphaZeroComponents, session: int, evaluator: NetworkEvaluator
    ) -> SelfPlayWorkers:
        """See :meth:`ludus.training.machines.Machines.workers`; ``evaluator`` plays after ``set_weights``."""
        crew = self._started(preset)
        return RemoteWorkers(preset, components.spec, components.seed, session, crew)

    def take_events(self) -> list[MachineEvent]:
        """See :meth:`ludus.training.machines.Machines.take_events`."""
        return [] if self._crew is None else self._crew.take_events()

    def close(self) -> None:
        """End the rollouts and learners, and leave the cluster. Idempotent."""
        self._end_group()
        self.end_rollouts()
        if self._unconnected is None:
            disconnect()

    def end_rollouts(self) -> None:
        """End the rollouts and their servers. The next sampler starts new ones. Idempotent."""
        if self._crew is not None:
            self._crew.close()
            self._crew = None
        if self._servers is not None:
            self._servers.close()
            self._servers = None
