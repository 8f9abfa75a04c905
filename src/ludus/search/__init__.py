"""Tree search (MCTS): trees in the core, evaluators here. A policy with search is a policy.

Names are loaded on first use; torch only with :mod:`ludus.search.network`. The package itself is the function
``ludus.search`` (:func:`ludus.train.python_api.search`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ludus.flow.public import make_callable

make_callable(__name__)

if TYPE_CHECKING:
    from ludus.native import SearchError
    from ludus.search.config import SearchConfig, SelfPlayConfig
    from ludus.search.evaluator import CORE_EVALUATORS, Batch, Evaluator, UniformEvaluator
    from ludus.search.planner import Plan, Planner, PlannerConfig, parse_plan
    from ludus.search.player import SearchPlayer
    from ludus.search.self_play import NEVER_RESIGN, Matches, SelfPlay
    from ludus.search.text import SearchText, parse_search
    from ludus.search.trees import RootStatistics, Trees
else:
    _HOME = {
        "SearchError": "ludus.native",
        **dict.fromkeys(("SearchConfig", "SelfPlayConfig"), "ludus.search.config"),
        **dict.fromkeys(
            ("CORE_EVALUATORS", "Batch", "Evaluator", "UniformEvaluator"), "ludus.search.evaluator"
        ),
        **dict.fromkeys(("Plan", "Planner", "PlannerConfig", "parse_plan"), "ludus.search.planner"),
        "SearchPlayer": "ludus.search.player",
        **dict.fromkeys(("SearchText", "parse_search"), "ludus.search.text"),
        **dict.fromkeys(("NEVER_RESIGN", "Matches", "SelfPlay"), "ludus.search.self_play"),
        **dict.fromkeys(("RootStatistics", "Trees"), "ludus.search.trees"),
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
    "Batch",
    "Evaluator",
    "Matches",
    "Plan",
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
