"""The last lines of a run are commands, whatever became of its replays."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.cli.commands.train import next_steps
from ludus.evaluation.evaluate import evaluate
from ludus.evaluation.settings import MatchSettings
from ludus.flow import MatchResult
from ludus.reporting.floors import Floors
from ludus.training.runs import RunResult

DAMAGED = {"empty": b"", "zeros": bytes(500), "words": b"a text", "short": b"LUDUSREC", "python": b"LUDUSREP"}


@pytest.fixture(scope="module")
def whole() -> bytes:
    found: list[MatchResult] = []
    evaluate("random", "random", MatchSettings(matches=1, record=1), game="tic_tac_toe", keep=found.append)
    return found[0].replay


@pytest.mark.parametrize("damage", [*DAMAGED, "cut", "tail"])
def test_a_replay_that_a_full_disk_has_cut_off_is_left_out(damage: str, whole: bytes, tmp_path: Path) -> None:
    (tmp_path / "replays").mkdir()
    cut = {"cut": whole[: len(whole) // 2], "tail": whole[:-1]}
    (tmp_path / "replays" / "final-random-1.ludus").write_bytes({**DAMAGED, **cut}[damage])
    run = RunResult(str(tmp_path), "", 1, 1, 1, 1, 1.0, (), Floors(), "", {"run.max_steps": "2"})
    lines = next_steps(run, "tic_tac_toe")
    assert [line.split()[1] for line in lines] == ["eval", "resume"]
    (tmp_path / "replays" / "final-random-2.ludus").write_bytes(whole)
    lines = next_steps(run, "tic_tac_toe")
    assert [line.split()[1] for line in lines] == ["eval", "replay", "resume"]
    assert lines[1].endswith("final-random-2.ludus")
