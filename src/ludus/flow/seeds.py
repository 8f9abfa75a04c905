"""Seeds: every random stream of a run is derived from the seed of its preset.

All stream numbers are listed here, because two components with one stream would draw the same numbers.
"""

from __future__ import annotations

from typing import overload

import numpy as np
import numpy.typing as npt

SEED_POOL = 1  # matches of training
SEED_NETWORK = 2  # initial weights, shuffles of minibatches
SEED_ACTING = 3  # decisions of the learner's policy
SEED_PAST = 4  # decisions of past weights, and the draw of those that play
SEED_EVALUATION = 5  # matches of evaluations
SEED_BUFFER = 7  # positions drawn from AlphaZero's replay buffer
SEED_SYMMETRIES = 8  # symmetries under which self-play evaluates
SEED_SAMPLER = 9  # everything that a run's second and later samplers draw
SEED_GATE = 17  # matches at AlphaZero's gate
SEED_LEAGUE = 18  # draws, origins and mutations of a league
SEED_SURGERY = 19  # matches by which surgery calibrates and verifies
SEED_ANALYSIS = 23  # matches of analyses
SEED_OPENING = 24  # their openings

COUNTER_PAST = 0x9A57  # Philox counter: the draw of past weights
STREAM_MATCH = 0x6D61  # seeds of Python games

_MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15


@overload
def splitmix64(z: int) -> int: ...
@overload
def splitmix64(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]: ...
def splitmix64(z: int | npt.NDArray[np.uint64]) -> int | npt.NDArray[np.uint64]:
    """Apply the finaliser of SplitMix64 (Steele, Lea, Flood 2014) to an integer below 2**64 or an array."""
    if isinstance(z, int):
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
        return z ^ (z >> 31)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return mixed


def derive_seed(seed: int, *stream: int) -> int:
    """Derive a 63-bit seed for one stream of a run from (seed, stream numbers)."""
    z = seed & _MASK
    for part in stream:
        z = splitmix64((z + GAMMA * (part + 1)) & _MASK)
    return z >> 1


def mix(*parts: int) -> int:
    """Return 64 bits that depend on every part and on their order."""
    z = GAMMA
    for part in parts:
        z = (z ^ (part & _MASK)) * 0xBF58476D1CE4E5B9 & _MASK
        z = ((z ^ (z >> 30)) * 0x94D049BB133111EB + GAMMA) & _MASK
        z ^= z >> 31
    return z


def match_seed(seed: int, match: int) -> int:
    """Derive the seed of a Python game's match: 31 bits of (pool's seed, match number)."""
    return mix(seed, STREAM_MATCH, match) >> 33
