"""Options of a resumed run: they take effect, are recorded, and the suggested command trains."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ludus.cli.__main__ import main
from ludus.flow.inputs.shown import markdown
from ludus.presets.config import EvaluationConfig, GameConfig, Preset, RunConfig
from ludus.presets.errors import Interrupted
from ludus.ratings import wilson_interval
from ludus.reporting.changes import read_changes, run_settings
from ludus.storage import CorruptFile, RunDirectory, read_jsonl
from ludus.training.runs import start_run
from ludus.training.stopping import Budget, more_budget, reason_to_stop
from tests.unit.training.runs import resume_run

from .runs import TOML, small_preset
from .test_runs import InterruptAt, last_weights, same_weights

COMMAND = (sys.executable, "-m", "ludus.cli")
QUICK = TOML.replace("every_steps = 500", "every_steps = 0").replace(
    "final_matches = 30", "final_matches = 4"
)


Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Commands in this process, in the test's folder: a process of a command loads PyTorch for seconds."""
    monkeypatch.chdir(tmp_path)

    def done(*words: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["ludus", *words])
        capsys.readouterr()
        code = main(list(words))
        output, errors = capsys.readouterr()
        assert code == 0, errors
        return subprocess.CompletedProcess(words, code, output, errors)

    return done


def suggested(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the words of the ``ludus resume`` command that a finished run prints."""
    (line,) = [text for text in done.stdout.splitlines() if text.startswith("  ludus resume ")]
    return shlex.split(line)[1:]


def steps(run: Path) -> int:
    return max(int(str(row["steps"])) for row in read_jsonl(run / "metrics.jsonl"))


@pytest.mark.parametrize(
    "budget",
    [
        pytest.param(("--run.max-steps", "300"), id="steps"),
        pytest.param(
            ("--run.max-steps", "0", "--run.max-minutes", "0.003"), id="minutes", marks=pytest.mark.slow
        ),
        pytest.param(
            ("--run.max-steps", "300", "--run.max-minutes", "0.0001"), id="both", marks=pytest.mark.slow
        ),
    ],
)
def test_the_suggested_command_trains(tmp_path: Path, cli: Cli, budget: tuple[str, ...]) -> None:
    (tmp_path / "preset.toml").write_text(QUICK)
    first = cli("train", "preset.toml", "--run-dir", "run", *budget)
    before = steps(tmp_path / "run")
    words = suggested(first)
    assert words[:2] == ["resume", "run"]
    if "--run.max-minutes" in words:  # a test has not these minutes
        words[words.index("--run.max-minutes") + 1] = "0.01"
    again = cli(*words)
    assert "nothing is left to train" not in again.stderr
    assert steps(tmp_path / "run") > before


def test_a_target_that_was_reached_is_raised(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "preset.toml").write_text(TOML)
    first = cli("train", "preset.toml", "--run-dir", "run", "--run.target", "0.01")
    assert "target = 0.01 reached" in first.stdout
    before, words = steps(tmp_path / "run"), suggested(first)
    assert words[2] == "--run.target"
    cli(*words)
    assert steps(tmp_path / "run") > before


MATCHES = 200


def preset(run: RunConfig) -> Preset:
    return Preset(GameConfig("tic_tac_toe"), run=run, evaluation=EvaluationConfig(matches=MATCHES))


def test_every_used_up_budget_is_raised_and_no_other() -> None:
    used = Budget(steps=1000, minutes=2.5, best_lower_bound=0.6)
    for config, names in (
        (RunConfig(max_steps=900), {"run.max_steps"}),
        (RunConfig(max_steps=1001, max_minutes=2.5), {"run.max_minutes"}),
        (
            RunConfig(max_steps=1000, max_minutes=2.0, target=0.5),
            {"run.max_steps", "run.max_minutes", "run.target"},
        ),
        (RunConfig(max_steps=5000, target=0.6), {"run.target"}),
        (RunConfig(max_steps=5000, target=0.61), set()),
    ):
        more = more_budget(preset(config), used, alone=False)
        assert set(more) == names
        values = {path.removeprefix("run."): float(value) for path, value in more.items()}
        raised = {n: values.get(n, getattr(config, n)) for n in ("max_steps", "max_minutes", "target")}
        raised["max_steps"] = int(raised["max_steps"])
        assert reason_to_stop(RunConfig(**raised), used) == ""


@pytest.mark.parametrize("best", [0.5, 0.93, 0.98, 0.9995, 1.0, 40.0, -40.0, 500.0])
@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("steps", [0, 10_000])
def test_a_suggested_target_can_be_reached_or_is_off(best: float, alone: bool, steps: int) -> None:
    """A return that no match can give, or a rate that so few matches cannot show, trains for ever."""
    config = RunConfig(max_steps=steps, target=best - 0.4)
    used = Budget(steps=5_000, best_lower_bound=best)
    more = more_budget(preset(config), used, alone)
    target = float(more["run.target"])
    highest = wilson_interval(MATCHES, MATCHES).low
    if alone or best > highest - 0.002:
        assert target == 0
    else:
        assert best < target < highest
    budget = RunConfig(max_steps=int(more.get("run.max_steps", steps)), target=target)
    assert reason_to_stop(budget, used) == ""
    assert budget.max_steps > used.steps or target != 0  # it trains on, and not for ever


def test_a_changed_budget_is_kept_and_recorded(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "preset.toml").write_text(QUICK)
    cli("train", "preset.toml", "--run-dir", "run", "--run.max-steps", "300")
    config = (tmp_path / "run" / "config.toml").read_bytes()
    first = cli("resume", "run", "--run.max-steps", "600", "--evaluation.final-matches", "2")
    assert "changed from now on: run.max_steps 300 -> 600, evaluation.final_matches 4 -> 2" in first.stderr
    again = cli("resume", "run")
    assert "nothing is left to train: max_steps = 600 reached; more: ludus resume run --run.max-steps " in (
        again.stderr
    )
    cli("resume", "run", "--run.max-steps", "900")
    run = RunDirectory.open(tmp_path / "run")
    assert run.config.read_bytes() == config
    changes = read_changes(run)
    assert [c.settings["run.max_steps"] for c in changes] == [(300, 600), (600, 900)]
    assert "600" in changes[0].command
    settings = run_settings(run).preset
    assert (settings.run.max_steps, settings.evaluation.final_matches) == (900, 2)
    report = run.report.read_text()
    assert markdown("run.max_steps 300 -> 600, evaluation.final_matches 4 -> 2") in report
    assert markdown("run.max_steps 600 -> 900") in report


def test_threads_may_change_and_change_no_bit(tmp_path: Path, cli: Cli) -> None:
    preset = small_preset(evaluation__every_steps=0, evaluation__final_matches=0, run__threads=1)
    start_run(preset, tmp_path / "whole")
    with pytest.raises(Interrupted):
        start_run(preset, tmp_path / "run", sinks=[InterruptAt(4)])
    cli("resume", "run", "--run.threads", "3")
    assert run_settings(RunDirectory.open(tmp_path / "run")).preset.run.threads == 3
    assert same_weights(last_weights(tmp_path / "whole"), last_weights(tmp_path / "run"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"settings": {"game.name": [1, 2]}}, "'game.name': expected one of run.max_steps"),
        ({"settings": {"run.max_steps": ["a", "b"]}}, "expected an integer"),
        ({"settings": {"run.max_steps": [1, -5]}}, "expected an integer"),
        ({"settings": {"run.threads": [1, 1.5]}}, "expected an integer"),
        ({"settings": {"cluster.rollouts": [0, "many"]}}, "expected an integer"),
        ({"settings": {"run.max_steps": [True, False]}}, "line 1"),
        ({"settings": {"run.max_steps": [1, 2]}, "time": 3}, "line 1"),
    ],
)
def test_a_hostile_record_is_refused(tmp_path: Path, line: dict[str, object], message: str) -> None:
    preset = small_preset(run__max_steps=100, evaluation__matches=0, evaluation__final_matches=0)
    run = tmp_path / "run"
    start_run(preset, run)
    row = {"time": "2026-01-01T00:00:00Z", "command": []} | line
    (run / "changes.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(CorruptFile, match=r"changes\.jsonl") as caught:
        resume_run(run)
    assert message in str(caught.value)
    done = subprocess.run(
        [*COMMAND, "resume", str(run)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
