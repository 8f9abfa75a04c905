"""Loss of DQN and its targets as pure functions over flat samples.

``N`` samples. Values are in the units of the network's heads.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ludus.algorithms.loss import Loss


def td_target(returns: Tensor, discount: Tensor, bootstrap: Tensor) -> Tensor:
    """Return ``y = r_1 + gamma r_2 + ... + gamma^m max_a Q(s', a)``.

    Sutton 1988; Hessel et al. 2018, section 3.

    Args:
        returns: ``float32[N]``, discounted rewards of ``m`` decisions.
        discount: ``float32[N]``, gamma^m; 0 where the match ended by its rules.
        bootstrap: ``float32[N]``, value of the state that followed; any finite number where
            ``discount`` is 0.
    """
    return returns + discount * bootstrap


def dqn_loss(q: Tensor, target: Tensor, weight: Tensor, delta: float) -> tuple[Loss, Tensor]:
    """Return the weighted error of Q(s, a) (Mnih et al. 2015, equation 2; Schaul et al. 2016, algorithm 1).

    Args:
        q: ``float32[N]``, Q of the decisions that were made; carries gradients.
        target: ``float32[N]``.
        weight: ``float32[N]``, importance weights.
        delta: Error above which the loss is linear (Huber 1964); 0 = half the square everywhere.

    Returns:
        The sum over decisions with ``loss/td`` and ``q/mean``; and the errors ``target - q: float32[N]``.
    """
    error = target - q
    size = error.abs()
    if delta > 0.0:
        small = size.clamp(max=delta)
        loss = small * (size - 0.5 * small)
    else:
        loss = 0.5 * error.square()
    total = (weight * loss).sum()
    with torch.no_grad():
        numbers = {"loss/td": total.detach(), "q/mean": q.detach().sum(), "q/target_mean": target.sum()}
    return Loss(total, numbers), error.detach()
