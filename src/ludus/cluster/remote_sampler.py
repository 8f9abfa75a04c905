"""A sampler over rollouts: N slabs are joined along rows, in the order of the rollouts.

Trainers see one sampler with N times the slots. Which weights play which slab is decided before the rollouts
are asked, so equal seeds give equal bits, and one rollout gives those of a sampler in this process.
Lanes of different rollouts have different policy ids here: rollout i's lane L is ``L + i * STRIDE``.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

import msgspec
import numpy as np
import ray
import torch

from ludus.cluster.actors import Call, RolloutLost, gather
from ludus.cluster.fleet import Fleet
from ludus.cluster.rollout import Answer, Facts, Request, Tensors
from ludus.flow import GameSpec, MatchResult, Orders, RolloutStats, Slab, Weights
from ludus.flow.slab import Array
from ludus.policies.protocol import Network
from ludus.rollouts.exchange import SlabSink, WeightSource
from ludus.rollouts.network_actor import NetworkActor

STRIDE = 1 << 10  # more than a pool has policy ids
LANE = "policy:"  # start of the name of a lane in a result


class RemoteSampler:
    """A sampler whose matches are played by the rollouts of a fleet (:class:`ludus.rollouts.exchange.Sampler`)."""

    def __init__(self, fleet: Fleet, slabs: int) -> None:
        """Own ``fleet``, whose slabs are joined in ``slabs`` slabs of this process."""
        self._fleet = fleet
        self.spec, self.params = fleet.spec, fleet.params
        self.labels, self.actors = fleet.labels, fleet.actors
        self.time_step, self.played = 0, False
        self._own_labels = dict(fleet.labels)
        self._bound: list[dict[int, str]] = [{} for _ in range(len(fleet))]
        self._in_play: list[dict[int, int]] | None = None
        self.slabs = [self._slab() for _ in range(slabs)]

    def _slab(self) -> Slab:
        facts, fleet = self._fleet.facts, self._fleet
        slab = Slab(self.spec, fleet.steps, facts.rows * len(fleet))
        slab.row_slot = np.concatenate([facts.row_slot + i * facts.slots for i in range(len(fleet))])
        slab.row_seat = np.concatenate([facts.row_seat] * len(fleet))
        return slab

    @property
    def slots(self) -> int:
        """See :attr:`ludus.rollouts.exchange.Sampler.slots`."""
        return self._fleet.facts.slots * len(self._fleet)

    @property
    def learned(self) -> Collection[int]:
        """See :attr:`ludus.rollouts.exchange.Sampler.learned`."""
        return self._fleet.facts.learned

    @property
    def bound(self) -> Mapping[int, str]:
        """See :attr:`ludus.rollouts.exchange.Sampler.bound`."""
        return {lane + i * STRIDE: p for i, bound in enumerate(self._bound) for lane, p in bound.items()}

    def take(self, sources: Mapping[int, WeightSource]) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.take`."""
        for policy, source in sources.items():
            actor = self.actors[policy]
            if actor.version != source.version:
                actor.version = source.copy_to(actor.network)
                self._fleet.send_weights(policy, actor.version, ray.put(arrays_of(actor.network)))

    # ---- players ---------------------------------------------------------------------------------

    def missing(self, players: Collection[str]) -> list[str]:
        """See :meth:`ludus.rollouts.exchange.Sampler.missing`."""
        lacking = set[str]().union(*self._fleet.every("missing", tuple(players)))
        return [player for player in players if player in lacking]

    def put(self, player: str, weights: Weights, keep: Collection[str] = ()) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.put`."""
        self._fleet.every("put", player, ray.put(weights), tuple(keep))

    def replace(self, player: str, weights: Weights) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.replace`."""
        self._fleet.every("replace", player, ray.put(weights))

    def seat(self, orders: Orders) -> bool:
        """See :meth:`ludus.rollouts.exchange.Sampler.seat`."""
        return self._settled("seat", orders)

    def follow_orders(self, orders: Orders) -> bool:
        """See :meth:`ludus.rollouts.exchange.Sampler.follow_orders`."""
        return self._settled("follow_orders", orders)

    def load_lanes(self, bound: Mapping[int, str]) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.load_lanes`."""
        if any(lane // STRIDE >= len(self._fleet) for lane in bound):
            raise ValueError(f"lanes: {dict(bound)}, expected those of {len(self._fleet)} rollouts")
        parts: list[dict[int, str]] = [{} for _ in range(len(self._fleet))]
        for lane, player in bound.items():
            parts[lane // STRIDE][lane % STRIDE] = player
        gather([a.ask("load_lanes", part) for a, part in zip(self._fleet.rollouts, parts, strict=True)])
        self._bound = parts

    def _settled(self, method: str, orders: Orders) -> bool:
        answers: list[tuple[bool, dict[int, str]]] = self._fleet.every(method, orders)
        self._bound = [bound for _, bound in answers]
        self._in_play = None
        return all(settled for settled, _ in answers)

    # ---- matches ---------------------------------------------------------------------------------

    def play(
        self,
        slab: Slab,
        sink: SlabSink,
        between: Callable[[], None] | None = None,
        handover: int | None = None,
    ) -> RolloutStats:
        """See :meth:`ludus.rollouts.exchange.Sampler.play`; ``between`` is called once, before the slab."""
        if between is not None:
            between()
        start = time.perf_counter()
        total = RolloutStats()
        self._in_play = []
        for i, (answer, arrays) in enumerate(self._fleet.play(handover)):
            self._copy(slab, i, arrays)
            self._add(total, i, answer)
        self.played = True
        total.total_s = time.perf_counter() - start
        sink.put(slab, total)
        return total

    def _copy(self, slab: Slab, number: int, arrays: Tensors) -> None:
        """Copy a rollout's arrays to its rows of ``slab``."""
        rows = self._fleet.facts.rows
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
        self.time_step = answer.time_step
        assert self._in_play is not None
        self._in_play.append(answer.in_play)

    def _renumbered(self, result: MatchResult, number: int) -> MatchResult:
        """Return ``result`` with the slot and the lanes that it has among all rollouts."""
        if number == 0:
            return result
        lanes = {f"{LANE}{lane}": f"{LANE}{lane + number * STRIDE}" for lane in self._fleet.facts.lanes}
        players = tuple(lanes.get(player, player) for player in result.players)
        slot = result.slot + number * self._fleet.facts.slots
        return msgspec.structs.replace(result, slot=slot, players=players)

    def in_play(self) -> dict[int, int]:
        """See :meth:`ludus.rollouts.exchange.Sampler.in_play`."""
        if self._in_play is None:
            self._in_play = self._fleet.every("in_play")
        tags = Counter[int]()
        for part in self._in_play:
            tags.update(part)
        return dict(tags)

    def snapshot(self) -> dict[str, Array]:
        """See :meth:`ludus.rollouts.exchange.Sampler.snapshot`."""
        parts: list[Tensors] = self._fleet.every("snapshot")
        return {f"{prefix}{n}": a for prefix, part in zip(self._prefixes(), parts) for n, a in part.items()}

    def restore(self, state: Mapping[str, Array]) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.restore`."""
        calls: list[Call] = []
        for actor, prefix in zip(self._fleet.rollouts, self._prefixes(), strict=True):
            part = {n.removeprefix(prefix): a for n, a in state.items() if n.startswith(prefix)}
            calls.append(actor.ask("restore", part))
        gather(calls)
        self.played, self._in_play = True, None
        (step,) = {int(state[f"{prefix}collector.time_step"][0]) for prefix in self._prefixes()}
        self.time_step = step

    def _prefixes(self) -> list[str]:
        """Return the start of the names of each rollout's arrays; one rollout has those of one process."""
        count = len(self._fleet)
        return [""] if count == 1 else [f"rollout{i}." for i in range(count)]

    def start_at(self, time_step: int) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.start_at`."""
        self._fleet.every("start_at", time_step)
        self.time_step = time_step

    def close(self) -> None:
        """See :meth:`ludus.rollouts.exchange.Sampler.close`."""
        self._fleet.close()


@torch.no_grad()
def arrays_of(network: Network) -> Tensors:
    """Return copies of the tensors of ``network`` as numpy arrays, which have no bfloat16."""
    return {
        name: np.array((t.float() if t.dtype == torch.bfloat16 else t).cpu().numpy())
        for name, t in network.state_dict().items()
    }
