"""Elo ratings of players that met each other, by maximum likelihood."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SCALE = 400.0 / math.log(10.0)  # Elo a unit of logit
PRIOR = 1.0  # drawn matches of each player against a player of mean rating, added as a prior
MOST = 100  # Newton steps


@dataclass(frozen=True, slots=True)
class EloTable:
    """``rating: [N]`` with mean 0, and its standard ``error: [N]``, in Elo.

    ``groups``: players that met, directly or through others; ratings compare only within a group.
    """

    rating: Floats
    error: Floats
    groups: tuple[tuple[int, ...], ...] = ()


def check_pairs(points: npt.ArrayLike, matches: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return ``points[i, j]`` of i in ``matches[i, j]`` matches against j: a win is 1, a draw 1/2.

    ``ValueError`` unless both are square, of one size, ``matches`` symmetric, and the points of both sides
    add up to the matches.
    """
    p, m = np.asarray(points, np.float64), np.asarray(matches, np.float64)
    if p.ndim != 2 or p.shape[0] != p.shape[1] or p.shape != m.shape or len(p) == 0:
        raise ValueError(f"points {p.shape} and matches {m.shape}, expected two square tables of one size")
    if not (np.isfinite(p).all() and np.isfinite(m).all()) or (p < 0).any() or (m < 0).any():
        raise ValueError("points and matches: expected finite numbers >= 0")
    if not np.allclose(m, m.T) or not np.allclose(p + p.T, m) or np.diagonal(m).any():
        raise ValueError("the points of both sides must add up to their matches, and no player meets itself")
    return p, m


def connected(matches: npt.ArrayLike) -> list[list[int]]:
    """Return groups of players that met, directly or through others; each ascending, in rising order.

    Ratings of two groups that never met cannot be compared: only the prior places them.
    """
    met = np.asarray(matches, np.float64) > 0
    left, groups = set(range(len(met))), []
    for first in range(len(met)):
        if first not in left:
            continue
        group, waiting = [], [first]
        left.discard(first)
        while waiting:
            i = waiting.pop()
            group.append(i)
            new = [j for j in np.flatnonzero(met[i]).tolist() if j in left]
            left.difference_update(new)
            waiting += new
        groups.append(sorted(group))
    return groups


def elo(points: npt.ArrayLike, matches: npt.ArrayLike) -> EloTable:
    """Return maximum-likelihood ratings (Bradley and Terry 1952) in Elo: 400 points are odds of ten to one.

    A player that won or lost every match would have an infinite rating. One drawn match of each player
    against rating 0 keeps ratings finite, as in Bayesian Elo (Coulom 2008). Errors come from the curvature.
    Where :func:`connected` finds several ``groups``, ratings of different groups cannot be compared.
    Arguments as in :func:`check_pairs`.
    """
    p, m = check_pairs(points, matches)
    theta = np.zeros(len(p))
    hessian = np.eye(len(p))
    for _ in range(MOST):
        expected = 1.0 / (1.0 + np.exp(theta[None, :] - theta[:, None]))
        against_middle = 1.0 / (1.0 + np.exp(-theta))
        gradient = (p - m * expected).sum(axis=1) + PRIOR * (0.5 - against_middle)
        weight = m * expected * (1.0 - expected)
        middle = PRIOR * against_middle * (1.0 - against_middle)
        hessian = np.diag(weight.sum(axis=1) + middle) - weight
        step = np.linalg.solve(hessian, gradient)
        theta = theta + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
        if float(np.abs(step).max()) < 1e-10:
            break
    centre = np.eye(len(p)) - 1.0 / len(p)  # errors of differences from the mean
    covariance = centre @ np.linalg.inv(hessian) @ centre.T
    errors = SCALE * np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    return EloTable(SCALE * (theta - theta.mean()), errors, tuple(map(tuple, connected(m))))
