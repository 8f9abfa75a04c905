"""The things that travel: spec, slab, batch, match, weights. No torch, no games, no pools."""

from __future__ import annotations

from ludus.flow.batch import PoolStats, StepBatch
from ludus.flow.match import Controller, Lineup, MatchResult, SeatPlan
from ludus.flow.slab import Slab
from ludus.flow.spec import BotSpec, GameSpec, HeadSpec, ParamSpec, TensorSpec, decode_spec
from ludus.flow.weights import Weights, WeightsMeta

__all__ = [
    "BotSpec",
    "Controller",
    "GameSpec",
    "HeadSpec",
    "Lineup",
    "MatchResult",
    "ParamSpec",
    "PoolStats",
    "SeatPlan",
    "Slab",
    "StepBatch",
    "TensorSpec",
    "Weights",
    "WeightsMeta",
    "decode_spec",
]
