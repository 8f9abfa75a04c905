"""Runs of small leagues: who played, what was frozen, and a killed run that ends as one never killed."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ludus.league.config import LeagueConfig
from ludus.league.league import League
from ludus.presets.config import Preset
from ludus.presets.file import parse_preset, to_toml
from ludus.storage import RunDirectory
from ludus.storage.journal import Journal
from ludus.train.api import start_run
from tests.unit.train.runs import Recorder

LEAGUE = """
[game]
name = "{game}"
[pool]
slots = 16
rollout_length = 8
threads = 1
[policy]
dense = []
hidden = [8]
[algorithm]
learning_rate = 1e-2
minibatches = 1
[evaluation]
every_steps = 0
matches = 0
final_matches = 0
[run]
max_steps = {steps}
lag = "{lag}"
threads = 2
checkpoint_every_minutes = 0.001
precision = "float32"
[league]
rating_share = 0.1
[[league.players]]
name = "main"
role = "pfsp"
freeze = {{rule = "period", steps = 400}}
[[league.players]]
name = "exploiter"
role = "main_exploiter"
freeze = {{rule = "beats", against = ["mains"], min_steps = 300, max_steps = 600}}
"""


def league_preset(game: str = "matrix", lag: str = "sync", steps: int = 4000) -> Preset:
    return parse_preset(LEAGUE.format(game=game, lag=lag, steps=steps).encode(), "league").preset


def journal_rows(run: Path) -> list[tuple[object, ...]]:
    """All rows without the clock."""
    with Journal.read(RunDirectory.open(run).league) as journal:
        return [(r.number, r.kind, r.member, r.body, r.tallies) for r in journal.rows()]


def test_members_play_learn_and_freeze(tmp_path: Path) -> None:
    sink = Recorder()
    result = start_run(league_preset(), tmp_path / "run", sinks=[sink])
    run = RunDirectory.open(tmp_path / "run")
    assert result.steps >= 4000
    players = {update.player for update in sink.updates}
    assert players == {"main", "exploiter"}
    steps = {name: max(u.steps for u in sink.updates if u.player == name) for name in players}
    assert abs(steps["main"] - steps["exploiter"]) <= 2 * 16 * 8
    assert len(run.frozen.versions("main")) >= 4
    assert run.frozen.versions("exploiter")[0] == 0
    assert run.checkpoints.load_last()[0].version == result.version


def test_the_journal_gives_the_live_state(tmp_path: Path) -> None:
    preset = league_preset()
    start_run(preset, tmp_path / "run")
    config = preset.league
    assert isinstance(config, LeagueConfig)
    league = League(config, preset.run.seed)
    with Journal.read(tmp_path / "run" / "league.sqlite") as journal:
        league.replay(journal.rows())
    assert not league.ignored
    kinds = {row[1] for row in journal_rows(tmp_path / "run")}
    assert kinds >= {"joined", "ordered", "results", "frozen", "reset"}
    tags = {tag for _, _, _, tag in league.counts}
    assert tags >= {"pfsp", "latest", "main", "rating"}


def assert_equal_runs(one: Path, other: Path) -> None:
    first, _ = RunDirectory.open(one).checkpoints.load_last()
    second, _ = RunDirectory.open(other).checkpoints.load_last()
    assert first.version == second.version
    for a, b in (
        (first.weights.tensors, second.weights.tensors),
        (first.optimizer, second.optimizer),
        (first.rollout, second.rollout),
    ):
        assert a.keys() == b.keys()
        assert [name for name in a if not np.array_equal(a[name], b[name], equal_nan=True)] == []
    assert journal_rows(one) == journal_rows(other)


def killed_run(preset: Path, run: Path, kills: int, seed: int) -> int:
    """Trains and resumes in processes that are killed at random moments. Gives how many were."""
    rng, killed = random.Random(seed), 0
    ludus = [sys.executable, "-m", "ludus"]
    words = ["train", str(preset), "--run-dir", str(run)]
    while True:
        process = subprocess.Popen([*ludus, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            limit = 2.5 + 2.5 * rng.random() if killed < kills else None
            _, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            killed += 1
            if (run / "run.json").exists():
                words = ["resume", str(run)]
            continue
        assert process.returncode == 0, errors.decode()
        return killed


@pytest.mark.parametrize(("game", "lag"), [("matrix", "sync"), ("tic_tac_toe", "pipelined")])
def test_a_killed_league_ends_as_one_that_never_was(tmp_path: Path, game: str, lag: str) -> None:
    preset = league_preset(game, lag, 6000)
    (tmp_path / "league.toml").write_text(to_toml(preset))
    start_run(preset, tmp_path / "whole")
    killed = killed_run(tmp_path / "league.toml", tmp_path / "killed", 2, seed=len(game))
    assert killed == 2
    assert_equal_runs(tmp_path / "whole", tmp_path / "killed")
