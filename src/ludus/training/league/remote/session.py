"""A member of a league in its process: the learner, the sampler, and the rounds over both.

It carries out the manager's requests and decides nothing: who plays, what is learned from and when a slab is
dropped come with the requests.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from ludus.algorithms.learner import Learner
from ludus.algorithms.updates.optimiser import under
from ludus.flow import Weights, WeightsMeta
from ludus.flow.errors import NotFinite
from ludus.flow.inputs.decode import from_json
from ludus.flow.slab import Array
from ludus.games.names import typed
from ludus.presets.config import Preset, preset_of
from ludus.presets.errors import ConfigError, RunFailed
from ludus.presets.hyper import with_hyper
from ludus.presets.method_file import load_method
from ludus.rollouts.commands import (
    AddPlayer,
    BindLanes,
    LanesInPlay,
    LoadWeights,
    ReplacePlayer,
    SeatPlayers,
    StartAt,
)
from ludus.rollouts.exchange import StoredWeights
from ludus.storage import Checkpoint
from ludus.training.actor_learner.build import Components
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.member import broken_update
from ludus.training.actor_learner.sampler import LocalSampler
from ludus.training.actor_learner.state import TrainerState, decode_state
from ludus.training.actor_learner.sync_loop import Rounds
from ludus.training.league import member_parts as parts
from ludus.training.league.remote import messages as m
from ludus.training.league.remote.board import VersionBoard
from ludus.training.league.remote.image import KeptPlayers
from ludus.training.machines import LOCAL, Machines

Arrays = Mapping[str, Array]
Answered = tuple[m.MemberAnswer | None, Arrays]


class MemberSession:
    """One member. One thread calls it."""

    def __init__(self, name: str, board: VersionBoard, machines: Machines = LOCAL) -> None:
        """Wait for the first request.

        Args:
            name: The member.
            board: Weights of all members.
            machines: Makes the sampler.
        """
        self._name, self._board, self._machines = name, board, machines
        self._run: Preset | None = None
        self._preset: Preset | None = None
        self._learner: Learner | None = None
        self._components: Components | None = None
        self._rounds: Rounds | None = None
        self._kept: KeptPlayers | None = None  # where rollouts play
        self._threads = LearnerThreads(0)
        self._cpu_s = time.process_time()
        self._broken: RunFailed | None = None  # why its weights are no weights any more

    def carry_out(self, request: m.MemberRequest, arrays: Arrays) -> Answered:
        """Carry out a request; return its answer and the arrays beside. Raises what goes wrong."""
        if self._broken is not None:
            raise self._broken
        made = _DONE[type(request)](self, request, arrays)
        if isinstance(made, tuple):
            return made
        return made, {}

    def close(self) -> None:
        """Stop the matches. Idempotent."""
        if self._components is not None:
            self._components.close()
            self._components = None
        self._threads.close()

    @property
    def learner(self) -> Learner:
        """The learner, which the first request builds."""
        assert self._learner is not None, "no learner was built"
        return self._learner

    @property
    def rounds(self) -> Rounds:
        """The rounds, which a sampler is needed for."""
        assert self._rounds is not None, "no sampler was built"
        return self._rounds

    # ---- settings --------------------------------------------------------------------------------

    def _begin(self, request: m.BeginMember, arrays: Arrays) -> m.MemberAnswer:
        for reference in request.typed:
            typed(reference)
        if request.method:
            file = load_method(typed(request.method), "algorithm.name")
            if file.sha256 != request.method_sha256:
                raise ConfigError(f"{request.method}: the file has changed since this run loaded it")
        document = from_json(request.settings, dict[str, object])
        algorithm = document.get("algorithm")
        name = algorithm.get("name", "") if isinstance(algorithm, dict) else ""
        preset = preset_of(document, str(name))
        assert preset.league is not None
        self._run = parts.member_preset(preset, request.index)
        self._preset = with_hyper(self._run, request.hyper)
        config = preset.league.members[request.index]
        learner = parts.member_learner(
            self._preset, config, request.index, seeded=request.seeded, tensors=arrays
        )
        self._learner = self._machines.grouped(self._preset, learner)
        self._publish(request.slot)
        return m.MemberBegun(self._learner.version)

    def _make(self, request: m.MakeMatches, arrays: Arrays) -> m.MemberAnswer:
        assert self._run is not None
        self._preset = with_hyper(self._run, request.hyper)
        if self._components is not None:
            self._components.sampler.close()
        self._components = parts.member_components(
            self._preset, self._name, request.restarts, self.learner, self._machines
        )
        pipelined = self._preset.run.lag == "pipelined"
        self._rounds = Rounds(self._components, self._threads, pipelined=pipelined)
        sampler, facts = self._components.sampler, self._components.sampler.facts
        self._kept = None
        if not isinstance(sampler, LocalSampler):
            assert self._preset.league is not None
            seats = parts.member_seats(
                facts.spec, self._preset.league, self._preset.game.frame_skip, self._name
            )
            self._kept = KeptPlayers(sampler, seats, facts.all_slots // facts.slots)
        return m.MatchesMade(facts.slots, facts.slabs[0].rows, facts.all_slots // facts.slots)

    def _set(self, request: m.SetMember, arrays: Arrays) -> None:
        assert self._run is not None
        self._preset = with_hyper(self._run, request.hyper)
        self.learner.set_config(self._preset.algorithm)

    # ---- matches ---------------------------------------------------------------------------------

    def _put(self, request: m.PutPlayer, arrays: Arrays) -> None:
        weights = Weights(request.meta, {name: array.copy() for name, array in arrays.items()})
        sampler = self.rounds.components.sampler
        if self._kept is not None:
            self._kept.put(request.player, weights, request.keep, request.replace)
        if request.replace:
            sampler.send(ReplacePlayer(request.player, weights))
        else:
            sampler.send(AddPlayer(request.player, weights, request.keep))

    def _seat(self, request: m.SeatOrders, arrays: Arrays) -> None:
        if self._kept is not None:
            self._kept.seat(request.orders, request.bind)
        self.rounds.components.sampler.send(SeatPlayers(request.orders, request.bind))

    def _bind(self, request: m.BindPlayers, arrays: Arrays) -> None:
        if self._kept is not None:
            self._kept.load(request.lanes)
        self.rounds.components.sampler.send(BindLanes(request.lanes))

    def _count_from(self, request: m.CountFrom, arrays: Arrays) -> None:
        self.rounds.components.sampler.send(StartAt(request.time_step))

    def _take_live(self, request: m.TakeLive, arrays: Arrays) -> None:
        sources = {}
        for lane, live in request.lanes.items():
            version, tensors = self._board.wait(live)
            sources[lane] = StoredWeights(Weights(WeightsMeta(version, "", "", "", ""), dict(tensors)))
        self.rounds.components.sampler.send(LoadWeights(lanes=sources))

    def _ask(self, request: m.AskSlab, arrays: Arrays) -> m.MemberAnswer:
        self.rounds.terms = request.terms
        self.rounds.ask_ahead()
        self.rounds.fetch()
        return m.SlabAnswer(self.rounds.arrived[-1].stats, self._in_play())

    def _in_play(self) -> m.AfterSlab:
        sampler = self.rounds.components.sampler
        state = sampler.state
        tags = self.rounds.arrived[-1].stats.in_play if self.rounds.arrived else self.rounds.in_play()
        lanes = sampler.send(LanesInPlay())
        if self._kept is not None:
            self._kept.in_play = lanes
        return m.AfterSlab(state.time_step, state.played, tags, lanes, dict(state.bound))

    # ---- learning --------------------------------------------------------------------------------

    def _learn(self, request: m.LearnSlab, arrays: Arrays) -> m.MemberAnswer:
        done = self.rounds.run(request.progress, value_only=request.value_only)
        if done.update is not None:
            self._broken = broken_update(done.update)
            if self._broken is None:
                self._check_weights()
                self._publish(request.slot)
            else:
                self._board.fail(self._name)
        used, self._cpu_s = self._cpu_s, time.process_time()
        done.times.cpu_s = self._cpu_s - used
        return m.UpdateAnswer(done.update, done.times)

    def _check_weights(self) -> None:
        """Raise ``NotFinite`` where others would meet broken weights."""
        assert self._run is not None
        if not parts.continues_without(self._run):
            return
        try:
            parts.check_weights(self.rounds.components)
        except NotFinite as error:
            self._broken = error
            raise

    def _drop(self, request: m.DropSlabs, arrays: Arrays) -> None:
        self.rounds.recall()
        self.rounds.drop()

    def _load(self, request: m.LoadLearner, arrays: Arrays) -> None:
        self.learner.load_state({n: a.copy() for n, a in arrays.items()}, dict(request.counters))
        if self._rounds is not None:
            self._rounds.publish()
        self._publish(request.slot)

    def _publish(self, slot: int) -> None:
        weights = self.learner.acting_weights()
        self._board.put(self._name, slot, weights.meta.version, weights.tensors)

    # ---- what leaves -----------------------------------------------------------------------------

    def _weights(self, request: m.GiveWeights, arrays: Arrays) -> Answered:
        weights = self.learner.weights()
        return m.WeightsGiven(weights.meta), weights.tensors

    def _state(self, request: m.GiveLearner, arrays: Arrays) -> Answered:
        held, counters = self.learner.state()
        return m.LearnerGiven(counters), held

    def _checkpoint(self, request: m.GiveCheckpoint, arrays: Arrays) -> Answered:
        state = TrainerState()
        made = self.rounds.checkpoint(state)
        out: dict[str, Array] = {}
        for prefix, held in zip(m.PARTS, (made.weights.tensors, made.optimizer, made.rollout), strict=True):
            out |= {f"{prefix}{name}": array for name, array in held.items()}
        return m.CheckpointGiven(made.weights.meta, dict(state.learner)), out

    def _restore(self, request: m.RestoreMember, arrays: Arrays) -> m.MemberAnswer:
        state = decode_state(request.state)
        held = [{n: a.copy() for n, a in under(prefix, dict(arrays)).items()} for prefix in m.PARTS]
        meta = WeightsMeta(request.version, "", "", "", "", lineage=request.lineage)
        checkpoint = Checkpoint(Weights(meta, held[0]), held[1], held[2], b"{}", request.restart)
        self.rounds.restore(checkpoint, state)
        self._publish(request.slot)
        return m.MemberRestored(self.learner.version, self._in_play())


_DONE: Mapping[type[m.MemberRequest], Callable[..., m.MemberAnswer | Answered | None]] = {
    m.BeginMember: MemberSession._begin,
    m.MakeMatches: MemberSession._make,
    m.SetMember: MemberSession._set,
    m.PutPlayer: MemberSession._put,
    m.SeatOrders: MemberSession._seat,
    m.BindPlayers: MemberSession._bind,
    m.CountFrom: MemberSession._count_from,
    m.TakeLive: MemberSession._take_live,
    m.AskSlab: MemberSession._ask,
    m.LearnSlab: MemberSession._learn,
    m.DropSlabs: MemberSession._drop,
    m.LoadLearner: MemberSession._load,
    m.GiveWeights: MemberSession._weights,
    m.GiveLearner: MemberSession._state,
    m.GiveCheckpoint: MemberSession._checkpoint,
    m.RestoreMember: MemberSession._restore,
}
