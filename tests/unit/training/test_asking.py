"""Slabs are asked for before evaluations and checkpoints, so that other machines play meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ludus.presets.config import Preset
from ludus.presets.file import parse_preset
from ludus.storage.checkpoints import CheckpointStore
from ludus.training.evaluations import Evaluations
from ludus.training.runs import start_run

from .asking import AskedMachines
from .league.test_league_runs import LEAGUE, assert_equal_runs
from .runs import small_preset
from .test_runs import last_weights, same_weights

SHORT: dict[str, object] = {
    "run__max_steps": 400,
    "run__checkpoint_every_minutes": 0.0000001,
    "evaluation__every_steps": 150,
    "evaluation__matches": 2,
    "evaluation__final_matches": 0,
    "evaluation__initial": "false",
}


def league(lag: str) -> Preset:
    settings = {key.replace("__", "."): str(value) for key, value in SHORT.items()}
    text = LEAGUE.format(game="tic_tac_toe", lag=lag, steps=400)
    return parse_preset(text.encode(), "league", overrides=settings).preset


def single(lag: str) -> Preset:
    return small_preset(**SHORT, run__lag=lag, opponents__0__name="past", policy__memory="gru")


@pytest.mark.parametrize(
    ("make", "lag"),
    [
        (single, "sync"),
        pytest.param(single, "pipelined", marks=pytest.mark.slow),
        (league, "pipelined"),
    ],
)
def test_a_slab_is_asked_for_before_the_evaluation_and_the_writing_of_the_checkpoint(
    make: Callable[[str], Preset], lag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_run(make(lag), tmp_path / "here")
    machines = AskedMachines()
    events = machines.events
    evaluate, save = Evaluations.evaluate, CheckpointStore.save

    def noted_evaluate(self: Evaluations) -> None:
        events.append("evaluate")
        evaluate(self)

    def noted_save(self: CheckpointStore, *arguments: object) -> object:
        events.append("write")
        return save(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Evaluations, "evaluate", noted_evaluate)
    monkeypatch.setattr(CheckpointStore, "save", noted_save)
    start_run(make(lag), tmp_path / "there", machines=machines)
    text = " ".join(events)
    assert "ask write evaluate play" in text
    assert "play evaluate" not in text
    assert events.count("ask") == events.count("play") > 5
    assert "ask" not in text.rpartition("play")[2]  # nothing is asked for at the end
    if make is league:
        assert_equal_runs(tmp_path / "here", tmp_path / "there")
    assert same_weights(last_weights(tmp_path / "here"), last_weights(tmp_path / "there"))


def test_a_checkpoint_that_was_not_written_leaves_the_slab_to_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk refuses checkpoints after the slab was asked for; the run ends as another one."""
    start_run(single("pipelined"), tmp_path / "here")
    save = CheckpointStore.save
    refused: list[CheckpointStore] = []

    def full(self: CheckpointStore, *arguments: object) -> object:
        if len(refused) < 3:
            refused.append(self)
            raise OSError(28, "No space left on device")
        return save(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(CheckpointStore, "save", full)
    machines = AskedMachines()
    start_run(single("pipelined"), tmp_path / "there", machines=machines)
    assert len(refused) == 3
    assert machines.events.count("ask") == machines.events.count("play")
    assert same_weights(last_weights(tmp_path / "here"), last_weights(tmp_path / "there"))
