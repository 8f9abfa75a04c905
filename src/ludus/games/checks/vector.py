"""Conformance of the vectorised form of an environment, which is the one that trains.

A library may have written an environment twice: for one match and for many that it steps by one call. Both
play episodes of random decisions, and have the same lengths and returns up to chance.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ludus.flow.inputs.finite import not_finite
from ludus.flow.slab import Array
from ludus.flow.spec import GameSpec
from ludus.games.checks.monitor import CallMonitor
from ludus.games.python_game import MAX_TICKS as UNBOUNDED_TICKS
from ludus.games.python_game import GameMaker, Ints, VectorGame

SLOTS, EPISODES = 8, 5  # the first episodes of each slot count: the same number, however long they are
MAX_STEPS = 4000  # of the vectorised form
SECONDS = 10.0  # of each form
#: Probability of a difference by chance that counts as a fault (two-sample Kolmogorov-Smirnov).
CHANCE = 1e-6
ADVICE = "set the parameter vectorise = no, or mend the class of vector_entry_point"

#: An episode of the single form under a seed: length and return; None if it is not over in time.
PlayOne = Callable[[int], tuple[int, float] | None]


class VectorFault(Exception):
    """The vectorised form breaks its contract, or plays another game."""


@dataclass(slots=True)
class _Played:
    """Finished episodes of each slot, at most ``EPISODES`` of them: length and return."""

    episodes: list[list[tuple[int, float]]] = field(default_factory=lambda: [[] for _ in range(SLOTS)])

    @property
    def whole(self) -> bool:
        return all(len(of_slot) == EPISODES for of_slot in self.episodes)

    def all(self) -> list[tuple[int, float]]:
        return [episode for of_slot in self.episodes for episode in of_slot]


def check_vector(maker: GameMaker, seed: int, monitor: CallMonitor, play_one: PlayOne) -> str:
    """Play the vectorised form, if there is one, and compare it with the single form.

    Returns:
        A note on what was not compared; empty otherwise.

    Raises:
        VectorFault: A fault, with its place and a remedy.
    """
    made = getattr(maker, "guest", maker)
    with monitor.call("make_vector", f"{SLOTS} matches"):
        game: VectorGame | None = made.make_vector(SLOTS) if maker.spec.seats == 1 else None
    if game is None:
        return ""
    try:
        many = _play(maker.spec, game, seed, monitor)
    finally:
        with monitor.call("close", "of the vectorised form"):
            game.close()
    if not many.whole:
        return "the vectorised form was not compared with the single one: its matches are long"
    one = _single(seed, play_one)
    if len(one) < SLOTS * EPISODES:
        return "the vectorised form was not compared with the single one: its matches are long"
    for what, column in (("lengths", 0), ("returns", 1)):
        a, b = ([float(episode[column]) for episode in each] for each in (one, many.all()))
        if _differ(np.array(a), np.array(b)):
            raise VectorFault(
                f"{what} of {len(a)} episodes of random decisions: {_text(a)} one by one, {_text(b)} of "
                f"the vectorised form, which trains: {ADVICE}"
            )
    return ""


def _single(seed: int, play_one: PlayOne) -> list[tuple[int, float]]:
    found: list[tuple[int, float]] = []
    end = time.monotonic() + SECONDS
    while len(found) < SLOTS * EPISODES and time.monotonic() < end:
        episode = play_one(seed + len(found))
        if episode is None:
            break
        found.append(episode)
    return found


def _play(spec: GameSpec, game: VectorGame, seed: int, monitor: CallMonitor) -> _Played:
    """Play until every slot has its episodes, or the time is over. Checks every return value."""
    limit = spec.max_ticks if 0 < spec.max_ticks < UNBOUNDED_TICKS else 0
    rng, played = np.random.default_rng(seed), _Played()
    ticks, returns = np.zeros(SLOTS, np.int64), np.zeros(SLOTS, np.float64)
    acting = np.ones(SLOTS, np.bool_)  # a slot whose match is over starts the next one in the next step
    seen = {t.name: np.zeros((SLOTS, *t.packed_shape), t.packed_dtype) for t in spec.observation}
    end = time.monotonic() + SECONDS
    with monitor.call("reset", f"vectorised, seed {seed}"):
        game.reset(seed)
    for step in range(MAX_STEPS):
        where = f"vectorised, seed {seed}, step {step}"
        with monitor.call("observe", where):
            game.observe(seen)
        for name, array in seen.items():
            if broken := not_finite(f"({where}) observation {name}", array):
                raise VectorFault(broken)
        if played.whole or time.monotonic() > end:
            break
        with monitor.call("step", where):
            reward, terminated, truncated = game.step(_decisions(spec, rng))
        if not np.isfinite(reward[acting]).all():
            raise VectorFault(f"({where}): rewards {reward.tolist()}, expected finite numbers")
        ticks += acting
        returns += np.where(acting, reward, 0.0)
        over = acting & (np.asarray(terminated) | np.asarray(truncated))
        if limit and (acting & ~over & (ticks >= limit)).any():
            raise VectorFault(
                f"({where}): a match is not over after {limit} ticks, the limit that the environment "
                f"declares; one by one they end there: {ADVICE}"
            )
        for slot in np.flatnonzero(over).tolist():
            if len(played.episodes[slot]) < EPISODES:
                played.episodes[slot].append((int(ticks[slot]), float(returns[slot])))
        ticks[over], returns[over] = 0, 0.0
        acting = ~over
    return played


def _decisions(spec: GameSpec, rng: np.random.Generator) -> Ints:
    """Return random decisions ``int32[SLOTS, K]``; every action of a vectorised form is legal."""
    out = np.zeros((SLOTS, len(spec.heads)), np.int32)
    for k, head in enumerate(spec.heads):
        if head.kind == "continuous":
            out[:, k] = rng.standard_normal(SLOTS).astype(np.float32).view(np.int32)
        else:
            out[:, k] = rng.integers(0, head.size, SLOTS)
    return out


def _differ(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> bool:
    """Whether two samples are too far apart for one distribution, rounding of sums aside."""
    scale = max(1.0, float(np.abs(np.concatenate([a, b])).max())) * 1e-5
    a, b = np.round(a / scale), np.round(b / scale)
    values = np.unique(np.concatenate([a, b]))
    shares = [np.searchsorted(np.sort(x), values, side="right") / len(x) for x in (a, b)]
    distance = float(np.abs(shares[0] - shares[1]).max())
    critical = float(np.sqrt(-np.log(CHANCE / 2) / 2 * (len(a) + len(b)) / (len(a) * len(b))))
    return distance > critical


def _text(values: list[float]) -> str:
    array: Array = np.array(values)
    low, high = float(array.min()), float(array.max())
    return f"{low:g}" if low == high else f"{low:g} to {high:g} (mean {float(array.mean()):.4g})"
