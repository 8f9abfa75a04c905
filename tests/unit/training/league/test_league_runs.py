"""Runs of small leagues: who played, what was frozen, and a killed run that ends as one never killed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from ludus.flow import Weights
from ludus.flow.slab import Array
from ludus.league.config import LeagueConfig
from ludus.league.league import League
from ludus.presets.config import Preset
from ludus.presets.document import to_toml
from ludus.presets.file import parse_preset
from ludus.storage import CorruptFile, RunDirectory
from ludus.storage.errors import StorageError
from ludus.storage.journal import Journal
from ludus.training.actor_learner.learner_threads import LearnerThreads
from ludus.training.actor_learner.seating import PlayerLost
from ludus.training.league.components import LeagueComponents
from ludus.training.runs import start_run
from tests.unit.training.runs import Recorder, resume_run

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


def league_preset(game: str = "matrix", lag: str = "sync", steps: int = 4000, **changes: str) -> Preset:
    """``changes``: of the exploiter's settings."""
    options = {f"league.players.1.{key.replace('__', '.')}": text for key, text in changes.items()}
    text = LEAGUE.format(game=game, lag=lag, steps=steps)
    return parse_preset(text.encode(), "league", overrides=options).preset


def journal_rows(run: Path) -> list[tuple[object, ...]]:
    """All rows without the clock."""
    with Journal.read(RunDirectory.open(run).league) as journal:
        return [(r.number, r.kind, r.member, r.body, r.tallies) for r in journal.rows()]


class NoPlayers:
    """Frozen players of a league that freezes none."""

    def load(self, player: str) -> Weights:
        raise PlayerLost(player, "no such player")

    def keep(self, player: str, weights: Weights) -> None:
        raise AssertionError(player)


def start_members(league: LeagueComponents, threads: LearnerThreads) -> None:
    """Gets members ready to play without a run directory."""

    def lost(error: PlayerLost) -> None:
        raise error

    league.start(threads, NoPlayers(), lambda member, count: None, lost)


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


@pytest.mark.slow
def test_more_players_may_play_than_are_kept_in_memory(tmp_path: Path) -> None:
    """The networks that orders need are not dropped for each other, and a small cache changes nothing."""
    text = LEAGUE.format(game="matrix", lag="sync", steps=4000).replace("steps = 400}", "steps = 130}")
    for cache in (1, 64):
        sized = text.replace("[league]", f"[league]\ncache = {cache}").replace('"pfsp"', '"fsp"')
        start_run(parse_preset(sized.encode(), "league").preset, tmp_path / str(cache))
    assert len(RunDirectory.open(tmp_path / "1").frozen.versions("main")) > 5
    assert_equal_runs(tmp_path / "1", tmp_path / "64")


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
    """Equal weights, optimisers, matches, data in flight and journals; rows that do not act hold anything."""
    first, _ = RunDirectory.open(one).checkpoints.load_last()
    second, _ = RunDirectory.open(other).checkpoints.load_last()
    assert first.version == second.version
    for a, b in (
        (first.weights.tensors, second.weights.tensors),
        (first.optimizer, second.optimizer),
        (in_use(first.rollout), in_use(second.rollout)),
    ):
        assert a.keys() == b.keys()
        assert [name for name in a if not np.array_equal(a[name], b[name], equal_nan=True)] == []
    assert journal_rows(one) == journal_rows(other)


def in_use(rollout: Mapping[str, Array]) -> dict[str, Array]:
    """Observations, masks and actions of a slab where a row acts; everything else as it is."""
    kept = dict(rollout)
    for name, array in rollout.items():
        member, _, field = name.partition("/")
        slab, _, field = field.partition(".")
        if slab.startswith("slab") and (field.startswith("obs.") or field in ("mask", "actions")):
            kept[name] = array[rollout[f"{member}/{slab}.active"][: len(array)] != 0]
    return kept


def written(run: Path) -> int:
    """Number of the journal's newest row, 0 where there is none yet."""
    try:
        with Journal.read(run / "league.sqlite") as journal:
            return journal.last
    except (OSError, StorageError):
        return 0


# ludus that kills itself once a row of the journal is written, at once or when it next syncs a file for the
# n-th time. A process that watched from outside would be late on a busy machine.
KILLED = """
import os, signal, sys
from ludus.cli.__main__ import main
from ludus.storage.journal import Journal

row, syncs, reached = int(sys.argv[1]), int(sys.argv[2]), False
flush, fsync = Journal.flush, os.fsync

def kill():
    os.kill(os.getpid(), signal.SIGKILL)

def flushed(journal):
    global reached
    done, reached = flush(journal), journal.last >= row
    if reached and not syncs:
        kill()
    return done

def synced(descriptor):
    global syncs
    syncs -= reached
    if reached and syncs <= 0:
        kill()
    fsync(descriptor)

Journal.flush, os.fsync = flushed, synced
sys.exit(main(sys.argv[3:]))
"""


def killed_run(preset: Path, run: Path, kills: int, seed: int, rows: int) -> int:
    """Trains and resumes in processes killed at random rows of the journal. Returns how many were."""
    generator = random.Random(seed)
    targets = sorted(generator.sample(range(1, rows * 9 // 10), kills))
    words, killed = ["train", str(preset), "--run-dir", str(run)], 0
    for target in [*targets, 10 * rows]:
        watched = [sys.executable, "-c", KILLED, str(target), str(generator.randrange(5))]
        process = subprocess.run([*watched, *words], capture_output=True, timeout=250, check=False)
        assert process.returncode in (0, -signal.SIGKILL), process.stderr.decode()
        killed += process.returncode != 0
        words = ["resume", str(run)] if (run / "run.json").exists() else words
    assert process.returncode == 0
    return killed


@pytest.mark.parametrize(
    ("game", "lag"), [pytest.param("matrix", "sync", marks=pytest.mark.slow), ("tic_tac_toe", "pipelined")]
)
def test_a_killed_league_ends_as_one_that_never_was(tmp_path: Path, game: str, lag: str) -> None:
    preset = league_preset(game, lag, 1800)
    (tmp_path / "league.toml").write_text(to_toml(preset))
    start_run(preset, tmp_path / "whole")
    killed = killed_run(
        tmp_path / "league.toml", tmp_path / "killed", 2, seed=len(game), rows=written(tmp_path / "whole")
    )
    assert killed == 2
    assert_equal_runs(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("game", "lag", "steps"), [("matrix", "pipelined", 20000), ("tic_tac_toe", "sync", 20000)]
)
def test_a_league_killed_ten_times_ends_as_one_that_never_was(
    tmp_path: Path, game: str, lag: str, steps: int
) -> None:
    # One of them is reset to frozen players, with their optimisers, and learns the value alone first.
    resets = {"from__rule": "best", "value_only_updates": "2"} if game == "matrix" else {}
    preset = league_preset(game, lag, steps, **resets)
    (tmp_path / "league.toml").write_text(to_toml(preset))
    start_run(preset, tmp_path / "whole")
    rows = written(tmp_path / "whole")
    seed = steps + len(lag)
    assert killed_run(tmp_path / "league.toml", tmp_path / "killed", 10, seed, rows) == 10
    assert_equal_runs(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.slow
def test_rows_wait_while_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run continues without checkpoints; once there is room, nothing is missing."""
    start_run(league_preset(), tmp_path / "whole")
    sink, flush, refused = Recorder(), Journal.flush, [0]

    def full(journal: Journal) -> bool:
        if 12 < journal.last < 32:
            refused[0] += 1
            journal.problem = "disk full"
            return False
        return flush(journal)

    monkeypatch.setattr(Journal, "flush", full)
    start_run(league_preset(), tmp_path / "run", sinks=[sink])
    assert refused[0] > 5
    assert any("disk full" in text for text in sink.messages)
    assert_equal_runs(tmp_path / "whole", tmp_path / "run")


def test_a_damaged_journal_is_reported_and_nothing_changes(tmp_path: Path) -> None:
    start_run(league_preset(steps=500), tmp_path / "run")
    run = RunDirectory.open(tmp_path / "run")
    run.league.write_bytes(b"no database")
    before = {path: path.read_bytes() for path in (run.config, run.metrics_path, run.league)}
    with pytest.raises(CorruptFile, match=r"league\.sqlite"):
        resume_run(tmp_path / "run", more=lambda p: p)
    assert before == {path: path.read_bytes() for path in before}


def test_evaluations_are_of_the_first_main(tmp_path: Path) -> None:
    settings = {"evaluation.matches": "20", "evaluation.every_steps": "200", "evaluation.final_matches": "20"}
    text = LEAGUE.format(game="matrix", lag="pipelined", steps=1000)
    sink = Recorder()
    start_run(
        parse_preset(text.encode(), "league", overrides=settings).preset, tmp_path / "run", sinks=[sink]
    )
    assert {evaluation.player for evaluation in sink.evaluations} == {"main"}
    assert {r.against for e in sink.evaluations for r in e.results} == {"random", "first", "last"}
    assert RunDirectory.open(tmp_path / "run").checkpoints.resolve("best") in [
        evaluation.version for evaluation in sink.evaluations
    ]


def test_a_seed_is_needed_at_the_start_only(tmp_path: Path) -> None:
    start_run(league_preset(steps=300), tmp_path / "first")
    source = RunDirectory.open(tmp_path / "first").frozen.path("main", 0)
    seed = tmp_path / "seed.safetensors"
    seed.write_bytes(source.read_bytes())
    text = LEAGUE.format(game="matrix", lag="sync", steps=600)
    text = text.replace('role = "pfsp"', f'role = "pfsp"\nseed = "{seed}"')
    start_run(parse_preset(text.encode(), "league").preset, tmp_path / "run")
    started = RunDirectory.open(tmp_path / "run").frozen.load("main", 0).tensors
    given = RunDirectory.open(tmp_path / "first").frozen.load("main", 0).tensors
    assert all(np.array_equal(started[name], given[name]) for name in given)
    seed.unlink()
    resume_run(tmp_path / "run")
