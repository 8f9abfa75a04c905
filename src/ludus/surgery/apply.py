"""Arrays of the old network to arrays of the new one, by a plan, in numpy."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ludus.surgery.plan import AxisPlan, ConversionPlan, SurgeryError, TensorPlan

Array = npt.NDArray[Any]


def apply(plan: ConversionPlan, old: Mapping[str, Array], fresh: Mapping[str, Array]) -> dict[str, Array]:
    """Return the new network's parameters and buffers.

    Args:
        plan: The conversion.
        old: Parameters and buffers of the old network, by name.
        fresh: The same of a freshly initialised new network.

    Raises:
        SurgeryError: Names or shapes differ from the plan.
    """
    _check_arrays("old network", old, {t.source: t.old_shape for t in plan.tensors if t.source})
    _check_arrays("new network", fresh, {t.name: t.new_shape for t in plan.tensors})
    made: dict[str, Array] = {}
    for tensor in plan.tensors:
        start = fresh[tensor.name]
        if not tensor.source:
            made[tensor.name] = np.zeros_like(start) if tensor.start == "zero" else start.copy()
            continue
        source = old[tensor.source]
        if not tensor.axes:
            made[tensor.name] = source.copy()
            continue
        value = source.reshape(tensor.old_shape or (1,))
        view = Blocks(plan, tensor)
        new = start.astype(source.dtype) if view.draws else np.empty(tensor.new_shape, source.dtype)
        new = new.reshape(tensor.new_shape or (1,))
        view.put(value, new, tensor.scale)
        made[tensor.name] = new.reshape(tensor.new_shape)
    return made


def drawn_tensors(plan: ConversionPlan) -> frozenset[str]:
    """Return the tensors of which :func:`apply` reads numbers of a fresh network."""
    return frozenset(
        t.name
        for t in plan.tensors
        if (Blocks(plan, t).draws if t.source and t.axes else not t.source and t.start != "zero")
    )


def apply_moments(
    plan: ConversionPlan, first: Mapping[str, Array], second: Mapping[str, Array]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return both moments of Adam for the new network.

    New entries start with first moment 0, so that they do not move by themselves, and with the mean second
    moment of their tensor, so that the first steps are not many times the learning rate.

    Args:
        plan: The conversion.
        first: First moments by parameter, or the momentum of SGD.
        second: Second moments by parameter; empty for SGD.

    Raises:
        SurgeryError: Names or shapes differ from the plan.
    """
    tensors = [t for t in plan.tensors if t.parameter]
    shapes = {t.source: t.old_shape for t in tensors if t.source}
    for which, moments in (("first moments", first), ("second moments", second)):
        if moments or which.startswith("first"):
            _check_arrays(which, moments, shapes)
    entries = sum(x.size for x in second.values())
    overall = sum(float(x.sum(dtype=np.float64)) for x in second.values()) / max(entries, 1)
    made: dict[str, Array] = {}
    squares: dict[str, Array] = {}
    dtype = next((x.dtype for x in first.values()), np.dtype(np.float32))
    for tensor in tensors:
        if not tensor.source:
            made[tensor.name] = np.zeros(tensor.new_shape, dtype)
            if second:
                squares[tensor.name] = np.full(tensor.new_shape, overall, dtype)
            continue
        made[tensor.name] = _moment(plan, tensor, first[tensor.source], 1.0 / tensor.scale, square=False)
        if second:
            squares[tensor.name] = _moment(plan, tensor, second[tensor.source], tensor.scale**-2, square=True)
    return made, squares


def _moment(plan: ConversionPlan, tensor: TensorPlan, old: Array, scale: float, *, square: bool) -> Array:
    if not tensor.axes:
        return old.copy() if square or not tensor.alias else np.zeros_like(old)
    mean = float(old.mean(dtype=np.float64)) * scale if square and old.size else 0.0
    new = np.full(tensor.new_shape or (1,), mean, old.dtype)
    if square or not tensor.alias:
        Blocks(plan, tensor).keep(old.reshape(tensor.old_shape or (1,)), new, scale)
    return new.reshape(tensor.new_shape)


def apply_memory(plan: ConversionPlan, rows: Array) -> Array:
    """Return memory ``[..., *new_shape]`` of rows ``[..., *old_shape]``; new places are 0.

    A network that had no memory has ``old_shape`` (): each number of ``rows`` becomes a row of zeros.

    Raises:
        SurgeryError: The shape differs from the plan, or the new network has no memory.
    """
    memory = plan.memory
    if memory is None:
        raise SurgeryError("memory", list(rows.shape), "no memory in the new network")
    axis = plan.axis(memory.axis)
    axes = len(memory.old_shape)
    if tuple(rows.shape[rows.ndim - axes :]) != memory.old_shape:
        raise SurgeryError("memory", list(rows.shape), f"[..., {', '.join(map(str, memory.old_shape))}]")
    made = np.zeros((*rows.shape[: rows.ndim - axes], *memory.new_shape), rows.dtype)
    if axis is not None:
        new, old = axis.pairs()
        made[..., new] = rows[..., old]
    return made


def old_memory(plan: ConversionPlan, rows: Array) -> Array | None:
    """Return the old network's part ``[..., *old_shape]`` of memory ``[..., *new_shape]``; None without any.

    Places that the new network lacks are 0.
    """
    axis = plan.axis(plan.memory.axis) if plan.memory is not None else None
    if plan.memory is None or axis is None:
        return None
    lead = rows.shape[: rows.ndim - len(plan.memory.new_shape)]
    made = np.zeros((*lead, *plan.memory.old_shape), rows.dtype)
    new, old = axis.pairs()
    made[..., old] = rows[..., new]
    return made


class Blocks:
    """Blocks of one tensor: outputs first, then inputs if it has any, then the rest."""

    def __init__(self, plan: ConversionPlan, tensor: TensorPlan) -> None:
        """Read the axes of a tensor that has a source.

        Raises:
            SurgeryError: An axis that is neither outputs nor inputs changed.
        """
        self.plan, self.tensor = plan, tensor
        self.reads = tensor.reads
        axes = [plan.axis(n) for n in tensor.axes]
        out = 1 if self.reads == 0 else 0
        self.places = (out, self.reads) if self.reads >= 0 else (out,)
        first = axes[out] if out < len(axes) else None
        second = axes[self.reads] if self.reads >= 0 else None
        rest = [a for i, a in enumerate(axes) if i not in (out, self.reads) and a is not None]
        inputs = self.reads < 0 or second is not None
        if first is None or not inputs or any(not a.identical for a in rest):
            raise SurgeryError(
                f"plan.{tensor.name}", list(tensor.new_shape), "outputs and inputs as its only changed axes"
            )
        self.out: AxisPlan = first
        self.ins: AxisPlan | None = second
        #: whether an output takes the numbers of a fresh network
        self.draws = tensor.start == "fresh" and len(first.fresh()) > 0

    def ordered(self, array: Array) -> Array:
        """Return a view with the outputs first, then the inputs."""
        return np.moveaxis(array, self.places, range(len(self.places)))

    def keep(self, old: Array, new: Array, scale: float) -> None:
        """Put kept entries into ``new``, and nothing else."""
        old, new = self.ordered(old), self.ordered(new)
        new_out, old_out = self.out.pairs()
        rows, kept = _index(new_out), old[_index(old_out)]
        if self.ins is None:
            new[rows] = kept * scale
            return
        new_in, old_in = (_index(x) for x in self.ins.pairs())
        part = kept[:, old_in] if scale == 1.0 else kept[:, old_in] * scale
        if isinstance(rows, slice) or isinstance(new_in, slice):
            new[rows, new_in] = part
        else:
            new[np.ix_(rows, new_in)] = part

    def put(self, old: Array, new: Array, scale: float) -> None:
        """Put kept entries, copies, zeros and rotations into ``new``, which holds a fresh network's."""
        old, new = self.ordered(old), self.ordered(new)
        new_out, old_out = self.out.pairs()
        kept = self._rows(old, old_out, new.shape, scale)
        new[_index(new_out)] = kept
        copy_new, copy_old = self.out.copies()
        if self.tensor.copies_zero:
            new[copy_new] = 0
        else:
            new[copy_new] = self._rows(old, copy_old, new.shape, scale)
        fresh = self.out.fresh()
        if self.tensor.start == "zero":
            new[fresh] = 0
        elif self.tensor.start == "rotated":
            new[fresh] = self._rotations(kept, len(fresh))

    def _rows(
        self, old: Array, outputs: npt.NDArray[np.int64], shape: tuple[int, ...], scale: float
    ) -> Array:
        """Return the new rows of some old outputs: old inputs, copies of them, 0 from new ones."""
        some = old[_index(outputs)]
        if scale != 1.0:
            some = (some.astype(np.float64) * scale).astype(old.dtype)
        if self.ins is None:
            return some
        if self.ins.identical:
            return some
        rows = np.zeros((len(outputs), *shape[1:]), old.dtype)
        for new_in, old_in in (self.ins.pairs(), self.ins.copies()):
            rows[:, _index(new_in)] = some[:, _index(old_in)]
        return rows

    def _rotations(self, kept: Array, count: int) -> Array:
        """Return ``count`` rows, each ``len(kept)`` of them a rotation of ``kept`` that keeps its mean."""
        width = len(kept)
        flat = kept.reshape(width, -1).astype(np.float64)
        layer = self.tensor.name.rpartition(".")[0]
        made = [
            rotation(width, f"{self.plan.seed} {layer} {block}") @ flat for block in range(count // width)
        ]
        return np.concatenate([*made, flat[:0]]).reshape(count, *kept.shape[1:]).astype(kept.dtype)


def rotation(size: int, key: str) -> npt.NDArray[np.float64]:
    """Return an orthogonal matrix ``[size, size]`` with Q 1 = 1, drawn from ``key``.

    Mean and variance over coordinates are then the same of ``x`` and ``Q x``, as LayerNorm needs.
    """
    seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little")
    generator = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(np.column_stack([np.ones(size), generator.standard_normal((size, size - 1))]))
    turn = np.eye(size)
    if size > 1:
        turn[1:, 1:] = np.linalg.qr(generator.standard_normal((size - 1, size - 1)))[0]
    made: npt.NDArray[np.float64] = basis @ turn @ basis.T
    return made


def _index(places: npt.NDArray[np.int64]) -> slice | npt.NDArray[np.int64]:
    """Return places as a slice where they follow each other: a slice is copied many times faster."""
    if len(places) and int(places[-1]) - int(places[0]) == len(places) - 1 and (np.diff(places) == 1).all():
        return slice(int(places[0]), int(places[-1]) + 1)
    return places


def _check_arrays(path: str, arrays: Mapping[str, Array], shapes: Mapping[str, tuple[int, ...]]) -> None:
    for name, shape in shapes.items():
        if name not in arrays:
            raise SurgeryError(
                path, f"no {name}", "every tensor of its configuration", valid=list(arrays), name=name
            )
        if tuple(arrays[name].shape) != tuple(shape):
            raise SurgeryError(f"{path}.{name}", list(arrays[name].shape), f"the shape {list(shape)}")
