"""Actions are members of their space, and every member can be reached; other spaces are refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium import spaces  # noqa: E402
from gymnasium.spaces import Box  # noqa: E402

from ludus.cli import __main__ as cli  # noqa: E402
from ludus.flow import Controller, Lineup, PoolOptions, SeatPlan  # noqa: E402
from ludus.games import check_game, spec  # noqa: E402
from ludus.games.adapters.boxes import UnsupportedSpace, continuous, decision  # noqa: E402
from ludus.games.adapters.spaces import Actions  # noqa: E402
from ludus.games.names import typed  # noqa: E402
from ludus.games.python_game import Ints  # noqa: E402
from ludus.games.registry import maker  # noqa: E402
from ludus.native import ParamError  # noqa: E402
from ludus.policies.actions.distribution import uniforms  # noqa: E402
from ludus.policies.actions.heads import heads_of  # noqa: E402
from ludus.pool.hosted.process import ProcessPool  # noqa: E402
from ludus.rollouts.actor import ActInput  # noqa: E402
from ludus.rollouts.network_actor import RandomActor  # noqa: E402
from tests.unit.games.own_spaces import OneOf, registered  # noqa: E402

Space = spaces.Space[Any]
F32, F64 = np.finfo(np.float32).max, np.finfo(np.float64).max
BOXES: dict[str, Box[Any]] = {
    "bits": Box(0, 1, (1,), np.int32),
    "die": Box(1, 6, (2,), np.int64),
    "signed": Box(-2, 2, (1,), np.int32),
    "bytes": Box(0, 255, (1,), np.uint8),
    "all of int8": Box(-128, 127, (1,), np.int8),
    "uint64": Box(0, 3, (1,), np.uint64),
    "far integers": Box(2**50, 2**50 + 3, (1,), np.int64),
    "bool": Box(0, 1, (2,), bool),
    "a number alone": Box(0, 4, (), np.int64),
    "huge": Box(-F32, F32, (2,)),
    "sum overflows": Box(-2e38, 2e38, (2,)),
    "one end huge": Box(-3e38, 1, (1,)),
    "1e300": Box(-1e300, 1e300, (1,), np.float64),
    "all of float64": Box(-F64, F64, (1,), np.float64),
    "from 0 on": Box(0, np.inf, (2,)),
    "up to 3": Box(-np.inf, 3, (2,)),
    "float64 from 0.1 on": Box(0.1, np.inf, (1,), np.float64),
    "float16 from 1 on": Box(1, np.inf, (1,), np.float16),
    "one axis constant": Box(np.array([-1, 3], np.float32), np.array([1, 3], np.float32)),
    "constant": Box(2, 2, (2,)),
    "narrow": Box(0.1, 0.1000000001, (1,), np.float64),
    "no float32": Box(np.array([0.1]), np.array([0.3]), dtype=np.float64),
    "float16": Box(-np.inf, np.inf, (1,), np.float16),
    "every kind": Box(np.array([0, -np.inf, -np.inf, -1, 7], "f"), np.array([np.inf, 5, np.inf, 1, 7], "f")),
    "matrix": Box(-1, 1, (2, 3), np.int16),
}
OTHERS: dict[str, Space] = {
    "start": spaces.Discrete(3, start=-7),
    "starts": spaces.MultiDiscrete([3, 4], start=[5, -2]),
    "matrix of choices": spaces.MultiDiscrete(np.array([[2, 3], [4, 5]])),
    "coins": spaces.MultiBinary([2, 2]),
    "nested": spaces.Dict(
        a=spaces.Tuple((Box(0, 1, (2, 2), np.int8), spaces.Discrete(3, start=-1))),
        b=spaces.Dict(c=Box(0, np.inf, (1,)), d=Box(3, 3, (1,))),
    ),
}
INTEGERS = ("bits", "die", "signed", "bytes", "all of int8", "uint64", "bool", "matrix")
EDGES = np.array([0.0, -0.0, 1e-30, 1e30, -1e30, 9.1, -9.1, F32, -F32], np.float32)


def decisions(actions: Actions, count: int, seed: int = 1) -> Ints:
    """Return decisions as a random policy draws them, and the extreme ones."""
    out = np.zeros((count, len(actions.heads)), np.int32)
    draws = uniforms(seed, 0, np.arange(count), len(actions.heads)).astype(np.float64)
    for k, head in enumerate(actions.heads):
        if head.kind == "continuous":
            u = np.arctanh(2 * draws[:, k] - (1 - 2.0**-24)).astype(np.float32)
            u[: len(EDGES)] = np.roll(EDGES, k)
            out[:, k] = u.view(np.int32)
        else:
            out[:, k] = draws[:, k] * head.size
    return out


@pytest.mark.parametrize("name", [*BOXES, *OTHERS])
def test_every_decoded_action_is_a_member_of_its_space(name: str) -> None:
    space = {**BOXES, **OTHERS}[name]
    actions = Actions(space)
    drawn = decisions(actions, 300)
    members = [actions.decode(row) for row in drawn]
    assert [m for m in members if not space.contains(m)] == []
    if actions.single:
        many = actions.decode_many(drawn)
        assert (many == np.array(members)).all()
        assert many.dtype == space.dtype


@pytest.mark.parametrize(
    "name", ["bits", "die", "signed", "bytes", "all of int8", "uint64", "bool", "matrix"]
)
def test_every_integer_of_a_box_is_equally_likely(name: str) -> None:
    box = BOXES[name]
    actions = Actions(box)
    values = actions.decode_many(decisions(actions, 40_000)[len(EDGES) :])
    low, high = int(box.low.min()), int(box.high.max())
    for column in values.reshape(len(values), -1).T:
        counts = np.bincount(column.astype(np.int64) - low, minlength=high - low + 1)
        expected = len(values) / (high - low + 1)
        assert (np.abs(counts - expected) < 5 * expected**0.5).all()


def test_the_widest_integers_are_reached_one_by_one() -> None:
    actions = Actions(Box(-5, 2**24 - 6, (1,), np.int64))
    places = np.linspace(0, 2**24 - 1, 5001).astype(np.int64)
    u = np.arctanh(2.0 * (places / 2**24) - (1.0 - 2.0**-24)).astype(np.float32)
    assert (actions.decode_many(u.view(np.int32)[:, None])[:, 0] == places - 5).all()


def test_numbers_of_a_float_box_are_spread_over_it() -> None:
    for name, low, high in (("no float32", 0.1, 0.3), ("narrow", 0.1, 0.1000000001)):
        actions = Actions(BOXES[name])
        values: Any = np.sort(actions.decode_many(decisions(actions, 2000))[len(EDGES) :, 0])
        assert np.abs((values - low) / (high - low) - np.linspace(0, 1, len(values))).max() < 0.05
    for name in ("huge", "sum overflows", "all of float64"):
        actions = Actions(BOXES[name])
        values = actions.decode_many(decisions(actions, 2000))[len(EDGES) :]
        assert np.unique(values).size > 0.99 * values.size
        assert np.abs(values).max() < 20
    actions = Actions(BOXES["from 0 on"])
    above: Any = actions.decode_many(decisions(actions, 2000))[:, 0]
    assert np.quantile(above, [0.05, 0.5, 0.95]) == pytest.approx([0.2, 0.69, 1.7], abs=0.1)


def test_the_inverse_of_a_head_is_its_number() -> None:
    for name, numbers in {
        "die": (1, 4, 6),
        "bytes": (0, 77, 255),
        "from 0 on": (1e-3, 1, 50),
        "up to 3": (2.9, -7),
        "one axis constant": (-0.999, 0.25),
        "huge": (-3.5, 12),
    }.items():
        head = Actions(BOXES[name]).heads[0]
        got = [float(continuous(np.array([decision(head, x)]), [head])[0]) for x in numbers]
        assert got == pytest.approx(numbers, rel=1e-5)


@pytest.mark.parametrize(
    ("space", "why"),
    [
        (Box(0, 2**31 - 1, (1,), np.int32), "action_0 .* has 2147483648 integers, at most 16777216 can be"),
        (Box(0, np.inf, (1,), np.int64), "integers, at most 16777216 can be reached"),
        (Box(2**60, 2**60 + 3, (1,), np.int64), r"its integers are beyond 2\*\*53"),
        (Box(1e300, 2e300, (1,), np.float64), r"its numbers are beyond 1.7e\+38"),
        (Box(-1, 1, (9, 9)), "81 heads, expected 1 to 64"),
        (Box(0, 1, (0,)), "0 heads, expected 1 to 64"),
        (spaces.Discrete(100_000), "100000 choices, at most 65536"),
        (spaces.Dict(a=spaces.Discrete(2), b=spaces.Tuple((spaces.Text(3),))), "b.0 is Text"),
        (
            spaces.Sequence(spaces.Discrete(2)),
            "only Box, Discrete, MultiDiscrete, MultiBinary, Tuple and Dict",
        ),
    ],
)
def test_a_space_that_cannot_be_played_is_named_in_the_error(space: Space, why: str) -> None:
    with pytest.raises(UnsupportedSpace, match=why):
        Actions(space)
    with pytest.raises(ParamError, match=rf"gymnasium/ludus-tests/Own\d+-v0: .*{why}"):
        spec(registered(lambda: OneOf(action=space)))


def test_an_unsupported_space_is_refused_before_a_run_directory_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    game = registered(lambda: OneOf(action=Box(0, 2**40, (1,), np.int64)))
    Path("t.toml").write_text(f'[game]\nname = "{game}"\n')
    assert cli.main(["train", "t.toml", "--run-dir", "run"]) == 2
    assert "1099511627777 integers, at most 16777216 can be reached" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["t.toml"]


@pytest.mark.parametrize(
    "space", [BOXES["bits"], BOXES["every kind"], OTHERS["nested"]], ids=("bits", "every kind", "nested")
)
def test_pools_and_checks_play_only_members_of_the_space(space: Space) -> None:
    made: list[OneOf] = []

    def make() -> OneOf:
        made.append(OneOf(action=space, steps=20))
        return made[-1]

    game = registered(make)
    assert [f for f in check_game(game, matches=2).findings if not f.passed] == []
    lineup = Lineup((SeatPlan((Controller(policy=0),)),))
    pool = ProcessPool(game, {}, lineup, PoolOptions(slots=2, groups=1, threads=0, seed=1))
    pool.attach(0, pool.slab(40))
    pool.recv(0)
    for step in range(40):
        pool.random_actions(0, seed=step)
        pool.send(0)
        assert [r.error for r in pool.recv(0).results if r.error] == []
    pool.close()
    played = [x for env in made for x in env.actions]
    assert len(played) > 80
    if space is BOXES["bits"]:
        assert {int(x[0]) for x in played} == {0, 1}


def test_the_random_actor_reaches_both_ends() -> None:
    made = maker(registered(lambda: OneOf(action=BOXES["die"])))
    heads, rows = heads_of(made.spec), np.arange(500, dtype=np.int32)
    mask = np.ones((500, made.spec.mask_size), np.uint8)
    act = RandomActor(heads, 1).act(ActInput({}, mask, None, np.zeros(500, np.bool_), 0, rows))
    assert set(np.ravel(Actions(BOXES["die"]).decode_many(act.actions)).tolist()) == {1, 2, 3, 4, 5, 6}


def test_games_show_prints_the_range_of_each_head(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["games", "show", registered(lambda: OneOf(action=BOXES["every kind"]))]) == 0
    shown = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()[-5:]]
    assert shown == [
        "action_0 a number from 0 on",
        "action_1 a number up to 5",
        "action_2 a number",
        "action_3 a number from -1 to 1",
        "action_4 1 always 7.0",
    ]


def test_actions_of_dm_env_pass_the_validation_of_their_specs() -> None:
    pytest.importorskip("dm_env")
    made = maker(typed("dm_env/tests.unit.games.hosted_envs:Typed"), {})
    game, rng, earned = made.make(), np.random.default_rng(1), np.zeros(1, np.float32)
    seen = set()
    for match in range(5):
        game.reset(match)
        for _ in range(20):
            decision = rng.standard_normal((1, len(made.spec.heads)), np.float32).view(np.int32)
            for k, head in enumerate(made.spec.heads):
                if head.kind == "discrete":
                    decision[0, k] = rng.integers(head.size)
            game.step(decision)
            game.rewards(earned)
            seen.add(float(earned[0]))
    assert seen == {-1.0, 0.0, 1.0, 2.0}
