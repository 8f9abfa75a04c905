"""Settings of AlphaZero's learner, its window of matches and its gate."""

from __future__ import annotations

from typing import Literal

from ludus.algorithms.config import Batch, Count, MethodConfig, Natural, NonNegative, Positive, Share
from ludus.mcts.config import SearchConfig, SelfPlayConfig


class AlphaZeroConfig(MethodConfig, frozen=True, forbid_unknown_fields=True, tag="alphazero"):
    """One learner's settings. ``search`` and ``self_play``: how its matches are played.

    A round collects ``round_positions`` new positions and then learns until every new position has been read
    ``reuse`` times on average. Positions come from the newest ``window_share`` of all matches, but from at
    least ``window_games_min`` and at most ``window_games`` of them; nothing is learned before
    ``window_games_min`` are there.

    ``value_mix``: share of the search's own value in the value target, the rest is the match's outcome.
    ``schedule``: ``steps`` multiplies the rate by ``rate_factor`` at each of ``rate_steps`` minibatches (the
    papers), ``cosine`` and ``linear`` fall to ``rate_factor`` of it over the budget. ``ema``: self-play
    plays with this running average of the weights (0 = with the weights themselves).

    ``ownership_coefficient`` and ``score_coefficient`` weigh what ``policy.ownership`` and ``policy.score``
    learn, as in KataGo's trainer: the mean cross entropy of a cell, and Huber's loss in points.

    ``gate``: AlphaGo Zero's: new weights play only once they have won ``gate_score`` of ``gate_matches``
    against
    those that play now; decided early by a sequential test. Without it, AlphaZero's way: always the newest.
    """

    optimizer: Literal["sgd", "adamw"] = "sgd"
    learning_rate: Positive = 0.02
    schedule: Literal["constant", "steps", "cosine", "linear"] = "cosine"
    rate_steps: tuple[Count, ...] = ()
    rate_factor: Share = 0.1
    warmup: Natural = 0  # minibatches over which the rate rises from 0
    momentum: Share = 0.9
    weight_decay: NonNegative = 1e-4
    batch: Batch = 256
    value_coefficient: NonNegative = 1.0
    value_mix: Share = 0.0
    ownership_coefficient: NonNegative = 1.5
    score_coefficient: NonNegative = 0.0015
    max_grad_norm: NonNegative = 0.0
    ema: Share = 0.0
    round_positions: Count = 8192
    reuse: Positive = 4.0
    window_games: Count = 500_000
    window_games_min: Count = 1000
    window_share: Share = 0.5
    even_outcomes: bool = (
        False  # wins of either seat are read equally often, between 45% and 55% (ELF OpenGo)
    )
    symmetries: bool = True  # positions are turned and mirrored as the game allows
    statistics_batches: Count = 10  # over which batch normalisation is measured before weights play
    gate: bool = False
    gate_matches: Count = 400
    gate_score: Share = 0.55
    search: SearchConfig = SearchConfig()
    self_play: SelfPlayConfig = SelfPlayConfig()
