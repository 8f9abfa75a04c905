"""Which cards torch can use, what a run needs of one, and which presets gain by one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ludus.algorithms.config import ActorCriticConfig, AlphaZeroConfig
from ludus.flow import GameSpec
from ludus.games.registry import spec as game_spec
from ludus.policies.config import EncoderConfig, ResnetConfig
from ludus.policies.summary import ForwardCost, forward_cost
from ludus.presets.card import GIB, CardFacts, refusal, shortage
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.presets.file import load_preset, shipped_presets
from ludus.presets.run_on_card import (
    GRAPHED_METHODS,
    GRAPHED_PARTS,
    LEAST_GAIN,
    choose,
    eager_part,
    needed_bytes,
    network_times,
    parts_of,
)
from tests.unit.preset_choice import need
from tests.unit.synthetic import make_spec, pointing_spec, tensor


def card(code: str, capability: tuple[int, int]) -> CardFacts:
    return CardFacts("2.11", "13.0", 1, "NVIDIA X", capability, tuple(code.split()))


@pytest.mark.parametrize(
    ("code", "capability", "wanted"),
    [
        ("sm_80 sm_90", (9, 0), ""),
        ("sm_80 sm_90", (8, 6), ""),  # of the same generation
        ("sm_86 sm_90", (8, 0), "an older"),
        ("sm_80 sm_90", (10, 0), "a newer"),
        ("sm_80 sm_90", (7, 5), "an older"),
        ("sm_80 compute_90", (12, 0), ""),  # the driver translates it
        ("sm_90a", (9, 0), ""),
        ("sm_100a", (10, 3), "a newer"),
        ("sm_100f", (10, 3), ""),
        ("gfx90a", (9, 0), ""),  # nothing is known
    ],
)
def test_torch_needs_code_for_the_card(code: str, capability: tuple[int, int], wanted: str) -> None:
    text = refusal(card(code, capability))
    assert bool(text) is bool(wanted)
    assert not wanted or text.endswith(f"; {wanted} torch may have it")
    if wanted:
        assert f"of compute capability {capability[0]}.{capability[1]}; it has code for " in text


def test_a_missing_card_or_driver_is_named() -> None:
    assert refusal(CardFacts("2.13.0+cpu")).endswith("(torch 2.13.0+cpu is built without CUDA)")
    assert "a driver for CUDA 13.0" in refusal(replace(card("sm_90", (9, 0)), cards=0))


def test_a_shortage_has_both_numbers() -> None:
    assert shortage(3 * GIB, 3 * GIB, "X") == ""
    assert shortage(3 * GIB, 3 * GIB - 1, "NVIDIA X") == (
        "the run needs about 3.0 GiB of the memory of NVIDIA X, and 3.0 GiB are free"
    )


def preset_of(name: str, **changes: str) -> tuple[Preset, GameSpec]:
    preset = load_preset(name, {path.replace("__", "."): value for path, value in changes.items()}).preset
    return preset, resolve_spec(preset)[0]


def test_a_run_needs_more_memory_for_more_slots_wider_networks_and_larger_parts() -> None:
    base = needed_bytes(*preset_of("minirts"))
    assert base < 2 * GIB
    for change in ({"pool__slots": "8192"}, {"policy__hidden": "8192"}, {"run__queue": "200"}):
        assert needed_bytes(*preset_of("minirts", **change)) > 1.01 * base, change
    tower = needed_bytes(*preset_of("go19"))
    assert tower > needed_bytes(*preset_of("go19", algorithm__batch_size="16")) > GIB
    assert needed_bytes(*preset_of("go19", run__precision="float32")) > 1.9 * tower


# ---- arithmetic of a decision ---------------------------------------------------------------------

VECTOR = make_spec((tensor("numbers", "f32", (6,)),), (4, 3))


def test_a_dense_network_multiplies_each_weight_once() -> None:
    cost = forward_cost(EncoderConfig(dense=(16,), hidden=(24,)), VECTOR)
    assert cost == ForwardCost(6 * 16 + 16 * 24 + 24 * 7 + 24, 16 + 24 + 7 + 1)


def test_an_own_critic_and_a_memory_are_counted() -> None:
    plain = forward_cost(EncoderConfig(dense=(16,), hidden=(24,)), VECTOR).multiply_adds
    critic = forward_cost(EncoderConfig(dense=(16,), hidden=(24,), critic="own"), VECTOR).multiply_adds
    assert critic - plain == 6 * 16 + 16 * 24
    gru = EncoderConfig(dense=(16,), hidden=(24,), memory="gru", memory_size=8)
    expected = 6 * 16 + 16 * 24 + 3 * 8 * (24 + 8) + 8 * 7 + 8
    assert forward_cost(gru, VECTOR).multiply_adds == expected


def test_a_convolution_multiplies_its_weights_at_every_cell() -> None:
    spec = make_spec((tensor("planes", "u8", (3, 10, 8)),), (4,))
    plain = EncoderConfig(channels=(5, 7), strides=(2, 1), hidden=(24,))
    cells = 5 * 4
    joined = 7 * cells
    expected = 3 * 5 * 9 * cells + 5 * 7 * 9 * cells + joined * 24 + 24 * 4 + 24
    assert forward_cost(plain, spec).multiply_adds == expected
    kernels = EncoderConfig(channels=(5,), strides=(2,), kernels=(4,), hidden=(24,))
    assert forward_cost(kernels, spec).multiply_adds == 3 * 5 * 16 * 12 + 60 * 24 + 24 * 4 + 24
    residual = EncoderConfig(channels=(5,), strides=(2,), convolution="residual", hidden=(24,))
    stage = 3 * 5 * 9 * 80 + 4 * 5 * 5 * 9 * cells
    assert forward_cost(residual, spec).multiply_adds == stage + 5 * cells * 24 + 24 * 4 + 24


def test_every_entity_row_is_multiplied() -> None:
    spec = pointing_spec()
    few = forward_cost(EncoderConfig(dense=(12,), hidden=(16,), context=8), spec).multiply_adds
    many = forward_cost(EncoderConfig(dense=(13,), hidden=(16,), context=8), spec).multiply_adds
    rows = sum(t.shape[0] for t in spec.observation if len(t.shape) == 2)
    assert rows > 1
    assert many - few > rows * max(t.shape[1] for t in spec.observation if len(t.shape) == 2)


def test_a_tower_multiplies_its_filters_at_every_cell() -> None:
    spec = game_spec("tic_tac_toe")
    two, three = (
        forward_cost(ResnetConfig(blocks=blocks, filters=4), spec).multiply_adds for blocks in (2, 3)
    )
    assert three - two == 2 * 4 * 4 * 9 * 9


# ---- who gains --------------------------------------------------------------------------------------

#: Presets of methods with graphs whose network is too small, or its calls too few, for a card.
ON_THE_PROCESSOR = {
    "cartpole",
    "kuhn",
    "leduc",
    "lunar-lander",
    "minirts-a2c",
    "minirts-impala",
    "minirts-policy-gradient",
    "pbt",
    "pendulum",
    "tic_tac_toe-alphazero",
}


@pytest.mark.parametrize("name", sorted(shipped_presets()))
def test_each_preset_has_a_device_and_a_reason(name: str) -> None:
    need(name)
    preset, spec = preset_of(name)
    today = choose(preset, spec, 16)
    if eager_part(preset, spec, GRAPHED_METHODS, GRAPHED_PARTS):
        assert not today.card
        assert today.why.endswith("runs without CUDA graphs")
    method = str(preset.algorithm.__struct_config__.tag)
    every = frozenset({method}), frozenset(parts_of(preset, spec))
    found = choose(preset, spec, 16, *every)
    assert "\n" not in found.why
    if not isinstance(preset.algorithm, ActorCriticConfig | AlphaZeroConfig):
        assert found == (False, "its method has not been measured")
        return
    assert found.card is (name not in ON_THE_PROCESSOR), found.why
    times = network_times(preset, spec, 16)
    assert times is not None
    assert found.card is (times.processor_s >= LEAST_GAIN * times.card_s)
    slower = network_times(preset, spec, 1)
    assert slower is not None
    assert slower.processor_s >= times.processor_s
    for part in every[1]:  # each part alone keeps the run on the processor
        assert choose(preset, spec, 16, every[0], every[1] - {part}) == (
            False,
            f"{part} runs without CUDA graphs",
        )
