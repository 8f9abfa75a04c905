"""A run, a sweep or a record of another person changes no file of the user and runs no bot.

Every attack is of a kind, tried on each file or key that it could be about.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import ludus
from ludus.cli.__main__ import main
from ludus.games import names
from ludus.presets.errors import ConfigError
from ludus.presets.file import load_preset
from ludus.storage import CorruptFile, RunDirectory
from ludus.sweep.config import read_sweep
from ludus.sweep.directory import SweepDirectory
from ludus.sweep.loop import next_command
from ludus.sweep.plan import PlannedRun
from ludus.sweep.processes import ProcessCommand, launch
from ludus.sweep.report import read_report, write_sweep_report
from ludus.training.runs import start_run

PRESET = """\
[game]
name = "tic_tac_toe"
[[opponents]]
name = "past"
past_every = 2
[pool]
slots = 8
groups = 1
rollout_length = 8
[policy]
dense = [8]
hidden = [8]
[algorithm]
name = "imitation"
teacher = "mcts:2"
[evaluation]
every_steps = 0
matches = 4
final_matches = 4
against = ["random"]
[run]
max_steps = 200
threads = 1
"""
BOT = """\
class Bot:
    def decide(self, scene):
        return scene.legal()[0]
"""
MARK = "from pathlib import Path\nPath({marker!r}).touch()\n"
MORE = ("--run.max-steps", "400", "--quiet")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run that is over."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "preset.toml").write_text(PRESET)
    start_run(load_preset(str(folder / "preset.toml")).preset, folder / "run")
    return folder / "run"


@pytest.fixture
def run(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a copy of it in the current folder, beside new code that leaves ``marker``."""
    marker = tmp_path / "marker"
    shutil.copytree(trained, tmp_path / "run")
    for place in (tmp_path, tmp_path / "run"):
        (place / "evil.py").write_text(MARK.format(marker=str(marker)) + BOT)
    monkeypatch.setattr(names, "_typed", set())
    monkeypatch.chdir(tmp_path)
    yield Path("run")
    assert not marker.exists()


def ended(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Return exit code and stderr of one command."""
    capsys.readouterr()
    code = main(words)
    message = capsys.readouterr().err
    assert "Traceback" not in message
    return code, message


EVIL = ("evil.py", "./evil.py:Bot", "run/evil.py", "{folder}/evil.py", "../evil.py", "evil.py:none/evil.py")


@pytest.mark.parametrize("reference", EVIL)
def test_the_teacher_of_a_stored_configuration_is_not_run(
    reference: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = reference.format(folder=tmp_path)
    config = run / "config.toml"
    config.write_text(config.read_text().replace('"mcts:2"', json.dumps(reference)))
    for more in (("--quiet",), MORE, ("--cluster.rollouts", "1", "--quiet")):
        code, message = ended(capsys, "resume", "run", *more)
        assert (code, "algorithm.teacher" in message) == (2, True), message
        assert message.count("\n") == 1
    with pytest.raises(ConfigError, match=r"algorithm\.teacher"):
        ludus.resume("run")
    # A run that never had a checkpoint restarts, with the same configuration.
    shutil.rmtree(run / "checkpoints")
    assert ended(capsys, "resume", "run", "--quiet")[0] == 2
    ended(capsys, "eval", "run@best")
    ended(capsys, "report", "run")
    ended(capsys, "rate", "run@best", "random", "--matches", "2")


KEYS = {
    "opponents": ('name = "past"', "name = {evil}"),
    "evaluation.against": ('["random"]', "[{evil}]"),
    "curriculum.bot": ('[curriculum]\nbot = ""', "[curriculum]\nbot = {evil}"),
    "run.start": ('start = ""', "start = {evil}"),
    "game.name": ('name = "tic_tac_toe"', "name = {evil}"),
    "algorithm.name": ('name = "imitation"', "name = {evil}"),
}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("reference", ["evil.py", "./evil.py:Bot", "run/evil.py"])
def test_no_key_of_a_stored_configuration_runs_a_bot(
    key: str, reference: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = run / "config.toml"
    before, after = KEYS[key]
    text = config.read_text()
    assert before in text
    config.write_text(text.replace(before, after.format(evil=json.dumps(reference))))
    shutil.rmtree(run / "checkpoints" / "best.json", ignore_errors=True)
    for words in (
        ("resume", "run", *MORE),
        ("eval", "run@best", "--against", "random", "--matches", "2"),
        ("rate", "run@best", "random", "--matches", "2"),
        ("report", "run"),
    ):
        ended(capsys, *words)


@pytest.mark.parametrize("against", ["evil.py", "run/evil.py", "../../victim", "--game=evil.py", "x@best"])
@pytest.mark.parametrize("alone", [False, True])
def test_a_sweep_takes_no_name_from_a_record(against: str, alone: bool, run: Path, tmp_path: Path) -> None:
    """Greedy matches of the sweep would pass that name to ``ludus eval``, and to a file."""
    directory = SweepDirectory(tmp_path / "sweep")
    directory.runs.mkdir(parents=True)
    shutil.copytree(run, directory.runs / "a")
    metrics = directory.runs / "a" / "metrics.jsonl"
    rows = [msgspec.json.decode(line) for line in metrics.read_bytes().splitlines()]
    preset = load_preset(str(RunDirectory(run).config)).preset
    planned = PlannedRun("a", "all", 1, "tic_tac_toe", {})
    command = next_command(planned, directory, preset, greedy=True)
    assert command is not None
    assert "random" in command.words
    for row in rows:
        for result in row.get("results", []):
            result |= {"against": against, "alone": alone}
    metrics.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    with pytest.raises(CorruptFile, match="against = "):
        next_command(planned, directory, preset, greedy=True)


def test_the_users_own_teacher_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The user who started a run resumes it from any folder; another user names the teacher once."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "bot.py").write_text(BOT)
    (home / "preset.toml").write_text(PRESET.replace("mcts:2", "bot.py:Bot"))
    monkeypatch.chdir(tmp_path)

    def fresh(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(names, "_typed", set())  # as in a new process
        return ended(capsys, *words)

    assert fresh("train", "home/preset.toml", "--run-dir", "run", "--quiet") == (0, "")
    assert f'"{home}/bot.py:Bot"' in Path("run/config.toml").read_text()
    assert fresh("resume", "run", *MORE) == (0, "")
    shutil.copytree("run", "moved")
    code, message = fresh("resume", "moved", "--run.max-steps", "600", "--quiet")
    assert (code, "--teacher FILE.py" in message) == (2, True)
    again = ("resume", "moved", "--run.max-steps", "600", "--quiet")
    assert fresh(*again, "--teacher", "home/bot.py") == (0, "")
    assert fresh("resume", "moved", "--run.max-steps", "800", "--quiet") == (0, "")
    config = Path("run/config.toml")
    (tmp_path / "other.py").write_text(BOT)
    config.write_text(config.read_text().replace(f"{home}/bot.py:Bot", str(tmp_path / "other.py")))
    assert fresh("resume", "run", "--run.max-steps", "600", "--quiet")[0] == 2


WRITTEN = (
    "report.md", "report.html", "report.svg", "report.md.tmp", "report.html.tmp", "report.svg.tmp",
    "matches.jsonl", "metrics.jsonl",
    "events.jsonl", "log.txt", "results.jsonl", "changes.jsonl", "lock", "checkpoints/last.json.tmp",
)  # fmt: skip
LINKED = ("checkpoints", "snapshots", "replays", "tensorboard", "self_play")
COMMANDS = {
    "resume": ("resume", "run", "--quiet"),
    "resume further": ("resume", "run", *MORE),
    "eval": ("eval", "run@best", "--against", "random", "--matches", "2"),
}


@pytest.mark.parametrize("how", ["symbolic", "hard", "dangling"])
@pytest.mark.parametrize("file", WRITTEN)
def test_no_link_to_a_file_is_followed(
    file: str, how: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = tmp_path / "victim"
    content = (run / file).read_bytes() if (run / file).is_file() else b""
    content += b"a line without an end"  # a run would cut it off
    (run / file).unlink(missing_ok=True)
    if how != "dangling":
        victim.write_bytes(content)
    if how == "hard":
        os.link(victim, run / file)
    else:
        (run / file).symlink_to(victim)
    for words in COMMANDS.values():
        code, message = ended(capsys, *words)
        assert code in (0, 2)
        assert code == 0 or message.count("\n") <= 2
        assert victim.read_bytes() == content if how != "dangling" else not victim.exists()


@pytest.mark.parametrize("file", ["matches.jsonl", "metrics.jsonl"])
def test_no_file_behind_a_link_is_cut(
    file: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The size that a checkpoint recorded is smaller, in an unsigned state."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"{}\n" * 100_000)
    (run / file).unlink()
    (run / file).symlink_to(victim)
    code, message = ended(capsys, *COMMANDS["resume further"])
    assert (code, f"run/{file}: a link" in message) == (2, True)
    assert victim.stat().st_size == 300_000


@pytest.mark.parametrize("folder", LINKED)
def test_no_folder_that_is_a_link_is_written(
    folder: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = tmp_path / "victim"
    if (run / folder).is_dir():
        shutil.copytree(run / folder, victim)
        shutil.rmtree(run / folder)
    else:
        victim.mkdir()
    for name in ("mine.safetensors", "000000007.safetensors", "x.tmp"):
        (victim / name).write_bytes(b"mine")
    (run / folder).symlink_to(victim)
    before = {p: p.read_bytes() for p in victim.rglob("*") if p.is_file()}
    for words in (COMMANDS["resume"], COMMANDS["resume further"]):
        code, message = ended(capsys, *words)
        assert (code, message.count("\n")) == (2, 1), message
        assert f"run/{folder}: a link" in message
    assert {p: p.read_bytes() for p in victim.rglob("*") if p.is_file()} == before


def test_snapshots_of_other_names_stay(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run removes versions that no player uses, and nothing else."""
    others = ("mine.safetensors", "7.safetensors", "best-000000001.safetensors", "٧٧٧٧٧٧٧٧٧.safetensors")
    for name in others:
        (run / "snapshots" / name).write_bytes(b"mine")
    (run / "snapshots" / "999999999.safetensors").write_bytes(b"old")
    RunDirectory(run).drop_snapshots(set())
    assert sorted(p.name for p in (run / "snapshots").iterdir()) == sorted(others)


@pytest.mark.parametrize("file", ["metrics.jsonl", "events.jsonl", "changes.jsonl", "weights", "replay"])
def test_a_pipe_instead_of_a_file_hangs_no_command(
    file: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    best = RunDirectory(run).checkpoints.weights_path("best")
    path = {"weights": best, "replay": run / "replays" / "a.ludus"}.get(file, run / file)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    for words in (*COMMANDS.values(), ("report", "run")):
        code, _ = ended(capsys, *words)
        assert code in (0, 2)


@pytest.mark.parametrize("cut", [0, 8, 100, -1])
def test_a_replay_that_was_cut_ends_no_run(cut: int, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A full disk may leave one; the command suggests a complete replay instead."""
    whole = next((run / "replays").glob("*.ludus"))
    (run / "replays" / "a.ludus").write_bytes(whole.read_bytes()[:cut])
    (run / "replays" / "b.ludus").mkdir()
    capsys.readouterr()
    assert main(["resume", "run", "--quiet"]) == 0
    output = capsys.readouterr()
    assert "replay to-html run/replays/final-random-1.ludus" in output.out


# ---- sweeps ------------------------------------------------------------------------------------------


@pytest.fixture
def sweep(run: Path, tmp_path: Path) -> Path:
    """Return a sweep of one run that is over."""
    (tmp_path / "preset.toml").write_text(PRESET)
    (tmp_path / "sweep.toml").write_text('preset = "preset.toml"\nseeds = [1]\n')
    config = read_sweep(str(tmp_path / "sweep.toml"))
    SweepDirectory.open(tmp_path / "sweep", config, {})
    shutil.copytree(run, tmp_path / "sweep" / "runs" / "all,seed=1")
    return tmp_path / "sweep"


@pytest.mark.parametrize("how", ["symbolic", "hard"])
@pytest.mark.parametrize("file", ["report.md", "report.html", "results.json", "curves.svg"])
def test_the_report_of_a_sweep_follows_no_link(file: str, how: str, sweep: Path, tmp_path: Path) -> None:
    for name in (file, f"{file}.tmp"):
        victim = tmp_path / f"victim of {name}"
        victim.write_text("mine")
        (sweep / name).unlink(missing_ok=True)
        if how == "hard":
            os.link(victim, sweep / name)
        else:
            (sweep / name).symlink_to(victim)
        write_sweep_report(read_report([sweep]), sweep)
        assert victim.read_text() == "mine"


@pytest.mark.parametrize("folder", ["runs", "greedy", "logs", "locks", "runs/all,seed=1"])
def test_a_folder_of_a_sweep_that_is_a_link_is_refused(folder: str, sweep: Path, tmp_path: Path) -> None:
    (sweep / folder).rename(tmp_path / "victim")
    (sweep / folder).symlink_to(tmp_path / "victim")
    with pytest.raises(CorruptFile, match="a link, expected a folder"):
        SweepDirectory.open(sweep, read_sweep(str(tmp_path / "sweep.toml")), {}).state("all,seed=1")


@pytest.mark.parametrize("place", ["lock", "log", "result", "folder of the result"])
def test_a_process_of_a_sweep_writes_through_no_link(place: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    if place == "folder of the result":
        victim.mkdir()
    else:
        victim.write_text("mine")
    paths = {"lock": tmp_path / "lock", "log": tmp_path / "log", "result": tmp_path / "r" / "a.json.tmp"}
    if place == "result":
        (tmp_path / "r").mkdir()
    paths.get(place, tmp_path / "r").symlink_to(victim)
    command = ProcessCommand("greedy", ("--version",), str(tmp_path / "r" / "a.json"))
    if place == "result":
        process = launch(command, paths["lock"], paths["log"])
        assert process is not None
        while process.poll() is None:
            pass
        assert (tmp_path / "r" / "a.json").read_text().startswith("ludus")
    else:
        with pytest.raises(CorruptFile, match="a link"):
            launch(command, paths["lock"], paths["log"])
    assert not list(victim.iterdir()) if victim.is_dir() else victim.read_text() == "mine"


def test_a_sweep_runs_no_module_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ludus", "msgspec", "torch"):
        (tmp_path / f"{name}.py").write_text(MARK.format(marker=str(tmp_path / "marker")))
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "log"
    process = launch(ProcessCommand("train", ("presets", "show", "no_such_preset")), tmp_path / "lock", log)
    assert process is not None
    while (end := process.poll()) is None:
        time.sleep(0.02)
    assert end.code == 2
    assert "no_such_preset" in log.read_text()
    assert not (tmp_path / "marker").exists()
