"""Lines of records are played again from kept weights, and weights of version 0 are drawn again."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

pytest.importorskip("torch")

from ludus.policies.weights import load_weights
from ludus.presets.file import load_preset
from ludus.storage import resolve_weights
from ludus.training.runs import start_run
from tools import replay_line
from tools.kept_weights import MAX_FILE, TooLarge, first_weights_of, keep, kept_path, opened
from tools.play_lines import run_of
from tools.raw_lines import Line, counted, sampled
from tools.records import Record

TINY = {
    "algorithm.learning_rate": "1e-30",
    "evaluation.every_steps": "0",
    "evaluation.final_matches": "0",
    "evaluation.initial": "false",
    "pool.slots": "8",
    "pool.groups": "1",
    "pool.rollout_length": "8",
    "policy.dense": "[8]",
    "policy.hidden": "[8]",
    "algorithm.minibatches": "1",
    "run.max_minutes": "0",
    "run.max_steps": "100",
    "run.seed": "7",
    "run.threads": "1",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run whose weights hardly differ from its initial ones."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    start_run(load_preset("tic_tac_toe", TINY).preset, folder)
    return folder


def test_weights_of_version_0_are_those_that_the_run_started_with(run: Path) -> None:
    first, last = first_weights_of(run), load_weights(resolve_weights(f"{run}@last"))
    assert first.meta.version == 0 < last.meta.version
    # The value head is rescaled with its normaliser, at any learning rate.
    names = [n for n in first.tensors if n.endswith(("weight", "bias")) and not n.startswith("value")]
    assert len(names) > 3
    for name in names:
        assert np.allclose(first.tensors[name], last.tensors[name], atol=1e-7), name


def test_kept_weights_are_rounded_and_small_and_load_again(run: Path, tmp_path: Path) -> None:
    half, whole = keep(f"{run}@last", tmp_path), keep(f"{run}@last", tmp_path, half=False)
    sizes = [kept_path(digest, tmp_path).stat().st_size for digest in (half, whole)]
    assert sizes[0] < sizes[1] < MAX_FILE
    source = load_weights(resolve_weights(f"{run}@last"))
    for digest, near in ((half, 1e-3), (whole, 0.0)):
        with opened(digest, tmp_path) as path:
            found = load_weights(path)
        assert found.meta == source.meta
        for name, array in source.tensors.items():
            assert np.allclose(found.tensors[name], array, rtol=near, atol=near / 100), name


def test_a_network_that_is_too_large_is_not_kept(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.kept_weights.MAX_FILE", 100)
    with pytest.raises(TooLarge, match="expected at most 100"):
        keep(f"{run}@last", tmp_path)
    made = run_of(f"{run}@last", "ludus train tic_tac_toe --run.seed S", folder=tmp_path)
    assert made.unkept > 100
    assert (made.weights, made.initial, made.seed) == ("", "", 7)
    assert made.command == "ludus train tic_tac_toe --run.seed 7"


def compared(
    old: Line, new: Line, monkeypatch: pytest.MonkeyPatch, machine: str = "2 cores of X", **fields: object
) -> tuple[bool, str]:
    record = Record(3, "learning", "T", (), (), "", "", machine)
    monkeypatch.setattr(replay_line, "again", lambda *_: new)
    monkeypatch.setattr(replay_line, "machine", lambda: "16 cores of X")
    return replay_line.compare(record, msgspec.structs.replace(old, **fields), Path())


def test_the_same_kind_of_processor_must_play_the_same_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = counted("a", "w" * 50 + "l" * 50), counted("a", "w" * 49 + "l" * 51)
    assert compared(old, old, monkeypatch)[0]
    good, text = compared(old, new, monkeypatch)
    assert not good
    assert text.startswith("1 of 100 matches differ")


@pytest.mark.parametrize(("won", "good"), [(50, True), (46, True), (44, False), (0, False)])
def test_another_processor_may_play_a_few_matches_otherwise(
    won: int, good: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = counted("a", "w" * 50 + "l" * 50), counted("a", "w" * won + "l" * (100 - won))
    found, text = compared(old, new, monkeypatch, machine="2 cores of Y")
    assert found == good
    assert won == 50 or "this is 16 cores of X, the record's machine 2 cores of Y" in text


@pytest.mark.parametrize(("won", "good"), [(45, True), (5, False)])
def test_a_player_with_a_limit_of_time_is_compared_by_its_rate(
    won: int, good: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = counted("a", "wl" * 50), counted("a", "w" * won + "l" * (100 - won))
    assert compared(old, new, monkeypatch, player="plan:8x100,seconds=1.8")[0] == good


def test_returns_are_compared_match_by_match(monkeypatch: pytest.MonkeyPatch) -> None:
    old = sampled("a", [1.0, 2.0, 3.0])
    assert compared(old, sampled("a", [1.0, 2.0, 3.00001]), monkeypatch)[0]
    assert not compared(old, sampled("a", [1.0, 2.0, 3.1]), monkeypatch)[0]
    assert not compared(old, sampled("a", [1.0, 2.0]), monkeypatch)[0]


def test_a_record_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        replay_line.main(["--results", str(tmp_path), "--record", "nothing"])
    assert ended.value.code == 2
    assert "nothing: no record" in capsys.readouterr().err
    assert replay_line.main(["--results", str(tmp_path)]) == 0
    assert "no record has matches" in capsys.readouterr().out


@pytest.mark.slow
def test_a_line_of_each_record_is_played_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert replay_line.main(["--all-records"]) == 0, capsys.readouterr().err
