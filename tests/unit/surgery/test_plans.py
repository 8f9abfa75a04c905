"""Plans from files, moments of the optimiser, memory of rows, verification and new units that learn."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import hypothesis.strategies as st
import msgspec
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings

from ludus.policies.network import PolicyNetwork
from ludus.surgery.apply import apply, apply_memory, apply_moments, rotation
from ludus.surgery.diff import make_plan
from ludus.surgery.plan import ConversionPlan, Side, SurgeryError, decode_plan
from ludus.surgery.verify import TOLERANCE, worst_parameter
from tests.unit.surgery.cases import ROWS, STEPS, WIDE, Case, arrays, config, game

LSTM = {"memory": "lstm", "norm": "batch"}
WIDER = {**WIDE, **LSTM, "value_heads": 3}
NEW_GAME = game("aXbc", "defgY", "hZijk", "uVvwx", points=True)


@pytest.fixture(scope="module")
def case() -> Case:
    return Case((config(**LSTM), game(points=True)), (config(**WIDER), NEW_GAME))


def _small_plan() -> ConversionPlan:
    tiny = {"channels": (), "strides": (), "dense": (2,), "hidden": (3,), "memory": "lstm", "memory_size": 2}
    old = Side(config(**tiny), game("a", "d", "h", "u"))
    return make_plan(old, Side(config(**{**tiny, "hidden": (4,)}), game("ab", "d", "h", "uv")))


PLAN = _small_plan()
OLD = {t.source: np.ones(t.old_shape, np.float32) for t in PLAN.tensors if t.source}
FRESH = {t.name: np.ones(t.new_shape, np.float32) for t in PLAN.tensors}
MEMORY = np.ones((2, 2, 2), np.float32)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(p for k, v in items for p in _places(v, (*path, k)))]


DATA = msgspec.json.decode(msgspec.json.encode(PLAN))
PLACES = _places(DATA)[1:]
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.integers(-2, 12),
    st.sampled_from([None, [], {}, "", "zero", "rotated", "fresh", True, 2.5, 1 << 40, [[0, 0, 1]]]),
)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=3))
def test_a_damaged_plan_is_refused_or_applies(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    data = copy.deepcopy(DATA)
    for path, value in changes:
        at: Any = data
        try:
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue
    try:
        plan = decode_plan(msgspec.json.encode(data))
        made = apply(plan, OLD, FRESH)
        assert {t.name: t.new_shape for t in plan.tensors} == {n: x.shape for n, x in made.items()}
        apply_moments(plan, OLD, OLD)
        apply_memory(plan, MEMORY)
    except SurgeryError:
        return


def test_new_entries_of_moments_are_zero_and_the_mean_of_their_tensor(case: Case) -> None:
    generator = np.random.default_rng(1)
    names = [n for n, _ in case.old.named_parameters()]
    shapes = {n: x.shape for n, x in arrays(case.old).items()}
    first = {n: generator.normal(size=shapes[n]).astype(np.float32) for n in names}
    second = {n: generator.random(shapes[n]).astype(np.float32) + 0.1 for n in names}
    one, two = apply_moments(case.plan, first, second)
    assert set(one) == set(two) == {n for n, _ in case.new.named_parameters()}
    assert {n: x.shape for n, x in one.items()} == {n: tuple(p.shape) for n, p in case.new.named_parameters()}
    weight = one["recurrent.recur.weight"]
    assert np.array_equal(weight[:8, :8], first["recurrent.recur.weight"][:8])
    assert not weight[:8, 8:].any()
    assert not weight[8:13].any()
    assert np.array_equal(weight[13:21, :8], first["recurrent.recur.weight"][8:16])
    square = two["recurrent.recur.weight"]
    mean = second["recurrent.recur.weight"].mean()
    assert np.allclose(square[8:13], mean)
    assert np.array_equal(square[13:21, :8], second["recurrent.recur.weight"][8:16])
    scale = (9 / 6) ** 0.5
    query = "policy_head.each.1.query.weight"
    assert np.allclose(one[query][:6, :6], first[query] / scale)
    assert np.allclose(two[query][:6, :6], second[query] / scale**2)
    momentum, nothing = apply_moments(case.plan, first, {})
    assert nothing == {}
    assert all(np.array_equal(momentum[n], one[n]) for n in one)


def test_moments_of_the_same_network_keep_every_bit() -> None:
    side = Side(config(**LSTM), game(points=True))
    net = PolicyNetwork(config(**LSTM), side.spec)
    first = {n: p.detach().numpy() for n, p in net.named_parameters()}
    one, two = apply_moments(make_plan(side, side), first, first)
    assert all(one[n].tobytes() == two[n].tobytes() == x.tobytes() for n, x in first.items())


def test_a_critic_that_is_copied_starts_without_the_policys_momentum() -> None:
    none = {"memory": "none"}
    plan = make_plan(Side(config(**none), game()), Side(config(**none, critic="own"), game()))
    net = PolicyNetwork(config(**none), game())
    moments = {n: np.ones(p.shape, np.float32) for n, p in net.named_parameters()}
    one, two = apply_moments(plan, moments, moments)
    assert not one["critic.join.layers.0.weight"].any()
    assert two["critic.join.layers.0.weight"].all()
    assert one["join.layers.0.weight"].all()


def test_memory_gets_zeros_for_new_places(case: Case) -> None:
    rows = np.arange(2 * 3 * 2 * 8, dtype=np.float32).reshape(2, 3, 2, 8) + 1
    made = apply_memory(case.plan, rows)
    assert made.shape == (2, 3, 2, 13)
    assert np.array_equal(made[..., :8], rows)
    assert not made[..., 8:].any()
    recall = make_plan(Side(config(), game()), Side(config(memory="recall"), game()))
    assert apply_memory(recall, np.zeros(5)).shape == (5, 2, 4)
    plain = make_plan(Side(config(), game()), Side(config(), game()))
    with pytest.raises(SurgeryError, match="no memory"):
        apply_memory(plain, rows)


def test_verification_finds_one_changed_weight_and_names_its_parameter(case: Case) -> None:
    found = case.measured()
    assert found.largest <= TOLERANCE
    assert found.worst == ""
    state = arrays(case.new)
    state["rows.units.each.layers.0.weight"][1, 2] += 0.5
    case.load(state)
    found = case.measured()
    assert found.worst == "rows.units.each.layers.0.weight"
    assert found.parameters == pytest.approx(0.5)
    assert found.logits > TOLERANCE
    state["rows.units.each.layers.0.weight"][1, 2] -= 0.5
    state["value_head.bias"][1] += 3.0  # of a new head: the plan leaves it free
    assert worst_parameter(case.plan, arrays(case.old), state)[1] < 1e-6
    state["dense.layers.0.weight"][0, 1] = np.nan  # old unit, new column
    assert worst_parameter(case.plan, arrays(case.old), state) == ("dense.layers.0.weight", np.inf)


class ZeroBlock(NamedTuple):
    """Old outputs that read new inputs of one parameter, all 0 before the first update."""

    name: str
    columns: int
    without_gradient: int  # columns: units that are dead on the record
    equal: int  # columns with the gradient of another one, beyond those without any


def zero_blocks(plan: ConversionPlan, network: torch.nn.Module) -> list[ZeroBlock]:
    """Return the zeroed blocks of a converted network after a backward pass, by parameter.

    New units learn if their columns have gradients, and differ if no two of these are equal.
    """
    blocks: list[ZeroBlock] = []
    parameters = dict(network.named_parameters())
    for tensor in plan.tensors:
        if not tensor.source or tensor.reads < 0 or not tensor.parameter:
            continue
        out, ins = plan.axis(tensor.axes[1 - tensor.reads]), plan.axis(tensor.axes[tensor.reads])
        assert out is not None
        assert ins is not None
        columns, rows = ins.fresh(), out.pairs()[0]
        if not len(columns) or not len(rows):
            continue
        gradient = parameters[tensor.name].grad
        if gradient is None:
            blocks.append(ZeroBlock(tensor.name, len(columns), len(columns), 0))
            continue
        by_input = torch.movedim(gradient, tensor.reads, 0)[torch.from_numpy(columns)]
        flat = by_input[:, torch.from_numpy(rows)].flatten(1)
        alive = flat[flat.abs().sum(1) > 0]
        distinct = len(torch.unique(alive, dim=0)) if len(alive) else 0
        blocks.append(ZeroBlock(tensor.name, len(columns), len(flat) - len(alive), len(alive) - distinct))
    return blocks


def test_zeroed_blocks_get_gradients_and_no_two_equal_columns() -> None:
    case = Case((config(**LSTM), game(points=True)), (config(**WIDER), NEW_GAME))
    assert case.moments.memory is not None
    memory = torch.from_numpy(apply_memory(case.plan, case.moments.memory.numpy()))
    out = case.new.sequence(case.moments.new, memory, case.moments.first)
    generator = torch.Generator().manual_seed(3)
    everything = torch.ones_like(case.moments.new_mask)
    uniform = torch.rand(STEPS * ROWS, 4, generator=generator)
    actions = out.distribution.sample(everything, uniform).actions
    log_prob = out.distribution.evaluate(everything, actions).log_prob
    noise = torch.randn(log_prob.shape, generator=generator)
    (
        (log_prob * noise).mean() + (out.value * torch.randn(out.value.shape, generator=generator)).mean()
    ).backward()  # type: ignore[no-untyped-call]
    blocks = zero_blocks(case.plan, case.new)
    assert {b.name for b in blocks} >= {
        "recurrent.recur.weight",
        "recurrent.read.weight",
        "join.layers.0.weight",
        "dense.layers.0.weight",
        "rows.units.each.layers.0.weight",
        "planes.map.convolutions.0.weight",
        "planes.map.convolutions.1.weight",
        "policy_head.start.weight",
        "policy_head.each.0.hidden.weight",
        "value_head.weight",
    }
    assert sum(b.equal for b in blocks) == 0
    dead = {b.name: b.without_gradient for b in blocks if b.without_gradient}
    assert sum(dead.values()) <= sum(b.columns for b in blocks) // 20, dead


@pytest.mark.parametrize("size", [1, 2, 3, 17])
def test_rotations_keep_mean_and_length(size: int) -> None:
    turn = rotation(size, "a")
    assert np.allclose(turn @ turn.T, np.eye(size))
    assert np.allclose(turn @ np.ones(size), 1.0)
    assert np.array_equal(turn, rotation(size, "a"))
    if size > 2:
        assert not np.allclose(turn, rotation(size, "b"))


def test_a_plan_is_small_and_made_without_weights() -> None:
    big = {"inputs": ("numbers",), "channels": (), "strides": (), "dense": (256,), "hidden": (1024,)}
    old = config(**big, memory="lstm", memory_size=1024, norm="none")
    new = config(**{**big, "hidden": (1100,)}, memory="lstm", memory_size=1024, norm="none")
    plan = make_plan(Side(old, game()), Side(new, game()))
    assert sum(plan.parameters().values()) > 8_000_000
    assert len(msgspec.json.encode(plan)) < 20_000
