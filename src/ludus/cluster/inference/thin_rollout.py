"""A rollout whose decisions an inference server makes: pool and codecs, and no torch."""

from __future__ import annotations

import sys
import time
from typing import Any, cast

import numpy as np

from ludus.cluster.inference.connecting import connect_to
from ludus.cluster.inference.orders import ThinOrder
from ludus.cluster.messages import RolloutLayout, SlabReport, SlabRequest, Tensors
from ludus.cluster.received import ReceivedFiles
from ludus.cluster.rollout_part import RolloutPart
from ludus.cluster.sent_preset import SentPreset
from ludus.flow import Weights, WeightsMeta
from ludus.flow.command import SamplerCommand
from ludus.inference.client import InferenceClient, ServedActor
from ludus.inference.messages import NetworkCard
from ludus.inference.thin_sampler import ServedBank, ThinFacts, ThinSampler, idle_actors
from ludus.pool import PoolError
from ludus.pool.factory import make_pool
from ludus.presets.errors import ConfigError
from ludus.rollouts.actor import Actor
from ludus.rollouts.bot_actor import BotActor
from ludus.rollouts.collector import Collector
from ludus.rollouts.commands import AddPlayer, LoadWeights, ReplacePlayer, TakeSnapshot
from ludus.rollouts.exchange import INCARNATION, StoredWeights
from ludus.rollouts.lanes import Lanes


class ThinRollout(RolloutPart):
    """Matches of one learner on another machine, like :class:`ludus.cluster.rollout.Rollout`."""

    def __init__(self, files: ReceivedFiles, node: str) -> None:
        """Start without a sampler.

        Args:
            files: Files of this process.
            node: Address of this machine.
        """
        super().__init__(files, node)
        self._sampler: ThinSampler | None = None
        self._inputs: tuple[str, ...] = ()
        self._incarnation = 0
        self._rested_from = time.perf_counter()

    @property
    def sampler(self) -> ThinSampler:
        """The sampler of :meth:`build`."""
        if self._sampler is None:
            raise ValueError("no sampler was built")
        return self._sampler

    def build(self, order: ThinOrder, sent: SentPreset) -> RolloutLayout:
        """Build a sampler in the place of the last one. Raises ``ConfigError``.

        Args:
            order: Description of the sampler.
            sent: Settings of the run.
        """
        self.close()
        game = self._files.preset(sent).game.name
        try:
            pool = make_pool(game, order.params, order.lineup, order.options)
        except (PoolError, ValueError) as error:
            raise ConfigError(error, where="pool") from error
        heads = len(pool.spec.heads)
        client = InferenceClient(order.server, lambda: connect_to(order.address, order.seat, heads))
        policy, card, seed = order.learner
        learner = ServedActor(client, card, {policy: seed})
        others: dict[int, Actor] = {
            other: BotActor(pool.spec) if known is None else ServedActor(client, known[0], {other: known[1]})
            for other, known in order.others.items()
        }
        actors: dict[int, Actor] = {policy: learner, **others, **idle_actors(learner, client, order.lanes)}
        bank = ServedBank(client, order.lanes, order.cache)
        facts = ThinFacts(
            spec=pool.spec,
            labels=order.labels,
            actors={policy: learner},
            slabs=[pool.slab(order.steps)],
            live_name=order.live_name,
        )
        self._sampler = ThinSampler(
            facts=facts,
            lineup=order.lineup,
            pool=pool,
            bank=bank,
            lanes=Lanes(bank.lanes),
            collector=Collector(pool, actors, learned=order.learned, shown=order.shown),
            client=client,
            others=others,
            live=order.live,
        )
        self._incarnation, self._inputs = order.incarnation, card.inputs
        self._rested_from = time.perf_counter()
        return RolloutLayout(
            slots=pool.slots,
            rows=pool.rows,
            row_slot=np.array(pool.row_slot),
            row_seat=np.array(pool.row_seat),
            lanes=bank.lanes,
        )

    def play(self, request: SlabRequest) -> tuple[SlabReport, Tensors]:
        """Fill a slab. Return what is known about it, and the arrays that a learner reads."""
        sampler, actors = self.sampler, self.sampler.facts.actors
        slab = sampler.facts.slabs[0]
        start, rested_from = time.perf_counter(), self._rested_from
        sampler.send(request.terms)
        versions = {p: StoredWeights(Weights(WeightsMeta(v, "", "", "", ""), {})) for p, v in request.weights}
        sampler.send(LoadWeights(versions))
        stats = sampler.play(slab)
        digests = {p: actor.digest() for p, actor in actors.items()} if request.digest else {}
        fields = slab.learned_fields(self._inputs)
        self._rested_from = end = time.perf_counter()
        answer = SlabReport(
            stats,
            sampler.state.time_step,
            {policy: actor.version for policy, actor in actors.items()},
            digests,
            busy_s=end - start,
            idle_s=start - rested_from,
        )
        return answer, fields

    def send(self, command: SamplerCommand[Any], card: NetworkCard | None = None) -> object:
        """Let the sampler carry out ``command``; ``card`` stands for its weights, if it has some."""
        sampler = self.sampler
        match command:
            case AddPlayer() if card is not None:
                sampler.add_player(command.player, card, command.keep)
                return None
            case ReplacePlayer() if card is not None:
                sampler.replace_player(command.player, card)
                return None
        answer: object = sampler.send(command)
        if isinstance(command, TakeSnapshot) and self._incarnation:
            return cast(Tensors, answer) | {INCARNATION: np.array([self._incarnation], np.int64)}
        return answer

    def losses(self) -> int:
        """Return the number of servers that were lost while this rollout asked them."""
        return self.sampler.client.losses

    def modules(self) -> list[str]:
        """Return the names of the modules that this process has loaded."""
        return sorted(sys.modules)

    def close(self) -> None:
        """Stop the matches. Idempotent."""
        if self._sampler is not None:
            self._sampler.close()
            self._sampler = None
