"""Ratings of players with their uncertainty. Numbers only: no tensors, no games."""

from __future__ import annotations

from ludus.ratings.elo import EloTable, elo
from ludus.ratings.interval import Interval, MeanInterval, mean_interval, wilson_interval
from ludus.ratings.nash import NashTable, maximal_entropy_nash, nash_average

__all__ = [
    "EloTable",
    "Interval",
    "MeanInterval",
    "NashTable",
    "elo",
    "maximal_entropy_nash",
    "mean_interval",
    "nash_average",
    "wilson_interval",
]
