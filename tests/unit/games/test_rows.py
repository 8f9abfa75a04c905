"""Recorded matches as rows: equal to what a pool writes for the same matches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import numpy as np
import pytest

from ludus.flow import Controller, Lineup, MatchResult, PoolOptions, SeatPlan, Slab
from ludus.flow.hosted_replay import HostedReplay
from ludus.flow.masks import legal_choices
from ludus.flow.slab import Array
from ludus.flow.spec import GameSpec
from ludus.games import replays, spec
from ludus.games.match import Match
from ludus.games.names import UnknownGame, typed
from ludus.games.records.rows import MatchRows, read_rows
from ludus.native import ParamError, ReplayError, core
from ludus.pool.hosted.process import ProcessPool
from ludus.pool.native import NativePool

DUEL = typed("tests.unit.pool.hosted_games:Duel")


class Played(NamedTuple):
    game: str
    bot: str
    params: Mapping[str, str] = {}
    limit: int = 0  # ticks


CASES = [
    Played("connect_four", "tactical"),
    Played("go", "tactical", {"size": "5"}),
    Played("pommerman", "simple", {"mode": "team"}),
    Played("minirts", "simple", {"commands": "combined"}, 600),
    Played("leduc_poker", "random"),
]
IDS = [c.game for c in CASES]


def _choose(game: GameSpec, slab: Slab, t: int, rows: slice, rng: np.random.Generator) -> None:
    """Random legal actions of the active rows."""
    for row in range(rows.start, rows.stop):
        action = np.zeros((1, len(game.heads)), np.int32)
        for k in range(len(game.heads) if slab.active[t, row] else 0):
            legal = np.flatnonzero(legal_choices(game, slab.mask[t, row][None], k, action)[0])
            action[0, k] = rng.choice(legal) if len(legal) else 0
        slab.actions[t, row] = action[0]


def _pool(case: Played, controller: Controller) -> NativePool:
    seats = spec(case.game, dict(case.params)).seats
    options = PoolOptions(
        slots=1, groups=1, seed=9, num_matches=1, truncate_ticks=case.limit, record=range(1)
    )
    return NativePool(case.game, case.params, Lineup((SeatPlan((controller,)),) * seats), options)


def _played(pool: NativePool | ProcessPool, steps: int = 900) -> tuple[MatchResult, Slab]:
    rng = np.random.default_rng(4)
    slab = pool.slab(steps)
    pool.attach(0, slab)
    results: list[MatchResult] = []
    for t in range(steps):
        batch = pool.recv(0)
        results += batch.results
        if results:
            break
        _choose(pool.spec, slab, t, batch.rows, rng)
        pool.send(0)
    return results[0], slab


def _rows_of(slab: Slab, seat: int) -> dict[str, Array]:
    """Columns of a seat's decisions in the slab of one match."""
    (row,) = np.flatnonzero(slab.row_seat == seat)
    at = np.flatnonzero(slab.active[:-1, row])
    reward = np.add.reduceat(slab.reward[:, row].astype(np.float64), at) if len(at) else np.zeros(0)
    columns: dict[str, Array] = {name: array[at, row] for name, array in slab.obs.items()}
    return {**columns, "mask": slab.mask[at, row], "actions": slab.actions[at, row], "reward": reward}


def _check_equal(rows: MatchRows, columns: Mapping[str, Array]) -> None:
    assert len(rows.tick) == len(columns["actions"]) > 0
    for name, tensor in rows.obs.items():
        assert tensor.dtype == columns[name].dtype
        assert np.array_equal(tensor, columns[name]), name
    assert np.array_equal(rows.mask, columns["mask"])
    assert np.array_equal(rows.actions, columns["actions"])
    assert np.allclose(rows.reward, columns["reward"], atol=1e-5)


def _same(a: MatchRows, b: MatchRows) -> bool:
    one, other = (_arrays(rows) for rows in (a, b))
    return all(np.array_equal(x, y) for x, y in zip(one, other, strict=True))


def _arrays(rows: MatchRows) -> list[Array]:
    return [rows.mask, rows.actions, rows.tick, rows.reward, rows.shown, *rows.obs.values()]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_rows_are_those_that_a_pool_wrote_for_the_match(case: Played) -> None:
    result, slab = _played(_pool(case, Controller(policy=0)))
    read = read_rows(result.replay)
    assert [rows.seat for rows in read] == list(range(len(result.returns)))
    for rows in read:
        _check_equal(rows, _rows_of(slab, rows.seat))
        assert rows.shown.all()
        assert rows.reward.sum() == pytest.approx(result.returns[rows.seat], abs=1e-4)
        assert (np.diff(rows.tick) > 0).all()
        assert rows.tick[-1] < result.ticks


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_rows_of_a_bot_are_those_that_it_demonstrates(case: Played) -> None:
    shown, slab = _played(_pool(case, Controller(bot=case.bot, policy=0)))
    own = _pool(case, Controller(bot=case.bot))
    result = own.recv(0).results[0]
    assert any(d.bot >= 0 for d in replays.decisions(result.replay))
    assert replays.verify(shown.replay).same
    for rows, again in zip(read_rows(result.replay), read_rows(shown.replay), strict=True):
        _check_equal(rows, _rows_of(slab, rows.seat))
        assert _same(rows, again)
        assert rows.shown.any()


def test_decisions_that_are_no_choices_of_the_heads_are_not_shown() -> None:
    data = replays.record("minirts", {}, bots=["simple", "random"], seed=2)
    simple, random = read_rows(data)
    assert not simple.shown.any()
    assert not simple.actions.any()
    assert simple.mask.any()
    assert random.shown.any()


def test_rows_of_some_seats_are_the_same() -> None:
    data = replays.record("pommerman", {"mode": "team"}, bots=["simple"], seed=3)
    every = read_rows(data)
    some = read_rows(data, seats={3, 1})
    assert [rows.seat for rows in some] == [1, 3]
    assert _same(some[0], every[1])
    assert _same(some[1], every[3])


def test_a_go_match_is_read_with_other_features() -> None:
    data = replays.record("go", {"size": 5}, bots=["tactical"], seed=3)
    plain, rich = read_rows(data), read_rows(data, params={"features": "rich"})
    sharp = Match("go", {"size": 5, "features": "rich"}, seed=3)
    for a, b in zip(plain, rich, strict=True):
        assert np.array_equal(a.actions, b.actions)
        assert np.array_equal(a.reward, b.reward)
        assert a.obs["planes"].shape != b.obs["planes"].shape
    assert np.array_equal(rich[0].obs["planes"][0], sharp.observe(0)["planes"])


def _duel() -> tuple[MatchResult, Slab]:
    lineup = Lineup((SeatPlan((Controller(policy=0),)), SeatPlan((Controller(policy=1),))))
    options = PoolOptions(slots=1, groups=1, seed=5, num_matches=1, record=range(1))
    with ProcessPool(DUEL, {}, lineup, options) as pool:
        return _played(pool, 200)


def test_rows_of_a_python_game_are_those_that_its_pool_wrote() -> None:
    result, slab = _duel()
    read = read_rows(result.replay)
    assert [rows.seat for rows in read] == [0, 1]
    for rows in read:
        _check_equal(rows, _rows_of(slab, rows.seat))
        assert rows.reward.sum() == pytest.approx(result.returns[rows.seat], abs=1e-4)
        assert rows.shown.all()
        assert _same(rows, read_rows(result.replay, DUEL, seats=[rows.seat])[0])


def _with_hash(data: bytes, final_hash: int) -> bytes:
    about, made = replays.info(data), replays.decisions(data)
    return core.replay_encode(
        HostedReplay(
            game=about.game, version=about.version, params=about.params, seed=about.seed, match=about.match,
            players=list(about.players), heads=len(made[0].action), ticks=[d.tick for d in made],
            seats=[d.seat for d in made], actions=[a for d in made for a in d.action], length=about.ticks,
            hash_every=about.hash_every, hashes=replays.hashes(data), final_hash=final_hash, over=about.over,
            outcome=list(about.outcome), returns=list(about.returns), reproduced=0,
        )
    )  # fmt: skip


def test_a_python_match_that_comes_out_otherwise_is_refused() -> None:
    result, _ = _duel()
    final = int(replays.info(result.replay).final_hash)
    assert read_rows(_with_hash(result.replay, final))
    with pytest.raises(ReplayError, match=r"replay: the observations, masks or rewards differ after tick \d"):
        read_rows(_with_hash(result.replay, final ^ 1))
    with pytest.raises(ReplayError, match="recorded for duel, not connect_four"):
        read_rows(result.replay, "connect_four")


GO = replays.record("go", {"size": 5}, bots=["tactical"], seed=3)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"params": {"featurs": "rich"}}, ParamError, "featurs.*did you mean features"),
        ({"params": {"features": "poor"}}, ParamError, "features"),
        ({"params": {"komi": "0.5"}}, ReplayError, "replay: .* differs after tick"),
        ({"params": {"size": "6"}}, ReplayError, "replay: "),
        ({"seats": [2]}, ParamError, "go: no seat 2, expected 0 to 1"),
        ({"seats": [-1]}, ParamError, "go: no seat -1, expected 0 to 1"),
        ({"seats": []}, ParamError, "seats: none are given"),
        ({"game": "connect_four"}, ReplayError, "recorded for go, not connect_four"),
        ({"game": "no_game"}, UnknownGame, "no_game"),
    ],
)
def test_bad_requests_are_refused(options: dict[str, object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        read_rows(GO, **options)  # type: ignore[arg-type]


def test_bytes_that_are_no_replay_are_refused() -> None:
    with pytest.raises(ReplayError, match="replay: "):
        read_rows(GO[:-3])
    flipped = bytearray(GO)
    flipped[-20] ^= 4
    with pytest.raises(ReplayError, match="replay: "):
        read_rows(bytes(flipped))
    assert msgspec.structs.asdict(replays.info(GO))["game"] == "go"
