"""Budgets of a run: its end, its progress, and the time that is left."""

from __future__ import annotations

import math

import msgspec

from ludus.presets.config import Preset, RunConfig
from ludus.ratings import wilson_interval

LEAST_ROOM = 0.001  # by which a target of win rates is raised


class Budget(msgspec.Struct):
    """Steps and time that a run has used, resumes included."""

    steps: int = 0  # trained decisions of the learner's rows
    ticks: int = 0
    minutes: float = 0.0
    cpu_minutes: float = 0.0  # of this process: all of its threads together
    # Against the worst opponent, at the evaluation where it was highest; None before the first.
    best_lower_bound: float | None = None


def progress(config: RunConfig, used: Budget) -> float:
    """Return the share of the budget that is used, 0..1: of the steps if bounded, else of the minutes."""
    if config.max_steps > 0:
        return min(1.0, used.steps / config.max_steps)
    if config.max_minutes > 0:
        return min(1.0, used.minutes / config.max_minutes)
    return 0.0


def reason_to_stop(config: RunConfig, used: Budget) -> str:
    """Return why the run is over, empty while it is not."""
    if config.max_steps > 0 and used.steps >= config.max_steps:
        return f"max_steps = {config.max_steps} reached"
    if config.max_minutes > 0 and used.minutes >= config.max_minutes:
        return f"max_minutes = {config.max_minutes:g} reached"
    best = used.best_lower_bound
    if config.target != 0 and best is not None and best >= config.target:
        return f"target = {config.target:g} reached (lower bound {best:.3f})"
    return ""


def why_untrained(algorithm: object, gradient_steps: int, decisions: int) -> str:
    """Return why a run that learns from slabs has made no gradient step; empty if it has made one."""
    if gradient_steps > 0:
        return ""
    starts = getattr(algorithm, "learning_starts", 0)
    if decisions < starts:
        return f"{decisions:,} decisions were played, algorithm.learning_starts = {starts}"
    return f"{decisions:,} decisions were played, and no update came of them"


def more_budget(preset: Preset, used: Budget, alone: bool) -> dict[str, str]:
    """Return settings under which a run that is over trains on: used-up budgets, about doubled.

    A target is raised halfway from the lower bound that was reached to the highest that an evaluation can
    reach, while there is room. The highest return is unknown, so that the run trains on without a target
    (``0``), within its other budgets; without any it gets one.

    Args:
        preset: The settings of the run.
        used: Budget that it has used.
        alone: The game has one seat: the target is a mean return.
    """
    config = preset.run
    more: dict[str, str] = {}
    if config.max_steps > 0 and used.steps >= config.max_steps:
        more["run.max_steps"] = str(2 * used.steps)
    if config.max_minutes > 0 and used.minutes >= config.max_minutes:
        more["run.max_minutes"] = str(2 * max(1, math.ceil(used.minutes)))
    best = used.best_lower_bound
    if config.target != 0 and best is not None and best >= config.target:
        highest = wilson_interval(preset.evaluation.matches, preset.evaluation.matches).low
        higher = (best + highest) / 2
        if alone or higher - best < LEAST_ROOM:
            more["run.target"] = "0"
            if config.max_steps == 0 and config.max_minutes == 0:
                more["run.max_steps"] = str(2 * max(1, used.steps))
        else:
            more["run.target"] = f"{higher:.6g}"
    return more


def minutes_left(config: RunConfig, used: Budget, steps_per_s: float) -> float | None:
    """Return an estimate in minutes, None where nothing bounds the run."""
    estimates = []
    if config.max_minutes > 0:
        estimates.append(config.max_minutes - used.minutes)
    if config.max_steps > 0 and steps_per_s > 0:
        estimates.append((config.max_steps - used.steps) / steps_per_s / 60.0)
    return max(0.0, min(estimates)) if estimates else None
