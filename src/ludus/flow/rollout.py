"""Data that travels from a sampler to a learner together with a slab."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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
    numbers: dict[str, float] = field(default_factory=dict)  # metrics of what filled it: a cluster, records
    in_play: dict[int, int] = field(default_factory=dict)  # matches in play after it, by tag of their order

    @classmethod
    def joined(cls, parts: Sequence[RolloutStats], *, parallel: bool = False) -> RolloutStats:
        """Return the statistics of slabs that make one.

        Args:
            parts: Statistics of each slab.
            parallel: Whether the slabs were played at the same time; otherwise one after another.
        """
        tags, longest = Counter[int](), max if parallel else sum
        for part in parts:
            tags.update(part.in_play)
        return cls(
            steps=sum(part.steps for part in parts),
            decisions=sum(part.decisions for part in parts),
            ticks=sum(part.ticks for part in parts),
            infer_s=longest(part.infer_s for part in parts),
            wait_s=longest(part.wait_s for part in parts),
            total_s=longest(part.total_s for part in parts),
            before_steps=sum(part.before_steps for part in parts),
            results=[result for part in parts for result in part.results],
            numbers={name: number for part in parts for name, number in part.numbers.items()},
            in_play=dict(tags),
        )
