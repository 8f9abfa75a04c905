"""A run of AlphaZero or AlphaGo Zero, from its first match to its report (paper 003, section 3).

Rounds: self-play until enough new positions are there, the matches into the window (and onto disk), learning
until every new position has been read often enough, new weights for self-play. Matches are not broken off
when weights change: they go on with the newest, and every ply records which weights decided.

``run.lag``: with ``sync`` and ``pipelined`` all threads play, then all learn; with ``async`` self-play goes
on while the learner's thread works, which is right where learning has a device of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.algorithms.alphazero.learner import acting_copy
from ludus.algorithms.alphazero.samples import Positions
from ludus.algorithms.alphazero.stats import LearnStats
from ludus.evaluation.play import RANDOM
from ludus.evaluation.weights import network_of as network_of_weights
from ludus.flow import Weights
from ludus.flow.seeds import SEED_BUFFER, SEED_SYMMETRIES, derive_seed
from ludus.flow.slab import Array
from ludus.policies.residual import ResidualNetwork
from ludus.presets.config import Preset
from ludus.presets.errors import RunFailed
from ludus.search import NEVER_RESIGN, Matches
from ludus.search.network import NetworkEvaluator
from ludus.search.text import Seen
from ludus.storage import Checkpoint, CorruptFile, RunDirectory, RunNotFound, StorageError
from ludus.storage.games import MatchFiles
from ludus.train.alphazero.components import (
    SCHEMA,
    AlphaZeroComponents,
    AlphaZeroState,
    fitting,
    last_session,
    make_plays,
    moved_threshold,
    read_games,
)
from ludus.train.alphazero.gate import Gate
from ludus.train.alphazero.workers import SelfPlayTimes, Workers
from ludus.train.reporting.observer import Observer, Timing, UpdateMetrics
from ludus.train.reporting.sinks import Sink
from ludus.train.reporting.stored_names import stored_numbers
from ludus.train.run_evaluator import RunEvaluator
from ludus.train.run_loop import RunBase, Seeded
from ludus.train.stopping import minutes_left

BLOCK = 1 << 15  # positions that are led to at once
RESIGN_MEMORY = 2500  # never-resign matches that tell the threshold (ELF OpenGo)
POLL_S = 0.01


class AlphaZeroTrainer(RunBase):
    """Owns the components of a run and its files while it runs. Made, run once, closed."""

    def __init__(
        self,
        preset: Preset,
        components: AlphaZeroComponents,
        run: RunDirectory,
        observer: Observer,
        sinks: tuple[Sink, ...] = (),
        checkpoint: Checkpoint | None = None,
    ) -> None:
        super().__init__(preset, run, observer, sinks)
        self.components, self.config = components, components.config
        self.state: AlphaZeroState = AlphaZeroState()
        self.files = MatchFiles(run.games, components.games_meta(), components.spec.former_hash)
        self.run_evaluator = RunEvaluator(
            preset, components.spec, components.params, self._against(), self.log, lambda: self._interrupted
        )
        self.gate = Gate(preset, components, run.reference)
        self._lowest: npt.NDArray[np.float32] = np.zeros(0, np.float32)
        self._saved_games = -1
        self._lag: dict[int, int] = {}
        if checkpoint is None:
            self.log.event("started", seed=preset.run.seed)
            components.learner.publish(None)
            components.learner.version = 0
            self._take_in_later()
        else:
            self._resume(checkpoint)
        self._random = np.random.Generator(
            np.random.Philox(key=derive_seed(preset.run.seed, SEED_BUFFER, self.state.session))
        )
        self._played = self._playing_network()
        evaluator = self._evaluator(self._played)
        self.workers = Workers(make_plays(preset, components, self.state.session, evaluator))
        self._hand_over(evaluator)
        self.state.session += 1

    @property
    def version(self) -> int:
        return self.components.learner.version

    def _against(self) -> tuple[str, ...]:
        named = self.preset.evaluation.against or tuple(b.name for b in self.components.spec.bots)
        return named or (RANDOM,)

    # ---- going on --------------------------------------------------------------------------------

    def _resume(self, checkpoint: Checkpoint) -> None:
        where = f"checkpoint of version {checkpoint.version}"
        try:
            state = msgspec.json.decode(checkpoint.state, type=AlphaZeroState)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise CorruptFile(f"{where}: {error}") from error
        if state.schema != SCHEMA:
            raise CorruptFile(f"{where}: schema {state.schema}, expected {SCHEMA}")
        try:
            self.components.learner.load_state(checkpoint.optimizer, state.learner)
        except ValueError as error:
            raise CorruptFile(f"{where}: {error}") from error
        lowest = checkpoint.rollout.get("lowest_winner")
        self._lowest = np.zeros(0, np.float32) if lowest is None else np.asarray(lowest, np.float32)
        self.state = state
        self._rewind_log(state.log_sizes)
        window, missing = self.components.replay_buffer, []
        kept: list[tuple[int, Matches]] = []
        for number in state.chunks:
            try:
                kept.append((number, read_games(self.files, number, self.components.spec)))
            except RunNotFound:
                missing.append(self.files.path(number).name)
        if missing:
            self._problem(
                f"{self.files.folder}: {', '.join(missing)} missing; the run goes on without these matches"
            )
        # All matches count that there ever were, or the window would be cut to its share of itself.
        window.total_games = state.games - sum(len(games) for _, games in kept)
        state.chunks = []
        for number, games in kept:
            self._take_in(number, games)
        self._take_in_later()
        self.log.event("resumed", version=checkpoint.version, steps=state.budget.steps, games=state.games)

    def _take_in_later(self) -> None:
        """Matches that were finished after the checkpoint are as good as any: nothing of them is lost.

        Matches of a session are numbered apart from those of every session that left matches on disk.
        """
        state = self.state
        for number in (n for n in self.files.numbers() if n >= state.next_chunk):
            games = read_games(self.files, number, self.components.spec)
            self._count(games)
            self._take_in(number, games)
            state.next_chunk = number + 1
        state.session = max(
            [state.session, *(last_session(c.games) + 1 for c in self.components.replay_buffer.chunks)]
        )

    def _playing_network(self) -> ResidualNetwork:
        """The weights that play: the learner's newest, or those that the gate let through last.

        The latter in a network of their own: the learner writes the candidates into its one.
        """
        learner = self.components.learner
        if not self.config.gate:
            return learner.playing
        if self.state.playing == learner.version:
            return acting_copy(learner.playing)
        try:
            weights = self.run_dir.load_snapshot(self.state.playing)
        except RunNotFound as error:
            self._problem(f"{error}; version {learner.version} plays in place of {self.state.playing}")
            self.state.playing = learner.version
            return acting_copy(learner.playing)
        network = network_of_weights(weights, self.components.spec, f"snapshot {self.state.playing}")
        assert isinstance(network, ResidualNetwork)
        return network.to(self.components.device)

    def _evaluator(self, network: ResidualNetwork) -> NetworkEvaluator:
        slots = self.preset.self_play.slots
        seen: Seen = "random" if self.config.symmetries else "one"
        return NetworkEvaluator(network, self.components.precision, symmetries=seen, rows=slots)

    def _hand_over(self, evaluator: NetworkEvaluator) -> None:
        version = self.state.playing if self.config.gate else self.version
        self.workers.set_weights(
            evaluator, version, derive_seed(self.preset.run.seed, SEED_SYMMETRIES, version) >> 8
        )
        self.workers.set_resign(self.state.resign_below if self.preset.self_play.resign else NEVER_RESIGN)

    # ---- the loop --------------------------------------------------------------------------------

    @contextmanager
    def _resting(self) -> Iterator[None]:
        """Workers are started again by whoever needs them."""
        self.workers.pause()
        yield

    def close(self) -> None:
        """Stops threads and closes files. Idempotent."""
        self.workers.close()
        self.components.close()
        self._feed(lambda sink: sink.close())
        self.log.close()

    def _between_rounds(self) -> None:
        super()._between_rounds()
        if self.state.evaluation_due:
            self._evaluate()

    def _round(self) -> None:
        state, components = self.state, self.components
        begin = time.perf_counter()
        games = self._collect()
        times = self.workers.times()
        collected = time.perf_counter()
        if len(games):
            self._keep(games)
        stats = LearnStats()
        if components.replay_buffer.ready:
            if self.preset.run.lag == "async":
                self.workers.start()
            stats = self._learn()
            self.workers.pause()
            if stats.minibatches:
                self._publish()
        end = time.perf_counter()
        state.budget.minutes += (end - self._mark) / 60.0
        self._mark = end
        if len(games):
            self._report(games, stats, times, collected - begin, end - collected)

    def _collect(self) -> Matches:
        """Self-play until the round's positions are there (or Ctrl-C, or the budget of minutes)."""
        new: list[Matches] = []
        positions = 0
        limit = self.preset.run.max_minutes
        while positions < self.config.round_positions and not self._interrupted:
            target = self.workers.moves() + max(64, (self.config.round_positions - positions) // 2)
            self.workers.start()
            while self.workers.moves() < target and not self._stopping():
                time.sleep(POLL_S)
                used = self.state.budget.minutes + (time.perf_counter() - self._mark) / 60.0
                if limit and used >= limit:
                    break
            self.workers.pause()
            games = self.workers.take_matches()
            positions += int(games.full.sum())
            new.append(games)
            if limit and self.state.budget.minutes + (time.perf_counter() - self._mark) / 60.0 >= limit:
                break
        return Matches.join(new)

    def _stopping(self) -> bool:
        """Ctrl-C came (at any moment, from a signal), or a thread has failed."""
        return self._interrupted or self.workers.failed()

    def _keep(self, games: Matches) -> None:
        """New matches onto disk and into the window."""
        state = self.state
        number = state.next_chunk
        state.next_chunk += 1
        self._write_needed(self.files.path(number), lambda: self.files.write(number, games.columns()))
        self._count(games)
        self._take_in(number, games)

    def _count(self, games: Matches) -> None:
        state = self.state
        full = int(games.full.sum())
        state.games += len(games)
        state.received += full
        state.budget.steps += full
        state.budget.ticks += len(games.action)
        state.debt += self.config.reuse * full / self.config.batch
        behind, count = np.unique(np.maximum(self.version - games.version, 0), return_counts=True)
        self._lag = {int(b): int(n) for b, n in zip(behind, count, strict=True)}
        told = games.lowest_winner[games.never_resign != 0]
        self._lowest = np.concatenate([self._lowest, told])[-RESIGN_MEMORY:]
        self._move_resign()

    def _take_in(self, number: int, games: Matches) -> None:
        components = self.components
        components.replay_buffer.add(
            number, games, components.ends(games) if components.learns_ends else None
        )
        # Files of chunks that have left go when no checkpoint needs them: with the next one that is written.
        self.state.chunks = sorted(c.number for c in components.replay_buffer.chunks)

    def _move_resign(self) -> None:
        settings = self.preset.self_play
        if settings.resign:
            now = self.state.resign_below
            self.state.resign_below = moved_threshold(now, self._lowest, settings.resign_errors)

    # ---- learning --------------------------------------------------------------------------------

    def _draw(self, count: int) -> Positions:
        with fitting():
            return self.components.replay_buffer.draw(count, self._random, self.components.lead)

    def _learn(self) -> LearnStats:
        batch = self.config.batch
        due = int(self.state.debt)
        self.state.debt -= due
        total = LearnStats()
        while due > 0 and not self._interrupted:
            now = min(due, max(1, BLOCK // batch))
            stats = self.components.learner.learn(self._draw(now * batch), self._progress())
            if not stats.finite():
                raise RunFailed(
                    f"version {self.version}: the loss is not finite; "
                    "lower algorithm.learning_rate, then resume"
                )
            total = _merged(total, stats)
            due -= now
        return total

    def _publish(self) -> None:
        components = self.components
        network = components.learner.publish(self._draw(self.config.statistics_batches * self.config.batch))
        if not self.config.gate:
            self._played = network
            self._hand_over(self._evaluator(network))
            return
        if self._passes_gate(network):
            self.state.playing = self.version
            self._played = acting_copy(network)
            self._snapshot(components.learner.weights())
            self._hand_over(self._evaluator(self._played))
        elif not self.run_dir.snapshot_path(self.state.playing).is_file():
            self._snapshot(self._weights_as(self.state.playing))

    def _weights_as(self, version: int) -> Weights:
        newest = self.components.learner.weights()
        tensors: dict[str, Array] = {
            n: t.detach().cpu().numpy().copy() for n, t in self._played.state_dict().items()
        }
        return Weights(msgspec.structs.replace(newest.meta, version=version), tensors)

    def _snapshot(self, weights: Weights) -> None:
        path = self.run_dir.snapshot_path(weights.meta.version)
        self._write_needed(path, lambda: self.run_dir.save_snapshot(weights))

    def _referred_to(self) -> set[Path]:
        needed = {self.files.path(n) for n in self.state.chunks}
        if self.config.gate:
            needed.add(self.run_dir.snapshot_path(self.state.playing))
        return needed

    def _passes_gate(self, candidate: ResidualNetwork) -> bool:
        state = self.state
        state.gates += 1
        result = self.gate.gate(
            (candidate, self.version), (self._played, state.playing), state.gates, lambda: self._interrupted
        )
        self.log.event("gate", version=self.version, **msgspec.structs.asdict(result))
        self._say(
            f"gate: version {self.version} scored {result.score:g} of {result.matches} against "
            f"{state.playing}: {'it plays from now on' if result.passed else 'refused'}"
        )
        return result.passed

    # ---- evaluation ------------------------------------------------------------------------------

    def _player(self, version: int | None) -> tuple[int, Seeded]:
        network, store = self.components.learner.playing, self.run_dir.checkpoints
        if version is None or version == self.version or version not in store.versions():
            version = self.version
        else:
            weights = store.load(version).weights
            loaded = network_of_weights(
                weights, self.components.spec, f"version {version}", self.components.device
            )
            assert isinstance(loaded, ResidualNetwork)
            network = loaded
        return version, lambda seed: self.gate.player(network, seed, version)

    def _evaluate(self) -> None:
        """No part of the minutes that training has."""
        self.workers.pause()
        super()._evaluate()
        self._mark = time.perf_counter()

    # ---- files and numbers -----------------------------------------------------------------------

    def _saved_already(self) -> bool:
        return self.state.games == self._saved_games

    def _write_checkpoint(self) -> Path:
        state, learner = self.state, self.components.learner
        arrays, state.learner = learner.state()
        state.log_sizes = self.log.sync()
        rollout: dict[str, Array] = {"lowest_winner": self._lowest}
        checkpoint = Checkpoint(learner.weights(), arrays, rollout, msgspec.json.encode(state))
        path = self.run_dir.checkpoints.save(checkpoint)
        self._saved_games = state.games
        return path

    def _after_checkpoint(self) -> None:
        """Removes files of matches that no checkpoint refers to which the run could be resumed from.

        Others are kept for their weights alone.
        """
        store = self.run_dir.checkpoints
        needed: set[int] = set(self.state.chunks)
        playing = {self.state.playing}
        for version in store.versions()[-store.keep :]:
            try:
                old = msgspec.json.decode(store.load_state(version), type=AlphaZeroState)
            except (StorageError, msgspec.DecodeError):
                continue
            needed |= set(old.chunks)
            playing.add(old.playing)
        gone = [n for n in self.files.numbers() if n not in needed and n < self.state.next_chunk]
        self.files.drop(gone)
        if self.config.gate:
            self.run_dir.drop_snapshots(playing)

    def _report(
        self, games: Matches, stats: LearnStats, times: SelfPlayTimes, collect_s: float, learn_s: float
    ) -> None:
        state, total = self.state, max(collect_s + learn_s, 1e-9)
        lag, count = self._lag, max(1, sum(self._lag.values()))
        won = int((games.outcome > 0).sum())
        lost = int((games.outcome < 0).sum())
        slots = self.preset.self_play.slots
        collect = max(collect_s, 1e-9)
        metrics = UpdateMetrics(
            update=self.version,
            version=self.version,
            steps=state.budget.steps,
            received=state.received,
            ticks=state.budget.ticks,
            matches=state.games,
            progress=self._progress(),
            loss=stored_numbers(stats.update(self.version, lag)),
            lag_mean=sum(b * n for b, n in lag.items()) / count,
            lag_max=max(lag, default=0),
            lag=dict(sorted(lag.items())),
            sample_reuse=self.components.learner.steps / max(1, state.received),
            dropped=0,
            outcomes={"itself": (won, len(games) - won - lost, lost)},
            win_rate={"itself (first seat)": won / max(1, len(games))},
            mean_return=float(games.outcome.mean()),
            mean_ticks=float(games.plies.mean()),
            handover_ticks=0,
            time=Timing(
                minutes=state.budget.minutes,
                minutes_left=minutes_left(self.preset.run, state.budget, int(games.full.sum()) / total),
                update_s=total,
                collect_s=collect_s,
                infer_s=times.evaluate_s,
                learn_s=learn_s,
                frames_per_s=len(games.action) / total,
                steps_per_s=int(games.full.sum()) / total,
            ),
            search={
                "evaluations_per_s": times.evaluations / collect,
                "simulations_per_s": times.simulations / collect,
                "matches_per_s": len(games) / total,
                "batch_fill": times.evaluations / max(1, times.batches * slots),
                "network_share": times.evaluate_s / max(times.busy_s, 1e-9),
                "cache_hits": times.hits / max(1, times.lookups),
                "window_games": float(self.components.replay_buffer.games),
                "window_positions": float(self.components.replay_buffer.positions),
                "resign_below": state.resign_below,
                "resigned": float(games.resigned.mean()),
            },
        )
        self._record(metrics)


def _merged(a: LearnStats, b: LearnStats) -> LearnStats:
    """Means over the samples of both."""
    count = max(1, a.samples + b.samples)

    def mean(name: str) -> float:
        return float(getattr(a, name) * a.samples + getattr(b, name) * b.samples) / count

    def ends_mean(name: str) -> float | None:
        components = [(getattr(s, name), s.counted) for s in (a, b) if getattr(s, name) is not None]
        return (
            float(sum(x * n for x, n in components)) / sum(n for _, n in components) if components else None
        )

    return LearnStats(
        minibatches=a.minibatches + b.minibatches,
        samples=a.samples + b.samples,
        policy_loss=mean("policy_loss"),
        policy_excess=mean("policy_excess"),
        value_loss=mean("value_loss"),
        grad_norm=mean("grad_norm"),
        learning_rate=b.learning_rate,
        counted=a.counted + b.counted,
        ownership_loss=ends_mean("ownership_loss"),
        score_loss=ends_mean("score_loss"),
    )
