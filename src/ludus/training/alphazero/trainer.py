"""A run of AlphaZero or AlphaGo Zero, from its first match to its report (Tian et al. 2019, section 3).

Rounds: self-play until enough new positions are there, the matches into the window (and onto disk), learning
until every new position has been read often enough, new weights for self-play. Matches are not broken off
when weights change: they continue with the newest, and every ply records which weights decided. What Ctrl-C
leaves undone of a round's learning is owed: a resumed run does it first, even if its budget is used up.

``run.lag``: with ``sync`` all threads play, then all learn; with ``async`` self-play continues while the
learner's thread works, which is right where learning has a device of its own; ``pipelined``, the default,
is ``async`` on a card and ``sync`` on the processor (:func:`plays_beside_learning`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np

from ludus.algorithms.alphazero.samples import Positions
from ludus.algorithms.alphazero.stats import finite_losses, join_stats
from ludus.algorithms.learner import UpdateStats
from ludus.evaluation.weights import network_of as network_of_weights
from ludus.flow.seeds import SEED_BUFFER, SEED_SYMMETRIES, derive_seed
from ludus.flow.slab import Array
from ludus.mcts import NEVER_RESIGN, Matches
from ludus.mcts.network import NetworkEvaluator
from ludus.policies.protocol import Network
from ludus.presets.config import Preset
from ludus.presets.errors import RunFailed
from ludus.storage import Checkpoint, CorruptFile
from ludus.training.alphazero.acting import ActingWeights
from ludus.training.alphazero.checkpoint import AlphaZeroState, decode_state
from ludus.training.alphazero.components import (
    AlphaZeroComponents,
    build_alphazero,
    fitting,
    plays_beside_learning,
)
from ludus.training.alphazero.gate import Gate
from ludus.training.alphazero.initial_weights import VERSION as INITIAL_VERSION
from ludus.training.alphazero.initial_weights import InitialWeights
from ludus.training.alphazero.match_store import MatchStore
from ludus.training.alphazero.self_play_progress import SelfPlayProgress
from ludus.training.alphazero.update_metrics import SelfPlayRound, update_metrics
from ludus.training.machines import LOCAL, Machines
from ludus.training.opponents import measured_against
from ludus.training.run_builder import RunBuilder
from ludus.training.run_context import RunContext
from ludus.training.run_evaluator import PlayerFactory
from ludus.training.steps import RunSteps
from ludus.training.stopping import reason_to_stop

BLOCK = 1 << 15  # positions that are led to at once


def prepare(preset: Preset, checkpoint: Checkpoint | None = None, machines: Machines = LOCAL) -> RunBuilder:
    """See :class:`ludus.training.run_builder.RunBuilderFactory`."""
    components = build_alphazero(preset)
    try:
        machines.reserve(preset)
    except BaseException:
        components.close()
        raise
    return RunBuilder(
        components.spec,
        lambda context: AlphaZeroTrainer(context, components, checkpoint, machines),
        components.close,
    )


class AlphaZeroTrainer(RunSteps):
    """The steps of a run that trains on searched self-play."""

    state: AlphaZeroState

    def __init__(
        self,
        context: RunContext,
        components: AlphaZeroComponents,
        checkpoint: Checkpoint | None = None,
        machines: Machines = LOCAL,
    ) -> None:
        """Start a run, or resume it from ``checkpoint``. Raises ``CorruptFile``.

        ``machines`` make the workers of self-play.
        """
        preset, spec = context.preset, components.spec
        self.components, self.config = components, components.config
        self.state = AlphaZeroState() if checkpoint is None else self._restored_state(checkpoint)
        super().__init__(context, spec, components.params, measured_against(spec, preset, ()))
        self.store = MatchStore(context, components, self.state)
        self.gate = Gate(preset, components, context.directory.reference)
        self._learning = False
        self._self_play = SelfPlayProgress(self.config)
        self.initial_weights = InitialWeights(context, components)
        self._interrupted = self.state.debt >= 1.0 or self.state.gate_due  # in the middle of a round
        if checkpoint is None:
            self._start()
        else:
            self._resume(checkpoint)
        self._random = np.random.Generator(
            np.random.Philox(key=derive_seed(preset.run.seed, SEED_BUFFER, self.state.session))
        )
        self.acting = ActingWeights(context, components, self.state, self.gate)
        evaluator = self.acting.evaluator()
        self.workers = machines.workers(preset, components, self.state.session, evaluator)
        self._hand_over(evaluator)
        self.state.session += 1

    @property
    def version(self) -> int:
        """Version of the learner's weights."""
        return self.components.learner.version

    # ---- start and resume ------------------------------------------------------------------------

    def _start(self) -> None:
        self.report.event("started", seed=self.preset.run.seed)
        self.store.take_unsaved()

    def _restored_state(self, checkpoint: Checkpoint) -> AlphaZeroState:
        """Decode the run's state and restore the learner. Raises ``CorruptFile``."""
        where = f"checkpoint of version {checkpoint.version}"
        state = decode_state(checkpoint.state, where)
        try:
            self.components.learner.load_state(checkpoint.optimizer, state.learner)
        except ValueError as error:
            raise CorruptFile(f"{where}: {error}") from error
        return state

    def _resume(self, checkpoint: Checkpoint) -> None:
        state = self.state
        self.context.rewind_log(state.log_sizes)
        chunks = state.chunks
        self.store.restore(checkpoint)
        if state.chunks == chunks:  # nothing was lost: until something happens, the checkpoint has it all
            self._saved = self.moment()
        self.store.take_unsaved()
        self.report.event(
            "resumed", version=checkpoint.version, steps=state.budget.steps, matches=state.matches
        )

    def _hand_over(self, evaluator: NetworkEvaluator) -> None:
        """Give the weights that play to the threads that play."""
        version = self.acting.version
        seed = derive_seed(self.preset.run.seed, SEED_SYMMETRIES, version) >> 8
        self.workers.set_weights(evaluator, version, seed)
        self.workers.set_resign(self.state.resign_below if self.config.self_play.resign else NEVER_RESIGN)

    # ---- a round ---------------------------------------------------------------------------------

    def doing(self) -> str:
        """See :class:`ludus.training.steps.RunSteps`."""
        if self.gate.doing:
            return self.gate.doing
        if self._learning:
            return f"learning: {max(0, int(self.state.debt)):,} minibatches until the next self-play"
        return self._self_play.text(self.state.matches, self.components.learner.steps > 0)

    def share(self) -> float | None:
        """See :class:`ludus.training.steps.RunSteps`."""
        if self.gate.doing or self._learning:
            return None
        return self._self_play.share(self.state.matches, self.components.learner.steps > 0)

    def before_learning(self, evaluate: Callable[[], None]) -> None:
        """See :class:`ludus.training.steps.RunSteps`: self-play and learning come first."""
        self.initial_weights.keep()

    def initial_player(self) -> tuple[int, PlayerFactory] | None:
        """See :class:`ludus.training.steps.RunSteps`."""
        network = self.initial_weights.network()
        if network is None:
            return None
        return INITIAL_VERSION, lambda seed: self.gate.player(network, seed, INITIAL_VERSION)

    def initial_evaluated(self) -> None:
        """See :class:`ludus.training.steps.RunSteps`."""
        self.initial_weights.evaluated()

    def round(self, evaluate: Callable[[], None] | None) -> None:
        """See :class:`ludus.training.steps.RunSteps`."""
        if evaluate is not None:
            self.workers.pause()
            evaluate()
            self.context.clock.lap()  # no part of the minutes that training has
        self._learning = False
        start = time.perf_counter()
        matches = Matches.empty() if self._catches_up() else self._collect()
        times = self.workers.times()
        collected = time.perf_counter()
        if len(matches):
            self.run_evaluator.length = self.run_evaluator.length or self._self_play.plies
            self.store.keep(matches)
        learning = time.perf_counter()
        learned = UpdateStats(self.version, 0)
        if self.components.replay_buffer.ready:
            self._learning = True
            if plays_beside_learning(self.preset.run, self.components.device):
                self.workers.start()
            learned = self._learn()
            self.workers.pause()
            if learned.gradient_steps:
                self._publish()
            elif self.state.gate_due and not self.context.interrupted():
                self._play_with(self.components.learner.playing)
        end = time.perf_counter()
        self.context.clock.lap(self.state.budget)
        if len(matches) or learned.gradient_steps:
            lag = self.store.lag if len(matches) else {}
            done = SelfPlayRound(matches, lag, learned, times, collected - start, end - learning)
            done.cluster = self.workers.numbers()
            self.report.update(update_metrics(self.preset, self.components, self.state, done))

    def _collect(self) -> Matches:
        """Self-play until the round's positions are there (or Ctrl-C, or the budget of minutes)."""
        new: list[Matches] = []
        positions = 0
        self._self_play.start(self.workers.moves())
        while positions < self.config.round_positions and not self.context.interrupted():
            target = self.workers.moves() + max(64, (self.config.round_positions - positions) // 2)
            self.workers.play_until(target, self._stopping)
            self.workers.pause()
            matches = self.workers.take_matches()
            positions += int(matches.full.sum())
            self._self_play.take(matches, positions)
            new.append(matches)
            if self._out_of_time():
                break
        return Matches.join(new)

    def _stopping(self) -> bool:
        """Ctrl-C came (at any moment, from a signal), or the budget of minutes is used up."""
        self._self_play.moves = self.workers.moves()
        return self.context.interrupted() or self._out_of_time()

    def _out_of_time(self) -> bool:
        limit = self.preset.run.max_minutes
        return limit > 0 and self.state.budget.minutes + self.context.clock.minutes() >= limit

    # ---- learning --------------------------------------------------------------------------------

    def owes(self) -> bool:
        """See :class:`ludus.training.steps.RunSteps`: learning, or the judgement of what was learned."""
        ready = self.components.replay_buffer.ready
        return ready and (self.state.debt >= 1.0 or self.state.gate_due)

    def why_untrained(self) -> str:
        """See :class:`ludus.training.steps.RunSteps`."""
        if self.components.learner.steps > 0:
            return ""
        buffer, wanted = self.components.replay_buffer, self.config.window_matches_min
        played = f"{buffer.total_matches:,} matches were played to their end"
        return f"{played}, algorithm.window_matches_min = {wanted}"

    def _catches_up(self) -> bool:
        """Return whether a round does what is owed and no more.

        Matches that a killed process has left are learned from together with the next ones, if any.
        """
        over = bool(reason_to_stop(self.preset.run, self.state.budget))
        return self.owes() and (self._interrupted or over)

    def _draw(self, count: int) -> Positions:
        with fitting():
            return self.components.replay_buffer.draw(count, self._random, self.components.lead)

    def _learn(self) -> UpdateStats:
        batch = self.config.batch_size
        total = UpdateStats(self.version, 0)
        while self.state.debt >= 1.0 and not self.context.interrupted():
            now = min(int(self.state.debt), max(1, BLOCK // batch))
            stats = self.components.learner.learn(self._draw(now * batch), self.progress)
            if not finite_losses(stats):
                raise RunFailed(
                    f"version {self.version}: the loss is not finite; "
                    "lower algorithm.learning_rate, then resume"
                )
            total = join_stats(total, stats)
            self.state.debt -= now
        return total

    def _publish(self) -> None:
        positions = self._draw(self.config.statistics_batches * self.config.batch_size)
        self._play_with(self.components.learner.publish(positions))

    def _play_with(self, network: Network) -> None:
        if self.acting.take(network):
            self._hand_over(self.acting.evaluator())

    def player(self, version: int | None) -> tuple[int, PlayerFactory]:
        """See :class:`ludus.training.steps.RunSteps`."""
        network: Network = self.components.learner.playing
        store = self.run_dir.checkpoints
        if version is None or version == self.version or version not in store.versions():
            version = self.version
        else:
            weights = store.load(version).weights
            network = network_of_weights(
                weights, self.components.spec, f"version {version}", self.components.device
            )
        return version, lambda seed: self.gate.player(network, seed, version)

    # ---- files -----------------------------------------------------------------------------------

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the workers; the next round starts them again."""
        self.workers.pause()
        yield

    def moment(self) -> tuple[int, ...]:
        """See :class:`ludus.training.steps.RunSteps`."""
        state, learner = self.state, self.components.learner
        needed = int(self.initial_weights.needed)
        return state.matches, learner.steps, learner.version, state.gates, needed

    def make_checkpoint(self) -> Checkpoint:
        """See :class:`ludus.training.steps.RunSteps`."""
        learner = self.components.learner
        arrays, self.state.learner = learner.state()
        rollout: dict[str, Array] = {"lowest_winner": self.store.lowest_winner}
        return Checkpoint(learner.weights(), arrays, rollout, msgspec.json.encode(self.state))

    def referred_to(self) -> set[Path]:
        """Return the files without which the current state cannot be resumed."""
        initial = self.initial_weights.referred_to()
        return self.store.referred_to() | self.acting.referred_to() | initial

    def after_checkpoint(self) -> None:
        """Remove files that no checkpoint needs any more."""
        playing = self.store.drop_unneeded()
        self.acting.drop_snapshots(playing, self.initial_weights.versions())

    def close(self) -> None:
        """Stop threads. Idempotent."""
        self.workers.close()
        self.components.close()
