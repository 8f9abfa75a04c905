"""Plans: the formulas, the simulation's laws, the papers' figures, files that cannot be used."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ludus.bench.training import BenchTrainResult
from ludus.cli import __main__ as cli
from ludus.cluster.plan.measured import Measured
from ludus.cluster.plan.papers import PAPERS
from ludus.cluster.plan.simulation import Loop, simulate
from ludus.cluster.plan.sizing import BUSY, Wanted, make_plan
from ludus.presets.document import to_toml
from ludus.presets.file import load_preset
from ludus.reporting.metrics import UpdateMetrics, metrics_row
from ludus.reporting.rates import CONSUMED, RECEIVED, LearnerRates, learner_rates
from ludus.storage.run_info import RunInfo
from ludus.storage.rundir import RunDirectory

#: Rates of two processors, as bench train prints them.
MEASURED = Measured(
    ludus="0.1.0",
    game="minirts",
    device="cpu",
    threads=2,
    parameters=50_000,
    pure_steps_per_s=20_000.0,
    inference_steps_per_s=20_000.0,
    learning_steps_per_s=40_000.0,
    slab_decisions=8192,
    slab_bytes=8192 * 256,
)


def test_bench_train_writes_all_that_a_plan_reads() -> None:
    written = {field.name: field.type for field in msgspec.structs.fields(BenchTrainResult)}
    assert {field.name for field in msgspec.structs.fields(Measured)} <= set(written)


def test_the_formulas_give_numbers_worked_by_hand() -> None:
    preset = load_preset("minirts", {"cluster.cpus": "2"}).preset
    plan = make_plan(preset, MEASURED, MEASURED, Wanted(90_000.0, core_price=0.5, learner_price=3.0))
    # A decision takes 2/20,000 + 2/20,000 = 0.2 ms of a processor: 90,000/s are 18 processors at 90%: 20.
    assert (plan.rollouts, plan.cores) == (10, 20)
    assert plan.slab_s == pytest.approx(8192 * 0.0002 / 2)
    assert plan.batch_decisions == 10 * 8192
    assert plan.learners == 3  # 90,000 / (0.9 x 40,000) = 2.5
    assert plan.update_s == pytest.approx(81_920 / (3 * 40_000 * plan.learner_efficiency))
    # Gradients: 16 steps of 50,000 x 4 bytes, 4/3 of them each way over 10 Gbit/s.
    step_s, exchange_s = 81_920 / (3 * 40_000 * 16), 2 * 2 / 3 * 200_000 / 1.25e9
    assert plan.learner_efficiency == pytest.approx(step_s / (step_s + exchange_s))
    assert plan.slab_mb_per_s == pytest.approx(90_000 * 256 / 1e6)
    assert plan.weights_mb_per_s == pytest.approx(90_000 / 81_920 * 10 * 0.2)
    assert plan.calls_per_s == pytest.approx(90_000 / 8192 + 90_000 / 81_920 * 7)
    assert plan.store_mb == pytest.approx(10 * 8192 * 256 / 1e6)
    assert plan.cost_per_hour == pytest.approx(20 * 0.5 + 3 * 3.0)
    assert plan.uses["rollouts"] == pytest.approx(1.0)
    assert plan.uses["learners"] == pytest.approx(90_000 / (3 * 40_000 * plan.learner_efficiency * BUSY))
    assert plan.lag_mean == 1.0  # pipelined


@pytest.mark.parametrize(
    ("overrides", "changes", "limit"),
    [
        ({"cluster.rollouts": "2"}, {}, "rollouts"),
        ({"run.queue": "2"}, {"parameters": 30_000_000}, "learners"),
        ({"run.queue": "2"}, {"slab_bytes": 8192 * 100_000}, "network of the controller"),
        ({"run.queue": "2"}, {"slab_decisions": 128, "slab_bytes": 128}, "calls of the controller"),
        ({"run.lag": "sync"}, {}, "waiting for each other"),
    ],
)
def test_the_limit_is_named(overrides: dict[str, str], changes: dict[str, Any], limit: str) -> None:
    preset = load_preset("minirts", overrides).preset
    measured = msgspec.structs.replace(MEASURED, **changes)
    plan = make_plan(preset, measured, measured, Wanted(90_000.0))
    assert plan.limit == limit, plan.uses
    assert plan.uses[limit] > 1.0


def test_a_gpu_infers_for_many_rollouts() -> None:
    gpu = msgspec.structs.replace(MEASURED, device="cuda", inference_steps_per_s=50_000.0)
    plan = make_plan(load_preset("minirts").preset, gpu, MEASURED, Wanted(90_000.0))
    assert (plan.cores, plan.inference_gpus) == (10, 2)


_LOOPS = {
    "pipelined": Loop(100, 10.0, 100, 10.0, 100),
    "a queue": Loop(100, 10.0, 100, 10.0, 200),
    "small updates": Loop(100, 10.0, 10, 1.0, 110),
    "sync": Loop(100, 10.0, 100, 10.0, 100, waits=True),
    "slow learner": Loop(100, 10.0, 10, 2.0, 300),
    "dropped": Loop(100, 10.0, 10, 1.0, 200, max_lag=12, spread=0.5),
    "async": Loop(5, 1.0, 1, 0.2, 5, max_lag=4),
    "steps of a version": Loop(100, 10.0, 10, 1.0, 120, updates_a_version=4, versions=100),
}


@pytest.mark.parametrize("name", _LOOPS)
def test_the_simulation_keeps_littles_law(name: str) -> None:
    out = simulate(_LOOPS[name])
    assert out.slabs_per_s * out.slab_time_s == pytest.approx(out.asked, rel=0.03)


@pytest.mark.parametrize(
    ("loop", "lag", "idle"),
    [
        (Loop(200, 10.0, 200, 10.0, 200), 1.0, 0.4),
        (Loop(200, 10.0, 200, 10.0, 240), 1.2, 0.15),
        (Loop(200, 10.0, 200, 10.0, 400), 2.0, 0.005),
        (Loop(200, 10.0, 20, 1.0, 220), 11.0, 0.005),
        (Loop(200, 10.0, 200, 10.0, 200, waits=True), 0.0, 0.6),
    ],
)
def test_lag_is_the_bound_over_the_slabs_of_an_update(loop: Loop, lag: float, idle: float) -> None:
    out = simulate(loop)
    assert out.lag_mean == pytest.approx(lag, rel=0.03)
    assert out.learner_idle == pytest.approx(idle, abs=0.05)


def test_older_slabs_are_dropped_and_newer_weights_act_in_slabs() -> None:
    loop = Loop(100, 10.0, 10, 1.0, 200, spread=0.5)
    free, bounded = simulate(loop), simulate(msgspec.structs.replace(loop, max_lag=12))
    assert (free.dropped, bounded.lag_max) == (0.0, 12)
    assert free.lag_max > 12
    assert 0.0 < bounded.dropped < 0.5
    assert simulate(msgspec.structs.replace(loop, swaps=True)).lag_mean < free.lag_mean
    assert simulate(loop) == free
    with pytest.raises(ValueError, match="9 slabs at once, an update takes 10"):
        simulate(msgspec.structs.replace(loop, bound=9))


@pytest.mark.parametrize("paper", PAPERS)
def test_the_papers_figures_are_met(paper: str) -> None:
    """Within 15%, where a figure is one number; staleness is a range."""
    for figure in PAPERS[paper]():
        low, high = figure.paper
        assert 0.85 * low <= figure.ours <= 1.15 * high, figure
        if figure.name.startswith("staleness"):
            assert low < figure.ours < high


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    path = tmp_path / "bench.json"
    path.write_bytes(msgspec.json.encode(MEASURED))
    return path


def _plan(*words: str) -> int:
    return cli.main(["plan", "minirts", "--decisions-per-s", "9e4", *words])


def test_a_plan_is_printed(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ("--rollout", str(bench), "--learner", str(bench))
    assert _plan(*files, "--core-price", "0.5", "--like", "opengo") == 0
    out = capsys.readouterr().out
    assert "20 of 1 processors: 20 processors" in out
    assert "cost" in out
    assert "games a minibatch" in out
    assert _plan(*files, "--json") == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["plan"]["rollouts"] == 20
    assert document["figures"] == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ludus": "0.0.9"}, "--rollout has Ludus 0.0.9, --learner Ludus 0.1.0: expected the same"),
        ({"parameters": 7}, "--rollout has parameters 7, --learner parameters 50000"),
        ({"game": "go"}, "--rollout: measured go, the preset's game is minirts"),
        ({"threads": 0}, "Expected `int` >= 1 - at `$.threads`"),
        ({"pure_steps_per_s": -1.0}, "Expected `float` > 0.0 - at `$.pure_steps_per_s`"),
        ({"slab_bytes": "x"}, "Expected `int`, got `str` - at `$.slab_bytes`"),
    ],
)
def test_files_that_do_not_fit_are_refused(
    change: dict[str, Any], message: str, bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps(msgspec.to_builtins(MEASURED) | change))
    assert _plan("--rollout", str(other), "--learner", str(bench)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--rollout: missing; expected the output of: ludus bench train PRESET --json > rollout.json"),
        (
            ("--rollout", "/nowhere.json"),
            "--rollout /nowhere.json: cannot be read (No such file or directory)",
        ),
        (("--rollout", "/dev/zero"), "/dev/zero: not a regular file"),
        (("--rollout", "BENCH"), "--learner: missing"),
        (("--rollout", "BENCH", "--learner", "BENCH", "--run.lag", "async"), "at most run.max_lag + 1 = 5"),
        (("--like", "five"), "--like"),
        (("--gbit", "0"), "--gbit = 0"),
    ],
)
def test_bad_input_of_a_plan_is_one_line(
    words: tuple[str, ...], message: str, bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _plan(*(word.replace("BENCH", str(bench)) for word in words)) == 2
    out = capsys.readouterr()
    assert out.out == ""
    (line,) = out.err.splitlines()
    assert message in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "expected a preset, --run with a run, or --like with a paper"),
        (("minirts",), "--decisions-per-s: missing"),
    ],
)
def test_a_plan_of_nothing_is_refused(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["plan", *words]) == 2
    assert message in capsys.readouterr().err


def test_too_many_rollouts_are_refused() -> None:
    from ludus.presets.errors import ConfigError

    with pytest.raises(ConfigError, match="222,222,223 rollouts, expected at most 100,000"):
        make_plan(load_preset("minirts").preset, MEASURED, MEASURED, Wanted(1e12))


def test_a_method_without_slabs_is_refused(bench: Path) -> None:
    from ludus.presets.errors import ConfigError

    preset = load_preset("go9").preset
    with pytest.raises(ConfigError, match=r'algorithm.name = "alphazero": expected a method with slabs'):
        make_plan(preset, MEASURED, MEASURED, Wanted(1e4))


def test_planning_needs_no_ray() -> None:
    code = (
        "import sys; sys.modules['ray'] = None\n"
        "from ludus.cli.__main__ import main\n"
        "sys.exit(main(['plan', '--like', 'opengo']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert "13.333" in done.stdout


# ---- beside a run ----------------------------------------------------------------------------------------


def _logged(run: Path, seconds: tuple[float, ...], steps_per_s: float) -> None:
    """Write a run whose updates took ``seconds``, with their numbers."""
    preset = load_preset("minirts", {"run.lag": "sync"}).preset
    info = RunInfo(1, "0.1.0", "minirts", "", 1, "2026-01-01T00:00:00Z", ())
    RunDirectory.create(run, to_toml(preset), info, 1)
    lines = b""
    for version, time in enumerate(seconds, 1):
        numbers = {
            "time/update_s": time,
            "throughput/steps_per_s": steps_per_s,
            "throughput/received_per_s": 2 * steps_per_s,
            "throughput/consumed_per_s": 3 * steps_per_s * version,
            "lag/mean": float(version),
        }
        update = UpdateMetrics(version, version, version, 0, 0, 0.0, numbers)
        lines += msgspec.json.encode(metrics_row(update)) + b"\n"
    (run / "metrics.jsonl").write_bytes(lines)


def test_a_plan_is_compared_with_the_rates_of_a_run(
    tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _logged(tmp_path / "run", (1.0, 3.0), 5000.0)
    words = ("plan", "--run", str(tmp_path / "run"), "--rollout", str(bench), "--learner", str(bench))
    assert cli.main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["run"]["updates"] == 2
    assert document["run"]["learned_per_s"] == 5000.0
    assert document["run"]["lag_mean"] == pytest.approx(1.75)  # by time
    assert document["run"]["update_s"] == 2.0
    assert document["run"]["learner_idle"] is None
    plan, rows = document["plan"], {row["name"]: row for row in document["compared"]}
    assert plan["rollouts"] == 1  # the run's, on the measured machine
    assert plan["cores"] == 2
    learned = rows["decisions learned from a second"]
    assert learned["planned"] == plan["decisions_per_s"]
    assert learned["share"] == pytest.approx(5000.0 / plan["decisions_per_s"])
    assert rows["decisions received a second"]["measured"] == 10_000.0
    assert rows["mean lag, versions"]["share"] is None  # planned 0, in sync
    assert "share of the learner's time idle" not in rows
    assert cli.main(list(words)) == 0
    assert "of the plan" in capsys.readouterr().out


def test_a_run_that_no_plan_can_be_compared_with_is_refused(
    tmp_path: Path, bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _logged(tmp_path / "run", (), 1.0)
    files = ("--rollout", str(bench), "--learner", str(bench))
    for words, message in (
        (("--run", str(tmp_path / "run"), *files), "no update has been logged yet"),
        (("--run", str(tmp_path / "nowhere"), *files), "not a run directory"),
        (("minirts", "--run", str(tmp_path / "run"), *files), "expected no preset"),
    ):
        assert cli.main(["plan", *words]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line


def test_rates_of_learners_are_weighed_by_time() -> None:
    numbers = {"time/update_s": 1.0, RECEIVED: 100.0, CONSUMED: 400.0}
    slow = {"time/update_s": 3.0, RECEIVED: 20.0, CONSUMED: 80.0}
    old = {"time/update_s": 5.0, "throughput/steps_per_s": 7.0}
    rates = learner_rates([("a", numbers), ("b", slow), ("a", slow), ("a", old), ("c", old)])
    assert rates == {"a": LearnerRates(40.0, 160.0, 4.0, 2), "b": LearnerRates(20.0, 80.0, 3.0, 1)}
