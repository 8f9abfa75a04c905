"""One run of a league: the member furthest behind its share plays the next round.

The journal is written once a round. Between two rounds the league decides: results become events, and what
the league requests (freezes, resets, copies) is carried out before the next round.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from ludus.flow.league import JournalRow
from ludus.league import origin
from ludus.league.events import (
    SEED,
    AnyEvent,
    Copied,
    Copy,
    Freeze,
    Frozen,
    Ignored,
    Mutate,
    Mutated,
    Request,
    Reset,
    ResetTo,
    Results,
    Retired,
    Withdrawn,
    to_row,
)
from ludus.league.players import member_and_version, player_of
from ludus.presets.config import Preset
from ludus.presets.errors import RunFailed
from ludus.storage import Checkpoint, CorruptFile, StorageError
from ludus.storage.frozen import LearnerState
from ludus.storage.journal import Journal
from ludus.training.actor_learner.acting import actor_of, player_of_actor
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.seating import PlayerLost
from ludus.training.actor_learner.slab_steps import SlabSteps
from ludus.training.actor_learner.sync_loop import Round
from ludus.training.league.checkpoint import LeagueState, league_checkpoint, saved_weights
from ludus.training.league.components import LeagueComponents, build_league
from ludus.training.league.frozen import FrozenWeights
from ludus.training.league.learner_states import fits, state_beside_network
from ludus.training.league.member import LeagueMember
from ludus.training.league.remote.link import Coming
from ludus.training.league.remote.member import RemoteMember
from ludus.training.league.withdrawal import (
    KeptMember,
    MemberFailed,
    OtherFailure,
    blamed,
    first_part,
    newest_part,
    no_members,
    part_of,
)
from ludus.training.machines import LOCAL, Machines
from ludus.training.opponents import measured_against
from ludus.training.run_builder import RunBuilder
from ludus.training.run_context import RunContext
from ludus.training.run_evaluator import PlayerFactory


def prepare(preset: Preset, checkpoint: Checkpoint | None = None, machines: Machines = LOCAL) -> RunBuilder:
    """See :class:`ludus.training.run_builder.RunBuilderFactory`."""
    components = build_league(preset, checkpoint, machines)
    return RunBuilder(
        components.spec, lambda context: LeagueTrainer(context, components, checkpoint), components.close
    )


class LeagueTrainer(SlabSteps):
    """The steps of a league's run."""

    state: LeagueState
    members: dict[str, LeagueMember]

    def __init__(
        self, context: RunContext, components: LeagueComponents, checkpoint: Checkpoint | None = None
    ) -> None:
        """Start the run, or resume it from ``checkpoint``. The components are closed with the trainer."""
        self.components, self.league, self.state = components, components.league, components.state
        first = components.first
        if components.hosts is not None:
            components.hosts.stands = context.directory.checkpoints.stands
        try:
            self.journal = self._open_journal(context, checkpoint)
        except BaseException:
            components.close()
            raise
        threads = LearnerThreads(first.components.learner_threads(1))
        super().__init__(
            context, components.members, first, threads, measured_against(components.spec, context.preset, ())
        )
        context.contenders = components.contenders
        context.evaluated = context.contenders[0]
        context.initial_weights = self.members[context.evaluated].config.seed
        self._kept: dict[str, KeptMember] = {}  # withdrawn members
        self._first, self._least = first.name, 0  # whose version the run's is; that of the checkpoint
        self.frozen = FrozenWeights(self.run_dir, components.spec, context.needed.write)
        self._parents = origin.members_reset_to(components.config)
        components.start(
            threads,
            self.frozen,
            lambda member, count: self._apply(self.league.ordered(member, count)),
            self._retire,
        )
        self._rows: list[JournalRow] = []  # of events that the journal does not have yet
        slab = first.components.sampler.facts.slabs[0]
        self._decisions = slab.steps * slab.rows // components.spec.seats  # of a round, about
        self._journal_problem = ""
        if checkpoint is not None:
            self.league.replay(self.journal.rows())
            self._keep_withdrawn(checkpoint)
        self.start_or_resume(checkpoint)

    # ---- starting and resuming ------------------------------------------------------------------

    def _open_journal(self, context: RunContext, checkpoint: Checkpoint | None) -> Journal:
        path = context.directory.league
        if checkpoint is None and not path.exists():
            return Journal.create(path)
        journal = Journal.open(path)
        if gone := journal.rewind(self.state.journal):
            text = f"{gone:,} event{'s' * (gone > 1)} of {path.name} from event {self.state.journal + 1:,} on"
            context.log.removed.append(text)
        return journal

    def _start(self) -> None:
        for member in self.members.values():
            self.frozen.keep(player_of(member.name, 0), member.weights())
        bots = [bot.name for bot in self.components.spec.bots]
        for event in self.league.initial_events(bots):
            self._apply(event)
        self._write_rows()

    def _keep_withdrawn(self, checkpoint: Checkpoint) -> None:
        """Keep what the checkpoint has of withdrawn members. Raises ``CorruptFile``."""
        gone = [name for name, state in self.state.members.items() if state.withdrawn]
        if gone != [m.name for m in self.league.standings.members.values() if m.withdrawn]:
            raise CorruptFile("state of a league's checkpoint: other members are withdrawn in the journal")
        for name in gone:
            self._kept[name] = part_of(self.run_dir.checkpoints, checkpoint.version, name)
            if self._kept[name].weights.meta.version == checkpoint.version:
                self._first = name  # until a member that plays has as many updates
        self._least = checkpoint.version

    def _resumed(self) -> None:
        for event in self.league.ruled():  # a rule's file has changed
            self._apply(event)
        for name in self._kept:
            self.report.message(f"{name} stays withdrawn: {self.state.members[name].withdrawn}")
        if self._kept:
            self._renumber(self._least)
        for request in self.league.pending():
            self._carry_out(request)

    def _restart_matches(self, checkpoint: Checkpoint) -> None:
        super()._restart_matches(checkpoint)
        self.state.scheduled = []

    # ---- the loop --------------------------------------------------------------------------------

    def prepare_round(self) -> None:
        """Choose the next member, and assign it new orders where the last ones have been played.

        Rules of one's own are asked before. With rounds ahead, members are chosen for the rounds after it
        too, and their slabs asked for. Raises ``RuleError``.
        """
        while True:
            try:
                with self.failing(), self.blaming(""):
                    while (event := self.league.answer()) is not None:
                        self._apply(event)
                    return self._schedule()
            except MemberFailed as failed:
                self._withdraw(failed)

    def _schedule(self) -> None:
        scheduled, ahead = self.state.scheduled, self.state.ahead
        if not ahead:
            self.playing = member = self.members[self.league.next_member()]
            member.assign(self.state.budget)
            return
        while len(scheduled) <= ahead:
            scheduled.append(self.league.next_member(scheduled, self._decisions))
        rounds = Counter[str]()
        for name in scheduled:
            rounds[name] += 1
            member = self.members[name]
            if member.rounds.pending < rounds[name]:
                member.assign(self.state.budget)
                with self.blaming(name):
                    member.rounds.ask_ahead()
        if self.preset.run.lag == "async":
            self._take_first(scheduled)
        self.playing = self.members[scheduled[0]]

    def _take_first(self, scheduled: list[str]) -> None:
        """Let the member whose slab is there first play the next round."""
        hosts = self.components.hosts
        assert hosts is not None
        slabs: dict[str, Coming | None] = {}
        for name in scheduled:
            member = self.members[name]
            assert isinstance(member, RemoteMember)
            slabs.setdefault(name, member.slab_coming)
        first = next((name for name, slab in slabs.items() if slab is None), "")
        first = first or hosts.wait_any([slab for slab in slabs.values() if slab is not None]).member
        scheduled.remove(first)
        scheduled.insert(0, first)

    def _retire(self, error: PlayerLost) -> None:
        self.report.problem(f"{error}; {error.player} retires from the league")
        self._apply(Retired(error.player))
        for member in self.members.values():
            member.matchmaker.on_lost(error.player, member.version)

    def play(self, evaluate: Callable[[], None] | None) -> Round:
        """See :class:`ludus.training.actor_learner.slab_steps.SlabSteps`."""
        try:
            done = super().play(None if evaluate is None else no_members(evaluate))
        except OtherFailure as other:
            with self.failing():
                raise other.error from None
        del self.state.scheduled[:1]
        if self.state.ahead:
            done.times.cluster["cluster/ahead"] = float(len(self.state.scheduled))
        return done

    def counted(self, done: Round) -> None:
        """Report the results of the round to the league, which may want changes."""
        with self.failing(), self.blaming(""):
            self._report_results(done)

    def _report_results(self, done: Round) -> None:
        member = self.members[self.playing.name]
        known, results = self.league.standings.members[member.name], member.matchmaker.take_results()
        self.state.received = sum(m.counts.received for m in self.state.members.values())
        self._apply(
            Results(
                member=member.name,
                round=known.rounds,
                steps=member.counts.budget.steps,
                updates=known.updates + done.learns,
                version=member.version,
                tallies=results.tallies,
                episodes=results.episodes,
                returns=results.returns,
            )
        )
        self._write_rows()

    # ---- members that fail -----------------------------------------------------------------------

    def blaming(self, member: str) -> AbstractContextManager[None]:
        """See :class:`SlabSteps`. Without effect where the failure of a member ends the run."""
        return blamed(member) if self.components.config.on_failure == "continue" else nullcontext()

    def round(self, evaluate: Callable[[], None] | None) -> None:
        """See :class:`ludus.training.steps.RunSteps`. A member that fails is withdrawn."""
        if evaluate is not None:
            self.report_updates(wait=True)
        if self.playing.name not in self.members:
            self.prepare_round()
        try:
            super().round(evaluate)
        except MemberFailed as failed:
            self._withdraw(failed)
        if self._first in self._kept:
            self._renumber(self.version)

    def report_updates(self, *, wait: bool = False) -> None:
        """See :class:`SlabSteps`. A member whose update failed is withdrawn."""
        while True:
            try:
                return super().report_updates(wait=wait)
            except MemberFailed as failed:
                self._withdraw(failed)

    def _withdraw(self, failed: MemberFailed) -> None:
        """Continue without a member. Raises ``RunFailed`` if none is left."""
        name, why = failed.member, failed.why
        member = self.members.pop(name, None)
        if member is None:
            return
        if not self.components.enough:
            left = "no main is left" if self.members else "no member is left"
            self.members[name] = member
            raise RunFailed(f"{failed}; {left}; {self.run_dir.checkpoints.stands()}") from failed
        part = newest_part(self.run_dir.checkpoints, name)
        self._kept[name] = part or first_part(member)
        member.state.withdrawn = why
        self._updates = deque(made for made in self._updates if made.member is not member)
        self.state.scheduled = [scheduled for scheduled in self.state.scheduled if scheduled != name]
        member.withdraw()
        self._apply(Withdrawn(name, why))
        for other in self.members.values():
            other.seating.withdraw(name, other.source())
        self.context.contenders = self.components.contenders
        if self.context.evaluated not in self.members:
            self.context.evaluated = self.context.contenders[0]
        self.report.problem(f"{failed}; the others continue")
        self._write_rows()

    @property
    def version(self) -> int:
        """Version of the newest weights of the first member.

        After that was withdrawn: of its last checkpoint, until another one has as many updates.
        """
        kept = self._kept.get(self._first)
        return self.members[self._first].version if kept is None else kept.weights.meta.version

    def _renumber(self, least: int) -> None:
        """Let a member that plays number the checkpoints, where its version is ``least`` or more."""
        for name in self.components.contenders:
            if self.members[name].version >= least:
                self._first = name
                break

    # ---- events and effects ----------------------------------------------------------------------

    def _apply(self, event: AnyEvent) -> None:
        """Apply ``event`` to the league and carry out what it requests."""
        effects = self.league.apply(event)
        self._rows.append(to_row(event, self.league.number, time.time()))
        for effect in effects:
            if isinstance(effect, Ignored):
                self.report.problem(f"league: not counted: {effect.why}")
            else:
                self._carry_out(effect)

    def _carry_out(self, request: Request) -> None:
        member = self.members[request.member]
        if isinstance(request, Freeze):
            player = player_of(member.name, member.version)
            self.frozen.keep(player, member.weights())
            if member.name in self._parents and member.version > 0:
                self.frozen.keep_learner(player, state_beside_network(member.components.learner))
            self._apply(Frozen(member.name, member.version, request.reason))
        elif isinstance(request, ResetTo):
            self._reset(member, request.source)
        elif isinstance(request, Copy):
            member.copy(self.members[request.source])
            with self.blaming(member.name):
                member.set_hyper(request.hyper)
            self._apply(Copied(member.name, request.source, request.hyper))
        else:
            assert isinstance(request, Mutate)
            with self.blaming(member.name):
                member.set_hyper(request.hyper)
            self._apply(Mutated(member.name, request.hyper))

    def _reset(self, member: LeagueMember, source: str) -> None:
        player = player_of(member.name, 0) if source == SEED else source
        try:
            weights = self.frozen.load(player)
        except PlayerLost as error:
            if source != SEED:
                self._retire(error)  # the league then wants the seed
                source = SEED
            self.report.problem(f"{error}; {member.name} is reset to its first weights, built again")
            weights = member.first_learner().weights()
        member.reset_to(weights, None if source == SEED else self._learner_of(source, member))
        self._apply(Reset(member.name, source))

    def _learner_of(self, player: str, member: LeagueMember) -> LearnerState | None:
        """Return the state of the learner that froze ``player``; None for first weights or a lost state."""
        if member_and_version(player)[1] == 0:
            return None
        try:
            state = self.frozen.load_learner(player)
            if fits(member.components.learner, state):
                return state
            problem = f"{player}: the state of another learner"
        except PlayerLost as error:
            problem = str(error)
        self.report.problem(f"{problem}; {member.name} continues with a new optimiser")
        return None

    def _write_rows(self) -> None:
        rows, self._rows = self._rows, []
        self.journal.append(rows)
        if self.journal.problem and self.journal.problem != self._journal_problem:
            self.report.problem(f"{self.journal.problem}; the run continues, without checkpoints until then")
        self._journal_problem = self.journal.problem

    # ---- evaluation and files --------------------------------------------------------------------

    def player(self, version: int | None) -> tuple[int, PlayerFactory]:
        """See :class:`ludus.training.steps.RunSteps`. Acting weights are a checkpoint's if one has them."""
        first, kept = self.components.first, self._kept.get(self.context.evaluated)
        member = self.members.get(self.context.evaluated, first)
        name = member.name if kept is None else self.context.evaluated
        actor = member.components.actor
        wanted = version
        if version is None and kept is not None:
            wanted = kept.weights.meta.version
        elif version is None and self.saved_already():
            wanted = member.saved_version
        if kept is not None or (wanted is not None and wanted != actor.version):
            try:
                weights = saved_weights(self.run_dir.checkpoints, name, wanted or 0)
            except StorageError:
                if version is not None:
                    raise
            else:
                actor = actor_of(weights, self.components.spec, actor)
        return player_of_actor(self.context, actor, name)

    def referred_to(self) -> set[Path]:
        """See :class:`ludus.training.steps.RunSteps`."""
        return self.frozen.written

    def write_checkpoint(self, taken: Callable[[], None] | None = None) -> Path:
        """See :class:`ludus.training.steps.RunSteps`."""
        while True:
            self.report_updates(wait=True)
            self._write_rows()
            if not self.journal.sync():
                raise OSError(None, f"it needs the journal: {self.journal.problem}")
            self.state.journal = self.journal.last
            try:
                return super().write_checkpoint(taken)
            except MemberFailed as failed:
                self._withdraw(failed)

    def make_checkpoint(self) -> Checkpoint:
        """See :class:`ludus.training.steps.RunSteps`."""
        with self.failing():
            return league_checkpoint(self.members, self._kept, self._first, self.state, self.blaming)

    def close(self) -> None:
        """Stop threads and close the journal. Idempotent."""
        super().close()
        self.components.close()
        self.journal.close()
