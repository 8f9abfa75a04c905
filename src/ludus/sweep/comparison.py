"""Compares the cells of a sweep: each seed's result, centre and interval, improvement over a baseline."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal, Protocol

import msgspec

from ludus.evaluation.results import EvalResult
from ludus.ratings import wilson_interval
from ludus.ratings.compare import (
    BOOTSTRAP_SEEDS,
    Summary,
    improvement,
    improvement_interval,
    paired_difference,
    summarise_runs,
)
from ludus.ratings.interval import MeanInterval
from ludus.sweep.config import FLOORS
from ludus.sweep.results import RunSummary

Play = Literal["drawn", "greedy"]
TOGETHER = "all opponents"  # the mean over them
MAX_NAME = 40  # characters of a cell
#: Settings that name a run by themselves where many differ.
_TELLING = ("algorithm.name", "game.name")


class HasSettings(Protocol):
    """Holder of the settings of a run by path."""

    @property
    def settings(self) -> dict[str, Any]:
        """Value of each setting by path."""


class Improvement(msgspec.Struct, frozen=True):
    """A cell against the baseline. ``low``, ``high``: of ``probability``, None under ten seeds of either.

    ``difference``: over the seeds that both have; None for fewer than two.
    """

    baseline: str
    probability: float
    low: float | None
    high: float | None
    difference: MeanInterval | None


class CellResult(msgspec.Struct, frozen=True):
    """One cell against one opponent of one game. ``alone``: mean returns instead of win rates in 0..1."""

    cell: str
    against: str
    play: Play
    alone: bool
    matches: int  # of each seed
    seeds: tuple[int, ...]
    summary: Summary
    improvement: Improvement | None = None
    game: str = ""


class CellBudget(msgspec.Struct, frozen=True):
    """Resources that the runs of a cell used, on average."""

    cell: str
    runs: int
    steps: float
    updates: float
    gradient_steps: float
    minutes: float
    cpu_minutes: float | None  # None where it was not measured


def compare(runs: Sequence[RunSummary], baseline: str = "") -> list[CellResult]:
    """Return every cell against every opponent, in the order of the runs that have a result, game by game."""
    return [found for game in games_of(runs) for found in _compare_in(game, runs, baseline)]


def games_of(runs: Sequence[RunSummary]) -> list[str]:
    """Return the games of the runs, in their order."""
    return list(dict.fromkeys(map(game_of, runs)))


def game_of(run: RunSummary) -> str:
    """Return the game of a run; results compare only within one game."""
    return str(run.settings.get("game.name", ""))


def _compare_in(game: str, every: Sequence[RunSummary], baseline: str) -> list[CellResult]:
    runs = [run for run in every if game_of(run) == game]
    found = []
    for play in ("drawn", "greedy"):
        played = dict.fromkeys((r.against, r.alone) for run in runs for r in _results(run, play))
        opponents = list(dict.fromkeys(against for against, _ in played))
        several = sum(not alone for _, alone in played) > 1  # returns are no part of a mean of win rates
        for against in [*opponents, TOGETHER] if several else opponents:
            scores = {
                cell: _scores([r for r in runs if r.cell == cell], play, against)
                for cell in dict.fromkeys(r.cell for r in runs)
            }
            results = [r for run in runs for r in _results(run, play) if _is_against(r, against)]
            for cell, by_seed in scores.items():
                if by_seed:
                    alone = results[0].alone
                    own = [r for run in runs if run.cell == cell for r in _results(run, play)]
                    mine = [r for r in own if _is_against(r, against) and r.matches]
                    better = _improvement(by_seed, scores.get(baseline, {}), baseline)
                    found.append(
                        CellResult(
                            cell=cell,
                            against=against,
                            play=play,
                            alone=alone,
                            matches=min(r.matches for r in results),
                            seeds=tuple(by_seed),
                            summary=_summary(list(by_seed.values()), noise_of(mine), rates=not alone),
                            improvement=None if cell == baseline else better,
                            game=game,
                        )
                    )
    return found


def _summary(values: Sequence[float], noise: tuple[float, float], *, rates: bool) -> Summary:
    """Return the summary of a cell; of win rates its interval is cut at 0 and 1, which Student's exceeds."""
    found = summarise_runs(values, noise=noise)
    if not rates or found.low is None or found.high is None:
        return found
    return msgspec.structs.replace(found, low=max(0.0, found.low), high=min(1.0, found.high))


def _results(run: RunSummary, play: Play) -> tuple[EvalResult, ...]:
    return run.final if play == "drawn" else run.greedy


def _is_against(result: EvalResult, against: str) -> bool:
    return not result.alone if against == TOGETHER else result.against == against


def _scores(runs: Sequence[RunSummary], play: Play, against: str) -> dict[int, float]:
    """Return seed -> result against one opponent, or the mean over all of them."""
    scores = {}
    for run in runs:
        of = [r.measure for r in _results(run, play) if _is_against(r, against) and r.matches]
        if of:
            scores[run.seed] = sum(of) / len(of)
    return scores


def noise_of(results: Sequence[EvalResult]) -> tuple[float, float]:
    """Return how far the ends of an interval of all these matches are from their mean.

    That is Wilson's interval of all matches together, or 95% of the normal distribution for returns.
    """
    if not results:
        return 0.0, 0.0
    if results[0].alone:
        spread = sum(r.return_deviation**2 / r.matches for r in results)
        half = NormalDist().inv_cdf(0.975) * math.sqrt(spread) / len(results)
        return half, half
    matches = sum(r.matches for r in results)
    rate = wilson_interval(min(matches, sum(round(r.measure * r.matches) for r in results)), matches)
    return rate.rate - rate.low, rate.high - rate.rate


def _improvement(scores: dict[int, float], baseline: dict[int, float], name: str) -> Improvement | None:
    if not baseline:
        return None
    x, y = ([[v] for v in s.values()] for s in (scores, baseline))
    low = high = None
    if min(len(x), len(y)) >= BOOTSTRAP_SEEDS:
        low, high = improvement_interval(x, y)
    return Improvement(name, improvement(x, y), low, high, paired_difference(scores, baseline))


def budgets(runs: Sequence[RunSummary]) -> list[CellBudget]:
    """Return the resources that each cell's finished runs used."""
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


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """Return path of a setting -> its last part, or the fewest last parts that are unambiguous.

    ``name`` and ``network`` alone say nothing: ``algorithm.name`` is ``algorithm``.
    """
    parts = {p: p.split(".")[:-1] if p.endswith((".name", ".network")) else p.split(".") for p in paths}
    most = max((len(p) for p in parts.values()), default=1)
    names = {p: p for p in paths}
    for count in range(most, 0, -1):
        shorter = {p: ".".join(words[-count:]) for p, words in parts.items()}
        taken = list(shorter.values())
        names |= {p: name for p, name in shorter.items() if taken.count(name) == 1}
    return names


def value_text(value: object) -> str:
    """Return the value of a setting for a table; "-" where a run has no such setting."""
    return str(value).lower() if isinstance(value, bool) else "-" if value is None else str(value)


def setting_text(path: str, value: object) -> str:
    """Return ``queue=4``, ``vtrace=true``: the end of a setting's path with its value."""
    return f"{short_names([path])[path]}={value_text(value)}"


def cell_names(runs: Sequence[RunSummary]) -> list[str]:
    """Return a short name for each run; runs that differ only in the seed have the same.

    The name has the settings that differ if they are few, otherwise the methods or games if these differ,
    otherwise the runs' folders, in at most :data:`MAX_NAME` characters.
    """
    paths = differing_settings(runs)
    keys = [tuple(repr(run.settings.get(p)) for p in paths) for run in runs]
    cells = list(dict.fromkeys(keys))
    if len(cells) == 1:
        return [_folder(runs, "all")] * len(runs)
    telling = [p for p in paths if p != "title"] or paths
    chosen = next(
        (t for t in (telling, [p for p in telling if p in _TELLING]) if t and _tell(runs, keys, t)), None
    )
    if chosen is not None:
        return _labels(runs, chosen)
    folders = {key: _folder([r for r, k in zip(runs, keys, strict=True) if k == key]) for key in cells}
    used = list(folders.values())
    numbered = {
        key: name if used.count(name) == 1 else f"{name} ({used[: n + 1].count(name)})"
        for n, (key, name) in enumerate(folders.items())
    }
    return [numbered[key] for key in keys]


def _labels(runs: Sequence[RunSummary], paths: Sequence[str]) -> list[str]:
    names = short_names(paths)
    return [", ".join(f"{names[p]}={value_text(r.settings.get(p))}" for p in paths) for r in runs]


def _tell(runs: Sequence[RunSummary], keys: Sequence[tuple[str, ...]], paths: Sequence[str]) -> bool:
    """Whether the values of ``paths`` are short and tell all cells apart."""
    labels = _labels(runs, paths)
    apart = len(set(zip(keys, labels, strict=True))) == len(set(labels)) == len(set(keys))
    return apart and max(map(len, labels)) <= MAX_NAME


def _folder(runs: Sequence[RunSummary], other: str = "") -> str:
    """Return the name of a run's folder; of several their common prefix, without a seed's number.

    ``other``: the name of runs whose folders have nothing in common (default: the first folder's).
    """
    names = list(dict.fromkeys(Path(r.path).resolve().name or r.name for r in runs))
    name = names[0]
    if len(names) > 1:
        same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
        common = "".join(letters[0] for letters in same)
        name = re.sub(r"(?:[-_.,= ]+(?:seed|s))?[-_.,= ]+\d*$", "", common) or other or name
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 3]}..."


def differing_settings(runs: Sequence[HasSettings]) -> list[str]:
    """Return settings in which runs differ, without the seed and the settings of floors."""
    left_out = ("run.seed", *FLOORS)
    paths = list(dict.fromkeys(path for run in runs for path in run.settings if path not in left_out))
    return [p for p in paths if any(r.settings.get(p) != runs[0].settings.get(p) for r in runs)]
