"""One run, from its first slab to its report.

The thread that calls :meth:`Trainer.run` samples and drives; the learner threads learn. Between two rounds
nothing is under way: there checkpoints are written, opponents are frozen, evaluations are decided on,
and Ctrl-C takes effect.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from ludus.algorithms.learner import UpdateStats
from ludus.pool import MatchError, PoolError
from ludus.presets.config import Preset, RunConfig
from ludus.presets.errors import RunFailed
from ludus.storage import Checkpoint, CorruptFile, why_unsigned
from ludus.training.actor_learner.acting import player_of_version
from ludus.training.actor_learner.async_loop import AsyncRounds, slabs_needed
from ludus.training.actor_learner.build import Components, build
from ludus.training.actor_learner.checkpoint import (
    TrainerState,
    decode_state,
    times_anew,
)
from ludus.training.actor_learner.curriculum import advanced, handover_ticks
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.matchmaking import Matchmaking
from ludus.training.actor_learner.rollout_summary import RolloutSummary
from ludus.training.actor_learner.round_robin_loop import TurnRounds
from ludus.training.actor_learner.signatures import Signatures
from ludus.training.actor_learner.sync_loop import Round, Rounds, RoundTimes
from ludus.training.actor_learner.update_counts import UpdateCounts
from ludus.training.actor_learner.update_metrics import update_metrics
from ludus.training.evaluations import PlayerFactory
from ludus.training.opponents import bot_opponents, measured_against, opponents_of
from ludus.training.run_builder import RunBuilder
from ludus.training.run_context import RunContext
from ludus.training.run_evaluator import RunEvaluator
from ludus.training.stopping import progress, why_untrained


def prepare(preset: Preset, checkpoint: Checkpoint | None = None) -> RunBuilder:
    """See :class:`ludus.training.run_builder.RunBuilderFactory`."""
    components = build_components(preset, checkpoint)
    return RunBuilder(
        components.spec, lambda context: Trainer(context, components, checkpoint), components.close
    )


def build_components(preset: Preset, checkpoint: Checkpoint | None = None) -> Components:
    """The components of a run in the number that its lag mode needs, ready for what ``checkpoint`` holds.

    Raises ``ConfigError`` and ``CorruptFile``.
    """
    return build(preset, slabs_of(preset.run), times_anew(checkpoint) if checkpoint is not None else 0)


def slabs_of(run: RunConfig) -> int:
    """How many slabs a pool fills in turn."""
    if run.topology == "one_to_one":
        return 1
    return slabs_needed(run) if run.lag == "async" else run.queue + 2


def make_rounds(components: Components, preset: Preset) -> tuple[LearnerThreads, Rounds | AsyncRounds]:
    """How the preset collects and learns, and the threads that learn meanwhile."""
    run = preset.run
    own = 2 if run.lag == "async" else 1  # threads that are not the learner's alone
    threads = LearnerThreads(max(0, components.threads - own), first=own)
    if run.lag == "async":
        return threads, AsyncRounds(components, threads, run)
    pipelined = run.lag == "pipelined"
    if run.topology == "one_to_one":
        return threads, TurnRounds(components, threads, pipelined)
    return threads, Rounds(components, threads, pipelined, run.queue)


class Trainer:
    """The steps of a run that trains on slabs of fresh matches (:class:`ludus.training.run_loop.Steps`)."""

    def __init__(
        self, context: RunContext, components: Components, checkpoint: Checkpoint | None = None
    ) -> None:
        preset = context.preset
        self.preset, self.context, self.report = preset, context, context.report
        self.run_dir = context.directory
        self.components = components
        self.learner_threads, self.rounds = make_rounds(components, preset)
        self.state: TrainerState = TrainerState()
        self.matchmaking = Matchmaking(components, self.run_dir, context.needed.write, context.report.problem)
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
                self._begin()
            else:
                self._resume(checkpoint)

    # ---- beginning and going on ------------------------------------------------------------------

    def _begin(self) -> None:
        self.matchmaking.begin()
        self.report.event("started", seed=self.preset.run.seed)

    def _resume(self, checkpoint: Checkpoint) -> None:
        state = decode_state(checkpoint.state)
        if not checkpoint.signed:
            self._begin_matches_anew(checkpoint, state)
        self.rounds.restore(checkpoint, state)
        self.state = state
        self._saved = self.rounds.moment
        try:
            self.matchmaking.resume(state)
        except ValueError as error:
            raise CorruptFile(f"checkpoint of version {checkpoint.version}: {error}") from error
        self.context.rewind_log(state.log_sizes)
        self.report.event("resumed", version=checkpoint.version, steps=state.budget.steps)

    def _begin_matches_anew(self, checkpoint: Checkpoint, state: TrainerState) -> None:
        """Says so, and takes what was in flight out of the counters."""
        state.anew = times_anew(checkpoint)
        state.drop_waiting()
        self.signatures.begin_anew(checkpoint.version, why_unsigned())

    def referred_to(self) -> set[Path]:
        return self.matchmaking.files()

    # ---- the loop --------------------------------------------------------------------------------

    def doing(self) -> str:
        return self.rounds.doing()

    def prepare_round(self) -> None:
        self.matchmaking.advance(self.rounds.paused)
        if self.preset.curriculum.bot:
            self.rounds.set_handover(self._handover())

    def owes(self) -> bool:
        """Never: Ctrl-C takes effect between two rounds."""
        return False

    def why_untrained(self) -> str:
        return why_untrained(self.preset.algorithm, self.state.gradient_steps, self.state.budget.steps)

    def round(self, evaluate: Callable[[], None] | None) -> None:
        try:
            done = self.rounds.run(self._progress(), evaluate)
        except (MatchError, PoolError) as error:
            raise RunFailed(f"{error}; the newest checkpoint stands") from error
        self._finished_round(done)

    def paused(self) -> AbstractContextManager[None]:
        return self.rounds.paused()

    def close(self) -> None:
        """Stops threads. Idempotent."""
        self.rounds.close()
        self.learner_threads.close()
        self.components.close()

    @property
    def version(self) -> int:
        return self.components.learner.version

    def _progress(self) -> float:
        return progress(self.preset.run, self.state.budget)

    def _handover(self) -> int:
        return handover_ticks(self.preset.curriculum, self._progress(), self.state.handover)

    def _finished_round(self, done: Round) -> None:
        state = self.state
        state.received += done.received
        state.dropped += done.dropped
        self.matchmaking.on_results(done.results)
        self.context.clock.lap(state.budget)
        if done.update is not None and done.learned is not None:
            self._learned(done.update, done.learned, done.times)

    def _learned(self, update: UpdateStats, summary: RolloutSummary, times: RoundTimes) -> None:
        curriculum, handover = self.preset.curriculum, None
        self.state.count_help(bool(curriculum.bot) and self._handover() > 0)
        self._counts.take(self.state, update, summary)
        if curriculum.bot:
            if curriculum.advance > 0.0:
                self.state.handover = advanced(curriculum, self.state.handover, summary.outcomes)
            handover = self._handover()
        self.report.update(
            update_metrics(self.preset.run, self.state, update, summary, times, handover_ticks=handover)
        )

    def player(self, version: int | None) -> tuple[int, PlayerFactory]:
        return player_of_version(self.context, self.components.spec, self.rounds.actor, version)

    # ---- files -----------------------------------------------------------------------------------

    def saved_already(self) -> bool:
        return self.rounds.moment == self._saved

    def write_checkpoint(self) -> Path:
        state = self.state
        state.log_sizes = self.context.log.sync()
        self.matchmaking.store(state)
        path = self.run_dir.checkpoints.save(self.rounds.checkpoint(state))
        self._saved = self.rounds.moment
        return path

    def after_checkpoint(self) -> None:
        self.signatures.after_checkpoint()
        self.matchmaking.drop_files()
