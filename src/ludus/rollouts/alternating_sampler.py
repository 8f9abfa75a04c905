"""Two samplers that take turns: one plays the new rules of a game, the other one those of ``game.before``.

Which one fills the next slab follows from a counter alone: the share of the old rules is added up, and each
whole is a slab of theirs (error diffusion). So the numbers of slabs are exact at any time, and equal seeds
give equal bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from ludus.flow import RolloutStats, Slab, Terms, joined
from ludus.flow.slab import Array
from ludus.rollouts.exchange import TIME_STEP, Sampler, SlabSink
from ludus.rollouts.joined_sampler import Filled, JoinedSampler

NEW, OLD = 0, 1  # numbers of the parts
PREFIXES = "now.", "before."  # of their arrays in a snapshot
TURNS = "turns"  # array of a snapshot: int64[1], the part of a slab that the old rules are owed
WHOLE = 1 << 32  # of a slab


class Turns:
    """Whose turn it is, slab by slab."""

    def __init__(self) -> None:
        """Owe nothing."""
        self.owed = 0  # in 0..WHOLE - 1, of a slab under the old rules

    def next(self, share: float) -> int:
        """Return :data:`NEW` or :data:`OLD` for the next slab.

        Args:
            share: Share of the slabs under the old rules, 0..1.
        """
        self.owed += math.ceil(share * WHOLE)
        if self.owed < WHOLE:
            return NEW
        self.owed -= WHOLE
        return OLD


class AlternatingSampler(JoinedSampler):
    """A sampler that fills each slab under one of two sets of rules.

    Each part keeps its matches while the other one plays. Both follow the same orders and have the same
    weights; lanes of the old rules' part are numbered as in a joined sampler.
    """

    def __init__(self, new: Sampler, old: Sampler, slabs: int, share: float) -> None:
        """Take turns between two samplers, each with one slab of its own.

        Args:
            new: Plays the new rules.
            old: Plays the old ones, with the same seats and slots.
            slabs: Number of slabs that are filled in turn.
            share: The first value of :attr:`share`.

        Raises:
            ValueError: A part is joined of several itself.
        """
        if any(isinstance(part, JoinedSampler) for part in (new, old)):
            raise ValueError("two sets of rules: expected one sampler for each")
        super().__init__((new, old), slabs=0)
        self.slabs = [joined([new.slabs[0]]) for _ in range(slabs)]
        self.share = share  # of the slabs under the old rules, from the next one on
        self._turns = Turns()
        self._not_counted = 0  # time steps

    @property
    def time_step(self) -> int:
        """Number of time steps of both parts together."""
        return sum(part.time_step for part in self.parts) - self._not_counted

    @property
    def played(self) -> bool:
        """Whether one of the parts has played."""
        return any(part.played for part in self.parts)

    def ask(self, terms: Terms) -> bool:
        """See :meth:`ludus.rollouts.exchange.Sampler.ask`: nothing is asked for."""
        return False

    def play(
        self,
        slab: Slab,
        sink: SlabSink,
        between: Callable[[], None] | None = None,
        terms: Terms = Terms(),  # noqa: B008  frozen
    ) -> RolloutStats:
        """See :meth:`ludus.rollouts.exchange.Sampler.play`. The part whose turn it is plays."""
        if terms.old_share is not None:
            self.share = terms.old_share
        number = self._turns.next(self.share)
        part, filled = self.parts[number], Filled()
        part.play(part.slabs[0], filled, between, terms)
        joined(filled.slabs, slab)
        (stats,) = filled.stats
        stats.results = [self.joined_result(number, 0, result) for result in stats.results]
        stats.before_steps = stats.steps if number == OLD else 0
        sink.put(slab, stats)
        return stats

    def snapshot(self) -> dict[str, Array]:
        """See :meth:`ludus.rollouts.exchange.Sampler.snapshot`. A part that has not played has no matches."""
        last = max(part.time_step for part in self.parts)
        out: dict[str, Array] = {
            TIME_STEP: np.array([last], np.int64),
            TURNS: np.array([self._turns.owed], np.int64),
        }
        for prefix, part in zip(PREFIXES, self.parts, strict=True):
            arrays = part.snapshot() if part.played else {TIME_STEP: np.array([part.time_step], np.int64)}
            out |= {f"{prefix}{name}": array for name, array in arrays.items()}
        return out

    def restore(self, state: Mapping[str, Array]) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.restore`."""
        owed = _number(state, TURNS)
        if owed >= WHOLE:
            raise ValueError(f"{TURNS}: {owed}, expected less than {WHOLE}")
        for prefix, part in zip(PREFIXES, self.parts, strict=True):
            own = {n.removeprefix(prefix): a for n, a in state.items() if n.startswith(prefix)}
            if own.keys() == {TIME_STEP}:
                part.start_at(_number(own, TIME_STEP))
            else:
                part.restore(own)
        self._turns.owed, self._not_counted = owed, 0

    def start_at(self, time_step: int) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.start_at`. Turns start again."""
        super().start_at(time_step)
        self._turns.owed, self._not_counted = 0, time_step


def _number(state: Mapping[str, Array], name: str) -> int:
    """Return a stored number, >= 0. Raises ``ValueError``."""
    array = state.get(name)
    if array is None or array.shape != (1,) or array.dtype != np.int64 or int(array[0]) < 0:
        raise ValueError(f"{name}: expected one int64, 0 or more")
    return int(array[0])
