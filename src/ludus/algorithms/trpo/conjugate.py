"""Conjugate gradients (Hestenes and Stiefel 1952) as a generator: the caller multiplies by the matrix."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import torch
from torch import Tensor


class Solution(NamedTuple):
    """Solution ``x`` with ``A x`` near ``b``."""

    x: Tensor  # [P]
    curvature: float  # x^T A x
    residual: float  # |b - A x| / |b|
    products: int  # how often A was multiplied


def solve(b: Tensor, steps: int, tolerance: float = 1e-5) -> Generator[Tensor, Tensor, Solution]:
    """Solve ``A x = b`` for a symmetric positive definite ``A``, from ``x = 0``.

    Yields vectors ``p: [P]`` and is sent ``A p``. Scalars are sums in double precision.

    Args:
        b: ``float32[P]``.
        steps: Largest number of products, >= 1.
        tolerance: Bound of the residual, relative to ``|b|``.
    """
    x = torch.zeros_like(b)
    residual, direction = b.clone(), b.clone()
    start = square = _dot(b, b)
    products = 0
    while products < steps and square > tolerance**2 * start:
        product = yield direction
        products += 1
        curvature = _dot(direction, product)
        if not curvature > 0.0:  # not positive definite to this precision, or not a number
            break
        length = square / curvature
        x.add_(direction, alpha=length)
        residual.sub_(product, alpha=length)
        last, square = square, _dot(residual, residual)
        direction.mul_(square / last).add_(residual)
    curved = _dot(x, b - residual)  # A x = b - residual
    return Solution(x, curved, (square / start) ** 0.5 if start > 0.0 else 0.0, products)


def _dot(a: Tensor, b: Tensor) -> float:
    return float(torch.dot(a.double(), b.double()))
