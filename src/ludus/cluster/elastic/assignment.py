"""The fixed rule by which parts of the matches are given to the rollouts that are there."""

from __future__ import annotations

from collections.abc import Sequence

from ludus.presets.config import ClusterConfig

NOWHERE = -1  # home of a part that no rollout plays


def least_rollouts(cluster: ClusterConfig) -> int:
    """Return the number of rollouts without which a run does not play."""
    return cluster.min_rollouts or cluster.rollouts


def assigned(homes: Sequence[int], present: Sequence[int]) -> list[int]:
    """Return the rollout of each part. The rollouts' numbers of parts differ by at most one.

    As few parts move as possible: parts of rollouts that are gone, and the last parts of rollouts that
    have more than their share. They go to the first rollouts with too few, in the order of the parts.

    Args:
        homes: Rollout of each part until now, or :data:`NOWHERE`.
        present: Numbers of the rollouts that are there, at least one; a part's rollout may be missing.

    Raises:
        ValueError: No rollout is there.
    """
    if not present:
        raise ValueError("present: expected one rollout or more")
    held: dict[int, list[int]] = {number: [] for number in present}
    free: list[int] = []
    for part, home in enumerate(homes):
        held.get(home, free).append(part)
    low, more = divmod(len(homes), len(present))
    by_load = sorted(present, key=lambda number: (-len(held[number]), number))
    share = {number: low + (place < more) for place, number in enumerate(by_load)}
    for number, parts in held.items():
        free += parts[share[number] :]
        del parts[share[number] :]
    waiting = iter(sorted(free))
    for number in sorted(present):
        while len(held[number]) < share[number]:
            held[number].append(next(waiting))
    out = [NOWHERE] * len(homes)
    for number, parts in held.items():
        for part in parts:
            out[part] = number
    return out
