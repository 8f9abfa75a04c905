"""Ctrl-C and SIGTERM while AlphaZero learns or judges: a resumed run makes the remaining updates."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from ludus.algorithms.alphazero.learner import AlphaZeroLearner
from ludus.algorithms.alphazero.samples import Positions
from ludus.algorithms.learner import UpdateStats
from ludus.mcts import Matches
from ludus.presets.errors import Interrupted
from ludus.storage import RunDirectory, read_jsonl
from ludus.training.alphazero import trainer
from ludus.training.alphazero.checkpoint import AlphaZeroState, decode_state
from ludus.training.alphazero.gate import Gate, GateResult, Named
from ludus.training.alphazero.match_store import MatchStore
from ludus.training.runs import RunResult, start_run
from tests.unit.training.runs import resume_run

from .runs import Recorder
from .test_alphazero import preset
from .test_lost_files import At, Killed, kill

BATCH, REUSE = 16, 6.0
ROUNDS = {
    "algorithm.batch_size": str(BATCH),
    "algorithm.sample_reuse": str(REUSE),
    "algorithm.round_positions": "60",
    "algorithm.window_matches_min": "5",
    "evaluation.final_matches": "2",
    "evaluation.against": "random",
    "evaluation.visits": "1",
    "run.checkpoint_every_minutes": "0",
    "run.max_steps": "150",
}


def state_of(run: Path) -> AlphaZeroState:
    checkpoint, _ = RunDirectory.open(run).checkpoints.load_last()
    return decode_state(checkpoint.state, "test")


def owed(state: AlphaZeroState) -> float:
    """Return the minibatches that all matches are worth, less those that were learned."""
    return REUSE * state.received / BATCH - state.learner["minibatches"]


def signalled_at(
    monkeypatch: pytest.MonkeyPatch, calls: set[int], number: int = signal.SIGINT
) -> Callable[[], int]:
    """Make the learner learn blocks of two minibatches; send a signal during those ``calls``, from 1."""
    monkeypatch.setattr(trainer, "BLOCK", 2 * BATCH)
    learn, made = AlphaZeroLearner.learn, [0]

    def signalling(learner: AlphaZeroLearner, positions: Positions, share: float) -> UpdateStats:
        made[0] += 1
        if made[0] in calls:
            os.kill(os.getpid(), number)
        return learn(learner, positions, share)

    monkeypatch.setattr(AlphaZeroLearner, "learn", signalling)
    return lambda: made[0]


def until_finished(run: Path, interrupts: int, **changes: str) -> RunResult:
    """Start a run and resume it after each of so many interrupts."""
    for count in range(interrupts):
        with pytest.raises(Interrupted):
            resume_run(run) if count else start_run(preset(**ROUNDS | changes), run)
    return resume_run(run)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
@pytest.mark.parametrize("calls", [{1}, {7}, {2, 5, 9, 20}])
def test_a_resumed_run_makes_the_updates_that_it_owes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: set[int], number: int
) -> None:
    signalled_at(monkeypatch, calls, number)
    until_finished(tmp_path / "run", len(calls))
    state = state_of(tmp_path / "run")
    assert 0.0 <= state.debt < 1.0
    assert owed(state) == pytest.approx(state.debt)
    rows = [r for r in read_jsonl(tmp_path / "run" / "metrics.jsonl") if r["kind"] == "update"]
    assert sum(float(str(r["learner/samples"])) for r in rows) == state.learner["steps"]
    versions = [r["version"] for r in rows if r["learner/samples"]]
    assert len(set(versions)) == len(versions)


def test_owed_updates_are_made_although_the_budget_is_used_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The learning of the only round is interrupted once its matches have used up all steps."""
    signalled_at(monkeypatch, {3})
    run = tmp_path / "run"
    changes = {"run.max_steps": "20"}
    with pytest.raises(Interrupted):
        start_run(preset(**ROUNDS | changes), run)
    before = state_of(run)
    assert before.budget.steps >= 20
    assert before.learner["minibatches"] == 6
    assert before.debt == pytest.approx(owed(before))
    assert before.debt > 1.0
    recorder = Recorder()
    result = resume_run(run, sinks=[recorder])
    after = state_of(run)
    assert not any("nothing is left to train" in m for m in recorder.messages)
    assert result.steps == before.budget.steps  # no match more
    assert owed(after) < 1.0
    assert after.learner["version"] > before.learner["version"]
    assert "rollout/length" not in recorder.updates[0].numbers


def test_matches_of_an_interrupted_round_are_learned_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal comes when matches have been played and nothing has been learned from them."""
    run = tmp_path / "run"
    keep = MatchStore.keep

    def interrupting(store: MatchStore, matches: Matches) -> None:
        keep(store, matches)
        if store.state.next_chunk == 3:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(MatchStore, "keep", interrupting)
    until_finished(run, 1)
    assert owed(state_of(run)) < 1.0


def test_matches_of_a_killed_process_are_learned_from_though_the_budget_is_used_up(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with pytest.raises(Killed):
        start_run(preset(**ROUNDS | {"run.max_steps": "20"}), run, sinks=[At(1, kill)])
    recorder = Recorder()
    resume_run(run, sinks=[recorder])
    state = state_of(run)
    assert recorder.updates[0].steps >= 20
    assert state.received == recorder.updates[0].received  # no match more
    assert state.learner["minibatches"] > 0
    assert owed(state) < 1.0


def test_an_interrupted_gate_decides_nothing_and_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, numbers = Gate.gate, list[int]()

    def interrupting(
        judge: Gate, candidate: Named, playing: Named, number: int, interrupted: Callable[[], bool]
    ) -> GateResult:
        numbers.append(number)
        if len(numbers) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return gate(judge, candidate, playing, number, interrupted)

    monkeypatch.setattr(Gate, "gate", interrupting)
    run = tmp_path / "run"
    changes = {"algorithm.gate": "true", "algorithm.gate_matches": "8", "algorithm.gate_score": "0.01"}
    with pytest.raises(Interrupted):
        start_run(preset(**ROUNDS | changes), run)
    before = state_of(run)
    assert (before.gates, before.gate_due) == (1, True)
    resume_run(run)
    after = state_of(run)
    assert not after.gate_due
    assert numbers == [1, 2, *range(2, after.gates + 1)]
    judged = [e["version"] for e in read_jsonl(run / "events.jsonl") if e["event"] == "gate"]
    assert judged == list(range(1, after.learner["version"] + 1))  # every version, each once
