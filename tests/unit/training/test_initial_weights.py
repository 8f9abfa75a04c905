"""AlphaZero's initial weights: self-play and learning come first, their evaluation is made later."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ludus.presets.config import Preset
from ludus.presets.errors import Interrupted
from ludus.reporting.metrics import EvaluationMetrics, Metrics
from ludus.reporting.run_view import RunView
from ludus.storage import RunDirectory, read_jsonl
from ludus.training.run_context import Interrupt
from ludus.training.runs import start_run

from .runs import Recorder, reproducible_rows, resume_run
from .test_alphazero import preset
from .test_runs import last_weights, same_weights

EVALUATED = {
    "evaluation.every_steps": "150",
    "evaluation.matches": "4",
    "evaluation.final_matches": "2",
    "evaluation.against": "perfect,random",
    "run.lag": "sync",
    "run.threads": "1",
    "run.max_steps": "600",
}


def settings(**changes: str) -> Preset:
    return preset(**{**EVALUATED, **changes})


def kinds(run: Path) -> list[str]:
    rows = read_jsonl(run / "metrics.jsonl")
    return ["initial" if row.get("initial") else str(row["kind"]) for row in rows]


def initial_of(run: Path) -> EvaluationMetrics:
    found = RunView.open(run).initial()
    assert found is not None
    return found


def kept(run: Path) -> bool:
    return RunDirectory(run).snapshot_path(0).is_file()


@pytest.mark.usefixtures("stepped_self_play")
def test_learning_starts_before_the_initial_weights_are_evaluated(tmp_path: Path) -> None:
    run = tmp_path / "run"
    start_run(settings(), run)
    order = kinds(run)
    assert order[0] == "update"
    at = order.index("initial")
    assert order.count("initial") == 1
    assert order[at + 1] == "evaluation", "with the first evaluation"
    first = initial_of(run)
    assert (first.version, first.steps) == (0, 0)
    assert [(r.against, r.matches) for r in first.results] == [("perfect", 4), ("random", 4)]
    assert RunView.open(run).floors().initial == first.results
    assert not kept(run)


@pytest.mark.usefixtures("stepped_self_play")
def test_a_run_without_evaluations_evaluates_them_at_its_end(tmp_path: Path) -> None:
    run = tmp_path / "run"
    start_run(settings(**{"evaluation.every_steps": "0"}), run)
    order = kinds(run)
    assert order.index("initial") == len(order) - order[::-1].index("update"), "after the last update"
    assert not kept(run)


@pytest.mark.usefixtures("stepped_self_play")
def test_training_does_not_depend_on_them(tmp_path: Path) -> None:
    start_run(settings(), tmp_path / "with" / "run")
    start_run(settings(**{"evaluation.initial": "false"}), tmp_path / "without" / "run")
    rows = reproducible_rows(tmp_path / "with" / "run" / "metrics.jsonl")
    rows = [row for row in rows if not row.get("initial")]
    assert rows[-1].pop("uniform")
    assert rows == reproducible_rows(tmp_path / "without" / "run" / "metrics.jsonl")
    assert same_weights(last_weights(tmp_path / "with" / "run"), last_weights(tmp_path / "without" / "run"))


class Stop(Recorder):
    """Ends the process after so many updates, as a kill would, or asks it to end."""

    def __init__(self, updates: int, interrupt: list[Interrupt] | None = None) -> None:
        super().__init__()
        self.left, self.interrupt = updates, interrupt

    def update(self, metrics: Metrics) -> None:
        self.left -= 1
        if self.left == 0 and self.interrupt is not None:
            self.interrupt[-1].came = True
        elif self.left == 0:
            raise KeyboardInterrupt


@pytest.fixture
def interrupts(monkeypatch: pytest.MonkeyPatch) -> list[Interrupt]:
    made: list[Interrupt] = []
    init = Interrupt.__init__

    def remembered(self: Interrupt) -> None:
        init(self)
        made.append(self)

    monkeypatch.setattr(Interrupt, "__init__", remembered)
    return made


@pytest.mark.usefixtures("stepped_self_play")
def test_a_resumed_run_evaluates_the_weights_that_the_run_started_with(
    tmp_path: Path, interrupts: list[Interrupt]
) -> None:
    late = settings(**{"evaluation.every_steps": "0"})
    start_run(late, tmp_path / "whole" / "run")
    expected = initial_of(tmp_path / "whole" / "run").results
    run = tmp_path / "stopped" / "run"
    with pytest.raises(Interrupted):
        start_run(late, run, sinks=[Stop(2, interrupts)])
    assert kept(run)
    assert "initial" not in kinds(run)
    resume_run(run)
    assert initial_of(run).results == expected
    assert initial_of(run).version == 0
    assert not kept(run)


def test_a_killed_run_still_has_them(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        start_run(settings(**{"evaluation.every_steps": "0"}), run, sinks=[Stop(1)])
    assert kept(run)
    resume_run(run)
    assert kinds(run).count("initial") == 1


def test_a_damaged_snapshot_costs_the_floor_only(tmp_path: Path, interrupts: list[Interrupt]) -> None:
    run = tmp_path / "run"
    with pytest.raises(Interrupted):
        start_run(settings(**{"evaluation.every_steps": "0"}), run, sinks=[Stop(1, interrupts)])
    RunDirectory(run).snapshot_path(0).write_bytes(b"\0" * 64)
    recorder = Recorder()
    result = resume_run(run, sinks=[recorder])
    assert result.final
    assert any("the initial weights were not evaluated" in m for m in recorder.messages)
    assert RunView.open(run).initial() is None


@pytest.mark.slow
def test_with_a_gate_they_are_kept_beside_the_weights_that_play(
    tmp_path: Path, interrupts: list[Interrupt]
) -> None:
    changes = {"algorithm.gate": "true", "algorithm.gate_matches": "4", "run.max_steps": "900"}
    gated = settings(**changes, **{"evaluation.every_steps": "0"})
    run = tmp_path / "run"
    with pytest.raises(Interrupted):
        start_run(gated, run, sinks=[Stop(3, interrupts)])
    assert kept(run)
    resume_run(run)
    assert kinds(run).count("initial") == 1
    start = msgspec.structs.replace(gated.evaluation, initial=False)
    other = tmp_path / "other"
    start_run(msgspec.structs.replace(gated, evaluation=start), other)
    assert "initial" not in kinds(other)
