"""Leagues whose rounds are chosen ahead of results: the same journal each time, also after a resume."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ludus.cli.__main__ import main
from ludus.presets.config import ClusterConfig, Preset
from ludus.presets.document import to_toml
from ludus.presets.errors import ConfigError
from ludus.storage import CorruptFile, RunDirectory
from ludus.training.league.checkpoint import decode_league_state
from ludus.training.league.components import build_league
from ludus.training.machines import LOCAL, JoinedMachines, Machines
from ludus.training.runs import start_run
from tests.unit.training.asking import AskedMachines
from tests.unit.training.runs import Recorder, resume_run

from .test_league_runs import assert_equal_runs, journal_rows, killed_run, league_preset, written
from .test_populations import population


def ahead_of(preset: Preset, rounds: int, every_minutes: float = 0.0) -> Preset:
    """Return ``preset`` with rounds ahead, and checkpoints every few minutes; 0: at its end alone."""
    run = msgspec.structs.replace(preset.run, checkpoint_every_minutes=every_minutes)
    return msgspec.structs.replace(preset, cluster=ClusterConfig(ahead=rounds), run=run)


def played(run: Path) -> list[str]:
    """Members in the order of their rounds."""
    return [str(row[2]) for row in journal_rows(run) if row[1] == "results"]


@pytest.mark.parametrize(("lag", "rounds"), [("sync", 1), ("pipelined", 3)])
def test_samplers_that_play_when_asked_give_the_journal_of_one_process(
    lag: str, rounds: int, tmp_path: Path
) -> None:
    preset = ahead_of(league_preset(lag=lag, steps=1500), rounds)
    start_run(preset, tmp_path / "here")
    machines = AskedMachines()
    often = ahead_of(preset, rounds, every_minutes=0.003)
    start_run(often, tmp_path / "there", machines=machines)
    assert machines.events[: rounds + 2] == ["ask"] * (rounds + 1) + ["play"]
    kinds = {row[1] for row in journal_rows(tmp_path / "here")}
    assert {"frozen", "ordered"} <= kinds
    assert_equal_runs(tmp_path / "here", tmp_path / "there")


def resumed(
    preset: Preset, run: Path, steps: int, machines: Machines = LOCAL, others: Machines | None = None
) -> list[str]:
    """Train ``steps`` of a run, resume it by ``others`` to those of ``preset``, and return its messages."""
    short = msgspec.structs.replace(preset, run=msgspec.structs.replace(preset.run, max_steps=steps))
    start_run(short, run, machines=machines)
    config, recorder = run / "config.toml", Recorder()
    text = config.read_text()
    assert f"max_steps = {steps}" in text
    config.write_text(text.replace(f"max_steps = {steps}", f"max_steps = {preset.run.max_steps}"))
    resume_run(run, machines=others or machines, sinks=[recorder])
    return recorder.messages


@pytest.mark.slow
def test_a_resumed_league_continues_as_one_that_never_stopped(tmp_path: Path) -> None:
    preset = ahead_of(league_preset(lag="pipelined", steps=1500), 2)
    start_run(preset, tmp_path / "whole")
    resumed(preset, tmp_path / "parted", 650)
    resumed(preset, tmp_path / "asked", 650, AskedMachines())
    assert_equal_runs(tmp_path / "whole", tmp_path / "parted")
    assert_equal_runs(tmp_path / "whole", tmp_path / "asked")


@pytest.mark.slow
def test_a_killed_league_ends_as_one_that_never_was(tmp_path: Path) -> None:
    preset = ahead_of(league_preset("tic_tac_toe", "sync", 3000), 2, every_minutes=0.001)
    (tmp_path / "league.toml").write_text(to_toml(preset))
    start_run(preset, tmp_path / "whole")
    rows = written(tmp_path / "whole")
    assert killed_run(tmp_path / "league.toml", tmp_path / "killed", 3, seed=5, rows=rows) == 3
    assert_equal_runs(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.slow
def test_members_whose_weights_or_game_change_play_their_rounds_to_come_again(tmp_path: Path) -> None:
    preset = ahead_of(population(steps=1000), 2)
    start_run(preset, tmp_path / "here")
    machines = AskedMachines()
    start_run(preset, tmp_path / "there", machines=machines)
    assert {"copied", "mutated"} & {row[1] for row in journal_rows(tmp_path / "here")}
    assert machines.events.count("ask") > len(played(tmp_path / "there")) + 2
    assert_equal_runs(tmp_path / "here", tmp_path / "there")


def test_shares_of_members_stay_and_the_rounds_ahead_are_reported_with_their_lag(tmp_path: Path) -> None:
    preset, sink = league_preset(steps=2000), Recorder()
    assert preset.league is not None
    first, second = preset.league.players
    players = (msgspec.structs.replace(first, share=3.0), second)
    preset = msgspec.structs.replace(preset, league=msgspec.structs.replace(preset.league, players=players))
    start_run(ahead_of(preset, 3), tmp_path / "run", sinks=[sink])
    steps = {update.player: update.steps for update in sink.updates}
    assert steps["main"] / steps["exploiter"] == pytest.approx(3.0, rel=0.25)
    assert {update.numbers["cluster/ahead"] for update in sink.updates} == {3.0}
    lags = [update.numbers["lag/max"] for update in sink.updates[3:]]
    assert 0 < max(lags) <= 3


def test_a_run_is_not_resumed_with_another_number_of_rounds_ahead(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    start_run(ahead_of(league_preset(steps=500), 2), run)
    config = run / "config.toml"
    config.write_text(config.read_text().replace("ahead = 2", "ahead = 1"))
    with pytest.raises(ConfigError, match=r"^cluster.ahead = 1: expected 2, as the run started$"):
        resume_run(run)
    assert main(["resume", str(run), "--cluster.ahead", "2"]) == 2
    assert "--cluster.ahead: a resumed run keeps its settings" in capsys.readouterr().err


def test_rounds_to_come_are_chosen_again_where_matches_start_again(tmp_path: Path) -> None:
    preset, run = ahead_of(league_preset(lag="pipelined", steps=1200), 2), tmp_path / "run"
    messages = resumed(preset, run, 650, JoinedMachines(2), LOCAL)
    assert any("it has the matches of 2, now 1 play" in text for text in messages)
    assert len(played(run)) > 8
    checkpoint = RunDirectory.open(run).checkpoints.load_last()[0]
    state = decode_league_state(checkpoint.state)
    assert len(state.scheduled) == 2
    for name, member in state.members.items():
        counts = member.counts
        assert len(counts.arrived) == state.scheduled.count(name)
        waiting = sum(summary.steps for summary in counts.waiting)
        assert counts.received == counts.budget.steps + counts.dropped + waiting


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scheduled": ["main", "Main"]}, "a round of 'Main', who is no member"),
        ({"scheduled": ["main"] * 4}, "4 rounds to come, cluster.ahead = 2"),
        ({"scheduled": "main"}, "Expected `array`"),
        ({"ahead": 0}, "2 rounds to come, cluster.ahead = 0"),
    ],
)
def test_a_checkpoint_with_wrong_rounds_to_come_is_refused(
    change: dict[str, object], message: str, stopped: Path
) -> None:
    checkpoint = RunDirectory.open(stopped).checkpoints.load_last()[0]
    state = msgspec.json.decode(checkpoint.state) | change
    checkpoint.state = msgspec.json.encode(state)
    preset = ahead_of(league_preset(steps=500), 0 if change.get("ahead") == 0 else 2)
    with pytest.raises(CorruptFile, match=message):
        build_league(preset, checkpoint)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A league that is two rounds ahead."""
    run = tmp_path_factory.mktemp("stopped") / "run"
    start_run(ahead_of(league_preset(steps=500), 2), run)
    return run
