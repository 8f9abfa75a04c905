"""Settings of behaviour cloning (Pomerleau 1991; Bain and Sammut 1995)."""

from __future__ import annotations

from typing import Literal

from ludus.algorithms.config import Count, Minibatches, NonNegative, Share, SlabLearnerConfig


class ImitationConfig(SlabLearnerConfig, frozen=True, forbid_unknown_fields=True, tag="imitation"):
    """One learner's settings.

    ``teacher``: ``RUN@best`` or a weights file, a bot of the game that demonstrates (``simple``), a bot in
    Python (``my_bot.py``) or a search (``mcts:400``, ``RUN@best+search:400``).
    """

    teacher: str = ""
    seats: Literal["one", "all"] = "one"  # that the teacher plays; with one the opponents play the others
    greedy: bool = False  # the teacher's most probable choice, or the most visited move of its search
    gae_lambda: Share = 1.0  # of the value's targets
    value_coefficient: NonNegative = 0.5
    entropy_coefficient: NonNegative = 0.0
    epochs: Count = 1
    minibatches: Minibatches = 4
