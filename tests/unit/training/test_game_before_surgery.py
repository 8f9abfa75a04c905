"""Surgery that adds old rules to a run, changes their schedule, or widens a network in its middle."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ludus.cli.__main__ import main
from ludus.presets.config import Preset
from ludus.presets.document import to_toml
from ludus.presets.errors import Interrupted
from ludus.training.runs import start_run
from ludus.training.surgery.operate import Operation, Request
from ludus.training.surgery.source import read_source
from tests.unit.training.runs import resume_run

from .runs import Recorder, small_preset
from .test_game_before import MEMORY, SHORT, files, two_rules, updates
from .test_runs import InterruptAt


def cut(preset: Preset, run: Path, update: int = 6) -> Path:
    with pytest.raises(Interrupted):
        start_run(preset, run, sinks=[InterruptAt(update)])
    return run


def operated(run: Path, preset: Preset, new: Path) -> Operation:
    operation = Operation(read_source(f"{run}@last"), Request(preset, settle=0))
    operation.prepare()
    operation.write(new)
    return operation


@pytest.mark.slow
def test_a_run_with_old_rules_carried_over_to_itself_ends_as_uncut(tmp_path: Path) -> None:
    preset = two_rules(**MEMORY, run__lag="pipelined")
    start_run(preset, tmp_path / "whole")
    run = cut(preset, tmp_path / "run")
    assert operated(run, preset, tmp_path / "same").new_matches == ""
    resume_run(tmp_path / "same")
    assert files(tmp_path / "same") == files(tmp_path / "whole")
    shares = [row["game/before_share"] for row in updates(tmp_path / "whole")]
    assert [row["game/before_share"] for row in updates(tmp_path / "same")] == shares[6:]


def test_a_wider_memory_continues_the_matches_of_both_rules(tmp_path: Path) -> None:
    preset = two_rules(**MEMORY, policy__norm="none", run__lag="pipelined")
    run = cut(preset, tmp_path / "run")
    wide = two_rules(**{**MEMORY, "policy__memory_size": 16}, policy__norm="none", run__lag="pipelined")
    operation = operated(run, wide, tmp_path / "wide")
    assert operation.new_matches == ""
    names = {f"{rules}.collector.memory.0" for rules in ("now", "before")}
    stored = operation.checkpoint.rollout
    assert names <= stored.keys()
    assert {stored[name].shape[-1] for name in names} == {16}
    recorder = Recorder()
    resume_run(tmp_path / "wide", sinks=[recorder])
    shares = [update.numbers["game/before_share"] for update in recorder.updates]
    assert 0.0 < shares[0] < 1.0
    assert shares == sorted(shares, reverse=True)


def test_new_rules_start_by_degrees_in_the_middle_of_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    longer: dict[str, object] = {"run__lag": "sync", "run__max_steps": 2400}
    old = small_preset(**{**SHORT, **longer}, game__params__opens="seat1")
    run = cut(old, tmp_path / "run")
    (tmp_path / "new.toml").write_text(to_toml(two_rules(**longer, game__before__until=0.5)))
    new, to = str(tmp_path / "new"), str(tmp_path / "new.toml")
    command = ["surgery", f"{run}@last", "--to", to, "--run-dir", new]
    assert main([*command, "--plan"]) == 0
    said = capsys.readouterr()
    assert "start again: surgery changed game." in said.out
    assert "old rules (game.before) in 100% of the slabs, 0% after 50% of the budget" in said.err
    assert main(command) == 0
    resume_run(tmp_path / "new")
    rows = updates(tmp_path / "new")
    start = float(str(updates(run)[-1]["progress"]))
    assert 0.2 < start < 0.5
    before = [start, *(float(str(row["progress"])) for row in rows[:-1])]  # when the slab was collected
    expected = [max(0.0, 1.0 - 2.0 * (p - start) / (1.0 - start)) for p in before]
    assert [row["game/before_share"] for row in rows] == pytest.approx(expected)
    assert (expected[0], expected[-1]) == (1.0, 0.0)


def test_another_schedule_starts_where_the_run_is_and_keeps_the_matches(tmp_path: Path) -> None:
    run = cut(two_rules(run__lag="sync"), tmp_path / "run")
    operation = operated(run, two_rules(run__lag="sync", game__before__share=0.25), tmp_path / "new")
    assert operation.new_matches == ""
    resume_run(tmp_path / "new")
    assert updates(tmp_path / "new")[0]["game/before_share"] == 0.25


def test_no_old_rules_any_more_start_new_matches(tmp_path: Path) -> None:
    run = cut(two_rules(run__lag="sync"), tmp_path / "run")
    operation = operated(run, small_preset(**SHORT, run__lag="sync"), tmp_path / "new")
    assert operation.new_matches.startswith("surgery changed game.before")
    assert msgspec.json.decode(operation.checkpoint.state)["before"] is None
    resume_run(tmp_path / "new")
    assert not any(key.startswith("game/") for row in updates(tmp_path / "new") for key in row)
