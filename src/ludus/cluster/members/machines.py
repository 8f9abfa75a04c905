"""Machines of one member, as its process on the cluster asks for them."""

from __future__ import annotations

from ludus.algorithms.group import GroupError
from ludus.algorithms.learner import Learner, SlabLearner
from ludus.cluster.fleet import Fleet
from ludus.cluster.group_learner import GroupLearner
from ludus.cluster.processes.crew import Crew
from ludus.cluster.ranks import Ranks
from ludus.cluster.remote_sampler import RemoteSampler
from ludus.policies.accelerator import kind_of
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.rollouts.exchange import Sampler
from ludus.training.machines import LocalMachines
from ludus.training.opponents import Seats


class OwnMachines(LocalMachines):
    """Rollouts of one member, and the further learners of its group.

    They are processes that the member's process asks the cluster for, and end with it. Samplers play on the
    rollouts one after another, and send their slabs to the member.
    """

    def __init__(self) -> None:
        """Start rollouts with the first sampler, and ranks with the learner."""
        self._crew: Crew | None = None
        self._ranks: Ranks | None = None

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
        self._crew = self._crew or Crew(preset)
        return RemoteSampler(Fleet(preset, restarts, seats, crew=self._crew), slabs)

    def grouped(self, preset: Preset, learner: Learner) -> Learner:
        """See :meth:`ludus.training.machines.Machines.grouped`."""
        if preset.cluster.learners == 1:
            return learner
        where = f"cluster.learners = {preset.cluster.learners}"
        assert isinstance(learner, SlabLearner), "members of a league learn from slabs"
        if self._ranks is not None:
            self._ranks.close()
        try:
            self._ranks = Ranks(preset, kind_of(learner.network.device) == "cuda", lambda text: None)
            return GroupLearner(preset, learner, self._ranks, f"group{preset.run.seed}")
        except GroupError as error:
            raise ConfigError(error, where=where) from error

    def close(self) -> None:
        """End the rollouts and ranks. Idempotent."""
        if self._ranks is not None:
            self._ranks.close()
            self._ranks = None
        if self._crew is not None:
            self._crew.close()
            self._crew = None
