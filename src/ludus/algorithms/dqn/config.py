"""Settings of DQN (Mnih et al. 2015) and its extensions: double, n-step, prioritised (Hessel et al. 2018)."""

from __future__ import annotations

from typing import Literal

from ludus.algorithms.config import Batch, Count, Natural, NonNegative, Positive, Share, SlabLearnerConfig


class DqnConfig(SlabLearnerConfig, frozen=True, forbid_unknown_fields=True, tag="dqn"):
    """One learner's settings. A *slab* is one rollout, a *gradient step* one minibatch.

    A ring of one slab without a target network is Q-learning as in ELF.
    """

    normalise_returns: bool = False
    ring: Count = 64  # slabs that are kept
    buffer_mib: Positive = 1024.0  # a ring that needs more memory is refused
    learning_starts: Natural = 2000  # decisions in the ring before the first gradient step
    batch: Batch = 256  # decisions of a gradient step
    updates: Count = 8  # gradient steps a slab
    n_steps: Count = 3  # rewards of a target, before it bootstraps
    double: bool = True  # the learner's network chooses the decision that the target network values
    target: Literal["hard", "polyak", "none"] = "hard"  # none: the learner's network is its own target
    target_every: Count = 100  # gradient steps between two copies; with hard
    target_tau: Share = 0.005  # share of the learner's parameters at each gradient step; with polyak
    huber_delta: NonNegative = 1.0  # error above which the loss is linear; 0 = squared everywhere
    epsilon: Share = 1.0  # share of choices drawn evenly, at the start
    epsilon_final: Share = 0.05
    epsilon_share: Share = 0.3  # of the budget after which epsilon_final is reached
    priority_alpha: Share = 0.0  # 0 = decisions are drawn evenly
    priority_beta: Share = 0.4  # of the importance weights, at the start
    priority_beta_final: Share = 1.0  # reached linearly at the end of the budget
