"""Steps of a run whose members learn from slabs of fresh matches: one learner, or a league."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ludus.algorithms.group import GroupError, RankLost
from ludus.algorithms.learner import UpdateStats
from ludus.algorithms.updates.tasks import LearnerProcessError
from ludus.evaluation.results import EvalResult
from ludus.pool import MatchError, PoolError
from ludus.presets.errors import ConfigError, GroupLost, RunFailed
from ludus.storage import Checkpoint, CheckpointStore
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.member import Member, broken_update
from ludus.training.actor_learner.state import TrainerState
from ludus.training.actor_learner.sync_loop import Round
from ludus.training.actor_learner.update_metrics import update_metrics
from ludus.training.run_context import RunContext
from ludus.training.steps import RunSteps
from ludus.training.stopping import Budget, why_untrained


@dataclass(frozen=True, slots=True)
class UpdateToReport:
    """An update that is to be reported.

    Attributes:
        member: Who made it.
        done: Its round.
        counts: The member's counters after the round.
        used: Budget that the run had used after the round.
    """

    member: Member
    done: Round
    counts: TrainerState
    used: Budget

    @property
    def is_there(self) -> bool:
        """Whether it has been made."""
        return self.done.coming is None or self.done.coming.is_there


def check_update(update: UpdateStats) -> None:
    """Check an update.

    Raises:
        ConfigError: The method cannot learn under its settings.
        RunFailed: A number of the update is not finite.
    """
    if update.refusal:
        raise ConfigError(update.refusal)
    if (broken := broken_update(update)) is not None:
        raise broken


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
        self.members = members
        self._unsigned = ""  # why checkpoints have no signature, as it was reported
        self._rounds = self._saved = 0  # since the process started
        self._updates: deque[UpdateToReport] = deque()  # oldest first

    # ---- starting and resuming -------------------------------------------------------------------

    def start_or_resume(self, checkpoint: Checkpoint | None) -> None:
        """Get ready for the first round. Raises ``CorruptFile``."""
        with self.paused():
            if checkpoint is None:
                self._start()
                self._report_schedules()
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
            self._report_schedules()
            self.report.event("resumed", version=checkpoint.version, steps=self.state.budget.steps)

    @abstractmethod
    def _start(self) -> None:
        """Seat the players of a new run."""

    def _resumed(self) -> None:
        """Continue what the checkpoint had started."""

    def _report_schedules(self) -> None:
        for schedule in self.first.schedules:
            if text := schedule.text():
                self.report.message(text)

    def _restart_matches(self, checkpoint: Checkpoint) -> None:
        """Report it, and remove the matches in flight from the counters."""
        for member in self.members.values():
            member.restart_matches()
        self.state.new_matches = ""
        self.report.message(
            f"matches restart (checkpoint of version {checkpoint.version}: {checkpoint.restart}); weights, "
            "optimiser and counters continue"
        )

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
        self.report_updates(wait=True)
        return why_untrained(self.preset.algorithm, self.state.gradient_steps, self.state.budget.steps)

    def play(self, evaluate: Callable[[], None] | None) -> Round:
        """Collect a slab and learn from one. ``evaluate`` runs in the sampler's turn.

        Raises:
            GroupLost: A learner of the group is gone.
            RunFailed: Training cannot continue.
        """
        if evaluate is not None:
            self.report_updates(wait=True)  # rows of a run stay in the order of its rounds
        with self.failing(), self.blaming(self.playing.name):
            done = self.playing.play(self.progress, evaluate)
        self._rounds += 1
        return done

    def blaming(self, member: str) -> AbstractContextManager[None]:
        """Return a context for what ``member`` plays and learns. A league may continue without a member."""
        return nullcontext()

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Let the body end the run where a game, a pool, a process or a group fails.

        Raises:
            GroupLost: A learner of the group is gone.
            RunFailed: Training cannot continue.
        """
        store = self.run_dir.checkpoints
        try:
            with in_group(store):
                yield
        except (MatchError, PoolError, LearnerProcessError) as error:
            raise RunFailed(f"{error}; {store.stands()}") from error

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
        self.report_updates()

    def counted(self, done: Round) -> None:
        """Do nothing: only a league takes decisions after a round."""

    def _learned(self, member: Member, done: Round) -> None:
        """Count the slab of a round's update, if it makes one, and note the update to be reported."""
        summary, counts, used = done.learned, member.counts, self.state.budget
        if summary is None or not done.learns:
            return
        if done.update is not None:
            with self.blaming(member.name):
                check_update(done.update)
        for schedule in member.schedules:
            schedule.on_update(summary, used)
        member.count(summary)
        if summary.errors:
            self.report.problem(
                f"{summary.errors} matches ended by an error of the game (version {member.version}); "
                f"the first: {summary.first_error}"
            )
        with self.blaming(member.name):
            member.check_matches(summary)
        if counts is not self.state:
            self.state.count_slab(summary)
        then = msgspec.structs.replace(counts, budget=msgspec.structs.replace(counts.budget))
        self._updates.append(UpdateToReport(member, done, then, msgspec.structs.replace(used)))
        if done.coming is None:
            self.report_updates()

    def report_updates(self, *, wait: bool = False) -> None:
        """Report the updates that have been made, in the order of their rounds.

        Args:
            wait: Whether to wait for those that other processes still make.

        Raises:
            ConfigError: The method cannot learn under its settings.
            RunFailed: A number of an update is not finite, or a process failed.
        """
        while self._updates and (wait or self._updates[0].is_there):
            made = self._updates.popleft()
            done, member = made.done, made.member
            if done.coming is not None:
                with self.failing(), self.blaming(member.name):
                    done.coming.fill(done)
                self.state.budget.cpu_minutes += done.times.cpu_s / 60.0
            if done.update is None or done.learned is None:
                continue
            with self.blaming(member.name):
                check_update(done.update)
            for counts in (member.counts,) if member.counts is self.state else (member.counts, self.state):
                counts.count_update(done.update)
            made.counts.learned = member.counts.learned
            made.counts.gradient_steps = member.counts.gradient_steps
            self.report.update(
                update_metrics(self.preset, member, made.counts, done.update, done.learned, done, made.used)
            )

    def on_evaluation(self, results: tuple[EvalResult, ...]) -> None:
        """Let the schedules react; terms that they change are reported."""
        for schedule in self.playing.schedules:
            if text := schedule.on_evaluation(results):
                self.playing.set_terms(self.state.budget)
                self.report.message(text)

    # ---- files -----------------------------------------------------------------------------------

    def write_checkpoint(self, taken: Callable[[], None] | None = None) -> Path:
        """Report all updates, and write a checkpoint. See :meth:`RunSteps.write_checkpoint`."""
        self.report_updates(wait=True)
        return super().write_checkpoint(taken)

    def moment(self) -> int:
        """Return the number of rounds."""
        return self._rounds

    def after_checkpoint(self) -> None:
        """Report once why checkpoints are not signed (decision 0016)."""
        why = self.run_dir.checkpoints.unsigned
        if why and not self._unsigned:
            self.report.problem(f"checkpoints are not signed: {why}; a resumed run restarts its matches")
        self._unsigned = why

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
