"""Sweeps of real runs: results, failures, reports; killed ones resume to equal results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from ludus.cli import __main__ as cli
from ludus.reporting.run_view import RunView
from ludus.storage.rundir import RunDirectory
from ludus.sweep.directory import open_sweep
from ludus.sweep.report import SweepReport, read_report

TINY = """
title = "tiny"
preset = "tic_tac_toe"
seeds = 1
greedy = true
[settings]
run.max_steps = 400
run.lag = "sync"
pool.slots = 8
pool.rollout_length = 8
policy.dense = [8]
policy.hidden = [8]
evaluation.final_matches = 20
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a sweep of two runs, one of which fails because this machine has no GPU."""
    folder = tmp_path_factory.mktemp("swept")
    (folder / "s.toml").write_text(TINY + '[cells.good]\n[cells.bad]\nrun.device = "cuda"\n')
    command = [sys.executable, "-m", "ludus.cli", "sweep", "s.toml", "--run-dir", "out", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 1, done.stderr
    (folder / "shown.json").write_text(done.stdout)
    (folder / "stderr.txt").write_text(done.stderr)
    return folder


def test_a_failed_run_is_shown_and_the_others_are_finished(swept: Path) -> None:
    shown = json.loads((swept / "shown.json").read_text())
    (failed,) = shown["failed"]
    assert failed["run"] == "bad,seed=1"
    assert 'run.device = "cuda": no GPU' in failed["message"]
    assert failed["message"] in (swept / "stderr.txt").read_text()
    report = (swept / "out" / "report.md").read_text()
    assert "1 of 2 runs are finished." in report
    assert "| bad,seed=1 | did not start |" in report
    assert [r["cell"] for r in shown["results"]] == ["good", "good"]
    assert [r["play"] for r in shown["results"]] == ["drawn", "greedy"]


def test_results_come_from_the_records_of_the_runs(swept: Path) -> None:
    out = swept / "out"
    run = open_sweep(out).run("good,seed=1")
    (final,) = RunView(run).metrics().results
    assert final.matches == 20
    assert final.player == "good,seed=1@7"  # the last weights
    report = msgspec.json.decode((out / "results.json").read_bytes(), type=SweepReport)
    assert report.results[0].summary.values == (final.win_rate,)
    (record,) = report.runs
    assert record.greedy[0].matches == 20
    assert (record.steps, record.updates, record.gradient_steps) == (448, 7, 28)
    assert record.cpu_minutes > 0
    assert report.missing == ("bad,seed=1",)


def test_every_cell_has_its_floors(swept: Path) -> None:
    """Runs of a sweep are not evaluated during training, and still have floors."""
    out = swept / "out"
    report = msgspec.json.decode((out / "results.json").read_bytes(), type=SweepReport)
    (floor,) = report.floors
    (record,) = report.runs
    assert (floor.cell, floor.against) == ("good", "random")
    assert floor.initial is not None
    assert floor.uniform is not None
    assert floor.initial.values == (record.floors.initial[0].win_rate,)
    assert record.floors.initial[0].matches == floor.uniform.matches == 100
    assert f"| {floor.text()} |" in (out / "report.md").read_text()
    assert 0.2 < floor.uniform.low < floor.uniform.high < 0.7  # uniform against uniform: 0.44


def test_a_finished_sweep_trains_nothing_but_failed_runs(
    swept: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(swept)
    config = swept / "out" / "runs" / "good,seed=1" / "metrics.jsonl"
    before = config.stat().st_mtime_ns
    processes = len((swept / "out" / "processes.jsonl").read_text().splitlines())
    assert cli.main(["sweep", "s.toml", "--run-dir", "out", "--quiet"]) == 1
    assert config.stat().st_mtime_ns == before
    assert len((swept / "out" / "processes.jsonl").read_text().splitlines()) == processes + 1
    out, err = capsys.readouterr()
    assert "good" in out
    assert "bad,seed=1: failed: " in err
    assert cli.main(["sweep", "s.toml", "--run-dir", "out", "--run.max-steps", "500"]) == 2
    assert 'settings.run.max_steps = 400 there and "500" in s.toml' in capsys.readouterr().err


def test_runs_and_sweeps_have_reports(
    swept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(swept / "out")
    assert cli.main(["report", out, "--baseline", "goood"]) == 2
    assert 'baseline = "goood": expected the name of a cell (did you mean good?)' in capsys.readouterr().err
    assert cli.main(["report", out + "/runs/good,seed=1", "--out", str(tmp_path / "r")]) == 0
    shown, messages = capsys.readouterr()
    assert "Win rate against random" in shown
    assert str(tmp_path / "r" / "report.md") in messages
    assert (tmp_path / "r" / "curves.svg").read_text().startswith("<svg")
    assert cli.main(["report", str(tmp_path)]) == 2
    assert "not a run, a sweep or a folder of them" in capsys.readouterr().err
    assert cli.main(["report"]) == 2
    both = read_report([Path(out), Path(out)])
    assert {r.cell for r in both.results} == {"tiny: good"}


def weights(path: Path) -> bytes:
    run = RunDirectory(path)
    checkpoint, problems = run.checkpoints.load_last()
    assert not problems
    return (run.checkpoints.directory / f"{checkpoint.version:09d}" / "weights.safetensors").read_bytes()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("orphans", [True, False])
def test_killed_sweeps_end_as_undisturbed_ones(tmp_path: Path, orphans: bool) -> None:
    """``orphans``: the runs outlive the sweep; the next one waits for them."""
    text = TINY.replace("= 400", "= 5000") + "run.checkpoint_every_minutes = 0.003\n"
    (tmp_path / "s.toml").write_text(text.replace("seeds = 1", "seeds = 2"))

    def start(out: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "ludus.cli", "sweep", "s.toml", "--run-dir", out, "--quiet"]
        return subprocess.Popen(command, cwd=tmp_path)

    assert start("calm").wait() == 0
    killed = 0
    for _ in range(3):
        sweep = start("killed")
        before = rows(tmp_path / "killed")
        while sweep.poll() is None and rows(tmp_path / "killed") < before + 20:
            time.sleep(0.01)
        if sweep.poll() is None:
            children = Path(f"/proc/{sweep.pid}/task/{sweep.pid}/children").read_text().split()
            os.kill(sweep.pid, signal.SIGKILL)
            killed += 1
            for child in children if not orphans else ():
                os.kill(int(child), signal.SIGKILL)
        sweep.wait()
    assert killed
    assert start("killed").wait() == 0
    calm, again = (read_report([tmp_path / name]) for name in ("calm", "killed"))
    assert len(calm.runs) == 2
    for a, b in zip(calm.runs, again.runs, strict=True):
        assert (a.final, a.greedy, a.steps, a.updates) == (b.final, b.greedy, b.steps, b.updates)
        assert weights(Path(a.path)) == weights(Path(b.path))
    assert calm.results == again.results


def rows(out: Path) -> int:
    return sum(len(p.read_bytes().splitlines()) for p in out.glob("runs/*/metrics.jsonl"))
