"""Kinds of networks that no shipped preset has, and networks that no graph can hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from torch import Tensor, nn

import ludus
from ludus.codecs import TensorLayout, register_codec, registry
from ludus.export import check
from ludus.export.check import TOLERANCE, compare, session_of
from ludus.export.errors import ExportError
from ludus.export.graph import PolicyGraph
from ludus.export.model import convert
from ludus.export.names import graph_names
from ludus.flow import GameSpec, HeadSpec, TensorSpec
from ludus.flow.slab import Array
from ludus.policies import encoders
from ludus.policies.config import EncoderConfig
from ludus.policies.network import PolicyNetwork
from tests.unit.export.moments import disturb, exported, moments_of
from tests.unit.synthetic import cells_spec, make_spec, pointing_spec, random_slab, tensor

pytest.importorskip("onnxruntime")

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "export.md"
LONG = "x" * 999
SMALL = EncoderConfig(channels=(4,), strides=(1,), dense=(8,), hidden=(8,), context=8, memory_size=6)


def changed(**settings: object) -> EncoderConfig:
    return msgspec.structs.replace(SMALL, **settings)


def plain_spec() -> GameSpec:
    planes = tensor("map", "bits", (2, 5, 5))
    return make_spec((planes, tensor("numbers", "f32", (6,))), (3, 4))


def mixed_spec() -> GameSpec:
    heads = (
        HeadSpec("turn", 2, kind="continuous", low=-1.0, high=1.0),
        HeadSpec("fire", 3),
        HeadSpec("speed", 2, kind="continuous"),
    )
    return msgspec.structs.replace(make_spec((tensor("numbers", "f32", (4,)),), ()), heads=heads)


KINDS = {
    "values of three heads": (changed(value_heads=3), plain_spec()),
    "values of three heads, gru": (changed(value_heads=3, memory="gru"), plain_spec()),
    "batch norm, residual convolutions": (changed(norm="batch", convolution="residual"), plain_spec()),
    "group norm, gelu": (changed(norm="group", channels=(16,), activation="gelu"), plain_spec()),
    "no norms, elu, recall": (
        changed(norm="none", activation="elu", memory="recall", normalise_observations=False),
        plain_spec(),
    ),
    "continuous and discrete heads": (SMALL, mixed_spec()),
    "free deviation": (changed(deviation="free"), mixed_spec()),
    "rows and pointers, lstm": (changed(memory="lstm"), pointing_spec()),
    "the middle cell, a critic with memory": (
        changed(memory="lstm", critic="own", gather="middle"),
        plain_spec(),
    ),
    "cells as pointers": (SMALL, cells_spec()),
    "duelling with a critic": (changed(output="q", duelling=True, critic="own"), plain_spec()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_graph_equals_network(kind: str) -> None:
    config, spec = KINDS[kind]
    slab = random_slab(spec, 4, 3, seed=5)
    assert 0.0 < exported(disturb(PolicyNetwork(config, spec, 1)), slab).largest <= TOLERANCE


def test_own_critic_is_left_out_with_its_reason() -> None:
    spec = plain_spec()
    slab = random_slab(spec, 1, 3, seed=5)
    network = disturb(PolicyNetwork(changed(critic="own"), spec, 1))
    graph = PolicyGraph(network)
    assert [o.name for o in graph.outputs] == ["probabilities_h0", "probabilities_h1"]
    assert "only training needs" in graph.without_value
    assert not any(name.startswith("twin.critic") for name, _ in graph.named_parameters())
    model = convert(graph)
    assert compare(
        model, graph, moments_of(disturb(PolicyNetwork(changed(critic="own"), spec, 1)), slab)
    ).observations


def test_choices_are_decided_in_order_or_given() -> None:
    spec = pointing_spec()
    slab = random_slab(spec, 1, 4, seed=6)
    network = PolicyNetwork(SMALL, spec, 1)
    graph = PolicyGraph(network)
    session = session_of(convert(graph))
    (moment,) = moments_of(network, slab)[:1]
    fed = {**moment.decoded, "mask": moment.seen.mask}
    names = [o.name for o in graph.outputs]

    def run(choices: Array) -> dict[str, Array]:
        return dict(zip(names, session.run(None, {**fed, "choices": choices}), strict=True))

    free = run(np.full((4, 3), -1, np.int64))
    greedy = network.step({n: torch.from_numpy(a) for n, a in moment.seen.obs.items()})
    wanted = greedy.distribution.sample(torch.from_numpy(moment.seen.mask), None).actions.numpy()
    assert (free["next_choices"] == wanted).all()
    again = run(wanted)
    assert (again["next_choices"] == wanted).all()
    for name in names[:3]:
        assert np.allclose(again[name].astype(np.float64), free[name].astype(np.float64), atol=1e-6)
        assert np.allclose(free[name].astype(np.float64).sum(axis=1), 1.0, atol=1e-5)
    first = run(np.array([[0, -1, -1]] * 4, np.int64))
    assert (first["next_choices"][:, 0] == 0).all()
    # and as the guide draws them
    code = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)[1]
    scope: dict[str, Any] = {
        "np": np,
        "policy": session,
        "about": {"heads": [{"name": head.name} for head in spec.heads]},
        "observation": {name: array[:1] for name, array in fed.items()},
    }
    exec(compile(code, str(GUIDE), "exec"), scope)
    distribution = network.step({n: torch.from_numpy(a[:1]) for n, a in moment.seen.obs.items()}).distribution
    drawn = torch.from_numpy(scope["choices"])
    assert torch.isfinite(distribution.evaluate(torch.from_numpy(moment.seen.mask[:1]), drawn).log_prob).all()


def test_an_export_that_differs_is_refused() -> None:
    spec = plain_spec()
    slab = random_slab(spec, 2, 3, seed=5)
    network = PolicyNetwork(changed(memory="gru"), spec, 1)
    graph = PolicyGraph(network)
    model, moments = convert(graph), moments_of(network, slab)
    with torch.no_grad():
        network.policy_head.bias[0] += 1e-3  # type: ignore[operator, index]
    wrong = moments_of(network, slab)
    with pytest.raises(ExportError, match=r"probabilities_h0 of the graph differs .* by 0\.000"):
        compare(model, graph, wrong)
    moments[1].acted.outputs["memory", -1][0, 0] = np.nan
    with pytest.raises(ExportError, match="next_memory of the graph differs"):
        compare(model, graph, moments)


def test_a_file_that_onnxruntime_refuses_is_one_line() -> None:
    with pytest.raises(ExportError, match="onnxruntime refuses the graph: ") as caught:
        check.session_of(b"\x08\x01")
    assert "\n" not in str(caught.value)


class Bessel(nn.Module):
    """An encoder with an operator that ONNX does not have."""

    def __init__(self, layouts: dict[str, TensorLayout]) -> None:
        super().__init__()
        self.size = 6

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        found: Tensor = torch.special.bessel_j0(obs["numbers"])
        return found


class Doubling(nn.Module):
    """An encoder of one layer."""

    def __init__(self, layouts: dict[str, TensorLayout]) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 7)
        self.size = 7

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        return torch.tanh(self.layer(obs["numbers"])) * 2.0


def test_an_encoder_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders._ENCODERS, "_registered", {})
    ludus.register_encoder("bessel", Bessel)  # type: ignore[arg-type]
    ludus.register_encoder("doubling", Doubling)  # type: ignore[arg-type]
    spec = make_spec((tensor("numbers", "f32", (6,)),), (3,))
    slab = random_slab(spec, 2, 3, seed=5)
    assert exported(PolicyNetwork(EncoderConfig(encoder="doubling"), spec, 1), slab).largest <= TOLERANCE
    with pytest.raises(ExportError, match=r"the operator aten::special_bessel_j0 .* no form in ONNX"):
        exported(PolicyNetwork(EncoderConfig(encoder="bessel"), spec, 1), slab)


class Marked:
    """Entity rows that are present by a mark, which decoded rows do not have."""

    def layout(self, spec: TensorSpec) -> TensorLayout:
        return TensorLayout("rows", (spec.shape[0], 2))

    def decode(self, spec: TensorSpec, packed: Tensor) -> Tensor:
        return packed[:, :, 1:].float()

    def present(self, spec: TensorSpec, packed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        owner, place = (packed[:, :, 0] != 0).nonzero().unbind(1)
        return owner, place, packed[owner, place, 1:].float()


def test_a_codec_that_finds_rows_by_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry._CODECS, "_registered", {})
    register_codec("marked", Marked)
    spec = make_spec((tensor("units", "u8", (4, 3), codec="marked"),), (3,))
    network = PolicyNetwork(SMALL, spec, 1)
    with pytest.raises(ExportError, match=r"input units: the codec marked finds the rows"):
        PolicyGraph(network)


def test_names_of_any_characters_become_different_words() -> None:
    observation = tuple(
        tensor(n, "f32", (2,)) for n in ("a b", "a\nb", "mask", "memory", "\u202e", "x" * 999)
    )
    spec = make_spec(observation, (2, 2))
    spec = msgspec.structs.replace(spec, heads=(HeadSpec("go!", 2), HeadSpec("go?", 2)))
    names = graph_names(spec, [t.name for t in observation])
    assert names.observations == ("a_b", "a_b_2", "mask_2", "memory_2", "unnamed", LONG[:64])
    assert names.heads == ("go", "go_2")
    slab = random_slab(spec, 1, 2, seed=1)
    assert exported(PolicyNetwork(SMALL, spec, 1), slab).largest <= TOLERANCE
