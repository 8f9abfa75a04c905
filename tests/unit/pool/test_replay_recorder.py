"""Matches of Python games are written down, and play out the same again where the game keeps its word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ludus.cli.__main__ import main
from ludus.flow import Controller, Lineup, MatchResult, PoolOptions, SeatPlan, Slab, StepBatch
from ludus.flow.hosted_replay import HostedReplay
from ludus.flow.seeds import match_seed
from ludus.games import replays
from ludus.games.names import UnknownGame, typed
from ludus.games.records.match_record import MatchRecorder
from ludus.games.registry import maker
from ludus.native import ReplayError, core
from ludus.pool.hosted.process import ProcessPool

WALK = typed(str(Path(__file__).parent / "hosted_games.py"))
DUEL = typed("tests.unit.pool.hosted_games:Duel")
ONE = Lineup((SeatPlan((Controller(policy=0, name="walker"),)),))
TWO = Lineup((SeatPlan((Controller(policy=0),)), SeatPlan((Controller(policy=1, name="b"),))))


def decide(batch: StepBatch) -> None:
    """Legal, and different from row to row and step to step."""
    slab, t = batch.slab, batch.t
    for row in range(batch.rows.start, batch.rows.stop):
        legal = np.flatnonzero(slab.mask[t, row])
        slab.actions[t, row, 0] = legal[(row + t) % len(legal)] if slab.active[t, row] else 0


def play(pool: ProcessPool, slab: Slab, slabs: int = 1) -> list[MatchResult]:
    results: list[MatchResult] = []
    for _ in range(slabs):
        for g in range(pool.groups):
            pool.attach(g, slab)
        for _ in range(slab.steps):
            for g in range(pool.groups):
                batch = pool.recv(g)
                results += batch.results
                decide(batch)
                pool.send(g)
        for g in range(pool.groups):
            results += pool.recv(g).results
    return results


@pytest.mark.parametrize("workers", [0, 2])
def test_recorded_matches_are_reproduced(workers: int) -> None:
    with ProcessPool(
        WALK, {"length": 13}, ONE, PoolOptions(slots=4, groups=2, threads=workers, seed=5, record=range(3, 7))
    ) as pool:
        results = {r.match: r for r in play(pool, pool.slab(9), 4)}  # matches cross the ends of slabs
    assert sorted(m for m, r in results.items() if r.replay) == [3, 4, 5, 6]
    for match in range(3, 7):
        data, result = results[match].replay, results[match]
        info = replays.info(data)
        assert (info.format, info.game, info.seed, info.match) == (2, "walk", 5, match)
        assert (info.ticks, info.decisions, info.params) == (13, 13, {"length": "13"})
        assert (info.players, info.over, info.returns) == (("walker",), True, result.returns)
        assert info.reproduced == "unknown"
        check = replays.verify(data)
        assert (check.same, check.ticks, check.last_same, check.difference) == (True, 13, 13, "")
        assert replays.info(replays.mark_reproduced(data)).reproduced == "yes"
    again = {d.tick: d.action for d in replays.decisions(results[5].replay)}
    assert sorted(again) == list(range(13))
    assert len(set(again.values())) == 3


def test_replays_name_the_player_of_each_seat() -> None:
    with ProcessPool(
        DUEL, {}, TWO, PoolOptions(slots=2, groups=1, threads=0, seed=2, record=range(4))
    ) as pool:
        results = [r for r in play(pool, pool.slab(30)) if r.replay]
    assert len(results) == 4
    for r in results:
        info = replays.info(r.replay)
        names = {"policy:0": "policy:0", "policy:1": "b"}
        assert info.players == tuple(names[p] for p in r.players)
        assert info.outcome == r.outcome
        made = replays.decisions(r.replay)
        assert [d.seat for d in made[:4]] in ([0, 1, 0, 1], [1, 0, 1, 0])
        assert replays.verify(r.replay, DUEL).same


def test_a_difference_is_found_at_its_tick() -> None:
    def record(total: float) -> bytes:
        """Return a replay of Walk with another seventh reward."""
        made = maker(WALK, {"length": "20"})
        game, recorder = made.make(), MatchRecorder(made.spec, 5, 1)
        game.reset(match_seed(5, 1))
        actions, earned = np.ones((1, 1), np.int32), np.zeros(1, np.float32)
        out = {t.name: np.zeros(t.packed_shape, t.packed_dtype) for t in made.spec.observation}
        for tick in range(20):
            game.observe(0, out)
            recorder.observe([(0, list(out.values()), np.ones(3, np.uint8))])
            recorder.decide(0, [1])
            game.step(actions)
            game.rewards(earned)
            recorder.earn(earned + np.float32(total if tick == 6 else 0.0))
        recorder.end()
        return recorder.encode({"length": "20"}, ["walker"], True, [0.0])

    assert replays.verify(record(0.0)).same
    check = replays.verify(record(1.0))
    assert not check.same
    assert check.last_same == 0
    assert check.difference == "the observations, masks or rewards differ after tick 10"
    assert replays.info(replays.mark_reproduced(record(1.0))).reproduced == "no"


def test_a_failed_match_has_no_replay_and_a_truncated_one_is_marked() -> None:
    failing = {"length": 6, "trouble": "step-raise", "at": 3}
    with ProcessPool(
        WALK, failing, ONE, PoolOptions(slots=2, groups=1, threads=0, on_error="truncate", record=range(9))
    ) as pool:
        results = play(pool, pool.slab(9))
    assert results
    assert all(r.error and not r.replay for r in results)
    for params, cut in (({"length": 8}, 5), ({"length": 5, "late": "true"}, 0)):
        with ProcessPool(
            WALK, params, ONE, PoolOptions(slots=2, groups=1, threads=0, truncate_ticks=cut, record=[0])
        ) as pool:
            data = next(r.replay for r in play(pool, pool.slab(9)) if r.replay)
        info = replays.info(data)
        assert (info.over, info.outcome, info.ticks) == (False, (0.0,), 5)
        assert replays.verify(data).same


def test_a_pool_that_records_plays_no_match_with_others() -> None:
    """Gymnasium's vectorised CartPole gives a match other numbers than its own seed does."""
    pytest.importorskip("gymnasium")
    with ProcessPool(
        "gymnasium/CartPole-v1", {}, ONE, PoolOptions(slots=4, groups=1, threads=0, seed=3, record=range(8))
    ) as pool:
        results = [r for r in play(pool, pool.slab(60), 2) if r.replay]
    assert len(results) == 8
    for r in results:
        assert replays.verify(r.replay).same
        assert replays.info(r.replay).returns == r.returns == (float(r.ticks),)


def test_a_replay_never_decides_which_code_is_run() -> None:
    spec = maker(DUEL, {}).spec

    def named(game: str) -> bytes:
        return core.replay_encode(
            HostedReplay(
                game=game,
                version=1,
                params={},
                seed=0,
                match=0,
                players=["a", "b"],
                heads=1,
                ticks=[],
                seats=[],
                actions=[],
                length=0,
                hash_every=10,
                hashes=[1],
                final_hash=1,
                over=False,
                outcome=[0.0, 0.0],
                returns=[0.0, 0.0],
                reproduced=0,
            )
        )

    for game in ("tests.unit.pool.hosted_games:Walk", "gymnasium/os:system", "pettingzoo/antigravity"):
        with pytest.raises(UnknownGame, match="say which with game=REFERENCE"):
            replays.verify(named(game))
    with pytest.raises(ReplayError, match="recorded for walk, not duel"):
        replays.verify(named("walk"), DUEL)
    assert not replays.verify(named(spec.name), DUEL).same  # not what that match shows
    for name in ("../evil", "/tmp/evil", "evil.py"):
        with pytest.raises(ReplayError, match="no path"):
            named(name)
    with pytest.raises(ReplayError, match=r"not a compiled game"):
        core.replay_verify(named("tic_tac_toe"))


def test_a_slot_state_leads_a_search_to_the_current_position() -> None:
    with ProcessPool(DUEL, {}, TWO, PoolOptions(slots=2, groups=1, threads=0, seed=2, states=True)) as pool:
        slab = pool.slab(8)
        pool.attach(0, slab)
        for _ in range(3):
            decide(pool.recv(0))
            pool.send(0)
        pool.recv(0)
        moves = [int(slab.actions[t, 2 + s, 0]) for t in range(3) for s in range(2) if slab.active[t, 2 + s]]
        assert pool.slot_state(1) == core.hosted_state(2, 1, moves)
        assert pool.slot_tick(1) == 3
    with (
        ProcessPool(DUEL, {}, TWO, PoolOptions(slots=2, groups=1, threads=0)) as pool,
        pytest.raises(ValueError, match="states=True"),
    ):
        pool.slot_state(0)


def test_the_command_line_records_shows_and_verifies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "kept"
    arguments = ["eval", "random", "--game", WALK, "--matches", "6", "--record", str(folder)]
    assert main([*arguments, "--record-matches", "2"]) == 0
    assert "2 in" in capsys.readouterr().out
    files = sorted(str(p) for p in folder.glob("*.ludus"))
    assert len(files) == 2
    assert main(["replay", "info", files[0]]) == 0
    shown = capsys.readouterr().out
    assert "walk, version 1" in shown
    assert "reproduced   yes" in shown
    assert main(["replay", "verify", *files, "--game", WALK]) == 0
    assert "reproduced, 5 ticks" in capsys.readouterr().out
