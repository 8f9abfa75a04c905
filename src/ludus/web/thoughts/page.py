"""Thoughts as data of the replay page: columns of small integers, and the decisions that are worth a look.

``static/replay/thoughts.js`` reads them; the two files are one format. Probabilities travel in thousandths,
values and Q-values in thousandths of their unit, chances of whole decisions in hundred-thousandths.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ludus.flow.inputs.shown import visible
from ludus.web.thoughts.mistakes import LEAST_DROP, MOST_MARKS, drops
from ludus.web.thoughts.thought import HeadNames, HeadThought, Opinion, Thought

#: Choices of a head that the page gets, unless all heads of the match have more than MOST_KEPT together.
MOST_PAGE_CHOICES = 24
MOST_KEPT = 200_000
MOST_OWNED = 400_000  # cells with an owner, of all thoughts together
UNIT = 1000
assert LEAST_DROP * UNIT == 0.5  # a drop that the page would show as 0 is none
CHANCE_UNIT = 100_000
_NONE = -1 - (1 << 31)  # a value that is not known
_LARGEST = 1 << 31


def page_data(opinion: Opinion) -> dict[str, object]:
    """Return one opinion for the header of the page."""
    thoughts = opinion.thoughts
    each = max(1, len(thoughts) * len(opinion.heads))
    most = max(2, min(MOST_PAGE_CHOICES, MOST_KEPT // each))
    heads = [_Columns(names, most) for names in opinion.heads]
    for thought in thoughts:
        for k, columns in enumerate(heads):
            columns.add(thought.heads[k], thought.action[k] if thought.action else -1)
    ticks = [t.tick for t in thoughts]
    fallen = drops(opinion)
    return {
        "name": visible(opinion.name),
        "kind": opinion.kind,
        "sees": opinion.sees,
        "tree": opinion.tree,
        "cut": opinion.cut,
        "ticks": [b - a for a, b in zip([0, *ticks], ticks, strict=False)],
        "seats": [t.seat for t in thoughts],
        "values": [_NONE if t.value is None else _whole(t.value, UNIT) for t in thoughts],
        "chances": [-1 if t.chance is None else _whole(t.chance, CHANCE_UNIT) for t in thoughts],
        "heads": [columns.data() for columns in heads],
        "lines": [list(t.line) for t in thoughts] if any(t.line for t in thoughts) else [],
        "ownership": _ownership(thoughts),
        "drops": [index for index, _ in fallen],
        "falls": [_whole(change, UNIT) for _, change in fallen],
        "rare": rare(thoughts),
    }


def rare(thoughts: Sequence[Thought], most: int = MOST_MARKS) -> list[int]:
    """Return indices of the decisions that the player would have made least often, the rarest first.

    Decisions without an alternative, and those that it makes in more than half of the cases, are none.
    """
    found = [
        (t.chance, i)
        for i, t in enumerate(thoughts)
        if t.chance is not None and t.chance < 0.5 and any(len(h.choices) > 1 for h in t.heads)
    ]
    return [index for _, index in sorted(found)[:most]]


def _ownership(thoughts: Sequence[Thought]) -> list[list[int]]:
    """Return the owners of the cells at each thought; nothing if there are too many numbers."""
    count = sum(len(t.ownership) for t in thoughts)
    return [list(t.ownership) for t in thoughts] if 0 < count <= MOST_OWNED else []


@dataclass(slots=True)
class _Columns:
    """One head: its choices of all thoughts, one after the other, and how many each thought has."""

    names: HeadNames
    most: int
    counts: list[int] = field(default_factory=list)
    choices: list[int] = field(default_factory=list)
    made: list[int] = field(default_factory=list)
    p: list[int] = field(default_factory=list)
    q: list[int] = field(default_factory=list)
    visits: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    def add(self, head: HeadThought, made: int) -> None:
        """Add the next thought; ``made`` is the choice that was made, -1 where it is not known."""
        if head.number is not None:
            self.numbers += [_whole(n, UNIT) for n in head.number]
            made = -1  # bits of a number
        kept = [i for i, choice in enumerate(head.choices) if choice == made or self._matters(head, i)]
        self.counts.append(len(kept))
        self.choices += [head.choices[i] for i in kept]
        self.made.append(made)
        self.p += [_whole(head.p[i], UNIT) for i in kept if head.p]
        self.q += [_whole(head.q[i], UNIT) for i in kept if head.q]
        self.visits += [min(head.visits[i], _LARGEST) for i in kept if head.visits]

    def _matters(self, head: HeadThought, i: int) -> bool:
        seen = not head.p or head.p[i] >= 0.5 / UNIT or (bool(head.visits) and head.visits[i] > 0)
        return i < self.most and seen

    def data(self) -> dict[str, object]:
        """Return the columns; labels only of choices that occur."""
        used: Iterable[int] = sorted({*self.choices} & set(range(len(self.names.labels))))
        columns = {
            "counts": self.counts,
            "choices": self.choices,
            "made": self.made,
            "p": self.p,
            "q": self.q,
            "visits": self.visits,
            "numbers": self.numbers,
        }
        labels = [[choice, visible(self.names.labels[choice])] for choice in used]
        return {"name": visible(self.names.name), "labels": labels, **columns}


def _whole(number: float, unit: int) -> int:
    """Return a number in parts of a unit, within 32 bits; weights of others' runs may give any number."""
    if math.isnan(number):
        return _NONE
    return round(max(-_LARGEST, min(_LARGEST, number * unit)))
