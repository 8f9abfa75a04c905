"""A sweep's directory: identity, remaining work, points and processes."""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path

import msgspec
import pytest

from ludus.storage.errors import CorruptFile, RunExists, RunNotFound, StorageError
from ludus.storage.lock import RunBusy
from ludus.storage.run_info import RunInfo
from ludus.storage.rundir import RunDirectory
from ludus.sweep.config import SweepConfig, parse_sweep, preset_hashes
from ludus.sweep.directory import SweepDirectory, open_sweep, reported_folders
from ludus.sweep.loop import greedy_words, next_command
from ludus.sweep.plan import known_points, loaded_run, planned_cells, runs_of
from ludus.sweep.processes import Process, ProcessCommand, ProcessEnd, launch
from ludus.sweep.ranges import Value
from tests.unit.storage.test_storage import checkpoint

DOCUMENT = {
    "preset": "tic_tac_toe",
    "seeds": 2,
    "settings": {"run": {"max_steps": 1000}, "opponents": [{"name": "random"}]},
    "grid": {"run.lag": ["sync", "async"]},
}


def config(folder: Path, **keys: object) -> SweepConfig:
    path = folder / "s.toml"
    path.write_text("# as given")
    document = {**DOCUMENT, "settings": {"run.max_steps": 1000}, **keys}
    return parse_sweep(document, str(path))


def opened(folder: Path, **keys: object) -> SweepDirectory:
    c = config(folder, **keys)
    return SweepDirectory.open(folder / "sweep", c, preset_hashes(c))


def test_the_same_sweep_resumes_with_more_seeds_and_other_names(tmp_path: Path) -> None:
    first = opened(tmp_path)
    assert first.file.read_text() == "# as given"
    before = first.info()
    again = opened(tmp_path, seeds=5, workers=3, title="T", greedy=True, baseline="lag=sync")
    assert again.info().started == before.started
    assert again.info().config.seeds == (1, 2, 3, 4, 5)
    assert open_sweep(again.path).info().config.greedy


@pytest.mark.parametrize("key", ["floor_matches", "initial"])
def test_floors_make_no_other_sweep(key: str, tmp_path: Path) -> None:
    opened(tmp_path, settings={"run.max_steps": 1000, f"evaluation.{key}": 7 if key != "initial" else True})
    opened(tmp_path)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"settings": {"run.max_steps": 2000}}, "settings.run.max_steps = 1000 there and 2000 in "),
        ({"settings": {}}, "settings.run.max_steps = 1000 there and not set in "),
        ({"grid": {"run.lag": ["sync"]}}, "grid.run.lag = ['sync', 'async'] there and ['sync'] in "),
        ({"cells": {"a": {}}}, 'cell.preset = "tic_tac_toe" there and not set in '),
        (
            {"count": 2, "random": {"algorithm.epochs": {"integer": [1, 2]}}},
            "random.algorithm.epochs is not set there and ['integer', 1, 2] in ",
        ),
    ],
)
def test_a_directory_of_another_sweep_is_refused(
    tmp_path: Path, keys: dict[str, object], message: str
) -> None:
    opened(tmp_path)
    with pytest.raises(RunExists, match="a directory of another sweep: ") as refused:
        opened(tmp_path, **keys)
    assert message in str(refused.value)
    assert open_sweep(tmp_path / "sweep").info().config.settings["run.max_steps"] == 1000


def test_a_changed_preset_is_refused(tmp_path: Path) -> None:
    c = config(tmp_path)
    SweepDirectory.open(tmp_path / "sweep", c, {"tic_tac_toe": "00"})
    with pytest.raises(RunExists, match="the preset tic_tac_toe had another content when the sweep started"):
        SweepDirectory.open(tmp_path / "sweep", c, preset_hashes(c))


def test_other_directories_are_refused(tmp_path: Path) -> None:
    (tmp_path / "sweep").mkdir()
    opened(tmp_path)  # an empty one is as good as none
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").touch()
    c = config(tmp_path)
    with pytest.raises(RunExists, match="holds no sweep"):
        SweepDirectory.open(tmp_path / "other", c, {})
    with pytest.raises(RunExists, match="is no directory"):
        SweepDirectory.open(tmp_path / "other" / "x", c, {})
    with pytest.raises(StorageError, match="not the directory of a sweep"):
        open_sweep(tmp_path / "other")
    assert [p.name for p in (tmp_path / "other").iterdir()] == ["x"]


def test_one_process_at_a_time_runs_a_sweep(tmp_path: Path) -> None:
    sweep = opened(tmp_path)
    with sweep.lock(), pytest.raises(RunBusy, match="another process runs this sweep"):
        sweep.lock()


def test_a_damaged_description_is_named(tmp_path: Path) -> None:
    sweep = opened(tmp_path)
    sweep.info_path.write_text("{}")
    with pytest.raises(CorruptFile, match=r"sweep\.json"):
        opened(tmp_path)


def events(run: RunDirectory, *kinds: str) -> None:
    run.events_path.write_text("".join(f'{{"event": "{k}"}}\n' for k in kinds))


def test_the_next_command_follows_from_the_run(tmp_path: Path) -> None:
    sweep = opened(tmp_path)
    c = sweep.info().config
    planned = runs_of(planned_cells(c, known_points(c)), c.seeds)[1]
    preset = loaded_run(planned).preset
    run = sweep.run(planned.name)

    def left() -> str:
        command = next_command(planned, sweep, preset, greedy=False)
        return command.what if command else ""

    command = next_command(planned, sweep, preset, greedy=False)
    assert command is not None
    assert command.words[:4] == ("train", "tic_tac_toe", "--run-dir", str(run.path))
    assert {"--run.max-steps=1000", "--run.lag=async", "--run.seed=1", "--run.threads=1"} < set(command.words)
    (run.path / "checkpoints").mkdir(parents=True)  # killed before its description was whole
    assert left() == "train"
    assert not run.path.exists()
    run = RunDirectory.create(run.path, "", RunInfo(1, "0", "tic_tac_toe", "", 1, "", ()))
    assert left() == "resume"
    for kind in ("started", "interrupted", "failed", "resumed"):
        events(run, "started", kind)
        assert left() == "resume"
    events(run, "started", "finished")
    assert left() == "resume"  # its last state is nowhere
    run.checkpoints.save(dataclasses.replace(checkpoint(1), state=b'{"log_sizes": {"metrics": 0}}'))
    assert left() == ""
    run.metrics_path.write_bytes(b'{"schema": 2, "kind": "evaluation"}\n')
    assert left() == ""
    run.metrics_path.write_bytes(b'{"schema": 2, "kind": "update", "version": 2}\n')
    assert left() == "resume"
    run.checkpoints.save(checkpoint(2))  # of a trainer that records no sizes
    assert left() == ""


def test_greedy_matches_follow_for_each_opponent(tmp_path: Path) -> None:
    sweep = opened(tmp_path)
    c = sweep.info().config
    planned = runs_of(planned_cells(c, known_points(c)), c.seeds)[0]
    preset = loaded_run(planned).preset
    run = RunDirectory.create(sweep.run(planned.name).path, "", RunInfo(1, "0", "tic_tac_toe", "", 1, "", ()))
    events(run, "started", "finished")
    run.checkpoints.save(checkpoint(1))
    result = dict.fromkeys(("matches", "wins", "draws", "losses", "errors", "seed"), 1)
    numbers = dict.fromkeys(("win_rate", "ci_low", "ci_high", "score", "mean_ticks", "mean_return"), 0.5)
    results = [{"player": "p", "against": name, "game": "tic_tac_toe", **result, **numbers} for name in "ab"]
    row = {"schema": 2, "kind": "evaluation", "version": 1, "steps": 5, "score": 0.5, "best": True}
    run.metrics_path.write_bytes(msgspec.json.encode({**row, "final": True, "results": results}) + b"\n")
    words = []
    for _ in range(2):
        command = next_command(planned, sweep, preset, greedy=True)
        assert command is not None
        words.append(command.words[command.words.index("--against") + 1])
        Path(command.result).parent.mkdir(exist_ok=True)
        Path(command.result).touch()
    assert words == ["a", "b"]
    assert next_command(planned, sweep, preset, greedy=True) is None


def test_greedy_matches_have_the_settings_of_the_final_ones(tmp_path: Path) -> None:
    preset = loaded_run(runs_of(planned_cells(config(tmp_path), []), (1,))[0]).preset
    opponent = msgspec.structs.replace(preset.opponents[0], frame_skip=20)
    evaluation = msgspec.structs.replace(preset.evaluation, final_matches=77, max_ticks=500)
    preset = msgspec.structs.replace(preset, opponents=(opponent,), evaluation=evaluation)
    words = " ".join(greedy_words("runs/r", preset, "simple", False))
    assert words == (
        "eval runs/r@best --against simple --against-frame-skip 20 --max-ticks 500 --matches 77 --seed 1 "
        "--greedy --json"
    )
    alone = greedy_words("runs/r", preset, "alone", True)
    assert "--against" not in alone


def test_points_are_kept_and_checked(tmp_path: Path) -> None:
    ranges = {"algorithm.epochs": {"integer": [1, 4]}, "run.lag": {"choice": ["sync", "async"]}}
    sweep = opened(tmp_path, grid={}, random=ranges, count=3, search="tpe")
    space = sweep.info().config.random
    points: list[dict[str, Value]] = [
        {"algorithm.epochs": 2, "run.lag": "sync"},
        {"algorithm.epochs": 4, "run.lag": "async"},
    ]
    for index, point in enumerate(points):
        sweep.add_point(index, point)
    assert sweep.asked_points(space) == points
    sweep.add_point(7, points[0])
    with pytest.raises(CorruptFile, match=r"points\.jsonl: line 3"):
        sweep.asked_points(space)


# Found by every Python that starts: it waits until a file is there.
GATE = """
import pathlib, time
end = time.monotonic() + 100
while not pathlib.Path(__file__).with_name("open").exists() and time.monotonic() < end:
    time.sleep(0.01)
"""


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file; processes that a test starts run while it exists."""
    folder = tmp_path / "gate"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(GATE)
    searched = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(searched))
    return folder / "open"


def wait(process: Process) -> ProcessEnd:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        ended = process.poll()
        if ended is not None:
            return ended
        time.sleep(0.02)
    raise AssertionError("the process does not end")


def test_processes_hold_their_lock_and_results_appear_whole(tmp_path: Path, gate: Path) -> None:
    lock, log, result = tmp_path / "lock", tmp_path / "log", tmp_path / "r" / "result.json"
    command = ProcessCommand("greedy", ("games", "list", "--json"), str(result))
    process = launch(command, lock, log)
    assert process is not None
    assert launch(command, lock, log) is None
    gate.touch()
    ended = wait(process)
    assert (ended.code, ended.message) == (0, "")
    assert ended.cpu_s > 0
    assert b"tic_tac_toe" in result.read_bytes()
    assert [p.name for p in result.parent.iterdir()] == ["result.json"]
    bad = launch(ProcessCommand("train", ("games", "shwo"), str(tmp_path / "none")), lock, log)
    assert bad is not None
    ended = wait(bad)
    assert ended.code == 2
    assert ended.message == "ludus games: unknown command shwo (did you mean show?)"
    assert not (tmp_path / "none").exists()
    gate.unlink()
    killed = launch(ProcessCommand("train", ("games", "list")), lock, log)
    assert killed is not None
    killed.stop(9)
    assert wait(killed).message == "killed by signal 9"


def test_a_folder_of_runs_is_reported_as_its_runs_and_sweeps(tmp_path: Path) -> None:
    for name in ("b/run.json", "a/sweep.json", "a/runs/x/run.json", "notes/x.txt", "c/run.json", "file"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "link").symlink_to(tmp_path / "b")
    assert reported_folders(tmp_path) == [tmp_path / name for name in ("a", "b", "c")]
    for name in ("a", "b", "missing", "file"):
        assert reported_folders(tmp_path / name) == [tmp_path / name]
    with pytest.raises(RunNotFound, match="notes: not a run, a sweep or a folder of them"):
        reported_folders(tmp_path / "notes")
