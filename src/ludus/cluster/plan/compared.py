"""A plan beside the rates of a run: what was predicted, and what the run's log has."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ludus.cluster.plan.measured import Measured
from ludus.cluster.plan.sizing import Plan
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.reporting.metrics import UpdateMetrics
from ludus.reporting.rates import RECEIVED, SECONDS
from ludus.reporting.run_view import RunView

STEPS = "throughput/steps_per_s"


class RunRates(msgspec.Struct, frozen=True):
    """Means over the updates of a run, each weighed by its time.

    Args:
        run: Path of the run.
        updates: Their number.
        learned_per_s: Decisions learned from a second, each counted once.
        received_per_s: Decisions collected a second.
        update_s: Time of an update.
        lag_mean: In versions.
        learner_idle: Share of the learner's time; None: not logged.
    """

    run: str
    updates: int
    learned_per_s: float
    received_per_s: float | None
    update_s: float
    lag_mean: float | None
    learner_idle: float | None


class ComparedRate(msgspec.Struct, frozen=True):
    """A number of a plan and of a run. ``share``: measured over planned; None where planned is 0."""

    name: str
    planned: float
    measured: float
    share: float | None


def run_rates(view: RunView) -> RunRates:
    """Return the rates of a run. Raises ``ConfigError`` without updates, and ``StorageError``."""
    updates = [u for u in view.metrics().updates if u.numbers.get(SECONDS, 0.0) > 0.0 and STEPS in u.numbers]
    if not updates:
        raise ConfigError(f"{view.directory.path}: no update has been logged yet")
    learned = _mean(updates, STEPS)
    assert learned is not None
    return RunRates(
        run=str(view.directory.path),
        updates=len(updates),
        learned_per_s=learned,
        received_per_s=_mean(updates, RECEIVED),
        update_s=sum(u.numbers[SECONDS] for u in updates) / len(updates),
        lag_mean=_mean(updates, "lag/mean"),
        learner_idle=_mean(updates, "time/learner_wait_share"),
    )


def planned_as_run(preset: Preset, rollout: Measured) -> Preset:
    """Return settings whose plan has the rollouts of a run: its own, or one that has the whole machine."""
    if preset.cluster.rollouts:
        return preset
    cluster = msgspec.structs.replace(preset.cluster, rollouts=1, cpus=rollout.threads)
    return msgspec.structs.replace(preset, cluster=cluster)


def compare(plan: Plan, rates: RunRates) -> list[ComparedRate]:
    """Return the numbers that a plan and a run both have."""
    pairs = (
        ("decisions learned from a second", plan.decisions_per_s, rates.learned_per_s),
        ("decisions received a second", plan.decisions_per_s / (1.0 - plan.dropped), rates.received_per_s),
        ("seconds of an update", plan.batch_decisions / plan.decisions_per_s, rates.update_s),
        ("mean lag, versions", plan.lag_mean, rates.lag_mean),
        ("share of the learner's time idle", plan.learner_idle, rates.learner_idle),
    )
    return [
        ComparedRate(name, planned, measured, measured / planned if planned else None)
        for name, planned, measured in pairs
        if measured is not None
    ]


def _mean(updates: Sequence[UpdateMetrics], name: str) -> float | None:
    """Return the mean of a number over time; None if no update has it."""
    known = [(u.numbers[name], u.numbers[SECONDS]) for u in updates if name in u.numbers]
    seconds = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / seconds if known else None
