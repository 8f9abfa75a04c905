"""The parts of one sampler: their rollouts are asked all together, and replaced where they die."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ludus.cluster.counts import FleetCounts
from ludus.cluster.inference.orders import ThinOrder
from ludus.cluster.inference.servers import InferenceServers
from ludus.cluster.inference.service import FleetService
from ludus.cluster.messages import RolloutLayout, SamplerOrder, SlabReport, SlabRequest, Tensors
from ludus.cluster.processes.actors import Call, RolloutActor, RolloutLost, fetch, first_ready, put
from ludus.cluster.processes.crew import Crew, NamedRollouts
from ludus.cluster.processes.starting import check_store
from ludus.cluster.weights import DIGEST_EVERY, check_digest, digest_of
from ludus.flow import Orders, TensorSpec, Terms, Weights, WeightsMeta
from ludus.flow.command import R, SamplerCommand
from ludus.presets.config import Preset
from ludus.rollouts.commands import (
    AddPlayer,
    BindLanes,
    MissingPlayers,
    ReplacePlayer,
    RestoreMatches,
    Seated,
    SeatPlayers,
    StartAt,
    TakeSnapshot,
    stored_number,
)
from ludus.rollouts.exchange import INCARNATION, TIME_STEP
from ludus.rollouts.match_sampler import POOL
from ludus.training.actor_learner.sampler import sampler_parts
from ludus.training.opponents import Seats

#: In the place of a command's weights, which are an argument beside it: Ray fetches them once a machine.
SENT_APART = Weights(WeightsMeta(0, "", "", "", ""), {})


class Asked(NamedTuple):
    """A slab that a rollout was asked for.

    ``expected``: version and digest of the weights that play it, by policy id, where the answer has digests.
    ``served``: names and versions of the learners' weights that it needs of inference servers.
    """

    call: Call
    expected: dict[int, tuple[int, str]]
    served: frozenset[tuple[str, int]] = frozenset()


class Fleet:
    """A sampler's N parts on rollouts. One thread calls it.

    A part whose rollout dies gets the next incarnation, which plays separate matches; the slab that was lost
    is played again, so that every slab counts once. A part that moves to another rollout continues
    its matches.
    """

    def __init__(
        self,
        preset: Preset,
        restarts: int = 0,
        seats: Seats | None = None,
        report: Callable[[str], None] = lambda text: None,
        crew: Crew | None = None,
        servers: InferenceServers | None = None,
    ) -> None:
        """Build samplers on the rollouts of ``preset``. Raises ``ConfigError``.

        Args:
            preset: Settings of the run.
            restarts: See :func:`ludus.training.actor_learner.sampler.build_sampler`.
            seats: See :func:`ludus.training.actor_learner.sampler.build_sampler`.
            report: Called with a line now and then while machines are missing.
            crew: Rollouts on which other fleets play too; None: start rollouts for this fleet only.
            servers: Servers that decide for the rollouts; None where ``cluster.inference = 0``.
        """
        if (servers is not None) != (preset.cluster.inference > 0):
            raise ValueError(f"cluster.inference = {preset.cluster.inference}: other servers were given")
        count = preset.cluster.rollouts
        self._preset, self._restarts, self._seats = preset, restarts, seats
        parts = sampler_parts(preset, seats=seats)
        self.spec, self.params = parts.spec, parts.params
        self.labels, self.actors, self.learned = parts.labels, parts.actors, parts.learned
        self.steps = preset.pool.rollout_length
        self.time_step = 0
        self.counts = FleetCounts(count)
        self.bound: list[dict[int, str]] = [{} for _ in range(count)]  #: players by the lanes of each rollout
        self._weights: dict[int, tuple[int, Any]] = {}  # newest of each policy id
        self._live: list[dict[int, tuple[int, Any]]] = [{} for _ in range(count)]  # of live players' lanes
        self._sent: list[dict[int, int]] = [{} for _ in range(count)]  # versions that a rollout has
        self._players: dict[str, Any] = {}  # weights of frozen players that a successor needs
        self._dropped: set[str] = set()  # frozen players whose weights only rollouts may still have
        self._digests: dict[int, tuple[int, str]] = {}  # newest of the acting weights of each policy id
        self._orders: Orders | None = None
        self.terms = Terms()  #: of the next requests
        self._asked: deque[list[Asked]] = deque()  # slabs of all rollouts, oldest first
        self._flying: dict[int, Asked] = {}  # slabs of single rollouts
        self._owned = crew is None
        self._crew = crew or Crew(preset, report)
        self._settings = self._crew.settings_of(preset)
        self._deaths_before = self._crew.deaths
        self._turns = [0] * count  # grows: the last turn in which each part was asked for a slab
        self._rollouts = NamedRollouts(self._crew, count, self._prepare, self._died, self._carry)
        self._service: FleetService | None = None
        try:
            if servers is not None:
                self._service = FleetService(servers, preset, self._rollouts.name, parts, self._settings)
            calls = [("build", self._order(i), self._settings) for i in range(count)]
            self.layout: RolloutLayout = self._rollouts.together(calls)[0]
            check_store(self.spec, self.layout.rows, preset, [t.name for t in self._inputs()])
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self.bound)

    @property
    def deaths(self) -> int:
        """Number of rollouts that were replaced."""
        return self._crew.deaths

    def _inputs(self) -> Sequence[TensorSpec]:
        return next(iter(self.actors.values())).network.inputs

    def _order(self, number: int) -> SamplerOrder | ThinOrder:
        incarnation = self._rollouts.incarnations[number]
        if self._service is not None:
            return self._service.order(number, self._restarts, incarnation)
        return SamplerOrder(number, self._restarts, incarnation, self._seats)

    # ---- between two slabs -----------------------------------------------------------------------

    def send_weights(self, policy: int, version: int, tensors: Any) -> None:  # noqa: ANN401
        """Send ``tensors`` with the next slab's request: a reference to the acting weights of ``policy``."""
        self._weights[policy] = (version, tensors)
        if self._service is not None:
            self._publish(self._service.learner_name(policy), version, tensors)

    def send_live(self, number: int, lane: int, version: int, tensors: Any) -> None:  # noqa: ANN401
        """Send ``tensors`` with the next slab's request of one rollout, for a live player's ``lane``."""
        self._live[number][lane] = (version, tensors)
        if self._service is not None:
            self._publish(self._service.live_name(self.bound[number][lane]), version, tensors)

    def _publish(self, name: str, version: int, tensors: Any) -> None:  # noqa: ANN401
        """Give weights to the servers, which keep the versions that rollouts play now."""
        assert self._service is not None
        asked = [slab for slabs in self._asked for slab in slabs] + list(self._flying.values())
        needed = [slab.served for slab in asked] + [self._served(number) for number in range(len(self))]
        self._service.publish(name, version, tensors, {v for own in needed for n, v in own if n == name})

    def _served(self, number: int) -> frozenset[tuple[str, int]]:
        """Return names and versions of the learners' weights by which a rollout plays."""
        if self._service is None:
            return frozenset()
        bound, service = self.bound[number], self._service
        live = self._live[number]
        return frozenset(
            (service.live_name(bound[p]) if p in live else service.learner_name(p), version)
            for p, version in self._sent[number].items()
            if p in live or p in self.actors
        )

    def live_version(self, number: int, lane: int) -> int | None:
        """Return the version of :meth:`send_live` that a lane has or will get; None without one."""
        known = self._live[number].get(lane)
        return None if known is None else known[0]

    def _forget_live(self) -> None:
        """Note that the lanes of live players have no weights, as after every binding of lanes."""
        self._live = [{} for _ in self._live]
        self._sent = [{p: v for p, v in sent.items() if p in self._weights} for sent in self._sent]

    def send(self, command: SamplerCommand[R]) -> R:
        """Let every rollout carry out its part of ``command``, and keep what a successor needs of it."""
        parts: Sequence[Any] = command.parts(len(self))
        weights: tuple[Any, ...] = ()
        if isinstance(command, AddPlayer | ReplacePlayer):  # one copy for all rollouts
            if self._service is not None:
                weights = (self._service.add_player(command.player, command.weights),)
            else:
                weights = (put(command.weights),)
            parts = [msgspec.structs.replace(command, weights=SENT_APART)] * len(self)
        if isinstance(command, RestoreMatches):
            self.time_step = stored_number(parts[0].arrays, TIME_STEP)
            for number, part in enumerate(parts):
                self._build_again(number, part.arrays)
        answers: list[Any] = self._rollouts.together([("send", part, *weights) for part in parts])
        if isinstance(command, MissingPlayers) and self._service is not None:
            answers.append(self._service.missing(command.players))
        match command:
            case AddPlayer() | ReplacePlayer():
                self._players[command.player] = weights[0]
                self._dropped.discard(command.player)
            case BindLanes():
                self.bound = [dict(part.lanes) for part in parts]
            case SeatPlayers():
                self._seated(command.orders, answers)
            case StartAt():
                self.time_step = command.time_step
        if isinstance(command, ReplacePlayer | SeatPlayers):
            self._forget_live()
        if isinstance(command, MissingPlayers):  # a part that is built again needs them too
            answers.append([player for player in command.players if player in self._dropped])
        return command.joined(answers)

    def _seated(self, orders: Orders, answers: Sequence[Seated]) -> None:
        """Note the bound players, and forget the weights of those that no orders or lanes need."""
        self.bound, self._orders = [answer.bound for answer in answers], orders
        needed = {*orders.mixture, *orders.kept, *(p for order in orders.batch for p in order.players)}
        needed |= {player for bound in self.bound for player in bound.values()}
        self._dropped |= self._players.keys() - needed
        self._players = {player: ref for player, ref in self._players.items() if player in needed}
        if self._service is not None:
            self._service.need(self._players)

    def _build_again(self, number: int, part: Mapping[str, Any]) -> None:
        """Build the sampler whose matches ``part`` has; a new one where it has none, with other matches."""
        incarnation = int(part[INCARNATION][0]) if INCARNATION in part else 0
        self._crew.count_predecessors(number, incarnation)
        if POOL not in part:
            incarnation = self._crew.incarnations[number] + 1
            self._crew.count_predecessors(number, incarnation)
        if incarnation != self._rollouts.incarnations[number]:
            self._rollouts.incarnations[number], self._sent[number] = incarnation, {}
            self._rollouts.actors[number].ask("build", self._order(number), self._settings).first()

    # ---- slabs -----------------------------------------------------------------------------------

    @property
    def asked(self) -> int:
        """Number of slabs that every rollout was asked for and that :meth:`play` has not returned."""
        return len(self._asked)

    def ask(self) -> None:
        """Ask every rollout for a slab, with the weights that were sent last."""
        self._crew.attend()
        self._asked.append([self._ask(number) for number in range(len(self))])

    def play(self) -> Iterator[tuple[int, SlabReport, Tensors]]:
        """Yield number and answer of each rollout about the oldest slab asked for.

        If none was, every rollout is asked for one now.
        """
        if not self._asked:
            self.ask()
        self.counts.wait_s = 0.0
        self._count_servers()
        for number, asked in enumerate(self._asked.popleft()):
            yield number, *self._answer(number, asked)

    def play_first(self) -> tuple[int, SlabReport, Tensors]:
        """Keep every rollout busy. Return the number of the part whose slab is there first, and its answer.

        A rollout with several parts plays a slab of one of them at a time, of the one that waited longest.
        """
        self._crew.attend()
        busy = {self._crew.home(number) for number in self._flying}
        for number in sorted(range(len(self)), key=self._turns.__getitem__):
            if number not in self._flying and self._crew.home(number) not in busy:
                busy.add(self._crew.home(number))
                self._turns[number] = max(self._turns) + 1
                self._flying[number] = self._ask(number)
        self._count_servers()
        start = time.perf_counter()
        number = first_ready({number: asked.call for number, asked in self._flying.items()})
        self.counts.wait_s = time.perf_counter() - start
        return number, *self._answer(number, self._flying.pop(number))

    def _ask(self, number: int) -> Asked:
        sent = self._sent[number]
        newest = self._weights | self._live[number]
        fresh = {p: (v, ref) for p, (v, ref) in newest.items() if sent.get(p) != v}
        sent.update({policy: version for policy, (version, _) in fresh.items()})
        digest = self.counts.rollouts[number].slabs % DIGEST_EVERY == 0
        expected = {p: self._digest(p) for p in sent if p in self.actors} if digest else {}
        versions = tuple((p, version) for p, (version, _) in fresh.items())
        request = SlabRequest(versions, self.terms, digest)
        references = () if self._service is not None else tuple(ref for _, ref in fresh.values())
        call = self._rollouts.actors[number].ask("play", request, *references, returns=2)
        return Asked(call, expected, self._served(number))

    def _answer(self, number: int, asked: Asked) -> tuple[SlabReport, Tensors]:
        """Wait for a slab. A successor of the rollout plays a lost slab again."""
        start = time.perf_counter()
        while True:
            try:
                answer, arrays = asked.call.first(), asked.call.second()
            except RolloutLost as error:
                self.counts.slabs_dropped += 1
                if asked.call.actor.same_process(self._rollouts.actors[number]):
                    self._died(number, error)
                    self._rollouts.replace(number, error)
                asked = self._ask(number)
            else:
                self._crew.count_slab(number)
                self._check_weights(number, asked, answer)
                self._count(number, answer)
                self.counts.wait_s += time.perf_counter() - start
                self.time_step = max(self.time_step, answer.time_step)
                return answer, arrays

    def _digest(self, policy: int) -> tuple[int, str]:
        """Return version and digest of the newest weights of ``policy``."""
        version, tensors = self._weights[policy]
        if self._digests.get(policy, (None, ""))[0] != version:
            self._digests[policy] = version, digest_of(fetch(tensors))
        return self._digests[policy]

    def _count_servers(self) -> None:
        if self._service is not None:
            self.counts.server_deaths = self._service.deaths

    def _check_weights(self, number: int, asked: Asked, answer: SlabReport) -> None:
        """Compare the weights that acted with those that were sent. Raises ``PoolError``."""
        for policy, (version, digest) in asked.expected.items():
            check_digest(number, version, digest, answer.digests.get(policy))

    def _count(self, number: int, answer: SlabReport) -> None:
        """Count a slab that arrived."""
        self.counts.present, self.counts.deaths = self._crew.present, self._crew.deaths - self._deaths_before
        newest = {p: version for p, (version, _) in self._weights.items() if p in answer.versions}
        lag = max((version - answer.versions[p] for p, version in newest.items()), default=0)
        matches = len(answer.stats.results)
        self.counts.rollouts[number].add(matches, answer.busy_s, answer.idle_s, lag)

    # ---- deaths ----------------------------------------------------------------------------------

    def _died(self, number: int, error: RolloutLost) -> None:
        """Forget what a rollout had that died."""
        self._sent[number] = {}
        self._flying.pop(number, None)

    def _prepare(self, number: int) -> None:
        """Build a part whose rollout died, with its weights, lanes and orders, and with other matches."""
        self._rollouts.actors[number].ask("build", self._order(number), self._settings).first()
        self._rollouts.actors[number].ask("send", StartAt(self.time_step)).first()
        self._seat_again(number)

    def _carry(self, number: int, target: RolloutActor) -> None:
        """Move a part with its matches to the rollout ``target``. Raises :class:`RolloutLost`."""
        source = self._rollouts.actors[number]
        matches = source.ask("send", TakeSnapshot()).first()  # after the slabs that it was asked for
        source.ask("close").first()
        self._rollouts.actors[number], self._sent[number] = target, {}
        target.ask("build", self._order(number), self._settings).first()
        target.ask("send", RestoreMatches(matches)).first()
        self._seat_again(number)

    def _seat_again(self, number: int) -> None:
        """Give a part that was built the players, lanes and orders that it had."""
        actor = self._rollouts.actors[number]
        for player, weights in self._players.items():
            command = AddPlayer(player, SENT_APART, tuple(self._players))
            actor.ask("send", command, weights).first()
        if self._orders is not None:
            actor.ask("send", BindLanes(self.bound[number])).first()
            actor.ask("send", SeatPlayers(self._orders, bind=False)).first()

    def pids(self) -> list[int]:
        """Return the process id of the rollout of each part."""
        return self._rollouts.pids()

    def close(self) -> None:
        """Stop the matches, and end the rollouts that this fleet started. Idempotent."""
        if self._owned:
            self._crew.close()
        else:
            self._rollouts.close()
        if self._service is not None:  # rollouts may have played until now
            self._service.close()
            self._service = None
