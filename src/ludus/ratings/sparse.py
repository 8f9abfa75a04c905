"""Bradley-Terry ratings of thousands of players; most pairs of them never met.

The same likelihood and prior as :mod:`ludus.ratings.bradley_terry`, by pairs instead of tables. Newton's
steps come from conjugate gradients, whose cost grows with the pairs that met. Errors need an inverse: players
that no one asks about are eliminated first, the rest is one dense matrix of single precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.ratings.elo import MOST, PRIOR, SCALE

Floats = npt.NDArray[np.float64]
Matrix = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
_SMALL = 64  # rows of a triangular matrix that are inverted at once
_NEAR = 1e-7  # of the largest step, in natural units: a thousandth of an Elo point is 6e-6


@dataclass(frozen=True, slots=True)
class Pairs:
    """Players ``i`` and ``j`` ``[P]`` that met, each pair once; points of ``i`` and all ``matches``."""

    i: Indices
    j: Indices
    points: Floats
    matches: Floats


def ratings_of_pairs(
    count: int, pairs: Pairs, anchors: Mapping[int, float], wanted: Sequence[int]
) -> tuple[Floats, Floats]:
    """Return ratings ``[count]`` in Elo and standard errors ``[len(wanted)]`` of the players ``wanted``.

    Without anchors the mean is 0. What :func:`ludus.ratings.bradley_terry.bradley_terry` gives, to a
    thousandth of a rating and a hundredth of an error.
    """
    theta = np.zeros(count)
    for player, rating in anchors.items():
        theta[player] = rating / SCALE
    middle = float(np.mean([theta[k] for k in anchors])) if anchors else 0.0
    free = np.ones(count, bool)
    free[list(anchors)] = False
    theta[free] = middle
    weight, own = np.zeros(len(pairs.i)), np.zeros(count)
    for _ in range(MOST):
        expected = 1.0 / (1.0 + np.exp(theta[pairs.j] - theta[pairs.i]))
        prior = 1.0 / (1.0 + np.exp(middle - theta))
        surplus = pairs.points - pairs.matches * expected
        gradient = _sum(count, pairs.i, surplus) - _sum(count, pairs.j, surplus) + PRIOR * (0.5 - prior)
        weight, own = pairs.matches * expected * (1.0 - expected), PRIOR * prior * (1.0 - prior)
        step = _solve(pairs, weight, own, free, np.where(free, gradient, 0.0))
        largest = float(np.abs(step).max(initial=0.0))
        theta += step * min(1.0, 2.0 / max(largest, 1e-12))
        if largest < _NEAR:
            break
    variance = _variances(pairs, weight, own, free, np.array(wanted, np.int64))
    if not anchors:
        rows = _solve(pairs, weight, own, free, np.full(count, 1.0 / count))
        variance = variance - 2.0 * rows[list(wanted)] + rows.mean()
        theta = theta - theta.mean()
    return SCALE * theta, SCALE * np.sqrt(np.maximum(variance, 0.0))


def groups_of(players: Sequence[int], pairs: Pairs) -> list[list[int]]:
    """Return ``players``, ascending, by the groups that met: :func:`ludus.ratings.elo.connected` of pairs."""
    root = {k: k for k in players}

    def top(k: int) -> int:
        while root[k] != k:
            root[k] = k = root[root[k]]
        return k

    for a, b in zip(pairs.i.tolist(), pairs.j.tolist(), strict=True):
        if a in root and b in root:
            root[top(a)] = top(b)
    groups: dict[int, list[int]] = {}
    for k in players:
        groups.setdefault(top(k), []).append(k)
    return list(groups.values())


def _sum(count: int, places: Indices, values: Floats) -> Floats:
    total: Floats = np.bincount(places, values, count).astype(np.float64)
    return total


def _solve(pairs: Pairs, weight: Floats, own: Floats, free: npt.NDArray[np.bool_], right: Floats) -> Floats:
    """Return ``x`` with ``H x = right`` for the likelihood's Hessian, 0 at anchors: conjugate gradients."""
    count = len(own)
    diagonal = own + _sum(count, pairs.i, weight) + _sum(count, pairs.j, weight)

    def times(x: Floats) -> Floats:
        between = weight * (x[pairs.i] - x[pairs.j])
        y = own * x + _sum(count, pairs.i, between) - _sum(count, pairs.j, between)
        return np.where(free, y, 0.0)  # anchors stay

    x = np.zeros(count)
    rest = right.copy()
    near = rest / diagonal
    along, size = near.copy(), float(rest @ near)
    goal = size * 1e-16
    for _ in range(20 * count):
        if size <= goal:
            break
        image = times(along)
        length = size / float(along @ image)
        x += length * along
        rest -= length * image
        near = rest / diagonal
        size, before = float(rest @ near), size
        along = near + (size / before) * along
    return x


def _variances(
    pairs: Pairs, weight: Floats, own: Floats, free: npt.NDArray[np.bool_], wanted: Indices
) -> Floats:
    """Return the diagonal of the inverse Hessian at ``wanted``; 0 at anchors."""
    count = len(own)
    neighbours: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for a, b, w in zip(pairs.i.tolist(), pairs.j.tolist(), weight.tolist(), strict=True):
        neighbours[a].append((b, w))
        neighbours[b].append((a, w))
    diagonal = own + _sum(count, pairs.i, weight) + _sum(count, pairs.j, weight)
    asked = np.zeros(count, bool)
    asked[wanted] = True
    gone = np.zeros(count, bool)  # eliminated: none of them met another
    for k in sorted(np.flatnonzero(free & ~asked).tolist(), key=lambda k: len(neighbours[k])):
        gone[k] = not any(gone[b] for b, _ in neighbours[k])
    place = np.full(count, -1)
    kept = np.flatnonzero(free & ~gone)
    place[kept] = np.arange(len(kept))
    matrix: Matrix = np.zeros((len(kept), len(kept)), np.float32 if len(kept) > _HALF else np.float64)
    matrix[np.arange(len(kept)), np.arange(len(kept))] = diagonal[kept]
    both = (place[pairs.i] >= 0) & (place[pairs.j] >= 0)
    a, b = place[pairs.i[both]], place[pairs.j[both]]
    np.subtract.at(matrix, (np.concatenate([a, b]), np.concatenate([b, a])), np.tile(weight[both], 2))
    for k in np.flatnonzero(gone).tolist():
        met = [(place[b], w) for b, w in neighbours[k] if place[b] >= 0]
        if met:
            at, w = np.array([m[0] for m in met]), np.array([m[1] for m in met])
            matrix[np.ix_(at, at)] -= np.outer(w, w) / diagonal[k]
    inverse = _inverse_of_triangle(np.linalg.cholesky(matrix)) if len(kept) else matrix
    variances = (inverse.astype(np.float32, copy=False) ** 2).sum(axis=0, dtype=np.float64)
    out = np.zeros(len(wanted))
    there = place[wanted] >= 0
    out[there] = variances[place[wanted[there]]]
    return out


_HALF = 1000  # rows of a dense matrix, beyond which single precision is enough


def _inverse_of_triangle(lower: Matrix) -> Matrix:
    """Return the inverse of a lower triangular matrix, by halves: products of blocks, which are fast."""
    size = len(lower)
    if size <= _SMALL:
        small: Matrix = np.linalg.inv(lower)
        return small
    half = size // 2
    out = np.zeros_like(lower)
    first, last = _inverse_of_triangle(lower[:half, :half]), _inverse_of_triangle(lower[half:, half:])
    out[:half, :half], out[half:, half:] = first, last
    out[half:, :half] = -last @ (lower[half:, :half] @ first)
    return out
