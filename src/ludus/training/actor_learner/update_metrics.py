"""Report of an update: the learner's numbers, the rollout's, lag, times and throughput."""

from __future__ import annotations

from ludus.algorithms.learner import UpdateStats
from ludus.presets.config import Preset, RunConfig
from ludus.reporting.metrics import WIN_RATE, WITH_HELP, UpdateMetrics, lag_numbers
from ludus.reporting.rates import CONSUMED, RECEIVED
from ludus.training.actor_learner.member import Member
from ludus.training.actor_learner.rollout_summary import RolloutSummary
from ludus.training.actor_learner.state import TrainerState
from ludus.training.actor_learner.sync_loop import Round, RoundTimes
from ludus.training.stopping import Budget, minutes_left, progress


def update_metrics(
    preset: Preset,
    member: Member,
    state: TrainerState,
    update: UpdateStats,
    summary: RolloutSummary,
    done: Round,
    used: Budget,
) -> UpdateMetrics:
    """Return the report of an update.

    Args:
        preset: Settings of the run.
        member: The learner that made it.
        state: Its counters after the round.
        update: The update.
        summary: Results of the slab that was learned from.
        done: Its round.
        used: Budget that all members had used after the round.
    """
    run = preset.run
    times, total = done.times, max(done.times.total_s, 1e-9)
    numbers = dict(update.numbers)
    numbers["learner/samples"] = float(update.samples)
    numbers["learner/learned"] = float(state.learned)
    numbers["learner/gradient_steps"] = float(state.gradient_steps)
    numbers["learner/sample_reuse"] = state.learned / max(1, state.received)
    numbers |= _rollout_numbers(state, summary)
    for schedule in member.schedules:
        numbers |= schedule.numbers(used)
    numbers |= lag_numbers(update.lag)
    numbers |= _time_numbers(run, used, summary, times)
    numbers |= {RECEIVED: done.received / total, CONSUMED: update.learned / total}
    numbers |= times.cluster
    return UpdateMetrics(
        version=update.version,
        steps=state.budget.steps,
        received=state.received,
        ticks=state.budget.ticks,
        matches=state.matches,
        progress=progress(run, used),
        numbers=numbers,
        lag=dict(sorted(update.lag.items())),
        outcomes=summary.outcomes,
        player=member.name,
    )


def _rollout_numbers(state: TrainerState, summary: RolloutSummary) -> dict[str, float]:
    numbers = {"rollout/dropped": float(state.dropped)}
    if summary.matches:
        numbers["rollout/return"] = summary.sum_returns / summary.matches
        numbers["rollout/length"] = summary.sum_ticks / summary.matches
    if state.mean_return is not None:
        numbers["rollout/running_return"] = state.mean_return
    rates = WITH_HELP if state.helped else WIN_RATE
    return numbers | {f"{rates}/{name}": rate for name, rate in state.win_rate.items()}


def _time_numbers(
    run: RunConfig, used: Budget, summary: RolloutSummary, times: RoundTimes
) -> dict[str, float]:
    total = max(times.total_s, 1e-9)
    steps_per_s = summary.steps / total
    learner_wait = 0.0
    if times.threads:
        learner_wait = 1.0 - (times.learn_s - times.learn_wait_s) / (total * times.threads)
    numbers = {
        "time/minutes": used.minutes,
        "time/cpu_minutes": used.cpu_minutes,
        "time/update_s": times.total_s,
        "time/collect_s": times.collect_s,
        "time/infer_s": times.infer_s,
        "time/pool_wait_s": times.pool_wait_s,
        "time/learn_s": times.learn_s + times.help_s - times.help_wait_s - times.learn_wait_s,
        "time/sampler_wait_share": min(1.0, times.help_wait_s / total),
        "time/learner_wait_share": min(1.0, max(0.0, learner_wait)),
        "throughput/ticks_per_s": summary.ticks / total,
        "throughput/steps_per_s": steps_per_s,
    }
    left = minutes_left(run, used, steps_per_s)
    return numbers if left is None else numbers | {"time/minutes_left": left}
