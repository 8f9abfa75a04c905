"""Counts of a learner: each update is added to its state, and a broken one ends the run."""

from __future__ import annotations

import math

import msgspec

from ludus.algorithms.learner import UpdateStats
from ludus.flow.errors import DIVERGED
from ludus.presets.errors import ConfigError, RunFailed
from ludus.reporting.sinks import Sinks
from ludus.training.actor_learner.checkpoint import TrainerState
from ludus.training.actor_learner.rollout_summary import RolloutSummary

FAILING_UPDATES = 5  # in which every match failed, until the run is given up


class UpdateCounts:
    """Counts of one learner."""

    def __init__(self, report: Sinks) -> None:
        """Report failures of matches to ``report``."""
        self._report = report
        self._failing = 0  # updates in a row whose matches all failed

    def take(self, state: TrainerState, update: UpdateStats, summary: RolloutSummary, slots: int) -> None:
        """Add an update to ``state``.

        Args:
            state: The learner's counters.
            update: The update.
            summary: Matches of the slab that it learned from.
            slots: Number of slots that the matches are played in.

        Raises:
            ConfigError: The method cannot learn under its settings.
            RunFailed: Training cannot continue.
        """
        if update.refusal:
            raise ConfigError(update.refusal)
        broken = {name: value for name, value in update.numbers.items() if not math.isfinite(value)}
        if broken:
            raise RunFailed(
                f"version {update.version}: not finite: "
                f"{', '.join(f'{name} = {value}' for name, value in broken.items())}; "
                f"{DIVERGED}"
            )
        state.count_update(update, summary)
        if state.before is not None:
            steps = state.before.steps + summary.before_steps
            state.before = msgspec.structs.replace(state.before, steps=steps)
        state.count_results(summary, slots)
        if summary.errors:
            self._report.problem(
                f"{summary.errors} matches ended by an error of the game (version {update.version}); "
                f"the first: {summary.first_error}"
            )
        self._failing = self._failing + 1 if summary.errors and not summary.matches else 0
        if self._failing >= FAILING_UPDATES:
            raise RunFailed(f"no match was played to its end any more: {summary.first_error}")
