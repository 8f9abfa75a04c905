"""Data types that pass between stages: spec, slab, batch, match, weights. No torch, no games, no pools.

Names are loaded on first use, so that a command that only reads a spec starts without numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ludus.flow.batch import PoolStats, StepBatch
    from ludus.flow.match import Controller, Lineup, MatchResult, Order, Orders, SeatPlan, Terms
    from ludus.flow.pool_options import PoolOptions
    from ludus.flow.rollout import RolloutStats
    from ludus.flow.slab import Slab, joined
    from ludus.flow.spec import BotSpec, GameSpec, HeadSpec, ParamSpec, TensorSpec, decode_spec
    from ludus.flow.weights import Weights, WeightsMeta
else:
    _HOME = {
        **dict.fromkeys(("PoolStats", "StepBatch"), "batch"),
        **dict.fromkeys(
            ("Controller", "Lineup", "MatchResult", "Order", "Orders", "SeatPlan", "Terms"), "match"
        ),
        "PoolOptions": "pool_options",
        "RolloutStats": "rollout",
        **dict.fromkeys(("Slab", "joined"), "slab"),
        **dict.fromkeys(("BotSpec", "GameSpec", "HeadSpec", "ParamSpec", "TensorSpec"), "spec"),
        "decode_spec": "spec",
        **dict.fromkeys(("Weights", "WeightsMeta"), "weights"),
    }

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = value
        return value


__all__ = [
    "BotSpec",
    "Controller",
    "GameSpec",
    "HeadSpec",
    "Lineup",
    "MatchResult",
    "Order",
    "Orders",
    "ParamSpec",
    "PoolOptions",
    "PoolStats",
    "RolloutStats",
    "SeatPlan",
    "Slab",
    "StepBatch",
    "TensorSpec",
    "Terms",
    "Weights",
    "WeightsMeta",
    "decode_spec",
    "joined",
]
