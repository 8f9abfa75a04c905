"""Collecting experience: policies decide for the rows of a pool, into slabs that a learner reads."""

from __future__ import annotations

from ludus.rollouts.actor import Actor, Decision
from ludus.rollouts.collector import LEARNER, Collector, RolloutStats

__all__ = ["LEARNER", "Actor", "Collector", "Decision", "RolloutStats"]
