"""Named scores of a match: from the game through the pool into its result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.flow import Controller, Lineup, MatchResult, PoolOptions, SeatPlan, StepBatch
from ludus.flow.seeds import match_seed
from ludus.flow.spec import HeadSpec, scores_problem
from ludus.games import check_game, spec
from ludus.games.names import typed
from ludus.games.python_game import declare, tensor
from ludus.native import ParamError
from ludus.pool.hosted.process import ProcessPool

ARENA = typed("tests.scored_games:Arena")
ONE = Lineup((SeatPlan((Controller(policy=0),)),))
TWO = Lineup((SeatPlan((Controller(policy=0),)), SeatPlan((Controller(policy=1),))))


def play(lineup: Lineup, params: dict[str, object], **more: object) -> list[MatchResult]:
    """Return the results of six matches in which seat 1 never shoots and the others always do."""
    options = {
        "slots": 2,
        "groups": 1,
        "threads": 0,
        "seed": 7,
        "num_matches": 6,
        "on_error": "truncate",
        **more,
    }
    results: list[MatchResult] = []
    made = PoolOptions(**options)  # type: ignore[arg-type]
    with ProcessPool(ARENA, {"ticks": 3, **params}, lineup, made) as pool:
        slab = pool.slab(20)
        pool.attach(0, slab)
        for _ in range(slab.steps):
            batch: StepBatch = pool.recv(0)
            results += batch.results
            if pool.finished:
                break
            slab.actions[batch.t, batch.rows, 0] = slab.row_seat[batch.rows] != 1
            pool.send(0)
    return sorted(results, key=lambda r: r.match)


@pytest.mark.parametrize("threads", [0, 2])
def test_results_have_the_scores_of_each_seat(threads: int) -> None:
    results = play(TWO, {}, threads=threads)
    assert len(results) == 6
    assert [r.scores for r in results] == [((3.0, 1.0), (0.0, 2.0))] * 6


def test_scores_belong_to_their_own_match() -> None:
    results = play(ONE, {"players": 1, "bots": 3})
    bots = [np.random.default_rng(match_seed(7, m)).integers(0, 4, 3).max() for m in range(6)]
    assert len(set(bots)) > 1
    assert [r.scores[0][2] for r in results] == bots
    assert all(r.scores[0][:2] == (3.0, 1.0) for r in results)


def test_a_match_that_was_cut_off_has_scores() -> None:
    results = play(TWO, {"ticks": 100}, truncate_ticks=2)
    assert [r.truncated for r in results] == [True] * 6
    assert [r.scores[0][0] for r in results] == [2.0] * 6


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("raise", "scores: RuntimeError: the scoreboard is gone"),
        ("shape", "scores: ValueError: could not broadcast"),
        ("short", "scores: ValueError: [[3.0, nan], [0.0, nan]], expected a finite number"),
        ("infinite", "expected a finite number for each seat and score"),
    ],
)
def test_a_fault_of_scores_is_an_error_of_its_match_alone(wrong: str, text: str) -> None:
    results = play(TWO, {"wrong": wrong, "only": match_seed(7, 2)})
    assert [r.match for r in results if r.error] == [2]
    assert text in results[2].error
    assert results[2].scores == ()
    assert results[2].outcome == (0.0, 0.0)
    assert results[3].scores == ((3.0, 1.0), (0.0, 2.0))


def test_a_game_without_scores_has_none() -> None:
    own = declare("own", observation=[tensor("x", (1,))], heads=[HeadSpec("move", 2)])
    assert own.scores == ()
    assert spec("tic_tac_toe").scores == ()


def test_scores_do_not_change_the_interface_of_a_policy() -> None:
    parts: dict[str, Any] = {"observation": [tensor("x", (1,))], "heads": [HeadSpec("move", 2)]}
    assert declare("own", **parts).spec_hash == declare("own", **parts, scores=("frags",)).spec_hash


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("frags", "expected a list of names"),
        (("frags", "frags"), "two scores have one name: frags"),
        (("Frags",), "expected lowercase letters"),
        (("a/b",), "expected lowercase letters"),
        (("",), "expected lowercase letters"),
        (("a\n",), "expected lowercase letters"),
        (("x" * 33,), "at most 32"),
        ((3,), "expected lowercase letters"),
        (("elo",), "score elo: evaluations have a measure of that name"),
        (tuple(f"s{i}" for i in range(17)), "17 scores, expected at most 16"),
    ],
)
def test_wrong_names_are_reported(names: tuple[str, ...], text: str) -> None:
    assert text in scores_problem(names)
    with pytest.raises(ValueError, match=r"own: .*score"):
        declare("own", observation=[tensor("x", (1,))], heads=[HeadSpec("move", 2)], scores=names)


def test_a_game_that_names_scores_must_write_them() -> None:
    with pytest.raises(ParamError, match=r"Unscored has no scores\(\); its spec names frags, place"):
        spec(typed("tests.scored_games:Unscored"))


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("", ""),
        ("raise", "scores() raised RuntimeError: the scoreboard is gone"),
        ("short", "score place of seat 0 is nan"),
        ("infinite", "score frags of seat 0 is inf"),
    ],
)
def test_the_check_of_a_game_reads_its_scores(wrong: str, text: str) -> None:
    report = check_game(ARENA, {"wrong": wrong}, matches=2)
    failed = {f.check: f.detail for f in report.findings if not f.passed}
    assert bool(failed) == bool(wrong)
    assert text in "".join(failed.values())
