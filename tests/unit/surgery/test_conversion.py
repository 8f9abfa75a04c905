"""Old outputs stay as they were: random networks, games and changes, 100 steps with resets in mid-match."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import hypothesis.strategies as st
import msgspec
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace
from torch import nn

from ludus.codecs.layout import TensorLayout
from ludus.flow import GameSpec, HeadSpec
from ludus.policies import encoders
from ludus.policies.config import EncoderConfig
from ludus.policies.encoders import register_encoder
from ludus.policies.network import PolicyNetwork
from ludus.surgery.apply import apply
from ludus.surgery.diff import make_plan
from ludus.surgery.plan import ConversionHints, Side, SurgeryError
from ludus.surgery.verify import LargestDifferences
from tests.unit.surgery.cases import (
    ROWS,
    SMALL,
    STEPS,
    WIDE,
    Case,
    arrays,
    config,
    game,
    observations,
    trained,
)

FLOAT32, FLOAT64 = 1e-4, 1e-10
Change = tuple[EncoderConfig, GameSpec, EncoderConfig, GameSpec, int]


def grown(draw: st.DrawFn, old: str, further: str) -> str:
    """Return ``old`` in any order with some letters of ``further`` anywhere among it."""
    added = draw(st.lists(st.sampled_from(further), unique=True, max_size=3))
    return "".join(draw(st.permutations([*old, *added])))


def widths(draw: st.DrawFn, norm: str, convolution: str) -> dict[str, Any]:
    """Return widths from SMALL's on that ``norm`` allows."""

    def more(key: str, i: int) -> int:
        width: int = SMALL[key][i]
        if norm in ("none", "batch"):
            return width + draw(st.integers(0, 9))
        if key == "channels" and convolution == "residual" and norm == "layer":
            return width
        return width * draw(st.integers(1, 3))

    made = {
        key: tuple(more(key, i) for i in range(len(SMALL[key]))) for key in ("channels", "dense", "hidden")
    }
    return {
        **made,
        "context": SMALL["context"] + draw(st.integers(0, 5)),
        "memory_size": SMALL["memory_size"] + draw(st.integers(0, 5)),
    }


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """Return the old and the new network: several operators at once."""
    points = draw(st.booleans())
    norm = draw(st.sampled_from(["none", "batch", "group", "layer"]))
    convolution = draw(st.sampled_from(["plain", "residual"]))
    memory = draw(st.sampled_from(["none", "recall", "gru", "lstm"]))
    critic = draw(st.sampled_from(["shared", "own"]))
    sees = draw(st.sampled_from(["own", "all"])) if critic == "own" and memory == "none" else "own"
    output = (
        "logits" if points or memory != "none" or sees != "own" else draw(st.sampled_from(["logits", "q"]))
    )
    old: dict[str, Any] = {
        "norm": norm,
        "convolution": convolution,
        "memory": memory,
        "critic": critic,
        "critic_sees": sees,
        "output": output,
        "duelling": output == "q" and (critic == "own" or draw(st.booleans())),
        "activation": draw(st.sampled_from(["relu", "tanh", "leaky_relu", "gelu", "elu"])),
        "value_heads": 1 if output == "q" else draw(st.integers(1, 2)),
    }
    new = {**old, **widths(draw, norm, convolution)}
    if output != "q":
        new["value_heads"] = old["value_heads"] + draw(st.integers(0, 2))
    if memory == "none" and output == "logits" and sees == "own" and draw(st.booleans()):
        new["memory"] = "recall"
    alone = memory in ("none", "recall") and (output == "logits" or old["duelling"])
    if critic == "shared" and alone and draw(st.booleans()):
        new["critic"] = "own"
    seats = 2 if sees == "all" else 1
    before = game(points=points, seats=seats)
    after = game(
        grown(draw, "abc", "ABC"),
        grown(draw, "defg", "DEF"),
        grown(draw, "hijk", "HIJ"),
        grown(draw, "uvwx", "UVW"),
        points=points,
        more=draw(st.sampled_from(["", "mn"])),
        seats=seats,
    )
    return config(**old), before, config(**new), after, draw(st.integers(0, 1000))


def check(change: Change) -> None:
    old, before, new, after, seed = change
    for double, bound in ((False, FLOAT32), (True, FLOAT64)):
        case = Case((old, before), (new, after), seed=seed, double=double)
        found = case.measured()
        assert found.largest <= bound, found
        assert found.decisions == 300
        assert found.scale > 1e-3  # an old network that decides nothing would prove nothing
        assert all(o.exact for o in case.plan.operators)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(changes())
def test_old_outputs_stay_as_they_were(change: Change) -> None:
    check(change)


@pytest.mark.slow
@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(changes())
def test_old_outputs_stay_as_they_were_in_many_more_networks(change: Change) -> None:
    check(change)


@pytest.mark.parametrize("memory", ["gru", "lstm"])
def test_a_critic_of_a_team_keeps_its_values_with_more_memory(memory: str) -> None:
    squad = msgspec.structs.replace(game(seats=4), teams=(0, 1, 0, 1))
    old = config(memory=memory, critic="own", critic_sees="team", gather="middle")
    new = config(**all_wider(memory=memory, critic="own", critic_sees="team", gather="middle"))
    case = Case((old, squad), (new, squad))
    measured(case)
    state = arrays(case.new)
    state["critic.recurrent.recur.weight"] = state["critic.recurrent.recur.weight"] * 2.0
    case.load(state)
    assert case.measured().value > 1e-2  # values depend on the critic's memory


def all_wider(**settings: object) -> dict[str, object]:
    return {**{k: v for k, v in WIDE.items() if k != "norm"}, **settings}


def measured(case: Case) -> LargestDifferences:
    found = case.measured()
    assert found.largest <= FLOAT32, found
    return found


def test_the_plain_rule_breaks_layer_norm_and_a_rotation_does_not() -> None:
    old = config(norm="layer", channels=(), strides=())
    new = config(**{**all_wider(norm="layer"), "channels": (), "strides": ()})
    case = Case((old, game()), (new, game()))
    measured(case)
    plain = [t.name for t in case.plan.tensors if t.start == "rotated"]
    assert sorted(plain) == [
        "dense.layers.0.bias",
        "dense.layers.0.weight",
        "join.layers.0.bias",
        "join.layers.0.weight",
    ]
    state = arrays(case.new)
    fresh = arrays(case.fresh)
    for tensor in case.plan.tensors:
        if tensor.start == "rotated":
            axis = case.plan.axis(tensor.axes[0])
            assert axis is not None
            state[tensor.name][axis.fresh()] = fresh[tensor.name][axis.fresh()]
    case.load(state)
    assert case.measured().logits > 1e-2


def test_a_new_column_reads_like_its_parent_and_is_nothing_while_it_is_zero() -> None:
    hints = ConversionHints(like={"pike": "spear"})
    old, new = game(), game("abcp", "defgp", "hijkp", "uvwxp")
    words = {"c": "my_spear", "g": "spear hp", "k": "spear_count", "x": "build spear"}
    pikes = {"map": "my_pike", "units": "pike hp", "numbers": "pike_count", "order": "build pike"}
    before, after = _worded(old, words), _worded_last(_worded(new, words), pikes)
    case = Case((config(), before), (config(), after), hints)
    for name in ("map", "units", "numbers"):
        _last_column(case.moments.new[name], name)[...] = 0
    found = case.measured()
    assert found.logits <= FLOAT32
    assert found.value <= FLOAT32
    state = arrays(case.new)
    assert (
        state["planes.map.convolutions.0.weight"][:, 3] == state["planes.map.convolutions.0.weight"][:, 2]
    ).all()
    assert (
        state["rows.units.each.layers.0.weight"][:, 4] == state["rows.units.each.layers.0.weight"][:, 3]
    ).all()
    assert state["normaliser.mean"][4] == 0.0
    assert state["normaliser.variance"][4] == state["normaliser.variance"][3]
    assert (state["policy_head.weight"][4] == state["policy_head.weight"][3]).all()
    kinds = [o.kind for o in case.plan.operators]
    assert kinds == ["like", "like", "like", "add choices"]


def _worded(spec: GameSpec, words: dict[str, str]) -> GameSpec:
    def renamed(labels: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(words.get(x, x) for x in labels)

    return replace(
        spec,
        observation=tuple(replace(t, labels=renamed(t.labels)) for t in spec.observation),
        heads=tuple(replace(h, labels=renamed(h.labels)) for h in spec.heads),
    )


def _worded_last(spec: GameSpec, words: dict[str, str]) -> GameSpec:
    def last(name: str, labels: tuple[str, ...]) -> tuple[str, ...]:
        return (*labels[:-1], words[name]) if name in words else labels

    return replace(
        spec,
        observation=tuple(replace(t, labels=last(t.name, t.labels)) for t in spec.observation),
        heads=tuple(replace(h, labels=last(h.name, h.labels)) for h in spec.heads),
    )


def _last_column(tensor: torch.Tensor, name: str) -> torch.Tensor:
    return tensor[:, :, -1] if name == "map" else tensor[..., -1]


def test_a_renamed_column_keeps_its_numbers() -> None:
    words = {"h": "gold", "u": "dig"}
    old, new = (
        _worded(game(), words),
        _worded(game(numbers="ijkh", choices="vwxu"), {"h": "money", "u": "mine"}),
    )
    hints = ConversionHints(rename={"gold": "money", "dig": "mine"})
    case = Case((config(memory="recall"), old), (config(memory="recall"), new), hints)
    assert case.plan.exact
    state, before = arrays(case.new), arrays(case.old)
    assert state["normaliser.mean"][3] == before["normaliser.mean"][0]
    assert (state["policy_head.weight"][3] == before["policy_head.weight"][0]).all()


def _named(spec: GameSpec, names: dict[str, str]) -> GameSpec:
    """Return a spec whose tensors and heads have other names."""

    def of(name: str) -> str:
        return names.get(name, name)

    tensors = tuple(replace(t, name=of(t.name)) for t in spec.observation)
    heads = tuple(replace(h, name=of(h.name), points_at=of(h.points_at)) for h in spec.heads)
    return replace(spec, observation=tensors, heads=heads)


@pytest.mark.parametrize("points", [False, True])
@pytest.mark.parametrize("inputs", [(), ("numbers", "units", "map")])
def test_renamed_tensors_and_heads_keep_their_weights(points: bool, inputs: tuple[str, ...]) -> None:
    names = {"units": "troops", "map": "field", "speed": "pace"}
    old, new = game(points=points), _named(game(points=points, numbers="xhijk"), names)
    after = tuple(names.get(n, n) for n in inputs)
    before, wider = config(inputs=inputs, memory="lstm"), config(inputs=after, memory="lstm", hidden=(20,))
    plan = make_plan(Side(before, old), Side(wider, new), ConversionHints(rename=names))
    assert plan.exact
    assert not plan.dropped
    one, two = PolicyNetwork(before, old, seed=1), PolicyNetwork(wider, new, seed=2)
    obs, more = observations(old, game(points=points, numbers="xhijk"), 1)
    trained(one, obs, 2)
    two.load_state_dict({n: torch.from_numpy(x) for n, x in apply(plan, arrays(one), arrays(two)).items()})
    first = torch.zeros(STEPS, ROWS, dtype=torch.bool)
    seen = {names.get(n, n): x for n, x in more.items()}
    with torch.no_grad():
        a = one.sequence(obs, one.initial_memory(ROWS), first)
        b = two.sequence(seen, two.initial_memory(ROWS), first)
    assert torch.allclose(a.value, b.value, atol=1e-4)
    assert float(a.value.std()) > 1e-3
    with pytest.raises(SurgeryError, match="expected"):
        make_plan(Side(before, old), Side(wider, new), ConversionHints(rename={"map": "field"}))


def test_a_removed_column_that_was_always_its_mean_changes_nothing() -> None:
    case = Case(
        (config(), game()), (config(), game(numbers="ijk", units="efg")), ConversionHints(approximate=True)
    )
    removed = [o for o in case.plan.operators if not o.exact]
    assert [o.path for o in removed] == ["observation.units", "observation.numbers"]
    assert case.measured().logits > 1e-3
    mean = case.old.state_dict()["normaliser.mean"][0]
    case.moments.old["numbers"][..., 0] = mean
    case.moments.old["units"][..., 0] = 0
    measured(case)


def test_a_head_that_is_new_leaves_the_others_as_they_were() -> None:
    old = game(points=True)
    heads = [h for h in old.heads if h.name != "unit"]
    before = replace(old, heads=tuple(heads))
    case = Case((config(), before), (config(context=9), old))
    case_mask = case.moments.new_mask.clone()
    case_mask[:, 4:8] = 0  # a head without a legal choice is irrelevant
    object.__setattr__(case.moments, "new_mask", case_mask)
    measured(case)
    tensors = {t.name: t for t in case.plan.tensors}
    assert tensors["policy_head.each.1.entity_embedding.weight"].start == "zero"
    assert tensors["policy_head.each.2.plain.weight"].source == "policy_head.each.1.plain.weight"


def test_a_network_without_changes_keeps_every_bit() -> None:
    for settings_ in ({"memory": "lstm", "norm": "layer"}, {"critic": "own", "norm": "batch"}):
        case = Case((config(**settings_), game(points=True)), (config(**settings_), game(points=True)))
        assert case.plan.identical
        made = apply(case.plan, arrays(case.old), arrays(case.fresh))
        assert {n: x.tobytes() for n, x in made.items()} == {
            n: x.tobytes() for n, x in arrays(case.old).items()
        }
        assert case.plan.operators == ()


@pytest.mark.parametrize("deviation", ["state", "free"])
def test_continuous_heads_keep_their_outputs(deviation: str) -> None:
    push = HeadSpec("push", 2, kind="continuous", low=-1.0, high=1.0)
    free = HeadSpec("free", 2, kind="continuous")
    old, new = game(), game(numbers="hZijk", choices="uvVwx")
    before = replace(old, heads=(push, *old.heads, free))
    after = replace(new, heads=(push, *new.heads, free))
    case = Case((config(deviation=deviation), before), (config(**all_wider(deviation=deviation)), after))
    measured(case)


def test_a_users_encoder_is_carried_over_with_a_wider_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("_registered", "_found"):
        monkeypatch.setattr(encoders._ENCODERS, table, {})
    register_encoder("flat", Flat)
    own = {"encoder": "flat", "memory": "gru"}
    measured(Case((config(**own), game()), (config(**all_wider(**own)), game())))
    with pytest.raises(
        SurgeryError, match=r"policy\.encoder = flat: expected the observations of the old game"
    ):
        Case((config(**own), game()), (config(**own), game(numbers="hZijk")))


class Flat(nn.Module):
    """All observations flat, one layer."""

    def __init__(self, layouts: Mapping[str, TensorLayout]) -> None:
        super().__init__()
        self.size = 12
        self.linear = nn.Linear(sum(math.prod(x.shape) for x in layouts.values()), self.size)

    def forward(self, seen: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return torch.tanh(self.linear(torch.cat([x.flatten(1) for x in seen.values()], dim=1)))


def test_values_in_the_games_units_stay_when_heads_are_added() -> None:
    case = Case((config(), game()), (config(value_heads=3), game()))
    obs = [{n: x.flatten(0, 1) for n, x in o.items()} for o in case.obs]
    with torch.no_grad():
        one, two = case.old.flat(obs[0])[1], case.new.flat(obs[1])[1]
        assert torch.allclose(case.old.denormalise(one), case.new.denormalise(two)[:, 0], atol=1e-4)
    state = arrays(case.new)
    assert state["values.mean"].tolist() == [
        float(arrays(case.old)["values.mean"]),
        *arrays(case.fresh)["values.mean"][1:],
    ]
    assert case.plan.fresh("values.mean").tolist() == [1, 2]
    assert case.plan.fresh("normaliser.mean").tolist() == []
    with pytest.raises(SurgeryError, match=r"did you mean values\.mean"):
        case.plan.fresh("value.mean")


def test_new_units_under_layer_norm_differ_from_the_old_ones_and_from_each_other() -> None:
    case = Case((config(norm="layer"), game()), (config(norm="layer", hidden=(48,)), game()))
    rows = arrays(case.new)["join.layers.0.weight"]
    assert len(np.unique(np.round(rows, 6), axis=0)) == 48
