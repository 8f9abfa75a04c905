"""Faults that only a card shows: what it refuses, and sums that it makes in another order each time.

The pretended GPU (``pretend.py``) looks for both. Operations come here with the tensors that hold the data.
``python -m tests.pretended_faults all`` runs :data:`CASES` on it, and prints as JSON what is wrong with each.
"""

# torch's dispatcher gives arguments of any type.
# ruff: noqa: ANN401

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils._pytree import tree_flatten

ALIGNED = 16  # bytes that cuDNN reads at once
#: Operations whose operands must start at multiples of ``ALIGNED``.
_PRODUCTS = {
    "addbmm",
    "addmm",
    "addmv",
    "baddbmm",
    "bmm",
    "convolution",
    "convolution_backward",
    "dot",
    "mm",
    "mv",
}
#: Operations that add from several threads at once into one place, whatever their arguments.
_UNORDERED = {
    "adaptive_max_pool2d_backward",
    "grid_sampler_2d_backward",
    "reflection_pad2d_backward",
    "upsample_bilinear2d_backward",
}
_MAYBE_UNORDERED = {*_UNORDERED, "_embedding_bag_backward", "_embedding_bag_dense_backward", "bincount"}
_MAX = 2  # mode of an embedding bag

#: Operation -> what is wrong with it. An exception in a backward pass would end the process instead.
found: dict[str, str] = {}


def check(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Add to :data:`found` that a card refuses an operation, or orders its sums at random."""
    name = func.overloadpacket.__name__.removesuffix("_")
    if name in _PRODUCTS:
        for operand in tree_flatten((args, kwargs))[0]:
            if isinstance(operand, Tensor) and operand.numel() and operand.data_ptr() % ALIGNED:
                past = f"{operand.data_ptr() % ALIGNED} bytes past a multiple of {ALIGNED}"
                found[name] = f"misaligned: {func}: {operand.dtype}{list(operand.shape)} starts at {past}"
    elif name in _ADDED or name in _MAYBE_UNORDERED:
        given = {a.name: x for a, x in zip(func._schema.arguments, args, strict=False)} | dict(kwargs)
        if _is_unordered(name, given):
            found[name] = f"unordered: {func}: a card adds in another order each time"


def _is_unordered(name: str, given: Mapping[str, Any]) -> bool:
    if name in _UNORDERED:
        return True
    if name in ("_embedding_bag_backward", "_embedding_bag_dense_backward"):
        return int(given["mode"]) == _MAX
    if name == "bincount":
        return given.get("weights") is not None
    if name not in _ADDED or not given["self"].is_floating_point():
        return False
    counts = _ADDED[name](torch.zeros_like(given["self"], dtype=torch.int64), given)
    return counts is not None and bool((counts > 1).any())


def _ones(x: Tensor) -> Tensor:
    return torch.ones_like(x, dtype=torch.int64)


def _put(zeros: Tensor, given: Mapping[str, Any]) -> Tensor | None:
    if not given.get("accumulate", False):
        return None
    return zeros.index_put_(given["indices"], _ones(given["values"]), accumulate=True)


def _scattered(zeros: Tensor, given: Mapping[str, Any]) -> Tensor | None:
    if given.get("reduce", "sum") in ("amax", "amin"):
        return None
    return zeros.scatter_add_(given["dim"], given["index"], _ones(given["src"]))


#: Operation -> how many numbers it adds to each place of its result; None if it adds none.
_ADDED: Mapping[str, Callable[[Tensor, Mapping[str, Any]], Tensor | None]] = {
    "_index_put_impl": _put,
    "_unsafe_index_put": _put,
    "index_add": lambda zeros, given: zeros.index_add_(given["dim"], given["index"], _ones(given["source"])),
    "index_put": _put,
    "scatter_add": _scattered,
    "scatter_reduce": _scattered,
}


# ---- cases for tests ------------------------------------------------------------------------------------


def _card(*shape: int, at: int = 0) -> Tensor:
    """Return numbers of the pretended GPU that start ``at`` numbers behind the start of their memory."""
    size = int(torch.Size(shape).numel())
    return torch.zeros(size + at, device="pretend")[at:].view(shape)


def _index(*numbers: int) -> Tensor:
    return torch.tensor(numbers, device="pretend")


def _convolved(x_at: int, weight_at: int) -> Tensor:
    return functional.conv2d(_card(1, 4, 5, 5, at=x_at), _card(2, 4, 3, 3, at=weight_at))


def _bag(mode: str) -> Tensor:
    weight = _card(4, 3).requires_grad_()
    out = functional.embedding_bag(_index(0, 1, 2), weight, _index(0, 2), mode=mode)
    return torch.autograd.grad(out.sum(), weight)[0]


def _backward(function: Callable[[Tensor], Tensor]) -> Tensor:
    x = _card(1, 1, 4, 4).requires_grad_()
    return torch.autograd.grad(function(x).sum(), x)[0]


def _selected(*rows: int) -> Tensor:
    x = _card(4, 3).requires_grad_()
    return torch.autograd.grad(x.index_select(0, _index(*rows)).sum(), x)[0]


def _gathered(*columns: int) -> Tensor:
    x = _card(1, 4).requires_grad_()
    return torch.autograd.grad(x.gather(1, _index(*columns).view(1, -1)).sum(), x)[0]


def _indexed(*rows: int) -> Tensor:
    x = _card(4, 3).requires_grad_()
    return torch.autograd.grad(x[_index(*rows)].sum(), x)[0]


#: Fault of each case; "" if a card does it in a fixed order.
CASES: dict[str, tuple[str, Callable[[], Tensor]]] = {
    "convolution": ("", lambda: _convolved(0, 0)),
    "convolution, weight": ("misaligned", lambda: _convolved(0, 1)),
    "convolution, input": ("misaligned", lambda: _convolved(2, 0)),
    "linear": ("", lambda: functional.linear(_card(2, 4), _card(3, 4, at=4), _card(3))),
    "linear, weight": ("misaligned", lambda: functional.linear(_card(2, 4), _card(3, 4, at=3), _card(3))),
    "linear, bias": ("misaligned", lambda: functional.linear(_card(2, 4), _card(3, 4), _card(3, at=1))),
    "product": ("misaligned", lambda: _card(2, 4, at=1) @ _card(4, 2)),
    "products": ("misaligned", lambda: torch.bmm(_card(2, 3, 4), _card(2, 4, 3, at=5))),
    "index_add": ("", lambda: _card(4, 3).index_add(0, _index(0, 3), _card(2, 3))),
    "index_add, repeats": ("unordered", lambda: _card(4, 3).index_add(0, _index(3, 3), _card(2, 3))),
    "index_add_, repeats": ("unordered", lambda: _card(4, 3).index_add_(0, _index(3, 3), _card(2, 3))),
    "index_add of integers, repeats": (
        "",
        lambda: _card(4, 3).long().index_add(0, _index(3, 3), _card(2, 3).long()),
    ),
    "index_select": ("", lambda: _selected(0, 2)),
    "index_select, repeats": ("unordered", lambda: _selected(0, 2, 2)),
    "gather": ("", lambda: _gathered(0, 2)),
    "gather, repeats": ("unordered", lambda: _gathered(2, 2)),
    "indexing": ("", lambda: _indexed(0, 2)),
    "indexing, repeats": ("unordered", lambda: _indexed(2, 2)),
    "index_put": ("", lambda: _card(4).index_put((_index(2, 2),), _card(2))),
    "index_put, accumulate": ("", lambda: _card(4).index_put((_index(1, 2),), _card(2), accumulate=True)),
    "index_put, accumulate, repeats": (
        "unordered",
        lambda: _card(4).index_put((_index(2, 2),), _card(2), accumulate=True),
    ),
    "scatter_add, repeats": ("unordered", lambda: _card(4).scatter_add(0, _index(2, 2), _card(2))),
    "scatter_reduce, sum, repeats": (
        "unordered",
        lambda: _card(4).scatter_reduce(0, _index(2, 2), _card(2), "sum"),
    ),
    "scatter_reduce, maximum, repeats": (
        "",
        lambda: _card(4).scatter_reduce(0, _index(2, 2), _card(2), "amax"),
    ),
    "embedding bag, mean": ("", lambda: _bag("mean")),
    "embedding bag, maximum": ("unordered", lambda: _bag("max")),
    "bincount": ("", lambda: torch.bincount(_index(1, 1))),
    "bincount, weights": ("unordered", lambda: torch.bincount(_index(1, 1), _card(2))),
    "resizing": (
        "unordered",
        lambda: _backward(lambda x: functional.interpolate(x, scale_factor=2.0, mode="bilinear")),
    ),
    "pooling to a size": ("unordered", lambda: _backward(lambda x: functional.adaptive_max_pool2d(x, 2))),
    "reflection": ("unordered", lambda: _backward(lambda x: functional.pad(x, (1, 1, 1, 1), mode="reflect"))),
    "sampling": (
        "unordered",
        lambda: _backward(lambda x: functional.grid_sample(x, _card(1, 2, 2, 2), align_corners=False)),
    ),
}


def faults(_: str) -> dict[str, str]:
    """Run all cases on the pretended GPU; return the kind of the fault of each, "" for none."""
    from tests.pretend import PretendedGpu

    out = {}
    with PretendedGpu():
        for name, (_, work) in CASES.items():
            work()
            out[name] = "".join(sorted({text.partition(":")[0] for text in found.values()}))
            found.clear()
    return out


if __name__ == "__main__":
    from tests import pretended_faults
    from tests.pretend import run_apart

    run_apart(pretended_faults.faults, sys.argv[1:])
