"""Names of an update's numbers in ``metrics.jsonl``, where they differ from those of ``UpdateStats``."""

from __future__ import annotations

from ludus.algorithms.learner import UpdateStats

#: name in ``UpdateStats.numbers`` -> key of ``loss`` in rows of schema 1
STORED_NAMES = {
    "loss/policy": "policy_loss",
    "loss/value": "value_loss",
    "loss/ownership": "ownership_loss",
    "loss/score": "score_loss",
    "policy/entropy": "entropy",
    "policy/kl": "kl",
    "policy/clip_fraction": "clip_fraction",
    "loss/policy_excess": "policy_excess",
    "value/explained_variance": "explained_variance",
    "value/target_mean": "target_mean",
    "rollout/reward_mean": "reward_mean",
    "learner/learning_rate": "learning_rate",
    "learner/grad_norm": "grad_norm",
    "learner/minibatches": "minibatches",
    "learner/counted": "counted",
}


def stored_numbers(update: UpdateStats) -> dict[str, float]:
    """The numbers of an update under their stored names, with the number of samples."""
    numbers = {STORED_NAMES[n]: x for n, x in update.numbers.items() if n in STORED_NAMES}
    return numbers | {"samples": float(update.samples)}
