"""``RUN@best`` of a league or a population: the best of its members, not the first of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ludus
from ludus.presets.config import Preset
from ludus.presets.file import load_preset, parse_preset
from ludus.reporting.metrics import EvaluationMetrics
from ludus.storage import RunDirectory, load_weights, name_of, resolve_weights
from ludus.storage.checkpoints import member_of_file
from ludus.training.league.checkpoint import decode_league_state
from ludus.training.league.components import build_league
from ludus.training.runs import RunResult, start_run
from tests.unit.training.league.test_league_runs import LEAGUE
from tests.unit.training.runs import Recorder, resume_run

MEMBERS = ("p0", "p1", "p2", "p3")
POPULATION = {
    "run.max_steps": "24000",
    "run.threads": "1",
    "pool.slots": "16",
    "pool.threads": "1",
    "policy.hidden": "16",
    "evaluation.every_steps": "8000",
    "evaluation.matches": "8",
    "evaluation.final_matches": "20",
}
TWO_MAINS = """
[[league.players]]
name = "second"
role = "self_play"
"""


def population(**changes: str) -> Preset:
    overrides = {key.replace("__", "."): value for key, value in changes.items()}
    return load_preset("pbt", POPULATION | overrides).preset


def league(steps: int = 1500, **changes: str) -> Preset:
    text = LEAGUE.format(game="tic_tac_toe", lag="pipelined", steps=steps)
    overrides = {"evaluation.against": "random", "evaluation.matches": "10", "evaluation.final_matches": "20"}
    overrides |= {"evaluation.every_steps": "300"}
    overrides |= {key.replace("__", "."): value for key, value in changes.items()}
    return parse_preset((text + TWO_MAINS).encode(), "league", overrides=overrides).preset


def mean_return(run: Path, name: str) -> float:
    return ludus.evaluate(f"{run}@{name}", matches=40, seed=7).mean_return


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunResult, Recorder]:
    path, sink = tmp_path_factory.mktemp("best") / "run", Recorder()
    return path, start_run(population(), path, sinks=[sink]), sink


@pytest.mark.slow
def test_the_best_of_a_population_returns_what_its_best_member_does(
    trained: tuple[Path, RunResult, Recorder],
) -> None:
    run, _, _ = trained
    returns = {name: mean_return(run, name) for name in MEMBERS}
    best = mean_return(run, "best")
    assert best >= 0.9 * max(returns.values())
    assert best > 2 * returns["p0"]  # which was the best of every population, and barely learns


@pytest.mark.slow
def test_all_members_enter_the_play_off(trained: tuple[Path, RunResult, Recorder]) -> None:
    run, result, sink = trained
    entered = {(e.player, e.version): e.score for e in sink.evaluations if e.playoff}
    last = {name: load_weights(f"{run}@{name}").meta.version for name in MEMBERS}
    assert last.items() <= entered.keys()
    best = (result.best_player, result.best_version)
    assert entered[best] == max(entered.values())
    path = resolve_weights(f"{run}@best")
    assert name_of(path, load_weights(f"{run}@best").meta.version) == f"run@{best[0]}:{best[1]}"
    (final,) = [e for e in sink.evaluations if e.final]
    assert (final.player, final.version) == best
    assert final.results[0].player == f"run@{best[0]}:{best[1]}"
    assert f"| version {best[0]}:{best[1]} | 10 |" in (run / "report.md").read_text()


def test_evaluations_inside_training_rate_members_in_turn(tmp_path: Path) -> None:
    sink = Recorder()
    preset = league(evaluation__final_matches="0")
    start_run(preset, tmp_path / "run", sinks=[sink])
    run = RunDirectory.open(tmp_path / "run")
    inside = [e for e in sink.evaluations if not e.initial]
    rated = [e.player for e in inside]
    assert len(rated) > 4
    assert rated == [("main", "second")[k % 2] for k in range(len(rated))]
    names = {f"run@{e.player}:{e.version}" for e in sink.evaluations}
    assert {e.results[0].player for e in sink.evaluations} == names
    for e in inside[-2:]:  # without final matches, the last weights of each are evaluated
        assert e.version == load_weights(f"{run.path}@{e.player}").meta.version
    best = max(inside, key=lambda e: (e.score, -e.steps))
    found = load_weights(f"{run.path}@best").meta.version
    assert any((e.score, e.version) == (best.score, found) for e in inside)


def test_weights_are_rated_that_the_checkpoint_before_has(tmp_path: Path) -> None:
    """A member's learner is ahead of the network that acts for it, until its next round."""

    class Looking(Recorder):
        def evaluation(self, evaluation: EvaluationMetrics) -> None:
            super().evaluation(evaluation)
            store = RunDirectory.open(tmp_path / "run").checkpoints
            if evaluation.playoff or evaluation.initial:
                return
            path = store.members(store.resolve("last"))[evaluation.player]
            assert member_of_file(path) == (evaluation.player, evaluation.version)

    sink = Looking()
    start_run(league(evaluation__final_matches="0"), tmp_path / "run", sinks=[sink])
    assert {e.player for e in sink.evaluations} == {"main", "second"}


@pytest.mark.slow
def test_weights_that_may_become_the_best_stay_when_their_checkpoint_is_replaced(tmp_path: Path) -> None:
    """Checkpoints have the version of the first main: one that waits gives the next one the same number."""
    path = tmp_path / "run"
    sink = Recorder()
    rare = {"league__players__0__share": "0.02", "evaluation__every_steps": "200"}
    start_run(league(1500, **rare), path, sinks=[sink])
    store = RunDirectory.open(path).checkpoints
    state = decode_league_state(store.load_state(store.resolve("last")))
    inside = [e for e in sink.evaluations if e.player == "second" and not (e.playoff or e.final)]
    assert len(inside) > 2
    assert store.versions()[-1] < 3  # main has hardly moved
    assert any(c.player == "second" for c in state.candidates)
    for candidate in state.candidates:
        assert store.holding(candidate.version, candidate.player) is not None
    assert not [text for text in sink.messages if "cannot be read" in text]
    best = store.pointer("best")
    assert best is not None
    assert load_weights(f"{path}@best").meta.version == best.own
    resume_run(path, more=lambda _: league(2500, evaluation__final_matches="0", **rare))
    pointed = store.pointer("best")
    assert pointed is not None
    assert load_weights(f"{path}@best").meta.version == pointed.own


def test_a_resumed_league_keeps_its_candidates(tmp_path: Path) -> None:
    path = tmp_path / "run"
    start_run(league(), path)
    pointed = RunDirectory.open(path).checkpoints.pointer("best")
    assert pointed is not None
    assert pointed.player in ("main", "second")
    before = load_weights(f"{path}@best")
    again = resume_run(path)  # nothing is left to train: the same weights meet the same matches
    assert (again.best_player, again.best_version) == (pointed.player, before.meta.version)
    after = load_weights(f"{path}@best")
    assert all(np.array_equal(after.tensors[n], a) for n, a in before.tensors.items())
    more = resume_run(path, more=lambda _: league(steps=2500))
    best = load_weights(f"{path}@best").meta.version
    assert (resolve_weights(f"{path}@best").name.split(".")[0], best) == (more.best_player, more.best_version)


@pytest.mark.parametrize(
    ("preset", "best"),
    [("alphastar", ("main",)), ("pbt", MEMBERS), ("minirts-league", ("main",)), ("", ("main", "second"))],
)
def test_mains_or_else_all_members_may_be_the_best(preset: str, best: tuple[str, ...]) -> None:
    built = build_league(load_preset(preset, {"pool.slots": "2"}).preset if preset else league())
    try:
        assert built.contenders == best
    finally:
        built.close()
