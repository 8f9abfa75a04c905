"""One run of a league: the member furthest behind its share plays the next round.

The journal is written once a round. Between two rounds the league decides: results become events, and what
the league requests (freezes, resets, copies) is carried out before the next round.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ludus.algorithms.learner import UpdateStats
from ludus.evaluation.results import EvalResult
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
    Ordered,
    Request,
    Reset,
    ResetTo,
    Results,
    Retired,
    to_row,
)
from ludus.league.players import member_and_version, player_of
from ludus.pool import MatchError, PoolError
from ludus.presets.config import Preset
from ludus.presets.errors import RunFailed
from ludus.storage import Checkpoint, StorageError
from ludus.storage.frozen import LearnerState
from ludus.storage.journal import Journal
from ludus.training.actor_learner.acting import actor_of, player_of_actor
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.rollout_summary import Opening, RolloutSummary
from ludus.training.actor_learner.seating import PlayerLost
from ludus.training.actor_learner.signatures import Signatures
from ludus.training.actor_learner.sync_loop import Round, RoundTimes
from ludus.training.actor_learner.update_counts import UpdateCounts
from ludus.training.actor_learner.update_metrics import update_metrics
from ludus.training.evaluations import PlayerFactory
from ludus.training.league.checkpoint import LeagueState, league_checkpoint, restore_member, saved_weights
from ludus.training.league.components import LeagueComponents, build_league
from ludus.training.league.frozen import FrozenWeights
from ludus.training.league.learner_states import fits, state_beside_network
from ludus.training.league.member import Member
from ludus.training.machines import LOCAL, Machines
from ludus.training.opponents import measured_against
from ludus.training.run_builder import RunBuilder
from ludus.training.run_context import RunContext
from ludus.training.run_evaluator import RunEvaluator
from ludus.training.stopping import progress, why_untrained


def prepare(preset: Preset, checkpoint: Checkpoint | None = None, machines: Machines = LOCAL) -> RunBuilder:
    """See :class:`ludus.training.run_builder.RunBuilderFactory`."""
    components = build_league(preset, checkpoint, machines)
    return RunBuilder(
        components.spec, lambda context: LeagueTrainer(context, components, checkpoint), components.close
    )


class LeagueTrainer:
    """The steps of a league's run (:class:`ludus.training.run_loop.Steps`)."""

    def __init__(
        self, context: RunContext, components: LeagueComponents, checkpoint: Checkpoint | None = None
    ) -> None:
        """Start the run, or resume it from ``checkpoint``."""
        self.preset, self.context, self.report = context.preset, context, context.report
        self.components, self.league, self.members = components, components.league, components.members
        self.state: LeagueState = components.state
        self.run_dir = context.directory
        first = components.first
        context.contenders = components.contenders
        context.evaluated = context.contenders[0]
        context.initial_weights = self.members[context.evaluated].config.seed
        try:
            self.journal = self._open_journal(checkpoint)
        except BaseException:
            components.close()
            raise
        self.frozen = FrozenWeights(self.run_dir, components.spec, context.needed.write)
        self._parents = origin.members_reset_to(components.config)
        self.learner_threads = LearnerThreads(first.components.learner_threads(1))
        components.start(
            self.learner_threads,
            self.frozen,
            lambda member, count: self._apply(Ordered(member, count)),
            self._retire,
        )
        self.run_evaluator = RunEvaluator(
            self.preset,
            components.spec,
            first.components.params,
            measured_against(components.spec, self.preset, ()),
            context.log,
            should_stop=context.interrupted,
        )
        self._counts = {name: UpdateCounts(context.report) for name in self.members}
        self._rows: list[JournalRow] = []  # of events that the journal does not have yet
        slab = first.components.sampler.facts.slabs[0]
        self._decisions = slab.steps * slab.rows // components.spec.seats  # of a round, about
        self._playing = first
        self._rounds = self._saved_rounds = 0
        self._saved_versions: dict[str, int] = {}  # of members in the newest checkpoint
        self.signatures = Signatures(context)
        self._journal_problem = ""
        if checkpoint is None:
            self._start()
        else:
            self._resume(checkpoint)

    # ---- starting and resuming ------------------------------------------------------------------

    def _open_journal(self, checkpoint: Checkpoint | None) -> Journal:
        path = self.run_dir.league
        if checkpoint is None and not path.exists():
            return Journal.create(path)
        journal = Journal.open(path)
        if gone := journal.rewind(self.state.journal):
            text = f"{gone:,} event{'s' * (gone > 1)} of {path.name} from event {self.state.journal + 1:,} on"
            self.context.log.removed.append(text)
        return journal

    def _start(self) -> None:
        for member in self.members.values():
            self.frozen.keep(player_of(member.name, 0), member.weights())
        bots = [bot.name for bot in self.components.spec.bots]
        for event in self.league.initial_events(bots):
            self._apply(event)
        self._write_rows()
        self.report.event("started", seed=self.preset.run.seed)

    def _resume(self, checkpoint: Checkpoint) -> None:
        self.league.replay(self.journal.rows())
        if checkpoint.restart:
            self._restart_matches(checkpoint)
        for member in self.members.values():
            restore_member(member, checkpoint)
            self._saved_versions[member.name] = member.version
        for member in self.members.values():
            member.seating.resume()
        self.context.rewind_log(self.state.log_sizes)
        for request in self.league.pending():
            self._carry_out(request)
        self.report.event("resumed", version=checkpoint.version, steps=self.state.budget.steps)

    def _restart_matches(self, checkpoint: Checkpoint) -> None:
        for member in self.members.values():
            member.state.counts.drop_waiting()
            member.state.counts.opening = Opening()
            member.state.played = False
        self.state.scheduled, self.state.new_matches = [], ""
        self.signatures.restart_matches(checkpoint.version, checkpoint.restart)

    # ---- the loop --------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """See :class:`ludus.training.run_loop.Steps`."""
        return self.components.first.version

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do nothing: between two rounds nothing is under way."""
        yield

    def doing(self) -> str:
        """See :class:`ludus.training.run_loop.Steps`."""
        member = self._playing
        return f"{member.name}: {member.rounds.doing()}"

    def before_learning(self, evaluate: Callable[[], None]) -> None:
        """See :class:`ludus.training.run_loop.Steps`."""
        evaluate()

    def prepare_round(self) -> None:
        """Choose the next member, and assign it new orders where the last ones have been played.

        With ``cluster.ahead``, members are chosen for the rounds after it too, and their slabs asked for.
        """
        scheduled, ahead = self.state.scheduled, self.preset.cluster.ahead
        if not ahead:
            self._playing = self.members[self.league.next_member()]
            self._playing.assign(self._progress())
            return
        while len(scheduled) <= ahead:
            scheduled.append(self.league.next_member(scheduled, self._decisions))
        rounds = Counter[str]()
        for name in scheduled:
            rounds[name] += 1
            member = self.members[name]
            if member.rounds.pending < rounds[name]:
                member.assign(self._progress())
                member.rounds.ask_ahead()
        self._playing = self.members[scheduled[0]]

    def _retire(self, error: PlayerLost) -> None:
        self.report.problem(f"{error}; {error.player} retires from the league")
        self._apply(Retired(error.player))
        for member in self.members.values():
            member.matchmaker.on_lost(error.player, member.version)

    def ask(self) -> None:
        """See :class:`ludus.training.run_loop.Steps`."""
        self._playing.rounds.ask()

    def owes(self) -> bool:
        """Never: Ctrl-C takes effect between two rounds."""
        return False

    def why_untrained(self) -> str:
        """See :class:`ludus.training.run_loop.Steps`: of all members together."""
        return why_untrained(self.preset.algorithm, self.state.gradient_steps, self.state.budget.steps)

    def round(self, evaluate: Callable[[], None] | None) -> None:
        """See :class:`ludus.training.run_loop.Steps`."""
        member = self._playing
        try:
            done = member.play(self._progress(), evaluate)
        except (MatchError, PoolError) as error:
            raise RunFailed(f"{error}; {self.run_dir.checkpoints.stands()}") from error
        self._rounds += 1
        del self.state.scheduled[:1]
        if self.preset.cluster.ahead:
            done.times.cluster["cluster/ahead"] = float(len(self.state.scheduled))
        self.context.clock.lap(self.state.budget)
        self._finished(member, done)
        self._write_rows()

    def _progress(self) -> float:
        return progress(self.preset.run, self.state.budget)

    def _finished(self, member: Member, done: Round) -> None:
        counts, known = member.state.counts, self.league.standings.members[member.name]
        counts.received += done.received
        self.state.received = sum(m.state.counts.received for m in self.members.values())
        updates = known.updates
        if done.update is not None and done.learned is not None:
            updates += 1
            self._learned(member, done.update, done.learned, done.times)
        member.seating.on_results(done.results)
        results = member.matchmaker.take_results()
        self._apply(
            Results(
                member=member.name,
                round=known.rounds,
                steps=counts.budget.steps,
                updates=updates,
                version=member.version,
                tallies=results.tallies,
                episodes=results.episodes,
                returns=results.returns,
            )
        )

    def _learned(
        self, member: Member, update: UpdateStats, summary: RolloutSummary, times: RoundTimes
    ) -> None:
        counts, total = member.state.counts, self.state
        self._counts[member.name].take(counts, update, summary, member.rounds.slots)
        total.budget.steps += summary.steps
        total.budget.ticks += summary.ticks
        total.learned += update.learned
        total.gradient_steps += update.gradient_steps
        total.matches += summary.matches
        total.errors += summary.errors
        self.report.update(
            update_metrics(self.preset, counts, update, summary, times, player=member.name, used=total.budget)
        )

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
            member.set_hyper(request.hyper)
            self._apply(Copied(member.name, request.source, request.hyper))
        else:
            assert isinstance(request, Mutate)
            member.set_hyper(request.hyper)
            self._apply(Mutated(member.name, request.hyper))

    def _reset(self, member: Member, source: str) -> None:
        player = player_of(member.name, 0) if source == SEED else source
        try:
            weights = self.frozen.load(player)
        except PlayerLost as error:
            if source != SEED:
                self._retire(error)  # the league then wants the seed
                source = SEED
            self.report.problem(f"{error}; {member.name} is reset to its first weights, built again")
            weights = member.first_weights()
        member.reset_to(weights, None if source == SEED else self._learner_of(source, member))
        self._apply(Reset(member.name, source))

    def _learner_of(self, player: str, member: Member) -> LearnerState | None:
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

    def on_evaluation(self, results: tuple[EvalResult, ...]) -> None:
        """See :class:`ludus.training.evaluations.Evaluable`: nothing follows from them."""

    def player(self, version: int | None) -> tuple[int, PlayerFactory]:
        """See :class:`ludus.training.run_loop.Steps`. Acting weights are a checkpoint's if one has them."""
        member = self.members.get(self.context.evaluated, self.components.first)
        actor = member.components.actor
        wanted = version
        if version is None and self.saved_already():
            wanted = self._saved_versions.get(member.name)
        if wanted is not None and wanted != actor.version:
            try:
                weights = saved_weights(self.run_dir.checkpoints, member.name, wanted)
            except StorageError:
                if version is not None:
                    raise
            else:
                actor = actor_of(weights, self.components.spec, actor)
        return player_of_actor(self.context, actor, member.name)

    def saved_already(self) -> bool:
        """See :class:`ludus.training.run_loop.Steps`."""
        return self._rounds == self._saved_rounds

    def referred_to(self) -> set[Path]:
        """See :class:`ludus.training.run_loop.Steps`."""
        return self.frozen.written

    def write_checkpoint(self, taken: Callable[[], None] | None = None) -> Path:
        """See :class:`ludus.training.saving.Checkpointable`."""
        self._write_rows()
        if not self.journal.sync():
            raise OSError(None, f"it needs the journal: {self.journal.problem}")
        self.state.journal = self.journal.last
        self.state.log_sizes = self.context.log.sync()
        checkpoint = league_checkpoint(self.members, self.components.first, self.state)
        if taken is not None:
            taken()
        path = self.run_dir.checkpoints.save(checkpoint)
        self._saved_rounds = self._rounds
        self._saved_versions = {name: w.meta.version for name, w in checkpoint.members.items()}
        return path

    def after_checkpoint(self) -> None:
        """See :class:`ludus.training.run_loop.Steps`."""
        self.signatures.after_checkpoint()

    def close(self) -> None:
        """Stop threads and close the journal. Idempotent."""
        self.learner_threads.close()
        self.components.close()
        self.journal.close()
