"""The part of a run that plays on another machine: samplers, asked for one slab at a time.

A rollout owns pools and acting networks and knows nothing of the learner. Weights, orders and players come
with a request; the answer is small, the slab's arrays are a second object that the learner fetches later.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, cast

import msgspec
import numpy as np

from ludus.cluster.messages import RolloutLayout, SamplerOrder, SlabReport, SlabRequest, Tensors
from ludus.cluster.received import ReceivedFiles
from ludus.cluster.rollout_part import RolloutPart
from ludus.cluster.self_play import RolloutSelfPlay, SelfPlayAnswer, SelfPlayOrder, SelfPlayRequest
from ludus.cluster.sent_preset import SentPreset
from ludus.cluster.weights import arrays_of, digest_of
from ludus.flow import Weights, WeightsMeta
from ludus.flow.command import SamplerCommand
from ludus.rollouts.commands import LoadWeights, TakeSnapshot
from ludus.rollouts.exchange import INCARNATION, StoredWeights, WeightSource
from ludus.training.actor_learner.sampler import LocalSampler, build_sampler


class Rollout(RolloutPart):
    """Matches of one learner on another machine."""

    def __init__(self, files: ReceivedFiles, node: str) -> None:
        """Start without a sampler.

        Args:
            files: Files of this process.
            node: Address of this machine.
        """
        super().__init__(files, node)
        self._sampler: LocalSampler | None = None
        self._inputs: list[str] = []
        self._rested_from = time.perf_counter()
        self._self_play: RolloutSelfPlay | None = None
        self._incarnation = 0

    @property
    def sampler(self) -> LocalSampler:
        """The sampler of :meth:`build`."""
        if self._sampler is None:
            raise ValueError("no sampler was built")
        return self._sampler

    def build(self, order: SamplerOrder, sent: SentPreset) -> RolloutLayout:
        """Build a sampler in the place of the last one. Raises ``ConfigError``.

        Args:
            order: Description of the sampler.
            sent: Settings of the run, resolved by its controller: threads, device and precision are not
                ``auto``.
        """
        self.close()
        made = build_sampler(
            self._files.preset(sent),
            order.index,
            slabs=1,
            restarts=order.restarts,
            incarnation=order.incarnation,
            seats=order.seats,
        )
        self._sampler, self._incarnation = made, order.incarnation
        network = next(iter(made.facts.actors.values())).network
        self._inputs = [t.name for t in network.inputs]
        pool = made.pool
        self._rested_from = time.perf_counter()
        return RolloutLayout(
            slots=pool.slots,
            rows=pool.rows,
            row_slot=np.array(pool.row_slot),
            row_seat=np.array(pool.row_seat),
            lanes=tuple(made.lanes.ids),
        )

    def play(self, request: SlabRequest, *tensors: Tensors) -> tuple[SlabReport, Tensors]:
        """Fill a slab. Return what is known about it, and the arrays that a learner reads."""
        sampler, actors = self.sampler, self.sampler.facts.actors
        slab = sampler.facts.slabs[0]
        start, rested_from = time.perf_counter(), self._rested_from
        sampler.send(request.terms)
        sampler.send(LoadWeights(_sources(request.weights, tensors)))
        stats = sampler.play(slab)
        versions = {policy: actor.version for policy, actor in actors.items()}
        digests: dict[int, str] = {}
        if request.digest:
            digests = {p: digest_of(arrays_of(actor.network)) for p, actor in actors.items()}
        fields = slab.learned_fields(self._inputs)
        self._rested_from = end = time.perf_counter()
        answer = SlabReport(
            stats,
            sampler.state.time_step,
            versions,
            digests,
            busy_s=end - start,
            idle_s=start - rested_from,
        )
        return answer, fields

    # ---- self-play -------------------------------------------------------------------------------

    def build_self_play(self, order: SelfPlayOrder, sent: SentPreset) -> None:
        """Build matches of self-play in the place of what was built last. Raises ``ConfigError``."""
        self.close()
        self._self_play = RolloutSelfPlay(self._files.preset(sent), order)

    def play_matches(
        self, request: SelfPlayRequest, weights: Tensors | None
    ) -> tuple[SelfPlayAnswer, Tensors]:
        """See :meth:`ludus.cluster.self_play.RolloutSelfPlay.play`."""
        if self._self_play is None:
            raise ValueError("no self-play was built")
        return self._self_play.play(request, weights)

    def stop_playing(self, request: int) -> None:
        """Let the self-play of request ``request`` end after the next batch; called beside it."""
        if self._self_play is not None:
            self._self_play.stopped = request

    # ---- between two slabs -----------------------------------------------

    def send(self, command: SamplerCommand[Any], weights: Weights | None = None) -> object:
        """Let the sampler carry out ``command``; ``weights`` are its weights, if it has some."""
        if weights is not None:
            command = msgspec.structs.replace(command, weights=weights)
        answer: object = self.sampler.send(command)
        if isinstance(command, TakeSnapshot) and self._incarnation:
            return cast(Tensors, answer) | {INCARNATION: np.array([self._incarnation], np.int64)}
        return answer

    def close(self) -> None:
        """Stop the matches. Idempotent."""
        if self._sampler is not None:
            self._sampler.close()
            self._sampler = None
        if self._self_play is not None:
            self._self_play.close()
            self._self_play = None


def _sources(versions: Sequence[tuple[int, int]], tensors: Sequence[Tensors]) -> dict[int, WeightSource]:
    """Return the sources of weights by policy id or lane, which have these ``versions``."""
    return {
        policy: StoredWeights(Weights(WeightsMeta(version, "", "", "", ""), arrays))
        for (policy, version), arrays in zip(versions, tensors, strict=True)
    }
