"""Machines: factories of samplers and self-play workers, in this process or on other machines.

A trainer asks for samplers, or for the workers of self-play, and does not know where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from ludus.algorithms.learner import Learner
from ludus.presets.config import Preset
from ludus.rollouts.exchange import Sampler
from ludus.rollouts.joined_sampler import JoinedSampler
from ludus.training.actor_learner.sampler import build_sampler
from ludus.training.opponents import Seats

if TYPE_CHECKING:
    from ludus.mcts.network import NetworkEvaluator
    from ludus.training.alphazero.components import AlphaZeroComponents
    from ludus.training.alphazero.workers import SelfPlayWorkers
    from ludus.training.league.remote.link import MemberHosts


class MachineEvent(msgspec.Struct, frozen=True):
    """Something that happened to the machines of a run while it trained.

    Attributes:
        kind: Name of the event in ``events.jsonl``.
        text: The same for people; empty = they know it.
        detail: Further fields of the event.
    """

    kind: str
    text: str
    detail: Mapping[str, object] = {}


class Machines(Protocol):
    """Factory of samplers and workers. The caller that created it closes it after the run."""

    def sampler(
        self,
        preset: Preset,
        index: int = 0,
        *,
        slabs: int = 2,
        restarts: int = 0,
        seats: Seats | None = None,
    ) -> Sampler:
        """Build a sampler whose actors have no weights yet.

        Args:
            preset: Settings of the run, or of a member of a league.
            index: Number of the sampler among those that a trainer asks for; each draws on its own.
            slabs: Number of slabs that it fills in turn.
            restarts: How often the run's matches started again.
            seats: Controllers of each seat; None: the preset's opponents.

        Raises:
            ConfigError: Settings that do not fit together.
        """
        ...

    def grouped(self, preset: Preset, learner: Learner) -> Learner:
        """Return ``learner``, or one that makes every update together with others on other machines.

        A group of an earlier call ends.

        Args:
            preset: Settings of the run.
            learner: Rank 0 of the group, before its first update.

        Raises:
            ConfigError: Machines are missing, or differ.
        """
        ...

    def reserve(self, preset: Preset) -> None:
        """Start the machines that the run will need, before it has a directory.

        Raises:
            ConfigError: Machines are missing, or differ.
        """
        ...

    def members(self, preset: Preset, ahead: int) -> MemberHosts:
        """Start a process for each member of a league.

        Args:
            preset: Settings of the run.
            ahead: Rounds that are asked for before the results of the round in progress.

        Raises:
            ConfigError: Machines are missing, or differ.
            RunFailed: The system starts no process.
        """
        ...

    def workers(
        self, preset: Preset, components: AlphaZeroComponents, session: int, evaluator: NetworkEvaluator
    ) -> SelfPlayWorkers:
        """Build the workers of self-play, which do not play yet.

        Args:
            preset: Settings of the run.
            components: Game, settings and seed of the matches.
            session: Number of the process among those that have worked at the run; it numbers the matches.
            evaluator: The weights that play first.
        """
        ...

    def take_events(self) -> Sequence[MachineEvent]:
        """Return what happened to the machines since the last call. Any thread may call it."""
        ...


class LocalMachines:
    """Everything plays in this process."""

    def sampler(
        self,
        preset: Preset,
        index: int = 0,
        *,
        slabs: int = 2,
        restarts: int = 0,
        seats: Seats | None = None,
    ) -> Sampler:
        """See :meth:`Machines.sampler`."""
        return build_sampler(preset, index, slabs=slabs, restarts=restarts, seats=seats)

    def grouped(self, preset: Preset, learner: Learner) -> Learner:
        """See :meth:`Machines.grouped`: the learner is alone."""
        return learner

    def reserve(self, preset: Preset) -> None:
        """See :meth:`Machines.reserve`: this process needs no others."""

    def members(self, preset: Preset, ahead: int) -> MemberHosts:
        """See :meth:`Machines.members`: processes of this machine."""
        from ludus.training.league.remote.starting import started_hosts

        return started_hosts(preset, ahead)

    def workers(
        self, preset: Preset, components: AlphaZeroComponents, session: int, evaluator: NetworkEvaluator
    ) -> SelfPlayWorkers:
        """See :meth:`Machines.workers`."""
        from ludus.training.alphazero.components import make_plays
        from ludus.training.alphazero.workers import Workers

        return Workers(make_plays(preset, components, session, evaluator))

    def take_events(self) -> Sequence[MachineEvent]:
        """See :meth:`Machines.take_events`: nothing happens to this process."""
        return ()


class JoinedMachines(LocalMachines):
    """Every sampler is several in this process, joined: the same bits as from as many machines."""

    def __init__(self, count: int) -> None:
        """Join ``count`` samplers, >= 1."""
        self.count = count

    def sampler(
        self,
        preset: Preset,
        index: int = 0,
        *,
        slabs: int = 2,
        restarts: int = 0,
        seats: Seats | None = None,
    ) -> Sampler:
        """See :meth:`Machines.sampler`. The parts of sampler i have the numbers from ``i * count`` on."""
        parts: list[Sampler] = []
        try:
            while len(parts) < self.count:
                number = index * self.count + len(parts)
                parts.append(build_sampler(preset, number, slabs=1, restarts=restarts, seats=seats))
            return JoinedSampler(parts, slabs)
        except BaseException:
            for part in parts:
                part.close()
            raise


#: Everything plays in this process, on one pool for each sampler.
LOCAL = LocalMachines()
