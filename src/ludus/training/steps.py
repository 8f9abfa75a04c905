"""Steps of a run that trainers share; each trainer adds what only its way to train has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from ludus.algorithms.group import GroupError, RankLost
from ludus.algorithms.updates.tasks import LearnerProcessError
from ludus.evaluation.results import EvalResult
from ludus.flow import GameSpec
from ludus.pool import MatchError, PoolError
from ludus.presets.errors import GroupLost, RunFailed
from ludus.storage import Checkpoint, CheckpointStore
from ludus.training.actor_learner.checkpoint import TrainerState
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.member import Member
from ludus.training.actor_learner.signatures import Signatures
from ludus.training.actor_learner.sync_loop import Round
from ludus.training.actor_learner.update_counts import UpdateCounts
from ludus.training.actor_learner.update_metrics import update_metrics
from ludus.training.evaluations import EvaluationState
from ludus.training.run_context import RunContext
from ludus.training.run_evaluator import RunEvaluator
from ludus.training.stopping import progress, why_untrained


class RunState(EvaluationState, Protocol):
    """Counters of a run, as every trainer has them."""

    log_sizes: dict[str, int]


class RunSteps:
    """Steps of any run (:class:`ludus.training.run_loop.Steps`)."""

    state: RunState

    def __init__(
        self, context: RunContext, spec: GameSpec, params: dict[str, str], against: tuple[str, ...]
    ) -> None:
        """Evaluate the game ``spec`` under ``params`` against the players ``against``."""
        self.preset, self.context, self.report = context.preset, context, context.report
        self.run_dir = context.directory
        self.run_evaluator = RunEvaluator(
            context.preset, spec, params, against, context.log, context.interrupted
        )
        self._saved: object = None

    @property
    def progress(self) -> float:
        """Share of the budget that is used."""
        return progress(self.preset.run, self.state.budget)

    def before_learning(self, evaluate: Callable[[], None]) -> None:
        """Evaluate the initial weights now."""
        evaluate()

    def prepare_round(self) -> None:
        """Do nothing."""

    def ask(self) -> None:
        """Do nothing: no round has to be requested."""

    def owes(self) -> bool:
        """Return False: Ctrl-C takes effect between two rounds."""
        return False

    def on_evaluation(self, results: tuple[EvalResult, ...]) -> None:
        """Do nothing: training does not depend on evaluations."""

    # ---- files -----------------------------------------------------------------------------------

    def moment(self) -> object:
        """Return a value that differs after everything worth a checkpoint."""
        raise NotImplementedError

    def make_checkpoint(self) -> Checkpoint:
        """Return the state between two rounds."""
        raise NotImplementedError

    def saved_already(self) -> bool:
        """Return whether the current state is on disk."""
        return self.moment() == self._saved

    def write_checkpoint(self, taken: Callable[[], None] | None = None) -> Path:
        """See :class:`ludus.training.saving.Checkpointable`."""
        self.state.log_sizes = self.context.log.sync()
        checkpoint = self.make_checkpoint()
        if taken is not None:
            taken()
        path = self.run_dir.checkpoints.save(checkpoint)
        self._saved = self.moment()
        return path


class SlabSteps(RunSteps):
    """Steps of a run that trains on slabs of fresh matches. It has one member, or those of a league."""

    state: TrainerState
    members: Mapping[str, Member]

    def __init__(
        self,
        context: RunContext,
        members: Mapping[str, Member],
        first: Member,
        threads: LearnerThreads,
        against: tuple[str, ...],
    ) -> None:
        """Own ``members`` and ``threads``. The run's version is that of ``first``."""
        super().__init__(context, first.components.spec, first.components.params, against)
        self.first, self.playing, self.learner_threads = first, first, threads
        self.signatures = Signatures(context)
        self.members = members
        self._counts = {name: UpdateCounts(context.report) for name in members}
        self._rounds = self._saved = 0  # since the process started

    # ---- starting and resuming -------------------------------------------------------------------

    def start_or_resume(self, checkpoint: Checkpoint | None) -> None:
        """Get ready for the first round. Raises ``CorruptFile``."""
        with self.paused():
            if checkpoint is None:
                self._start()
                self.report.event("started", seed=self.preset.run.seed)
                return
            if checkpoint.restart:
                self._restart_matches(checkpoint)
            for member in self.members.values():
                with in_group(self.run_dir.checkpoints):
                    member.restore(checkpoint)
            for member in self.members.values():
                member.seating.resume()
            self.context.rewind_log(self.state.log_sizes)
            self._resumed()
            self.report.event("resumed", version=checkpoint.version, steps=self.state.budget.steps)

    def _start(self) -> None:
        """Seat the players of a new run."""
        raise NotImplementedError

    def _resumed(self) -> None:
        """Continue what the checkpoint had started."""

    def _restart_matches(self, checkpoint: Checkpoint) -> None:
        """Report it, and remove the matches in flight from the counters."""
        for member in self.members.values():
            member.restart_matches()
        self.state.new_matches = ""
        self.signatures.restart_matches(checkpoint.version, checkpoint.restart)

    # ---- the loop --------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """Version of the newest weights."""
        return self.first.version

    def doing(self) -> str:
        """Describe the matches in play."""
        name, doing = self.playing.name, self.playing.rounds.doing()
        return f"{name}: {doing}" if name else doing

    def paused(self) -> AbstractContextManager[None]:
        """Return a context in which nothing is played."""
        return self.playing.rounds.paused()

    def ask(self) -> None:
        """Ask for the slab of the prepared round."""
        self.playing.rounds.ask()

    def why_untrained(self) -> str:
        """Return why no gradient step was made; empty if one was."""
        return why_untrained(self.preset.algorithm, self.state.gradient_steps, self.state.budget.steps)

    def play(self, evaluate: Callable[[], None] | None) -> Round:
        """Collect a slab and learn from one. ``evaluate`` runs in the sampler's turn.

        Raises:
            GroupLost: A learner of the group is gone.
            RunFailed: Training cannot continue.
        """
        store = self.run_dir.checkpoints
        try:
            with in_group(store):
                done = self.playing.play(self.progress, evaluate)
        except (MatchError, PoolError, LearnerProcessError) as error:
            raise RunFailed(f"{error}; {store.stands()}") from error
        self._rounds += 1
        return done

    def round(self, evaluate: Callable[[], None] | None) -> None:
        """Play a round and count what it did."""
        done = self.play(evaluate)
        member = self.playing
        member.counts.received += done.received
        member.counts.dropped += done.dropped
        member.seating.on_results(done.results)
        self.context.clock.lap(self.state.budget)
        self._learned(member, done)
        self.counted(done)

    def counted(self, done: Round) -> None:
        """Do nothing: only a league takes decisions after a round."""

    def _learned(self, member: Member, done: Round) -> None:
        """Count and report the update of a round, if it made one."""
        update, summary, counts = done.update, done.learned, member.counts
        if update is None or summary is None:
            return
        counts.count_help(self.preset.curriculum, self.progress)
        self._counts[member.name].take(counts, update, summary, member.rounds.slots)
        counts.advance(self.preset.curriculum, summary)
        if counts is not self.state:
            self.state.count_update(update, summary)
        used = self.state.budget
        self.report.update(
            update_metrics(self.preset, counts, update, summary, done.times, player=member.name, used=used)
        )

    # ---- files -----------------------------------------------------------------------------------

    def moment(self) -> int:
        """Return the number of rounds."""
        return self._rounds

    def after_checkpoint(self) -> None:
        """Report missing signatures."""
        self.signatures.after_checkpoint()

    def close(self) -> None:
        """Stop threads. Idempotent."""
        for member in self.members.values():
            member.rounds.close()
        self.learner_threads.close()
        for member in self.members.values():
            member.close()


@contextmanager
def in_group(store: CheckpointStore) -> Iterator[None]:
    """Let the body end the run if the learners of a group cannot continue together.

    Raises:
        GroupLost: One of them is gone.
        RunFailed: They differ, or one of them failed.
    """
    try:
        yield
    except RankLost as error:
        raise GroupLost(f"{error}; {store.stands()}") from error
    except GroupError as error:
        raise RunFailed(str(error)) from error
