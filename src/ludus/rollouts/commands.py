"""Commands of samplers (:meth:`ludus.rollouts.exchange.Sampler.send`), beside :class:`ludus.flow.Terms`.

Several samplers as one number their lanes apart, and the arrays of their snapshots have a prefix each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec
import numpy as np

from ludus.flow import Orders, Terms, Weights
from ludus.flow.command import SamplerCommand
from ludus.flow.slab import Array
from ludus.rollouts.exchange import TIME_STEP, WeightSource

SHIFT = 16  # lanes of part i are numbered from i << 16 on: a policy id has 16 bits
V = TypeVar("V")


class LoadWeights(SamplerCommand[None], frozen=True):
    """Copy the newest weights of sources into the networks with older ones.

    Args:
        policies: Learners, by policy id.
        lanes: Learners of live players, by lane.
    """

    policies: Mapping[int, WeightSource] = {}
    lanes: Mapping[int, WeightSource] = {}

    def parts(self, count: int) -> Sequence[LoadWeights]:
        """Return all policies and the part's own lanes."""
        return [LoadWeights(self.policies, lanes) for lanes in lanes_apart(self.lanes, count)]


class MissingPlayers(SamplerCommand[list[str]], frozen=True):
    """Return the frozen ones of ``players`` whose weights must be added before they play."""

    players: tuple[str, ...]

    def joined(self, answers: Sequence[list[str]]) -> list[str]:
        """Return the players that some sampler lacks."""
        lacking = set[str]().union(*answers)
        return [player for player in self.players if player in lacking]


class AddPlayer(SamplerCommand[None], frozen=True):
    """Keep the weights of a frozen player.

    They may push out players neither playing nor among ``keep``. Weights of another interface raise
    ``ConfigError``.
    """

    player: str
    weights: Weights
    keep: tuple[str, ...] = ()


class ReplacePlayer(SamplerCommand[None], frozen=True):
    """Let ``weights`` play the lane of ``player``, without the memory of its rows."""

    player: str
    weights: Weights


class Seated(msgspec.Struct, frozen=True):
    """Answer to :class:`SeatPlayers`.

    Args:
        settled: Whether another such command would change nothing: all players have lanes, and of a mixture
            only they.
        bound: Players by the lane that plays them.
    """

    settled: bool
    bound: dict[int, str]


class SeatPlayers(SamplerCommand[Seated], frozen=True):
    """Bind the players of ``orders`` to lanes and follow the orders.

    A match in play continues with the player that started it. A player of a mixture without a free lane is
    left out until the command is sent again; the rest is drawn in its place.

    Args:
        orders: The orders.
        bind: Whether players are bound; otherwise lanes stay as they are bound.
    """

    orders: Orders
    bind: bool = True

    def joined(self, answers: Sequence[Seated]) -> Seated:
        """Return whether all are settled, and all lanes."""
        return Seated(all(a.settled for a in answers), lanes_together([a.bound for a in answers]))


class BindLanes(SamplerCommand[None], frozen=True):
    """Set the players of lanes, before orders are followed. Unknown lanes raise ``ValueError``."""

    lanes: Mapping[int, str]

    def parts(self, count: int) -> Sequence[BindLanes]:
        """Return the part's own lanes."""
        return [BindLanes(lanes) for lanes in lanes_apart(self.lanes, count)]


class PlayAhead(SamplerCommand[bool], frozen=True):
    """Ask for one more slab under ``terms``, which other processes play while the caller does something else.

    Slabs come from ``play`` in the order in which they were asked for, each played with the weights, orders
    and lanes of the moment it was asked for. The answer is whether a slab was asked for. False: this process
    plays, and only when ``play`` is called; ``terms`` have no effect then.
    """

    terms: Terms = Terms()

    def joined(self, answers: Sequence[bool]) -> bool:
        """Return whether all play ahead."""
        return all(answers)


class CountInPlay(SamplerCommand[dict[int, int]], frozen=True):
    """Return the number of matches in play by the tag of their order, 0 without one."""

    def joined(self, answers: Sequence[dict[int, int]]) -> dict[int, int]:
        """Return the sums."""
        tags = Counter[int]()
        for part in answers:
            tags.update(part)
        return dict(tags)


class LanesInPlay(SamplerCommand[tuple[int, ...]], frozen=True):
    """Return the lanes that decide in a match which has started and not ended, ascending."""

    def joined(self, answers: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """Return the lanes of all parts."""
        return tuple(lane_of(i, lane) for i, part in enumerate(answers) for lane in part)


class TakeSnapshot(SamplerCommand[dict[str, Array]], frozen=True):
    """Return matches and rows' memory as arrays, :data:`TIME_STEP` only if no match was played."""

    def joined(self, answers: Sequence[dict[str, Array]]) -> dict[str, Array]:
        """Return all arrays with the prefix of their part; one sampler's have none."""
        if len(answers) == 1:
            return answers[0]
        whole = {f"{_prefix(i)}{name}": a for i, part in enumerate(answers) for name, a in part.items()}
        return {TIME_STEP: answers[0][TIME_STEP]} | whole


class RestoreMatches(SamplerCommand[None], frozen=True):
    """Set the ``arrays`` of :class:`TakeSnapshot`. Arrays that do not fit raise ``ValueError``."""

    arrays: Mapping[str, Array]

    def parts(self, count: int) -> Sequence[RestoreMatches]:
        """Return the part's own arrays."""
        if count == 1:
            return [self]
        states: list[RestoreMatches] = []
        while own := arrays_of_part(self.arrays, _prefix(len(states))):
            states.append(RestoreMatches(own))
        if len(states) != count:
            raise ValueError(f"matches of {len(states)} samplers, expected {count}")
        return states


class StartAt(SamplerCommand[None], frozen=True):
    """Count time steps from ``time_step`` on; random draws do not repeat earlier ones."""

    time_step: int


def lane_of(part: int, lane: int) -> int:
    """Return the number of a part's lane among all parts."""
    return part << SHIFT | lane


def part_of(lane: int) -> tuple[int, int]:
    """Return part and own number of a lane among all parts."""
    return lane >> SHIFT, lane & ((1 << SHIFT) - 1)


def lanes_together(parts: Sequence[Mapping[int, V]]) -> dict[int, V]:
    """Return the lanes of all parts."""
    return {lane_of(i, lane): value for i, part in enumerate(parts) for lane, value in part.items()}


def lanes_apart(lanes: Mapping[int, V], count: int) -> list[dict[int, V]]:
    """Return the lanes of each of ``count`` parts. Raises ``ValueError`` for a lane of another part."""
    parts: list[dict[int, V]] = [{} for _ in range(count)]
    for lane, value in lanes.items():
        i, own = part_of(lane)
        if not 0 <= i < count:
            raise ValueError(f"lanes: {lane} is of sampler {i}, expected one of {count} samplers")
        parts[i][own] = value
    return parts


def arrays_of_part(arrays: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    """Return the arrays whose names start with ``prefix``, without it."""
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}


def stored_number(arrays: Mapping[str, Array], name: str) -> int:
    """Return a stored number, >= 0. Raises ``ValueError``."""
    array = arrays.get(name)
    if array is None or array.shape != (1,) or array.dtype != np.int64 or int(array[0]) < 0:
        raise ValueError(f"{name}: expected one int64, 0 or more")
    return int(array[0])


def _prefix(part: int) -> str:
    return f"sampler{part}."
