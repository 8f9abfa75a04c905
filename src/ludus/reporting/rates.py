"""Rates of learners: decisions that a learner receives and consumes a second (TLeague's rfps and cfps)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

RECEIVED, CONSUMED = "throughput/received_per_s", "throughput/consumed_per_s"
SECONDS = "time/update_s"


class LearnerRates(msgspec.Struct, frozen=True):
    """Mean rates of a learner, a second of its rounds: in a league members play in turn.

    Args:
        received_per_s: Decisions that were collected for it.
        consumed_per_s: Decisions that it differentiated, each as often as an epoch learned from it.
        seconds: Time of its rounds.
        updates: Their number.
    """

    received_per_s: float
    consumed_per_s: float
    seconds: float
    updates: int


def learner_rates(updates: Iterable[tuple[str, Mapping[str, float]]]) -> dict[str, LearnerRates]:
    """Return the rates by player, "" in a run without a league.

    Args:
        updates: Player and numbers of each update; those without rates are left out.
    """
    sums: dict[str, list[float]] = {}
    for player, numbers in updates:
        seconds = numbers.get(SECONDS, 0.0)
        if seconds <= 0.0 or RECEIVED not in numbers or CONSUMED not in numbers:
            continue
        total = sums.setdefault(player, [0.0, 0.0, 0.0, 0.0])
        fresh = (numbers[RECEIVED] * seconds, numbers[CONSUMED] * seconds, seconds, 1.0)
        sums[player] = [old + new for old, new in zip(total, fresh, strict=True)]
    return {
        player: LearnerRates(received / seconds, consumed / seconds, seconds, int(count))
        for player, (received, consumed, seconds, count) in sums.items()
    }
