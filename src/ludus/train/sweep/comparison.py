"""Compares the cells of a sweep: each seed's result, centre and interval, improvement over a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from ludus.evaluation.results import EvalResult
from ludus.ratings.compare import (
    BOOTSTRAP_SEEDS,
    Summary,
    improvement,
    improvement_interval,
    paired_difference,
    summarise_runs,
)
from ludus.ratings.interval import MeanInterval
from ludus.train.sweep.config import FLOORS
from ludus.train.sweep.results import RunRecord

Play = Literal["drawn", "greedy"]
TOGETHER = "all opponents"  # the mean over them


class Improvement(msgspec.Struct, frozen=True):
    """A cell against the baseline. ``low``, ``high``: of ``probability``, None under five seeds of either.

    ``difference``: over the seeds that both have; None for fewer than two.
    """

    baseline: str
    probability: float
    low: float | None
    high: float | None
    difference: MeanInterval | None


class CellResult(msgspec.Struct, frozen=True):
    """One cell against one opponent. ``alone``: mean returns, else win rates in 0..1."""

    cell: str
    against: str
    play: Play
    alone: bool
    matches: int  # of each seed
    seeds: tuple[int, ...]
    summary: Summary
    improvement: Improvement | None = None


class CellBudget(msgspec.Struct, frozen=True):
    """What the runs of a cell used, on average."""

    cell: str
    runs: int
    steps: float
    updates: float
    gradient_steps: float
    minutes: float
    cpu_minutes: float | None  # None where it was not measured


def compare(runs: Sequence[RunRecord], baseline: str = "") -> list[CellResult]:
    """Every cell against every opponent, in the order of the runs; runs without a result are left out."""
    found = []
    for play in ("drawn", "greedy"):
        opponents = list(dict.fromkeys(r.against for run in runs for r in _results(run, play)))
        for against in [*opponents, TOGETHER] if len(opponents) > 1 else opponents:
            scores = {
                cell: _scores([r for r in runs if r.cell == cell], play, against)
                for cell in dict.fromkeys(r.cell for r in runs)
            }
            results = [r for run in runs for r in _results(run, play) if against in (r.against, TOGETHER)]
            for cell, by_seed in scores.items():
                if by_seed:
                    better = _improvement(by_seed, scores.get(baseline, {}), baseline)
                    found.append(
                        CellResult(
                            cell=cell,
                            against=against,
                            play=play,
                            alone=results[0].alone,
                            matches=min(r.matches for r in results),
                            seeds=tuple(by_seed),
                            summary=summarise_runs(list(by_seed.values())),
                            improvement=None if cell == baseline else better,
                        )
                    )
    return found


def _results(run: RunRecord, play: Play) -> tuple[EvalResult, ...]:
    return run.final if play == "drawn" else run.greedy


def _scores(runs: Sequence[RunRecord], play: Play, against: str) -> dict[int, float]:
    """Seed -> result against one opponent, or the mean over all of them."""
    scores = {}
    for run in runs:
        of = [r.measure for r in _results(run, play) if against in (r.against, TOGETHER)]
        if of:
            scores[run.seed] = sum(of) / len(of)
    return scores


def _improvement(scores: dict[int, float], baseline: dict[int, float], name: str) -> Improvement | None:
    if not baseline:
        return None
    x, y = ([[v] for v in s.values()] for s in (scores, baseline))
    low = high = None
    if min(len(x), len(y)) >= BOOTSTRAP_SEEDS:
        low, high = improvement_interval(x, y)
    return Improvement(name, improvement(x, y), low, high, paired_difference(scores, baseline))


def budgets(runs: Sequence[RunRecord]) -> list[CellBudget]:
    """What each cell's runs used; unfinished ones are left out."""
    found = []
    for cell in dict.fromkeys(r.cell for r in runs):
        of = [r for r in runs if r.cell == cell and r.finished]
        if of:
            cpu = [r.cpu_minutes for r in of]
            found.append(
                CellBudget(
                    cell=cell,
                    runs=len(of),
                    steps=_mean([r.steps for r in of]),
                    updates=_mean([r.updates for r in of]),
                    gradient_steps=_mean([r.gradient_steps for r in of]),
                    minutes=_mean([r.minutes for r in of]),
                    cpu_minutes=_mean(cpu) if all(cpu) else None,
                )
            )
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def setting_text(path: str, value: object) -> str:
    """``queue=4``, ``vtrace=true``: the end of a setting's path with its value."""
    text = str(value).lower() if isinstance(value, bool) else "-" if value is None else str(value)
    return f"{path.rpartition('.')[2]}={text}"


def differing_settings(runs: Sequence[RunRecord]) -> list[str]:
    """Settings in which runs differ, the seed and those of floors left out."""
    left_out = ("run.seed", *FLOORS)
    paths = list(dict.fromkeys(path for run in runs for path in run.settings if path not in left_out))
    return [p for p in paths if any(r.settings.get(p) != runs[0].settings.get(p) for r in runs)]
