"""Mistakes of a match in an opinion: the decisions after which a seat's value falls most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from ludus.flow.spec import GameSpec
from ludus.web.thoughts.thought import Opinion, Thought

MOST_MARKS = 10  # of a list
LEAST_DROP = 0.5 / 1000  # of a value
Texts = Mapping[tuple[int, int], str]


class ValueDrop(msgspec.Struct, frozen=True):
    """A decision after which the value of its seat fell.

    Attributes:
        tick: Ticks before the decision: where a page shows it.
        seat: The seat.
        played: Name of the decision.
        better: Name of the decision that the analyst prefers; empty where it is the played one.
        value: Value of the seat before the decision.
        after: Its value after the decision.
        change: ``after`` less ``value``, below 0.
        line: Names of the moves that the analyst expects after the better one, which is the first.
    """

    tick: int
    seat: int
    played: str
    better: str
    value: float
    after: float
    change: float
    line: tuple[str, ...] = ()


def alternates(spec: GameSpec) -> bool:
    """Return whether two seats decide in turn and see everything: one's value is the other's, negative."""
    return spec.turn_based and spec.perfect_information and spec.seats == 2


def values_after(thoughts: Sequence[Thought], outcome: Sequence[float] = ()) -> list[float | None]:
    """Return the value of each decision's seat in the next position, of a game that :func:`alternates`.

    Args:
        thoughts: Thoughts about all decisions, in the order of play.
        outcome: Outcome of the match, which follows the last decision; empty where it is not over.
    """
    found: list[float | None] = []
    for thought, following in pairwise(thoughts):
        value = following.value
        found.append(value if value is None or following.seat == thought.seat else -value)
    if thoughts:
        found.append(outcome[thoughts[-1].seat] if outcome else None)
    return found


def changes(opinion: Opinion) -> list[float | None]:
    """Return how far each decision changed the value of its seat; None where it is not known."""
    thoughts = opinion.thoughts
    found: list[float | None] = [None] * len(thoughts)
    if opinion.after:
        for index, (thought, after) in enumerate(zip(thoughts, opinion.after, strict=True)):
            if thought.value is not None and after is not None:
                found[index] = after - thought.value
        return found
    before: dict[int, int] = {}
    for index, thought in enumerate(thoughts):
        if thought.value is None:
            continue
        last = before.get(thought.seat)
        was = None if last is None else thoughts[last].value
        if last is not None and was is not None:
            found[last] = thought.value - was
        before[thought.seat] = index
    return found


def drops(opinion: Opinion, most: int = MOST_MARKS) -> list[tuple[int, float]]:
    """Return the decisions after which a seat's value falls most, the largest drop first.

    Each is the index of a thought with the change of the value, below 0. A decision that a search itself
    would make is no mistake.
    """
    found = [
        (change, index)
        for index, change in enumerate(changes(opinion))
        if change is not None and change < -LEAST_DROP and not _is_own(opinion, index)
    ]
    return [(index, change) for change, index in sorted(found)[:most]]


def _is_own(opinion: Opinion, index: int) -> bool:
    thought = opinion.thoughts[index]
    head = thought.heads[0]
    return bool(
        opinion.kind == "search" and thought.action and head.choices and head.choices[0] == thought.action[0]
    )


def mean_loss(opinion: Opinion, seat: int) -> float | None:
    """Return the mean fall of the value at a decision of ``seat``; None without a value."""
    known = [
        -min(0.0, change) if not _is_own(opinion, index) else 0.0
        for index, change in enumerate(changes(opinion))
        if change is not None and opinion.thoughts[index].seat == seat
    ]
    return sum(known) / len(known) if known else None


def mistakes(opinion: Opinion, texts: Texts, most: int = MOST_MARKS) -> list[ValueDrop]:
    """Return the largest drops with the names of the decisions.

    Args:
        opinion: Thoughts about a match.
        texts: Names of the decisions that were made, by tick and seat.
        most: The longest list.
    """
    found = []
    for index, change in drops(opinion, most):
        thought = opinion.thoughts[index]
        assert thought.value is not None
        played = texts.get((thought.tick, thought.seat), "")
        line = tuple(_label(opinion, 0, move) for move in thought.line)
        better = preferred(opinion, thought)
        found.append(
            ValueDrop(
                thought.tick,
                thought.seat,
                played,
                better,
                round(thought.value, 4),
                round(thought.value + change, 4),
                round(change, 4),
                line,
            )
        )
    return found


def preferred(opinion: Opinion, thought: Thought) -> str:
    """Return the name of the decision that the player prefers; empty where it is the one that was made."""
    names = []
    for k, head in enumerate(thought.heads):
        if not head.choices:
            continue
        best, made = head.choices[0], thought.action[k] if thought.action else -1
        if best != made:
            label = _label(opinion, k, best)
            names.append(label if len(thought.heads) == 1 else f"{opinion.heads[k].name} {label}")
    return ", ".join(names)


def _label(opinion: Opinion, head: int, choice: int) -> str:
    labels = opinion.heads[head].labels
    return labels[choice] if 0 <= choice < len(labels) else str(choice)
