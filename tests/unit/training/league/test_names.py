"""Weights of a league by name: members as they are now, what they froze, and what they started with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ludus
from ludus.cli import __main__ as cli
from ludus.cli.complete import candidates
from ludus.evaluation.players import resolve_player
from ludus.evaluation.tournament import expand
from ludus.games import spec
from ludus.presets.config import Preset
from ludus.presets.file import parse_preset
from ludus.storage import RunDirectory, RunNotFound, load_weights, name_of, resolve_weights
from ludus.training.runs import start_run
from tests.unit.training.league.test_league_runs import LEAGUE
from tests.unit.training.runs import Recorder, resume_run, small_preset

MEMBERS = ("main", "exploiter")


def preset(steps: int = 2000, **changes: str) -> Preset:
    """A main that never freezes and an exploiter that does."""
    text = LEAGUE.format(game="tic_tac_toe", lag="sync", steps=steps)
    text = text.replace('role = "pfsp"\nfreeze = {rule = "period", steps = 400}', 'role = "self_play"')
    assert "self_play" in text
    overrides = {key.replace("__", "."): value for key, value in changes.items()}
    return parse_preset(text.encode(), "league", overrides=overrides).preset


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    path = tmp_path_factory.mktemp("names") / "run"
    start_run(preset(), path)
    return RunDirectory.open(path)


def assert_newest(run: RunDirectory) -> dict[str, int]:
    """Check that members by name are those of the newest checkpoint, and return their versions."""
    checkpoint, _ = run.checkpoints.load_last()
    versions: dict[str, int] = {}
    for name in MEMBERS:
        found = load_weights(f"{run.path}@{name}")
        learned = {n: a for n, a in checkpoint.optimizer.items() if n.startswith(f"{name}/network.")}
        assert learned
        for path, array in learned.items():
            assert np.array_equal(found.tensors[path.removeprefix(f"{name}/network.")], array)
        versions[name] = found.meta.version
        assert name_of(resolve_weights(f"{run.path}@{name}"), found.meta.version) == (
            f"run@{name}:{found.meta.version}"
        )
    return versions


def test_a_member_by_its_name_is_as_it_is_now(run: RunDirectory) -> None:
    versions = assert_newest(run)
    assert all(version > 0 for version in versions.values())
    last = load_weights(f"{run.path}@last")
    assert last.meta == load_weights(f"{run.path}@main").meta
    by_version = resolve_weights(f"{run.path}@main:{versions['main']}")  # the name that results show
    assert by_version == resolve_weights(f"{run.path}@main") == resolve_weights(f"{run.path}@last")


class Reader(Recorder):
    """Reads members at every checkpoint, and between two at every update."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.seen, self.early = path, list[dict[str, int]](), ""

    def checkpoint(self, path: Path, version: int) -> None:
        super().checkpoint(path, version)
        self.seen.append(assert_newest(RunDirectory.open(self.path)))

    def update(self, metrics: object) -> None:
        if self.seen:
            assert assert_newest(RunDirectory.open(self.path)) == self.seen[-1]
        elif not self.early:
            with pytest.raises(RunNotFound) as error:
                resolve_weights(f"{self.path}@main")
            self.early = str(error.value)


def test_members_are_named_while_the_run_trains_and_after_it_was_resumed(tmp_path: Path) -> None:
    path = tmp_path / "run"
    reader = Reader(path)
    start_run(preset(steps=1000, run__checkpoint_every_minutes="0.0005"), path, sinks=[reader])
    assert len(reader.seen) > 1
    assert reader.seen[0]["main"] < reader.seen[-1]["main"]
    assert f"{path}@main:0 are its initial weights" in reader.early
    resumed = Reader(path)
    resumed.early = "a checkpoint is there already"
    resume_run(path, sinks=[resumed], more=lambda _: preset(steps=2000))
    assert resumed.seen[-1]["main"] > reader.seen[-1]["main"]
    assert resumed.seen[-1]["exploiter"] > reader.seen[-1]["exploiter"]


def test_a_member_that_froze_nothing_has_no_newest_frozen_player(run: RunDirectory) -> None:
    with pytest.raises(RunNotFound) as error:
        resolve_weights(f"{run.path}@main:last")
    for message in (f"did you mean {run.path}@main,", f"{run.path}@main:0 are its initial weights"):
        assert message in str(error.value)
    frozen = run.frozen.versions("exploiter")
    assert load_weights(f"{run.path}@exploiter:last").meta.version == frozen[-1] > 0


@pytest.mark.parametrize(
    "command", ["eval {} --against random", "rate {} random", "eval random --against {}"]
)
def test_commands_refuse_a_missing_newest_player_in_one_line(
    run: RunDirectory, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(command.format(f"{run.path}@main:last").split()) == 2
    message = capsys.readouterr().err.strip()
    assert "\n" not in message
    assert f"did you mean {run.path}@main," in message


def test_initial_weights_are_named_as_such(run: RunDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    version = load_weights(f"{run.path}@main").meta.version
    asked = [f"{run.path}@main", "--against", f"{run.path}@main:0", "--matches", "4"]
    assert cli.main(["eval", *asked]) == 0
    assert f"run@main:{version} against run@main:0 (initial weights) at" in capsys.readouterr().out
    assert cli.main(["rate", *(asked[0], asked[2]), *asked[3:]]) == 0
    shown = capsys.readouterr()
    assert "run@main:0 (initial weights)" in shown.out
    assert "run@main:0 (initial weights)" in shown.err
    result = ludus.evaluate(f"{run.path}@main:0", "random", matches=2)
    assert result.player == "run@main:0"  # data has the name alone


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mian", "did you mean main?"),
        ("exploter", "did you mean exploiter?"),
        ("lst", "did you mean last?"),
        ("nothing_like_it", "members: exploiter, main"),
        ("mian:last", "did you mean main?"),
        ("exploiter:99999", "did you mean exploiter:"),
        ("99999", "no version '99999'"),
        ("../../etc", "no member"),
    ],
)
def test_an_unknown_name_gets_the_nearest_one(run: RunDirectory, name: str, message: str) -> None:
    with pytest.raises(RunNotFound) as error:
        resolve_weights(f"{run.path}@{name}")
    assert message in str(error.value)


def test_other_commands_take_a_member(run: RunDirectory, tmp_path: Path) -> None:
    newest, name = load_weights(f"{run.path}@main"), f"{run.path}@main"
    assert ludus.load_policy(name).version == newest.meta.version
    assert resolve_player(name, spec("tic_tac_toe")).name == f"run@main:{newest.meta.version}"
    searched = resolve_player(f"{name}+search:4", spec("tic_tac_toe"))
    assert searched.name == f"run@main:{newest.meta.version}+search:4"
    assert expand(name, 12) == [name]
    policy = {"policy__dense": "", "policy__hidden": "8", "run__max_steps": "200"}
    start_run(small_preset(run__start=name, **policy), tmp_path / "start")
    began = RunDirectory.open(tmp_path / "start").start.read_bytes()
    assert began == resolve_weights(name).read_bytes()
    start_run(small_preset(algorithm__teacher=name, **policy), tmp_path / "teacher")
    assert RunDirectory.open(tmp_path / "teacher").teacher.read_bytes() == began
    seeded = preset(league__players__0__seed=name, steps=300)
    start_run(seeded, tmp_path / "seeded")
    first = load_weights(f"{tmp_path / 'seeded'}@main:0")
    assert all(np.array_equal(first.tensors[n], a) for n, a in newest.tensors.items())


def test_members_are_completed(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run.path.parent)
    Path("runs").mkdir(exist_ok=True)
    (Path("runs") / "run").symlink_to(run.path)
    found = candidates(["eval", "runs/run@"])
    wanted = {"best", "last", "main", "main:0", "exploiter", "exploiter:0", "exploiter:last"}
    assert {f"runs/run@{name}" for name in wanted} <= set(found)
    assert "runs/run@main:last" not in found
    assert candidates(["rate", "runs/r"]) == ["runs/run@best", "runs/run@last"]


def test_weights_of_a_member_that_are_lost_are_reported_and_written_again(tmp_path: Path) -> None:
    path = tmp_path / "run"
    start_run(preset(steps=400), path)
    run = RunDirectory.open(path)
    for version in run.checkpoints.versions():
        for file in run.checkpoints.members(version).values():
            file.unlink()
    for name in MEMBERS:
        with pytest.raises(RunNotFound) as error:
            resolve_weights(f"{path}@{name}")
        assert "no weights of this member in the newest checkpoint" in str(error.value)
        assert f"ludus resume {path}" in str(error.value)
    assert resolve_weights(f"{path}@last").name == "weights.safetensors"
    resume_run(path, more=lambda _: preset(steps=800))
    assert_newest(run)
