"""Floors of a sweep's cells: initial weights over the seeds, and uniform play over all matches of a cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import msgspec

from ludus.evaluation.play import UNIFORM
from ludus.evaluation.results import EvalResult
from ludus.ratings import wilson_interval
from ludus.ratings.compare import Summary, summarise_runs
from ludus.ratings.interval import MeanInterval
from ludus.reporting.floors import INITIAL_WEIGHTS
from ludus.sweep.comparison import noise_of
from ludus.sweep.results import RunSummary


class UniformPlay(msgspec.Struct, frozen=True):
    """Uniform play in a cell's setting, of ``matches`` in all: a win rate in 0..1, or a mean return."""

    value: float
    low: float
    high: float
    matches: int


class CellFloor(msgspec.Struct, frozen=True):
    """Results without training in one cell, against one opponent. None: not measured.

    ``initial``: results of the weights that the runs started with, each with its seed. ``uniform``: equal for
    all seeds, so their matches are counted together.
    """

    cell: str
    against: str
    alone: bool
    initial: Summary | None
    uniform: UniformPlay | None

    def text(self) -> str:
        """Return ``initial weights 30.8%, uniform 30.9%``."""
        known = [] if self.initial is None else [f"{INITIAL_WEIGHTS} {self._shown(self.initial.centre)}"]
        known += [] if self.uniform is None else [f"{UNIFORM} {self._shown(self.uniform.value)}"]
        return ", ".join(known)

    def _shown(self, value: float) -> str:
        return f"{value:,.1f}" if self.alone else f"{100 * value:.1f}%"


def cell_floors(runs: Sequence[RunSummary]) -> list[CellFloor]:
    """Return the floors of every cell against each opponent of its final matches, in the runs' order."""
    found = []
    for cell in dict.fromkeys(r.cell for r in runs):
        of = [r for r in runs if r.cell == cell]
        for against in dict.fromkeys(r.against for run in of for r in run.final):
            initial = [r for run in of for r in run.floors.initial if r.against == against]
            uniform = [r for run in of for r in run.floors.uniform if r.against == against]
            if initial or uniform:
                found.append(
                    CellFloor(
                        cell=cell,
                        against=against,
                        alone=(initial or uniform)[0].alone,
                        initial=_over_seeds(initial) if initial else None,
                        uniform=_together(uniform) if uniform else None,
                    )
                )
    return found


def _over_seeds(results: Sequence[EvalResult]) -> Summary:
    return summarise_runs([r.measure for r in results], noise=noise_of(results))


def _together(results: Sequence[EvalResult]) -> UniformPlay:
    matches = sum(r.matches for r in results)
    if results[0].alone:
        mean = _mean_of(results, matches)
        return UniformPlay(mean.mean, mean.low, mean.high, matches)
    rate = wilson_interval(sum(r.wins or 0 for r in results), matches)
    return UniformPlay(rate.rate, rate.low, rate.high, matches)


def _mean_of(results: Sequence[EvalResult], matches: int) -> MeanInterval:
    """Return the mean return of all matches; its error comes from the deviations of the parts."""
    if matches == 0:
        return MeanInterval(0.0, 0.0, 0.0, 0.0)
    mean = sum(r.matches * r.mean_return for r in results) / matches
    error = math.sqrt(sum(r.matches * r.return_deviation**2 for r in results)) / matches
    half = NormalDist().inv_cdf(0.975) * error
    return MeanInterval(mean, mean - half, mean + half, error * math.sqrt(matches))
