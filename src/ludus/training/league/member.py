"""A member of a league in training: its name, settings, components and state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ludus.algorithms.group import RANKS
from ludus.algorithms.learner import Learner
from ludus.algorithms.updates.optimiser import under
from ludus.flow import Weights
from ludus.flow.slab import Array
from ludus.league.config import PlayerConfig
from ludus.league.league_matchmaker import LeagueMatchmaker
from ludus.presets.config import Preset
from ludus.presets.hyper import with_hyper
from ludus.rollouts.commands import StartAt
from ludus.rollouts.exchange import WeightSource
from ludus.storage import Checkpoint
from ludus.storage.frozen import LearnerState
from ludus.training.actor_learner.build import Components, LocalWeights
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.member import Member, broken_update
from ludus.training.actor_learner.rollout_summary import Opening
from ludus.training.actor_learner.seating import Seating
from ludus.training.actor_learner.sync_loop import Round, Rounds
from ludus.training.league import member_parts as parts
from ludus.training.league.learner_states import state_from
from ludus.training.machines import LOCAL, Machines
from ludus.training.stopping import Budget


class LeagueMember(Member):
    """A member of a league: it may be reset, copied, and given other settings.

    Args:
        preset: of the run.
        index: the member's place among the league's players.
        config: the player's settings.
        state: that of a checkpoint, or of a new run.
        restarts: how often the run's matches started again.
        resumed: whether weights come from a checkpoint, so that the file of its seed may be gone.
        machines: makes its sampler.
    """

    matchmaker: LeagueMatchmaker

    def __init__(
        self,
        preset: Preset,
        index: int,
        config: PlayerConfig,
        state: parts.MemberState,
        *,
        restarts: int = 0,
        resumed: bool = False,
        machines: Machines = LOCAL,
    ) -> None:
        """Build the learner and the sampler. Raises ``ConfigError``."""
        self._machines = machines
        self.name, self.config, self.state = config.name, config, state
        self._preset, self._index, self._restarts = parts.member_preset(preset, index), index, restarts
        if config.seed and not resumed:
            state.value_only = config.value_only_updates
        learner = self._build_learner(seeded=not resumed)
        super().__init__(config.name, preset, self._components(learner), state.counts)
        self.saved_version: int | None = None  # in the newest checkpoint

    def source(self) -> WeightSource:
        """Return the source of its weights for the members that meet it live."""
        return LocalWeights(self.components.learner)

    def start(self, threads: LearnerThreads, matchmaker: LeagueMatchmaker, seating: Seating) -> None:
        """Get ready to play. ``threads`` are those of the run: one member learns at a time."""
        self.matchmaker, self.seating = matchmaker, seating
        self._start_rounds(threads)

    @property
    def preset(self) -> Preset:
        """The run's preset, with the member's seed and settings."""
        return with_hyper(self._preset, self.state.hyper)

    def weights(self) -> Weights:
        """Return the newest weights."""
        return self.components.learner.weights()

    def first_learner(self) -> Learner:
        """Return a learner as the member started with, built again."""
        return parts.member_learner(self.preset, self.config, self._index)

    def assign(self, used: Budget) -> None:
        """Assign new orders if they are due; live players play with their newest weights."""
        self.matchmaker.on_play(self.rounds.in_play())
        super().assign(used)

    def play(self, progress: float, evaluate: Callable[[], None] | None) -> Round:
        """Play one round.

        Raises ``MatchError`` and ``PoolError``, and ``NotFinite`` where others would meet broken weights.
        """
        done = self.rounds.run(progress, evaluate, value_only=self.state.value_only > 0)
        if done.learns:
            self.state.value_only = max(0, self.state.value_only - 1)
        if (
            done.update is not None
            and broken_update(done.update) is None
            and parts.continues_without(self._preset)
        ):
            parts.check_weights(self.components)
        return done

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore its part of a league's checkpoint. Raises ``CorruptFile``."""
        prefix = f"{self.name}/"
        learner, rollout = (under(prefix, arrays) for arrays in (checkpoint.optimizer, checkpoint.rollout))
        super().restore(Checkpoint(checkpoint.weights, learner, rollout, b"{}", checkpoint.restart))
        self.saved_version = self.version

    def reset_to(self, weights: Weights, state: LearnerState | None = None) -> None:
        """Continue from other weights; the version keeps counting.

        ``state``: of the learner that froze them; without it the optimiser starts from scratch.
        """
        fresh = parts.member_learner(self.preset, self.config, self._index, seeded=False)
        self._load(*state_from(fresh, weights, state))

    def copy(self, source: LeagueMember) -> None:
        """Take weights and optimiser of ``source``; the version keeps counting."""
        self._load(*source.components.learner.state())

    def set_hyper(self, hyper: dict[str, float]) -> bool:
        """Set the settings from now on. Returns whether the pool was built again: its matches are gone."""
        game, learner = self.preset.game, self.components.learner
        self.state.hyper = dict(hyper)
        self._configure(learner)
        if self.preset.game == game:
            return False
        self._drop_waiting()
        time_step = self.components.sampler.state.time_step
        self.state.pools += 1
        self.counts.opening = Opening()
        self.components.close()
        self.components = self._components(learner)
        self.components.sampler.send(StartAt(time_step))
        self.seating.restart(self.components.sampler)
        self._start_rounds(self.rounds.learner_threads)
        return True

    def withdraw(self) -> None:
        """Play and learn no more: matches end, and what waits is dropped."""
        counts = self.counts
        counts.dropped += sum(waiting.summary.steps for waiting in self.rounds.waiting)
        counts.set_waiting(())
        counts.arrived, counts.in_play, counts.frozen, counts.lanes = [], {}, [], {}
        self.rounds.close()
        self.close()

    def checkpoint(self) -> Checkpoint:
        """Return its part of a league's checkpoint; its counters, orders and lanes go into its state."""
        self.rounds.fetch()
        orders = Counter(self.rounds.in_play())
        for arrived in self.rounds.arrived:
            orders.update(arrived.stats.in_play)
            orders.update(result.tag for result in arrived.stats.results)
        self.matchmaker.on_play(orders)  # of matches whose results are still to come
        self.seating.store(self.counts)
        self.saved_version = self.version
        return self.rounds.checkpoint(self.counts)

    def _build_learner(self, seeded: bool) -> Learner:
        """Build the learner, with the weights of its seed if ``seeded``. Raises ``ConfigError``."""
        return parts.member_learner(self.preset, self.config, self._index, seeded=seeded)

    def _configure(self, learner: Learner) -> None:
        """Let ``learner`` learn by the present settings."""
        learner.set_config(self.preset.algorithm)

    def _components(self, learner: Learner) -> Components:
        restarts = self._restarts + self.state.pools
        return parts.member_components(self.preset, self.name, restarts, learner, self._machines)

    def _start_rounds(self, threads: LearnerThreads) -> None:
        self.rounds = Rounds(self.components, threads, pipelined=self._preset.run.lag == "pipelined")

    def _load(self, arrays: dict[str, Array], counters: dict[str, int]) -> None:
        """Set the learner's state, but for its own counters of versions, steps, draws and ranks."""
        learner = self.components.learner
        own = learner.state()[1]
        kept = {"version": own["version"] + 1, "steps": own["steps"], "seed": own["seed"]}
        if RANKS in own:
            kept[RANKS] = own[RANKS]
        learner.load_state(arrays, counters | kept)
        self.state.value_only = self.config.value_only_updates
        self._drop_waiting()
        self.rounds.publish()

    def _drop_waiting(self) -> None:
        """Drop the slab that waits and those of rounds to come: they were collected by other weights.

        Results of matches in these count.
        """
        counts = self.counts
        for stats in self.rounds.recall():
            self.seating.on_results(stats.results)
            counts.received += stats.steps
            counts.dropped += stats.steps
        counts.dropped += self.rounds.drop()
