"""Running averages of training matches start when the slots have ended their first ones.

All slots start at once, so the first matches to end are the shortest, and their results are not those of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ludus.training.actor_learner.curriculum import Curriculum
from ludus.training.actor_learner.rollout_summary import DECAY_MATCHES, End, Opening, RolloutSummary
from ludus.training.actor_learner.state import TrainerState, decode_state
from ludus.training.runs import start_run
from ludus.training.stopping import Budget

from .runs import Recorder, small_preset

QUIET: dict[str, object] = {
    "evaluation__every_steps": 0,
    "evaluation__matches": 0,
    "evaluation__final_matches": 0,
    "run__max_steps": 600,
}


def slabs(lengths: list[tuple[int, End]], every: int, ticks: int) -> Iterator[RolloutSummary]:
    """Return the summaries of slabs of ``every`` ticks: slot i plays the same match again and again."""
    for start in range(0, ticks, every):
        ends = [
            end
            for length, end in lengths
            for t in range(start + 1, start + every + 1)
            if length and t % length == 0
        ]
        outcomes: dict[str, tuple[int, int, int]] = {}
        for end in ends:
            if end.opponent:
                counts = list(outcomes.get(end.opponent, (0, 0, 0)))
                counts[1 - end.outcome] += 1
                outcomes[end.opponent] = (counts[0], counts[1], counts[2])
        yield RolloutSummary(
            matches=len(ends), sum_returns=sum(e.earned for e in ends), outcomes=outcomes, ends=ends
        )


def test_short_wins_do_not_show_until_long_losses_have_ended() -> None:
    """Half of the slots win in 10 ticks, half lose in 50: the win rate is never above a half."""
    won = [(10, End(i, "simple", 1, 1.0)) for i in range(40)]
    lost = [(50, End(40 + i, "simple", -1, -1.0)) for i in range(40)]
    state, shown = TrainerState(), list[tuple[int, float, float]]()
    for slab, summary in enumerate(slabs(won + lost, 5, 60), 1):
        state.count_results(summary, 80)
        if state.win_rate:
            assert state.mean_return is not None
            shown.append((slab, state.win_rate["simple"], state.mean_return))
    assert shown[0] == (10, 0.5, 0.0)  # as soon as the long ones are over, and no quick slot counts twice


def test_each_opponent_and_draws_count() -> None:
    kinds = [("a", 1, 1), ("a", 0, 2), ("a", 0, 3), ("b", -1, 4), ("b", 1, 5)]
    played = [(length, End(i, name, won, 0.5 * i)) for i, (name, won, length) in enumerate(kinds)]
    state = TrainerState()
    for summary in slabs(played, 1, 5):
        assert not state.win_rate
        state.count_results(summary, 5)
    assert state.win_rate == {"a": pytest.approx(1 / 3), "b": 0.5}
    assert state.mean_return == pytest.approx(1.0)


def test_a_slot_in_twenty_may_still_play() -> None:
    """One slot in twenty moves a rate by five points at most; two hold it up."""
    for endless, settled in ((1, True), (2, False)):
        played = [(7, End(i, "simple", 1, 1.0)) for i in range(20 - endless)]
        played += [(0, End(20 - i, "simple", -1, 0.0)) for i in range(1, endless + 1)]
        state = TrainerState()
        for summary in slabs(played, 7, 7):
            state.count_results(summary, 20)
        assert bool(state.win_rate) == settled, endless


def test_a_match_without_end_holds_nothing_up_for_ever() -> None:
    played = [(3, End(0, "simple", 1, 1.0)), (0, End(1, "simple", -1, 0.0)), (0, End(2, "simple", -1, 0.0))]
    state, matches = TrainerState(), 0
    for summary in slabs(played, 3, 60):
        state.count_results(summary, 3)
        matches += summary.matches
        if state.win_rate:
            break
    assert (matches, state.win_rate) == (12, {"simple": 1.0})


def test_after_the_opening_every_match_counts() -> None:
    state = TrainerState(opening=Opening(over=True), win_rate={"simple": 0.5}, mean_return=2.0)
    won = End(0, "simple", 1, 4.0)
    outcomes = {"simple": (1, 0, 0)}
    state.count_results(RolloutSummary(matches=1, sum_returns=4.0, outcomes=outcomes, ends=[won]), 9)
    assert state.win_rate["simple"] == pytest.approx(0.5 + 0.5 / DECAY_MATCHES)
    assert state.mean_return == pytest.approx(2.0 + 2.0 / DECAY_MATCHES)


def test_matches_that_start_again_leave_the_averages_until_they_have_ended() -> None:
    state = TrainerState(win_rate={"simple": 0.25}, mean_return=1.0)  # restarted: a new opening
    short, long = End(0, "simple", 1, 5.0), End(1, "simple", -1, 0.0)
    outcomes = {"simple": (1, 0, 0)}
    for ends in ([short], [short]):
        state.count_results(RolloutSummary(matches=1, sum_returns=5.0, outcomes=outcomes, ends=ends), 2)
        assert (state.win_rate, state.mean_return) == ({"simple": 0.25}, 1.0)
    state = decode_state(msgspec.json.encode(state))  # a checkpoint in between
    state.count_results(RolloutSummary(matches=1, outcomes={"simple": (0, 0, 1)}, ends=[long]), 2)
    keep = (1 - 1 / DECAY_MATCHES) ** 2
    assert state.win_rate["simple"] == pytest.approx(0.25 * keep + 0.5 * (1 - keep))
    assert state.mean_return == pytest.approx(1.0 * keep + 2.5 * (1 - keep))


def test_help_that_ends_in_the_opening_starts_it_again() -> None:
    state = TrainerState(helped=True)
    state.count_results(RolloutSummary(matches=1, ends=[End(0, "simple", 1, 0.0)]), 2)
    Curriculum(small_preset(), state).on_update(RolloutSummary(), Budget())
    assert state.opening == Opening()
    state.opening = Opening(over=True)
    Curriculum(small_preset(curriculum__bot="simple"), state).on_update(RolloutSummary(), Budget())
    assert state.helped
    assert state.opening.over  # matches end all the time by now


@pytest.mark.parametrize(
    "settings",
    [
        {"run__lag": "sync"},
        {"run__lag": "async"},
        {"run__topology": "one_to_one", "run__pools": 2, "run__lag": "sync", "algorithm__minibatches": 1},
    ],
    ids=["sync", "async", "one_to_one"],
)
def test_a_run_shows_no_rate_before_its_slots_have_ended_a_match(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    recorder = Recorder()
    preset = small_preset(**{**QUIET, "pool__rollout_length": 4, **settings})
    start_run(preset, tmp_path / "run", sinks=[recorder])
    shown = [bool(u.training_rates[0]) for u in recorder.updates]
    assert shown == sorted(shown)
    assert shown[-1]
    first = recorder.updates[shown.index(True)]
    assert 0.95 * preset.pool.slots <= first.matches < 3 * preset.pool.slots  # pools number slots apart
    assert not shown[0]  # four moves end no match of tic-tac-toe
    returns = ["rollout/running_return" in u.numbers for u in recorder.updates]
    assert returns == shown
