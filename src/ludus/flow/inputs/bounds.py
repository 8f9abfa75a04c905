"""Bounds of numbers read from files: whole in a float64, and finite."""

from __future__ import annotations

from typing import Annotated

import msgspec

LARGEST_COUNT = 2**53
LARGEST = 1e100  # squares and sums of such numbers are finite

Count = Annotated[int, msgspec.Meta(ge=0, le=LARGEST_COUNT)]
Number = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
