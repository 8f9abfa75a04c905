"""Terms that the loss of any actor-critic method may have besides its own. ``N`` decisions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ludus.algorithms.actor_critic.config import ActorCriticConfig, AdvantageConfig
from ludus.algorithms.actor_critic.objective import Decisions
from ludus.algorithms.actor_critic.teacher import Teacher, load_teacher
from ludus.algorithms.forward import Bools, Floats, forward
from ludus.algorithms.loss import Loss, kl_estimate, weighted_policy_loss
from ludus.algorithms.samples import Index, Samples
from ludus.algorithms.tasks import Task
from ludus.flow import Slab
from ludus.flow.slab import Array
from ludus.policies.action_distribution import ActionDistribution
from ludus.policies.network import PolicyNetwork


class Given(NamedTuple):
    """What a term may read of one part of a minibatch."""

    samples: Samples
    part: Index  # units: :func:`ludus.algorithms.forward.units_of`
    steps: Index  # int64[N], numbers of the decisions' time steps
    distribution: ActionDistribution  # the learner's, over N; carries gradients
    masks: Tensor  # uint8[N, A]
    actions: Tensor  # int32[N, K]
    decisions: Decisions


class Term(NamedTuple):
    """One addend of the loss: ``coefficient`` times the sum of ``value`` over the decisions."""

    name: str  # of its mean in ``UpdateStats.numbers``
    coefficient: float
    value: Callable[[Given], Tensor]


def with_terms(loss: Loss, terms: Sequence[Term], given: Given) -> Loss:
    """The method's own loss and all terms; ``policy/kl`` is among the numbers of every method."""
    total, numbers = loss
    if "policy/kl" not in numbers:
        with torch.no_grad():
            decisions = given.decisions
            numbers = numbers | {"policy/kl": kl_estimate(decisions.log_prob - decisions.behaviour_log_prob)}
    for term in terms:
        value = term.value(given)
        total = total + term.coefficient * value
        numbers = numbers | {term.name: value}
    return Loss(total, numbers)


def upgo_term(coefficient: float, advantage: Floats) -> Term:
    """-min(1, pi/mu) A log pi with the advantages of upgoing returns ``[T, R]`` (AlphaStar)."""

    def value(given: Given) -> Tensor:
        decisions = given.decisions
        log_ratio = decisions.log_prob - decisions.behaviour_log_prob
        picked = given.samples.tensor(advantage.reshape(-1).take(given.steps))
        return weighted_policy_loss(log_ratio, decisions.log_prob, picked, 1.0)

    return Term("loss/upgo", coefficient, value)


def anchor_term(coefficient: float, anchor: PolicyNetwork, valid: Bools) -> Term:
    """KL(anchor || pi), the anchor being the policy at the update's start (Schulman et al. 2017, equation 8).

    ``valid: bool[T, R]``: the decisions that are trained on.
    """

    def value(given: Given) -> Tensor:
        with torch.no_grad():
            before = forward(anchor, given.samples, given.part, valid).distribution
        return before.divergence(given.distribution, given.masks, given.actions).sum()

    return Term("loss/anchor_kl", coefficient, value)


def teacher_term(coefficient: float, teacher: Teacher, lesson: Samples, valid: Bools) -> Term:
    """KL(teacher || pi) (Vinyals et al. 2019, methods; Schmitt et al. 2018).

    ``lesson``: the slab as the teacher sees it. ``valid: bool[T, R]``: the decisions that are trained on.
    """

    def value(given: Given) -> Tensor:
        would = teacher.distribution(lesson, given.part, given.steps, valid)
        return would.divergence(given.distribution, given.masks, given.actions).sum()

    return Term("loss/teacher_kl", coefficient, value)


class ExtraTerms:
    """The other policies that one learner's updates are drawn to: an anchor, a teacher.

    Args:
        teacher: ``algorithm.teacher``.
        network: the one that learns.
        policy: id of the policy in slabs that is trained.

    Raises:
        SettingError: ``teacher`` cannot teach this learner.
    """

    def __init__(self, teacher: str, network: PolicyNetwork, policy: int) -> None:
        self.teacher = load_teacher(teacher, network, policy)
        self._anchor: PolicyNetwork | None = None
        self._lesson: Samples | None = None

    def start(self, slab: Slab) -> None:
        """Before an update from ``slab``."""
        self._lesson = self.teacher.lesson(slab) if self.teacher is not None else None

    @torch.no_grad()
    def divergences(
        self, config: AdvantageConfig, network: PolicyNetwork, valid: Bools, progress: float
    ) -> tuple[Term, ...]:
        """Terms of this update, whose gradients begin at the weights of ``network``.

        Args:
            config: ``kl_coefficient`` and the teacher's coefficients, which may change between updates.
            network: the one that learns.
            valid: ``bool[T, R]``, the decisions that are trained on.
            progress: share in [0, 1] of the budget that is spent.
        """
        terms: list[Term] = []
        if isinstance(config, ActorCriticConfig) and config.kl_coefficient > 0.0:
            if self._anchor is None:
                self._anchor = copy.deepcopy(network)
            present = network.state_dict()
            for name, tensor in self._anchor.state_dict().items():
                tensor.copy_(present[name])
            terms.append(anchor_term(config.kl_coefficient, self._anchor, valid))
        if self.teacher is not None and self._lesson is not None:
            begin, end = config.teacher_coefficient, config.teacher_coefficient_final
            terms.append(teacher_term(begin + progress * (end - begin), self.teacher, self._lesson, valid))
        return tuple(terms)

    def end(self, micro_batch: int) -> Sequence[Task]:
        """Tasks after the update. ``micro_batch``: decisions that one of them evaluates."""
        if self.teacher is None or self._lesson is None:
            return ()
        return self.teacher.remembers(self._lesson, micro_batch)

    def state(self) -> dict[str, Array]:
        """What the next update depends on, by name."""
        return self.teacher.state() if self.teacher is not None else {}

    def load_state(self, arrays: dict[str, Array]) -> None:
        """The inverse of :meth:`state`; others are not looked at."""
        if self.teacher is not None:
            self.teacher.load_state(arrays)
