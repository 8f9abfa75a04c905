"""Comparison of learning methods over few runs, each with its own seed.

After Agarwal et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical Precipice": the
interquartile mean, percentile intervals by a stratified bootstrap, the probability of improvement.
S: runs of a method, K: tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.ratings.interval import MeanInterval, check_finite, mean_interval

Scores = npt.NDArray[np.float64]
#: A statistic of ``[..., S, K]``, a number for each of the leading axes.
Statistic = Callable[[Scores], Scores]

BOOTSTRAP_SEEDS = 10  # from as many runs on the bootstrap is used: of five it covers 82 to 91%, not 95%
DRAWS = 20_000
CHUNK = 2_000  # draws at a time, for memory
CUT = 0.25  # share of the scores that the interquartile mean leaves out at either end


class Summary(msgspec.Struct, frozen=True):
    """Scores of S runs. ``centre``: their mean, or from ten runs on their interquartile mean.

    One run has no interval and no deviation: they are None, ``null`` in JSON.
    """

    values: tuple[float, ...]
    centre: float
    low: float | None
    high: float | None
    kind: Literal["mean", "iqm"]
    median: float
    deviation: float | None  # of single runs


def iqm(scores: Scores) -> Scores:
    """Return the interquartile mean of ``[..., S, K]``: the mean of the middle half of all S * K scores.

    A quarter of the scores, rounded down, is left out at either end.
    """
    flat = np.sort(scores.reshape(*scores.shape[:-2], -1), axis=-1)
    cut = int(CUT * flat.shape[-1])
    middle: Scores = flat[..., cut : flat.shape[-1] - cut].mean(axis=-1)
    return middle


def bootstrap_interval(
    scores: npt.ArrayLike,
    statistic: Statistic = iqm,
    *,
    confidence: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[float, float]:
    """Return a percentile interval of ``statistic`` of ``scores: [S, K]`` by a stratified bootstrap.

    Every task draws its S runs with replacement, independently of the other tasks (section 4 of the
    paper). Equal seeds give equal intervals. Raises ``ValueError`` for no runs or a wrong confidence.
    """
    array = _matrix(scores)
    rng = np.random.Generator(np.random.Philox(seed))
    found = [statistic(_drawn(array, n, rng)) for n in _chunks(draws)]
    return _percentiles(np.concatenate(found), confidence)


def improvement(scores: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """Return the probability that a run of ``scores: [S, K]`` beats one of ``other: [S', K]`` on a task.

    The mean over tasks of the Mann-Whitney statistic over S * S'; a draw counts as half. Raises
    ``ValueError`` for different tasks.
    """
    x, y = _matrix(scores), _matrix(other)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"{x.shape[1]} tasks and {y.shape[1]}: expected the same")
    return float(_improvement(x, y))


def improvement_interval(
    scores: npt.ArrayLike,
    other: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[float, float]:
    """Return a percentile interval of :func:`improvement`; runs of both are drawn with replacement."""
    x, y = _matrix(scores), _matrix(other)
    rng = np.random.Generator(np.random.Philox(seed))
    found = [_improvement(_drawn(x, n, rng), _drawn(y, n, rng)) for n in _chunks(draws)]
    return _percentiles(np.concatenate(found), confidence)


def summarise_runs(
    values: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    seed: int = 0,
    noise: tuple[float, float] = (0.0, 0.0),
) -> Summary:
    """Return the centre and interval of the scores of S runs of one task.

    That is the interquartile mean with the bootstrap's interval for ten runs and more, else the mean with
    Student's.

    Args:
        values: Scores of the runs.
        confidence: Confidence level of the interval, in 0..1.
        seed: Seed of the bootstrap.
        noise: Least distances of the interval's ends from the centre: the counting noise of the matches
            behind the scores, which a few runs that agree by chance do not show.

    Raises:
        ValueError: There are no values, or some that are not finite.
    """
    array = np.asarray(values, np.float64).ravel()
    if not array.size:
        raise ValueError("no values: expected the scores of at least one run")
    t = mean_interval(array, confidence)
    low: float | None
    high: float | None
    centre, low, high, kind = t.mean, t.low, t.high, "mean"
    if array.size == 1:
        low = high = None
    if array.size >= BOOTSTRAP_SEEDS:
        column = array[:, None]
        centre, kind = float(iqm(column)), "iqm"
        low, high = bootstrap_interval(column, confidence=confidence, seed=seed)
    if low is not None and high is not None:
        low, high = min(low, centre - noise[0]), max(high, centre + noise[1])
    return Summary(
        values=tuple(array.tolist()),
        centre=centre,
        low=low,
        high=high,
        kind="iqm" if kind == "iqm" else "mean",
        median=float(np.median(array)),
        deviation=t.deviation if array.size > 1 else None,
    )


def paired_difference(
    scores: Mapping[int, float], other: Mapping[int, float], confidence: float = 0.95
) -> MeanInterval | None:
    """Return Student's interval of ``scores - other`` over the seeds that both have.

    None for fewer than two.
    """
    shared = sorted(set(scores) & set(other))
    if len(shared) < 2:
        return None
    return mean_interval([scores[s] - other[s] for s in shared], confidence)


def _matrix(scores: npt.ArrayLike) -> Scores:
    array = np.asarray(scores, np.float64)
    if array.ndim != 2 or not array.size:
        raise ValueError(f"scores of shape {array.shape}: expected [runs, tasks] with at least one of each")
    check_finite(array)
    return array


def _chunks(draws: int) -> list[int]:
    return [min(CHUNK, draws - start) for start in range(0, draws, CHUNK)]


def _drawn(scores: Scores, draws: int, rng: np.random.Generator) -> Scores:
    """Return ``[draws, S, K]``: the runs of every task, drawn with replacement."""
    runs, tasks = scores.shape
    rows = rng.integers(runs, size=(draws, runs, tasks))
    drawn: Scores = scores[rows, np.arange(tasks)]
    return drawn


def _improvement(x: Scores, y: Scores) -> Scores:
    """Return the probability for ``[..., S, K]`` and ``[..., S', K]``."""
    above = x[..., :, None, :] - y[..., None, :, :]
    share: Scores = ((above > 0) + 0.5 * (above == 0)).mean(axis=(-3, -2, -1))
    return share


def _percentiles(found: Scores, confidence: float) -> tuple[float, float]:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence}")
    low, high = np.percentile(found, [50.0 * (1.0 - confidence), 50.0 * (1.0 + confidence)])
    return float(low), float(high)
