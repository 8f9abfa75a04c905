"""Metrics of a round: the learner's numbers, self-play's, lag, times and throughput."""

from __future__ import annotations

from dataclasses import dataclass, field

from ludus.algorithms.learner import UpdateStats
from ludus.mcts import Matches
from ludus.presets.config import Preset
from ludus.reporting.metrics import UpdateMetrics, lag_numbers
from ludus.reporting.rates import CONSUMED, RECEIVED
from ludus.training.alphazero.checkpoint import AlphaZeroState
from ludus.training.alphazero.components import AlphaZeroComponents
from ludus.training.alphazero.workers import SelfPlayTimes
from ludus.training.stopping import minutes_left, progress


@dataclass(slots=True)
class SelfPlayRound:
    """Self-play and learning of one round; no matches where only what an interrupt left is learned.

    ``cluster`` has the metrics of the machines that played.
    """

    matches: Matches
    lag: dict[int, int]
    learned: UpdateStats
    times: SelfPlayTimes
    collect_s: float
    learn_s: float
    cluster: dict[str, float] = field(default_factory=dict)

    @property
    def total_s(self) -> float:
        """Seconds of the round, > 0."""
        return max(self.collect_s + self.learn_s, 1e-9)


def update_metrics(
    preset: Preset, components: AlphaZeroComponents, state: AlphaZeroState, done: SelfPlayRound
) -> UpdateMetrics:
    """Return the metrics of a round; ``state``: with the round counted."""
    version = components.learner.version
    numbers = dict(done.learned.numbers)  # none while the replay buffer is filled to its first size
    numbers["learner/samples"] = float(done.learned.samples)
    numbers["learner/sample_reuse"] = components.learner.steps / max(1, state.received)
    numbers |= _self_play_numbers(components, state, done)
    numbers |= lag_numbers(done.lag)
    numbers |= _time_numbers(preset, state, done)
    numbers |= done.cluster
    return UpdateMetrics(
        version=version,
        steps=state.budget.steps,
        received=state.received,
        ticks=state.budget.ticks,
        matches=state.matches,
        progress=progress(preset.run, state.budget),
        numbers=numbers,
        lag=dict(sorted(done.lag.items())),
    )


def _self_play_numbers(
    components: AlphaZeroComponents, state: AlphaZeroState, done: SelfPlayRound
) -> dict[str, float]:
    matches, times, buffer = done.matches, done.times, components.replay_buffer
    slots = components.config.self_play.slots
    played: dict[str, float] = {}
    if len(matches):
        played = {
            "rollout/length": float(matches.plies.mean()),
            "self_play/resigned": float(matches.resigned.mean()),
        }
        if state.matches - len(matches) >= slots:  # the first to end are the shortest
            played["self_play/first_seat_win_rate"] = float((matches.outcome > 0).mean())
            played["self_play/draw_rate"] = float((matches.outcome == 0).mean())
    return played | {
        "self_play/resign_below": state.resign_below,
        "search/batch_fill": times.evaluations / max(1, times.batches * slots),
        "search/cache_hits": times.hits / max(1, times.lookups),
        "replay_buffer/matches": float(buffer.matches),
        "replay_buffer/positions": float(buffer.positions),
    }


def _time_numbers(preset: Preset, state: AlphaZeroState, done: SelfPlayRound) -> dict[str, float]:
    matches, times, total = done.matches, done.times, done.total_s
    collect = max(done.collect_s, 1e-9)
    steps_per_s = int(matches.full.sum()) / total
    numbers = {
        "time/minutes": state.budget.minutes,
        "time/cpu_minutes": state.budget.cpu_minutes,
        "time/update_s": total,
        "time/collect_s": done.collect_s,
        "time/infer_s": times.evaluate_s,
        "time/learn_s": done.learn_s,
        "time/network_share": times.evaluate_s / max(times.busy_s, 1e-9),
        "throughput/ticks_per_s": len(matches.action) / total,
        "throughput/steps_per_s": steps_per_s,
        RECEIVED: steps_per_s,
        CONSUMED: done.learned.learned / total,
        "throughput/matches_per_s": len(matches) / total,
        "throughput/evaluations_per_s": times.evaluations / collect,
        "throughput/simulations_per_s": times.simulations / collect,
    }
    left = minutes_left(preset.run, state.budget, steps_per_s)
    return numbers if left is None else numbers | {"time/minutes_left": left}
