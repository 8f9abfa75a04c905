"""Floors that a run measured itself: its initial weights and uniform play, of its ``metrics.jsonl``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from ludus.evaluation.results import EvalResult
from ludus.storage import read_jsonl
from tools.raw_lines import INITIAL, UNIFORM, Line, figure_of, line_of
from tools.records import Figure


class _Row(msgspec.Struct):
    """``initial_weights``: weights of another run; such initial weights have learned already."""

    initial: bool = False
    initial_weights: str = ""
    results: tuple[EvalResult, ...] = ()
    uniform: tuple[EvalResult, ...] = ()


def floor_lines(metrics: Path, seed: int, cell: str = "") -> Iterator[Line]:
    """Yield the floors of one run; none of a run that measured none. Raises ``CorruptFile``."""
    for row in read_jsonl(metrics):
        if row.get("kind") != "evaluation":
            continue
        found = msgspec.convert(row, _Row, strict=False)
        kinds = [(UNIFORM, found.uniform)]
        if found.initial and not found.initial_weights:
            kinds.append((INITIAL, found.results))
        for kind, results in kinds:
            for result in results:
                against = () if result.alone else (f"against {result.against}",)
                label = ", ".join((kind, *((cell,) if cell else ()), *against, "drawn"))
                yield line_of(result, label, seed=seed, play="drawn")


def floor_figures(lines: Sequence[Line]) -> tuple[Figure, ...]:
    """Return a figure for each label: of uniform play over all matches, of initial weights over the seeds."""
    found = []
    for label in dict.fromkeys(line.label for line in lines):
        won = all(line.won is not None for line in lines if line.label == label)
        pooled = won and label.startswith(UNIFORM)
        found.append(figure_of(lines, label, "%" if won else "return", "wilson" if pooled else "seeds"))
    return tuple(found)
