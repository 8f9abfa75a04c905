"""Counts and rates of rollouts, as the metrics ``cluster/...`` of an update."""

from __future__ import annotations

from dataclasses import dataclass

SMOOTHING = 0.9  # weight of the former rates in an average, per slab


@dataclass(slots=True)
class RolloutCounts:
    """Counts of one rollout, its successors included.

    Attributes:
        slabs: Slabs that arrived.
        matches_per_s: Running average of the matches that ended, per second of wall time.
        idle: Running average of the share of wall time without a slab to play, in 0..1.
        lag: Versions that the weights of its newest slab were behind the newest weights.
    """

    slabs: int = 0
    matches_per_s: float = 0.0
    idle: float = 0.0
    lag: int = 0

    def add(self, matches: int, busy_s: float, idle_s: float, lag: int) -> None:
        """Count a slab.

        Args:
            matches: Number of matches that ended in it.
            busy_s: Seconds in which it was played.
            idle_s: Seconds before, since the last slab.
            lag: See :attr:`lag`.
        """
        seconds = max(busy_s + idle_s, 1e-9)
        keep = SMOOTHING if self.slabs else 0.0
        self.matches_per_s = keep * self.matches_per_s + (1.0 - keep) * matches / seconds
        self.idle = keep * self.idle + (1.0 - keep) * idle_s / seconds
        self.slabs += 1
        self.lag = lag


class FleetCounts:
    """Counts of all rollouts of a sampler. Seconds are of the controller."""

    def __init__(self, rollouts: int) -> None:
        """Start at zero for ``rollouts`` rollouts."""
        self.rollouts = [RolloutCounts() for _ in range(rollouts)]
        self.present = rollouts  #: rollouts that are there
        self.deaths = 0  #: rollouts that died
        self.server_deaths: int | None = None  #: inference servers that were replaced; None without any
        self.slabs_dropped = 0  #: slabs lost with their rollout
        self.wait_s = 0.0  #: for the slabs of the newest round

    def numbers(self) -> dict[str, float]:
        """Return the metrics by namespaced name."""
        out = {
            "cluster/rollouts": float(len(self.rollouts)),
            "cluster/present": float(self.present),
            "cluster/deaths": float(self.deaths),
            "cluster/slabs_dropped": float(self.slabs_dropped),
            "cluster/wait_s": self.wait_s,
        }
        if self.server_deaths is not None:
            out["cluster/server_deaths"] = float(self.server_deaths)
        for number, counts in enumerate(self.rollouts):
            out[f"cluster/matches_per_s/{number}"] = counts.matches_per_s
            out[f"cluster/lag/{number}"] = float(counts.lag)
            out[f"cluster/idle/{number}"] = counts.idle
        return out
