"""Counters of a checkpoint beside the tensors, and how a run returns to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import msgspec
import numpy as np

from ludus.algorithms.learner import UpdateStats
from ludus.flow import MatchResult, Slab, Terms
from ludus.flow.inputs.decode import from_json
from ludus.flow.inputs.shown import visible
from ludus.flow.slab import Array
from ludus.presets.config import CurriculumConfig, Preset
from ludus.rollouts.commands import RestoreMatches, StartAt, TakeSnapshot
from ludus.rollouts.exchange import INCARNATION, TIME_STEP
from ludus.storage import Checkpoint, CorruptFile
from ludus.training.actor_learner.build import Components
from ludus.training.actor_learner.curriculum import (
    Handover,
    advanced,
    handover_ticks,
    terms_at,
    terms_numbers,
)
from ludus.training.actor_learner.old_rules import OldRules
from ludus.training.actor_learner.rollout_summary import (
    Opening,
    RolloutSummary,
    running_return,
    running_win_rate,
)
from ludus.training.candidates import Candidate
from ludus.training.stopping import Budget

#: Start of an array's name where several samplers are joined; of a league, after the member's name.
SAMPLER = re.compile(r"(?:[^/]*/)?(sampler[0-9]+)\.")
SCHEMA = 1
MAX_TIME_STEP = 1 << 62


class Turns(msgspec.Struct, frozen=True):
    """State of pools that take turns: the number of turns, each pool's full slab and version."""

    turn: int
    full: list[RolloutSummary | None]
    versions: list[int]


class ArrivedSlab(msgspec.Struct):
    """A slab in a checkpoint that was played ahead of its round: see ``cluster.ahead``.

    ``in_play``: number of matches in play after it, by the tag of their order.
    """

    summary: RolloutSummary
    results: list[MatchResult]
    in_play: dict[int, int]


class NewMatches(msgspec.Struct):
    """Part of the state of any method: why its matches start again; empty: they do not."""

    new_matches: Annotated[str, msgspec.Meta(max_length=512)] = ""


class TrainerState(msgspec.Struct):
    """Counters of a run: everything that decides what happens next, apart from tensors and matches."""

    schema: int = SCHEMA
    budget: Budget = msgspec.field(default_factory=Budget)
    received: int = 0  # decisions collected
    learned: int = 0  # decisions differentiated, epochs counted
    gradient_steps: int = 0  # of the optimiser
    dropped: int = 0
    matches: int = 0
    errors: int = 0
    opening: Opening = Opening()  # until it is over, ``win_rate`` and ``mean_return`` stay as they are
    win_rate: dict[str, float] = {}
    helped: bool = False  # a curriculum's bot played the first ticks of the matches in ``win_rate``
    evaluations: int = 0  # made so far
    evaluated_steps: int = 0  # budget.steps of the last one
    evaluation_due: bool = False  # one that was decided on but not made when the checkpoint was written
    mean_return: float | None = None  # running average of the training matches, None before the first
    best_score: float | None = None
    best_version: int = -1
    best_player: str = ""  # of a league: whose version it is
    candidates: list[Candidate] = []  # best first
    acting_version: int = 0
    filled: RolloutSummary | None = None  # of the slab that waits for the learner; of several the oldest
    queued: list[RolloutSummary] = []  # of the others, oldest first
    arrived: list[ArrivedSlab] = []  # of rounds to come; their slabs follow those that wait
    in_play: dict[int, int] = {}  # matches by tag before the first of ``arrived``
    matchmaker: msgspec.Raw = msgspec.Raw(b"{}")  # JSON, the matchmaker's own
    frozen: list[str] = []  # players whose stored weights this checkpoint refers to
    lanes: dict[int, str] = {}  # policy id -> the player that it stands for
    turns: Turns | None = None  # with run.topology = "one_to_one"
    handover: Handover = Handover()
    before: OldRules | None = None  # with game.before, once its share has been set
    restarts: int = 0  # number of times that the run's matches started again
    new_matches: str = ""  # why matches start again with the next resume; surgery sets it
    log_sizes: dict[str, int] = {}
    learner: dict[str, int] = {}

    @property
    def waiting(self) -> list[RolloutSummary]:
        """Summaries of the slabs that wait for the learner, oldest first."""
        return [] if self.filled is None else [self.filled, *self.queued]

    def terms(self, preset: Preset, done: float) -> Terms:
        """Return the conditions of play when the share ``done`` (0..1) of the budget is used."""
        return terms_at(preset, done, self.handover, self.before)

    def terms_numbers(self, preset: Preset, done: float) -> dict[str, float]:
        """Return the metrics of :meth:`terms`, but for ``game.before``."""
        return terms_numbers(preset, done, self.handover)

    def advance(self, config: CurriculumConfig, summary: RolloutSummary) -> None:
        """Move a curriculum that advances by win rate."""
        if config.bot and config.advance > 0.0:
            self.handover = advanced(config, self.handover, summary.outcomes)

    def count_help(self, config: CurriculumConfig, done: float) -> None:
        """Note whether a curriculum's bot plays for the policy: win rates with and without it never mix."""
        helped = handover_ticks(config, done, self.handover) > 0
        if helped != self.helped:
            self.helped, self.win_rate = helped, {}
            if not self.opening.over:
                self.opening = Opening()

    def count_update(self, update: UpdateStats, summary: RolloutSummary) -> None:
        """Add an update by the slab of ``summary``."""
        self.budget.steps += summary.steps
        self.budget.ticks += summary.ticks
        self.learned += update.learned
        self.gradient_steps += update.gradient_steps
        self.matches += summary.matches
        self.errors += summary.errors

    def count_results(self, summary: RolloutSummary, slots: int) -> None:
        """Add the matches of one slab of a pool with ``slots`` slots to the running averages."""
        if not self.opening.over:
            self.opening = self.opening.after(summary, slots)
            if not self.opening.over:
                return
            summary, self.opening = self.opening.first_matches(), Opening(over=True)
        self.win_rate = running_win_rate(self.win_rate, summary.outcomes)
        self.mean_return = running_return(self.mean_return, summary)

    def drop_waiting(self) -> None:
        """Count the decisions in flight as dropped."""
        turns = self.turns.full if self.turns is not None else []
        arrived = sum(slab.summary.steps for slab in self.arrived)
        self.received += arrived  # the others were counted when they came
        self.dropped += arrived + sum(s.steps for s in (*self.waiting, *turns) if s is not None)
        self.set_waiting(())
        self.arrived, self.in_play = [], {}
        if self.turns is not None:
            self.turns = msgspec.structs.replace(self.turns, full=[None] * len(turns))

    def set_waiting(self, summaries: Sequence[RolloutSummary]) -> None:
        """Set the summaries of the slabs that a checkpoint holds, oldest first."""
        self.filled, self.queued = (summaries[0] if summaries else None), list(summaries[1:])


def make_checkpoint(components: Components, state: TrainerState, waiting: Sequence[Slab]) -> Checkpoint:
    """Return the run between two rounds: no update and no rollout is under way.

    ``waiting``: slabs that have been collected and not yet learned from, oldest first, and those that were
    played ahead.
    """
    arrays, counters = components.learner.state()
    state.learner = counters
    sampler = components.sampler
    rollout: dict[str, Array] = {TIME_STEP: np.array([sampler.state.time_step], np.int64)}
    if sampler.state.played:
        rollout = sampler.send(TakeSnapshot())
    for i, slab in enumerate(waiting):
        rollout |= {_slab_name(i, name): a for name, a in _learned_fields(components, slab).items()}
    return Checkpoint(components.learner.weights(), arrays, rollout, msgspec.json.encode(state))


def decode_state(data: bytes) -> TrainerState:
    """Decode the counters in a checkpoint's JSON text. Raises ``CorruptFile`` on anything else."""
    try:
        state = from_json(data, TrainerState)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptFile(f"state of a checkpoint: {error}") from error
    if state.schema != SCHEMA:
        raise CorruptFile(f"state of a checkpoint: schema {state.schema}, expected {SCHEMA}")
    return state


def count_restarts(checkpoint: Checkpoint) -> int:
    """Count how often the run's matches have started again, this resume included. Raises ``CorruptFile``.

    Matches that start again have a pool with a seed of its own, so that they are not the run's first ones.
    """
    return max(0, decode_state(checkpoint.state).restarts) + bool(checkpoint.restart)


def check_matches(checkpoint: Checkpoint) -> None:
    """Let the matches of a checkpoint start again if surgery asks for it.

    Raises ``CorruptFile``.
    """
    try:
        asked = from_json(checkpoint.state, NewMatches)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CorruptFile(f"state of a checkpoint: {error}") from error
    if asked.new_matches:
        checkpoint.restart = visible(asked.new_matches)


def check_samplers(checkpoint: Checkpoint, rollouts: int) -> None:
    """Let the matches of a checkpoint start again if other samplers than the run's played them.

    Args:
        checkpoint: Its field ``restart`` is set then.
        rollouts: Number of rollouts, 0 for one process.
    """
    expected = max(1, rollouts)
    samplers = {found.group(1) for name in checkpoint.rollout if (found := SAMPLER.match(name))}
    if (count := max(1, len(samplers))) != expected:
        checkpoint.restart = f"it has the matches of {count}, now {expected} play"
    elif not rollouts and any(name.rpartition("/")[2] == INCARNATION for name in checkpoint.rollout):
        checkpoint.restart = "it has the matches of a rollout that replaced another"


def restore_components(components: Components, checkpoint: Checkpoint, state: TrainerState) -> None:
    """Set what :func:`make_checkpoint` returned. Raises ``CorruptFile`` where it does not fit.

    Slabs that waited are then the sampler's first ones.

    From a checkpoint with ``restart`` only the learner is restored: bytes of unknown origin must not become
    memory of the core. Matches, rows' memory and the slab in flight start again.
    """
    where = f"checkpoint of version {checkpoint.version}"
    try:
        components.learner.load_state(checkpoint.optimizer, state.learner)
        components.learner.lineage = checkpoint.weights.meta.lineage
        if checkpoint.restart or checkpoint.rollout.keys() == {TIME_STEP}:  # it has no matches
            components.sampler.send(StartAt(_time_step(checkpoint)))
            return
        components.sampler.send(RestoreMatches(checkpoint.rollout))
    except ValueError as error:
        raise CorruptFile(f"{where}: {error}") from error
    slabs, stored = components.sampler.facts.slabs, len(state.waiting) + len(state.arrived)
    if stored > len(slabs):
        raise CorruptFile(f"{where}: {stored} slabs wait, expected at most {len(slabs)}")
    for i in range(stored):
        _restore_slab(components, checkpoint, i, where)


def _restore_slab(components: Components, checkpoint: Checkpoint, number: int, where: str) -> None:
    slab = components.sampler.facts.slabs[number]
    shape = components.learner.network.memory_shape
    if shape is not None and components.policy in components.sampler.facts.learned:
        slab.memory = {components.policy: np.zeros((slab.rows, *shape), np.float32)}
    for field, target in _learned_fields(components, slab).items():
        name = _slab_name(number, field)
        stored = _array(checkpoint, name, where)
        if stored.shape != target.shape or stored.dtype != target.dtype:
            raise CorruptFile(
                f"{where}: {name} is {stored.dtype}{stored.shape}, expected {target.dtype}{target.shape}"
            )
        target[...] = stored


def _slab_name(number: int, field: str) -> str:
    """Name an array of a waiting slab; the oldest has number 0."""
    return f"slab{number or ''}.{field}"


def _learned_fields(components: Components, slab: Slab) -> dict[str, Array]:
    return slab.learned_fields([t.name for t in components.learner.network.inputs])


def _time_step(checkpoint: Checkpoint) -> int:
    """Return the time step of a checkpoint without its matches, so that no draw repeats; 0 if invalid."""
    stored = checkpoint.rollout.get(TIME_STEP)
    if stored is None or stored.shape != (1,) or stored.dtype != np.int64:
        return 0
    step = int(stored[0])
    return step if 0 <= step < MAX_TIME_STEP else 0


def _array(checkpoint: Checkpoint, name: str, where: str) -> Array:
    stored = checkpoint.rollout.get(name)
    if stored is None:
        raise CorruptFile(f"{where}: no array {name}")
    return stored
