"""Rewards that a team shares: rows are paid by the rule, results stay the game's."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from ludus.flow import Controller, GameSpec, Lineup, MatchResult, PoolOptions, SeatPlan, Slab, Terms
from ludus.flow.lineups import lineup_of
from ludus.games import spec
from ludus.games.names import typed
from ludus.pool import Pool
from ludus.pool.factory import make_pool
from ludus.pool.hosted.process_snapshot import _MAGIC
from ludus.pool.team_rewards import TeamRewards

SQUADS = typed("tests.unit.pool.squads:Squads")
HOSTED = typed("pettingzoo/tests.unit.pool.team_envs")
POMMERMAN = {
    "mode": "team",
    "max_steps": "60",
    "reward_pickup": "0.05",
    "reward_wood": "0.01",
    "reward_kill": "0.2",
}
Doubles = npt.NDArray[np.float64]
RULES = [(0.0, True), (0.3, False), (0.5, True), (1.0, False), (1.0, True)]


def shared(earned: Sequence[float], teams: Sequence[int], spirit: float, zero_sum: bool) -> list[float]:
    """Return what each seat is paid: the rule as it is written down, in plain loops."""
    seats = range(len(teams))
    own = [float(r) for r in earned]
    if zero_sum:
        own = []
        for s in seats:
            others = [float(earned[o]) for o in seats if teams[o] != teams[s]]
            own.append(float(earned[s]) - sum(others) / len(others))
    paid = []
    for s in seats:
        mates = [own[m] for m in seats if teams[m] == teams[s]]
        paid.append((1.0 - spirit) * own[s] + spirit * sum(mates) / len(mates))
    return paid


def play(pool: Pool, slab: Slab, seed: int = 3) -> list[MatchResult]:
    """Fill ``slab`` with random decisions."""
    results: list[MatchResult] = []
    for g in range(pool.groups):
        pool.attach(g, slab)
    for t in range(slab.steps + 1):
        for g in range(pool.groups):
            results += pool.recv(g).results
            if t < slab.steps:
                if pool.spec.bots:
                    pool.random_actions(g, seed)
                else:
                    slab.actions[t, pool.group_rows(g)] = t % 2
                pool.send(g)
    return results


def played(
    game: str,
    params: dict[str, str],
    lineup: Lineup,
    steps: int,
    options: dict[str, object] | None = None,
) -> tuple[Slab, list[MatchResult]]:
    settings: dict[str, object] = {"slots": 6, "groups": 2, "threads": 0, "seed": 7, "on_error": "truncate"}
    with closing(make_pool(game, params, lineup, PoolOptions(**{**settings, **(options or {})}))) as pool:  # type: ignore[arg-type]
        slab = pool.slab(steps)
        return slab, play(pool, slab)


def by_match(slab: Slab, seats: int) -> Doubles:
    """Return the rewards of a slab in which every seat has a row: ``[steps, slots, seats]``."""
    return slab.reward.reshape(slab.steps, -1, seats).astype(np.float64)


def expected(earned: Doubles, teams: Sequence[int], spirit: float, zero_sum: bool) -> Doubles:
    paid = [[shared(match, teams, spirit, zero_sum) for match in step] for step in earned.tolist()]
    return np.array(paid)


def everyone(seats: int) -> Lineup:
    return Lineup((SeatPlan((Controller(policy=0),)),) * seats)


@pytest.mark.parametrize(("spirit", "zero_sum"), RULES)
def test_rows_of_a_compiled_game_are_paid_by_the_rule(spirit: float, zero_sum: bool) -> None:
    """With seats of dead players, whose rows are paid although they decide no more."""
    own, results = played("pommerman", POMMERMAN, everyone(4), 150)
    paid, same = played(
        "pommerman", POMMERMAN, everyone(4), 150, {"spirit": spirit, "zero_sum": zero_sum, "threads": 2}
    )
    wanted = expected(by_match(own, 4), (0, 1, 0, 1), spirit, zero_sum)
    np.testing.assert_allclose(by_match(paid, 4), wanted, rtol=0, atol=1e-6)
    assert same == results  # the game's own returns
    assert np.array_equal(own.actions, paid.actions)
    assert not np.array_equal(own.reward, paid.reward)
    dead = (paid.active[:-1] == 0) & (paid.terminated == 0)
    assert dead.any()
    if spirit == 1.0:  # what its team earns
        assert (paid.reward[dead] != 0).any()


@pytest.mark.parametrize(("spirit", "zero_sum"), RULES)
def test_seats_of_bots_count(spirit: float, zero_sum: bool) -> None:
    """The rewards of bots are known from a pool in which rows show their decisions."""
    game = spec("pommerman", POMMERMAN)
    learner = SeatPlan((Controller(policy=0),))
    shown = lineup_of(game, learner, SeatPlan((Controller(bot="simple", policy=1),)))
    hidden = lineup_of(game, learner, SeatPlan((Controller(bot="simple"),)))
    own, _ = played("pommerman", POMMERMAN, shown, 120)
    paid, _ = played("pommerman", POMMERMAN, hidden, 120, {"spirit": spirit, "zero_sum": zero_sum})
    wanted = expected(by_match(own, 4), (0, 1, 0, 1), spirit, zero_sum).reshape(120, -1)
    assert paid.rows == own.rows // 2
    rows = [int(slot) * 4 + int(seat) for slot, seat in zip(paid.row_slot, paid.row_seat, strict=True)]
    np.testing.assert_allclose(paid.reward.astype(np.float64), wanted[:, rows], rtol=0, atol=1e-6)
    bots = np.setdiff1d(np.arange(own.rows), rows)
    assert (own.reward[:, bots] != 0).sum() > 20


@pytest.mark.parametrize(
    "teams", ["01", "00", "0110", "00122", "01201201", "0101010101010101", "0000000100000000"]
)
@pytest.mark.parametrize(("spirit", "zero_sum"), [(0.3, True), (1.0, False)])
def test_rows_of_a_python_game_are_paid_by_the_rule(teams: str, spirit: float, zero_sum: bool) -> None:
    """From 2 to 16 seats, with seats that have left, in matches that end at every step."""
    seats, of_seat = len(teams), [int(t) for t in teams]
    if len(set(teams)) in (1, seats):
        zero_sum, spirit = False, spirit if len(set(teams)) == 1 else 0.0
    options: dict[str, object] = {"spirit": spirit, "zero_sum": zero_sum}
    own, results = played(SQUADS, {"teams": teams}, everyone(seats), 40)
    paid, same = played(SQUADS, {"teams": teams}, everyone(seats), 40, options)
    wanted = expected(by_match(own, seats), of_seat, spirit, zero_sum)
    np.testing.assert_allclose(by_match(paid, seats), wanted, rtol=0, atol=1e-6)
    assert same == results
    assert seats == 2 or ((own.active[:-1] == 0) & (own.reward != 0)).any()
    if spirit == 0.0 and not zero_sum:
        assert paid.reward.tobytes() == own.reward.tobytes()


def test_worker_processes_pay_the_same() -> None:
    options: dict[str, object] = {"spirit": 0.4, "zero_sum": True}
    here, _ = played(SQUADS, {"teams": "010"}, everyone(3), 20, options)
    workers, _ = played(SQUADS, {"teams": "010"}, everyone(3), 20, options | {"threads": 2})
    assert here.reward.tobytes() == workers.reward.tobytes()


def test_agents_of_pettingzoo_share_by_their_names() -> None:
    pytest.importorskip("gymnasium")
    pytest.importorskip("pettingzoo")
    assert spec(HOSTED).teams == ()
    assert spec(HOSTED, {"teams": "by_name"}).teams == (0, 1, 0, 1)
    paid, results = played(HOSTED, {"teams": "by_name"}, everyone(4), 6, {"spirit": 0.5, "zero_sum": True})
    first = shared([1, 2, 3, 4], (0, 1, 0, 1), 0.5, True)
    later = shared([1, 2, 0, 4], (0, 1, 0, 1), 0.5, True)
    wanted = np.array([first, later, later] * 2)
    np.testing.assert_allclose(by_match(paid, 4)[:, 0], wanted, rtol=0, atol=1e-6)
    assert results[0].returns == (3.0, 6.0, 3.0, 12.0)
    with pytest.raises(ValueError, match="teams = by_name: every agent is named red; expected two names"):
        spec(HOSTED, {"teams": "by_name", "names": "one"})


@pytest.mark.parametrize(("game", "params"), [("pommerman", POMMERMAN), (SQUADS, {"teams": "0101"})])
@pytest.mark.parametrize("spirit", [0.0, 0.3, 1.0])
def test_payments_of_equal_teams_add_up_to_zero(game: str, params: dict[str, str], spirit: float) -> None:
    """But for the rounding of each payment to float32, 6e-8 of it."""
    paid, _ = played(game, params, everyone(4), 32, {"spirit": spirit, "zero_sum": True})
    assert (paid.reward != 0).any()
    exact = by_match(paid, 4)
    assert np.abs(exact.sum(axis=2)).max() < 1e-6
    assert abs(exact.sum()) < 6e-8 * np.abs(exact).sum()


@pytest.mark.parametrize("spirit", [0.0, 0.3, 0.5, 1.0])
def test_a_slab_of_wins_and_losses_adds_up_to_zero(spirit: float) -> None:
    game = {"mode": "team", "max_steps": "60"}
    paid, _ = played("pommerman", game, everyone(4), 128, {"spirit": spirit, "zero_sum": True, "slots": 32})
    assert (paid.reward != 0).sum() > 300
    assert abs(paid.reward.astype(np.float64).sum()) < 1e-6


@pytest.mark.parametrize(("game", "params"), [("pommerman", POMMERMAN), (SQUADS, {"teams": "0101"})])
def test_a_spirit_holds_from_the_next_send_on(game: str, params: dict[str, str]) -> None:
    own, _ = played(game, params, everyone(4), 40)
    options = PoolOptions(slots=6, groups=2, threads=0, seed=7, on_error="truncate")
    with closing(make_pool(game, params, everyone(4), options)) as pool:
        slab = pool.slab(40)
        for g in range(2):
            pool.attach(g, slab)
        for t in range(41):
            pool.set_terms(Terms(spirit=0.0 if t < 20 else 0.75))
            for g in range(2):
                pool.recv(g)
                if t < 40:
                    pool.random_actions(g, 3) if pool.spec.bots else slab.actions.fill(t % 2)
                    pool.send(g)
    assert slab.reward[:20].tobytes() == own.reward[:20].tobytes()
    wanted = expected(by_match(own, 4), (0, 1, 0, 1), 0.75, False)[20:]
    np.testing.assert_allclose(by_match(slab, 4)[20:], wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("game", "params"), [("pommerman", POMMERMAN), (SQUADS, {"teams": "0101"})])
def test_a_snapshot_brings_the_spirit_back(game: str, params: dict[str, str]) -> None:
    options = PoolOptions(slots=4, groups=1, threads=0, seed=7, on_error="truncate")
    slabs = []
    with closing(make_pool(game, params, everyone(4), options)) as pool:
        play(pool, pool.slab(5))
        plain = pool.snapshot()
        pool.set_terms(Terms(spirit=0.75))
        data = pool.snapshot()
        for spirit in (0.0, 0.75):
            pool.set_terms(Terms(spirit=spirit))
            pool.restore(data)
            slabs.append(pool.slab(20))
            play(pool, slabs[-1])
        pool.restore(plain)
        play(pool, own := pool.slab(20))
    assert slabs[0].reward.tobytes() == slabs[1].reward.tobytes()
    wanted = expected(by_match(own, 4), (0, 1, 0, 1), 0.75, False)
    np.testing.assert_allclose(by_match(slabs[0], 4), wanted, rtol=0, atol=1e-6)
    other = msgspec.structs.replace(options, zero_sum=True)
    with (
        closing(make_pool(game, params, everyone(4), other)) as pool,
        pytest.raises(ValueError, match="zero_sum"),
    ):
        pool.restore(data)


def test_a_forged_snapshot_is_refused() -> None:
    options = PoolOptions(slots=4, groups=1, threads=0, on_error="truncate")
    with closing(make_pool(SQUADS, {"teams": "0101"}, everyone(4), options)) as pool:
        play(pool, pool.slab(2))
        data = pool.snapshot()
        stored = msgspec.json.decode(data.removeprefix(_MAGIC))
        with pytest.raises(ValueError, match=r"snapshot: spirit=7.0, expected 0..1"):
            pool.restore(_MAGIC + msgspec.json.encode({**stored, "spirit": 7.0}))


def test_replays_keep_the_games_own_rewards() -> None:
    texts = []
    for options in ({}, {"spirit": 0.5, "zero_sum": True}):
        found = played(SQUADS, {"teams": "0101"}, everyone(4), 20, {**options, "record": range(4)})[1]
        texts.append([r.replay for r in found if r.match < 4])
    assert len(texts[0]) == 4
    assert all(texts[0])
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("game", "params", "options", "error"),
    [
        ("pommerman", {"mode": "team"}, {"spirit": 1.5}, "expected 0..1"),
        ("pommerman", {"mode": "team"}, {"spirit": float("nan")}, "expected 0..1"),
        ("pommerman", {}, {"spirit": 0.5}, "teams"),
        ("pommerman", {}, {"zero_sum": True}, "teams"),
        (SQUADS, {"teams": "0101"}, {"spirit": -0.1}, "expected 0..1"),
        (SQUADS, {"teams": "0123"}, {"spirit": 0.5}, "squads has none"),
        (SQUADS, {"teams": "0000"}, {"zero_sum": True}, "one team, expected at least two"),
    ],
)
def test_a_game_without_teams_shares_nothing(
    game: str, params: dict[str, str], options: dict[str, object], error: str
) -> None:
    with pytest.raises(ValueError, match=error):
        played(game, params, everyone(4), 2, options)
    if "spirit" in options:
        spirit = float(str(options["spirit"]))
        with (
            closing(make_pool(game, params, everyone(4), PoolOptions(slots=2, threads=0))) as pool,
            pytest.raises(ValueError, match=error),
        ):
            pool.set_terms(Terms(spirit=spirit))


def test_a_declaration_names_the_team_of_every_seat() -> None:
    from ludus.flow import HeadSpec
    from ludus.games.python_game import declare, tensor

    with pytest.raises(ValueError, match="three: 2 teams, expected the team of each of 3 seats"):
        declare("three", observation=[tensor("x", (1,))], heads=[HeadSpec("h", 2)], seats=3, teams=(0, 1))


def test_matches_with_and_without_spirit_are_paid_side_by_side() -> None:
    rewards = TeamRewards(typed_spec(), zero_sum=False)
    for spirit in ([0.0, 0.7], [0.7, 0.0], [0.0, 0.0, 1e-9], [0.5, 0.5]):
        assert rewards.shares(np.array(spirit))
    assert not rewards.shares(np.zeros(3))
    assert TeamRewards(typed_spec(), zero_sum=True).shares(np.zeros(3))


@pytest.mark.parametrize("zero_sum", [False, True])
def test_every_match_has_a_spirit_of_its_own(zero_sum: bool) -> None:
    teams = typed_spec().teams
    earned = np.random.default_rng(4).normal(size=(3, len(teams))).astype(np.float32)
    spirit = np.array([0.0, 0.7, 1.0])
    paid = TeamRewards(typed_spec(), zero_sum).share(earned, spirit)
    wanted = [shared(match, teams, s, zero_sum) for match, s in zip(earned.tolist(), spirit, strict=True)]
    np.testing.assert_allclose(paid, wanted, rtol=0, atol=1e-6)
    if not zero_sum:
        assert np.array_equal(paid[0], earned[0])


def typed_spec() -> GameSpec:
    return spec("pommerman", POMMERMAN)
