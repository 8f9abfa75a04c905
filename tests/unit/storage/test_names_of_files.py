"""Names of files that other systems take, and names of weights that are nearly right."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ludus.evaluation.play import scripted_player
from ludus.flow import MatchResult
from ludus.games import spec
from ludus.presets.errors import ConfigError
from ludus.storage.errors import CorruptFile, RunNotFound
from ludus.storage.files import file_part
from ludus.storage.references import resolve_weights
from ludus.storage.replay_files import keep_replay, prune_replays, replay_name
from ludus.training.run_evaluator import RunEvaluator


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("mcts:400", "mcts-400"),
        ("plan:8x100,opponent=simple", "plan-8x100,opponent=simple"),
        ("main:1200", "main-1200"),
        ("random", "random"),
        ('a/b\\c<d>"|?*e', "a-b-c-d-e"),
        ("runs/x@best+search:9", "runs-x@best+search-9"),
        ("../../etc/passwd", "etc-passwd"),
        ("-rf", "rf"),
        (".hidden.", "hidden"),
        ("CON", "_CON"),
        ("nul.x", "_nul.x"),
        ("console", "console"),
        ("\udcff\u202e", "unnamed"),
        ("", "unnamed"),
    ],
)
def test_a_name_becomes_part_of_a_files_name(name: str, part: str) -> None:
    assert file_part(name) == part


def test_replays_of_a_run_have_no_colon_and_do_not_overwrite_each_other(tmp_path: Path) -> None:
    def match(replay: bytes) -> MatchResult:
        return MatchResult(0, 0, 1, 9, 4, (1.0, -1.0), (1.0, -1.0), ("a", "b"), (0, 1), replay=replay)

    evaluator = object.__new__(RunEvaluator)
    evaluator._recorded = {"mcts:400": [match(b"one")], "mcts-400": [match(b"two")], "random": [match(b"3")]}
    assert evaluator.keep_replays(tmp_path) == []
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {
        "final-mcts-400-1.ludus": b"one",
        "final-mcts-400-1.2.ludus": b"two",
        "final-random-1.ludus": b"3",
    }


def test_long_names_are_bounded_and_stay_apart() -> None:
    parts = [file_part("runs/" + "x" * 300 + end) for end in ("a", "b", "\udcff")]
    assert len(set(parts)) == 3
    assert {len(p) for p in parts} == {80}
    names = [replay_name(*(["x" * 70 + end] * 9)) for end in "ab"]
    assert names[0] != names[1]
    assert max(len(n) for n in names) < 120


def test_a_new_replay_replaces_nothing_and_stays_in_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "played"
    names = [keep_replay(folder, b"%d" % n, "Go", "../../x@main:3", n // 9).name for n in range(3)]
    assert names == ["Go-x@main-3-0.ludus", "Go-x@main-3-0.2.ludus", "Go-x@main-3-0.3.ludus"]
    assert keep_replay(folder, b"3", "gO", "../../x@main:3", 0).name == "gO-x@main-3-0.4.ludus"
    assert [p.name for p in tmp_path.iterdir()] == ["played"]
    assert sorted(p.read_bytes() for p in folder.iterdir()) == [b"0", b"1", b"2", b"3"]


def test_of_replays_with_a_mark_the_newest_stay_and_nothing_else_goes(tmp_path: Path) -> None:
    folder = tmp_path / "played"
    marked = [keep_replay(folder, b"%d" % n, "go", "1200", "watched") for n in range(4)]
    for age, path in enumerate(reversed(marked)):
        os.utime(path, (1e9 - age, 1e9 - age))
    others = [keep_replay(folder, b"x", "go", "1100"), keep_replay(folder, b"x", "go", "watched", "1100")]
    others += [folder / "go-watched.ludus.txt", folder / "unwatched.ludus"]
    for path in others:
        path.write_bytes(b"x")
        os.utime(path, (0, 0))
    (folder / "a-watched.ludus").symlink_to(others[0])
    (folder / "b-watched.ludus").mkdir()
    kept = {*(p.name for p in others), "a-watched.ludus", "b-watched.ludus"}
    assert prune_replays(folder, "watched", 4) == 0
    assert prune_replays(folder, "watched", 2) == 2
    assert {p.name for p in folder.iterdir()} == {*kept, marked[2].name, marked[3].name}
    assert prune_replays(tmp_path / "missing", "watched", 1) == 0


def watched(folder: Path, *parts: object, ahead: float = 0.0) -> Path:
    path = keep_replay(folder, b"x", "go", *parts, "watched")
    os.utime(path, (time.time() + ahead, time.time() + ahead))
    return path


@pytest.mark.parametrize("ahead", [10.0, 3600.0, 1e9])
@pytest.mark.parametrize("named", [False, True])
def test_a_clock_that_jumps_back_removes_no_new_replay(tmp_path: Path, ahead: float, named: bool) -> None:
    """Files from the future were written before the jump: they go first, whatever their number."""

    def write(ahead: float) -> Path:
        at = time.strftime("%Y%m%d-%H%M%S", time.gmtime(time.time() + ahead))
        return watched(tmp_path, next(numbers), *([at] if named else []), ahead=ahead)

    numbers = iter(range(10))  # a name that was removed would be given again
    old = [write(ahead + n) for n in range(3)]
    for number in range(4):
        new = write(-1.0 + number / 10)
        assert prune_replays(tmp_path, "watched", 3) == 1
        assert new.exists()
        assert [path.exists() for path in old] == [n > number for n in range(3)]


def test_the_file_just_written_stays_whatever_the_clock_says(tmp_path: Path) -> None:
    others = [watched(tmp_path, "20200101-000000", ahead=-1e8 + n) for n in range(3)]
    new = watched(tmp_path, "19990101-000000", ahead=-1e9)
    assert prune_replays(tmp_path, "watched", 3, new) == 1
    assert new.exists()
    assert [path.exists() for path in others] == [False, True, True]
    assert prune_replays(tmp_path, "watched", 1, new) == 2
    assert list(tmp_path.iterdir()) == [new]


def test_replays_are_ordered_by_the_time_in_their_names(tmp_path: Path) -> None:
    """A copy changes the time of a file, and may give all files the same one."""
    paths = [watched(tmp_path, f"2026010{day}-120000") for day in range(1, 5)]
    paths += [watched(tmp_path, "20260104-120000") for _ in range(11)]
    for path in paths:
        os.utime(path, (1.7e9, 1.7e9))
    os.utime(paths[0], (1.71e9, 1.71e9))
    assert paths[-1].name.endswith(".12.ludus")
    assert prune_replays(tmp_path, "watched", 4) == 11
    assert {p.name for p in tmp_path.iterdir()} == {p.name for p in paths[-4:]}


def test_a_new_replay_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "played").symlink_to(tmp_path / "real")
    with pytest.raises(CorruptFile, match="a link"):
        keep_replay(tmp_path / "played", b"1", "a")
    (tmp_path / "real" / "a.ludus").symlink_to(tmp_path / "elsewhere")
    assert keep_replay(tmp_path / "real", b"1", "a").name == "a.2.ludus"
    assert not (tmp_path / "elsewhere").exists()


def test_a_replay_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ludus.storage.replay_files.os.link", full)
    with pytest.raises(OSError, match="No space left"):
        keep_replay(tmp_path, b"1", "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("runs/x@best+serch:200", r"unknown \+serch:200 \(did you mean \+search:200\?\)"),
        ("runs/x@main:3+saerch:50", r"unknown \+saerch:50 \(did you mean \+search:50\?\)"),
        ("runs/x@120+seach", r"unknown \+seach \(did you mean \+search:VISITS\?\)"),
        ("runs/x@best+tree:7", r"unknown \+tree:7 \(expected \+search:7 behind weights\)"),
    ],
)
def test_a_misspelt_search_behind_weights_is_named(text: str, message: str) -> None:
    with pytest.raises(RunNotFound, match=message):
        resolve_weights(text)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("mcst:400", "mcts:400"),
        ("mct:400,c_puct=2", "mcts:400,c_puct=2"),
        ("pln:8x100", "plan:8x100"),
        ("w.safetensors+serch:9", r"w\.safetensors\+search:9"),
        ("rnadom", "random"),
    ],
)
def test_a_misspelt_player_is_named(name: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=rf"\(did you mean {meant}\?\)"):
        scripted_player(name, spec("tic_tac_toe"), 1)
