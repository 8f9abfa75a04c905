"""Schedule of old rules: the way of the share, its start in the middle of a run, and its setbacks."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ludus.evaluation.results import EvalResult, summarise
from ludus.flow import MatchResult
from ludus.presets.checks.before import before_text
from ludus.presets.config import BeforeConfig, RunConfig
from ludus.training.actor_learner.old_rules import evaluated, moved
from ludus.training.actor_learner.state import OldRules
from ludus.training.stopping import Budget

RUN = RunConfig(max_steps=1000)


def shares(config: BeforeConfig, run: RunConfig, steps: list[int]) -> list[float]:
    state, out = None, []
    for used in steps:
        state = moved(config, run, Budget(steps=used), state)
        out.append(config.share_at(state.way))
    return out


@pytest.mark.parametrize(
    ("config", "steps", "expected"),
    [
        (BeforeConfig(), [0, 250, 500, 900], [1.0, 0.5, 0.0, 0.0]),
        (BeforeConfig(share=0.8, share_final=0.2, until=1.0), [0, 500, 1000], [0.8, 0.5, 0.2]),
        (BeforeConfig(over_steps=200), [0, 50, 100, 400], [1.0, 0.75, 0.5, 0.0]),
        (BeforeConfig(), [600, 700, 800, 900], [1.0, 0.5, 0.0, 0.0]),  # half of what is left
        (BeforeConfig(over_steps=200), [600, 700, 800], [1.0, 0.5, 0.0]),
        (BeforeConfig(until=0.0), [0, 1], [0.0, 0.0]),
        (BeforeConfig(share=0.3, share_final=0.3), [0, 500, 1000], [0.3, 0.3, 0.3]),
    ],
)
def test_a_share_moves_linearly_from_where_the_schedule_starts(
    config: BeforeConfig, steps: list[int], expected: list[float]
) -> None:
    assert shares(config, RUN, steps) == pytest.approx(expected)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=40), st.floats(0.05, 1.0))
def test_the_share_depends_on_the_budget_and_not_on_the_number_of_rounds(
    used: list[int], until: float
) -> None:
    config, steps = BeforeConfig(until=until), [0, *sorted(used)]
    expected = max(0.0, 1.0 - steps[-1] / 1000 / until)
    assert shares(config, RUN, steps)[-1] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("rounds", [3, 7, 8, 10, 49])
def test_no_rest_of_the_share_stays_by_rounding(rounds: int) -> None:
    config, run = BeforeConfig(until=0.7), RunConfig(max_steps=1000 * rounds)
    steps = [700 * k for k in range(rounds + 1)]
    assert shares(config, run, steps)[-1] == 0.0
    assert 0.0 < shares(config, run, steps)[-2] < 0.5


def test_a_larger_budget_moves_nothing_back() -> None:
    config = BeforeConfig()
    state = moved(config, RUN, Budget(), None)
    state = moved(config, RUN, Budget(steps=400), state)
    assert state.way == pytest.approx(0.8)
    longer = RunConfig(max_steps=4000)
    state = moved(config, longer, Budget(steps=400), state)
    assert state.way == pytest.approx(0.8)
    assert moved(config, longer, Budget(steps=800), state).way == pytest.approx(1.0)


def results(*rates: float, error: str = "") -> list[EvalResult]:
    """Return the results of 20 matches against each opponent with these win rates."""

    def match(slot: int, won: bool) -> MatchResult:
        score = (1.0, -1.0) if won else (-1.0, 1.0)
        return MatchResult(slot, 0, 1, 5, 5, score, score, ("policy:0", "bot"), (0, 1), error=error)

    return [
        summarise(
            [match(k, k < round(20 * rate)) for k in range(20)],
            player="new",
            against=f"bot{i}",
            game="",
            seed=1,
        )
        for i, rate in enumerate(rates)
    ]


def test_a_fall_sets_the_share_back_and_halves_its_speed() -> None:
    config = BeforeConfig(setback=0.1, over_steps=1000)
    state = moved(config, RUN, Budget(), None)
    state = moved(config, RUN, Budget(steps=400), evaluated(config, state, results(0.5, 0.7)))
    assert state.highest == pytest.approx(0.6)
    assert evaluated(config, state, results(0.5, 0.5)) == state  # 10 points are no more than 0.1
    fallen = evaluated(config, state, results(0.4, 0.5))
    assert (fallen.way, fallen.speed, fallen.setbacks) == pytest.approx((0.3, 0.5, 1))
    assert fallen.highest == pytest.approx(0.45)
    later = moved(config, RUN, Budget(steps=600), fallen)
    assert later.way == pytest.approx(0.4)  # 200 of 1000 steps at half the speed
    again = evaluated(config, later, results(0.3, 0.3))
    assert (again.way, again.speed, again.setbacks) == pytest.approx((0.3, 0.25, 2))
    assert evaluated(config, again, results(0.9, 0.9)).highest == pytest.approx(0.9)


def test_setbacks_follow_a_plain_loop() -> None:
    config = BeforeConfig(setback=0.15, over_steps=1000, share=0.9, share_final=0.1)
    rates = [0.2, 0.5, 0.3, 0.35, 0.1, 0.8, 0.7, 0.6, 0.55, 0.9]
    state = moved(config, RUN, Budget(), None)
    way, speed, highest, setbacks = 0.0, 1.0, None, 0
    for i, rate in enumerate(rates):
        state = evaluated(config, moved(config, RUN, Budget(steps=100 * i), state), results(rate))
        way = min(1.0, way + (speed * 0.1 if i else 0.0))
        if highest is None or rate >= highest:
            highest = rate
        elif highest - rate > 0.15:
            way, speed, highest, setbacks = max(0.0, way - 0.1), speed / 2, rate, setbacks + 1
        assert (state.way, state.speed, state.setbacks) == pytest.approx((way, speed, setbacks))
        assert config.share_at(state.way) == pytest.approx(0.9 - 0.8 * way)
    assert state.setbacks == 3


def test_an_evaluation_whose_matches_all_failed_sets_nothing_back() -> None:
    config, state = BeforeConfig(setback=0.1), OldRules(1.0, 0.0, way=0.5, highest=0.9)
    assert evaluated(config, state, results(0.0)) != state
    assert evaluated(config, state, results(0.0, error="it raised")) == state


def test_no_evaluation_changes_a_schedule_without_setbacks() -> None:
    state = OldRules(1.0, 0.0, way=0.5)
    assert evaluated(BeforeConfig(), state, results(0.0)) is state


def test_a_state_is_the_same_after_json() -> None:
    state = moved(BeforeConfig(until=0.3), RUN, Budget(steps=137), OldRules(0.3, 1 / 7, way=1 / 3))
    assert msgspec.json.decode(msgspec.json.encode(state), type=OldRules) == state


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (BeforeConfig(), "old rules (game.before) in 100% of the slabs, 0% after 50% of the budget"),
        (
            BeforeConfig(share=0.5, over_steps=5000),
            "old rules (game.before) in 50% of the slabs, 0% after 5,000 steps",
        ),
        (BeforeConfig(share=0.5, share_final=0.5), "old rules (game.before) in 50% of the slabs"),
    ],
)
def test_a_schedule_is_described_in_a_line(config: BeforeConfig, text: str) -> None:
    assert before_text(config) == text
