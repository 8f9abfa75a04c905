"""Programs give the same numbers called, packed and taped; what a graph cannot hold is refused."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
import torch
from torch import Tensor

from ludus.flow.slab import Array
from ludus.policies.accelerator import Device, Executor, Plain, executor_of
from tests.taped import NeedsHost, Taped

CPU = torch.device("cpu")
EXAMPLES: dict[str, Array] = {
    "x": np.zeros((4, 3), np.float32),
    "rows": np.zeros(4, np.int64),
    "mask": np.zeros((4, 5), np.uint8),
    "rate": np.zeros((), np.float32),
}


def arrays(seed: int) -> dict[str, Array]:
    random = np.random.default_rng(seed)
    return {
        "x": random.normal(size=(4, 3)).astype(np.float32),
        "rows": random.integers(0, 4, 4),
        "mask": random.integers(0, 2, (4, 5)).astype(np.uint8),
        "rate": np.array(random.normal(), np.float32),
    }


class Step:
    """One step of a descent, as a learner makes it."""

    def __init__(self) -> None:
        self.weight = torch.linspace(-1.0, 1.0, 15).reshape(3, 5).requires_grad_()
        self.steps = torch.zeros(())

    def __call__(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        x = inputs["x"].index_select(0, inputs["rows"])
        logits = (x @ self.weight).masked_fill(inputs["mask"] == 0, -1e9)
        loss = torch.logsumexp(logits, dim=1).sum()
        (gradient,) = torch.autograd.grad(loss, [self.weight])
        with torch.no_grad():
            self.steps.add_(1.0)
            self.weight.sub_(gradient * (inputs["rate"] / self.steps))
        return {"loss": loss.detach(), "choice": logits.argmax(dim=1), "weight": self.weight.detach()}


@pytest.mark.parametrize("executor", [Device(CPU), Taped(), *(Taped(seed) for seed in range(20))])
def test_outputs_are_those_of_the_function(executor: Executor) -> None:
    ours, theirs = Step(), Step()
    stream = executor.stream()
    program = executor.program(ours, EXAMPLES, stream, state=[ours.weight, ours.steps])
    plain = Plain().program(theirs, EXAMPLES)
    kept = arrays(0)
    for k in range(6):
        given = {name: array.copy() for name, array in arrays(k).items()}
        out = program(given)
        expected = plain(arrays(k))
        assert out.keys() == expected.keys()
        for name, array in expected.items():
            assert out[name].dtype == array.dtype
            np.testing.assert_array_equal(out[name], array)
    stream.synchronize()
    assert torch.equal(ours.weight, theirs.weight)
    assert float(ours.steps) == 6.0
    np.testing.assert_array_equal(kept["x"], arrays(0)["x"])


def test_an_input_may_change_while_late_work_waits() -> None:
    for seed in range(50):
        executor = Taped(seed)
        a, b = executor.stream(), executor.stream()
        shared = torch.zeros(3)

        def add(inputs: Mapping[str, Tensor], shared: Tensor = shared) -> dict[str, Tensor]:
            shared.add_(inputs["x"])
            return {}

        def show(inputs: Mapping[str, Tensor], shared: Tensor = shared) -> dict[str, Tensor]:
            return {"sum": shared + inputs["x"]}

        zero = {"x": np.zeros(3, np.float32)}
        first, second = executor.program(add, zero, a, [shared]), executor.program(show, zero, b)
        total = 0.0
        for k in range(4):
            given = {"x": np.full(3, float(k), np.float32)}
            first.send(given)
            given["x"][...] = -1.0  # the caller's again
            total += k
            b.wait(a.record())
            second.send(zero)
            a.wait(b.record())
            np.testing.assert_array_equal(second.read()["sum"], np.full(3, total, np.float32))


@pytest.mark.parametrize(
    ("compute", "operation"),
    [
        (lambda i: {"n": i["x"].nonzero()}, "nonzero"),
        (lambda i: {"n": i["x"] * float(i["rate"])}, "_local_scalar_dense"),
        (lambda i: {"n": i["x"][i["mask"][:, 0].bool()]}, "index"),
        (lambda i: {"n": i["x"] + torch.tensor([1.0, 2.0, 3.0])}, "lift_fresh"),
        (lambda i: {"n": torch.bincount(i["rows"])}, "bincount"),
    ],
)
def test_a_tape_refuses_what_needs_the_host(compute: object, operation: str) -> None:
    program = Taped().program(compute, EXAMPLES)  # type: ignore[arg-type]
    with pytest.raises(NeedsHost, match=operation):
        program(arrays(1))


def test_a_number_of_python_is_baked_into_a_tape() -> None:
    rate = [1.0]
    program = Taped().program(lambda i: {"n": i["x"] * rate[0]}, EXAMPLES)
    program(arrays(1))
    rate[0] = 2.0
    np.testing.assert_array_equal(program(arrays(2))["n"], arrays(2)["x"])


def test_arrays_of_other_shapes_are_refused() -> None:
    program = Device(CPU).program(lambda i: {"n": i["x"]}, EXAMPLES)
    with pytest.raises(ValueError, match=r"x is float32\[3, 3\], expected float32\[4, 3\]"):
        program({**arrays(1), "x": np.zeros((3, 3), np.float32)})
    with pytest.raises(ValueError, match=r"expected \['mask', 'rate', 'rows', 'x'\]"):
        program({"x": np.zeros((4, 3), np.float32)})


def test_a_program_without_outputs_or_inputs_runs() -> None:
    total = torch.zeros(2)

    def add(_: Mapping[str, Tensor]) -> dict[str, Tensor]:
        total.add_(1.0)
        return {}

    program = Taped().program(add, {}, state=[total])
    assert program({}) == {}
    assert program({}) == {}
    assert total.tolist() == [2.0, 2.0]


def test_the_processor_computes_compact_forms() -> None:
    executor = executor_of(CPU)
    assert isinstance(executor, Plain)
    assert not executor.static
    assert Device(CPU).static
    assert executor.allocate((2, 3), np.int16).shape == (2, 3)
    pinned = Device(CPU).allocate((2, 3), np.int16)
    assert (pinned.shape, pinned.dtype) == ((2, 3), np.dtype(np.int16))
