"""Schedules: conditions of play that change while a run trains."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ludus.evaluation.results import EvalResult
from ludus.flow import Terms
from ludus.presets.config import Preset, TeamConfig
from ludus.training.actor_learner.rollout_summary import RolloutSummary
from ludus.training.actor_learner.state import TrainerState
from ludus.training.stopping import Budget, progress


class Schedule:
    """One condition of play; this base changes none. Its memory is a part of the learner's ``state``."""

    def __init__(self, preset: Preset, state: TrainerState) -> None:
        """Follow the settings of the run."""
        self.preset, self.state = preset, state

    def progress(self, used: Budget) -> float:
        """Return the share of the budget that is used."""
        return progress(self.preset.run, used)

    def text(self) -> str:
        """Return what a run that starts or resumes reports; empty for nothing."""
        return ""

    def terms(self, terms: Terms, used: Budget) -> Terms:
        """Return ``terms`` with this condition as it is when ``used`` of the budget is used."""
        return terms

    def on_update(self, summary: RolloutSummary, used: Budget) -> None:
        """Take the matches of a slab, before its update is counted."""

    def on_evaluation(self, results: Sequence[EvalResult]) -> str:
        """Take the results of an evaluation; return in words how they change the terms, if they do."""
        return ""

    def numbers(self, used: Budget) -> dict[str, float]:
        """Return the metrics."""
        return {}


class SharedRewards(Schedule):
    """Schedule of the share of a team's mean in each reward."""

    def terms(self, terms: Terms, used: Budget) -> Terms:
        """See :class:`Schedule`."""
        team = self.preset.team
        return msgspec.structs.replace(terms, spirit=self._spirit(used)) if team.changes else terms

    def numbers(self, used: Budget) -> dict[str, float]:
        """See :class:`Schedule`."""
        return {"team/spirit": self._spirit(used)} if self.preset.team != TeamConfig() else {}

    def _spirit(self, used: Budget) -> float:
        return self.preset.team.spirit_at(self.progress(used))
