"""The last checkpoint is refused: the run fails, names nothing that is lost, and resumes from what is there.

The disk refuses files of checkpoints by the lowest function that makes a file, with each reason that a system
has. The product of all kinds of run, reasons and outputs is slow; the fast tests have each of them once.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec
import pytest

import ludus
from ludus.cli.__main__ import main
from ludus.cli.sweep_view import SweepView
from ludus.presets.config import Preset, RunConfig
from ludus.presets.errors import Interrupted, RunFailed, RunUnsaved
from ludus.presets.file import parse_preset
from ludus.reporting.metrics import UpdateMetrics
from ludus.storage import CheckpointStore, Pointer, RunDirectory, files, read_jsonl
from ludus.storage.jsonl import JsonlWriter, Row
from ludus.storage.last_state import is_finished
from ludus.sweep.config import preset_hashes, read_sweep
from ludus.sweep.directory import SweepDirectory
from ludus.sweep.loop import SweepLoop, next_command
from ludus.sweep.plan import PlannedRun, known_points, loaded_run, planned_cells, runs_of
from ludus.sweep.processes import ProcessCommand
from ludus.sweep.results import read_run
from ludus.training.machines import JoinedMachines, Machines
from ludus.training.runs import start_run
from tests.system.test_full_disk import small_disk  # noqa: F401  a fixture
from tests.unit.training.runs import Recorder, resume_run

BASE = """
[game]
name = "tic_tac_toe"
[[opponents]]
name = "random"
[pool]
slots = 16
groups = 2
threads = 0
rollout_length = 8
[policy]
dense = [8]
hidden = [8]
[algorithm]
minibatches = 2
[evaluation]
initial = false
every_steps = 0
matches = 4
final_matches = 4
[run]
max_steps = 300
threads = 1
lag = "sync"
checkpoint_every_minutes = 0
"""
DQN = 'name = "dqn"\nbuffer_slabs = 4\nbatch_size = 32\nmicro_batch = 20\nupdates = 1\nlearning_starts = 50'
IMITATION = 'name = "imitation"\nteacher = "perfect"\nminibatches = 2'
MEMBERS = """
[league]
[[league.players]]
name = "main"
role = "self_play"
[[league.players]]
name = "other"
role = "main_exploiter"
"""
ALPHAZERO = """
[game]
name = "tic_tac_toe"
[algorithm]
name = "alphazero"
batch_size = 32
round_positions = 60
window_matches_min = 5
window_share = 1.0
statistics_batches = 2
[algorithm.search]
visits = 4
[algorithm.self_play]
slots = 8
[policy]
network = "resnet"
blocks = 1
filters = 8
value_hidden = 8
[evaluation]
initial = false
every_steps = 0
matches = 0
final_matches = 2
against = ["random"]
visits = 1
[run]
max_steps = 60
threads = 1
precision = "float32"
checkpoint_every_minutes = 0
"""
PRESETS = {
    "on-policy": BASE,
    "async": BASE.replace('lag = "sync"', 'lag = "async"'),
    "dqn": BASE.replace("minibatches = 2", DQN).replace("hidden = [8]", 'hidden = [8]\noutput = "q"'),
    "imitation": BASE.replace("minibatches = 2", IMITATION),
    "alphazero": ALPHAZERO,
    "league": BASE.replace('[[opponents]]\nname = "random"\n', "") + MEMBERS,
    "resumed": BASE,
    "cluster": BASE + "[cluster]\nrollouts = 2\n",
}
REASONS = ("ENOSPC", "EFBIG", "EROFS", "EDQUOT")
OUTPUTS = ((), ("--quiet",), ("--json",))


class Disk:
    """Refuses what lies below ``where`` while ``reason`` names an error; counts what it refused."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.reason, self.where, self.refused = "", "/checkpoints/", 0
        open_new = files.open_new

        def opened(path: Path) -> BinaryIO:
            if self.reason and self.where in str(path):
                self.refused += 1
                code = getattr(errno, self.reason)
                raise OSError(code, os.strerror(code), str(path))
            return open_new(path)

        patch.setattr(files, "open_new", opened)

    @property
    def words(self) -> str:
        return os.strerror(getattr(errno, self.reason))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture(autouse=True)
def steps_of_self_play(stepped_self_play: None) -> None:
    """Rounds end at the same move on a busy machine."""


def preset_of(kind: str, **overrides: object) -> Preset:
    text = {key.replace("__", "."): str(value) for key, value in overrides.items()}
    return parse_preset(PRESETS[kind].encode(), kind, overrides=text).preset


def preset_file(folder: Path, kind: str) -> str:
    path = folder / f"{kind}.toml"
    path.write_text(PRESETS[kind])
    return str(path)


def events(run: Path) -> list[str]:
    return [str(row["event"]) for row in read_jsonl(run / "events.jsonl")]


def finals(run: Path) -> int:
    return sum(row.get("final") is True for row in read_jsonl(run / "metrics.jsonl"))


def check_refused(
    kind: str,
    flags: tuple[str, ...],
    disk: Disk,
    run: Path,
    reason: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Refuse the last checkpoint of a run of ``kind`` and check every place that could call it done."""
    words = ["train", preset_file(run.parent, kind), "--run-dir", str(run), *flags]
    if kind == "resumed":
        assert main([*words, "--quiet"] if "--quiet" not in flags else words) == 0
        words = ["resume", str(run), "--run.max-steps", "600", *flags]
    capsys.readouterr()
    store = CheckpointStore(run / "checkpoints")
    before, best = store.versions(), store.pointer("best")
    disk.reason = reason
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert disk.refused
    error = err.splitlines()[-1]
    assert f"the last rounds could not be saved ({disk.words})" in error
    assert ("the newest checkpoint stands" if before else "there is no checkpoint; start it again") in error
    assert error.endswith(f"ludus resume {run}")
    (problem,) = [line for line in err.splitlines() if line.startswith("problem: checkpoint of version")]
    stands = "the one before it stands" if before else "there is none before it"
    assert problem.endswith(f"was not written ({disk.words}); {stands}")
    if "--json" in flags:
        newest = before[-1] if before else None
        assert json.loads(out) == {"run": str(run), "error": error, "version": newest}
    else:
        assert out == ""
    seen = events(run)
    assert seen[-1] == "failed"
    assert "finished" not in seen[seen.index("resumed") if before else 0 :]
    assert RunDirectory.open(run).status().state == "failed"
    assert (store.versions(), store.pointer("best")) == (before, best)
    assert (store.pointer("last") or best) == (store.pointer("last") if before else None)
    assert finals(run) == 0  # a resume has dropped the first end's, and the lost weights have none


def check_resumed(run: Path, disk: Disk, capsys: pytest.CaptureFixture[str]) -> None:
    """Resume with room on the disk: the run ends well, and what it names is there."""
    disk.reason = ""
    assert main(["resume", str(run), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    store = CheckpointStore(run / "checkpoints")
    assert events(run)[-1] == "finished"
    assert is_finished(RunDirectory.open(run))
    assert result["version"] == store.versions()[-1]
    best = store.best()
    assert best is not None
    assert result["best_version"] == best.weights
    assert finals(run) == 1
    assert Path(result["report"]).is_file()


FAST = [
    ("on-policy", (), "ENOSPC"),
    ("dqn", ("--quiet",), "EFBIG"),
    ("alphazero", ("--json",), "EROFS"),
    ("league", ("--quiet",), "EDQUOT"),
    ("resumed", ("--json",), "ENOSPC"),
    ("imitation", (), "EROFS"),
    ("async", ("--quiet", "--json"), "EDQUOT"),
    ("cluster", ("--json",), "EFBIG"),
]


@contextmanager
def joined_machines(preset: Preset, report: object = None) -> Iterator[Machines]:
    """Yield machines in place of Ray's: two samplers of this process, joined as on rollouts."""
    yield JoinedMachines(2)


@pytest.mark.parametrize(("kind", "flags", "reason"), FAST, ids=[f[0] for f in FAST])
def test_a_run_whose_last_checkpoint_is_refused_fails(
    kind: str,
    flags: tuple[str, ...],
    reason: str,
    disk: Disk,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if kind == "cluster":
        monkeypatch.setattr("ludus.cli.commands.train.machines_of", joined_machines)
    run = tmp_path / "run"
    check_refused(kind, flags, disk, run, reason, capsys)
    check_resumed(run, disk, capsys)


@pytest.fixture(scope="module")
def ray() -> Iterator[None]:
    """A cluster of this machine for the module: starting one takes seconds."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'ludus-rl[cluster]'")
    from ludus.cluster.session import connect, disconnect
    from ludus.presets.config import ClusterConfig

    connect(ClusterConfig())
    yield
    disconnect()


@pytest.mark.slow
@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("flags", OUTPUTS, ids=["plain", "quiet", "json"])
@pytest.mark.parametrize("kind", PRESETS)
def test_every_kind_of_run_fails_with_every_reason_and_output(
    kind: str,
    flags: tuple[str, ...],
    reason: str,
    disk: Disk,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if kind == "cluster":
        request.getfixturevalue("ray")
        monkeypatch.setattr("ludus.cluster.machines.connect", lambda config: None)
        monkeypatch.setattr("ludus.cluster.machines.disconnect", lambda: None)
    run = tmp_path / "run"
    check_refused(kind, flags, disk, run, reason, capsys)
    if (flags, reason) == ((), "ENOSPC"):
        check_resumed(run, disk, capsys)


# ---- the moment of the refusal -------------------------------------------------------------------

OFTEN = {"run__checkpoint_every_minutes": "0.0000001"}  # after every update


class Moments(Recorder):
    """Sink that changes the disk at some updates, by their number from 1, or when training ends."""

    def __init__(self, disk: Disk, refuse: int = 0, free: int = 0, stop: int = 0) -> None:
        super().__init__()
        self.disk, self.refuse, self.free, self.stop_at = disk, refuse, free, stop

    def update(self, metrics: UpdateMetrics) -> None:
        super().update(metrics)
        number = len(self.updates)
        if number == self.refuse:
            self.disk.reason = "ENOSPC"
        if number == self.free:
            self.disk.reason = ""
        if number == self.stop_at:
            os.kill(os.getpid(), signal.SIGINT)

    def message(self, text: str) -> None:
        super().message(text)
        if text.startswith("training ends") and self.free < 0:
            self.disk.reason = ""


@pytest.mark.parametrize("free", [4, -1], ids=["some rounds", "all rounds but the last save"])
def test_a_refusal_before_the_last_checkpoint_costs_nothing(disk: Disk, tmp_path: Path, free: int) -> None:
    run, sink = tmp_path / "run", Moments(disk, refuse=2, free=free)
    result = start_run(preset_of("on-policy", run__max_steps=700, **OFTEN), run, sinks=[sink])
    assert disk.refused
    problems = [m for m in sink.messages if m.startswith("problem: checkpoint of version")]
    assert problems
    assert all(m.endswith("; the one before it stands, the run continues") for m in problems)
    assert events(run)[-1] == "finished"
    assert result.version == CheckpointStore(run / "checkpoints").versions()[-1] == len(sink.updates)
    assert is_finished(RunDirectory.open(run))


def test_a_refusal_until_the_end_leaves_the_checkpoint_before_it(disk: Disk, tmp_path: Path) -> None:
    """Every version that the disk refused is trained again, from the newest one that it took."""
    run, sink = tmp_path / "run", Moments(disk, refuse=3)
    with pytest.raises(RunUnsaved, match="the last rounds could not be saved") as error:
        start_run(preset_of("on-policy", **OFTEN), run, sinks=[sink])
    assert error.value.saved == CheckpointStore(run / "checkpoints").versions()[-1] < len(sink.updates)
    assert f"resume it from version {error.value.saved}: ludus resume " in str(error.value)
    assert not (run / "report.md").exists()
    disk.reason = ""
    again = Recorder()
    result = resume_run(run, sinks=[again])
    assert next(u.version for u in again.updates) == error.value.saved + 1
    assert result.version == len(sink.updates)


def test_a_signal_at_the_last_save_finds_the_run_saved(
    disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, write = tmp_path / "run", files.write_directory_atomic

    def interrupted(path: Path, fill: Callable[[Path], None]) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        write(path, fill)

    monkeypatch.setattr("ludus.storage.checkpoints.write_directory_atomic", interrupted)
    with pytest.raises(Interrupted):
        start_run(preset_of("on-policy"), run)
    assert CheckpointStore(run / "checkpoints").versions()
    assert RunDirectory.open(run).status().state == "interrupted"
    monkeypatch.undo()
    assert resume_run(run).reason == "max_steps = 300 reached"
    assert is_finished(RunDirectory.open(run))


def test_an_interrupted_run_that_cannot_be_saved_has_failed(
    disk: Disk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    with pytest.raises(RunUnsaved, match=r"^interrupted, and the last rounds could not be saved") as error:
        start_run(preset_of("on-policy"), run, sinks=[Moments(disk, refuse=1, stop=1)])
    assert error.value.saved is None
    assert RunDirectory.open(run).status().state == "failed"


@pytest.mark.parametrize("kind", ["on-policy", "alphazero"])
def test_a_resume_with_nothing_to_train_needs_no_checkpoint(disk: Disk, tmp_path: Path, kind: str) -> None:
    run = tmp_path / "run"
    first = start_run(preset_of(kind), run)
    disk.reason, disk.where = "ENOSPC", "/checkpoints/0"
    second = resume_run(run, sinks=[sink := Recorder()])
    assert second.version == first.version
    assert not disk.refused
    assert any("nothing is left to train" in m for m in sink.messages)


# ---- files beside the checkpoint -----------------------------------------------------------------


def test_a_pointer_that_is_refused_refuses_the_checkpoint(disk: Disk, tmp_path: Path) -> None:
    """No version is on disk that last.json does not name, and none is named that is not there."""
    run = tmp_path / "run"
    disk.reason, disk.where = "ENOSPC", "/checkpoints/last.json"
    with pytest.raises(RunUnsaved, match="there is no checkpoint"):
        start_run(preset_of("on-policy"), run)
    assert CheckpointStore(run / "checkpoints").versions() == []
    disk.reason = ""
    version = resume_run(run).version
    pointer = CheckpointStore(run / "checkpoints").pointer("last")
    assert pointer is not None
    assert pointer.version == version


def test_a_kill_before_the_pointer_leaves_no_older_last(tmp_path: Path) -> None:
    run = tmp_path / "run"
    store = CheckpointStore(run / "checkpoints")
    version = start_run(preset_of("on-policy", **OFTEN), run).version
    store.point("last", Pointer(version - 1))
    assert resume_run(run).version == version == store.resolve("last")
    store.point("last", Pointer(version))
    resume_run(run)
    assert store.pointer("last") == Pointer(version)


def test_best_weights_that_cannot_be_named_fail_the_run(disk: Disk, tmp_path: Path) -> None:
    run = tmp_path / "run"
    disk.reason, disk.where = "EROFS", "/checkpoints/best.json"
    with pytest.raises(RunUnsaved, match=r"the best weights could not be named \(best.json was not written"):
        start_run(preset_of("on-policy"), run)
    assert "finished" not in events(run)
    disk.reason = ""
    result = resume_run(run)
    pointer = CheckpointStore(run / "checkpoints").pointer("best")
    assert pointer is not None
    assert pointer.version == result.best_version


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("metrics.jsonl", "the last evaluation could not be recorded"),
        ("events.jsonl", "the end could not be"),
    ],
)
def test_an_end_that_is_not_recorded_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    run, append = tmp_path / "run", JsonlWriter.append_many

    def refused(self: JsonlWriter, rows: list[Row]) -> None:
        if self.path.name == name and any(r.get("final") or r.get("event") == "finished" for r in rows):
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(self.path))
        append(self, rows)

    monkeypatch.setattr(JsonlWriter, "append_many", refused)
    with pytest.raises(RunUnsaved, match=f"{words}.*File too large") as error:
        start_run(preset_of("on-policy"), run)
    assert error.value.saved == CheckpointStore(run / "checkpoints").versions()[-1]
    assert not is_finished(RunDirectory.open(run))
    monkeypatch.undo()
    resume_run(run)
    assert is_finished(RunDirectory.open(run))
    assert finals(run) == 1


def test_a_report_that_is_refused_is_not_named(
    disk: Disk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    disk.reason, disk.where = "EDQUOT", "/report."
    assert main(["train", preset_file(tmp_path, "on-policy"), "--run-dir", str(run), "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert f"problem: {run}/report.md was not written: {disk.words}" in err
    assert ["report", "not", "written"] in [line.split() for line in out.splitlines()]
    assert "report.html" not in out
    assert not (run / "report.md").exists()


def test_without_evaluations_the_result_names_weights_that_are_there(tmp_path: Path) -> None:
    run = tmp_path / "run"
    result = start_run(preset_of("on-policy", evaluation__matches=0, evaluation__final_matches=0), run)
    assert result.best_version == result.version == CheckpointStore(run / "checkpoints").resolve("best") > 0


def test_a_program_gets_an_exception(disk: Disk, tmp_path: Path) -> None:
    run = tmp_path / "run"
    disk.reason = "ENOSPC"
    with pytest.raises(RunFailed, match="the last rounds could not be saved"):
        ludus.train(preset_file(tmp_path, "on-policy"), run)
    with pytest.raises(RunFailed, match="there is no checkpoint"):
        ludus.resume(run)
    disk.reason = ""
    assert ludus.resume(run).version > 0


# ---- sweeps --------------------------------------------------------------------------------------


SWEEP = """
preset = "{preset}"
seeds = 1
workers = 1
"""


def limited(words: list[str], kilobytes: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command line of ludus under a limit on the size of files, as ``ulimit -f`` sets it."""

    def limit() -> None:
        if kilobytes:
            resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes << 10, resource.RLIM_INFINITY))

    return subprocess.run(
        [sys.executable, "-m", "ludus.cli", *words],
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def sweep_file(folder: Path) -> str:
    path = folder / "sweep.toml"
    path.write_text(SWEEP.format(preset=preset_file(folder, "on-policy")))
    return str(path)


def sweep_of(folder: Path) -> tuple[SweepDirectory, PlannedRun, Preset]:
    """Return the directory of a sweep, its only run, and the settings of that."""
    config = read_sweep(sweep_file(folder), {})
    sweep = SweepDirectory.open(folder / "sweep", config, preset_hashes(config))
    (run,) = runs_of(planned_cells(config, known_points(config)), config.seeds)
    return sweep, run, loaded_run(run).preset


@pytest.mark.parametrize(
    "lost", ["nothing", "all checkpoints", "the last checkpoint", "the newest is damaged"]
)
def test_a_sweep_takes_a_run_for_done_if_its_last_state_is_there(tmp_path: Path, lost: str) -> None:
    """As an earlier version ended runs: the end is recorded, whatever the disk took."""
    sweep, planned, preset = sweep_of(tmp_path)
    path = sweep.run(planned.name).path
    start_run(msgspec.structs.replace(preset, run=_often(preset.run)), path)
    folders = sorted((path / "checkpoints").glob("0*"))
    assert len(folders) > 1
    for folder in {"nothing": [], "all checkpoints": folders}.get(lost, folders[-1:]):
        if lost == "the newest is damaged":
            (folder / "state.json").write_bytes(b"{")
        else:
            shutil.rmtree(folder)
    assert RunDirectory.open(path).status().state == "finished"
    command = next_command(planned, sweep, preset, greedy=False)
    report = read_run(sweep.run(planned.name), "cell")
    if lost == "nothing":
        assert command is None
        assert report.finished
    else:
        assert command is not None
        assert command.what == "resume"
        assert not report.finished
        assert resume_run(path).reason == "max_steps = 300 reached"
        assert next_command(planned, sweep, preset, greedy=False) is None


def _often(run: RunConfig) -> RunConfig:
    return msgspec.structs.replace(run, checkpoint_every_minutes=1e-7)


def test_results_of_lost_weights_are_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep, planned, _ = sweep_of(tmp_path)
    result = sweep.greedy_result(planned.name, "random")
    result.parent.mkdir()
    result.write_text("{}")
    words: list[ProcessCommand] = []

    def launched(command: ProcessCommand, lock: Path, log: Path) -> None:
        words.append(command)

    monkeypatch.setattr("ludus.sweep.loop.launch", launched)
    loop = SweepLoop(sweep.info().config, sweep, 1, SweepView())
    loop._fill()
    assert [w.what for w in words] == ["train"]
    assert not result.exists()


@pytest.mark.slow
@pytest.mark.parametrize("flags", OUTPUTS, ids=["plain", "quiet", "json"])
def test_a_sweep_whose_runs_cannot_be_saved_fails_and_trains_them_again(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    words = ["sweep", sweep_file(tmp_path), "--run-dir", str(tmp_path / "sweep"), *flags]
    refused = limited(words, kilobytes=4)
    assert refused.returncode == 1
    assert "the last rounds could not be saved (File too large)" in refused.stderr
    assert "No space left" not in refused.stderr
    (run,) = (tmp_path / "sweep" / "runs").iterdir()
    assert "finished" not in events(run)
    if "--json" in flags:
        (failed,) = json.loads(refused.stdout)["failed"]
        assert "there is no checkpoint" in failed["message"]
    done = limited(words)
    assert done.returncode == 0, done.stderr
    assert is_finished(RunDirectory.open(run))
    assert limited(words).returncode == 0


# ---- real limits ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "flags",
    [
        ("--quiet",),
        pytest.param((), marks=pytest.mark.slow),
        pytest.param(("--json",), marks=pytest.mark.slow),
    ],
    ids=["quiet", "plain", "json"],
)
def test_a_run_under_a_limit_on_files_fails_with_the_limit(tmp_path: Path, flags: tuple[str, ...]) -> None:
    run = tmp_path / "run"
    words = ["train", preset_file(tmp_path, "on-policy"), "--run-dir", str(run), *flags]
    refused = limited(words, kilobytes=4)
    assert refused.returncode == 1
    assert "the last rounds could not be saved (File too large)" in refused.stderr
    assert "No space left" not in refused.stderr + (run / "log.txt").read_text()
    assert "next steps" not in refused.stdout
    assert bool(refused.stdout) == ("--json" in flags)


@pytest.mark.slow
@pytest.mark.parametrize("small_disk", [1], indirect=True)
@pytest.mark.parametrize("flags", OUTPUTS, ids=["plain", "quiet", "json"])
def test_a_run_on_a_full_disk_fails_and_resumes(
    small_disk: Path,  # noqa: F811
    tmp_path: Path,
    flags: tuple[str, ...],
) -> None:
    run = small_disk / "run"
    words = ["train", preset_file(tmp_path, "on-policy"), "--run-dir", str(run), *flags]
    filler = small_disk / "filler"
    filler.write_bytes(bytes((1 << 20) - 70_000))  # room for the first files, not for a checkpoint
    refused = limited([*words, "--policy.hidden", "64"])
    assert refused.returncode == 1
    assert "the last rounds could not be saved (No space left on device)" in refused.stderr
    assert list((run / "checkpoints").iterdir()) == []
    filler.unlink()
    done = limited(["resume", str(run), *flags])
    assert done.returncode == 0, done.stderr
    assert is_finished(RunDirectory.open(run))
