"""Advantages and value targets from a slab: GAE, n-step returns, V-trace, Monte Carlo, UPGO.

Shapes: ``T`` steps, ``R`` rows. A row decides only where it is active, so everything here runs over a
row's *own decisions*: rewards between two of them belong to the earlier one, and the discount
applies once a decision. Bootstraps are true: V of the stored observation T, V of a truncated match's
last observation, 0 after termination. Numpy, one Python step a time step, vectors over rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Transitions:
    """Rewards and successors of each decision. All ``[T, R]``; entries without a decision mean nothing.

    ``reward``: sum until the row's next decision or the end of its match. ``bootstrap``: value of the
    observation that followed. ``next_index``: time of the next decision inside the slab and the same match,
    or -1. ``valid``: a decision whose successor is known. The last decision of a row that is not active at T
    and whose match continues has none: it is not trained on, its value bootstraps the decisions before it.
    ``ended``: the match ended before the row's next decision.
    """

    reward: Floats
    bootstrap: Floats
    next_index: Ints
    valid: Bools
    ended: Bools


@dataclass(frozen=True, slots=True)
class Returns:
    """``advantage, target: float32[T, R]`` in the game's units, zero outside ``valid: bool[T, R]``."""

    advantage: Floats
    target: Floats
    valid: Bools


def transitions(
    reward: Floats,
    terminated: Bools,
    truncated: Bools,
    final_value: Floats | None,
    value: Floats,
    active: Bools,
) -> Transitions:
    """Sum rewards and find successors.

    ``reward, terminated, truncated, final_value: [T, R]``; ``value, active: [T+1, R]``. Rewards after the
    end of a match and before the row's next decision (a bot plays) belong to no decision.

    Without ``final_value`` the last observation of a truncated match has no value: the decision before it has
    no known successor. It is not trained on, and its own value bootstraps the decisions before it.
    """
    steps, rows = reward.shape
    ended = terminated | truncated
    after_end = np.zeros((steps, rows), np.float32)
    if final_value is not None:
        np.copyto(after_end, final_value, where=~terminated)
    succeeded = ended if final_value is not None else terminated
    out = Transitions(
        np.zeros((steps, rows), np.float32),
        np.zeros((steps, rows), np.float32),
        np.full((steps, rows), -1, np.int32),
        np.zeros((steps, rows), np.bool_),
        np.zeros((steps, rows), np.bool_),
    )
    total = np.zeros(rows, np.float32)
    bootstrap = np.where(active[steps], value[steps], np.float32(0.0)).astype(np.float32)
    next_index = np.full(rows, -1, np.int32)
    valid = active[steps].copy()
    over = np.zeros(rows, np.bool_)
    for t in range(steps - 1, -1, -1):
        end, act = ended[t], active[t]
        np.copyto(total, 0.0, where=end)
        total += reward[t]
        np.copyto(bootstrap, after_end[t], where=end)
        np.copyto(next_index, -1, where=end)
        np.copyto(valid, succeeded[t], where=end)
        over |= end
        out.reward[t], out.bootstrap[t], out.next_index[t] = total, bootstrap, next_index
        np.logical_and(act, valid, out=out.valid[t])
        np.logical_and(act, over, out=out.ended[t])
        np.copyto(total, 0.0, where=act)
        np.copyto(bootstrap, value[t], where=act)
        np.copyto(next_index, t, where=act)
        valid |= act
        over &= ~act
    return out


def vtrace(
    moves: Transitions,
    value: Floats,
    *,
    discount: float,
    gae_lambda: float,
    ratio: Floats | None = None,
    rho_clip: float = 1.0,
    c_clip: float = 1.0,
) -> Returns:
    """Return V-trace targets (Espeholt et al. 2018, equation 1) with lambda; GAE where ``ratio`` is None.

    ``ratio: [T, R]`` is pi(a|s) / mu(a|s) of the learner over the behaviour policy, ``value: [T+1, R]`` the
    learner's values. With c = lambda min(c_clip, ratio), rho = min(rho_clip, ratio) and
    delta = r + gamma V(s') - V(s):

        target(s) - V(s) = rho delta + gamma c (target(s') - V(s'))
        advantage(s)     = delta + gamma lambda (target(s') - V(s'))

    The advantage leaves its own step unweighted because the clipped surrogate multiplies it by the
    ratio. With every ratio 1 it is GAE (Schulman et al. 2016); with lambda 1 it is V-trace's
    r + gamma v(s') - V(s).
    """
    steps, rows = moves.reward.shape
    delta = moves.reward + np.float32(discount) * moves.bootstrap - value[:steps]
    advantage = np.zeros((steps, rows), np.float32)
    target = np.zeros((steps, rows), np.float32)
    later = np.zeros(rows, np.float32)  # target - V of the next decision
    gamma_lambda = np.float32(discount * gae_lambda)
    if ratio is not None:
        rho = np.minimum(ratio, np.float32(rho_clip)) * delta
        c = np.minimum(ratio, np.float32(c_clip)) * gamma_lambda
    for t in range(steps - 1, -1, -1):
        np.copyto(later, 0.0, where=moves.next_index[t] < 0)
        valid = moves.valid[t]
        carried = later * gamma_lambda
        np.add(delta[t], carried, out=advantage[t], where=valid)
        here = advantage[t] if ratio is None else rho[t] + c[t] * later
        np.add(here, value[t], out=target[t], where=valid)
        np.copyto(later, here, where=valid)
    return Returns(advantage, target, moves.valid)


def gae(moves: Transitions, value: Floats, *, discount: float, gae_lambda: float) -> Returns:
    """Return generalised advantage estimates (Schulman et al. 2016) over own decisions."""
    return vtrace(moves, value, discount=discount, gae_lambda=gae_lambda)


def n_step(moves: Transitions, value: Floats, *, discount: float, n_steps: int) -> Returns:
    """Return n-step returns: n rewards of own decisions, then the value of the observation after them.

    Shorter where the match or the slab ends. ``n_steps >= 1``.
    """
    if n_steps < 1:
        raise ValueError(f"n-step returns need n_steps >= 1, got {n_steps}")
    steps, rows = moves.reward.shape
    gamma = np.float32(discount)
    columns = np.broadcast_to(np.arange(rows), (steps, rows))
    inside = moves.next_index >= 0
    successor = np.maximum(moves.next_index, 0)
    # A decision whose successor is unknown stands for itself by its value.
    target = np.where(moves.valid, moves.reward + gamma * moves.bootstrap, value[:steps])
    one = target
    for _ in range(n_steps - 1):
        further = moves.reward + gamma * target[successor, columns]
        target = np.where(moves.valid, np.where(inside, further, one), value[:steps])
    target = np.where(moves.valid, target, np.float32(0.0)).astype(np.float32)
    advantage = np.where(moves.valid, target - value[:steps], np.float32(0.0)).astype(np.float32)
    return Returns(advantage, target, moves.valid)


def monte_carlo(moves: Transitions, *, discount: float) -> Returns:
    """Return discounted sums of rewards to the end of the match, without a value (Williams 1992).

    Only decisions of matches that end inside the slab have one; the rest is not ``valid``. A truncation
    counts as an end: nothing follows it. ``advantage`` is the return itself, that is baseline 0.
    """
    steps, rows = moves.reward.shape
    total = np.zeros((steps, rows), np.float32)
    valid = np.zeros((steps, rows), np.bool_)
    later, has_return = np.zeros(rows, np.float32), np.zeros(rows, np.bool_)  # of the next decision
    for t in range(steps - 1, -1, -1):
        inside = moves.next_index[t] >= 0
        np.copyto(later, 0.0, where=~inside)
        np.logical_or(moves.ended[t], moves.valid[t] & inside & has_return, out=valid[t])
        np.add(moves.reward[t], np.float32(discount) * later, out=total[t], where=valid[t])
        decided = moves.valid[t] | valid[t]
        np.copyto(later, total[t], where=decided)
        np.copyto(has_return, valid[t], where=decided)
    return Returns(total, total.copy(), valid)


def upgo(moves: Transitions, value: Floats, *, discount: float) -> Floats:
    """Return advantages of upgoing returns ``[T, R]``, zero outside ``moves.valid``.

    Vinyals et al. 2019, methods.

    G(s) = r + gamma G(s') if the next decision turned out at least as well as its value predicted,
    r' + gamma V(s'') >= V(s'), and r + gamma V(s') otherwise: good surprises are followed further. The
    advantage is G(s) - V(s).
    """
    steps, rows = moves.reward.shape
    gamma = np.float32(discount)
    advantage = np.zeros((steps, rows), np.float32)
    better = np.zeros(rows, np.float32)  # G(s') - V(s') of the next decision if it is followed
    for t in range(steps - 1, -1, -1):
        np.copyto(better, 0.0, where=moves.next_index[t] < 0)
        valid = moves.valid[t]
        delta = moves.reward[t] + gamma * moves.bootstrap[t] - value[t]
        np.add(delta, gamma * better, out=advantage[t], where=valid)
        np.copyto(better, np.where(delta >= 0.0, advantage[t], np.float32(0.0)), where=valid)
    return advantage


def explained_variance(targets: Floats, values: Floats) -> float:
    """Return 1 - Var(target - value) / Var(target); 0 where targets do not vary.

    Args:
        targets: ``float32[N]``, or ``[N, K]`` of K heads, whose mean is returned.
        values: Predictions of ``targets``.
    """
    if targets.ndim > 1:
        each = [explained_variance(targets[:, k], values[:, k]) for k in range(targets.shape[1])]
        return float(np.mean(each))
    variance = float(targets.var())
    return 1.0 - float((targets - values).var()) / variance if variance > 1e-12 else 0.0
