"""Collecting experience: policies decide for the rows of a pool, into slabs that a learner reads."""

from __future__ import annotations

from ludus.rollouts.actor import ActInput, Actor, Decision
from ludus.rollouts.collector import Collector

__all__ = ["ActInput", "Actor", "Collector", "Decision"]
