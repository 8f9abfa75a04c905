"""Difference of two networks as a plan."""

from __future__ import annotations

from ludus.surgery.plan import Hints, Plan, Side


def make_plan(old: Side, new: Side, hints: Hints | None = None) -> Plan:
    """Return the plan from the network ``old`` to the network ``new``.

    Raises:
        SurgeryError: The change is not covered, or not exact and ``hints.approximate`` is not set.
    """
    raise NotImplementedError
