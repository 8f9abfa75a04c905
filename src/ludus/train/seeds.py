"""Seeds of the parts of a run, derived from the one seed that a preset has."""

from __future__ import annotations

# Streams of randomness that must never meet: each part of a run draws from a seed of its own.
SEED_POOL, SEED_NETWORK, SEED_ACTING, SEED_PAST, SEED_EVALUATION = 1, 2, 3, 4, 5


def derive_seed(seed: int, *stream: int) -> int:
    """A 63-bit seed for one stream of a run: SplitMix64's finaliser over (seed, stream numbers)."""
    mask = (1 << 64) - 1
    z = seed & mask
    for part in stream:
        z = (z + 0x9E3779B97F4A7C15 * (part + 1)) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        z ^= z >> 31
    return z >> 1
