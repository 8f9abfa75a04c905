"""The leagues of matches with several seats, as shipped for ViZDoom, on a small game in its place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ludus.flow import MatchResult
from ludus.games.names import typed
from ludus.league import config as cfg
from ludus.league.league_matchmaker import LeagueMatchmaker
from ludus.policies.config import EncoderConfig
from ludus.presets.config import GameConfig, Preset, RunConfig
from ludus.presets.document import to_toml
from ludus.presets.file import load_preset
from ludus.storage import RunDirectory
from ludus.storage.journal import Journal
from ludus.storage.references import load_weights
from ludus.training.runs import start_run
from tests.unit.training.league.test_league_runs import assert_equal_runs, killed_run, written
from tests.unit.training.runs import Recorder, resume_run

ARENA = typed("tests.scored_games:Arena")
SMALL = EncoderConfig(dense=(), hidden=(8,), memory="lstm", memory_size=4, norm="none")


def arena(name: str, players: int, steps: int, **league: object) -> Preset:
    """Return a shipped preset that plays matches of 20 ticks; ``league``: of its first entry."""
    options = {
        "pool.slots": "4",
        "pool.rollout_length": "8",
        "evaluation.every_steps": "0",
        "evaluation.initial": "false",
        "evaluation.final_matches": "6",
        "run.max_minutes": "0",
        "run.max_steps": str(steps),
        "run.threads": "2",
        "run.lag": "sync",
        "run.precision": "float32",
    }
    preset = load_preset(name, options).preset
    game = GameConfig(name=ARENA, params={"players": players, "ticks": 20})
    preset = msgspec.structs.replace(preset, game=game, policy=SMALL)
    if not league or preset.league is None:
        return preset
    entry = msgspec.structs.replace(preset.league.players[0], **league)
    return msgspec.structs.replace(preset, league=msgspec.structs.replace(preset.league, players=(entry,)))


def cig(steps: int, **league: object) -> Preset:
    return arena("vizdoom-cig", 4, steps, **{"freeze": cfg.Period(steps=100), **league})


class Line:
    """The players of every match that a league counted."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.matches: list[tuple[str, ...]] = []
        before, line = LeagueMatchmaker.on_results, self

        def on_results(matchmaker: LeagueMatchmaker, results: Sequence[MatchResult]) -> None:
            orders = {order.number: order.players for order in matchmaker.book.orders()}
            line.matches += [orders[result.tag - 1] for result in results if result.tag]
            before(matchmaker, results)

        patch.setattr(LeagueMatchmaker, "on_results", on_results)


def test_each_seat_of_a_match_draws_its_player(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line, sink = Line(monkeypatch), Recorder()
    start_run(cig(1500), tmp_path / "run", sinks=[sink])
    frozen = [tuple(p for p in match if ":" in p) for match in line.matches]
    assert all(match[0] == "main" and len(match) == 4 for match in line.matches)
    assert max(len(set(players)) for players in frozen) >= 2  # not one opponent for all seats
    assert {p for players in frozen for p in players} > {"main:0"}
    assert {seat for match in line.matches for seat, p in enumerate(match) if ":" in p} == {1, 2, 3}
    final = sink.evaluations[-1]
    assert [(r.against, r.matches, r.errors) for r in final.results] == [("random", 6, 0)]
    with Journal.read(tmp_path / "run" / "league.sqlite") as journal:
        met = {tally.opponent for row in journal.rows() for tally in row.tallies}
    assert met == {p for match in line.matches for p in match[1:]}


def test_the_second_stage_continues_from_the_first(tmp_path: Path) -> None:
    start_run(arena("vizdoom-cig-navigation", 1, 100), tmp_path / "navigation")
    weights = f"{tmp_path / 'navigation'}@last"
    start_run(cig(100, seed=weights), tmp_path / "run")
    first = RunDirectory.open(tmp_path / "run").frozen.load("main", 0).tensors
    given = load_weights(weights).tensors
    assert first.keys() == given.keys()
    assert all(np.array_equal(first[name], given[name]) for name in given)


@pytest.mark.slow
def test_killed_it_ends_as_one_that_never_was(tmp_path: Path) -> None:
    preset = cig(1500)
    run = msgspec.structs.replace(preset.run, checkpoint_every_minutes=0.001)
    preset = msgspec.structs.replace(preset, run=run)
    (tmp_path / "cig.toml").write_text(to_toml(preset))
    start_run(preset, tmp_path / "whole")
    rows = written(tmp_path / "whole")
    assert killed_run(tmp_path / "cig.toml", tmp_path / "killed", 2, seed=3, rows=rows) == 2
    assert_equal_runs(tmp_path / "whole", tmp_path / "killed")


RATE = cfg.Tune(low=1e-6, high=1e-1, start=(1e-6, 3e-2, 1e-6, 3e-2))
LENGTH = cfg.Tune(
    low=5, high=40, integer=True
)  # in the place of the rewards' factors: a parameter of the game


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tune", "steps"),
    [
        ({"algorithm.learning_rate": RATE}, 1600),
        ({"algorithm.learning_rate": RATE, "game.params.ticks": LENGTH}, 5000),
    ],
)
def test_a_population_of_duels_exchanges_weights_and_settings(
    tmp_path: Path, tune: dict[str, cfg.Tune], steps: int
) -> None:
    preset = arena("vizdoom-duel-pbt", 2, steps, tune=tune)
    assert preset.league is not None
    rule = msgspec.structs.replace(preset.league.population, every=200, ratio=0.95, mutation=0.9)
    preset = msgspec.structs.replace(preset, league=msgspec.structs.replace(preset.league, population=rule))
    start_run(preset, tmp_path / "run")
    with Journal.read(tmp_path / "run" / "league.sqlite") as journal:
        copied = [row for row in journal.rows() if row.kind == "copied"]
        before = journal.last
    assert copied
    assert all(path.encode() in row.body for row in copied for path in tune)
    resume_run(tmp_path / "run", more=lambda p: msgspec.structs.replace(p, run=longer(p)))
    with Journal.read(tmp_path / "run" / "league.sqlite") as journal:
        assert journal.last > before


def longer(preset: Preset) -> RunConfig:
    return msgspec.structs.replace(preset.run, max_steps=preset.run.max_steps + 500)
