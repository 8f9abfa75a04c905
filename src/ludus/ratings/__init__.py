"""Ratings of players with their uncertainty. Numbers only: no tensors, no games."""

from __future__ import annotations

from ludus.ratings.bradley_terry import RatingTable, bradley_terry
from ludus.ratings.elo import EloTable, elo
from ludus.ratings.interval import Interval, MeanInterval, mean_interval, wilson_interval
from ludus.ratings.nash import NashTable, maximal_entropy_nash, nash_average
from ludus.ratings.trueskill import Skill, rate_all, rate_match

__all__ = [
    "EloTable",
    "Interval",
    "MeanInterval",
    "NashTable",
    "RatingTable",
    "Skill",
    "bradley_terry",
    "elo",
    "maximal_entropy_nash",
    "mean_interval",
    "nash_average",
    "rate_all",
    "rate_match",
    "wilson_interval",
]
