"""Static forms: their numbers equal the compact forms', and a tape holds them."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from ludus.algorithms.updates.parameters import replica_of
from ludus.codecs import registry
from ludus.codecs.constants import constant
from ludus.codecs.forms import decoded, entity_rows, every_row
from ludus.codecs.registry import codec_of, layout_of, register_codec
from ludus.flow import GameSpec, HeadSpec, Slab
from ludus.games.python_game import declare
from ludus.games.python_game import tensor as declared
from ludus.policies.accelerator import Plain
from ludus.policies.config import EncoderConfig
from ludus.policies.layers.batch_norm import BatchNorm, NormSums, counting, observing
from ludus.policies.layers.normaliser import HeadsNormaliser, ValueNormaliser
from ludus.policies.network import PolicyNetwork
from tests.taped import NeedsHost, Taped
from tests.unit.policies.static_cases import Arrays, cases, computed, inputs, is_library, network_of, observed
from tests.unit.policies.test_codecs import cells_spec as cells_tensor
from tests.unit.policies.test_codecs import random_cells
from tests.unit.policies.test_own_codec import Pairs
from tests.unit.synthetic import cells_spec, make_spec, pointing_spec, random_slab, tensor

SMALL = EncoderConfig(channels=(4,), strides=(2,), dense=(12,), hidden=(16,), context=8, memory_size=6)
CAR = declare(
    "car",
    observation=[declared("speed", (3,))],
    heads=(
        HeadSpec("push", 2, kind="continuous", low=-2.0, high=2.0),
        HeadSpec("gear", 3),
        HeadSpec("free", 2, kind="continuous"),
    ),
)
PICTURE = make_spec((tensor("map", "u8", (2, 6, 6), scale=0.01), tensor("numbers", "f32", (4,))), (5, 3))


def changed(**settings: object) -> EncoderConfig:
    return msgspec.structs.replace(SMALL, **settings)


#: Networks beyond the presets.
SYNTHETIC: dict[str, tuple[GameSpec, EncoderConfig]] = {
    "pointing": (pointing_spec(), SMALL),
    "pointing gru": (pointing_spec(), changed(memory="gru")),
    "pointing recall": (pointing_spec(), changed(memory="recall", activation="relu")),
    "cells lstm": (cells_spec(), changed(memory="lstm")),
    "cells residual": (cells_spec(), changed(convolution="residual", critic="own")),
    "gaussian": (CAR, changed(deviation="free", critic="own")),
    "gaussian gru": (CAR, changed(memory="gru")),
    "value heads": (PICTURE, changed(value_heads=3, norm="batch", memory="gru")),
    "centralised": (
        msgspec.structs.replace(PICTURE, seats=3),
        changed(critic="own", critic_sees="all", norm="batch"),
    ),
    "entities centralised": (
        msgspec.structs.replace(pointing_spec(), seats=2),
        changed(critic="own", critic_sees="all"),
    ),
    "team memories": (
        msgspec.structs.replace(PICTURE, seats=4, teams=(0, 1, 0, 1)),
        changed(critic="own", critic_sees="team", memory="lstm", norm="batch"),
    ),
    "critic with memory": (pointing_spec(), changed(critic="own", memory="gru")),
    "middle cell": (PICTURE, changed(gather="middle", norm="none", strides=(1,))),
    "q": (PICTURE, changed(output="q", duelling=True)),
}
FAST = [name for name in cases() if not is_library(name)]
SLOW = [name for name in cases() if is_library(name)]


def close(ours: Mapping[str, np.ndarray], theirs: Mapping[str, np.ndarray], tolerance: float = 1e-5) -> None:
    assert ours.keys() == theirs.keys()
    for name, b in theirs.items():
        a = ours[name]
        assert a.shape == b.shape
        if np.issubdtype(b.dtype, np.integer):
            np.testing.assert_array_equal(a, b, err_msg=name)
            continue
        if name.startswith("gradient"):
            gap, size = float(np.linalg.norm(a - b)), float(np.linalg.norm(b))
            assert gap <= tolerance * max(1.0, size), f"{name}: {gap} of {size}"
            continue
        np.testing.assert_allclose(a, b, tolerance, tolerance, err_msg=name)


def both(
    network: PolicyNetwork, given: Arrays, other: PolicyNetwork | None = None
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return what the static and the compact forms compute."""
    found = []
    for static in (True, False):
        for one in (network, other):
            if one is not None:
                one.static = static
        out = Plain().program(computed(network, other), given)(given)
        found.append({name: array.copy() for name, array in out.items()})
    return found[0], found[1]


def check_tape(network: PolicyNetwork, slab: Slab, other: PolicyNetwork | None = None) -> None:
    """Replay a tape of the static forms with other inputs: bit for bit what a call gives."""
    for one in (network, other):
        if one is not None:
            one.static = True
    first, *more = [inputs(network, slab, seed) for seed in (5, 6, 7)]
    compute = computed(network, other)
    taped, plain = Taped().program(compute, first), Plain(static=True).program(compute, first)
    taped(first)
    for arrays in more:
        out = {name: array.copy() for name, array in taped(arrays).items()}
        expected = plain(arrays)
        assert out.keys() == expected.keys()
        for name, array in expected.items():
            np.testing.assert_array_equal(out[name], array, err_msg=name)


@functools.cache
def example(name: str) -> tuple[PolicyNetwork, Slab, PolicyNetwork | None]:
    """Return a network, time steps for it, and a second network if it can be compared with the first."""
    if name in SYNTHETIC:
        spec, policy = SYNTHETIC[name]
        slab = random_slab(spec, 5, 8, 3)
    else:
        (spec, slab), (_, policy) = observed(name), cases()[name]
    network = network_of(policy, spec, slab)
    comparable = network.memory_shape is None and not network.centralised and policy.output != "q"
    return network, slab, network_of(policy, spec, slab, 2) if comparable else None


@pytest.mark.parametrize(
    "name", [*SYNTHETIC, *FAST, *(pytest.param(n, marks=pytest.mark.slow) for n in SLOW)]
)
def test_static_forms_equal_compact_ones_and_can_be_taped(name: str) -> None:
    network, slab, other = example(name)
    close(*both(network, inputs(network, slab, 4), other))
    check_tape(network, slab, other)


@pytest.mark.parametrize("name", ["pointing", "cells lstm", "value heads"])
def test_compact_forms_of_such_networks_cannot_be_taped(name: str) -> None:
    network, slab, _ = example(name)
    network.static = False
    given = inputs(network, slab, 4)
    with pytest.raises(NeedsHost):
        Taped().program(computed(network), given)(given)


@given(
    rows=st.integers(0, 5),
    present=st.sampled_from([0.0, 0.2, 0.7, 1.0]),
    legal=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    active=st.sampled_from([0.0, 0.5, 1.0]),
    name=st.sampled_from(["pointing", "pointing gru", "pointing recall", "cells lstm"]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=25)
def test_static_forms_equal_compact_ones_for_odd_rows(
    rows: int, present: float, legal: float, active: float, name: str, seed: int
) -> None:
    """Rows without entities, without legal choices, all idle; one row and none."""
    random = np.random.default_rng(seed)
    network, slab, _ = example(name)
    given = inputs(network, slab, seed)
    for key, array in given.items():
        given[key] = array[:, :rows] if key in ("mask", "first", "active") or key[1] == "." else array
    given["memory"] = given["memory"][:rows] if "memory" in given else np.zeros((rows, 0), np.float32)
    if network.memory_shape is None:
        del given["memory"]
    kept = random.random(given["o.units"].shape[:3]) < present
    given["o.units"] = given["o.units"] * kept[..., None]
    given["mask"] = (random.random(given["mask"].shape) < legal).astype(np.uint8)
    given["active"] = random.random(given["active"].shape) < active
    given["first"] = np.logical_and(given["first"], given["active"])
    count = 5 * rows
    given["uniform"] = random.random((count, 3), np.float32)
    given["actions"] = np.zeros((count, 3), np.int32)
    network.static = True
    out = Plain().program(computed(network), given)
    given["actions"] = out(given)["actions"].astype(np.int32)
    ours, theirs = both(network, given)
    if count:
        close(ours, theirs)
    for name, array in ours.items():
        if name != "loss" or count:
            assert np.isfinite(array).all() or not count, name


@given(
    seed=st.integers(0, 1000),
    batch=st.integers(0, 3),
    side=st.sampled_from([3, 20]),
    types=st.sampled_from([6, 14]),
)
@settings(max_examples=15)
def test_cells_with_an_extra_cell_for_absent_units_equal_compact_ones(
    seed: int, batch: int, side: int, types: int
) -> None:
    """Units share cells; some samples have none."""
    random = np.random.default_rng(seed)
    packed = random_cells(random, batch, side, types=types)
    packed[random.random(batch) < 0.3, :-1] = 0
    spec = cells_tensor(side, types=types)
    made = [decoded(spec, layout_of(spec), torch.from_numpy(packed), static) for static in (True, False)]
    torch.testing.assert_close(made[0], made[1], rtol=1e-6, atol=0.0)

    flags = tensor("cells", "u16", (65, 5), "rts_flag_cells", side)
    packed[:, :-1, 1] = random.integers(0, 3, (*packed.shape[:1], 64))
    for row in packed[:, :-1]:  # a unit below a later one is marked
        for u in range(64):
            row[u, 1] += 4 * bool((row[u + 1 :, 0] == row[u, 0]).any())
            row[u] *= row[u, 0] > 0
    packed[:, :-1, 2] = random.integers(1, 12, (*packed.shape[:1], 64)) * (packed[:, :-1, 0] > 0)
    given = torch.from_numpy(packed)
    made = [decoded(flags, layout_of(flags), given, static) for static in (True, False)]
    assert torch.equal(made[0], made[1])


class OnlyPresent(Pairs):
    """A codec that finds its rows and cannot decode all of them."""

    def present(self, spec: object, packed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows = self.decode(spec, packed)  # type: ignore[arg-type]
        owner, place = (rows[:, :, 0] > 0).nonzero().unbind(1)
        return owner, place, rows[owner, place]


@pytest.mark.parametrize("codec", [Pairs, OnlyPresent])
def test_codecs_without_a_static_form_are_decoded_whole(
    codec: type[Pairs], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry._CODECS, "_registered", {})
    register_codec("pairs", codec)
    spec = declared("cells", (3,), "u8", low=0, high=255, codec="pairs")
    packed = torch.tensor([[0x21, 0, 0x03], [0, 0, 0x40]], dtype=torch.uint8)
    owner, place, some = entity_rows(spec, packed)
    present, rows = every_row(spec, packed)
    assert present.nonzero().tolist() == torch.stack([owner, place], dim=1).tolist()
    assert torch.equal(rows[owner, place], some)


def test_bits_and_numbers_of_entity_rows() -> None:
    random = np.random.default_rng(1)
    for spec in (
        tensor("units", "bits", (5, 3), "bits", 2.0),
        tensor("units", "u8", (5, 4), scale=0.5),
        tensor("units", "i16", (5, 4), scale=0.5),
        tensor("units", "f32", (5, 3)),
    ):
        shape = (4, *spec.packed_shape)
        drawn = random.integers(0, 2, shape) * random.integers(0, 100, shape)
        packed = torch.from_numpy(drawn.astype(spec.packed_dtype))
        owner, place, some = entity_rows(spec, packed)
        present, rows = every_row(spec, packed)
        assert present.nonzero().tolist() == torch.stack([owner, place], dim=1).tolist()
        assert 0 < len(owner) < 20
        assert torch.equal(rows[owner, place], some)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_memory_of_idle_rows_stays(kind: str) -> None:
    network = PolicyNetwork(changed(memory=kind), pointing_spec(), 1)
    network.static = True
    given = inputs(network, random_slab(pointing_spec(), 5, 8, 3), 2)
    obs = {t.name: torch.from_numpy(given[f"o.{t.name}"]) for t in network.inputs}
    memory, idle = torch.from_numpy(given["memory"]), torch.zeros((5, 8), dtype=torch.bool)
    out = network.sequence(obs, memory, idle, idle)
    assert out.memory is not None
    assert torch.equal(out.memory, memory)


# ---- normalisers and norms ----------------------------------------------------------------------------


@pytest.mark.parametrize("heads", [1, 3])
def test_moments_on_tensors_equal_those_of_floats(heads: int) -> None:
    random = torch.Generator().manual_seed(heads)
    made = [HeadsNormaliser(heads) if heads > 1 else ValueNormaliser() for _ in range(2)]
    layers = [nn.Linear(4, heads)]
    layers.append(copy.deepcopy(layers[0]))
    made[0].static, made[1].static = True, False
    for _ in range(4):
        returns = torch.randn((20, heads) if heads > 1 else (20,), generator=random) * 5.0 + 2.0
        for values, layer in zip(made, layers, strict=True):
            values.absorb(returns, layer)
            values.absorb(returns[:0], layer)
        for function in ("denormalise", "normalise"):
            a, b = (getattr(values, function)(returns) for values in made)
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)
        for a, b in zip(layers[0].parameters(), layers[1].parameters(), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)


def test_a_tape_follows_the_moments() -> None:
    values = ValueNormaliser()
    values.static = True
    x = {"x": np.ones(3, np.float32)}
    program = Taped().program(lambda i: {"value": values.denormalise(i["x"])}, x)
    assert program(x)["value"].tolist() == [1.0, 1.0, 1.0]
    values.absorb(torch.tensor([3.0, 5.0]), nn.Linear(2, 1))
    assert program(x)["value"].tolist() == pytest.approx([5.0, 5.0, 5.0])
    values.static = False  # the moments become part of the tape
    program = Taped().program(lambda i: {"value": values.denormalise(i["x"])}, x)
    before = program(x)["value"].tolist()
    values.mean.add_(1.0)
    assert program(x)["value"].tolist() == before


@pytest.mark.parametrize("shape", [(7, 5), (7, 5, 3, 2)])
def test_rows_that_do_not_count_leave_no_trace_in_batch_norms(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(2)) * 3.0 + 7.0
    counted = torch.tensor([True, False, True, True, False, True, False])
    norms = [BatchNorm(5), BatchNorm(5)]
    for norm, some in zip(norms, (x, x[counted]), strict=True):
        with torch.no_grad():
            norm.bias.add_(0.3)
        sums = NormSums(norm)
        for _ in range(2):
            with observing([norm]) as seen:
                if len(some) == len(x):
                    with counting([norm], counted):
                        norm(some)
                else:
                    norm(some)
            sums.clear()
            sums.add(seen)
            assert sums.complete
            sums.absorb()
    torch.testing.assert_close(norms[0].mean, norms[1].mean, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(norms[0].variance, norms[1].variance, rtol=1e-5, atol=1e-5)
    assert float(norms[0].weight) == float(norms[1].weight) > 0.0


def test_sums_over_nothing_change_no_statistics() -> None:
    norm = BatchNorm(2)
    sums = NormSums(norm)
    assert (sums.complete, sums.sums) == (False, (None,))
    before = {name: x.clone() for name, x in norm.state_dict().items()}
    with observing([norm]) as seen, counting([norm], torch.zeros(3, dtype=torch.bool)):
        norm(torch.ones(3, 2))
    sums.add(seen)
    assert not sums.complete
    sums.absorb()
    assert all(torch.equal(x, before[name]) for name, x in norm.state_dict().items())


# ---- the flag -----------------------------------------------------------------------------------------


def test_the_executor_of_the_device_decides_until_the_flag_is_set() -> None:
    network = PolicyNetwork(SMALL, pointing_spec(), 1)
    assert not network.static
    network.static = True
    assert network.static
    assert replica_of(network).static
    with torch.device("meta"):
        assert PolicyNetwork(SMALL, pointing_spec(), None).static


def test_constants_stay_where_a_graph_reads_them() -> None:
    cpu = torch.device("cpu")
    first = constant((3, 1, 4), cpu)
    for k in range(600):
        constant((k, -7), cpu)
    assert constant((3, 1, 4), cpu) is first


def test_a_static_codec_must_keep_its_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = cells_tensor()
    monkeypatch.setattr(type(codec_of(spec)), "decode_static", lambda *_: torch.zeros((1, 2)))
    with pytest.raises(ValueError, match=r"gives torch.float32\[1, 2\]"):
        decoded(spec, layout_of(spec), torch.zeros((1, 65, 5), dtype=torch.uint16), static=True)
