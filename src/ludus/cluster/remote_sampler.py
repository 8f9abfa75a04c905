"""A sampler over rollouts: N slabs are joined along rows, in the order of the rollouts.

Trainers see one sampler with N times the slots. Which weights play which slab is decided before the rollouts
are asked, so equal seeds give equal bits, and one rollout gives those of a sampler in this process.
Lanes, slots and arrays of a snapshot have the numbers that
:class:`ludus.rollouts.joined_sampler.JoinedSampler` gives those of its parts.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping

import msgspec
import numpy as np
import ray

from ludus.cluster.fleet import Fleet
from ludus.cluster.rollout import Answer, Tensors
from ludus.cluster.weights import arrays_of
from ludus.flow import MatchResult, Orders, RolloutStats, Slab, Terms, Weights
from ludus.flow.slab import Array
from ludus.rollouts.exchange import TIME_STEP, SlabSink, WeightSource
from ludus.rollouts.joined_sampler import POLICY, lane_of, part_of


class RemoteSampler:
    """A sampler whose matches a fleet plays (:class:`ludus.rollouts.exchange.Sampler`)."""

    def __init__(self, fleet: Fleet, slabs: int, joined: bool = True) -> None:
        """Own ``fleet``. Its arrays are copied to ``slabs`` slabs of this process.

        Args:
            fleet: The rollouts.
            slabs: Number of slabs to be filled in turn.
            joined: Whether a slab has the rows of all rollouts; else it has those of one, as they come.
        """
        self.fleet, self._joined = fleet, joined
        self.spec, self.params = fleet.spec, fleet.params
        self.labels, self.actors = dict(fleet.labels), fleet.actors
        for number in range(1, len(fleet)):
            for name, lane in self._lanes(number).items():
                if name in fleet.labels:
                    self.labels[lane] = fleet.labels[name]
        self.played = False
        self.slabs = [self._slab() for _ in range(slabs)]

    def _slab(self) -> Slab:
        facts, parts = self.fleet.facts, range(len(self.fleet) if self._joined else 1)
        slab = Slab(self.spec, self.fleet.steps, facts.rows * len(parts))
        slab.row_slot = np.concatenate([facts.row_slot + i * facts.slots for i in parts])
        slab.row_seat = np.concatenate([facts.row_seat for _ in parts])
        return slab

    @property
    def slots(self) -> int:
        """Number of matches that one rollout plays at a time: orders are for the slots of each."""
        return self.fleet.facts.slots

    @property
    def all_slots(self) -> int:
        """See :attr:`ludus.rollouts.exchange.Sampler.all_slots`."""
        return len(self.fleet) * self.fleet.facts.slots

    @property
    def learned(self) -> Collection[int]:
        """See :attr:`ludus.rollouts.exchange.Sampler.learned`."""
        return self.fleet.learned

    @property
    def bound(self) -> Mapping[int, str]:
        """See :attr:`ludus.rollouts.exchange.Sampler.bound`."""
        bound = enumerate(self.fleet.bound)
        return {lane_of(i, lane): player for i, part in bound for lane, player in part.items()}

    @property
    def time_step(self) -> int:
        """See :attr:`ludus.rollouts.exchange.Sampler.time_step`."""
        return self.fleet.time_step

    def take(self, sources: Mapping[int, WeightSource]) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.take`."""
        live: dict[tuple[str, int], object] = {}  # one copy of a player's weights for all of its lanes
        for policy, source in sources.items():
            if policy not in self.actors:
                self._take_live(policy, source, live)
                continue
            actor = self.actors[policy]
            if actor.version != source.version:
                actor.version = source.copy_to(actor.network)
                self.fleet.send_weights(policy, actor.version, ray.put(arrays_of(actor.network)))

    def _take_live(self, policy: int, source: WeightSource, sent: dict[tuple[str, int], object]) -> None:
        """Send the weights of ``source`` to the rollout that has the lane ``policy``, where they are others.

        Args:
            policy: A live player's lane, of all rollouts.
            source: The player's learner.
            sent: References by player and version; new ones are added.
        """
        number, lane = part_of(policy)
        version, key = source.version, (self.fleet.bound[number][lane], source.version)
        if self.fleet.live_version(number, lane) != version:
            if key not in sent:
                sent[key] = ray.put(dict(source.newest().tensors))
            self.fleet.send_live(number, lane, version, sent[key])

    # ---- players ---------------------------------------------------------------------------------

    def missing(self, players: Collection[str]) -> list[str]:
        """See :meth:`ludus.rollouts.exchange.Sampler.missing`."""
        lacking = set[str]().union(*self.fleet.every("missing", tuple(players)))
        return [player for player in players if player in lacking]

    def put(self, player: str, weights: Weights, keep: Collection[str] = ()) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.put`."""
        self.fleet.put(player, ray.put(weights), keep)

    def replace(self, player: str, weights: Weights) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.replace`."""
        self.fleet.replace(player, ray.put(weights))

    def seat(self, orders: Orders) -> bool:
        """See :meth:`ludus.rollouts.exchange.Sampler.seat`."""
        return self.fleet.follow("seat", orders)

    def follow_orders(self, orders: Orders) -> bool:
        """See :meth:`ludus.rollouts.exchange.Sampler.follow_orders`."""
        return self.fleet.follow("follow_orders", orders)

    def load_lanes(self, bound: Mapping[int, str]) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.load_lanes`."""
        parts: list[dict[int, str]] = [{} for _ in range(len(self.fleet))]
        for lane, player in bound.items():
            number, own = part_of(lane)
            if not 0 <= number < len(parts):
                raise ValueError(f"lanes: {lane} is of rollout {number}, expected one of {len(parts)}")
            parts[number][own] = player
        self.fleet.load_lanes(parts)

    # ---- matches ---------------------------------------------------------------------------------

    def ask(self, terms: Terms) -> bool:
        """See :meth:`ludus.rollouts.exchange.Sampler.ask`; slabs of single rollouts are asked by ``play``."""
        if self._joined:
            self.fleet.ask(terms)
        return self._joined

    def play(
        self,
        slab: Slab,
        sink: SlabSink,
        between: Callable[[], None] | None = None,
        terms: Terms = Terms(),  # noqa: B008  frozen
    ) -> RolloutStats:
        """See :meth:`ludus.rollouts.exchange.Sampler.play`; ``between`` is called once, before the slab."""
        if between is not None:
            between()
        start = time.perf_counter()
        total = RolloutStats()
        if self._joined:
            for i, (answer, arrays) in enumerate(self.fleet.play(terms)):
                self._copy(slab, i, arrays)
                self._add(total, i, answer)
        else:
            self.fleet.terms = terms
            number, answer, arrays = self.fleet.play_first()
            self._copy(slab, 0, arrays)
            self._add(total, number, answer)
        self.played = True
        total.total_s = time.perf_counter() - start
        total.numbers = self.fleet.counts.numbers()
        sink.put(slab, total)
        return total

    def _copy(self, slab: Slab, number: int, arrays: Tensors) -> None:
        """Copy a rollout's arrays to its rows of ``slab``."""
        rows = self.fleet.facts.rows
        place = slice(number * rows, (number + 1) * rows)
        fields = slab.fields()
        for name, array in arrays.items():
            if name.startswith("memory."):
                policy = int(name.removeprefix("memory."))
                shape = (slab.rows, *array.shape[1:])
                if policy not in slab.memory or slab.memory[policy].shape != shape:
                    slab.memory[policy] = np.zeros(shape, np.float32)
                slab.memory[policy][place] = array
            else:
                fields[name][:, place] = array

    def _add(self, total: RolloutStats, number: int, answer: Answer) -> None:
        """Add what a rollout reported about its slab."""
        stats = answer.stats
        total.steps += stats.steps
        total.decisions += stats.decisions
        total.ticks += stats.ticks
        total.infer_s = max(total.infer_s, stats.infer_s)
        total.wait_s = max(total.wait_s, stats.wait_s)
        total.results += [self._renumbered(result, number) for result in stats.results]

    def _lanes(self, number: int) -> dict[str, str]:
        """Return the names in results of a rollout's lanes among all rollouts, by its own names of them."""
        return {f"{POLICY}{lane}": f"{POLICY}{lane_of(number, lane)}" for lane in self.fleet.facts.lanes}

    def _renumbered(self, result: MatchResult, number: int) -> MatchResult:
        """Return ``result`` with the slot and the lanes that it has among all rollouts."""
        if number == 0:
            return result
        lanes = self._lanes(number)
        players = tuple(lanes.get(player, player) for player in result.players)
        slot = result.slot + number * self.fleet.facts.slots
        return msgspec.structs.replace(result, slot=slot, players=players)

    def in_play(self) -> dict[int, int]:
        """See :meth:`ludus.rollouts.exchange.Sampler.in_play`."""
        tags = Counter[int]()
        for part in self.fleet.in_play():
            tags.update(part)
        return dict(tags)

    def snapshot(self) -> dict[str, Array]:
        """See :meth:`ludus.rollouts.exchange.Sampler.snapshot`."""
        parts: list[Tensors] = self.fleet.every("snapshot")
        whole = {f"{prefix}{n}": a for prefix, part in zip(self._prefixes(), parts) for n, a in part.items()}
        return {TIME_STEP: parts[0][TIME_STEP]} | whole

    def restore(self, state: Mapping[str, Array]) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.restore`."""
        parts = [
            {n.removeprefix(prefix): a for n, a in state.items() if n.startswith(prefix)}
            for prefix in self._prefixes()
        ]
        if any(TIME_STEP not in part for part in parts):
            raise ValueError(f"no array {TIME_STEP} of {len(parts)} rollouts")
        self.fleet.restore(parts, int(parts[0][TIME_STEP][0]))
        self.played = True

    def _prefixes(self) -> list[str]:
        """Return the start of the names of each rollout's arrays; one rollout has those of one process."""
        count = len(self.fleet)
        return [""] if count == 1 else [f"sampler{i}." for i in range(count)]

    def start_at(self, time_step: int) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.start_at`."""
        self.fleet.start_at(time_step)

    def close(self) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.close`."""
        self.fleet.close()
