"""Changes that are refused: one line with the place, the value, what was expected and the nearest name."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from ludus.flow import GameSpec, HeadSpec
from ludus.policies.config import EncoderConfig, ResnetConfig
from ludus.surgery.apply import apply, apply_memory, apply_moments
from ludus.surgery.diff import make_plan
from ludus.surgery.plan import ConversionHints, Side, SurgeryError, decode_plan
from tests.unit.surgery.cases import Case, arrays, config, game

BASE: dict[str, Any] = {"memory": "lstm"}


def refused(
    new: dict[str, Any] | EncoderConfig | None = None,
    spec: GameSpec | None = None,
    hints: ConversionHints | None = None,
    old: dict[str, Any] | None = None,
    before: GameSpec | None = None,
) -> str:
    """Return the message for a change of the base network."""
    base = {**BASE, **(old or {})}
    wanted = new if isinstance(new, EncoderConfig) else config(**{**base, **(new or {})})
    with pytest.raises(SurgeryError) as found:
        make_plan(Side(config(**base), before or game()), Side(wanted, spec or game()), hints)
    text = str(found.value)
    assert "\n" not in text
    assert "expected" in text
    assert len(text) < 600
    return text


@pytest.mark.parametrize(
    ("new", "parts"),
    [
        ({"kernels": (3, 3)}, ("policy.kernels", "[3,3]", "[]")),
        ({"strides": (2, 2)}, ("policy.strides", "[2,2]", "[1,2]")),
        ({"activation": "tanh"}, ("policy.activation", "tanh", "leaky_relu")),
        ({"leaky_slope": 0.2}, ("policy.leaky_slope", "0.2", "0.01")),
        ({"norm": "batch"}, ("policy.norm", "batch", "none")),
        ({"memory": "gru"}, ("policy.memory", "gru", '"lstm"')),
        ({"memory": "none"}, ("policy.memory", "none", '"lstm"')),
        ({"convolution": "residual"}, ("policy.convolution", "residual", "plain")),
        ({"channels": (8,), "strides": (1,)}, ("policy.strides", "[1]", "[1,2]")),
        ({"dense": (8, 8)}, ("policy.dense", "[8,8]", "1 layers")),
        ({"hidden": (15,)}, ("policy.hidden[0]", "15", "at least 16")),
        ({"channels": (8, 7)}, ("policy.channels[1]", "7", "at least 8")),
        ({"memory_size": 4}, ("policy.memory_size", "4", "at least 8")),
        ({"context": 3}, ("policy.context", "3", "at least 6")),
        ({"normalise_observations": False}, ("policy.normalise_observations", "false", "true")),
        ({"normalise_values": False}, ("policy.normalise_values", "false", "true")),
        ({"deviation": "free"}, ("policy.deviation", "free", "state")),
        ({"critic": "own"}, ("policy.critic", '"shared"', "remembers nothing")),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else "",
)
def test_settings_that_change_old_outputs_are_refused(new: dict[str, Any], parts: tuple[str, ...]) -> None:
    text = refused(new)
    for part in parts:
        assert part in text


def test_critics_do_not_move() -> None:
    none = {"memory": "none"}
    assert '"own": the value cannot move' in refused({"critic": "shared"}, old={**none, "critic": "own"})
    seats = game(seats=2)
    text = refused({"critic": "own", "critic_sees": "all"}, seats, old=none, before=seats)
    assert text.startswith("policy.critic_sees = all")
    text = refused({"critic_sees": "all"}, seats, old={**none, "critic": "own"}, before=seats)
    assert text.startswith("policy.critic_sees = all")
    assert "value_heads" in refused({"value_heads": 1}, old={"value_heads": 2})


def test_other_outputs_are_refused() -> None:
    none = {"memory": "none"}
    assert "policy.output = q" in refused({"output": "q"}, old=none)
    assert "policy.duelling = true" in refused({"duelling": True}, old={**none, "output": "q"})


@pytest.mark.parametrize(
    ("norm", "new", "place", "expected"),
    [
        ("layer", {"hidden": (24,)}, "join.norms.0", "16 or a whole multiple"),
        ("group", {"hidden": (24,)}, "join.norms.0", "16 or a whole multiple"),
        ("layer", {"channels": (8, 12)}, "planes.map.norms.1", "8 or a whole multiple"),
        ("group", {"channels": (8, 12)}, "planes.map.norms.1", "a multiple of 8"),
        ("layer", {"channels": (8, 16), "convolution": "residual"}, "planes.map.norms.1", "expected 8:"),
    ],
)
def test_a_width_under_a_norm_of_several_coordinates_is_a_multiple(
    norm: str, new: dict[str, Any], place: str, expected: str
) -> None:
    old = {"norm": norm, "convolution": new.get("convolution", "plain")}
    text = refused(new, old=old)
    assert place in text
    assert expected in text


def test_other_games_are_refused() -> None:
    assert "game.name = chess: expected synthetic" in refused(spec=replace(game(), name="chess"))
    assert "game.seats = 2: expected 1" in refused(spec=game(seats=2))
    assert "game.teams" in refused(spec=replace(game(), teams=(0,)))
    assert "game.turn_based = true" in refused(spec=replace(game(), turn_based=True))


def _with_tensor(spec: GameSpec, name: str, **changes: object) -> GameSpec:
    tensors = tuple(replace(t, **changes) if t.name == name else t for t in spec.observation)
    return replace(spec, observation=tensors)


def test_other_maps_and_codecs_are_refused() -> None:
    text = refused(spec=_with_tensor(game(), "map", shape=(3, 5, 4)))
    assert "observation.map.shape = [3,5,4]: expected planes 4x4" in text
    assert "observation.map.scale = 0.5" in refused(spec=_with_tensor(game(), "map", scale=0.5))
    assert "observation.map.codec" in refused(spec=_with_tensor(game(), "map", codec="bits"))
    assert "observation.map.dtype" in refused(spec=_with_tensor(game(), "map", dtype="f32"))
    assert "observation.units.shape" in refused(spec=_with_tensor(game(), "units", shape=(12,), labels=()))


def test_labels_that_are_missing_or_double_are_refused_where_places_changed() -> None:
    text = refused(spec=_with_tensor(game(numbers="hijkl"), "numbers", labels=()))
    assert "observation.numbers.labels = 0 labels: expected 5 different ones" in text
    text = refused(spec=_with_tensor(game(numbers="hijkl"), "numbers", labels=("h", "i", "j", "k", "k")))
    assert "observation.numbers.labels = k twice" in text
    old = _with_tensor(game(), "numbers", labels=())
    assert "0 labels" in refused(spec=game(numbers="hijkl"), before=old)
    text = refused(spec=_with_heads(game(), "order", labels=(), size=5))
    assert "heads.order.labels = 0 labels" in text


def test_missing_labels_are_no_reason_where_nothing_changed() -> None:
    old = _with_tensor(game(), "numbers", labels=())
    plan = make_plan(Side(config(), old), Side(config(hidden=(20,)), old))
    assert [o.kind for o in plan.operators] == ["widen"]


def _with_heads(spec: GameSpec, name: str, **changes: object) -> GameSpec:
    heads = tuple(replace(h, **changes) if h.name == name else h for h in spec.heads)
    return replace(spec, heads=heads)


def test_heads_of_another_kind_are_refused() -> None:
    push = HeadSpec("push", 2, kind="continuous", low=-1.0, high=1.0)
    old = replace(game(), heads=(*game().heads, push))
    wider = replace(game(), heads=(*game().heads, replace(push, high=2.0)))
    assert "heads.push.high = 2.0: expected 1.0" in refused(spec=wider, before=old)
    text = refused(spec=game(points=True))
    assert "game.heads" in text
    assert "independent" in text
    pointing = game(points=True)
    turned = replace(pointing, heads=pointing.heads[::-1])
    assert "the old order: order, unit, speed, cell" in refused(spec=turned, before=pointing)
    other = _with_heads(pointing, "cell", by_columns=True)
    assert "heads.cell.by_columns" in refused(spec=other, before=pointing)
    nothing = replace(game(), heads=(HeadSpec("other", 2, ("a", "b")),))
    assert "a head of the old game" in refused(spec=nothing)


def test_removals_are_refused_unless_an_approximation_is_allowed() -> None:
    for spec, path in (
        (game(numbers="hij"), "observation.numbers"),
        (game(units="def"), "observation.units"),
        (game(planes="ab"), "observation.map"),
        (game(choices="uvw"), "heads.order"),
        (replace(game(), heads=game().heads[:1]), "heads.speed"),
        (replace(game(), observation=game().observation[1:]), "observation.map"),
    ):
        text = refused(spec=spec)
        assert text.startswith(f"{path} = ")
        assert "approximate" in text
        plan = make_plan(
            Side(config(**BASE), game()), Side(config(**BASE), spec), ConversionHints(approximate=True)
        )
        assert not plan.exact


def test_words_of_hints_that_are_not_there_are_refused_with_the_nearest() -> None:
    old = _with_tensor(game(), "numbers", labels=("gold", "wood", "spearman", "age"))
    new = _with_tensor(
        game(numbers="hijkl"), "numbers", labels=("gold", "wood", "spearman", "pikeman", "age")
    )
    sides: dict[str, Any] = {"spec": new, "before": old}
    assert "did you mean pikeman?" in refused(hints=ConversionHints(like={"pikman": "spearman"}), **sides)
    assert "did you mean spearman?" in refused(hints=ConversionHints(like={"pikeman": "speerman"}), **sides)
    assert "new labels with age that gold has too" in refused(
        hints=ConversionHints(like={"age": "gold"}), **sides
    )
    assert "did you mean gold?" in refused(hints=ConversionHints(rename={"golt": "gold"}), **sides)
    assert "did you mean gold?" in refused(hints=ConversionHints(rename={"gold": "golt"}), **sides)
    assert "rename" in refused(hints=ConversionHints(rename={"": "gold"}), **sides)
    assert "a tensor or a head (did you mean units?)" in refused(
        hints=ConversionHints(rename={"unit": "gold"}), **sides
    )
    assert "did you mean order?" in refused(hints=ConversionHints(rename={"order": "ordr"}), **sides)
    double = refused(hints=ConversionHints(rename={"gold": "wood"}), **sides)
    assert "wood twice" in double


def test_residual_towers_are_refused() -> None:
    side = Side(ResnetConfig(), game())
    with pytest.raises(SurgeryError, match=r"old\.policy\.network = resnet: expected .*not converted yet"):
        make_plan(side, side)


def test_networks_that_fit_no_game_or_no_memory_are_refused() -> None:
    assert "policy.inputs names 'mapp'" in refused({"inputs": ("mapp",)})
    assert "expected at most" in refused({"channels": (8, 1 << 19)})
    unknown = _with_tensor(game(), "numbers", codec="none of ours")
    assert "none of ours" in refused(spec=unknown)


def test_arrays_that_are_not_the_plans_are_refused() -> None:
    case = Case((config(**BASE), game()), (config(**BASE, hidden=(20,)), game()))
    old, fresh = arrays(case.old), arrays(case.fresh)
    for damaged in (
        {n: x for n, x in old.items() if n != "value_head.bias"},
        {**old, "value_head.bias": np.ones(3)},
    ):
        with pytest.raises(SurgeryError, match=r"value_head\.bias"):
            apply(case.plan, damaged, fresh)
        with pytest.raises(SurgeryError, match=r"value_head\.bias"):
            apply_moments(case.plan, damaged, damaged)
    with pytest.raises(SurgeryError, match="new network"):
        apply(case.plan, old, old)
    with pytest.raises(SurgeryError, match=r"memory = \[3,2,9\]: expected"):
        apply_memory(case.plan, np.zeros((3, 2, 9), np.float32))


def test_a_plan_that_could_not_have_been_made_is_refused() -> None:
    plan = make_plan(Side(config(**BASE), game()), Side(config(**BASE, hidden=(20,)), game(numbers="hxijk")))
    data = msgspec.to_builtins(plan)
    assert decode_plan(msgspec.json.encode(data)) == plan

    def damaged(change: Any) -> None:  # noqa: ANN401
        copy = msgspec.json.decode(msgspec.json.encode(data))
        change(copy)
        with pytest.raises(SurgeryError) as found:
            decode_plan(msgspec.json.encode(copy))
        assert "\n" not in str(found.value)

    weight = next(i for i, t in enumerate(data["tensors"]) if t["name"] == "join.layers.0.weight")
    axis = data["tensors"][weight]["axes"][0]
    damaged(lambda d: d.update(seed=-1))
    damaged(lambda d: d.update(version=2))
    damaged(lambda d: d.update(other=1))
    damaged(lambda d: d.update(choices=10_000))
    damaged(lambda d: d["tensors"].append(d["tensors"][0]))
    damaged(lambda d: d["tensors"][weight].update(axes=[axis]))
    damaged(lambda d: d["tensors"][weight].update(axes=[axis, 9999]))
    damaged(lambda d: d["tensors"][weight].update(new_shape=[1 << 26, 1 << 26]))
    damaged(lambda d: d["tensors"][weight].update(new_shape=[21, 600]))
    damaged(lambda d: d["tensors"][weight].update(start="rotated"))
    damaged(lambda d: d["tensors"][weight].update(scale=0))
    damaged(lambda d: d["tensors"][weight].update(reads=5))
    damaged(lambda d: d["axes"][axis].update(kept=[[0, 0, 17]]))
    damaged(lambda d: d["axes"][axis].update(kept=[[0, 0, 8], [7, 8, 8]]))
    damaged(lambda d: d["axes"][axis].update(copied=[[19, 16]]))
    damaged(lambda d: d["axes"][axis].update(copied=[[3, 3]]))
    damaged(lambda d: d["memory"].update(new_shape=[2, 9]))
    damaged(lambda d: d["memory"].update(new_shape=[]))
    for text in (b"", b"[]", b"\xff", b"{}", b"[" * 100_000):
        with pytest.raises(SurgeryError):
            decode_plan(text)
