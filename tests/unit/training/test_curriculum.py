"""Curricula: the bot's ticks fall with the budget, or as the learner wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.cli.update_texts import results_text
from ludus.cli.words import said
from ludus.presets.checks.game import check_game
from ludus.presets.config import CurriculumConfig
from ludus.presets.errors import Interrupted
from ludus.presets.file import PresetError, load_preset
from ludus.training.actor_learner.curriculum import advanced, handover_ticks
from ludus.training.actor_learner.state import Handover
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .runs import Recorder, reproducible_rows, small_preset
from .test_runs import InterruptAt, last_weights, same_weights

CONFIG = CurriculumConfig(bot="perfect", ticks=250, advance=0.6, step=100, matches=50)


def after(handover: Handover, won: int, lost: int, times: int = 1) -> Handover:
    for _ in range(times):
        handover = advanced(CONFIG, handover, {"random": (won, 0, lost)})
    return handover


def test_a_curriculum_by_budget_falls_linearly() -> None:
    config = CurriculumConfig(bot="perfect", ticks=1000, share=0.5)
    assert [handover_ticks(config, d) for d in (0.0, 0.25, 0.5, 1.0)] == [1000, 500, 0, 0]
    assert handover_ticks(CurriculumConfig(ticks=1000), 0.0) == 0


def test_a_curriculum_advances_only_after_enough_matches_and_wins() -> None:
    assert handover_ticks(CONFIG, 1.0, Handover()) == 250
    early = after(Handover(), won=40, lost=0)
    assert (early.ticks, early.matches, early.win_rate) == (250, 40, 1.0)
    assert after(early, 10, 0) == Handover(150)
    losing = after(Handover(), won=5, lost=5, times=30)
    assert (losing.ticks, losing.win_rate) == (250, 0.5)
    assert after(losing, 10, 0) == Handover(150)  # about the last 50 matches count
    assert after(Handover(150, 60, 0.0), 0, 0).matches == 60


def test_a_curriculum_ends_at_zero_and_stays_there() -> None:
    handover = after(Handover(), won=50, lost=0, times=3)
    assert handover == Handover(0)
    assert after(handover, 50, 0, times=5).ticks == 0


SETTINGS: dict[str, object] = {
    "curriculum__bot": "perfect",
    "curriculum__ticks": 6,
    "curriculum__advance": 0.3,
    "curriculum__step": 2,
    "curriculum__matches": 80,
    "evaluation__every_steps": 0,
    "evaluation__matches": 0,
    "evaluation__final_matches": 0,
}


def test_a_run_shows_how_far_it_is_and_resumes_bit_by_bit(tmp_path: Path) -> None:
    recorder = Recorder()
    start_run(small_preset(**SETTINGS), tmp_path / "whole", sinks=[recorder])
    ticks = [u.numbers["rollout/handover_ticks"] for u in recorder.updates]
    assert ticks == sorted(ticks, reverse=True)
    assert len(set(ticks)) >= 3, ticks
    first = ticks.index(4.0)
    before, there = recorder.updates[first - 1], recorder.updates[first]
    assert before.matches < there.matches >= 80
    assert there.numbers["rollout/handover_win_rate"] == 0.0  # measured again

    with pytest.raises(Interrupted):
        start_run(small_preset(**SETTINGS), tmp_path / "run", sinks=[InterruptAt(first + 2)])
    resume_run(tmp_path / "run")
    assert same_weights(last_weights(tmp_path / "run"), last_weights(tmp_path / "whole"))
    rows = reproducible_rows(tmp_path / "whole" / "metrics.jsonl")
    assert reproducible_rows(tmp_path / "run" / "metrics.jsonl") == rows


def test_advancing_without_a_bot_is_refused() -> None:
    with pytest.raises(PresetError) as error:
        check_game(load_preset("tic_tac_toe", {"curriculum.advance": "0.5"}))
    (problem,) = error.value.problems
    assert said(problem).startswith("--curriculum.advance: curriculum.advance = 0.5: expected 0 where")


def test_win_rates_with_help_have_another_name_and_never_mix(tmp_path: Path) -> None:
    """At the update where the bot's ticks are over, a new average starts under its own name."""
    recorder = Recorder()
    shares: dict[str, object] = {"curriculum__advance": 0.0, "curriculum__share": 0.5}
    start_run(small_preset(**{**SETTINGS, **shares}), tmp_path / "run", sinks=[recorder])
    named = [{n for n in u.numbers if n.startswith("rollout/win_rate")} for u in recorder.updates]
    helped = [bool(u.under("rollout/win_rate_with_help")) for u in recorder.updates]
    assert helped[1]
    assert not helped[-1]
    assert helped == sorted(helped, reverse=True)
    assert all(len(names) <= 1 for names in named)
    first = recorder.updates[helped.index(False)]
    won, drawn, lost = first.outcomes["random"]
    assert first.numbers["rollout/win_rate/random"] == won / (won + drawn + lost)
    assert ", won with help random " in results_text(recorder.updates[1])
    assert ", won random " in results_text(recorder.updates[-1])
