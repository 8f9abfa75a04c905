"""Settings of all learning methods: one struct a method, and the ranges that settings are declared with.

The tag of a struct is the method's name, its fields are the keys of a preset's ``[algorithm]``. Without
torch here, presets are read without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, TypeVar

import msgspec

from ludus.algorithms.schedules import ByBudget, linear, rate_factor
from ludus.flow.override import override
from ludus.mcts.config import SearchConfig, SelfPlayConfig

Positive = Annotated[float, msgspec.Meta(gt=0)]
NonNegative = Annotated[float, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
OpenShare = Annotated[float, msgspec.Meta(gt=0, lt=1)]
SomeShare = Annotated[float, msgspec.Meta(gt=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]
MinibatchCount = Annotated[int, msgspec.Meta(ge=1, le=1 << 16)]
BatchSize = Annotated[int, msgspec.Meta(ge=1, le=1 << 24)]  # decisions held at once
Reuse = Annotated[float, msgspec.Meta(ge=0, le=64)]
Natural = Annotated[int, msgspec.Meta(ge=0)]
MOST_PARTS = 64
HeldOut = Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]  # decisions held in memory
Parts = Literal["auto"] | Annotated[int, msgspec.Meta(ge=1, le=MOST_PARTS)]


class SettingError(ValueError):
    """A setting that cannot be carried out: path, value, expectation."""


class MethodConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="name"):
    """Settings of a learning method: the keys of a preset's ``[algorithm]``. ``tag`` is the method's name."""

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield settings that do not fit together: the key, and the rest of the message."""
        yield from ()

    def head_problems(self, heads: int) -> Iterator[tuple[str, str]]:
        """Yield settings that do not fit ``heads`` value heads: the key, and the rest of the message."""
        yield from ()

    def schedules(self) -> Iterator[tuple[str, ByBudget]]:
        """Yield the keys whose values move with the run's budget, each with its values.

        A method without an entry for such a key works; a resume under another budget then reports no change.
        """
        yield from ()


class SlabLearnerConfig(MethodConfig, frozen=True, forbid_unknown_fields=True):
    """Settings of :class:`~ludus.algorithms.learner.SlabLearner`; a method's config inherits them."""

    learning_rate: Positive = 5e-4
    learning_rate_schedule: Literal["constant", "linear", "cosine"] = "constant"
    learning_rate_final: NonNegative = 0.0  # where linear and cosine end
    optimizer: Literal["adam", "sgd"] = "adam"
    momentum: Share = 0.9  # of sgd
    adam_betas: tuple[Share, Share] = (0.9, 0.999)
    adam_eps: Positive = 1e-5
    max_grad_norm: NonNegative = 0.5
    max_grad_rms: NonNegative = 0.0  # bound of each parameter's gradient, in roots of Adam's v; 0 = off
    micro_batch: Count = 1024  # decisions differentiated at once; conv torsos prefer 256
    # a minibatch is cut into a multiple of so many parts, which as many processes may differentiate at once;
    # auto: chosen when a run is made, from its threads and minibatches
    parts: Parts = "auto"
    discount: Share = 0.99
    horizon: NonNegative = 0.0  # ticks; above 0 the discount is 1 - ticks of a decision / horizon
    horizon_final: NonNegative = 0.0  # reached linearly at the end of the budget; 0 = horizon
    normalise_returns: bool = True
    reward_scale: float = 1.0
    reward_clip: NonNegative = 0.0  # 0 = off

    @override
    def problems(self) -> Iterator[tuple[str, str]]:
        if self.max_grad_rms > 0.0 and self.optimizer != "adam":
            yield "max_grad_rms", f'= {self.max_grad_rms:g}: expected 0, or algorithm.optimizer = "adam"'

    @override
    def schedules(self) -> Iterator[tuple[str, ByBudget]]:
        yield "learning_rate", self.learning_rate_at
        if self.horizon > 0.0:
            yield "horizon", self.horizon_at

    @property
    def part_count(self) -> int:
        """``parts`` as a number; 1 for an ``auto`` that no run has resolved, as in older runs."""
        return 1 if self.parts == "auto" else self.parts

    def learning_rate_at(self, progress: float) -> float:
        """Return the learning rate when the share ``progress`` in [0, 1] of the budget is spent."""
        final = self.learning_rate_final / self.learning_rate
        return self.learning_rate * rate_factor(self.learning_rate_schedule, progress, final)

    def horizon_at(self, progress: float) -> float:
        """Return the horizon in ticks when the share ``progress`` of the budget is spent."""
        return linear(self.horizon, self.horizon_final or self.horizon, progress)


class AdvantageConfig(SlabLearnerConfig, frozen=True, forbid_unknown_fields=True):
    """Settings of :class:`~ludus.algorithms.actor_critic.advantages.AdvantageLearner`."""

    value_coefficient: NonNegative = 0.5
    value_discounts: tuple[Share, ...] = ()  # of each of policy.value_heads; empty = discount
    value_weights: tuple[NonNegative, ...] = ()  # of the heads' advantages in their sum; empty = the mean
    entropy_coefficient: NonNegative = 0.01
    entropy_coefficient_final: NonNegative = 0.01  # reached linearly at the end of the budget
    epochs: Count = 1
    sample_reuse: Reuse = 0.0  # how often a decision is differentiated, on average; 0 = epochs
    minibatches: MinibatchCount = 4
    normalise_advantages: bool = True
    upgo_coefficient: NonNegative = 0.0  # of AlphaStar's upgoing returns; 0 = off
    teacher: str = ""  # weights to stay near, RUN@best, a file or zoo:NAME; "" = none
    teacher_coefficient: NonNegative = 1.0  # of the KL from the teacher
    teacher_coefficient_final: NonNegative = 0.0  # reached linearly at the end of the budget

    @override
    def head_problems(self, heads: int) -> Iterator[tuple[str, str]]:
        for key, given in (("value_discounts", self.value_discounts), ("value_weights", self.value_weights)):
            if given and len(given) != heads:
                yield key, f"has {len(given)} values: expected {heads}, one for each of policy.value_heads"
        if self.value_weights and not any(self.value_weights):
            yield "value_weights", "are all 0: expected one above 0"
        if heads > 1 and self.upgo_coefficient > 0.0:
            yield (
                "upgo_coefficient",
                f"= {self.upgo_coefficient:g} with policy.value_heads = {heads}: expected 0",
            )
        if self.value_discounts and self.horizon > 0.0:
            yield (
                "value_discounts",
                "with algorithm.horizon: each head has its own horizon; expected horizon = 0",
            )

    @override
    def schedules(self) -> Iterator[tuple[str, ByBudget]]:
        yield from super().schedules()
        yield "entropy_coefficient", self.entropy_coefficient_at
        if self.teacher:
            yield "teacher_coefficient", self.teacher_coefficient_at

    def entropy_coefficient_at(self, progress: float) -> float:
        """Return the entropy's weight when the share ``progress`` of the budget is spent."""
        return linear(self.entropy_coefficient, self.entropy_coefficient_final, progress)

    def teacher_coefficient_at(self, progress: float) -> float:
        """Return the weight of the teacher's KL when the share ``progress`` of the budget is spent."""
        return linear(self.teacher_coefficient, self.teacher_coefficient_final, progress)


class ActorCriticConfig(AdvantageConfig, frozen=True, forbid_unknown_fields=True):
    """Settings of :class:`~ludus.algorithms.actor_critic.learner.ActorCriticLearner`."""

    target_kl: NonNegative = 0.0  # epochs end above this KL from the behaviour policy, nats; 0 = off
    learning_rate_kl: NonNegative = 0.0  # the learning rate is moved to reach this KL, nats; 0 = off
    kl_coefficient: NonNegative = 0.0  # of the KL from the weights that an update starts with; 0 = off


class AppoConfig(ActorCriticConfig, frozen=True, forbid_unknown_fields=True, tag="appo"):
    """Settings of APPO: PPO clipping, V-trace, GAE (Petrenko et al. 2020, section 3; Schulman et al. 2017).

    Ratios are pi / mu: the learner's probability over the behaviour policy's.
    """

    gae_lambda: Share = 0.95
    vtrace: bool = True
    rho_clip: Positive = 1.0
    c_clip: Positive = 1.0
    clip_ratio: Positive = 0.2
    clip_value: NonNegative = 0.0  # 0 = off


class A2cConfig(ActorCriticConfig, frozen=True, forbid_unknown_fields=True, tag="a2c"):
    """Settings of A2C (Mnih et al. 2016, section 4; Tian et al. 2017, section 4.2.1)."""

    n_steps: Natural = 0  # decisions of a return before its value, 0 = to the end of the slab
    clip_ratio: Positive = 10.0  # largest weight of a decision, pi / mu


class ImpalaConfig(ActorCriticConfig, frozen=True, forbid_unknown_fields=True, tag="impala"):
    """Settings of IMPALA (Espeholt et al. 2018, section 4).

    Ratios are pi / mu: the learner's probability over the behaviour policy's.
    """

    gae_lambda: Share = 1.0  # of V-trace (remark 2)
    rho_clip: Positive = 1.0
    c_clip: Positive = 1.0


class PolicyGradientConfig(ActorCriticConfig, frozen=True, forbid_unknown_fields=True, tag="policy_gradient"):
    """Settings of the policy gradient (Williams 1992; Sutton et al. 2000).

    Only the baseline ``value`` trains a value, and bootstraps from it.
    """

    baseline: Literal["value", "mean", "none"] = "value"
    clip_ratio: Positive = 10.0  # largest weight of a decision, pi / mu
    normalise_advantages: bool = False  # standardised advantages would have the mean as a baseline


class TrpoConfig(AdvantageConfig, frozen=True, forbid_unknown_fields=True, tag="trpo"):
    """Settings of TRPO (Schulman et al. 2015).

    ``epochs``, ``minibatches``, the optimiser and its rate are the value's.
    """

    gae_lambda: Share = 0.97
    vtrace: bool = True
    rho_clip: Positive = 1.0
    c_clip: Positive = 1.0
    max_kl: Positive = 0.01  # nats, bound of the mean divergence of one update
    damping: NonNegative = 0.1  # added to the diagonal of the Fisher matrix
    conjugate_steps: Count = 10
    fisher_share: SomeShare = 0.25  # of the decisions, for products with the Fisher matrix
    difference: Positive = 0.01  # length of the step in parameters that such a product is measured with
    backtracks: Count = 10  # tries of the line search
    backtrack_factor: OpenShare = 0.8
    entropy_coefficient: NonNegative = 0.0
    entropy_coefficient_final: NonNegative = 0.0
    epochs: Count = 5
    value_coefficient: NonNegative = 1.0

    @override
    def problems(self) -> Iterator[tuple[str, str]]:
        yield from super().problems()
        if self.value_coefficient == 0.0:
            yield "value_coefficient", "= 0: the value would not be learned; expected a number above 0"


class DqnConfig(SlabLearnerConfig, frozen=True, forbid_unknown_fields=True, tag="dqn"):
    """Settings of DQN (Mnih et al. 2015); double, n-step, prioritised (Hessel et al. 2018).

    A *slab* is one rollout, a *gradient step* one minibatch. A replay buffer of one slab without
    a target network is Q-learning as in ELF.
    """

    normalise_returns: bool = False
    buffer_slabs: Count = 64  # slabs in the replay buffer
    buffer_mib: Positive = 1024.0  # a replay buffer that needs more memory is refused
    learning_starts: Natural = 2000  # decisions in the replay buffer before the first gradient step
    batch_size: BatchSize = 256  # decisions of a gradient step
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

    @override
    def schedules(self) -> Iterator[tuple[str, ByBudget]]:
        yield from super().schedules()
        yield "epsilon", self.epsilon_at
        if self.priority_alpha > 0.0:
            yield "priority_beta", self.priority_beta_at

    def epsilon_at(self, progress: float) -> float:
        """Return epsilon: linear to ``epsilon_final`` over ``epsilon_share`` of the budget, then constant."""
        done = min(progress / self.epsilon_share, 1.0) if self.epsilon_share > 0.0 else 1.0
        return linear(self.epsilon, self.epsilon_final, done)

    def priority_beta_at(self, progress: float) -> float:
        """Return beta when the share ``progress`` of the budget is spent."""
        return linear(self.priority_beta, self.priority_beta_final, progress)


class ImitationConfig(SlabLearnerConfig, frozen=True, forbid_unknown_fields=True, tag="imitation"):
    """Settings of behaviour cloning (Pomerleau 1991; Bain and Sammut 1995).

    ``teacher``: ``RUN@best``, a weights file or ``zoo:NAME``, a bot of the game that demonstrates
    (``simple``), a bot in Python (``my_bot.py``) or a search (``mcts:400``, ``RUN@best+search:400``).

    ``data``: path of a data set of recorded matches, in place of a teacher. ``players``, ``winners`` and
    ``held_out_decisions`` belong to it; ``weight_decay``, ``ema`` and ``symmetries`` to board networks.
    """

    teacher: str = ""
    data: str = ""
    players: tuple[str, ...] = ()  # whose recorded decisions are learned; empty = all
    winners: bool = False  # only recorded decisions of seats that did not lose
    held_out_decisions: HeldOut = 4096  # about so many measure the clone at each evaluation
    seats: Literal["one", "all"] = "one"  # that the teacher plays; with one the opponents play the rest
    greedy: bool = False  # the teacher's most probable choice, or the most visited move of its search
    gae_lambda: Share = 1.0  # of the value's targets
    value_coefficient: NonNegative = 0.5
    entropy_coefficient: NonNegative = 0.0
    epochs: Count = 1
    minibatches: MinibatchCount = 4
    weight_decay: NonNegative = 1e-4  # of board networks
    ema: Share = 0.0  # board networks play with this running average of the weights
    symmetries: bool = True  # positions of board networks are turned and mirrored as the game allows

    @override
    def problems(self) -> Iterator[tuple[str, str]]:
        yield from super().problems()
        if self.teacher and self.data:
            yield "data", f"and algorithm.teacher = {self.teacher!r}: expected one of the two"
        if self.data:
            return
        if self.players:
            yield "players", "without algorithm.data: expected recorded matches"
        if self.winners:
            yield "winners", "= true without algorithm.data: expected recorded matches"


class AlphaZeroConfig(MethodConfig, frozen=True, forbid_unknown_fields=True, tag="alphazero"):
    """Settings of AlphaZero's learner, its window of matches and its gate.

    ``search`` and ``self_play``: how its matches are played.

    A round collects ``round_positions`` new positions and then learns until every new position has been read
    ``sample_reuse`` times on average. Positions come from the newest ``window_share`` of all matches, but
    from at least ``window_matches_min`` and at most ``window_matches`` of them; learning starts when
    ``window_matches_min`` are there.

    ``value_mix``: share of the search's own value in the value target, the rest is the match's outcome.
    ``learning_rate_schedule``: ``steps`` multiplies the rate by ``rate_factor`` at each of ``rate_steps``
    minibatches (the papers), ``cosine`` and ``linear`` fall to ``rate_factor`` of it over the budget.
    ``ema``: self-play plays with this running average of the weights (0 = with the weights themselves).

    ``ownership_coefficient`` and ``score_coefficient`` weigh what ``policy.ownership`` and ``policy.score``
    learn, as in KataGo's trainer: the mean cross entropy of a cell, and Huber's loss in points.

    ``gate``: AlphaGo Zero's: new weights play only once they have won ``gate_score`` of ``gate_matches``
    against those that play now; decided early by a sequential test. Without it, AlphaZero's way: always the
    newest.
    """

    optimizer: Literal["sgd", "adamw"] = "sgd"
    learning_rate: Positive = 0.02
    learning_rate_schedule: Literal["constant", "steps", "cosine", "linear"] = "cosine"
    rate_steps: tuple[Count, ...] = ()
    rate_factor: Share = 0.1
    warmup: Natural = 0  # minibatches over which the rate rises from 0
    momentum: Share = 0.9
    weight_decay: NonNegative = 1e-4
    batch_size: BatchSize = 256  # positions
    value_coefficient: NonNegative = 1.0
    value_mix: Share = 0.0
    ownership_coefficient: NonNegative = 1.5
    score_coefficient: NonNegative = 0.0015
    max_grad_norm: NonNegative = 0.0
    ema: Share = 0.0
    round_positions: Count = 8192
    sample_reuse: Positive = 4.0
    window_matches: Count = 500_000
    window_matches_min: Count = 1000
    window_share: Share = 0.5
    even_outcomes: bool = False  # wins of either seat are read equally often, from 45% to 55% (ELF OpenGo)
    symmetries: bool = True  # positions are turned and mirrored as the game allows
    statistics_batches: Count = 10  # over which batch normalisation is measured before weights play
    gate: bool = False
    gate_matches: Count = 400
    gate_score: Share = 0.55
    search: SearchConfig = SearchConfig()
    self_play: SelfPlayConfig = SelfPlayConfig()

    def schedules(self) -> Iterator[tuple[str, ByBudget]]:
        """See :meth:`MethodConfig.schedules`. The schedule ``steps`` counts minibatches."""
        if self.learning_rate_schedule in ("cosine", "linear"):
            yield "learning_rate", self.learning_rate_at

    def learning_rate_at(self, progress: float, drops: int = 0) -> float:
        """Return the learning rate at the share ``progress`` of the budget, after ``drops`` of its steps."""
        schedule, factor = self.learning_rate_schedule, self.rate_factor
        return self.learning_rate * rate_factor(schedule, progress, factor, drops)


_Slab = TypeVar("_Slab", bound=SlabLearnerConfig)


def with_horizon(config: _Slab, frame_skip: int, progress: float) -> _Slab:
    """Return the settings with the discount ``1 - frame_skip / horizon`` of this point of the run.

    A horizon that moves over a run: OpenAI Five (Berner et al. 2019), appendix C and figure 6.

    Args:
        config: ``horizon`` and ``horizon_final`` in ticks; without a horizon it is returned as it is.
        frame_skip: Ticks of a decision, >= 1.
        progress: Spent share of the budget, in [0, 1]; the horizon moves linearly with it.
    """
    if config.horizon <= 0.0:
        return config
    return msgspec.structs.replace(config, discount=1.0 - frame_skip / config.horizon_at(progress))
