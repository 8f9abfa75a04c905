"""Workers of self-play over rollouts: moves are asked for, whole matches come back.

Where self-play waits for learning (:func:`ludus.training.alphazero.components.plays_beside_learning`), every
rollout makes an equal share of the moves before, so equal seeds give equal matches however fast the rollouts
are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from ludus.algorithms.config import AlphaZeroConfig
from ludus.cluster.counts import FleetCounts
from ludus.cluster.processes import actors
from ludus.cluster.processes.actors import Call, RolloutActor, RolloutLost, fetch, put, ready_of
from ludus.cluster.processes.crew import Crew, NamedRollouts
from ludus.cluster.self_play import INCARNATIONS, SelfPlayAnswer, SelfPlayOrder, SelfPlayRequest
from ludus.cluster.weights import DIGEST_EVERY, arrays_of, check_digest, digest_of
from ludus.flow import GameSpec
from ludus.mcts import NEVER_RESIGN, Matches
from ludus.mcts.network import NetworkEvaluator
from ludus.pool import PoolError
from ludus.presets.config import Preset
from ludus.training.alphazero.workers import LOOK_S, SelfPlayTimes


@dataclass(slots=True)
class _Rollout:
    """A rollout as the controller knows it."""

    number: int
    lost: RolloutLost | None = None  # it is dead and has no successor yet
    has: int = 0  # number of the weights sent to it
    call: Call | None = None  # without an answer yet
    request: int = 0  # number of its newest request
    moves: int = 0  # that were asked for
    digest: tuple[int, str] | None = None  # version and digest of what is to play, where the answer has one
    matches: list[Matches] = field(default_factory=list)  # that ended since they were taken


class RemoteWorkers:
    """Self-play of N rollouts (:class:`ludus.training.alphazero.workers.SelfPlayWorkers`).

    A rollout has one request at a time and answers it once, so what waits is bounded by the moves of a
    request. A part whose rollout dies, or that moves to another one, loses the matches that had not been
    delivered, and then plays matches with separate numbers.
    """

    def __init__(
        self,
        preset: Preset,
        spec: GameSpec,
        seed: int,
        session: int,
        crew: Crew,
    ) -> None:
        """Build the self-play of the rollouts of ``preset``. Raises ``ConfigError``.

        Args:
            preset: Settings of the run.
            spec: The game on this machine.
            seed: Seed of the matches.
            session: Number of this process among those that have worked at the run.
            crew: The processes of the rollouts, at least as many.
        """
        self._preset, self._spec, self._seed, self._session = preset, spec, seed, session
        self._crew, self._settings = crew, crew.settings_of(preset)
        self._weights: Any = None  # reference to the newest
        self._digest = ""  # of the newest; empty if none was needed
        self._set = 0  # how often weights were set
        self._version, self._symmetry_seed, self._resign = 0, 0, NEVER_RESIGN
        self._moves, self._times = 0, SelfPlayTimes()
        numbers = range(preset.cluster.rollouts)
        self.counts = FleetCounts(len(numbers))
        self.rollouts = [_Rollout(number) for number in numbers]
        self._there = NamedRollouts(crew, len(numbers), self._prepare, self._died, self._carry)
        try:
            calls = [actor.ask(*self._build(number)) for number, actor in enumerate(self._there.actors)]
            for number, call in enumerate(calls):
                try:
                    call.first()
                except RolloutLost as error:
                    self._died(number, error)
        except BaseException:
            self.close()
            raise

    @property
    def deaths(self) -> int:
        """Number of rollouts that died."""
        return self.counts.deaths

    def _build(self, number: int) -> tuple[str, SelfPlayOrder, Any]:
        """Return the call that builds the self-play of the rollout ``number``."""
        count, incarnation = self._preset.cluster.rollouts, self._there.incarnations[number]
        order = SelfPlayOrder(self._seed, self._session, number, count, incarnation)
        return "build_self_play", order, self._settings

    # ---- play ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Let every rollout play on by itself, at most the moves of a round's positions. Idempotent."""
        config = cast(AlphaZeroConfig, self._preset.algorithm)
        self._attend()
        for rollout in self.rollouts:
            if rollout.call is None:
                self._ask(rollout, config.round_positions)

    def play_until(self, moves: int, stopping: Callable[[], bool]) -> None:
        """Play until all rollouts together have made ``moves`` in this session, or ``stopping``.

        Each makes an equal share. Raises what a rollout raised, and ``PoolError`` after too many deaths.
        """
        missing = moves - self._moves
        if missing <= 0:
            return
        self._attend()
        for rollout in self.rollouts:
            if rollout.call is None:
                self._ask(rollout, -(-missing // len(self.rollouts)))
        self._await(lambda: self._ask_successors() or stopping())

    def pause(self) -> None:
        """Stop the rollouts and take what they have played. Raises what a rollout raised. Idempotent."""
        for rollout in self.rollouts:
            if rollout.call is not None:
                try:
                    self._there.actors[rollout.number].ask_beside("stop_playing", rollout.request)
                except RolloutLost as error:
                    self._died(rollout.number, error)
        self._await(lambda: False)

    def _await(self, stopping: Callable[[], bool]) -> None:
        """Wait until every call is answered or lost, or ``stopping`` (polled) returns True."""
        start, waited = time.perf_counter(), 0.0
        while not stopping() and (asked := self._asked()):
            waited = 0.0 if self._receive(asked) else waited + LOOK_S
            if waited >= actors.PATIENCE_S:
                waited = 0.0
                self._check_lives()
        self.counts.wait_s += time.perf_counter() - start

    def _asked(self) -> dict[int, Call]:
        """Return the calls without an answer yet."""
        return {r.number: r.call for r in self.rollouts if r.call is not None}

    def _ask(self, rollout: _Rollout, moves: int) -> None:
        """Ask for ``moves``, of a successor where the rollout died."""
        if rollout.lost is not None:
            self._there.replace(rollout.number, rollout.lost)
        fresh = rollout.has != self._set
        rollout.request, rollout.moves, rollout.has = rollout.request + 1, moves, self._set
        digest = self.counts.rollouts[rollout.number].slabs % DIGEST_EVERY == 0
        rollout.digest = (self._version, self._newest_digest()) if digest else None
        request = SelfPlayRequest(
            rollout.request, moves, self._version, self._symmetry_seed, self._resign, digest
        )
        weights = self._weights if fresh else None
        try:
            rollout.call = self._there.actors[rollout.number].ask("play_matches", request, weights, returns=2)
        except RolloutLost as error:
            self._died(rollout.number, error)

    def _newest_digest(self) -> str:
        """Return the digest of the newest weights."""
        self._digest = self._digest or digest_of(fetch(self._weights))
        return self._digest

    def _ask_successors(self) -> bool:
        """Ask successors of the rollouts that died for what these had not delivered. Return False."""
        for rollout in self.rollouts:
            while rollout.lost is not None:
                self._ask(rollout, rollout.moves)
        return False

    def _receive(self, asked: dict[int, Call]) -> bool:
        """Wait a moment for answers, and keep them. Return whether there was one."""
        ready = ready_of(asked, LOOK_S)
        for number in ready:
            rollout, call = self.rollouts[number], asked[number]
            try:
                answer, columns = call.first(), call.second()
            except RolloutLost as error:
                self._died(rollout.number, error)
            else:
                self._keep(rollout, answer, columns)
            finally:
                rollout.call = None
        return bool(ready)

    def _keep(self, rollout: _Rollout, answer: SelfPlayAnswer, columns: dict[str, Any]) -> None:
        self._crew.count_slab(rollout.number)
        self.counts.present = self._crew.present
        try:
            rollout.matches.append(Matches.check(columns, self._spec.mask_size))
        except ValueError as error:
            raise PoolError(error, where=f"rollout {rollout.number} sent matches that are none") from error
        if rollout.digest is not None:
            check_digest(rollout.number, *rollout.digest, answer.digest)
        matches, lag = len(rollout.matches[-1]), self._version - answer.version
        self.counts.rollouts[rollout.number].add(matches, answer.busy_s, answer.idle_s, lag)
        self._moves += answer.times.moves
        for name in SelfPlayTimes.__slots__:
            setattr(self._times, name, getattr(self._times, name) + getattr(answer.times, name))

    # ---- deaths ----------------------------------------------------------------------------------

    def _check_lives(self) -> None:
        """End the rollouts that do not answer; their calls are then lost."""
        for rollout in self.rollouts:
            if rollout.call is not None:
                self._there.actors[rollout.number].lives()

    def _died(self, number: int, error: RolloutLost) -> None:
        """Note that a rollout died. Its successor is started when it is asked next."""
        rollout = self.rollouts[number]
        if rollout.call is not None:
            self.counts.slabs_dropped += 1
        rollout.call, rollout.lost = None, error
        actor = self._there.actors[number]
        actor.kill()
        others = [r.number for r in self.rollouts if r.lost is not None and r is not rollout]
        if not any(self._there.actors[other].same_process(actor) for other in others):
            self.counts.deaths += 1

    def _prepare(self, number: int) -> None:
        """Build the self-play of a successor. Raises ``PoolError`` after too many of them."""
        rollout = self.rollouts[number]
        if self._crew.incarnations[number] >= INCARNATIONS:
            text = f"part {number} was lost or moved {INCARNATIONS} times in this session"
            raise PoolError(f"{text}; resume the run to start another") from rollout.lost
        rollout.has, rollout.lost = 0, None
        self._there.actors[number].ask(*self._build(number)).first()

    # ---- rollouts that join and leave ------------------------------------------------------------

    def _attend(self) -> None:
        """Let rollouts join and leave, if no call is without an answer and none has died."""
        if all(rollout.call is None and rollout.lost is None for rollout in self.rollouts):
            self._crew.attend()

    def _carry(self, number: int, target: RolloutActor) -> None:
        """Move a part to ``target``, where it starts other matches. Raises :class:`RolloutLost`."""
        with suppress(RolloutLost):
            self._there.actors[number].ask("close").first()
        self._there.actors[number] = target
        self._there.incarnations[number] = self._crew.restart_part(number)
        self._prepare(number)

    # ---- between two requests --------------------------------------------------------------------

    def failed(self) -> bool:
        """Return False: what a rollout raised is raised where its answer is taken."""
        return False

    def take_matches(self) -> Matches:
        """Return the matches that ended since the last call, in the order of the rollouts."""
        parts = [matches for rollout in self.rollouts for matches in rollout.matches]
        for rollout in self.rollouts:
            rollout.matches = []
        return Matches.join(parts)

    def set_weights(self, evaluator: NetworkEvaluator, version: int, seed: int) -> None:
        """Send the weights of ``evaluator`` with the next request of every rollout."""
        self._weights, self._digest = put(arrays_of(evaluator.network)), ""
        self._set += 1
        self._version, self._symmetry_seed = version, seed

    def set_resign(self, below: float) -> None:
        """Send the value below which seats resign with the next requests."""
        self._resign = below

    def moves(self) -> int:
        """Return the number of moves in the answers of this session."""
        return self._moves

    def times(self) -> SelfPlayTimes:
        """Return times and counts of the answers since the last call."""
        times, self._times = self._times, SelfPlayTimes()
        return times

    def numbers(self) -> dict[str, float]:
        """See :meth:`ludus.training.alphazero.workers.SelfPlayWorkers.numbers`."""
        numbers = self.counts.numbers()
        self.counts.wait_s = 0.0
        return numbers

    def pids(self) -> list[int]:
        """Return the process ids of the rollouts. Only while paused."""
        return self._there.pids()

    def close(self) -> None:
        """Stop the matches. The processes stay. Idempotent."""
        for rollout in self.rollouts:
            if rollout.call is not None:
                with suppress(RolloutLost):
                    self._there.actors[rollout.number].ask_beside("stop_playing", rollout.request)
        self.rollouts = []
        self._there.close()
