"""Data that travels from a sampler to a learner together with a slab."""

from __future__ import annotations

from dataclasses import dataclass, field

from ludus.flow.match import MatchResult


@dataclass(slots=True)
class RolloutStats:
    """Statistics of one slab. Seconds are wall time of the sampler's thread."""

    steps: int = 0  # decisions of learned policies
    decisions: int = 0  # of all policies
    ticks: int = 0
    infer_s: float = 0.0
    wait_s: float = 0.0  # for the pool
    total_s: float = 0.0
    before_steps: int = 0  # part of ``steps`` that was played under the rules of ``game.before``
    results: list[MatchResult] = field(default_factory=list)
    numbers: dict[str, float] = field(default_factory=dict)  # metrics of a cluster that played it
