"""A pretended GPU: tensors that say they are on a device of their own and hold their data on the processor.

It raises where tensors of two devices meet, looks for the faults of ``pretended_faults.py``, and counts what
is slow on a card: kernel launches, copies up and down, and waits (an operation whose result's shape or
value the host needs). It times nothing.
Once installed it stays for the life of the process, so every use has a process of its own::

    python -m tests.pretended_training minirts     # costs as JSON
"""

# torch's dispatcher gives arguments of any type.
# ruff: noqa: ANN401
# mypy: disable-error-code="no-untyped-call, override, assignment"

from __future__ import annotations

import collections
import functools
import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from ludus.policies import accelerator
from ludus.policies.accelerator import Device, Stream
from tests import pretended_faults

NAME = "pretend"
KINDS = ("launch", "upload", "download", "wait")
#: Operations that a host waits for.
_WAITS = {
    "_local_scalar_dense",
    "nonzero",
    "bincount",
    "masked_select",
    "_unique2",
    "unique_dim",
    "equal",
    "repeat_interleave",
}
#: Operations that launch nothing: views, and memory that no one has written.
_FREE = {
    "_local_scalar_dense",
    "_reshape_alias",
    "_unsafe_view",
    "alias",
    "as_strided",
    "detach",
    "diagonal",
    "empty",
    "empty_like",
    "empty_strided",
    "expand",
    "is_same_size",
    "lift_fresh",
    "new_empty",
    "new_empty_strided",
    "permute",
    "select",
    "slice",
    "split",
    "split_with_sizes",
    "squeeze",
    "sym_size",
    "t",
    "transpose",
    "unbind",
    "unfold",
    "unsqueeze",
    "view",
    "view_as_real",
}
_INDEXING = {"index", "index_put", "index_put_", "_index_put_impl_"}
#: Operations whose scalars, too, must be on the device.
_STRICT = {"index_select", "index_copy", "index_add", "gather", "scatter", "cat", "stack", "mm", "addmm"}

counts: collections.Counter[str] = collections.Counter()
_library: list[torch.library.Library] = []  # kept: what it registers lives as long as it does


class DeviceMismatch(RuntimeError):
    """Tensors of two devices met."""


class Pretended(torch.Tensor):
    """A tensor of the pretended GPU; ``inner`` is where its data are."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls: type[Pretended], inner: torch.Tensor) -> Pretended:
        """Wrap a tensor of the processor, whose memory is used."""
        made: Pretended = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            layout=inner.layout,
            device=torch.device(NAME, 0),
            requires_grad=inner.requires_grad,
        )
        return made

    def __init__(self, inner: torch.Tensor) -> None:
        """Keep the data."""
        self.inner = inner

    def __repr__(self, **_: object) -> str:
        """Show the data."""
        return f"Pretended({self.inner!r})"

    def numpy(self, *_: object, **__: object) -> Any:
        """Raise, as torch does for a GPU's tensor."""
        raise TypeError("numpy() of a tensor on a GPU; use .cpu() first")

    def tolist(self) -> Any:
        """Return the numbers; the host waits for them."""
        counts["wait"] += 1
        return self.inner.tolist()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one operation."""
        return _run(func, args, kwargs or {})


class PretendedGpu(TorchDispatchMode):
    """Context in which ``device="pretend"`` can be used."""

    def __init__(self) -> None:
        """Install nothing yet."""
        super().__init__()

    def __enter__(self) -> PretendedGpu:
        """Install the device."""
        _install()
        super().__enter__()
        return self

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one operation."""
        return _run(func, args, kwargs or {})


def _inner(x: Any) -> Any:
    return x.inner if isinstance(x, Pretended) else x


def _wrapped(x: Any) -> Any:
    return Pretended(x) if isinstance(x, torch.Tensor) and not isinstance(x, Pretended) else x


# torch.utils._pytree does both for any container, and would take half the time of the tests.


def _tensors(x: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors among arguments of an operation."""
    if isinstance(x, torch.Tensor):
        yield x
    elif isinstance(x, list | tuple):
        for each in x:
            yield from _tensors(each)


def _mapped(change: Callable[[Any], Any], x: Any) -> Any:
    """Return arguments or results of an operation, each changed."""
    if isinstance(x, list):
        return [_mapped(change, each) for each in x]
    if isinstance(x, tuple):
        return tuple([_mapped(change, each) for each in x])
    return change(x)


@functools.cache
def _composed(func: Any) -> bool:
    """Return whether an operation is made of others, without a kernel of its own."""
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"))


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    op = func.overloadpacket.__name__
    if _composed(func):
        with PretendedGpu():  # in inference mode operations arrive before they are taken apart
            return func.decompose(*args, **kwargs)
    tensors = list(_tensors((args, tuple(kwargs.values()))))
    ours = any(isinstance(x, Pretended) for x in tensors)
    asked = None if kwargs.get("device") is None else torch.device(kwargs["device"]).type == NAME
    if op == "_to_copy":
        return _moved(func, args, kwargs, ours if asked is None else asked)
    if op == "copy_":
        return _copied(args[0], args[1])
    if asked:
        kwargs = kwargs | {"device": torch.device("cpu")}
    here = ours if asked is None else asked
    if ours:
        _check(op, func, [x for x in tensors if not isinstance(x, Pretended)])
    if here:
        masks = op in _INDEXING and any(x.dtype in (torch.bool, torch.uint8) for x in tensors[1:])
        counts["wait"] += op in _WAITS or masks
        counts["launch"] += op not in _FREE
    inner_args = _mapped(_inner, args)
    inner_kwargs = {name: _mapped(_inner, x) for name, x in kwargs.items()}
    if here:
        pretended_faults.check(func, inner_args, inner_kwargs)
    out = func(*inner_args, **inner_kwargs)
    if op == "_local_scalar_dense" or not here:
        return out
    written = _written(func, args, kwargs)
    if isinstance(written, torch.Tensor) and isinstance(out, torch.Tensor):
        return written
    return _mapped(_wrapped, out)


def _moved(func: Any, args: Any, kwargs: dict[str, Any], up: bool) -> Any:
    """Copy a tensor, to another device or type."""
    source = args[0]
    from_gpu = isinstance(source, Pretended)
    counts["launch" if from_gpu == up else "upload" if up else "download"] += 1
    rest = {k: v for k, v in kwargs.items() if k not in ("device", "non_blocking")}
    out = func(_inner(source), **rest)
    if out.numel() and out.data_ptr() == _inner(source).data_ptr():
        out = out.clone()
    return Pretended(out) if up else out


def _copied(target: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    to, of = isinstance(target, Pretended), isinstance(source, Pretended)
    counts["launch" if to == of else "upload" if to else "download"] += 1
    _inner(target).copy_(_inner(source))
    return target


def _check(op: str, func: Any, others: list[torch.Tensor]) -> None:
    """Raise where a GPU would; count the upload of an index that torch makes by itself."""
    if op in _INDEXING:
        others = [x for x in others if x.dim() > 0]
        if all(x.dtype in (torch.int64, torch.bool) for x in others):
            counts["upload"] += len(others)
            return
    elif op not in _STRICT:
        others = [x for x in others if x.dim() > 0]
    if others:
        what = ", ".join(f"{x.dtype}{list(x.shape)}" for x in others)
        raise DeviceMismatch(f"{func}: a tensor of the GPU meets the processor's {what}")


def _written(func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """Return the argument that an operation writes, if any: it is its result."""
    if not func._schema.is_mutable:
        return None
    for k, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            return args[k] if k < len(args) else kwargs.get(argument.name)
    return None


def _install() -> None:
    """Register the device. It stays for the life of the process."""
    if _library:
        return
    _setup_privateuseone_for_python_backend(NAME)
    library = torch.library.Library("aten", "IMPL")
    _library.append(library)

    def empty_strided(size: Any, stride: Any, *, dtype: Any = None, **_: object) -> Pretended:
        counts["upload"] += 1  # torch makes an index of Python's numbers and copies it
        return Pretended(torch.empty_strided(size, stride, dtype=dtype))

    def copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
        _inner(target).copy_(_inner(source))
        return target

    library.impl("empty_strided", empty_strided, "PrivateUse1")
    library.impl("_copy_from", copy_from, "PrivateUse1")
    device = torch.device(NAME, 0)
    accelerator._executors[device] = PretendedGraphs(device)

    def made(make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        def of_data(data: object, *args: object, device: Any = None, **options: object) -> torch.Tensor:
            out = make(data, *args, **options)
            if device is None or torch.device(device).type != NAME or isinstance(out, Pretended):
                return out
            counts["upload"] += 1
            return Pretended(out.clone())

        return of_data

    torch.tensor, torch.as_tensor = made(torch.tensor), made(torch.as_tensor)


class PretendedGraphs(Device):
    """Executor of the device: a program is one launch, as a CUDA graph, and must not wait for the host."""

    def submit(self, replay: Callable[[], None], stream: Stream) -> None:
        """See :meth:`ludus.policies.accelerator.Device.submit`."""
        launches, waits = counts["launch"], counts["wait"]
        replay()
        if counts["wait"] > waits:
            raise RuntimeError("a graph waits for the host")
        counts["launch"] = launches + 1


class Meter:
    """Costs since the last reading."""

    def __init__(self) -> None:
        """Start at zero."""
        self._before = collections.Counter(counts)

    def read(self) -> dict[str, int]:
        """Return the costs since the start or the last call."""
        now = collections.Counter(counts)
        out = {kind: now[kind] - self._before[kind] for kind in KINDS}
        self._before = now
        return out


def run_apart(job: Callable[[str], object], cases: Sequence[str]) -> None:
    """Write a line of JSON for each case: what ``job`` returns for it, or ``{"error": its traceback}``.

    A job with faults of ``pretended_faults.py`` fails.

    Each runs in a copy of this process that ends at once: torch cannot take the device down again, and an
    interpreter that ends in the usual way may crash.
    """
    importlib.import_module("torch._dynamo")  # torch needs it at once: imported here, not in every copy
    for case in cases:
        if child := os.fork():
            os.waitpid(child, 0)
            continue
        try:
            result = job(case)
            if pretended_faults.found:
                result = {"error": "\n".join(pretended_faults.found.values())}
        except BaseException:
            result = {"error": traceback.format_exc()}
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()
        os._exit(0)
