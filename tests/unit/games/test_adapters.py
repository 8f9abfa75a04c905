"""Games of other libraries: conversion of their spaces; seeds, masks, ends and chance keep their meaning."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ludus.games import check_game, spec
from ludus.games.checks.python_conformance import CHECKS
from ludus.games.names import typed
from ludus.games.registry import maker
from ludus.native import ParamError, core

ENVS = "tests.unit.games.hosted_envs"
HERE = {
    "gymnasium/CartPole-v1": "gymnasium",
    "gymnasium/Taxi-v4": "gymnasium",
    "gymnasium/Pendulum-v1": "gymnasium",
    "gymnasium/Blackjack-v1": "gymnasium",
    typed(f"pettingzoo/{ENVS}"): "pettingzoo",
    typed(f"dm_env/{ENVS}:Countdown"): "dm_env",
    "atari/Pong": "ale_py",
    "openspiel/connect_four": "pyspiel",
    "openspiel/kuhn_poker": "pyspiel",
    "openspiel/goofspiel": "pyspiel",
    "vizdoom/basic": "vizdoom",
}


def need(*modules: str) -> None:
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")


@pytest.mark.parametrize("game", HERE)
def test_hosted_games_keep_the_protocol(game: str) -> None:
    need(HERE[game])
    params = {"max_frames": 400} if game.startswith("atari") else {}
    report = check_game(game, params, matches=2)
    assert not [f for f in report.findings if not f.passed]
    assert [f.check for f in report.findings] == list(CHECKS)
    assert report.ns_per_tick > 0


def test_every_space_of_gymnasium_converts_in_both_directions() -> None:
    need("gymnasium")
    import gymnasium
    from gymnasium.envs.registration import register

    if "ludus-tests/Mixed-v0" not in gymnasium.registry:
        register("ludus-tests/Mixed-v0", entry_point=f"{ENVS}:Mixed")
    game: Any = maker("gymnasium/ludus-tests/Mixed-v0", {"size": 4}).make()
    shapes = {t.name: (t.dtype, t.shape) for t in game.spec.observation}
    assert shapes == {
        "number": ("f32", (4,)),
        "picture": ("u8", (3, 16, 12)),
        "card": ("bits", (5,)),
        "pair_0": ("bits", (5,)),
        "pair_1": ("bits", (9,)),
    }
    heads = {h.name: (h.size, h.kind, h.low, h.high) for h in game.spec.heads}
    assert heads == {
        "0": (4, "discrete", 0.0, 0.0),
        "1_jump_0": (2, "discrete", 0.0, 0.0),
        "1_jump_1": (2, "discrete", 0.0, 0.0),
        "1_turn_0": (3, "discrete", 0.0, 0.0),
        "1_turn_1": (5, "discrete", 0.0, 0.0),
        "2_0": (2, "continuous", -1.0, 1.0),
        "2_1": (2, "continuous", 0.0, 10.0),
    }
    game.reset(1)
    out = {t.name: np.zeros(t.packed_shape, t.packed_dtype) for t in game.spec.observation}
    game.observe(0, out)
    assert out["number"] == pytest.approx(np.linspace(-1, 1, 4))
    assert out["picture"][1, 2, 3] == (2 * 36 + 3 * 3 + 1) % 256
    assert np.unpackbits(out["card"], bitorder="little")[:5].tolist() == [0, 0, 1, 0, 0]
    assert np.unpackbits(out["pair_0"], bitorder="little")[:5].tolist() == [0, 1, 0, 0, 1]
    assert np.unpackbits(out["pair_1"], bitorder="little")[:9].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 1]
    decision = np.zeros((1, 7), np.int32)
    decision[0, :5] = 0, 1, 0, 2, 4
    decision[0, 5:] = np.array([0.0, 0.5], np.float32).view(np.int32)
    assert [game.step(decision) for _ in range(4)] == [False, False, False, True]
    assert game.truncated
    first, second, third = game._env.unwrapped.actions[0]
    assert first == -1
    assert (second["jump"].tolist(), second["turn"].tolist()) == ([1, 0], [2, 4])
    assert third == pytest.approx([0.0, 5 + 5 * np.tanh(0.5)])
    assert maker("gymnasium/ludus-tests/Mixed-v0", {"flip": True}).make()._env.unwrapped.flip is True  # type: ignore[attr-defined]


def test_a_mask_in_info_determines_the_legal_actions() -> None:
    need("gymnasium")
    game: Any = maker("gymnasium/Taxi-v4", {}).make()
    mask = np.zeros(6, np.uint8)
    game.reset(3)
    game.legal(0, mask)
    assert mask.tolist() == game._env.unwrapped.action_mask(game._env.unwrapped.s).tolist()
    assert 0 < mask.sum() < 6


def test_agents_that_leave_keep_their_seats_and_are_padded() -> None:
    need("pettingzoo")
    game: Any = maker(f"pettingzoo/{ENVS}", {}).make()
    assert (game.spec.seats, game.spec.observation[0].shape, game.spec.heads[0].size) == (3, (3,), 4)
    mask, out = np.zeros(4, np.uint8), {"observation": np.full(3, 9, np.float32)}
    game.reset(0)
    seen, rewards = [], np.zeros(3, np.float32)
    for _ in range(3):
        seen.append(list(game.to_act()))
        over = game.step(np.zeros((3, 1), np.int32))
        game.rewards(rewards)
    assert seen == [[0, 1, 2], [1, 2], [2]]
    assert over
    assert rewards.tolist() == [0, 0, 1]
    outcome = np.zeros(3, np.float32)
    game.outcome(outcome)
    assert outcome.tolist() == [-1, -1, 1]
    game.legal(1, mask)
    assert mask.tolist() == [1, 1, 1, 0]
    game.observe(1, out)
    assert out["observation"].tolist() == [2, 2, 0]  # what it saw when it left
    game.reset(0)
    with pytest.raises(ValueError, match=r"action 2 of seat 0 is not in \[0, 2\)"):
        game.step(np.full((3, 1), 2, np.int32))


def test_dm_env_ends_by_its_discount_and_is_created_again_for_every_seed() -> None:
    need("dm_env", "gymnasium")
    for cut in (False, True):
        game: Any = maker(f"dm_env/{ENVS}:Countdown", {"cut": cut, "length": 2}).make()
        noise = []
        for seed in (1, 2, 1):
            game.reset(seed)
            out = {t.name: np.zeros(t.packed_shape, t.packed_dtype) for t in game.spec.observation}
            game.observe(0, out)
            noise.append(float(out["noise"][0]))
            assert [game.step(np.full((1, 1), 2, np.int32)) for _ in range(2)] == [False, True]
            rewards = np.zeros(1, np.float32)
            game.rewards(rewards)
            assert (rewards[0], game.truncated) == (2.0, cut)
        assert noise[0] == noise[2] != noise[1]


@pytest.mark.parametrize(
    ("shape", "to"),
    [
        *(((210, 160), (84, 84)), ((120, 160), (72, 128)), ((120, 160), (120, 160)), ((9, 9), (1, 1))),
        *(((120, 160), (119, 159)), ((144, 256), (60, 80)), ((100, 170), (9, 20))),
    ],
)
def test_shrinking_is_the_mean_of_areas(shape: tuple[int, int], to: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 256, shape, dtype=np.uint8) for _ in range(2))
    out = np.zeros(to, np.uint8)
    core.shrink_max(a, b, out)

    def areas(size: int, to: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        fine = np.kron(np.eye(size), np.ones((1, to)))  # every input pixel cut into ``to`` pieces
        mean: np.ndarray[Any, np.dtype[np.float64]] = fine.reshape(size, to, size).sum(axis=2).T / size
        return mean

    exact = areas(shape[0], to[0]) @ np.maximum(a, b) @ areas(shape[1], to[1]).T
    assert np.abs(exact - out).max() <= 0.51
    core.shrink_max(a, a, same := np.zeros(shape, np.uint8))
    assert (same == a).all()


def test_a_picture_is_never_enlarged() -> None:
    out = np.zeros((84, 84), np.uint8)
    with pytest.raises(ValueError, match="must not be larger"):
        core.shrink_max(out, out, np.zeros((85, 84), np.uint8))


def test_atari_pictures_are_the_larger_of_the_last_two_frames() -> None:
    need("ale_py")
    built: Any = maker("atari/Pong", {"noop_max": 0, "frame_skip": 3})
    game: Any = built.make()
    game.reset(0)
    ale = built.emulator()
    ale.reset_game()
    ale.act(built.fire)
    frames: list[Any] = []
    for choice in (2, 5, 3):
        assert not game.step(np.full((1, 1), choice, np.int32))
        frames = []
        for _ in range(3):
            ale.act(built.actions[choice])
            frames.append(ale.getScreenGrayscale())
    expected = np.zeros((84, 84), np.uint8)
    core.shrink_max(frames[1], frames[2], expected)
    out = {"screen": np.zeros((4, 84, 84), np.uint8)}
    game.observe(0, out)
    assert (out["screen"][3] == expected).all()
    assert out["screen"][0].any()  # the picture of the reset


def test_atari_matches_end_at_a_lost_life_or_at_the_frame_limit() -> None:
    need("ale_py")
    game: Any = maker("atari/Breakout", {"episodic_life": True}).make()
    game.reset(1)
    lives = []
    for _ in range(600):
        if game.step(np.zeros((1, 1), np.int32)):
            assert not game.truncated
            lives.append(game._ale.lives())
            game.reset(2)
    assert lives[:6] == [4, 3, 2, 1, 0, 4]
    game = maker("atari/Breakout", {"max_frames": 41}).make()
    game.reset(1)
    assert [game.step(np.zeros((1, 1), np.int32)) for _ in range(11)] == [False] * 10 + [True]
    assert game.truncated


def test_an_atari_match_depends_on_its_seed_and_decisions_alone() -> None:
    need("ale_py")
    for game in ("atari/BeamRider", "atari/Qbert"):  # memory outlives a reset, the screen a state
        report = check_game(game, {"max_frames": 80, "noop_max": 3}, matches=2)
        assert not [f for f in report.findings if not f.passed]
    with pytest.raises(
        ParamError, match="atari/combat: the Arcade Learning Environment cannot play it alone"
    ):
        spec("atari/Combat")


def test_openspiel_draws_chance_from_the_seed_and_clones_only_perfect_information() -> None:
    need("pyspiel")
    game: Any = maker("openspiel/connect_four", {}).make()
    game.reset(1)
    for column in (3, 3, 4):
        actions = np.zeros((2, 1), np.int32)
        actions[next(iter(game.to_act()))] = column
        game.step(actions)
    twin = game.clone()
    assert twin.hash() == game.hash()
    actions[...] = 5
    game.step(actions)
    assert twin.hash() != game.hash()
    assert (list(twin.to_act()), list(game.to_act())) == ([1], [0])
    poker: Any = maker("openspiel/kuhn_poker", {}).make()
    deals = set()
    for seed in range(40):
        poker.reset(seed)
        first = poker.hash()
        poker.reset(seed)
        assert poker.hash() == first
        deals.add(first)
    assert len(deals) == 6  # two of three cards, in order
    with pytest.raises(ValueError, match="hidden information"):
        poker.clone()
    assert spec("openspiel/connect_four").perfect_information
    assert spec("openspiel/connect_four", {"rows": 5, "columns": 5}).observation[0].shape == (3, 5, 5)


UNKNOWN = {
    "gymnasium/CartPol-v1": r"did you mean gymnasium/CartPole-v1\?",
    "atari/Brekout": r"did you mean atari/breakout\?",
    "openspiel/conect_four": r"did you mean openspiel/connect_four\?",
    "vizdoom/basik": r"did you mean vizdoom/basic\?",
    "pettingzoo/classic/nothing_v0": "No module named",
    "dm_env/json": "expected dm_env/MODULE:FUNCTION",
    "./no_such_game.py": "no such file",
    "json:loads_nothing": "has no loads_nothing",
}


@pytest.mark.parametrize(("game", "message"), UNKNOWN.items())
def test_a_missing_environment_is_named_in_the_error(game: str, message: str) -> None:
    need(
        {"atari": "ale_py", "openspiel": "pyspiel"}.get(
            game.split("/")[0], game.split("/")[0].strip(".") or "json"
        ).split(":")[0]
    )
    with pytest.raises(ParamError, match=message):
        spec(typed(game))


def test_an_environment_that_lacks_a_library_reports_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("gymnasium")
    import gymnasium

    message = "Physics is not installed, run `pip install physics`"
    (tmp_path / "needs_physics.py").write_text(
        f"import gymnasium\nraise gymnasium.error.DependencyNotInstalled({message!r})\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    gymnasium.register("ludus-tests/Heavy-v0", entry_point="needs_physics:Heavy")
    try:
        with pytest.raises(ParamError, match=f"gymnasium/ludus-tests/Heavy-v0: {message}"):
            spec("gymnasium/ludus-tests/Heavy-v0")
    finally:
        del gymnasium.registry["ludus-tests/Heavy-v0"]


def test_the_check_finds_every_fault() -> None:
    game = typed("tests/unit/pool/hosted_games.py")
    expected = {
        "nan": ("observations_in_range", "tensor numbers: nan at [1] cannot be kept"),
        "shape": ("plays", "observe() raised ValueError"),
        "reward": ("rewards_finite", "expected finite numbers"),
        "seat": ("seats", "to_act() names seat 3 (seed 1, tick 2); there are 1"),
        "step-raise": ("plays", "step() raised ValueError: the rules broke (seed 1, tick 1)"),
        "": ("", ""),
    }
    for trouble, (check, detail) in expected.items():
        report = check_game(game, {"trouble": trouble}, matches=2)
        failed = {f.check: f.detail for f in report.findings if not f.passed}
        assert list(failed) == ([check] if check else []), (trouble, failed)
        assert detail in "".join(failed.values())


def test_a_missing_package_of_pettingzoo_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("pettingzoo")
    for name in [n for n in sys.modules if n.startswith("pettingzoo.classic.chess")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "chess", None)
    with pytest.raises(
        ValueError, match=r"classic/chess_v6: .*; install it: pip install 'pettingzoo\[classic\]'"
    ):
        spec("pettingzoo/classic/chess_v6")
    with pytest.raises(ValueError, match=r"classic/chess_v0: .*; searched: "):
        spec("pettingzoo/classic/chess_v0")
