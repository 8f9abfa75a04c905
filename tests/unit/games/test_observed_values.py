"""Observations keep their values, others are named in the error; pictures are read by one rule."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium import spaces  # noqa: E402
from gymnasium.spaces import Box  # noqa: E402

from ludus.cli import __main__ as cli  # noqa: E402
from ludus.flow import Controller, Lineup, PoolOptions, SeatPlan  # noqa: E402
from ludus.games import check_game, spec  # noqa: E402
from ludus.games.adapters.pictures import Layouts, picture  # noqa: E402
from ludus.games.adapters.spaces import Observation  # noqa: E402
from ludus.games.adapters.values import difference  # noqa: E402
from ludus.games.names import typed  # noqa: E402
from ludus.games.registry import maker  # noqa: E402
from ludus.native import ParamError  # noqa: E402
from ludus.pool.hosted.process import ProcessPool  # noqa: E402
from tests.unit.games.own_spaces import OneOf, registered  # noqa: E402

INF, A, F = np.inf, np.array, np.float32
Space = spaces.Space[Any]
VECTOR = Box(-1, 1, (3,), F)
BYTES = Box(0, 255, (3,), np.uint8)
NESTED = spaces.Dict(a=spaces.Tuple((VECTOR, spaces.Discrete(3))), b=spaces.MultiBinary(2))

#: A space, a value that is no member, and the message about it. Each ends its match with an error.
WRONG: dict[str, tuple[Space, Any, str]] = {
    "outside uint8": (BYTES, A([-1, 256, 300]), "-1 at [0] cannot be kept as uint8"),
    "half in uint8": (BYTES, A([0, 2.5, 3]), "2.5 at [1] cannot be kept as uint8"),
    "nan in uint8": (BYTES, A([0, 1, np.nan]), "nan at [2] cannot be kept as uint8"),
    "outside int8": (Box(-128, 127, (2,), np.int8), A([127, 128]), "128 at [1] cannot be kept as int8"),
    "uint64 in int32": (Box(0, 9, (1,), np.int32), A([2**32 + 1], np.uint64), "4294967297 at [0]"),
    "large int64": (Box(-(2**60), 2**60, (1,), np.int64), A([2**24 + 1]), "16777217 at [0] cannot be kept"),
    "large uint32": (Box(0, 2**32 - 1, (), np.uint32), np.uint32(2**32 - 1), "4294967295 cannot be kept"),
    "1e300": (Box(-INF, INF, (1,), np.float64), A([1e300]), "1e+300 at [0] cannot be kept as float32"),
    "shape": (VECTOR, A([0, 0], F), "shape (2,), the space has (3,)"),
    "shape of a scalar": (Box(-1, 1, (), F), A([0.5], F), "shape (1,), the space has ()"),
    "words": (VECTOR, ["a", "b", "c"], "expected an array of numbers"),
    "nothing": (VECTOR, None, "expected an array of numbers"),
    "ragged": (VECTOR, [[1], [1, 2]], "no array of numbers"),
    "complex": (VECTOR, A([0, 1j, 0]), "expected an array of numbers"),
    "fraction of a choice": (spaces.Discrete(3), 1.5, "1.5 is no integer"),
    "nan of a choice": (spaces.Discrete(3), np.nan, "nan is no integer"),
    "choice beyond": (spaces.Discrete(3, start=2), 5, "5 is not in"),
    "shape of choices": (spaces.MultiDiscrete([2, 2, 2, 2]), np.zeros((2, 2), int), "shape (2, 2)"),
    "fraction of choices": (spaces.MultiDiscrete([3, 3]), A([1, 0.5]), "0.5 at [1] is no integer"),
    "no bit": (spaces.MultiBinary(3), A([0, 1, 2]), "2 at [2]"),
    "half a bit": (spaces.MultiBinary(2), A([0.5, 0]), "0.5 at [0]"),
    "shape of bits": (spaces.MultiBinary([3, 3]), np.zeros(9, np.int8), "shape (9,)"),
    "no dict": (NESTED, A([1.0]), "missing in"),
    "key away": (NESTED, {"a": (A([0, 0, 0], F), 1)}, "b: missing in"),
    "part away": (NESTED, {"a": (A([0, 0, 0], F),), "b": A([0, 1])}, "a_1: missing in"),
    "nested": (NESTED, {"a": (A([0, 0, 0], F), 7), "b": A([0, 1])}, "observation a_1: 7 is not in [0, 3)"),
}
#: Values that are members, or that a conversion keeps.
RIGHT: dict[str, tuple[Space, Any]] = {
    "list": (VECTOR, [0, 0.5, 1]),
    "float64": (VECTOR, A([0.1, 0.2, 0.3])),
    "whole floats": (BYTES, A([0.0, 255.0, 3.0])),
    "int64 of bytes": (BYTES, A([0, 255, 3])),
    "bool": (Box(0, 1, (2,), np.uint8), A([True, False])),
    "bool space": (Box(0, 1, (2,), bool), A([True, False])),
    "even int64": (Box(-(2**60), 2**60, (1,), np.int64), A([2**40])),
    "int32": (Box(-(2**31), 2**31 - 1, (1,), np.int32), A([2**24 + 1], np.int32)),
    "choice as array": (spaces.Discrete(3), A(2)),
    "choice as one number": (spaces.Discrete(3), A([2])),
    "choice as float": (spaces.Discrete(3), 2.0),
    "nested": (NESTED, OrderedDict(b=[1, 0], a=[A([0, 0, 1]), np.int8(2)])),
}


def out_of(seen: Observation) -> dict[str, Any]:
    return {t.name: np.zeros(t.packed_shape, t.packed_dtype) for t in seen.tensors}


@pytest.mark.parametrize("case", WRONG)
def test_a_value_that_its_tensor_cannot_hold_is_named_in_the_error(case: str) -> None:
    space, value, message = WRONG[case]
    seen = Observation(space)
    with pytest.raises(ValueError, match="observation") as error:
        seen.write(value, out_of(seen))
    assert message in str(error.value)
    message = difference(space, value, "observation")
    assert message.startswith("observation")


@pytest.mark.parametrize("case", RIGHT)
def test_a_value_that_its_tensor_can_hold_is_kept(case: str) -> None:
    space, value = RIGHT[case]
    seen = Observation(space)
    out = out_of(seen)
    seen.write(value, out)
    assert difference(space, value, "observation") == ""
    if isinstance(space, Box):
        assert out["observation"] == pytest.approx(np.ravel(np.asarray(value, float)), rel=1e-7)


def test_bounds_are_compared_number_by_number() -> None:
    space = Box(A([0, -5], F), A([1, 5], F))
    assert difference(space, A([1.0000005, -5], F), "observation") == ""  # rounding
    message = difference(space, A([3, 3], F), "observation")
    assert message.startswith("observation: 3.0 at [0] is not in Box(")
    assert message.endswith("widen the bounds of observation_space, or clip the value")
    wide = difference(spaces.Dict(a=VECTOR), {"a": A([0, 0, 0], F), "more": 1}, "observation")
    assert wide == "observation['more'] is not in observation_space: add it there, or leave it out"


@pytest.mark.parametrize("steps", [0, 2])
def test_a_bad_observation_ends_its_match_with_slot_seed_tick_and_key(steps: int) -> None:
    space = spaces.Dict(camera=BYTES, speed=VECTOR)
    fine = {"camera": A([1, 2, 3], np.uint8), "speed": A([0, 0, 0], F)}
    game = registered(lambda: OneOf(space, values=[*[fine] * steps, {**fine, "camera": A([1, 256, 3])}]))
    lineup = Lineup((SeatPlan((Controller(policy=0),)),))
    pool = ProcessPool(
        game, {}, lineup, PoolOptions(slots=1, groups=1, threads=0, seed=7, on_error="truncate")
    )
    pool.attach(0, pool.slab(steps + 1))
    pool.recv(0)
    results = []
    for _ in range(steps + 1):
        pool.random_actions(0)
        pool.send(0)
        results += pool.recv(0).results
    pool.close()
    (result,) = results
    call = "observe" if steps else "reset"
    assert result.error == f"{call}: ValueError: observation camera: 256 at [1] cannot be kept as uint8"
    assert (result.slot, result.ticks) == (0, steps)
    report = check_game(game, matches=1)
    (found,) = (f for f in report.findings if not f.passed)
    assert found.check == "observations_in_range"
    assert found.detail == (
        "observation['camera']: 256 at [1] cannot be kept as uint8; observation_space has Box(0, 255, (3,), "
        f"uint8): return a member of it, or change it (seed 1, tick {steps}, seat 0)"
    )


def test_observations_of_a_vector_environment_are_checked_too() -> None:
    made: Any = maker("gymnasium/CartPole-v1", {})
    game = made.make_vector(2)
    game.reset(1)
    out = {"observation": np.zeros((2, 4), np.float32)}
    game._value = np.full((2, 4), 2**24 + 1)
    with pytest.raises(ValueError, match=r"observation: 16777217 at \[0, 0\] cannot be kept"):
        game.observe(out)
    game._value = np.zeros((2, 3), np.float32)
    with pytest.raises(ValueError, match=r"shape \(2, 3\), the space has \(2, 4\)"):
        game.observe(out)
    game.close()


# ---- pictures --------------------------------------------------------------------------------------

LAYOUTS = {
    (210, 160, 3): "hwc",
    (3, 210, 160): "chw",
    (84, 84, 4): "hwc",
    (4, 84, 84): "chw",
    (20, 19, 19): "chw",
    (17, 19, 19): "chw",
    (19, 19, 20): "hwc",
    (119, 8, 8): "chw",
    (8, 8, 111): "hwc",
    (16, 10, 10): "chw",
    (18, 14, 26): "hwc",
    (26, 18, 14): "chw",
    (20, 9, 10): "chw",
    (9, 10, 20): "hwc",
    (8, 8, 8): "hwc",
    (96, 12, 4): "hwc",
    (7, 7, 3): "flat",
    (4, 84, 84, 3): "flat",
    (10, 10): "hw",
    (4, 4): "flat",
}


@pytest.mark.parametrize("shape", LAYOUTS)
def test_axes_of_pictures_are_recognised_by_one_rule(shape: tuple[int, ...]) -> None:
    space = Box(0, 255, shape, np.uint8)
    seen = Observation(space)
    (tensor,) = seen.tensors
    array = space.sample()
    seen.write(array, out := out_of(seen))
    layout = LAYOUTS[shape]
    expected = array.ravel() if layout == "flat" else array[None] if layout == "hw" else array
    if layout == "hwc":
        expected = array.transpose(2, 0, 1)
    assert (out["observation"] == expected).all()
    assert tensor.shape == expected.shape
    assert tensor.scale == (1.0 if layout == "flat" else 1 / 255)
    meanings = {
        "hwc": "channels last (hwc)",
        "chw": "channels first (chw)",
        "hw": "picture",
        "flat": "flat vector",
    }
    assert meanings[layout] in tensor.meaning


def test_the_layout_of_pictures_can_be_set() -> None:
    stack = Observation(Box(0, 255, (4, 20, 30, 3), np.uint8), Layouts("hwc"))
    assert stack.tensors[0].shape == (12, 20, 30)
    array = stack.space.sample()
    stack.write(array, out := out_of(stack))
    assert (out["observation"][3 * 2 + 1] == array[2, :, :, 1]).all()
    two = spaces.Dict(board=Box(0, 1, (5, 6, 7), F), camera=Box(0, 255, (20, 20, 9), np.uint8))
    seen = Observation(two, Layouts("board:chw, camera:flat"))
    assert [(t.shape, t.dtype, t.scale) for t in seen.tensors] == [
        ((5, 6, 7), "f32", 1.0),
        ((3600,), "u8", 1.0),
    ]
    assert picture((5, 6, 7), False, "auto") is None
    for text, why in {
        "hcw": r"picture_layout = hcw: unknown layout hcw \(did you mean chw\?\)|\(did you mean hwc\?\)",
        "boards:chw": r"unknown tensor boards \(did you mean board\?\)",
    }.items():
        with pytest.raises(ValueError, match=why):
            Observation(two, Layouts(text))


def test_pixels_are_scaled_by_the_spaces_high() -> None:
    for high in (1, 6, 255):
        (tensor,) = Observation(Box(0, high, (10, 10), np.uint8)).tensors
        assert (tensor.scale, tensor.low, tensor.high) == (1 / high, 0, high)
    assert Observation(Box(0, 0, (10, 10), np.uint8)).tensors[0].scale == 1


def test_a_box_that_is_no_picture_is_described_with_the_reason() -> None:
    for shape, dtype, why in (
        ((84, 84, 3), F, "no bytes"),
        ((7, 7, 3), np.uint8, "sides below 8"),
        ((4, 84, 84, 3), np.uint8, "more than three axes"),
    ):
        (tensor,) = Observation(Box(0, 1, shape, dtype)).tensors
        assert tensor.meaning == f"{shape} as a flat vector ({why}; picture_layout sets it)"


def test_games_show_prints_the_layout_and_a_parameter_sets_it(capsys: pytest.CaptureFixture[str]) -> None:
    game = registered(lambda: OneOf(Box(0, 1, (30, 19, 18), np.uint8)))
    assert cli.main(["games", "show", game]) == 0
    shown = capsys.readouterr().out
    assert "u8[30, 19, 18]" in shown
    assert "picture of shape (30, 19, 18), channels first (chw), read as x / 1" in shown
    assert "order of a picture's axes: auto, hwc, chw or flat" in shown
    assert cli.main(["games", "show", game, "--param", "picture_layout=hwc"]) == 0
    assert "u8[18, 30, 19]" in capsys.readouterr().out
    assert [f for f in check_game(game, {"picture_layout": "hwc"}, matches=1).findings if not f.passed] == []
    with pytest.raises(ParamError, match="unknown layout whc"):
        spec(game, {"picture_layout": "whc"})
    for name in ("pettingzoo/tests.unit.games.hosted_envs", "dm_env/tests.unit.games.hosted_envs:Countdown"):
        pytest.importorskip(name.partition("/")[0])
        assert "picture_layout" in [p.name for p in spec(typed(name)).params]
