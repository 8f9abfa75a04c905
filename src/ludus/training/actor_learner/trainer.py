"""One run, from its first slab to its report.

The thread that calls :meth:`Trainer.run` samples and drives; the learner threads learn. Between two rounds
nothing is under way: there checkpoints are written, opponents are frozen, evaluations are decided on,
and Ctrl-C takes effect.
"""

from __future__ import annotations

from pathlib import Path

from ludus.league.players import member_and_version
from ludus.presets.config import Preset, RunConfig
from ludus.storage import Checkpoint
from ludus.training.actor_learner.acting import actor_of_version, player_of_version
from ludus.training.actor_learner.async_loop import AsyncRounds, slabs_needed
from ludus.training.actor_learner.build import Components, build
from ludus.training.actor_learner.checkpoint import count_restarts
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.member import Member
from ludus.training.actor_learner.round_robin_loop import TurnRounds
from ludus.training.actor_learner.seating import PlayerLost, Seating
from ludus.training.actor_learner.slab_steps import SlabSteps, in_group
from ludus.training.actor_learner.snapshots import Snapshots
from ludus.training.actor_learner.state import TrainerState, decode_state
from ludus.training.actor_learner.sync_loop import Rounds
from ludus.training.machines import LOCAL, Machines
from ludus.training.opponents import bot_opponents, build_matchmaker, measured_against, opponents_of
from ludus.training.records.sampler import held_out_of
from ludus.training.run_builder import RunBuilder
from ludus.training.run_context import RunContext
from ludus.training.run_evaluator import PlayerFactory


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


def make_rounds(components: Components, preset: Preset) -> tuple[LearnerThreads, Rounds]:
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


class Trainer(SlabSteps):
    """The steps of a run with one learner."""

    def __init__(
        self, context: RunContext, components: Components, checkpoint: Checkpoint | None = None
    ) -> None:
        """Start a run, or resume ``checkpoint``. The components are closed with the trainer."""
        preset, spec = context.preset, components.spec
        self.state = TrainerState()
        if checkpoint is not None:
            self.state = decode_state(checkpoint.state)
            self.state.restarts = count_restarts(checkpoint)
        member = Member("", preset, components, self.state)
        threads, member.rounds = make_rounds(components, preset)
        self.snapshots = Snapshots(context.directory, context.needed.write)
        matchmaker = build_matchmaker(spec, preset)
        self.seating = member.seating = Seating(
            components.sampler, matchmaker, components.learner, self.snapshots, self._lost
        )
        against = measured_against(spec, preset, bot_opponents(opponents_of(spec, preset)))
        self._held_out = held_out_of(preset, components.sampler)
        super().__init__(context, {"": member}, member, threads, against)
        self.start_or_resume(checkpoint)

    def _start(self) -> None:
        self.seating.start()

    def _lost(self, error: PlayerLost) -> None:
        version = member_and_version(error.player)[1]
        self.report.problem(f"{error}; past opponents continue without version {version}")
        self.seating.matchmaker.on_lost(error.player, self.version)

    def prepare_round(self) -> None:
        """Seat the opponents of the next round, and set its terms."""
        self.first.assign(self.state.budget)

    def player(self, version: int | None) -> tuple[int, PlayerFactory]:
        """Return the weights of ``version``, None for the newest, as a player of evaluations."""
        return player_of_version(self.context, self.first.components.spec, self.first.rounds.actor, version)

    def held_out(self, version: int) -> dict[str, float]:
        """See :meth:`RunSteps.held_out`."""
        if self._held_out is None:
            return {}
        spec, actor = self.first.components.spec, self.first.rounds.actor
        return self._held_out.measure(actor_of_version(self.context, spec, actor, version))

    # ---- files -----------------------------------------------------------------------------------

    def referred_to(self) -> set[Path]:
        """Return the files of frozen opponents."""
        return self.snapshots.paths(self.seating.kept())

    def make_checkpoint(self) -> Checkpoint:
        """Return the state between two rounds."""
        self.seating.store(self.state)
        with in_group(self.run_dir.checkpoints):
            return self.first.rounds.checkpoint(self.state)

    def after_checkpoint(self) -> None:
        """Report missing signatures, and remove files that no checkpoint needs."""
        super().after_checkpoint()
        self.snapshots.drop_others(self.seating.kept())
