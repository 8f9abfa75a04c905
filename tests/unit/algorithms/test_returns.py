"""Returns against a float64 reference that walks each row's own decisions one by one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from ludus.algorithms.returns import Transitions, gae, n_step, transitions, vtrace

Doubles = npt.NDArray[np.float64]
GAMMA, LAMBDA = 0.97, 0.9


class Moments:
    """Random rewards, ends, activity and values of one slab."""

    def __init__(self, seed: int, steps: int = 24, rows: int = 40, idle: float = 0.4) -> None:
        rng = np.random.default_rng(seed)
        shape = (steps, rows)
        self.reward = rng.normal(size=shape).astype(np.float32)
        self.terminated = rng.random(shape) < 0.08
        self.truncated = (rng.random(shape) < 0.08) & ~self.terminated
        self.final_value = rng.normal(size=shape).astype(np.float32)
        self.value = rng.normal(size=(steps + 1, rows)).astype(np.float32)
        self.active = rng.random((steps + 1, rows)) >= idle
        self.ratio = np.exp(rng.normal(size=shape) * 0.7).astype(np.float32)

    def transitions(self) -> Transitions:
        return transitions(
            self.reward, self.terminated, self.truncated, self.final_value, self.value, self.active
        )


class Decision:
    """One decision of one row, as the reference sees it."""

    def __init__(self, t: int, reward: float, bootstrap: float | None, linked: bool) -> None:
        self.t, self.reward, self.bootstrap, self.linked = t, reward, bootstrap, linked


def decisions_of(m: Moments, row: int) -> list[Decision]:
    """Walks forward from each decision until the row's next one or the end of its match."""
    steps = m.reward.shape[0]
    found = []
    for t in range(steps):
        if not m.active[t, row]:
            continue
        reward, bootstrap, linked = 0.0, None, False
        for later in range(t, steps):
            reward += float(m.reward[later, row])
            if m.terminated[later, row]:
                bootstrap = 0.0
                break
            if m.truncated[later, row]:
                bootstrap = float(m.final_value[later, row])
                break
            if m.active[later + 1, row]:
                bootstrap = float(m.value[later + 1, row])
                linked = later + 1 < steps
                break
        found.append(Decision(t, reward, bootstrap, linked))
    return found


def reference(m: Moments, weighted: bool, rho_clip: float, c_clip: float) -> tuple[Doubles, Doubles, Doubles]:
    """Advantages, targets and which decisions count, in float64."""
    advantage, target = np.zeros(m.reward.shape), np.zeros(m.reward.shape)
    known = np.zeros(m.reward.shape)
    for row in range(m.reward.shape[1]):
        later = 0.0
        for d in reversed(decisions_of(m, row)):
            value = float(m.value[d.t, row])
            if d.bootstrap is None:
                later = 0.0
                continue
            if not d.linked:
                later = 0.0
            ratio = float(m.ratio[d.t, row]) if weighted else 1.0
            delta = d.reward + GAMMA * d.bootstrap - value
            advantage[d.t, row] = delta + GAMMA * LAMBDA * later
            later = min(rho_clip, ratio) * delta + GAMMA * LAMBDA * min(c_clip, ratio) * later
            target[d.t, row] = value + later
            known[d.t, row] = 1
    return advantage, target, known


@pytest.mark.parametrize("idle", [0.0, 0.4, 0.8])
@pytest.mark.parametrize("clips", [None, (1.0, 1.0), (2.0, 1.5)])
def test_equal_to_the_reference(idle: float, clips: tuple[float, float] | None) -> None:
    m = Moments(seed=3, idle=idle)
    rho_clip, c_clip = clips or (1.0, 1.0)
    out = vtrace(
        m.transitions(),
        m.value,
        discount=GAMMA,
        gae_lambda=LAMBDA,
        ratio=m.ratio if clips else None,
        rho_clip=rho_clip,
        c_clip=c_clip,
    )
    advantage, target, known = reference(m, clips is not None, rho_clip, c_clip)
    assert 0 < known.sum() < known.size or idle == 0.0
    np.testing.assert_array_equal(out.valid, known)
    np.testing.assert_allclose(out.advantage, advantage, atol=2e-5)
    np.testing.assert_allclose(out.target, target, atol=2e-5)


def test_ratios_of_one_make_vtrace_gae() -> None:
    m = Moments(seed=5)
    m.ratio[:] = 1.0
    moves = m.transitions()
    a = vtrace(moves, m.value, discount=GAMMA, gae_lambda=LAMBDA, ratio=m.ratio)
    b = gae(moves, m.value, discount=GAMMA, gae_lambda=LAMBDA)
    np.testing.assert_allclose(a.advantage, b.advantage, atol=1e-6)
    np.testing.assert_allclose(a.target, b.target, atol=1e-6)


@pytest.mark.parametrize("n", [1, 3, 50])
def test_n_step_equals_the_reference(n: int) -> None:
    m = Moments(seed=7)
    out = n_step(m.transitions(), m.value, discount=GAMMA, n_steps=n)
    for row in range(m.reward.shape[1]):
        chain = decisions_of(m, row)
        for i, d in enumerate(chain):
            assert out.valid[d.t, row] == (d.bootstrap is not None)
            if d.bootstrap is None:
                continue
            total, weight, j, left = 0.0, 1.0, i, n
            while True:
                here = chain[j]
                if here.bootstrap is None:  # the successor is not known: its value stands for it
                    total += weight * float(m.value[here.t, row])
                    break
                total += weight * here.reward
                weight *= GAMMA
                left -= 1
                if left == 0 or not here.linked:
                    total += weight * here.bootstrap
                    break
                j += 1
            assert out.target[d.t, row] == pytest.approx(total, abs=3e-5)
            assert out.advantage[d.t, row] == pytest.approx(total - float(m.value[d.t, row]), abs=3e-5)


def _quiet(steps: int) -> Moments:
    """One row that always decides and whose match never ends."""
    m = Moments(seed=0, steps=steps, rows=1, idle=0.0)
    m.terminated[:] = False
    m.truncated[:] = False
    m.active[:] = True
    return m


def test_the_last_step_bootstraps_from_the_stored_next_observation() -> None:
    m = _quiet(4)
    before = gae(m.transitions(), m.value, discount=GAMMA, gae_lambda=LAMBDA).target
    m.value[4] += 1.0
    after = gae(m.transitions(), m.value, discount=GAMMA, gae_lambda=LAMBDA).target
    gain = GAMMA * (GAMMA * LAMBDA) ** np.arange(3, -1, -1)
    np.testing.assert_allclose((after - before)[:, 0], gain, atol=1e-5)


def test_truncation_bootstraps_from_the_last_observation_and_termination_from_nothing() -> None:
    m = _quiet(3)
    m.truncated[1] = True
    out = gae(m.transitions(), m.value, discount=GAMMA, gae_lambda=LAMBDA)
    expected = m.reward[1, 0] + GAMMA * m.final_value[1, 0]
    assert out.target[1, 0] == pytest.approx(expected, abs=1e-6)
    m.terminated[1] = True  # both at once: the match is over
    out = gae(m.transitions(), m.value, discount=GAMMA, gae_lambda=LAMBDA)
    assert out.target[1, 0] == pytest.approx(m.reward[1, 0], abs=1e-6)


def test_rewards_while_idle_count_for_the_last_decision_and_rewards_of_others_for_none() -> None:
    m = _quiet(6)
    m.reward[:, 0] = [1, 2, 4, 8, 16, 32]
    m.active[:, 0] = [True, False, False, False, False, True, True]
    m.terminated[2] = True  # ends while idle; a bot plays steps 3 and 4 of the next match
    moves = m.transitions()
    assert moves.reward[0, 0] == 1 + 2 + 4
    assert moves.bootstrap[0, 0] == 0.0
    assert moves.reward[5, 0] == 32
    assert moves.valid[:, 0].tolist() == [True, False, False, False, False, True]


def test_a_decision_whose_successor_lies_beyond_the_slab_is_not_trained_on() -> None:
    m = _quiet(4)
    m.active[3:, 0] = False
    out = gae(m.transitions(), m.value, discount=GAMMA, gae_lambda=LAMBDA)
    assert out.valid[:, 0].tolist() == [True, True, False, False]
    expected = m.reward[1, 0] + GAMMA * m.value[2, 0]
    assert out.target[1, 0] == pytest.approx(expected, abs=1e-6)


def test_n_step_needs_a_step() -> None:
    with pytest.raises(ValueError, match="n_steps >= 1, got 0"):
        n_step(Moments(1).transitions(), Moments(1).value, discount=GAMMA, n_steps=0)
