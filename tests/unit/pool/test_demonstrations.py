"""Rows of a demonstrating bot: its own matches, with its decisions in the slab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pytest

from ludus.flow import Controller, Lineup, MatchResult, PoolOptions, SeatPlan, Slab
from ludus.flow.slab import Array
from ludus.games import spec as game_spec
from ludus.pool.native import NativePool

MATCHES = 8


class Shown(NamedTuple):
    game: str
    bot: str
    params: Mapping[str, str] = {}
    limit: int = 0  # ticks


SHOWN = [
    Shown("tic_tac_toe", "perfect"),
    Shown("connect_four", "tactical"),
    Shown("gomoku", "pattern", {"size": "9"}),
    Shown("go", "tactical", {"size": "5"}),
    Shown("kuhn_poker", "equilibrium"),
    Shown("leduc_poker", "random"),
    Shown("matrix", "random"),
    Shown("pommerman", "simple"),
    Shown("pommerman", "random", {"mode": "radio"}),
    Shown("minirts", "random", limit=3000),
    Shown("minirts", "simple", {"commands": "combined"}, 6000),
    Shown("minirts", "hit_and_run", {"commands": "combined", "ruleset": "clean"}, 6000),
    Shown("capture_the_flag", "simple", {"commands": "combined"}, 3000),
]
IDS = [f"{s.game}-{s.bot}" for s in SHOWN]


def pool_of(case: Shown, plan: SeatPlan, threads: int = 0) -> NativePool:
    seats = game_spec(case.game, dict(case.params)).seats
    return NativePool(
        case.game,
        case.params,
        Lineup((plan,) * seats),
        PoolOptions(
            slots=4, groups=2, threads=threads, seed=9, num_matches=MATCHES, truncate_ticks=case.limit
        ),
    )


def play(pool: NativePool, given: Array | None = None) -> tuple[list[MatchResult], Slab | None]:
    """Results by match, and the slab. ``given``: actions ``[T, R, K]``; else ones."""
    results: list[MatchResult] = []
    if not pool.rows:
        while not pool.finished:
            batch = pool.recv()
            results += batch.results
            if not pool.group_finished(batch.group):
                pool.send(batch.group)
        return sorted(results, key=lambda r: r.match), None
    slab = pool.slab(2400)
    for group in range(pool.groups):
        pool.attach(group, slab)
    for t in range(slab.steps):
        for group in range(pool.groups):
            batch = pool.recv(group)
            results += batch.results
            slab.actions[t, batch.rows] = 1 if given is None else given[t, batch.rows]
            pool.send(group)
        if pool.finished:
            break
    return sorted(results, key=lambda r: r.match), slab


def played(results: list[MatchResult]) -> list[tuple[object, ...]]:
    return [(r.match, r.ticks, r.outcome, r.returns, r.truncated, r.error) for r in results]


@pytest.mark.parametrize("case", SHOWN, ids=IDS)
def test_a_demonstrating_bot_plays_and_its_decisions_are_in_the_slab(case: Shown) -> None:
    own, _ = play(pool_of(case, SeatPlan((Controller(bot=case.bot),))))
    assert len(own) == MATCHES
    shown, slab = play(pool_of(case, SeatPlan((Controller(bot=case.bot, policy=1),)), threads=2))
    assert slab is not None
    assert played(shown) == played(own)
    assert all(p in ("policy:1", case.bot) for r in shown for p in r.players)
    on = slab.active[:-1] != 0
    assert (slab.policy[:-1][on] == 1).all()
    sizes = [h.size for h in game_spec(case.game, dict(case.params)).heads]
    assert ((slab.actions[on] >= 0) & (slab.actions[on] < sizes)).all()


@pytest.mark.parametrize(
    "case",
    [s for s in SHOWN if s.bot in ("simple", "perfect", "tactical", "pattern") and s.game != "pommerman"],
    ids=lambda case: case.game,
)
def test_the_demonstrated_decisions_reproduce_the_match(case: Shown) -> None:
    """Given back by a policy, they lead through the same observations to the same end.

    In the other games the bots' draws come from the game's own stream.
    """
    shown, slab = play(pool_of(case, SeatPlan((Controller(bot=case.bot, policy=0),))))
    assert slab is not None
    again, given = play(pool_of(case, SeatPlan((Controller(policy=0),))), slab.actions.copy())
    assert given is not None
    assert played(again) == played(shown)
    on = slab.active != 0
    np.testing.assert_array_equal(given.active, slab.active)
    for name, tensor in slab.obs.items():
        np.testing.assert_array_equal(given.obs[name][on], tensor[on], err_msg=name)


def test_a_handover_bot_plays_first_for_a_demonstrating_bot() -> None:
    case = Shown("minirts", "simple", {"commands": "combined"}, 2000)
    shown, slab = play(pool_of(case, SeatPlan((Controller(bot="simple", policy=0),), 0, "hit_and_run", 900)))
    plain, _ = play(pool_of(case, SeatPlan((Controller(bot="simple", policy=0),))))
    assert slab is not None
    assert played(shown) != played(plain)
    assert len(shown) == MATCHES


@pytest.mark.parametrize(
    ("game", "params", "controllers", "message"),
    [
        ("minirts", {}, [Controller(bot="simple", policy=0)], r"\(bots that demonstrate: random\)"),
        (
            "minirts",
            {"commands": "combined", "repeat_orders": "5"},
            [Controller(bot="simple", policy=0)],
            r"the decisions of simple are not choices of minirts's heads .*\(bots that demonstrate: none\)",
        ),
        ("tower_defense", {}, [Controller(bot="simple", policy=0)], r"\(bots that demonstrate: none\)"),
        (
            "tic_tac_toe",
            {},
            [Controller(bot="random", policy=0), Controller(policy=0)],
            "policy 0 has more than one kind of controller",
        ),
        (
            "tic_tac_toe",
            {},
            [Controller(bot="random", policy=0), Controller(bot="perfect", policy=0)],
            "policy 0 has more than one kind of controller",
        ),
        ("tic_tac_toe", {}, [Controller(bot="prefect", policy=0)], "did you mean perfect"),
    ],
)
def test_bots_that_cannot_demonstrate_are_refused(
    game: str, params: dict[str, str], controllers: list[Controller], message: str
) -> None:
    plan = SeatPlan(tuple(controllers))
    seats = game_spec(game, dict(params)).seats
    with pytest.raises(ValueError, match=message):
        NativePool(game, params, Lineup((plan,) * seats), PoolOptions(slots=2))


def test_a_snapshot_with_a_demonstrating_bot_fits_only_its_lineup() -> None:
    case = Shown("tic_tac_toe", "perfect")
    pools = [
        pool_of(case, SeatPlan((Controller(bot=bot, policy=0),))) for bot in ("perfect", "random", "perfect")
    ]
    for pool in pools:
        slab = pool.slab(4)
        for group in range(pool.groups):
            pool.attach(group, slab)
            pool.recv(group)
    pools[2].restore(pools[0].snapshot())
    with pytest.raises(ValueError, match="bot"):
        pools[1].restore(pools[0].snapshot())
