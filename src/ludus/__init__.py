"""Ludus trains game-playing agents: it simulates games fast, trains policies, plays and rates them.

    import ludus

    result = ludus.train("tic_tac_toe", "runs/first")
    policy = ludus.load_policy("runs/first@best")
    action = policy.act(observation, mask)

Names are loaded on first use: importing the package loads neither numpy nor torch. The names below change
only with an entry in the changelog; other modules of the package may change with any version.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ludus.version import __version__

if TYPE_CHECKING:
    from ludus.evaluation.loaded_policy import LoadedPolicy, load_policy
    from ludus.export.api import export_onnx
    from ludus.flow import Controller, Lineup, SeatPlan, Slab
    from ludus.games import list_games
    from ludus.games.match import Match
    from ludus.policies.encoders import register_encoder
    from ludus.reporting.sinks import Sink
    from ludus.training.api import evaluate, make_pool, resume, search, train
else:
    _HOME = {
        **dict.fromkeys(("Controller", "Lineup", "SeatPlan", "Slab"), "ludus.flow"),
        "list_games": "ludus.games",
        "Match": "ludus.games.match",
        **dict.fromkeys(("LoadedPolicy", "load_policy"), "ludus.evaluation.loaded_policy"),
        **dict.fromkeys(("evaluate", "make_pool", "resume", "search", "train"), "ludus.training.api"),
        "export_onnx": "ludus.export.api",
        "register_encoder": "ludus.policies.encoders",
        "Sink": "ludus.reporting.sinks",
    }

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_HOME})


__all__ = [
    "Controller",
    "Lineup",
    "LoadedPolicy",
    "Match",
    "SeatPlan",
    "Sink",
    "Slab",
    "__version__",
    "evaluate",
    "export_onnx",
    "list_games",
    "load_policy",
    "make_pool",
    "register_encoder",
    "resume",
    "search",
    "train",
]
