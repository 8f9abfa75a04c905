"""A learner in training, with the sampler, the seating and the rounds that it plays and learns in."""

from __future__ import annotations

import math
from collections.abc import Callable

from ludus.algorithms.learner import UpdateStats
from ludus.flow import Terms
from ludus.flow.errors import DIVERGED
from ludus.presets.config import Preset
from ludus.presets.errors import RunFailed
from ludus.storage import Checkpoint, CorruptFile
from ludus.training.actor_learner.build import Components
from ludus.training.actor_learner.curriculum import Curriculum
from ludus.training.actor_learner.old_rules import OldRulesShare
from ludus.training.actor_learner.rollout_summary import Opening, RolloutSummary
from ludus.training.actor_learner.schedule import Schedule, SharedRewards
from ludus.training.actor_learner.seating import Seating
from ludus.training.actor_learner.state import TrainerState
from ludus.training.actor_learner.sync_loop import Round, Rounds
from ludus.training.stopping import Budget

FAILING_UPDATES = 5  # in which every match failed, until the run is given up
SCHEDULES: tuple[type[Schedule], ...] = (Curriculum, SharedRewards, OldRulesShare)


class Member:
    """The learner of a run, or one of a league's. One thread calls it, between two rounds and for one.

    ``name``: empty in a run with one learner. ``rounds`` and ``seating`` are set before it plays.
    """

    rounds: Rounds
    seating: Seating

    def __init__(self, name: str, run: Preset, components: Components, counts: TrainerState) -> None:
        """Own ``components``; ``counts`` are its counters in the state of a run with the settings ``run``."""
        self.name, self.components, self.counts = name, components, counts
        self._failing = 0  # updates in a row whose matches all failed
        self.schedules = tuple(made(run, counts) for made in SCHEDULES)

    @property
    def version(self) -> int:
        """Number of updates of its weights."""
        return self.components.learner.version

    def assign(self, used: Budget) -> None:
        """Assign new orders if they are due, and set the terms of the next slab.

        Args:
            used: Budget that the run has used.
        """
        self.seating.advance(self.rounds.paused)
        self.set_terms(used)

    def set_terms(self, used: Budget) -> None:
        """Set the terms of the next slab."""
        terms = Terms()
        for schedule in self.schedules:
            terms = schedule.terms(terms, used)
        self.rounds.terms = terms

    def play(self, progress: float, evaluate: Callable[[], None] | None) -> Round:
        """Play one round. Raises ``MatchError`` and ``PoolError``."""
        return self.rounds.run(progress, evaluate)

    def count(self, summary: RolloutSummary) -> None:
        """Count the slab of an update."""
        self.counts.count_slab(summary)
        self.counts.count_results(summary, self.rounds.slots)

    def check_matches(self, summary: RolloutSummary) -> None:
        """Raise ``RunFailed`` after several updates in which every match failed."""
        self._failing = self._failing + 1 if summary.errors and not summary.matches else 0
        if self._failing >= FAILING_UPDATES:
            raise RunFailed(f"no match was played to its end any more: {summary.first_error}")

    def restart_matches(self) -> None:
        """Remove the matches in flight from its counters."""
        self.counts.drop_waiting()
        self.counts.opening = Opening()

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore what a checkpoint holds of it; ``seating.resume()`` must follow. Raises ``CorruptFile``."""
        self.rounds.restore(checkpoint, self.counts)
        try:
            self.seating.load(self.counts, restarted=bool(checkpoint.restart))
        except ValueError as error:
            raise CorruptFile(f"checkpoint of version {checkpoint.version}: {error}") from error

    def close(self) -> None:
        """Stop the pool."""
        self.components.close()


def broken_update(update: UpdateStats) -> RunFailed | None:
    """Return the error of an update with a number that is not finite; None for a sound one."""
    broken = [f"{n} = {value}" for n, value in update.numbers.items() if not math.isfinite(value)]
    if not broken:
        return None
    return RunFailed(f"version {update.version}: not finite: {', '.join(broken)}; {DIVERGED}")
