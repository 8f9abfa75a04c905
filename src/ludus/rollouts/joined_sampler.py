"""Several samplers as one: their slabs are joined along rows, in a fixed order."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from ludus.flow import GameSpec, MatchResult, Orders, RolloutStats, Slab, Terms, Weights, joined
from ludus.flow.slab import Array
from ludus.rollouts.exchange import TIME_STEP, Sampler, SlabSink, WeightSource
from ludus.rollouts.network_actor import NetworkActor

SHIFT = 16  # lanes of part i are numbered from i << 16 on: a policy id has 16 bits
POLICY = "policy:"  # prefix of a policy's name in results and labels


class JoinedSampler:
    """A sampler whose rows are those of its parts (:class:`ludus.rollouts.exchange.Sampler`).

    All parts follow the same orders, each in its own slots. A part binds players to its own lanes; the joined
    sampler numbers these apart, and so do the results that it returns.
    """

    def __init__(self, parts: Sequence[Sampler], slabs: int = 2) -> None:
        """Join ``parts``, one or more of the same run, into ``slabs`` slabs of their rows together.

        The parts are closed with it.
        """
        self.parts = list(parts)
        self.slabs = [joined([part.slabs[0] for part in self.parts]) for _ in range(slabs)]
        self.labels = {
            self._renamed(i, name): label
            for i, part in enumerate(self.parts)
            for name, label in part.labels.items()
        }

    @property
    def spec(self) -> GameSpec:
        """See :attr:`ludus.rollouts.exchange.Sampler.spec`."""
        return self.parts[0].spec

    @property
    def params(self) -> dict[str, str]:
        """See :attr:`ludus.rollouts.exchange.Sampler.params`."""
        return self.parts[0].params

    @property
    def slots(self) -> int:
        """Number of matches that one part plays at a time: orders are for the slots of each."""
        return self.parts[0].slots

    @property
    def all_slots(self) -> int:
        """See :attr:`ludus.rollouts.exchange.Sampler.all_slots`."""
        return sum(part.all_slots for part in self.parts)

    @property
    def actors(self) -> Mapping[int, NetworkActor]:
        """Actors of the first part."""
        return self.parts[0].actors

    @property
    def learned(self) -> Collection[int]:
        """See :attr:`ludus.rollouts.exchange.Sampler.learned`."""
        return self.parts[0].learned

    @property
    def time_step(self) -> int:
        """Number of time steps of each part."""
        return self.parts[0].time_step

    @property
    def played(self) -> bool:
        """See :attr:`ludus.rollouts.exchange.Sampler.played`."""
        return all(part.played for part in self.parts)

    @property
    def bound(self) -> Mapping[int, str]:
        """Players by the lane that plays them, of all parts."""
        return {
            lane_of(i, lane): player
            for i, part in enumerate(self.parts)
            for lane, player in part.bound.items()
        }

    def take(self, sources: Mapping[int, WeightSource]) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.take`."""
        for i, part in enumerate(self.parts):
            part.take(
                {
                    policy if policy in part.actors else part_of(policy)[1]: source
                    for policy, source in sources.items()
                    if policy in part.actors or part_of(policy)[0] == i
                }
            )

    # ---- players ---------------------------------------------------------------------------------

    def missing(self, players: Collection[str]) -> list[str]:
        """See :meth:`ludus.rollouts.exchange.Sampler.missing`."""
        lacking = {player for part in self.parts for player in part.missing(players)}
        return [player for player in players if player in lacking]

    def put(self, player: str, weights: Weights, keep: Collection[str] = ()) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.put`."""
        for part in self.parts:
            part.put(player, weights, keep)

    def replace(self, player: str, weights: Weights) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.replace`."""
        for part in self.parts:
            part.replace(player, weights)

    def seat(self, orders: Orders) -> bool:
        """See :meth:`ludus.rollouts.exchange.Sampler.seat`."""
        settled = [part.seat(orders) for part in self.parts]
        return all(settled)

    def follow_orders(self, orders: Orders) -> bool:
        """See :meth:`ludus.rollouts.exchange.Sampler.follow_orders`."""
        settled = [part.follow_orders(orders) for part in self.parts]
        return all(settled)

    def load_lanes(self, bound: Mapping[int, str]) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.load_lanes`."""
        lanes: list[dict[int, str]] = [{} for _ in self.parts]
        for lane, player in bound.items():
            i, own = part_of(lane)
            if not 0 <= i < len(lanes):
                raise ValueError(f"lanes: {lane} is of sampler {i}, expected one of {len(lanes)} samplers")
            lanes[i][own] = player
        for part, own_lanes in zip(self.parts, lanes, strict=True):
            part.load_lanes(own_lanes)

    # ---- matches ---------------------------------------------------------------------------------

    def ask(self, terms: Terms) -> bool:
        """See :meth:`ludus.rollouts.exchange.Sampler.ask`."""
        asked = [part.ask(terms) for part in self.parts]
        return all(asked)

    def play(
        self,
        slab: Slab,
        sink: SlabSink,
        between: Callable[[], None] | None = None,
        terms: Terms = Terms(),  # noqa: B008  frozen
    ) -> RolloutStats:
        """See :meth:`ludus.rollouts.exchange.Sampler.play`. The parts play one after another."""
        filled = Filled()
        for part in self.parts:
            part.play(part.slabs[0], filled, between, terms)
        joined(filled.slabs, slab)
        stats = self._joined_stats(filled.stats)
        sink.put(slab, stats)
        return stats

    def in_play(self) -> dict[int, int]:
        """See :meth:`ludus.rollouts.exchange.Sampler.in_play`."""
        tags = Counter[int]()
        for part in self.parts:
            tags.update(part.in_play())
        return dict(tags)

    def snapshot(self) -> dict[str, Array]:
        """See :meth:`ludus.rollouts.exchange.Sampler.snapshot`. Arrays have the prefix of their part."""
        parts = [part.snapshot() for part in self.parts]
        whole = {f"{_prefix(i)}{name}": a for i, part in enumerate(parts) for name, a in part.items()}
        return {TIME_STEP: parts[0][TIME_STEP]} | whole

    def restore(self, state: Mapping[str, Array]) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.restore`."""
        states: list[dict[str, Array]] = []
        while any(name.startswith(_prefix(len(states))) for name in state):
            prefix = _prefix(len(states))
            states.append({n.removeprefix(prefix): a for n, a in state.items() if n.startswith(prefix)})
        if len(states) != len(self.parts):
            raise ValueError(f"matches of {len(states)} samplers, expected {len(self.parts)}")
        for part, own in zip(self.parts, states, strict=True):
            part.restore(own)

    def start_at(self, time_step: int) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.start_at`."""
        for part in self.parts:
            part.start_at(time_step)

    def close(self) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.close`."""
        for part in self.parts:
            part.close()

    def _joined_stats(self, parts: Sequence[RolloutStats]) -> RolloutStats:
        """Add statistics up; the parts played one after another."""
        total = RolloutStats()
        for field in dataclasses.fields(RolloutStats):
            if field.name not in ("results", "numbers"):
                setattr(total, field.name, sum(getattr(part, field.name) for part in parts))
        first = 0
        for i, (part, stats) in enumerate(zip(self.parts, parts, strict=True)):
            total.results += [self.joined_result(i, first, result) for result in stats.results]
            first += part.slots
        return total

    def joined_result(self, i: int, first: int, result: MatchResult) -> MatchResult:
        """Return a result of part ``i`` with the joined sampler's numbers of lanes and slots.

        The part's slots are those from ``first`` on.
        """
        players = tuple(self._renamed(i, player) for player in result.players)
        return msgspec.structs.replace(result, slot=result.slot + first, players=players)

    def _renamed(self, i: int, player: str) -> str:
        """Return the name of a player of part ``i`` in results and labels."""
        number = player.removeprefix(POLICY)
        if number == player or int(number) in self.parts[i].actors:
            return player
        return f"{POLICY}{lane_of(i, int(number))}"


class Filled:
    """Sink that keeps the parts' slabs until all have played."""

    def __init__(self) -> None:
        """Start with none."""
        self.slabs: list[Slab] = []
        self.stats: list[RolloutStats] = []

    def put(self, slab: Slab, stats: RolloutStats) -> None:
        """See :class:`ludus.rollouts.exchange.SlabSink`."""
        self.slabs.append(slab)
        self.stats.append(stats)


def lane_of(part: int, lane: int) -> int:
    """Return the number of a part's lane in the joined sampler."""
    return part << SHIFT | lane


def part_of(lane: int) -> tuple[int, int]:
    """Return part and own number of a lane of the joined sampler."""
    return lane >> SHIFT, lane & ((1 << SHIFT) - 1)


def _prefix(part: int) -> str:
    return f"sampler{part}."
