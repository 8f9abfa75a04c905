"""Matches that are played again: where they differ, and games that do not promise that they are equal."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from ludus.flow.spec import GameSpec


def digests(steps: Sequence[bytes], limit: int) -> list[str]:
    """Return a digest of each of the first time steps."""
    return [hashlib.blake2b(step, digest_size=8).hexdigest() for step in steps[:limit]]


def compare(
    first: Sequence[bytes], again: Sequence[bytes] | None, check: str, what: str, unlike: dict[str, str]
) -> None:
    """Add to ``unlike`` where a match that was played again differs; None: it was not."""
    if again is None or first == again:
        return
    pairs = zip(first, again, strict=False)
    tick = next((t for t, (a, b) in enumerate(pairs) if a != b), min(len(first), len(again)))
    unlike.setdefault(check, f"the same seed and decisions give something else at tick {tick} {what}")


def not_promised(spec: GameSpec, unlike: Mapping[str, str]) -> dict[str, str]:
    """Return the notes of a game whose matches depend on more than their seed."""
    if spec.reproducible:
        return {}
    notes = {check: f"not promised (reproducible = False): {detail}" for check, detail in unlike.items()}
    return {"hash_order": "only the spaces are compared (reproducible = False)", **notes}
