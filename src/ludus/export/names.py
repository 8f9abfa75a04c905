"""Names of a graph's inputs and outputs, made of the names of a spec.

Specs come from weights files, so their names may hold any character. Names of a graph are ASCII words that
programs can type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ludus.flow import GameSpec

MASK, MEMORY, CHOICES, NEXT_MEMORY, VALUE = "mask", "memory", "choices", "next_memory", "value"
_ODD = re.compile(r"[^A-Za-z0-9_]+")
_LONGEST = 64


@dataclass(frozen=True)
class GraphNames:
    """Names of tensors (``observations``) and heads in a graph, in the order of the network and the spec."""

    observations: tuple[str, ...]
    heads: tuple[str, ...]


def graph_names(spec: GameSpec, tensors: Sequence[str]) -> GraphNames:
    """Return the names for the observation ``tensors`` and the heads of a game; no two are equal."""
    taken = {MASK, MEMORY, CHOICES}
    return GraphNames(_words(tensors, taken), _words((h.name for h in spec.heads), set()))


def _words(names: Iterable[str], taken: set[str]) -> tuple[str, ...]:
    out = []
    for name in names:
        word = base = _ODD.sub("_", name)[:_LONGEST].strip("_") or "unnamed"
        number = 2
        while word in taken:
            word, number = f"{base}_{number}", number + 1
        taken.add(word)
        out.append(word)
    return tuple(out)
