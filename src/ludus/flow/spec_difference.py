"""The first place in which two declarations of a game differ for a policy, its seats and its decisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import NamedTuple

from ludus.flow.spec import GameSpec, HeadSpec, TensorSpec

_GAME = "name", "version", "seats", "teams", "turn_based"
_TENSOR = "dtype", "shape", "codec", "scale"  # what the hash of a spec reads
_HEAD = (
    *("size", "depends_on", "kind", "low", "high"),
    *("points_at", "rows", "by_columns", "integer"),
)


class Difference(NamedTuple):
    """A place, as ``label 6 of own``, and its value on both sides."""

    place: str
    one: object
    other: object


def interface_difference(one: GameSpec, other: GameSpec) -> Difference | None:
    """Return the first difference for a policy that plays both; None where there is none.

    Bots, parameters and lengths of matches may differ.
    """
    return next(_differences(one, other), None)


def _differences(one: GameSpec, other: GameSpec) -> Iterator[Difference]:
    yield from _fields(one, other, _GAME, "")
    yield from _parts(one.observation, other.observation, _TENSOR, "observation")
    yield from _parts(one.heads, other.heads, _HEAD, "action head")
    if one.spec_hash != other.spec_hash:
        yield Difference("spec hash", one.spec_hash, other.spec_hash)


def _parts(
    ones: Iterable[TensorSpec | HeadSpec],
    others: Iterable[TensorSpec | HeadSpec],
    fields: Iterable[str],
    kind: str,
) -> Iterator[Difference]:
    """Yield the differences of tensors or heads; labels come first, because sizes follow from them."""
    for i, (a, b) in enumerate(zip_longest(ones, others)):
        if a is None or b is None or a.name != b.name:
            yield Difference(f"{kind} {i}", *(None if part is None else part.name for part in (a, b)))
            return
        for k, (x, y) in enumerate(zip_longest(a.labels, b.labels)):
            if x != y:
                yield Difference(f"label {k} of {a.name}", x, y)
        yield from _fields(a, b, fields, f" of {a.name}")


def _fields(one: object, other: object, fields: Iterable[str], of: str) -> Iterator[Difference]:
    for name in fields:
        x, y = getattr(one, name), getattr(other, name)
        if x != y:
            yield Difference(f"{name}{of}", x, y)
