"""A member of a league in training: its pool, learner, rounds and settings, and the orders of its pool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ludus.algorithms.actor_critic.advantages import AdvantageLearner
from ludus.algorithms.learner import Learner, SlabLearner
from ludus.algorithms.parameters import load_tensors
from ludus.evaluation.results import seat_of_plan
from ludus.evaluation.weights import check_spec
from ludus.flow import MatchResult, Weights
from ludus.flow.seeds import SEED_LEAGUE, SEED_PAST, derive_seed
from ludus.flow.slab import Array
from ludus.league.config import LeagueConfig, PlayerConfig
from ludus.league.orders import Order, OrderBook
from ludus.league.quotas import Key, Matchup, Quotas, QuotaState
from ludus.policies.protocol import Network
from ludus.presets.config import Preset
from ludus.presets.errors import ConfigError
from ludus.presets.game_checks import resolve_spec
from ludus.presets.hardware import thread_count
from ludus.presets.hyper import with_hyper
from ludus.rollouts.actor import Actor
from ludus.rollouts.network_actor import NetworkActor
from ludus.storage import load_weights
from ludus.storage.frozen import LearnerState
from ludus.training.actor_learner.build import Components, LocalWeights, build_learner
from ludus.training.actor_learner.checkpoint import TrainerState
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.sampler import NO_WEIGHTS, build_sampler, first_network
from ludus.training.actor_learner.sync_loop import Round, Rounds
from ludus.training.league.frozen import FrozenWeights, PlayerLost, split
from ludus.training.league.seats import LEARNER, Seating, member_seats
from ludus.training.matchmaker import FixedMixture

HAND = 64  # orders that stand in a pool at once, at most
STREAM_MEMBER = 4  # below SEED_LEAGUE: seeds of members


class MemberState(msgspec.Struct):
    """What a checkpoint holds of a member, apart from tensors and matches.

    ``hyper``: its settings by path. ``lanes``: lane -> player. ``orders``: those that stand or that matches
    in play began with; from number ``first`` on they are the newest hand, dealt in round ``dealt``, each in
    as many slots as ``spread`` says. ``next_hand``: the number that follows.
    ``pools``: how often its pool was made anew; ``played``: whether the present one has played a slab.
    ``value_only``: updates from now on in which only what the value alone depends on learns.
    """

    counts: TrainerState = msgspec.field(default_factory=TrainerState)
    hyper: dict[str, float] = {}
    lanes: dict[int, str] = {}
    orders: tuple[Order, ...] = ()
    first: int = -1
    dealt: int = -1
    spread: tuple[int, ...] = ()
    next_hand: int = 0
    quotas: QuotaState = msgspec.field(default_factory=QuotaState)
    pools: int = 0
    played: bool = False
    value_only: int = 0


class LiveLane(NamedTuple):
    """A lane that another member's live weights play."""

    source: LocalWeights
    actor: NetworkActor


class Member:
    """Owned by the run; one thread calls it, between two rounds and for one.

    ``anew``: how often the run's matches began anew. ``resumed``: its weights come from a checkpoint, so that
    the file of its seed need not be there any more.
    """

    def __init__(
        self,
        preset: Preset,
        index: int,
        config: PlayerConfig,
        state: MemberState,
        *,
        anew: int = 0,
        resumed: bool = False,
    ) -> None:
        self.config, self.index, self.state, self.anew = config, index, state, anew
        self.name = config.name
        seed = derive_seed(preset.run.seed, SEED_LEAGUE, STREAM_MEMBER, index)
        run = msgspec.structs.replace(preset.run, seed=seed)
        self._preset = msgspec.structs.replace(preset, run=run)
        learner = build_learner(self.preset, LEARNER) if resumed else self._first_learner()
        if config.value_only_updates and not isinstance(learner, AdvantageLearner):
            path = f"league.players.{self._league.entry_of(index)}.value_only_updates"
            raise ConfigError(
                f"{path} = {config.value_only_updates}: expected 0, or an actor-critic method such as appo"
            )
        if config.seed and not resumed:
            state.value_only = config.value_only_updates
        self.components = self._components(learner)
        self.seating = Seating(self.components.spec, self.name, self._lanes)
        self.book, self.quotas = OrderBook(state.orders), Quotas(state.quotas)
        state.next_hand = max([state.next_hand, state.first, *(o.number + 1 for o in state.orders)])
        self._live: dict[int, LiveLane] = {}
        self._networks: list[Network] = []  # for live lanes, used again at each bind
        self.rounds: Rounds | None = None
        self.restored = b""  # what the pool was restored from, if it has not played since

    @property
    def preset(self) -> Preset:
        """The run's, with the member's seed and settings."""
        return with_hyper(self._preset, self.state.hyper)

    @property
    def _league(self) -> LeagueConfig:
        assert self._preset.league is not None
        return self._preset.league

    @property
    def _lanes(self) -> int:
        return self._league.lanes

    @property
    def version(self) -> int:
        return self.components.learner.version

    @property
    def driver(self) -> Rounds:
        """Its rounds, once the threads are there."""
        assert self.rounds is not None
        return self.rounds

    def start(self, threads: LearnerThreads) -> None:
        """``threads`` are those of the run: one member learns at a time."""
        pipelined = self._preset.run.lag == "pipelined"
        self.rounds = Rounds(self.components, threads, pipelined=pipelined)

    def close(self) -> None:
        self.components.close()

    # ---- orders ----------------------------------------------------------------------------------

    def hand_due(self, rounds: int) -> bool:
        """Whether new orders may be dealt before round ``rounds``.

        A new hand needs lanes of its own. So the one before the present hand must have ended: each lane is
        bound to one player until the last match with it is over.
        """
        if self.state.first < 0:
            return True
        if self.state.dealt >= rounds:
            return False
        playing = self._in_play()
        return bool(playing) and min(playing) >= self.state.first

    def missing(self) -> int:
        """Matches for which orders are to be drawn before the next hand is dealt."""
        return self.quotas.missing(self.components.sampler.pool.slots, self._matchups_in_play())

    def take_orders(self, orders: Sequence[Order], matches: int) -> None:
        """Orders that were drawn for ``matches`` matches."""
        self.quotas.enter(orders, matches, self._matchups_in_play())

    def deal(self, rounds: int, frozen: FrozenWeights, live: Mapping[str, Member]) -> None:
        """Binds lanes and gives a new hand to the pool. Raises :class:`PlayerLost`, changing nothing.

        The lanes of half a pool are for the players of a hand; the first matchup fits in any case.
        """
        state, slots = self.state, self.components.sampler.pool.slots
        placed = self.quotas.hand(slots, min(slots, HAND), self._matchups_in_play(), self._fit)
        hand = [Order(state.next_hand + k, self.name, m.players, m.tags) for k, (m, _) in enumerate(placed)]
        guests = list(dict.fromkeys(p for order in hand for p in self.seating.guests(order.players)))
        self._load([p for p in guests if p not in live], frozen)  # all are there before anything changes
        if state.first >= 0:
            self.book.keep({n for n in (o.number for o in self.book.orders()) if n >= state.first})
        used = {p for order in self.book.orders() for p in self.seating.guests(order.players)}
        lanes = {lane: p for lane, p in state.lanes.items() if p in used or p in guests}
        free = [lane for lane in range(1, 1 + self._lanes) if lane not in lanes]
        for player in guests:
            if player not in lanes.values():
                lanes[free.pop(0)] = player
        state.lanes = dict(sorted(lanes.items()))
        self.book.add(hand)
        state.first, state.dealt = hand[0].number, rounds
        state.next_hand += len(hand)
        state.spread = tuple(n for _, n in placed)
        self.bind(frozen, live)
        self.stand()

    def _fit(self, matchups: Sequence[Matchup]) -> bool:
        guests = {p for matchup in matchups for p in self.seating.guests(matchup.players)}
        return len(guests) <= self._lanes // 2

    def _matchups_in_play(self) -> Counter[Key]:
        known = {order.number: order for order in self.book.orders()}
        counts = Counter[Key]()
        for number, matches in self._in_play().items():
            if number in known:
                counts[known[number].players, known[number].tags] += matches
        return counts

    def stand(self) -> None:
        """The newest hand stands in the pool."""
        hand = [order for order in self.book.orders() if order.number >= self.state.first]
        of_player = {p: lane for lane, p in self.state.lanes.items()}
        pool = self.components.sampler.pool
        spread = self.state.spread if len(self.state.spread) == len(hand) else ()
        pool.set_orders(*self.seating.pool_orders(hand, of_player, pool.slots, spread))

    def bind(self, frozen: FrozenWeights, live: Mapping[str, Member]) -> None:
        """The lanes are played by the players that the state names. Raises :class:`PlayerLost`."""
        sampler = self.components.sampler
        lanes = self.state.lanes
        self._load([p for p in lanes.values() if p not in live], frozen)
        actors: dict[int, Actor] = {**sampler.bank.idle(self.components.actor.network), **sampler.actors}
        actors |= sampler.bank.follow({lane: p for lane, p in lanes.items() if p not in live})
        self._live = {}
        for k, lane in enumerate(lane for lane, p in lanes.items() if p in live):
            if k == len(self._networks):
                self._networks.append(self._own_network())
            seed = derive_seed(self.preset.run.seed, SEED_PAST, lane)
            source = LocalWeights(live[lanes[lane]].components.learner)
            self._live[lane] = LiveLane(source, NetworkActor(self._networks[k], seed, NO_WEIGHTS))
            actors[lane] = self._live[lane].actor
        sampler.labels = {f"policy:{LEARNER}": self.name}
        sampler.labels |= {f"policy:{lane}": _label(p, live) for lane, p in lanes.items()}
        sampler.collector.set_actors(actors)

    def _load(self, players: Sequence[str], frozen: FrozenWeights) -> None:
        bank = self.components.sampler.bank
        for player in players:
            if player not in bank:
                try:
                    bank.put(player, frozen.load(player), keep=players)
                except ConfigError as error:
                    raise PlayerLost(player, str(error)) from error

    def follow_live(self) -> None:
        """Lanes of live players take their newest weights."""
        for source, actor in self._live.values():
            if actor.version != source.version:
                actor.version = source.copy_to(actor.network)

    def play(self, progress: float, evaluate: Callable[[], None] | None) -> Round:
        """One round. Raises ``MatchError`` and ``PoolError``."""
        done = self.driver.run(progress, evaluate, value_only=self.state.value_only > 0)
        if done.update is not None:
            self.state.value_only = max(0, self.state.value_only - 1)
        self.state.played, self.restored = True, b""
        return done

    def credit(self, results: Sequence[MatchResult]) -> tuple[int, float]:
        """Counts ended matches for the players of their orders. Gives the number of matches that the member
        played itself, and the sum of its returns.
        """
        alike = Counter[tuple[int, tuple[float, ...], tuple[int, ...]]]()
        own, episodes, returns = f"policy:{LEARNER}", 0, 0.0
        ended = Counter(result.tag for result in results)
        for order in self.book.orders():
            if ended[order.number + 1]:
                self.quotas.played(order, ended[order.number + 1])
        for result in results:
            if result.error or result.tag == 0:
                continue
            if self._league.score == "return":
                self._credit_return(result)
            else:
                alike[result.tag, result.outcome, result.plan_of_seat] += 1
            seat = seat_of_plan(result, 0)
            if result.players[seat] == own:
                episodes += 1
                returns += result.returns[seat]
        for (tag, outcome, plans), matches in alike.items():
            self.book.credit(tag - 1, outcome, self.seating.teams_of_seats(plans), matches)
        return episodes, returns

    def _credit_return(self, result: MatchResult) -> None:
        teams = self.seating.teams_of_seats(result.plan_of_seat)
        score_range = self._league.score_range
        self.book.credit(result.tag - 1, result.returns, teams, score_range=score_range, seed=result.seed)

    def _in_play(self) -> Counter[int]:
        """Matches that have begun and not ended, by the number of their order."""
        pool = self.components.sampler.pool
        tags = Counter[int]()
        for group in range(pool.groups):
            tags.update(pool.in_play(group).tags.tolist())
        return Counter({tag - 1: matches for tag, matches in tags.items() if tag > 0})

    def _own_network(self) -> Network:
        return first_network(self._preset, self.components.spec).for_acting()

    # ---- weights and settings --------------------------------------------------------------------

    def go_on_from(self, weights: Weights, state: LearnerState | None = None) -> None:
        """Other weights; the version goes on counting.

        ``state``: of the learner that froze them, which :meth:`takes` it; without it the optimiser is at its
        beginning.
        """
        fresh = build_learner(self.preset, LEARNER)
        arrays, counters = fresh.state()
        if state is not None:
            arrays, counters = arrays | state.arrays, counters | state.counters
            kinds = ["network"]
        else:
            kinds = ["network", *(fresh.others if isinstance(fresh, SlabLearner) else ())]
        for kind in kinds:
            arrays |= {f"{kind}.{n}": a for n, a in weights.tensors.items() if f"{kind}.{n}" in arrays}
        self._jump(arrays, counters)

    def learner_state(self) -> LearnerState:
        """What the learner holds besides the weights of its network."""
        arrays, counters = self.components.learner.state()
        return LearnerState({n: a for n, a in arrays.items() if not n.startswith("network.")}, counters)

    def takes(self, state: LearnerState) -> bool:
        """Whether ``state`` has the arrays and counters of this member's learner, in their shapes."""
        own = self.learner_state()
        shapes = [{n: a.shape for n, a in s.arrays.items()} for s in (state, own)]
        return shapes[0] == shapes[1] and state.counters.keys() == own.counters.keys()

    def first_weights(self) -> Weights:
        """What the member began with, made anew."""
        return self._first_learner().weights()

    def weights(self) -> Weights:
        """The present ones."""
        return self.components.learner.weights()

    def copy(self, source: Member) -> None:
        """Weights and optimiser of ``source``; the version goes on counting."""
        self._jump(*source.components.learner.state())

    def set_hyper(self, hyper: dict[str, float]) -> bool:
        """Settings that hold from now on. True where the pool was made anew: all its matches are gone."""
        before = self.preset
        self.state.hyper = dict(hyper)
        after = self.preset
        learner = self.components.learner
        learner.set_config(after.algorithm)
        if before.game == after.game:
            return False
        time_step = self.components.sampler.collector.time_step
        self.state.pools += 1
        self._drop_slab()
        self.components.close()
        self.components = self._components(learner)
        self.components.sampler.collector.begin_at(time_step)
        self.matches_begin_anew()
        self.start(self.driver.learner_threads)
        return True

    def matches_begin_anew(self) -> None:
        """No order stands, nothing is in play."""
        self.book, self.state.played, self.restored = OrderBook(), False, b""
        self.state.lanes, self.state.orders, self.state.first = {}, (), -1

    def lose(self, player: str) -> None:
        """``player`` cannot play any more. Matches with it that go on are not counted."""
        self.quotas.lose(player)
        kept = [order for order in self.book.orders() if player not in order.players]
        self.book.keep({order.number for order in kept})
        self.state.lanes = {lane: p for lane, p in self.state.lanes.items() if p != player}

    def store(self) -> None:
        """Writes what stands into the state."""
        known = set(self._in_play()) | {o.number for o in self.book.orders() if o.number >= self.state.first}
        self.book.keep(known)
        self.state.orders, self.state.quotas = self.book.orders(), self.quotas.state()
        self.state.counts.set_waiting([w.summary for w in self.driver.waiting])

    def _jump(self, arrays: dict[str, Array], counters: dict[str, int]) -> None:
        learner = self.components.learner
        own = learner.state()[1]
        kept = {"version": own["version"] + 1, "steps": own["steps"], "seed": own["seed"]}
        learner.load_state(arrays, counters | kept)
        self.state.value_only = self.config.value_only_updates
        self._drop_slab()
        self.driver.resume(())

    def _drop_slab(self) -> None:
        """The slab that waits was collected by other weights."""
        self.state.counts.dropped += self.driver.drop()

    def _first_learner(self) -> Learner:
        """As it begins: with new weights, or with those of the preset's seed. Raises ``ConfigError``."""
        learner = build_learner(self.preset, LEARNER)
        if self.config.seed:
            seed = load_weights(self.config.seed)
            check_spec(seed.meta, learner.network.spec, self.config.seed)
            try:
                load_tensors(learner.network, seed.tensors, "", self.config.seed)
            except ValueError as error:
                path = f"league.players.{self._league.entry_of(self.index)}.seed"
                raise ConfigError(f"{path}: {error}") from error
        return learner

    def _components(self, learner: Learner) -> Components:
        """A new pool and its sampler, joined to ``learner``."""
        preset = self.preset
        spec, _ = resolve_spec(preset)
        sampler = build_sampler(
            preset,
            anew=self.anew + self.state.pools,
            seats=member_seats(spec, self._league, preset.game.frame_skip, self.name),
        )
        sampler.take({LEARNER: LocalWeights(learner)})
        return Components(sampler, {LEARNER: learner}, FixedMixture({}), thread_count(preset.run))


def _label(player: str, live: Mapping[str, Member]) -> str:
    """What statistics call a lane's player: a member, or the past of one."""
    return player if player in live else f"{split(player)[0]}:past"
