"""Checkpoints from elsewhere: their match states never reach the core, and the run continues."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from ludus.presets.errors import Interrupted
from ludus.storage import RunDirectory, read_jsonl
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .runs import Recorder, reproducible_rows, small_preset
from .test_runs import InterruptAt, last_weights, same_weights

RESTART = "matches restart ("
MASK = (1 << 64) - 1


def mix64(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def pool_checksum(data: bytes) -> bytes:
    """Return the core's checksum of a snapshot (``cpp/base/hash.hpp``), which needs no key."""
    h = 0x6C756475735F6831
    words = struct.unpack(f"<{(len(data) + 7) // 8}Q", data + bytes(-len(data) % 8))
    for word in (len(data), *words):
        h = (mix64(h ^ ((word + 0x9E3779B97F4A7C15) & MASK)) + 0x2545F4914F6CDD1D) & MASK
    return struct.pack("<Q", mix64(h))


def with_random_states(snapshot: bytes) -> bytes:
    """Return a pool's snapshot whose states are random bytes; all else, the checksum too, is right."""
    assert snapshot[-8:] == pool_checksum(snapshot[:-8])
    (length,) = struct.unpack_from("<Q", snapshot, 16)
    described = dict(line.split("=", 1) for line in snapshot[24 : 24 + length].decode().splitlines())
    matches, control, state = (int(described[n]) for n in ("matches", "control_bytes", "state_bytes"))
    body = bytearray(snapshot[:-8])
    random = np.random.default_rng(5)
    for slot in range(matches):
        at = len(body) - (matches - slot) * (control + state) + control
        body[at : at + state] = random.bytes(state)
    return bytes(body) + pool_checksum(bytes(body))


def newest(run: Path) -> Path:
    store = RunDirectory.open(run).checkpoints
    return store.path(store.versions()[-1])


def forge(folder: Path) -> None:
    """Write random states under right checksums, as a hostile checkpoint has them."""
    path = folder / "rollout.safetensors"
    tensors = load_file(path)
    tensors["pool"] = np.frombuffer(with_random_states(tensors["pool"].tobytes()), np.uint8)
    save_file(tensors, path)
    data = path.read_bytes()
    state = json.loads((folder / "state.json").read_bytes())
    state["files"][path.name] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (folder / "state.json").write_text(json.dumps(state, separators=(",", ":")))


def resume(run: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ludus.cli", "resume", str(run), *options]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
        check=False,
    )


@pytest.mark.parametrize(
    "game",
    [
        "minirts",
        *(
            pytest.param(game, marks=pytest.mark.slow)
            for game in ("go", "pommerman", "capture_the_flag", "tower_defense")
        ),
    ],
)
def test_random_states_under_valid_checksums_are_not_restored(tmp_path: Path, game: str) -> None:
    more: dict[str, object] = {"pool__slots": 4, "pool__rollout_length": 4, "run__max_steps": 32}
    more |= {"evaluation__every_steps": 0, "evaluation__matches": 0, "evaluation__final_matches": 0}
    more |= {"game__params__size": 5} if game == "go" else {}
    run = tmp_path / "run"
    start_run(small_preset(game__name=game, algorithm__minibatches=1, **more), run)
    before = list(read_jsonl(run / "metrics.jsonl"))
    forge(newest(run))

    done = resume(run, "--run.max-steps", "96")
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert done.stderr.count(RESTART) == 1
    assert "not signed with this user's key" in done.stderr
    assert RESTART in (run / "log.txt").read_text()
    after = list(read_jsonl(run / "metrics.jsonl"))
    assert after[: len(before)] == before  # weights, optimiser and counters continue
    assert [row["version"] for row in after] == list(range(1, len(after) + 1))
    assert len(after) > len(before)


def interrupted_run(folder: Path, **more: object) -> Path:
    with pytest.raises(Interrupted):
        start_run(small_preset(evaluation__every_steps=0, **more), folder, sinks=[InterruptAt(4)])
    return folder


def resumed(run: Path) -> Recorder:
    recorder = Recorder()
    resume_run(run, sinks=[recorder])
    return recorder


def reports_restart(recorder: Recorder) -> bool:
    return any(RESTART in m for m in recorder.messages)


def test_a_signature_holds_for_its_own_run_and_version_alone(tmp_path: Path) -> None:
    first, second = interrupted_run(tmp_path / "first"), interrupted_run(tmp_path / "second")
    theirs = newest(first)
    assert theirs.name == newest(second).name
    shutil.rmtree(newest(second))
    shutil.copytree(theirs, second / "checkpoints" / theirs.name)
    assert reports_restart(resumed(second))  # the same preset, seed and version, signed for another run

    later = first / "checkpoints" / "000000099"
    shutil.copytree(theirs, later)
    state = json.loads((later / "state.json").read_bytes())
    (later / "state.json").write_text(json.dumps(state | {"version": 99}, separators=(",", ":")))
    store = RunDirectory.open(first).checkpoints
    assert store.load(99).restart
    assert not store.load(int(theirs.name)).restart


def test_a_copied_run_is_as_good_as_the_run(tmp_path: Path) -> None:
    run = interrupted_run(tmp_path / "run")
    shutil.copytree(run, tmp_path / "copy")
    one, other = resumed(run), resumed(tmp_path / "copy")
    assert not reports_restart(one)
    assert not reports_restart(other)
    assert same_weights(last_weights(run), last_weights(tmp_path / "copy"))


@pytest.mark.parametrize("lag", ["sync", pytest.param("pipelined", marks=pytest.mark.slow), "async"])
def test_another_users_run_resumes_with_new_matches(
    tmp_path: Path, lag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = interrupted_run(tmp_path / "run", run__lag=lag, policy__memory="gru", policy__memory_size=4)
    monkeypatch.setenv("LUDUS_STATE_DIR", str(tmp_path / "another-user"))
    recorder = resumed(run)
    assert reports_restart(recorder)
    rows = reproducible_rows(run / "metrics.jsonl")
    updates = [row["version"] for row in rows if row["kind"] == "update"]
    assert updates == list(range(1, len(updates) + 1))
    # From now on it is a run of this user: an interrupt and a resume repeat no match.
    assert not RunDirectory.open(run).checkpoints.load_last()[0].restart
    assert json.loads((newest(run) / "state.json").read_bytes())["state"]["restarts"] == 1


def test_matches_that_restart_twice_differ_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = interrupted_run(tmp_path / "run", run__lag="sync")
    seeds = []
    for user in ("b", "c"):
        monkeypatch.setenv("LUDUS_STATE_DIR", str(tmp_path / user))
        with pytest.raises(Interrupted):
            resume_run(run, sinks=[InterruptAt(6 if user == "b" else 8)])
        snapshot = load_file(newest(run) / "rollout.safetensors")["pool"].tobytes()
        seeds.append(next(line for line in snapshot.split(b"\n") if line.startswith(b"seed=")))
    assert len(set(seeds)) == 2
    assert not reports_restart(resumed(run))  # signed by "c", whose pool is found again


def test_a_run_of_a_user_without_a_home_warns_and_continues(tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    where = {"LUDUS_STATE_DIR": str(nowhere / "state")}
    run = interrupted_run(tmp_path / "run", run__max_steps=700)
    done = resume(run, **where)
    assert done.returncode == 0, done.stderr
    assert "matches restart (checkpoint of version 4: no key can be stored" in done.stderr
    assert done.stderr.count("checkpoints are not signed: no key can be stored") == 1
    again = resume(run, "--run.max-steps", "900", **where)
    assert again.returncode == 0, again.stderr
    assert RESTART in again.stderr


@pytest.mark.slow
def test_rows_lost_in_a_power_cut_are_reported_and_the_run_continues(tmp_path: Path) -> None:
    run = interrupted_run(tmp_path / "run")
    metrics = run / "metrics.jsonl"
    lines = metrics.read_bytes().splitlines(keepends=True)
    metrics.write_bytes(b"".join(lines[:-1]))
    done = resume(run)
    assert done.returncode == 0, done.stderr
    assert f"problem: {metrics}: " in done.stderr
    assert "the rows between are lost, the run continues" in done.stderr
    assert RESTART not in done.stderr
