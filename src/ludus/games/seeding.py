"""Numbers that a match of a Python game depends on: functions of the run's seed and the match's number."""

from __future__ import annotations

_MASK64 = (1 << 64) - 1
_MATCH = 0x6D61  # stream


def mix(*parts: int) -> int:
    """Return 64 bits that depend on every part: SplitMix64's finaliser over them in turn."""
    z = 0x9E3779B97F4A7C15
    for part in parts:
        z = (z ^ (part & _MASK64)) * 0xBF58476D1CE4E5B9 & _MASK64
        z = ((z ^ (z >> 30)) * 0x94D049BB133111EB + 0x9E3779B97F4A7C15) & _MASK64
        z ^= z >> 31
    return z


def match_seed(seed: int, match: int) -> int:
    """Return the seed of a Python game's match: 31 bits of (pool's seed, match number)."""
    return mix(seed, _MATCH, match) >> 33
