"""The part of a run that plays on another machine: samplers, asked for one slab at a time.

A rollout owns pools and acting networks and knows nothing of the learner. Weights, orders and players come
with a request; the answer is small, the slab's arrays are a second object that the learner fetches later.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import numpy as np

from ludus.cluster.checks import About
from ludus.cluster.received import ReceivedFiles
from ludus.cluster.self_play import RolloutSelfPlay, SelfPlayAnswer, SelfPlayOrder, SelfPlayRequest
from ludus.cluster.sent_preset import SentPreset
from ludus.cluster.weights import arrays_of, digest_of
from ludus.flow import RolloutStats, Terms, Weights, WeightsMeta
from ludus.flow.command import SamplerCommand
from ludus.flow.slab import Array
from ludus.presets.checks.game import resolve_spec
from ludus.presets.code import GAME
from ludus.presets.errors import ConfigError
from ludus.rollouts.commands import LoadWeights, TakeSnapshot
from ludus.rollouts.exchange import INCARNATION, StoredWeights, WeightSource
from ludus.training.actor_learner.sampler import LocalSampler, build_sampler
from ludus.training.opponents import Seats
from ludus.version import __version__

Tensors = dict[str, Array]


@dataclass(frozen=True, slots=True)
class SamplerOrder:
    """Description of a sampler that a rollout builds; its settings follow as a separate argument.

    Args:
        index: The rollout's number; each draws on its own.
        restarts: How often the run's matches started again.
        incarnation: How often this rollout was replaced.
        seats: Controllers of each seat; None: the preset's opponents.
    """

    index: int
    restarts: int = 0
    incarnation: int = 0
    seats: Seats | None = None


@dataclass(frozen=True, slots=True)
class RolloutLayout:
    """Rows and lanes of a rollout, which do not change."""

    slots: int
    rows: int
    row_slot: Array
    row_seat: Array
    lanes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SlabRequest:
    """Input of a slab; the tensors of ``weights`` follow as separate arguments.

    Args:
        weights: Policy id, or lane of a live player, and version of each argument.
        terms: Conditions of play.
        digest: Whether the answer has digests of the acting weights.
    """

    weights: tuple[tuple[int, int], ...] = ()
    terms: Terms = Terms()  # noqa: RUF009  frozen
    digest: bool = False


@dataclass(frozen=True, slots=True)
class SlabReport:
    """Report about a slab, without its arrays.

    Args:
        stats: Statistics and results.
        time_step: Time steps since the start of the run.
        versions: Version of the weights of each learner's policy id.
        digests: Digest of the weights that acted for each of them, where the request asked for it.
        busy_s: Seconds in which the slab was played.
        idle_s: Seconds before, since the last slab.
    """

    stats: RolloutStats
    time_step: int
    versions: dict[int, int] = field(default_factory=dict)
    digests: dict[int, str] = field(default_factory=dict)
    busy_s: float = 0.0
    idle_s: float = 0.0


class Rollout:
    """Matches of one learner on another machine."""

    def __init__(self, files: ReceivedFiles, node: str) -> None:
        """Start without a sampler.

        Args:
            files: Files of this process.
            node: Address of this machine.
        """
        self._files, self._node = files, node
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

    def ping(self) -> int:
        """Return the process id."""
        return os.getpid()

    def about(self, sent: SentPreset) -> About:
        """Describe this machine for the settings that it gets.

        Raises:
            ConfigError: It lacks a package, or cannot make the game.
        """
        preset = self._files.preset(sent)
        try:
            spec, _ = resolve_spec(preset)
        except ValueError as error:
            alone = GAME in (file.setting for file in sent.files)
            hint = " (of a game in a file, only that file is sent)" if alone else ""
            raise ConfigError(error, where=f"node {self._node}", more=hint) from error
        return About(socket.gethostname(), os.getpid(), __version__, spec.spec_hash)

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


class Host:
    """A process with a rollout for each learner. One call at a time outside the group ``health``."""

    def __init__(self, node: str, part: Callable[[ReceivedFiles, str], object] = Rollout) -> None:
        """Start without rollouts: one is made when it is called for the first time.

        Args:
            node: Address of this machine.
            part: Makes what answers calls in the place of a rollout.
        """
        self._rollouts: dict[str, object] = {}
        self._node, self._part = node, part
        self._files = ReceivedFiles(self._node)

    def call(self, name: str, method: str, *arguments: object) -> object:
        """Call ``method`` of the rollout ``name`` and return its answer."""
        rollout = self._rollouts.get(name)
        if rollout is None:
            rollout = self._rollouts[name] = self._part(self._files, self._node)
        try:
            answer: object = getattr(rollout, method)(*arguments)
        except Exception as error:
            raise self._files.named_as_sent(error)  # noqa: B904  the same error
        if method == "close":
            del self._rollouts[name]
        return answer

    def ping(self) -> int:
        """Return the process id."""
        return os.getpid()

    def leave(self) -> None:
        """Remove the files of this process before its end."""
        self._files.remove()


def _sources(versions: Sequence[tuple[int, int]], tensors: Sequence[Tensors]) -> dict[int, WeightSource]:
    """Return the sources of weights by policy id or lane, which have these ``versions``."""
    return {
        policy: StoredWeights(Weights(WeightsMeta(version, "", "", "", ""), arrays))
        for (policy, version), arrays in zip(versions, tensors, strict=True)
    }
