"""The command line as a user meets it: processes, exit codes, stdout and stderr."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest

PRESET = """\
title = "tic-tac-toe, a few seconds"

[game]
name = "tic_tac_toe"

[[opponents]]
name = "random"

[pool]
slots = 16
rollout_length = 8

[policy]
dense = [16]
hidden = [16]

[evaluation]
every_steps = 0
matches = 8
final_matches = 8

[run]
max_steps = 1000
threads = 1
"""
LONG = ("--run.max-steps", "100000000", "--run.checkpoint-every-minutes", "0.0005")
SEARCHED = [os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "PYTHONUNBUFFERED": "1",
    "PYTHONPATH": os.pathsep.join(SEARCHED),  # commands run in other folders
}
COMMAND = [sys.executable, "-m", "ludus.cli"]


def ludus(*words: str, cwd: Path, timeout_s: float = 250) -> subprocess.CompletedProcess[str]:
    """Return a finished command, which must not print a traceback."""
    done = subprocess.run(
        [*COMMAND, *words],
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a small preset in it."""
    (tmp_path / "small.toml").write_text(PRESET)
    return tmp_path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Return a finished run ``runs/r``, and the command that made it."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "small.toml").write_text(PRESET)
    return folder, ludus("train", "small.toml", "--run-dir", "runs/r", "--json", cwd=folder)


# ---- presets -----------------------------------------------------------------------------------------


def test_a_preset_with_unknown_keys_is_refused(folder: Path) -> None:
    (folder / "x.toml").write_text(
        PRESET.replace("hidden", "hiden").replace("rollout_length = 8", "rollout_lenght = 8")
    )
    done = ludus("train", "x.toml", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "x.toml: unknown key pool.rollout_lenght (did you mean rollout_length?)",
        "x.toml: unknown key policy.hiden (did you mean hidden?)",
    ]
    assert not (folder / "runs").exists()


def test_a_preset_with_wrong_values_is_refused(folder: Path) -> None:
    (folder / "x.toml").write_text(PRESET.replace("= 1000", '= "many"') + 'lag = "synk"\n')
    done = ludus("train", "x.toml", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        'x.toml: run.max_steps = "many": expected an integer >= 0',
        'x.toml: run.lag = "synk": expected one of async, pipelined, sync (did you mean sync?)',
    ]


def test_an_unknown_game_is_refused(folder: Path) -> None:
    done = ludus("train", "small.toml", "--game.name", "tictactoe", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "--game.name: game.name: unknown game tictactoe (did you mean tic_tac_toe?); see: ludus games list\n"
    )


def test_a_bad_override_is_refused(folder: Path) -> None:
    done = ludus("train", "small.toml", "--pool.slotz", "4", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "--pool.slotz: unknown key pool.slotz (did you mean slots?)\n"


def test_explain_prints_a_preset_with_the_origin_of_each_value(folder: Path) -> None:
    done = ludus("train", "small.toml", "--explain", "--run.seed", "7", cwd=folder)
    assert done.returncode == 0
    lines = {line.split(" =")[0]: line for line in done.stdout.splitlines() if " = " in line}
    assert lines["seed"].split() == ["seed", "=", "7", "#", "command", "line"]
    assert lines["max_steps"].endswith("# preset")
    assert lines["learning_rate"].endswith("# default")
    (folder / "again.toml").write_text(done.stdout)
    as_json = ludus("train", "again.toml", "--explain", "--json", cwd=folder)
    settings = {s["path"]: s for s in json.loads(as_json.stdout)["settings"]}
    assert settings["run.seed"] == {"path": "run.seed", "value": 7, "origin": "preset"}


def test_explain_shows_the_network(folder: Path) -> None:
    wide = ("--policy.hidden", "24", "--policy.critic", "own", "--policy.norm", "batch")
    done = ludus("train", "small.toml", "--explain", *wide, cwd=folder)
    comments = [line[2:] for line in done.stdout.splitlines() if line.startswith("# ")]
    parts = {line.split()[0]: line.split()[1:] for line in comments if line.startswith("  ")}
    assert parts["policy_head"] == ["Linear", "9x24", "225"]
    assert parts["value_head"] == ["Linear", "1x24", "25"]
    assert parts["critic.join.norms.0"] == ["BatchNorm", "24", "24"]
    document = json.loads(ludus("train", "small.toml", "--explain", "--json", *wide, cwd=folder).stdout)
    network = document["network"]
    assert network["parameters"] == sum(p["parameters"] for p in network["parts"])
    assert f"network: {network['parameters']:,} parameters" in done.stdout
    odd = ("--policy.memory", "gru", "--policy.critic-sees", "all")
    refused = ludus("train", "small.toml", "--explain", *odd, *wide, cwd=folder)
    assert refused.returncode == 2


# ---- runs --------------------------------------------------------------------------------------------


def test_train_gives_one_document_and_whole_files(
    trained: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, done = trained
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["run"] == "runs/r"
    assert result["steps"] >= 1000
    assert result["final"][0]["against"] == "random"
    assert result["final"][0]["matches"] == 8
    assert "runs/r" in done.stderr  # progress goes there, one plain line at a time
    assert "\x1b" not in done.stderr
    run = folder / "runs" / "r"
    for name in ("config.toml", "run.json", "metrics.jsonl", "report.md"):
        assert (run / name).stat().st_size > 0
    assert not list(run.rglob("*.tmp"))


def test_eval_of_weights_has_the_keys_that_scripts_read(
    trained: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, _ = trained
    words = [
        "eval",
        "runs/r@best",
        "--game",
        "tic_tac_toe",
        "--against",
        "random",
        "--matches",
        "10",
        "--json",
    ]
    done = ludus(*words, "--record", "kept", "--record-matches", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["wins"] + result["draws"] + result["losses"] == result["matches"] == 10
    assert 0 <= result["ci_low"] <= result["win_rate"] <= result["ci_high"] <= 1
    assert result["win_rate"] == result["wins"] / 10
    assert 5 <= result["mean_ticks"] <= 9
    assert len(result["replays"]) == 2
    verified = ludus("replay", "verify", *result["replays"], cwd=folder)
    assert verified.returncode == 0, verified.stderr


def test_a_run_directory_that_exists_is_refused(
    trained: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, _ = trained
    before = (folder / "runs" / "r" / "metrics.jsonl").read_bytes()
    done = ludus("train", "small.toml", "--run-dir", "runs/r", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "--run-dir runs/r: exists already; to resume it: ludus resume runs/r\n"
    assert (folder / "runs" / "r" / "metrics.jsonl").read_bytes() == before


def test_resume_takes_a_new_budget_and_nothing_else(
    trained: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, first = trained
    done = ludus("resume", "runs/r", "--policy.hidden", "8", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.startswith("--policy.hidden: a resumed run keeps its settings; only --run.max-steps, ")
    done = ludus("resume", "runs/r", "--run.max-steps", "1500", "--quiet", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert json.loads(done.stdout)["steps"] >= 1500 > json.loads(first.stdout)["steps"]


def read_until(stream: IO[str], text: str) -> str:
    """Return the lines up to the first with ``text`` in it, without a time limit."""
    lines: list[str] = []
    while not lines or text not in lines[-1]:
        lines.append(stream.readline())
        assert lines[-1], f"ended without {text!r}: {''.join(lines)}"
    return "".join(lines)


def start_long_run(folder: Path, run: str) -> subprocess.Popen[str]:
    """Return an endless run that saves all the time, once its first checkpoint exists."""
    words = ["train", "small.toml", "--run-dir", run, *LONG]
    process = subprocess.Popen(
        [*COMMAND, *words],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    last = folder / run / "checkpoints" / "last.json"
    limit = time.monotonic() + 200
    while not last.exists():
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < limit, "no checkpoint within 200 s"
        time.sleep(0.02)
    return process


def test_ctrl_c_saves_and_prints_the_command_to_resume(folder: Path) -> None:
    process = start_long_run(folder, "runs/c")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1].endswith("resume it: ludus resume runs/c")
    assert "Traceback" not in err
    saved = json.loads((folder / "runs" / "c" / "checkpoints" / "last.json").read_text())["version"]
    steps = last_steps(folder / "runs" / "c")
    done = ludus("resume", "runs/c", "--run.max-steps", str(steps + 500), "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["version"] > saved


def test_kill_during_a_checkpoint_leaves_a_whole_one_to_resume_from(folder: Path) -> None:
    for delay_s in (0.0, 0.017):
        run = f"runs/k{delay_s}"
        process = start_long_run(folder, run)
        time.sleep(delay_s)
        process.kill()
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        done = ludus(
            "resume", run, "--run.max-steps", "2000", "--run.checkpoint-every-minutes", "9", cwd=folder
        )
        assert done.returncode == 0, done.stderr
        assert "ended" in done.stdout
        assert not list((folder / run / "checkpoints").glob("*.tmp"))


def last_steps(run: Path) -> int:
    """Return the number of decisions that the run has trained on."""
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return max(int(row["steps"]) for row in rows)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a file system of one MiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=False)


def fill(path: Path) -> None:
    """Write until the disk is full."""
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def test_a_full_disk_is_reported_and_the_run_continues_with_whole_files(
    folder: Path, small_disk: Path
) -> None:
    run = small_disk / "r"
    filler = small_disk / "filler"
    process = start_long_run(folder, str(run))
    fill(filler)
    assert process.stderr is not None
    try:
        err = read_until(process.stderr, "No space left on device")
        assert process.poll() is None, err
        process.send_signal(signal.SIGINT)
        err += process.stderr.read()
        process.wait(timeout=60)
    finally:
        process.kill()
    assert "Traceback" not in err
    assert process.returncode in (1, 130)
    filler.unlink()
    done = ludus(
        "resume", str(run), "--run.max-steps", "1500", "--run.checkpoint-every-minutes", "9", cwd=folder
    )
    assert done.returncode == 0, done.stderr


def test_a_run_that_cannot_start_on_a_full_disk_is_one_line(folder: Path, small_disk: Path) -> None:
    fill(small_disk / "filler")
    done = ludus("train", "small.toml", "--run-dir", str(small_disk / "r"), cwd=folder)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr


# ---- the other commands --------------------------------------------------------------------------------


def test_games_are_listed_shown_and_checked(tmp_path: Path) -> None:
    done = ludus("games", "list", "--json", cwd=tmp_path)
    assert done.returncode == 0
    assert {"minirts", "tic_tac_toe"} <= {game["name"] for game in json.loads(done.stdout)}
    shown = json.loads(ludus("games", "show", "minirts", "--json", cwd=tmp_path).stdout)
    assert shown["seats"] == 2
    assert len(shown["spec_hash"]) == 16
    checked = ludus("games", "check", "tic_tac_toe", "--matches", "2", "--json", cwd=tmp_path)
    assert checked.returncode == 0
    assert json.loads(checked.stdout)["passed"] is True


def test_bench_sim_has_the_keys_that_scripts_read(tmp_path: Path) -> None:
    done = ludus("bench", "sim", "minirts", "--seconds", "0.2", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["threads"] == 1
    assert result["ticks_per_s"] > 0
    assert result["steps_per_s"] > 0
    assert result["ns_per_tick"] == pytest.approx(1e9 / result["ticks_per_s"], rel=1e-6)
    assert result["bots"] == ["simple", "simple"]
    assert result["frame_skip"] == 50
    assert result["pool_ticks_per_s"] > 0


def test_bench_train_has_the_keys_that_scripts_read(folder: Path) -> None:
    done = ludus(
        "bench", "train", "small.toml", "--seconds", "0.5", "--pool.rollout-length", "4", "--json", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    for key in ("frames_per_s", "steps_per_s", "share_of_pure_simulation", "share_of_learner_limit"):
        assert result[key] > 0
    assert result["lag_versions"] == pytest.approx(1.0)  # pipelined
    assert result["sample_reuse"] > 0
    assert not (folder / "runs").exists()


def test_a_replay_is_recorded_verified_and_made_a_page(tmp_path: Path) -> None:
    words = ["eval", "simple", "--game", "minirts", "--against", "hit_and_run", "--matches", "2"]
    done = ludus(*words, "--record", "r", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first = json.loads(done.stdout)["replays"][0]
    info = json.loads(ludus("replay", "info", first, "--json", cwd=tmp_path).stdout)
    assert info["game"] == "minirts"
    assert sorted(info["players"]) == ["hit_and_run", "simple"]
    checked = ludus("replay", "verify", first, "--json", cwd=tmp_path)
    assert (checked.returncode, json.loads(checked.stdout)["same"]) == (0, True)
    page = ludus("replay", "to-html", first, "--out", "page.html", cwd=tmp_path)
    assert (page.returncode, page.stdout) == (0, "page.html\n")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!")
    video = ludus("replay", "to-video", first, "--speed", "50", "--width", "160", "--json", cwd=tmp_path)
    assert video.returncode == 0, video.stderr
    assert json.loads(video.stdout)["frames"] == -(-info["ticks"] // 100) + 1
    wrong = ludus("replay", "to-video", first, "--seat", "7", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "seat 7: expected -1 (no fog) to 1" in wrong.stderr


def test_a_damaged_replay_is_refused_with_exit_code_3(tmp_path: Path) -> None:
    words = [
        "eval",
        "perfect",
        "--game",
        "tic_tac_toe",
        "--against",
        "random",
        "--matches",
        "1",
        "--record",
        "r",
    ]
    assert ludus(*words, cwd=tmp_path).returncode == 0
    path = tmp_path / "r" / "match-000000.ludus"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    done = ludus("replay", "verify", str(path), cwd=tmp_path)
    assert done.returncode == 3
    assert "checksum" in done.stdout
    assert ludus("replay", "info", str(path), cwd=tmp_path).returncode == 2
    assert ludus("replay", "to-html", str(path), cwd=tmp_path).returncode == 2


@pytest.mark.slow
def test_an_unexpected_signature_fails(tmp_path: Path) -> None:
    signature = json.loads(ludus("signature", "--json", cwd=tmp_path).stdout)["signature"]
    assert ludus("signature", "--expect", signature, cwd=tmp_path).returncode == 0
    assert ludus("signature", "--expect", "0" * 16, cwd=tmp_path).returncode == 3


def test_doctor_describes_the_installation(tmp_path: Path) -> None:
    facts = json.loads(ludus("doctor", "--json", cwd=tmp_path).stdout)
    assert facts["core"]["compiler"]
    assert facts["python"]["version"] == sys.version.split()[0]
    assert facts["machine"]["usable_processors"] >= 1
    assert facts["packages"]["numpy"]


def test_a_reader_that_exits_early_is_no_error(tmp_path: Path) -> None:
    command = " ".join([*COMMAND, "games", "show", "minirts"])
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -1; exit ${{PIPESTATUS[0]}}"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


# ---- start-up ------------------------------------------------------------------------------------------


def processor_time_s(*command: str) -> float:
    """Return the user and system time of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, env=ENVIRONMENT, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def starts_within(times: float, *words: str) -> bool:
    """Return whether a command takes less than so many times a bare interpreter, best of up to twelve each.

    Tried that often, since caches and cores are shared with whatever else runs.
    """
    bare = ours = float("inf")
    for _ in range(12):
        bare = min(bare, max(0.010, processor_time_s(sys.executable, "-c", "import sys")))
        ours = min(ours, processor_time_s(*COMMAND, *words))
        if ours < times * bare:
            return True
    return False


def test_commands_start_quickly() -> None:
    """150 ms on a machine whose bare interpreter takes 15 ms; ratios, since machines differ."""
    assert starts_within(5, "--help")
    assert starts_within(15, "train", "--help")
    assert starts_within(15, "games", "list")


@pytest.mark.parametrize("words", [["--help"], ["help"], ["--version"]])
def test_no_other_package_is_loaded_before_the_command_is_known(words: list[str]) -> None:
    code = (
        f"import sys; from ludus.cli.__main__ import main; main({words})\n"
        "print(sorted({'msgspec', 'inspect', 'typing_extensions', 'tomllib', 'html'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_nothing_heavy_is_loaded_before_it_is_needed() -> None:
    code = (
        "import sys; from ludus.cli.__main__ import main\n"
        "assert main(['games', 'list']) == 0 and main(['presets', 'show', 'minirts']) == 0\n"
        "print(sorted({'numpy', 'torch', 'rich', 'tensorboard'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
