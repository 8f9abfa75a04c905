"""Tree search (MCTS): trees in the core, evaluators here. A policy with search is a policy.

Names are loaded on first use; torch only with :mod:`ludus.mcts.network`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ludus.mcts.config import SearchConfig, SelfPlayConfig
    from ludus.mcts.evaluator import CORE_EVALUATORS, Evaluator, LeafBatch, UniformEvaluator
    from ludus.mcts.planner import Planner, PlannerConfig, PlanResult, parse_plan
    from ludus.mcts.player import SearchPlayer
    from ludus.mcts.self_play import NEVER_RESIGN, Matches, MatchNumbers, SelfPlay
    from ludus.mcts.text import SearchText, parse_search
    from ludus.mcts.trees import RootStatistics, Trees
    from ludus.native import SearchError
else:
    _HOME = {
        "SearchError": "ludus.native",
        **dict.fromkeys(("SearchConfig", "SelfPlayConfig"), "ludus.mcts.config"),
        **dict.fromkeys(
            ("CORE_EVALUATORS", "LeafBatch", "Evaluator", "UniformEvaluator"), "ludus.mcts.evaluator"
        ),
        **dict.fromkeys(("PlanResult", "Planner", "PlannerConfig", "parse_plan"), "ludus.mcts.planner"),
        "SearchPlayer": "ludus.mcts.player",
        **dict.fromkeys(("SearchText", "parse_search"), "ludus.mcts.text"),
        **dict.fromkeys(("NEVER_RESIGN", "MatchNumbers", "Matches", "SelfPlay"), "ludus.mcts.self_play"),
        **dict.fromkeys(("RootStatistics", "Trees"), "ludus.mcts.trees"),
    }

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


__all__ = [
    "CORE_EVALUATORS",
    "NEVER_RESIGN",
    "Evaluator",
    "LeafBatch",
    "MatchNumbers",
    "Matches",
    "PlanResult",
    "Planner",
    "PlannerConfig",
    "RootStatistics",
    "SearchConfig",
    "SearchError",
    "SearchPlayer",
    "SearchText",
    "SelfPlay",
    "SelfPlayConfig",
    "Trees",
    "UniformEvaluator",
    "parse_plan",
    "parse_search",
]
