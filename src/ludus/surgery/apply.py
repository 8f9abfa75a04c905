"""Arrays of the old network to arrays of the new one, by a plan. numpy alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.surgery.plan import Plan

Array = npt.NDArray[Any]


def apply(plan: Plan, old: Mapping[str, Array], fresh: Mapping[str, Array]) -> dict[str, Array]:
    """Return the new network's parameters and buffers.

    Args:
        plan: The conversion.
        old: Parameters and buffers of the old network, by name.
        fresh: Those of a freshly initialised new network.

    Raises:
        SurgeryError: Names or shapes are not those of the plan.
    """
    raise NotImplementedError


def apply_moments(
    plan: Plan, first: Mapping[str, Array], second: Mapping[str, Array]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return both moments of Adam for the new network, by parameter; ``second`` may be empty (SGD)."""
    raise NotImplementedError


def apply_memory(plan: Plan, rows: Array) -> Array:
    """Return memory ``[..., *new_shape]`` of rows ``[..., *old_shape]``; new places are 0."""
    raise NotImplementedError
