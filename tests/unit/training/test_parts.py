"""Small parts of a run: lineups, past opponents, curriculum, budgets, counts."""

from __future__ import annotations

import math

import msgspec
import pytest

from ludus.evaluation.results import summarise
from ludus.flow import MatchResult
from ludus.flow.seeds import derive_seed
from ludus.games import spec
from ludus.presets.config import CurriculumConfig, OpponentConfig, RunConfig
from ludus.presets.errors import ConfigError
from ludus.reporting.report import thinned
from ludus.training.actor_learner.curriculum import handover_ticks
from ludus.training.actor_learner.rollout_summary import opponent_name, running_win_rate, summarise_rollout
from ludus.training.opponents import build_lineup
from ludus.training.stopping import Budget, minutes_left, progress, reason_to_stop

from .runs import small_preset

GAME = spec("tic_tac_toe")


def result(
    outcome: tuple[float, float],
    players: tuple[str, str] = ("policy:0", "random"),
    plans: tuple[int, int] = (0, 1),
    error: str = "",
) -> MatchResult:
    return MatchResult(0, 0, 1, 7, 4, outcome, outcome, players, plans, bool(error), error)


def test_a_mixture_becomes_a_lineup() -> None:
    preset = msgspec.structs.replace(
        small_preset(),
        opponents=(
            OpponentConfig("random", 0.25),
            OpponentConfig("latest", 0.25),
            OpponentConfig("past", 0.5, past_slots=2),
        ),
    )
    lineup = build_lineup(GAME, preset)
    assert [c.policy for c in lineup.plans[0].controllers] == [0]
    other = lineup.plans[1].controllers
    assert [(c.bot, c.policy, c.weight) for c in other] == [
        ("random", -1, 0.25),
        ("", 0, 0.25),
        ("", 1, 0.5),
        *(("", lane, 0.0) for lane in range(2, 9)),
    ]
    many = build_lineup(GAME, small_preset(opponents__0__name="past", opponents__0__past_slots=7))
    assert [c.policy for c in many.plans[1].controllers] == list(range(1, 15))
    assert lineup.rotate


@pytest.mark.parametrize(
    ("opponents", "message"),
    [
        ((OpponentConfig("randon"),), "did you mean random"),
        ((OpponentConfig("random"), OpponentConfig("random")), "a name stands twice"),
        ((OpponentConfig("random", 0.0),), "all weights are 0"),
        ((OpponentConfig("random", frame_skip=2), OpponentConfig("perfect")), "frame_skip must be the same"),
    ],
)
def test_a_wrong_mixture_is_refused(opponents: tuple[OpponentConfig, ...], message: str) -> None:
    preset = msgspec.structs.replace(small_preset(), opponents=opponents)
    with pytest.raises(ConfigError, match=message):
        build_lineup(GAME, preset)


def test_curriculum_falls_to_zero() -> None:
    config = CurriculumConfig("simple", ticks=1000, share=0.5)
    assert [handover_ticks(config, x) for x in (0.0, 0.25, 0.5, 1.0)] == [1000, 500, 0, 0]
    assert handover_ticks(CurriculumConfig(""), 0.0) == 0


def test_a_run_stops_at_each_of_its_budgets() -> None:
    run = RunConfig(max_steps=1000, max_minutes=2.0, target=0.7)
    assert reason_to_stop(run, Budget(steps=999, minutes=1.9, best_lower_bound=0.69)) == ""
    assert "max_steps" in reason_to_stop(run, Budget(steps=1000))
    assert "max_minutes" in reason_to_stop(run, Budget(minutes=2.0))
    assert "target" in reason_to_stop(run, Budget(best_lower_bound=0.7))
    assert progress(run, Budget(steps=250, minutes=2.0)) == 0.25
    assert progress(RunConfig(max_minutes=4.0), Budget(minutes=1.0)) == 0.25
    assert progress(RunConfig(), Budget(steps=10)) == 0.0
    assert minutes_left(RunConfig(), Budget(), 1.0) is None
    assert minutes_left(RunConfig(max_steps=700, max_minutes=9.0), Budget(steps=100), 1.0) == 9.0
    left = minutes_left(RunConfig(max_steps=700), Budget(steps=100), 1.0)
    assert left is not None
    assert math.isclose(left, 10.0)


def test_summaries_count_from_the_learners_seat() -> None:
    results = [
        result((1.0, -1.0)),
        result((1.0, -1.0), ("random", "policy:0"), (1, 0)),
        result((0.0, 0.0)),
        result((0.0, 0.0), error="boom"),
    ]
    rollout = summarise_rollout(results, steps=9, ticks=21, labels={})
    assert rollout.outcomes == {"random": (1, 1, 1)}
    assert (rollout.matches, rollout.errors, rollout.sum_ticks) == (3, 1, 21)
    evaluation = summarise(results, player="a", against="random", game="tic_tac_toe", seed=1)
    assert (evaluation.wins, evaluation.draws, evaluation.losses, evaluation.errors) == (1, 1, 1, 1)
    assert evaluation.score == 0.5
    assert evaluation.win_rate_by_seat == (0.5, 0.0)
    assert evaluation.won[1] < 1 / 3 < evaluation.won[2]


def test_results_name_their_opponent() -> None:
    labels = {"policy:0": "latest", "policy:2": "past"}
    assert opponent_name(result((1.0, -1.0), ("policy:0", "policy:0")), 0, labels) == "latest"
    assert opponent_name(result((1.0, -1.0), ("policy:0", "policy:2")), 0, labels) == "past"
    assert opponent_name(result((1.0, -1.0), ("random", "policy:0")), 1, labels) == "random"
    assert opponent_name(result((1.0, -1.0), ("policy:0", "policy:7")), 0, labels) == "policy:7"


def test_running_win_rate_forgets() -> None:
    rates = running_win_rate({}, {"a": (3, 0, 1)})
    assert rates == {"a": 0.75}
    rates = running_win_rate(rates, {"a": (0, 0, 2000)})
    assert rates["a"] < 0.001


def test_seeds_of_streams_do_not_meet() -> None:
    seeds = {derive_seed(s, a, b) for s in range(20) for a in range(20) for b in range(20)}
    assert len(seeds) == 8000
    assert all(0 <= s < 2**63 for s in seeds)


def test_thinning_keeps_both_ends() -> None:
    assert thinned(list(range(100)), 5) == [0, 25, 50, 74, 99]
    assert thinned([1, 2], 5) == [1, 2]
