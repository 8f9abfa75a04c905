"""Floors of a run's results: its initial weights and uniform play, without any training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import msgspec
import pytest

from ludus.cli.commands.train import show_ending
from ludus.evaluation.play import MatchPlayer, opponent, play_evaluation, scripted_player
from ludus.evaluation.results import EvalResult
from ludus.evaluation.settings import MatchSettings
from ludus.games import spec as game_spec
from ludus.presets.config import OpponentConfig, Preset
from ludus.presets.errors import EndlessMatch, Interrupted
from ludus.presets.file import parse_preset
from ludus.reporting.metrics import EvaluationMetrics
from ludus.reporting.run_view import RunView
from ludus.storage import RunDirectory, RunLog, read_jsonl
from ludus.storage.jsonl import Row
from ludus.sweep.loop import greedy_words
from ludus.training.opponents import opponent_skip
from ludus.training.run_context import Interrupt
from ludus.training.run_evaluator import INITIAL, RunEvaluator
from ludus.training.runs import start_run
from tests.unit.training.runs import resume_run

from .league.test_league_runs import LEAGUE
from .runs import Recorder, reproducible_rows, small_preset
from .test_alphazero import preset as alphazero_preset
from .test_dqn_runs import preset_of as dqn_preset
from .test_runs import last_weights, same_weights

SHORT: dict[str, object] = {"run__max_steps": 300, "evaluation__matches": 6, "evaluation__final_matches": 6}


def short(**changes: object) -> Preset:
    return small_preset(**{**SHORT, **changes})


def initial_rows(run: Path) -> list[EvaluationMetrics]:
    return [e for e in RunView.open(run).metrics()[1] if e.initial]


def test_a_run_evaluates_its_initial_weights_first(tmp_path: Path) -> None:
    recorder = Recorder()
    run = tmp_path / "run"
    preset = short(evaluation__every_steps=100, evaluation__against="perfect,random")
    start_run(preset, run, sinks=[recorder])
    rows = list(read_jsonl(run / "metrics.jsonl"))
    assert rows[0]["kind"] == "evaluation", "before the first update"
    (first,) = initial_rows(run)
    later = next(e for e in recorder.evaluations if not e.initial)
    assert recorder.evaluations[0] == first
    assert (first.version, first.steps, first.best, first.initial_weights) == (0, 0, False, "")
    assert [(r.against, r.matches) for r in first.results] == [("perfect", 6), ("random", 6)]
    assert [(r.against, r.matches) for r in later.results] == [("perfect", 6), ("random", 6)]
    assert {r.seed for r in first.results}.isdisjoint(r.seed for r in later.results)
    assert rows[0]["eval/random/win_rate"] == first.results[1].win_rate
    assert "| 0 | 0, initial weights |" in (run / "report.md").read_text()
    matches = [m for m in read_jsonl(run / "matches.jsonl") if m["evaluation"] == "initial"]
    assert len(matches) == 12
    assert {m["version"] for m in matches} == {0}


def test_training_is_the_same_without_the_initial_evaluation(tmp_path: Path) -> None:
    """Weights, later evaluations and the choice of the best do not depend on its result."""
    with_it, without = tmp_path / "with" / "run", tmp_path / "without" / "run"
    changes: dict[str, object] = {"evaluation__every_steps": 100, "run__lag": "sync"}
    start_run(short(**changes), with_it)
    start_run(short(**changes, evaluation__initial="false"), without)
    rows = reproducible_rows(with_it / "metrics.jsonl")
    assert rows[0]["initial"] is True
    assert rows[-1].pop("uniform")
    assert rows[1:] == reproducible_rows(without / "metrics.jsonl")
    assert same_weights(last_weights(with_it), last_weights(without))


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({"evaluation__every_steps": 0}, 6),
        ({"evaluation__matches": 0}, 0),
        ({"evaluation__matches": 0, "evaluation__floor_matches": 4}, 4),
        ({"evaluation__floor_matches": 4}, 4),
        ({"evaluation__floor_matches": 4, "evaluation__initial": "false"}, 0),
    ],
)
def test_the_initial_evaluation_has_the_configured_number_of_matches(
    changes: dict[str, object], count: int, tmp_path: Path
) -> None:
    start_run(short(**changes, run__max_steps=128), tmp_path / "run")
    assert sum(r.matches for e in initial_rows(tmp_path / "run") for r in e.results) == count


def rigged(monkeypatch: pytest.MonkeyPatch, initial: Callable[[], tuple[EvalResult, ...] | None]) -> None:
    """Replace the initial evaluation by ``initial``."""
    rate = RunEvaluator.rate

    def other(
        self: RunEvaluator,
        player_of: Callable[[int], MatchPlayer],
        version: int,
        number: int,
        matches: int,
        record: int = 0,
    ) -> tuple[EvalResult, ...] | None:
        if number == INITIAL:
            return initial()
        return rate(self, player_of, version, number, matches, record)

    monkeypatch.setattr(RunEvaluator, "rate", other)


def test_a_resumed_run_does_not_repeat_the_initial_evaluation(tmp_path: Path) -> None:
    class Stop(Recorder):
        def update(self, metrics: object) -> None:
            raise KeyboardInterrupt

    run = tmp_path / "run"
    preset = short(run__max_steps=600, evaluation__every_steps=100)
    with pytest.raises(KeyboardInterrupt):
        start_run(preset, run, sinks=[Stop()])
    assert len(initial_rows(run)) == 1
    recorder = Recorder()
    resume_run(run, sinks=[recorder])
    assert len(initial_rows(run)) == 1


def test_a_resumed_run_makes_an_interrupted_initial_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops: list[Interrupt] = []
    made = Interrupt.__init__

    def remembered(self: Interrupt) -> None:
        made(self)
        stops.append(self)

    def interrupted() -> None:
        stops[-1].came = True

    monkeypatch.setattr(Interrupt, "__init__", remembered)
    for name, preset in (("appo", short()), ("alphazero", alphazero_preset(**{"evaluation.matches": "2"}))):
        run = tmp_path / name
        with monkeypatch.context() as patch:
            rigged(patch, interrupted)
            with pytest.raises(Interrupted):
                start_run(preset, run)
        assert not initial_rows(run)
        resume_run(run)
        assert [e.version for e in initial_rows(run)] == [0]
        assert not RunView.open(run).metrics()[1][0].final


def test_endless_untrained_matches_do_not_fail_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless() -> None:
        raise EndlessMatch("tic_tac_toe", 10, 1, 1)

    rigged(monkeypatch, endless)
    recorder = Recorder()
    result = start_run(short(), tmp_path / "run", sinks=[recorder])
    assert result.steps >= 300
    assert any("the initial weights were not evaluated" in m for m in recorder.messages)


def test_initial_weights_that_reach_the_target_do_not_end_the_run(tmp_path: Path) -> None:
    changes: dict[str, object] = {"run__target": 0.001, "evaluation__every_steps": 0}
    result = start_run(short(**changes, evaluation__matches=40), tmp_path / "run")
    assert initial_rows(tmp_path / "run")[0].score > 0.001
    assert result.steps >= 300


def test_initial_weights_of_another_run_are_named(tmp_path: Path) -> None:
    start_run(short(), tmp_path / "first")
    given = f"{tmp_path / 'first'}@last"
    start_run(short(run__start=given), tmp_path / "run")
    (first,) = initial_rows(tmp_path / "run")
    assert (first.version, first.initial_weights) == (0, given)
    assert first.whose == f"the initial weights ({given})"
    assert f"started from the weights `{given}`" in (tmp_path / "run" / "report.md").read_text()


def test_every_trainer_evaluates_its_initial_weights(tmp_path: Path) -> None:
    """The seed of a league's first main is its initial weights in evaluations."""
    settings = {"evaluation.matches": "4", "run.checkpoint_every_minutes": "1"}
    league = LEAGUE.format(game="matrix", lag="sync", steps=200)
    presets = {
        "league": parse_preset(league.encode(), "league", overrides=settings).preset,
        "alphazero": alphazero_preset(**{"evaluation.matches": "2", "evaluation.against": "perfect"}),
        "one_to_one": short(run__topology="one_to_one", run__pools=2),
        "async": short(run__lag="async"),
        "dqn": dqn_preset(run__max_steps=300, evaluation__matches=4, evaluation__final_matches=2),
    }
    for name, preset in presets.items():
        start_run(preset, tmp_path / name)
        (first,) = initial_rows(tmp_path / name)
        assert (first.version, first.steps, first.initial_weights) == (0, 0, ""), name
    weights = RunDirectory.open(tmp_path / "league").frozen.path("main", 0)
    seed = tmp_path / "seed.safetensors"
    seed.write_bytes(weights.read_bytes())
    seeded = league.replace('role = "pfsp"', f'role = "pfsp"\nseed = "{seed}"')
    start_run(parse_preset(seeded.encode(), "league", overrides=settings).preset, tmp_path / "seeded")
    (first,) = initial_rows(tmp_path / "seeded")
    assert (first.player, first.initial_weights) == ("main", str(seed))


def test_uniform_play_is_the_other_floor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Uniform play has the setting of the final matches and stands beside them wherever they are shown."""
    recorder = Recorder()
    preset = short(evaluation__against="perfect,random", evaluation__floor_matches=30)
    result = start_run(preset, tmp_path / "run", sinks=[recorder])
    final = recorder.evaluations[-1]
    assert [(r.player, r.against, r.matches) for r in final.uniform] == [
        ("uniform", "perfect", 30),
        ("uniform", "random", 30),
    ]
    assert not any(e.uniform for e in recorder.evaluations[:-1])
    assert final.uniform[1].counts[0] > 5, "against the random bot about four of ten"
    rows = [m for m in read_jsonl(tmp_path / "run" / "matches.jsonl") if m["evaluation"] == "uniform"]
    assert len(rows) == 60
    assert {m["version"] for m in rows} == {None}
    first = recorder.evaluations[0].results[1]
    text = f"initial weights {first.win_rate:.1%}, uniform {final.uniform[1].win_rate:.1%}"
    assert f"floor against random: {text}" in recorder.messages
    assert (result.floors.initial, result.floors.uniform) == (recorder.evaluations[0].results, final.uniform)
    report = (tmp_path / "run" / "report.md").read_text()
    assert f"Floor against random: initial weights {first.win_rate:.1%} (" in report
    show_ending(result, "tic_tac_toe", as_json=False)
    assert text in capsys.readouterr().out


def test_uniform_play_meets_the_opponents_at_the_frame_skips_of_the_run(tmp_path: Path) -> None:
    preset = rts_preset("opponents.0.frame_skip = 20")
    uniform = evaluator(preset, tmp_path).uniform(6)
    assert uniform is not None
    assert uniform[0] == directly(preset, uniform[0].seed, own=5, theirs=20)


@pytest.mark.parametrize("name", [pytest.param("uniform", marks=pytest.mark.slow), "simple"])
def test_opponents_of_evaluations_decide_at_the_frame_skip_of_the_preset(name: str, tmp_path: Path) -> None:
    """The matches equal those with that frame skip, and differ from those with the player's or the default.

    ``uniform`` is no opponent of training and has the frame skip of those that are.
    """
    preset = rts_preset("opponents.0.frame_skip = 20", against=name)
    results = evaluator(preset, tmp_path, name).rate(lambda seed: rated(preset, seed), None, 0, 6)
    assert results is not None
    seed = results[0].seed
    assert results[0] == directly(preset, seed, own=5, theirs=20, against=name)
    for other in (0, 5):
        assert results[0] != directly(preset, seed, own=5, theirs=other, against=name)


def test_each_opponent_has_its_own_frame_skip() -> None:
    preset = rts_preset("opponents.0.frame_skip = 20")
    both = (OpponentConfig("simple", frame_skip=20), OpponentConfig("hit_and_run", frame_skip=50))
    preset = msgspec.structs.replace(preset, opponents=both)
    assert [opponent_skip(preset, n) for n in ("simple", "hit_and_run", "uniform")] == [20, 50, 20]
    assert "50" in greedy_words("run", preset, "hit_and_run", alone=False)


RTS = """
[game]
name = "minirts"
frame_skip = 5
[[opponents]]
name = "simple"
[policy]
inputs = ["globals"]
"""


def rts_preset(setting: str, against: str = "simple") -> Preset:
    key, _, value = setting.partition(" = ")
    overrides = {key: value, "evaluation.against": against, "evaluation.max_ticks": "30000"}
    return parse_preset(RTS.encode(), "rts", overrides=overrides).preset


def evaluator(preset: Preset, folder: Path, against: str = "simple") -> RunEvaluator:
    class Log:
        def matches(self, rows: list[Row]) -> None: ...

    log = cast(RunLog, Log())
    return RunEvaluator(preset, game_spec("minirts"), {}, (against,), log, lambda: False)


def rated(preset: Preset, seed: int) -> MatchPlayer:
    return scripted_player("uniform", game_spec("minirts"), seed, preset.game.frame_skip)


def directly(preset: Preset, seed: int, own: int, theirs: int, against: str = "simple") -> EvalResult:
    game = game_spec("minirts")
    player = scripted_player("uniform", game, seed, own)
    result, _ = play_evaluation(
        game, {}, player, opponent(against, game, {}, seed ^ 1, theirs), MatchSettings(matches=6, seed=seed)
    )
    return result
