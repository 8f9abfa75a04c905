"""How strong players are, with the uncertainty that belongs to it. Numbers only: no tensors, no games."""

from __future__ import annotations

from ludus.ratings.interval import Interval, MeanInterval, mean_interval, wilson_interval

__all__ = ["Interval", "MeanInterval", "mean_interval", "wilson_interval"]
