"""Counters of a run that trains on slabs: everything in a checkpoint beside tensors and matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from ludus.algorithms.learner import UpdateStats
from ludus.flow import MatchResult
from ludus.training.actor_learner.rollout_summary import (
    Opening,
    RolloutSummary,
    running_return,
    running_win_rate,
)
from ludus.training.run_state import RunState, decode_as


class Handover(msgspec.Struct, frozen=True):
    """Progress of a curriculum that advances by win rate.

    ``ticks``: n, -1 before the first match. ``matches``: number of matches that ended under it;
    ``win_rate``: their win rate.
    """

    ticks: int = -1
    matches: int = 0
    win_rate: float = 0.0


class OldRules(msgspec.Struct, frozen=True):
    """Progress of the schedule, a part of a run's state.

    ``way``: the part of the way from the first to the last share that is done, 0..1. ``span``: steps, or
    share of the budget, that the whole way takes at speed 1. ``clock``: steps or share of the budget when
    ``way`` was last moved. ``highest``: mean over the opponents of the highest evaluation since the start or
    the last setback, None before the first. ``steps``: decisions under the old rules that were trained on.
    """

    span: float
    clock: float
    way: float = 0.0
    speed: float = 1.0
    highest: float | None = None
    setbacks: int = 0
    steps: int = 0


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


class TrainerState(RunState):
    """Counters of a run: everything that decides what happens next, apart from tensors and matches."""

    learned: int = 0  # decisions differentiated, epochs counted
    gradient_steps: int = 0  # of the optimiser
    dropped: int = 0
    errors: int = 0
    opening: Opening = Opening()  # until it is over, ``win_rate`` and ``mean_return`` stay as they are
    win_rate: dict[str, float] = msgspec.field(default_factory=dict)
    helped: bool = False  # a curriculum's bot played the first ticks of the matches in ``win_rate``
    mean_return: float | None = None  # running average of the training matches, None before the first
    acting_version: int = 0
    filled: RolloutSummary | None = None  # of the slab that waits for the learner; of several the oldest
    queued: list[RolloutSummary] = msgspec.field(default_factory=list)  # of the others, oldest first
    arrived: list[ArrivedSlab] = msgspec.field(
        default_factory=list
    )  # of rounds to come; their slabs follow those that wait
    in_play: dict[int, int] = msgspec.field(
        default_factory=dict
    )  # matches by tag before the first of ``arrived``
    matchmaker: msgspec.Raw = msgspec.Raw(b"{}")  # JSON, the matchmaker's own
    frozen: list[str] = msgspec.field(
        default_factory=list
    )  # players whose stored weights this checkpoint refers to
    lanes: dict[int, str] = msgspec.field(default_factory=dict)  # policy id -> the player that it stands for
    turns: Turns | None = None  # with run.topology = "one_to_one"
    handover: Handover = Handover()
    before: OldRules | None = None  # with game.before, once its share has been set
    restarts: int = 0  # number of times that the run's matches started again
    new_matches: str = ""  # why matches start again with the next resume; surgery sets it

    @property
    def waiting(self) -> list[RolloutSummary]:
        """Summaries of the slabs that wait for the learner, oldest first."""
        return [] if self.filled is None else [self.filled, *self.queued]

    def count_slab(self, summary: RolloutSummary) -> None:
        """Add a slab that an update learns from."""
        self.budget.steps += summary.steps
        self.budget.ticks += summary.ticks
        self.matches += summary.matches
        self.errors += summary.errors

    def count_update(self, update: UpdateStats) -> None:
        """Add an update whose slab was counted."""
        self.learned += update.learned
        self.gradient_steps += update.gradient_steps

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


def decode_state(data: bytes) -> TrainerState:
    """Decode the counters of a run with one learner. Raises ``CorruptFile`` on anything else."""
    return decode_as(TrainerState, data, "state of a checkpoint")
