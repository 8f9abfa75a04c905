"""A member of a league whose learner and matches are in another process."""

from __future__ import annotations

from dataclasses import dataclass

from ludus.algorithms.learner import Learner
from ludus.flow.inputs.decode import to_json
from ludus.games.names import is_typed
from ludus.league.config import PlayerConfig
from ludus.presets.checks.game import resolve_spec
from ludus.presets.code import code_of
from ludus.presets.config import Preset
from ludus.presets.method_file import method_file
from ludus.rollouts.exchange import WeightSource
from ludus.rollouts.network_actor import NetworkActor
from ludus.training.actor_learner.build import Components
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.sampler import first_network, sampler_parts
from ludus.training.league.member import LeagueMember
from ludus.training.league.member_parts import LEARNER, MemberState, member_seats, slabs_of
from ludus.training.league.remote import messages as m
from ludus.training.league.remote.learner import LiveSource, RemoteLearner
from ludus.training.league.remote.link import Coming, MemberHosts, MemberLink
from ludus.training.league.remote.mirror import MirrorSampler
from ludus.training.league.remote.rounds import RemoteRounds


class RemoteComponents(Components):
    """Components in another process, with an acting network here for evaluations."""

    __slots__ = ()

    @property
    def actor(self) -> NetworkActor:
        """Actor with the newest weights, which are fetched now if they are newer than its own."""
        actor = self.sampler.facts.actors[self.policy]
        if actor.version != self.learner.version:
            actor.version = self.learner.copy_to(actor.network)
        return actor


@dataclass(frozen=True, slots=True)
class BegunMember:
    """A member that its process builds: the way to it, and the answers about learner and matches."""

    link: MemberLink
    learner: Coming
    matches: Coming


def begin_member(
    hosts: MemberHosts, preset: Preset, index: int, state: MemberState, *, restarts: int, resumed: bool
) -> BegunMember:
    """Let a process build a member, without waiting for it.

    Args:
        hosts: the processes.
        preset: of the run.
        index: the member's place among the league's players.
        state: that of a checkpoint, or of a new run.
        restarts: how often the run's matches started again.
        resumed: whether weights come from a checkpoint.
    """
    link = MemberLink(hosts, hosts.members[index])
    file = method_file(preset.algorithm)
    request = m.BeginMember(
        settings=to_json(preset),
        index=index,
        slot=link.book.turn(),
        hyper=dict(state.hyper),
        seeded=not resumed,
        typed=tuple(text for text in code_of(preset).values() if is_typed(text)),
        method="" if file is None else file.path,
        method_sha256="" if file is None else file.sha256,
    )
    learner = link.send(request)
    return BegunMember(link, learner, link.send(m.MakeMatches(dict(state.hyper), restarts + state.pools)))


class RemoteMember(LeagueMember):
    """A member in another process. The manager's side decides all that a member in this process decides."""

    def __init__(
        self,
        preset: Preset,
        index: int,
        config: PlayerConfig,
        state: MemberState,
        begun: BegunMember,
        *,
        restarts: int = 0,
        resumed: bool = False,
    ) -> None:
        """Wait for a member that its process builds. See :class:`LeagueMember`. Raises ``ConfigError``."""
        self._link, self._begun = begun.link, begun
        self._matches: Coming | None = begun.matches
        super().__init__(preset, index, config, state, restarts=restarts, resumed=resumed)

    def _build_learner(self, seeded: bool) -> Learner:
        self._link.wait(self._begun.learner, m.MemberBegun)
        spec, _ = resolve_spec(self.preset)
        return RemoteLearner(self._link, first_network(self.preset, spec, ()))

    def _components(self, learner: Learner) -> Components:
        preset = self.preset
        assert preset.league is not None
        spec, _ = resolve_spec(preset)
        seats = member_seats(spec, preset.league, preset.game.frame_skip, self.name)
        coming, self._matches = self._matches, None
        if coming is None:
            request = m.MakeMatches(dict(self.state.hyper), self._restarts + self.state.pools)
            coming = self._link.send(request)
        made = self._link.wait(coming, m.MatchesMade)
        sampler = MirrorSampler(
            self._link,
            sampler_parts(preset, seats=seats),
            made,
            preset.pool.rollout_length,
            slabs_of(preset),
        )
        return RemoteComponents(sampler, learner, LEARNER, 1)

    def _configure(self, learner: Learner) -> None:
        self._link.send(m.SetMember(dict(self.state.hyper)))

    def source(self) -> WeightSource:
        """See :meth:`LeagueMember.source`."""
        return LiveSource(self.components.learner, self._link, self._preset.run.lag == "async")

    def withdraw(self) -> None:
        """See :meth:`LeagueMember.withdraw`."""
        sampler = self.components.sampler
        assert isinstance(sampler, MirrorSampler)
        sampler.abandon()
        super().withdraw()

    @property
    def slab_coming(self) -> Coming | None:
        """The slab of the next round, None if it is there."""
        assert isinstance(self.rounds, RemoteRounds)
        return self.rounds.slab_coming

    def _start_rounds(self, threads: LearnerThreads) -> None:
        pipelined = self._preset.run.lag == "pipelined"
        self.rounds = RemoteRounds(self.components, threads, pipelined, self._link)
