"""Terms that the loss of any actor-critic method may have besides its own: UPGO, an anchor, a teacher.

``N`` decisions.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ludus.algorithms.actor_critic.objective import Decisions
from ludus.algorithms.actor_critic.teacher import Teacher, load_teacher
from ludus.algorithms.config import ActorCriticConfig, AdvantageConfig
from ludus.algorithms.loss import Loss, kl_estimate, weighted_policy_loss
from ludus.algorithms.updates.forward import Bools, Floats, forward
from ludus.algorithms.updates.samples import Index, Samples
from ludus.algorithms.updates.tasks import Task
from ludus.flow import Slab
from ludus.flow.slab import Array
from ludus.policies.actions.action_distribution import ActionDistribution
from ludus.policies.network import PolicyNetwork


class TermInput(NamedTuple):
    """Input of a term: one part of a minibatch."""

    samples: Samples
    part: Index  # units: :func:`ludus.algorithms.updates.forward.units_of`
    steps: Index  # int64[N], numbers of the decisions' time steps
    distribution: ActionDistribution  # the learner's, over N; carries gradients
    masks: Tensor  # uint8[N, A]
    actions: Tensor  # int32[N, K]
    decisions: Decisions


class Term(NamedTuple):
    """One addend of the loss: ``coefficient`` times the sum of ``value`` over the decisions."""

    name: str  # of its mean in ``UpdateStats.numbers``
    coefficient: float
    value: Callable[[TermInput], Tensor]


def with_terms(loss: Loss, terms: Sequence[Term], inputs: TermInput) -> Loss:
    """Return the method's own loss and all terms; ``policy/kl`` is among the numbers of every method."""
    total, numbers = loss
    if "policy/kl" not in numbers:
        with torch.no_grad():
            decisions = inputs.decisions
            numbers = numbers | {"policy/kl": kl_estimate(decisions.log_prob - decisions.behaviour_log_prob)}
    for term in terms:
        value = term.value(inputs)
        total = total + term.coefficient * value
        numbers = numbers | {term.name: value}
    return Loss(total, numbers)


def upgo_term(coefficient: float, advantage: Floats) -> Term:
    """Return -min(1, pi/mu) A log pi with the advantages of upgoing returns ``[T, R]`` (AlphaStar)."""

    def value(inputs: TermInput) -> Tensor:
        decisions = inputs.decisions
        log_ratio = decisions.log_prob - decisions.behaviour_log_prob
        picked = inputs.samples.tensor(advantage.reshape(-1).take(inputs.steps))
        return weighted_policy_loss(log_ratio, decisions.log_prob, picked, 1.0)

    return Term("loss/upgo", coefficient, value)


def anchor_term(coefficient: float, anchor: PolicyNetwork, valid: Bools) -> Term:
    """Return KL(anchor || pi) from the policy at the update's start (Schulman et al. 2017, equation 8).

    Args:
        coefficient: Weight of the term, >= 0.
        anchor: Network with the weights at the update's start.
        valid: ``bool[T, R]``, the decisions to train on.
    """

    def value(inputs: TermInput) -> Tensor:
        with torch.no_grad():
            before = forward(anchor, inputs.samples, inputs.part, valid).distribution
        return before.divergence(inputs.distribution, inputs.masks, inputs.actions).sum()

    return Term("loss/anchor_kl", coefficient, value)


def teacher_term(coefficient: float, teacher: Teacher, teacher_batch: Samples, valid: Bools) -> Term:
    """Return KL(teacher || pi) (Vinyals et al. 2019, methods; Schmitt et al. 2018).

    Args:
        coefficient: Weight of the term, >= 0.
        teacher: Frozen policy.
        teacher_batch: Slab as the teacher sees it.
        valid: ``bool[T, R]``, the decisions to train on.
    """

    def value(inputs: TermInput) -> Tensor:
        would = teacher.distribution(teacher_batch, inputs.part, inputs.steps, valid)
        return would.divergence(inputs.distribution, inputs.masks, inputs.actions).sum()

    return Term("loss/teacher_kl", coefficient, value)


class ExtraTerms:
    """Other policies that one learner's updates are drawn to: an anchor, a teacher."""

    def __init__(self, teacher: str, network: PolicyNetwork, policy: int) -> None:
        """Load the teacher.

        Args:
            teacher: ``algorithm.teacher``.
            network: Network that learns.
            policy: Id of the trained policy in slabs.

        Raises:
            SettingError: ``teacher`` does not fit this learner.
        """
        self.teacher = load_teacher(teacher, network, policy)
        self._anchor: PolicyNetwork | None = None
        self._teacher_batch: Samples | None = None

    def start(self, slab: Slab) -> None:
        """Prepare for an update from ``slab``."""
        self._teacher_batch = self.teacher.batch(slab) if self.teacher is not None else None

    @torch.no_grad()
    def divergences(
        self, config: AdvantageConfig, network: PolicyNetwork, valid: Bools, progress: float
    ) -> tuple[Term, ...]:
        """Return the terms of this update, which starts at the weights of ``network``.

        Args:
            config: ``kl_coefficient`` and the teacher's coefficients, which may change between updates.
            network: Network that learns.
            valid: ``bool[T, R]``, the decisions to train on.
            progress: Spent share of the budget, in [0, 1].
        """
        terms: list[Term] = []
        if isinstance(config, ActorCriticConfig) and config.kl_coefficient > 0.0:
            if self._anchor is None:
                self._anchor = copy.deepcopy(network)
            present = network.state_dict()
            for name, tensor in self._anchor.state_dict().items():
                tensor.copy_(present[name])
            terms.append(anchor_term(config.kl_coefficient, self._anchor, valid))
        if self.teacher is not None and self._teacher_batch is not None:
            coefficient = config.teacher_coefficient_at(progress)
            terms.append(teacher_term(coefficient, self.teacher, self._teacher_batch, valid))
        return tuple(terms)

    def end(self, micro_batch: int) -> Sequence[Task]:
        """Return tasks that follow the update; each evaluates ``micro_batch`` decisions."""
        if self.teacher is None or self._teacher_batch is None:
            return ()
        return self.teacher.advance(self._teacher_batch, micro_batch)

    def state(self) -> dict[str, Array]:
        """Return arrays that the next update depends on, by name."""
        return self.teacher.state() if self.teacher is not None else {}

    def load_state(self, arrays: dict[str, Array]) -> None:
        """Restore the arrays of :meth:`state`; ignore the rest."""
        if self.teacher is not None:
            self.teacher.load_state(arrays)
