"""Names of places: of every architecture that presets use, and of the parts that presets do not."""

from __future__ import annotations

import pytest
import torch

from ludus.games.registry import spec as spec_of
from ludus.policies.actions.coordinates import choice_labels, coordinates, describe
from ludus.policies.config import EncoderConfig
from ludus.policies.factory import build_network
from ludus.presets.file import load_preset
from tests.unit.preset_choice import every_preset
from tests.unit.surgery.cases import config, game

LIBRARIES = ("ale_py", "pyspiel", "vizdoom", "gymnasium", "Box2D")


@pytest.mark.parametrize("name", every_preset())
def test_every_place_of_a_preset_has_a_name_of_its_own(name: str) -> None:
    preset = load_preset(name).preset
    try:
        spec = spec_of(preset.game.name, preset.game.params)
    except ValueError as error:
        if any(library in str(error) for library in (*LIBRARIES, "not installed")):
            pytest.skip(str(error))
        raise
    with torch.device("meta"):
        network = build_network(preset.policy, spec, None)
    assert isinstance(network, torch.nn.Module)
    shapes = {n: tuple(t.shape) for n, t in network.state_dict().items()}
    axes = coordinates(preset.policy, spec)
    assert {n: tuple(a.size for a in x) for n, x in axes.items()} == shapes
    assert not [n for n, x in axes.items() for a in x if len(set(a.places)) < len(a.places)]


@pytest.mark.parametrize(
    "settings",
    [
        {"memory": "recall", "critic": "own"},
        {"memory": "gru"},
        {"memory": "lstm", "critic": "own"},
        {"gather": "middle"},
        {"gather": "middle", "convolution": "residual"},
        {"convolution": "residual", "norm": "group", "channels": (8, 16)},
        {"critic": "own", "critic_sees": "all", "value_heads": 3, "norm": "batch"},
        {"output": "q", "duelling": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("points", [False, True])
def test_parts_that_presets_do_not_use_have_names(settings: dict[str, object], points: bool) -> None:
    if points and "output" in settings:
        return
    spec = game(points=points, seats=3)
    made = describe(config(**settings), spec)
    assert {n: tuple(a.size for a in x) for n, x in made.axes.items()} == made.shapes
    assert not [n for n, x in made.axes.items() for a in x if len(set(a.places)) < len(a.places)]
    assert len(made.choices) == sum(h.size for h in spec.heads)


def test_columns_and_choices_are_named_by_their_labels() -> None:
    spec = game(points=True)
    axes = coordinates(config(memory="lstm"), spec)
    assert [p[1] for p in axes["dense.layers.0.weight"][1].places] == [
        ("column", "numbers", x) for x in "hijk"
    ]
    assert axes["policy_head.each.0.plain.bias"][0].places == tuple(("choice", "order", x) for x in "uvwx")
    assert choice_labels(spec.heads[1]) == ("#row 0", "#row 1", "#row 2", "#0")
    assert axes["recurrent.recur.weight"][1].places[3] == ("memory", 3)


def test_networks_of_different_width_share_the_names_of_the_narrow_one() -> None:
    spec = game()
    small, wide = (describe(EncoderConfig(hidden=(n,), norm="none"), spec) for n in (8, 12))
    for name, axes in small.axes.items():
        for a, b in zip(axes, wide.axes[name], strict=True):
            assert set(a.places) <= set(b.places), name
