"""One run, from its first slab to its report.

The thread that calls :meth:`Trainer.run` samples and drives; the learner threads learn. Between two rounds
nothing is under way: there checkpoints are written, opponents are frozen, evaluations are decided on,
and Ctrl-C takes effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from ludus.algorithms.group import GroupError, RankLost
from ludus.algorithms.learner import UpdateStats
from ludus.algorithms.updates.tasks import LearnerProcessError
from ludus.evaluation.results import EvalResult
from ludus.league.players import member_and_version
from ludus.pool import MatchError, PoolError
from ludus.presets.checks.before import before_text
from ludus.presets.config import Preset, RunConfig
from ludus.presets.errors import GroupLost, RunFailed
from ludus.storage import Checkpoint, CheckpointStore, CorruptFile
from ludus.training.actor_learner.acting import player_of_version
from ludus.training.actor_learner.async_loop import AsyncRounds, slabs_needed
from ludus.training.actor_learner.build import Components, build
from ludus.training.actor_learner.checkpoint import (
    TrainerState,
    count_restarts,
    decode_state,
)
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.old_rules import evaluated, moved
from ludus.training.actor_learner.rollout_summary import Opening, RolloutSummary
from ludus.training.actor_learner.round_robin_loop import TurnRounds
from ludus.training.actor_learner.seating import PlayerLost, Seating
from ludus.training.actor_learner.signatures import Signatures
from ludus.training.actor_learner.snapshots import Snapshots
from ludus.training.actor_learner.sync_loop import Round, Rounds, RoundTimes
from ludus.training.actor_learner.update_counts import UpdateCounts
from ludus.training.actor_learner.update_metrics import update_metrics
from ludus.training.evaluations import PlayerFactory
from ludus.training.machines import LOCAL, Machines
from ludus.training.opponents import bot_opponents, build_matchmaker, measured_against, opponents_of
from ludus.training.run_builder import RunBuilder
from ludus.training.run_context import RunContext
from ludus.training.run_evaluator import RunEvaluator
from ludus.training.stopping import progress, why_untrained


def prepare(preset: Preset, checkpoint: Checkpoint | None = None, machines: Machines = LOCAL) -> RunBuilder:
    """See :class:`ludus.training.run_builder.RunBuilderFactory`."""
    components = build_components(preset, checkpoint, machines)
    return RunBuilder(
        components.spec, lambda context: Trainer(context, components, checkpoint), components.close
    )


def build_components(
    preset: Preset, checkpoint: Checkpoint | None = None, machines: Machines = LOCAL
) -> Components:
    """Build the components of a run in the number that its lag mode needs, ready for ``checkpoint``.

    Raises ``ConfigError`` and ``CorruptFile``.
    """
    restarts = count_restarts(checkpoint) if checkpoint is not None else 0
    return build(preset, slabs_of(preset.run), restarts, machines)


def slabs_of(run: RunConfig) -> int:
    """Return the number of slabs that a pool fills in turn."""
    if run.topology == "one_to_one":
        return 1
    return slabs_needed(run) if run.lag == "async" else run.queue + 2


def make_rounds(components: Components, preset: Preset) -> tuple[LearnerThreads, Rounds | AsyncRounds]:
    """Return the threads that learn, and the rounds that collect and learn as the preset asks."""
    run = preset.run
    own = 2 if run.lag == "async" else 1  # threads that are not the learner's alone
    threads = LearnerThreads(components.learner_threads(own), first=own)
    if run.lag == "async":
        return threads, AsyncRounds(components, threads, run, overtaking=preset.cluster.rollouts > 1)
    pipelined = run.lag == "pipelined"
    if run.topology == "one_to_one":
        return threads, TurnRounds(components, threads, pipelined)
    return threads, Rounds(components, threads, pipelined, run.queue)


@contextmanager
def _in_group(store: CheckpointStore) -> Iterator[None]:
    """Let the body end the run where the learners of a group cannot continue together.

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


class Trainer:
    """The steps of a run that trains on slabs of fresh matches (:class:`ludus.training.run_loop.Steps`)."""

    def __init__(
        self, context: RunContext, components: Components, checkpoint: Checkpoint | None = None
    ) -> None:
        """Start a run, or resume ``checkpoint``. The components are closed with the trainer."""
        preset = context.preset
        self.preset, self.context, self.report = preset, context, context.report
        self.run_dir = context.directory
        self.components = components
        self.learner_threads, self.rounds = make_rounds(components, preset)
        self.state: TrainerState = TrainerState()
        self.snapshots = Snapshots(self.run_dir, context.needed.write)
        self.seating = Seating(
            components.sampler,
            build_matchmaker(components.spec, preset),
            components.learner,
            self.snapshots,
            self._lost,
        )
        self.run_evaluator = RunEvaluator(
            preset,
            self.components.spec,
            self.components.params,
            measured_against(components.spec, preset, bot_opponents(opponents_of(components.spec, preset))),
            context.log,
            should_stop=context.interrupted,
        )
        self._counts = UpdateCounts(context.report)
        self._saved = 0
        self.signatures = Signatures(context)
        with self.rounds.paused():
            if checkpoint is None:
                self._start()
            else:
                self._resume(checkpoint)

    # ---- starting and resuming -------------------------------------------------------------------

    def _start(self) -> None:
        self.seating.start()
        self._report_old_rules()
        self.report.event("started", seed=self.preset.run.seed)

    def _resume(self, checkpoint: Checkpoint) -> None:
        state = decode_state(checkpoint.state)
        if checkpoint.restart:
            self._restart_matches(checkpoint, state)
        with _in_group(self.run_dir.checkpoints):
            self.rounds.restore(checkpoint, state)
        self.state = state
        self._saved = self.rounds.progress_marker
        try:
            self.seating.load(state, restarted=bool(checkpoint.restart))
        except ValueError as error:
            raise CorruptFile(f"checkpoint of version {checkpoint.version}: {error}") from error
        self.seating.resume()
        self.context.rewind_log(state.log_sizes)
        self._report_old_rules()
        self.report.event("resumed", version=checkpoint.version, steps=state.budget.steps)

    def _report_old_rules(self) -> None:
        if (before := self.preset.game.before) is not None:
            state = self.state.before
            now = f"; now {before.share_at(state.way):.1%}" if state is not None else ""
            self.report.message(f"{before_text(before)}{now}")

    def _restart_matches(self, checkpoint: Checkpoint, state: TrainerState) -> None:
        """Report it, and remove the matches in flight from the counters."""
        state.restarts = count_restarts(checkpoint)
        state.drop_waiting()
        state.new_matches, state.opening = "", Opening()
        self.signatures.restart_matches(checkpoint.version, checkpoint.restart)

    def _lost(self, error: PlayerLost) -> None:
        version = member_and_version(error.player)[1]
        self.report.problem(f"{error}; past opponents continue without version {version}")
        self.seating.matchmaker.on_lost(error.player, self.version)

    def referred_to(self) -> set[Path]:
        """Return the files of frozen opponents."""
        return self.snapshots.paths(self.seating.kept())

    # ---- the loop --------------------------------------------------------------------------------

    def doing(self) -> str:
        """Describe the matches in play."""
        return self.rounds.doing()

    def before_learning(self, evaluate: Callable[[], None]) -> None:
        """See :class:`ludus.training.run_loop.Steps`."""
        evaluate()

    def prepare_round(self) -> None:
        """Seat the opponents of the next round, and set its terms."""
        self.seating.advance(self.rounds.paused)
        self._set_terms()

    def _set_terms(self) -> None:
        """Set the conditions of play by the budget that is used."""
        before, run = self.preset.game.before, self.preset.run
        if before is not None:
            self.state.before = moved(before, run, self.state.budget, self.state.before)
        self.rounds.terms = self.state.terms(self.preset, self._progress())

    def on_evaluation(self, results: tuple[EvalResult, ...]) -> None:
        """See :class:`ludus.training.evaluations.Evaluable`: a fall may set back new rules."""
        before, state = self.preset.game.before, self.state.before
        if before is None or state is None:
            return
        self.state.before = evaluated(before, state, results)
        if self.state.before.setbacks > state.setbacks:
            self._set_terms()
            share = before.share_at(self.state.before.way)
            self.report.message(
                f"the evaluation fell by more than game.before.setback = {before.setback:g}: "
                f"old rules in {share:.1%} of the slabs, a share that moves at half the speed from now on"
            )

    def ask(self) -> None:
        """See :class:`ludus.training.run_loop.Steps`."""
        self.rounds.ask()

    def owes(self) -> bool:
        """Return False: Ctrl-C takes effect between two rounds."""
        return False

    def why_untrained(self) -> str:
        """Return why no gradient step was made; empty if one was."""
        return why_untrained(self.preset.algorithm, self.state.gradient_steps, self.state.budget.steps)

    def round(self, evaluate: Callable[[], None] | None) -> None:
        """Collect a slab and learn from one. ``evaluate`` runs in the sampler's turn."""
        try:
            with _in_group(self.run_dir.checkpoints):
                done = self.rounds.run(self._progress(), evaluate)
        except (MatchError, PoolError, LearnerProcessError) as error:
            raise RunFailed(f"{error}; {self.run_dir.checkpoints.stands()}") from error
        self._finished_round(done)

    def paused(self) -> AbstractContextManager[None]:
        """Return a context in which nothing is played."""
        return self.rounds.paused()

    def close(self) -> None:
        """Stop threads. Idempotent."""
        self.rounds.close()
        self.learner_threads.close()
        self.components.close()

    @property
    def version(self) -> int:
        """Version of the newest weights."""
        return self.components.learner.version

    def _progress(self) -> float:
        return progress(self.preset.run, self.state.budget)

    def _finished_round(self, done: Round) -> None:
        state = self.state
        state.received += done.received
        state.dropped += done.dropped
        self.seating.on_results(done.results)
        self.context.clock.lap(state.budget)
        if done.update is not None and done.learned is not None:
            self._learned(done.update, done.learned, done.times)

    def _learned(self, update: UpdateStats, summary: RolloutSummary, times: RoundTimes) -> None:
        self.state.count_help(self.preset.curriculum, self._progress())
        self._counts.take(self.state, update, summary, self.rounds.slots)
        self.state.advance(self.preset.curriculum, summary)
        self.report.update(update_metrics(self.preset, self.state, update, summary, times))

    def player(self, version: int | None) -> tuple[int, PlayerFactory]:
        """Return the weights of ``version``, None for the newest, as a player of evaluations."""
        return player_of_version(self.context, self.components.spec, self.rounds.actor, version)

    # ---- files -----------------------------------------------------------------------------------

    def saved_already(self) -> bool:
        """Return whether the current state is on disk."""
        return self.rounds.progress_marker == self._saved

    def write_checkpoint(self, taken: Callable[[], None] | None = None) -> Path:
        """See :class:`ludus.training.saving.Checkpointable`."""
        state = self.state
        state.log_sizes = self.context.log.sync()
        self.seating.store(state)
        with _in_group(self.run_dir.checkpoints):
            checkpoint = self.rounds.checkpoint(state)
        if taken is not None:
            taken()
        path = self.run_dir.checkpoints.save(checkpoint)
        self._saved = self.rounds.progress_marker
        return path

    def after_checkpoint(self) -> None:
        """Report missing signatures, and remove files that no checkpoint needs."""
        self.signatures.after_checkpoint()
        self.snapshots.drop_others(self.seating.kept())
