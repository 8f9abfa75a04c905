"""Rows of ``metrics.jsonl`` as ludus wrote them before 0.1.0 (schema 1), under the names of schema 2."""

from __future__ import annotations

from collections.abc import Mapping

#: Objects of schema 1, and what their keys are called now. Keys that are missing here are dropped.
_NUMBERS: dict[str, dict[str, str]] = {
    "": {
        "lag_mean": "lag/mean",
        "lag_max": "lag/max",
        "sample_reuse": "learner/sample_reuse",
        "dropped": "rollout/dropped",
        "mean_return": "rollout/return",
        "running_return": "rollout/running_return",
        "mean_ticks": "rollout/length",
        "handover_ticks": "rollout/handover_ticks",
    },
    "loss": {
        "policy_loss": "loss/policy",
        "value_loss": "loss/value",
        "entropy": "policy/entropy",
        "kl": "policy/kl",
        "clip_fraction": "policy/clip_fraction",
        "policy_excess": "loss/policy_excess",
        "explained_variance": "value/explained_variance",
        "target_mean": "value/target_mean",
        "reward_mean": "rollout/reward_mean",
        "grad_norm": "learner/grad_norm",
        "learning_rate": "learner/learning_rate",
        "samples": "learner/samples",
        "minibatches": "learner/minibatches",
        "ownership_loss": "loss/ownership",
        "score_loss": "loss/score",
        "counted": "learner/counted",
    },
    "search": {
        "evaluations_per_s": "throughput/evaluations_per_s",
        "simulations_per_s": "throughput/simulations_per_s",
        "matches_per_s": "throughput/matches_per_s",
        "batch_fill": "search/batch_fill",
        "network_share": "time/network_share",
        "cache_hits": "search/cache_hits",
        "window_games": "replay_buffer/matches",
        "window_positions": "replay_buffer/positions",
        "resign_below": "self_play/resign_below",
        "resigned": "self_play/resigned",
    },
    "time": {
        "minutes": "time/minutes",
        "minutes_left": "time/minutes_left",
        "update_s": "time/update_s",
        "collect_s": "time/collect_s",
        "infer_s": "time/infer_s",
        "pool_wait_s": "time/pool_wait_s",
        "learn_s": "time/learn_s",
        "sampler_wait_share": "time/sampler_wait_share",
        "learner_wait_share": "time/learner_wait_share",
        "frames_per_s": "throughput/ticks_per_s",
        "steps_per_s": "throughput/steps_per_s",
    },
}
_FIELDS = ("version", "steps", "received", "ticks", "matches", "progress", "lag", "outcomes", "kind")
ITSELF = "itself (first seat)"


def is_old(row: Mapping[str, object]) -> bool:
    """Whether a row is of schema 1, which had no number."""
    return "schema" not in row


def renamed(row: Mapping[str, object]) -> dict[str, object]:
    """A row of schema 1 as one of schema 2."""
    if row.get("kind") == "evaluation":
        return {**row, "schema": 2}
    new: dict[str, object] = {"schema": 2} | {name: row[name] for name in _FIELDS if name in row}
    for group, names in _NUMBERS.items():
        old = row if not group else row.get(group)
        if isinstance(old, Mapping):
            new |= {now: old[was] for was, now in names.items() if old.get(was) is not None}
    rates = row.get("win_rate")
    if isinstance(rates, Mapping):
        for opponent, rate in rates.items():
            new["self_play/first_seat_win_rate" if opponent == ITSELF else f"rollout/win_rate/{opponent}"] = (
                rate
            )
    return new
