"""Plan of a conversion: for every axis of every tensor, which old places the new network keeps.

Plain data that can be written as JSON and read from a file of unknown origin (:func:`decode_plan`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec
from ludus.flow.inputs.decode import from_json
from ludus.flow.problem import NONE_NEAR, Argument, HasProblems, Problem, Text, near_of
from ludus.policies.config import PolicyConfig

#: Largest length of an axis, most entries of a tensor, most axes and tensors of a plan.
MAX_LENGTH, MAX_ENTRIES, MAX_TENSORS = 1 << 26, 1 << 34, 1 << 16
#: Most names of added or removed places that an axis lists.
MAX_NAMES = 32

Length = Annotated[int, msgspec.Meta(ge=0, le=MAX_LENGTH)]
Index = Annotated[int, msgspec.Meta(ge=-1, le=MAX_TENSORS)]
Name = Annotated[str, msgspec.Meta(max_length=512)]
Names = Annotated[tuple[Name, ...], msgspec.Meta(max_length=MAX_NAMES)]
Shape = Annotated[tuple[Length, ...], msgspec.Meta(max_length=8)]
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e6)]


class SurgeryError(HasProblems, ValueError):
    """A refused conversion, in one line: where, the value, what was expected, the nearest name."""

    def __init__(
        self,
        path: str | Argument,
        value: object,
        expected: Text,
        *,
        valid: Sequence[str] = (),
        name: str = "",
    ) -> None:
        """Make the message.

        Args:
            path: Setting, tensor or argument.
            value: What was found there.
            expected: What surgery expects.
            valid: Valid names, of which the nearest to ``name`` is shown.
            name: The unknown name; "" without one.
        """
        near = near_of(name, valid) if name else NONE_NEAR
        parts = expected if isinstance(expected, tuple) else (expected,)
        text = (path, f" = {_shown(value)}: expected ", *parts)
        self.path = path if isinstance(path, str) else path.name
        super().__init__(Problem(self.path, text, value, near=near))


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return " ".join(text[:200].split())


@dataclass(frozen=True)
class Side:
    """A network before or after a conversion: its configuration and the spec that it plays under."""

    config: PolicyConfig
    spec: GameSpec


@dataclass(frozen=True)
class ConversionHints:
    """Facts that configurations and specs do not hold.

    Args:
        like: New word of labels -> an old one. New columns and choices with the new word start as copies of
            those with the old one.
        rename: Old word of labels, or name of a tensor or head -> the new one.
        approximate: Allow conversions that change outputs, such as a removed column.
    """

    like: Mapping[str, str] = field(default_factory=dict)
    rename: Mapping[str, str] = field(default_factory=dict)
    approximate: bool = False


class PlaceRun(msgspec.Struct, frozen=True, array_like=True):
    """``length`` places from ``new`` on that were the places from ``old`` on."""

    new: Length
    old: Length
    length: Annotated[int, msgspec.Meta(ge=1, le=MAX_LENGTH)]


class PlaceCopy(msgspec.Struct, frozen=True, array_like=True):
    """A new place that starts as a copy of an old one (``like``)."""

    new: Length
    old: Length


Runs = Annotated[tuple[PlaceRun, ...], msgspec.Meta(max_length=MAX_LENGTH)]
Copies = Annotated[tuple[PlaceCopy, ...], msgspec.Meta(max_length=MAX_LENGTH)]


class AxisPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Places of an axis. ``added`` and ``removed`` name the first :data:`MAX_NAMES` of the rest."""

    old: Length
    new: Length
    kept: Runs = ()
    copied: Copies = ()
    added: Names = ()
    removed: Names = ()

    @property
    def identical(self) -> bool:
        """Whether no place moves."""
        return self.old == self.new and (self.old == 0 or self.kept == (PlaceRun(0, 0, self.old),))

    def pairs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the new and the old kept places, ``int64[n]`` each."""
        new = [np.arange(r.new, r.new + r.length) for r in self.kept]
        old = [np.arange(r.old, r.old + r.length) for r in self.kept]
        empty = np.zeros(0, np.int64)
        return (np.concatenate([empty, *new]), np.concatenate([empty, *old]))

    def copies(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return new places and the old ones that they copy, ``int64[n]`` each."""
        pairs = np.array([(c.new, c.old) for c in self.copied], np.int64).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def fresh(self) -> npt.NDArray[np.int64]:
        """Return the new places that are neither kept nor copies, ``int64[n]``."""
        return np.setdiff1d(np.arange(self.new), np.concatenate([self.pairs()[0], self.copies()[0]]))

    def gone(self) -> npt.NDArray[np.int64]:
        """Return the old places that the new network lacks, ``int64[n]``."""
        return np.setdiff1d(np.arange(self.old), self.pairs()[1])


class TensorPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One parameter or buffer of the new network.

    ``axes`` are numbers of :attr:`ConversionPlan.axes`, -1 for an axis without names (kernels), which stays
    as it is. ``reads`` is the axis of inputs: kept places of the other axis read 0 from its new places; -1:
    none.
    """

    name: Name
    source: Name  # old tensor; "" = none
    old_shape: Shape
    new_shape: Shape
    axes: Annotated[tuple[Index, ...], msgspec.Meta(max_length=8)] = ()
    reads: Annotated[int, msgspec.Meta(ge=-1, le=7)] = -1
    parameter: bool = True  # else a buffer
    #: factor of kept entries: queries of pointers, whose product is divided by the root of the width
    scale: Positive = 1.0
    #: new outputs: numbers of a fresh network, zeros, or rotations of the old outputs (LayerNorm)
    start: Literal["fresh", "zero", "rotated"] = "fresh"
    #: copies of ``like`` are 0 here: means of normalised columns, so that a column of zeros reads 0
    copies_zero: bool = False
    #: moments of the source belong to another function (a critic copied from the policy's encoder)
    alias: bool = False


class Operator(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One change, in words. ``exact``: outputs of old inputs stay as they were."""

    kind: Name
    path: Name
    exact: bool
    text: Annotated[str, msgspec.Meta(max_length=2000)]


class MemoryPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Memory of a row; its last axis is ``axis``, -1 where the old network had none."""

    old_shape: Shape
    new_shape: Shape
    axis: Index


class ConversionPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A conversion. ``seed`` draws rotations."""

    old_spec: Name
    new_spec: Name
    axes: Annotated[tuple[AxisPlan, ...], msgspec.Meta(max_length=MAX_TENSORS)]
    tensors: Annotated[tuple[TensorPlan, ...], msgspec.Meta(max_length=MAX_TENSORS)]
    operators: Annotated[tuple[Operator, ...], msgspec.Meta(max_length=4096)] = ()
    #: old tensors that the new network lacks
    dropped: Annotated[tuple[Name, ...], msgspec.Meta(max_length=MAX_TENSORS)] = ()
    #: number of the axis of all choices of all heads, in the spec's order
    choices: Index = -1
    memory: MemoryPlan | None = None
    seed: Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)] = 0
    version: Literal[1] = 1

    @property
    def exact(self) -> bool:
        """Whether every operator is exact."""
        return all(o.exact for o in self.operators)

    @property
    def identical(self) -> bool:
        """Whether the new network is the old one, tensor by tensor."""
        whole = all(t.source == t.name and t.old_shape == t.new_shape for t in self.tensors)
        return whole and not self.dropped and all(a.identical for a in self.axes)

    def axis(self, number: int) -> AxisPlan | None:
        """Return the axis of this number; None for -1."""
        return self.axes[number] if number >= 0 else None

    def fresh(self, name: str) -> npt.NDArray[np.int64]:
        """Return the new outputs of a tensor that are neither kept nor copies, ``int64[n]``.

        These are the columns of ``normaliser.mean`` and the units of a batch norm that have no statistics.
        Every output of a tensor without a source is one.

        Raises:
            SurgeryError: The new network has no such tensor.
        """
        tensor = next((t for t in self.tensors if t.name == name), None)
        if tensor is None:
            names = [t.name for t in self.tensors]
            raise SurgeryError("tensor", name, "a tensor of the new network", valid=names, name=name)
        axis = self.axis(tensor.axes[1 if tensor.reads == 0 else 0]) if tensor.axes else None
        if axis is not None:
            return axis.fresh()
        return np.arange(tensor.new_shape[0] if tensor.new_shape and not tensor.source else 0)

    def parameters(self) -> dict[str, int]:
        """Return the number of entries of each new parameter."""
        return {t.name: math.prod(t.new_shape) for t in self.tensors if t.parameter}


def decode_plan(text: str | bytes) -> ConversionPlan:
    """Return the plan in a JSON text of unknown origin.

    Raises:
        SurgeryError: The text is not JSON, or no plan that could have been made.
    """
    try:
        plan: ConversionPlan = from_json(text, ConversionPlan)
    except msgspec.DecodeError as error:
        raise SurgeryError("plan", str(error), "the JSON text of a plan") from None
    check_plan(plan)
    return plan


def check_plan(plan: ConversionPlan) -> None:
    """Raise :class:`SurgeryError` unless indices, shapes and places of a plan fit each other."""
    for number, axis in enumerate(plan.axes):
        _check_axis(f"axes[{number}]", axis)
    names = [t.name for t in plan.tensors]
    if len(set(names)) != len(names):
        raise SurgeryError("plan.tensors", "a name twice", "each tensor once")
    for tensor in plan.tensors:
        _check_tensor(plan, tensor)
    numbers = [plan.choices] + ([plan.memory.axis] if plan.memory is not None else [])
    if any(n >= len(plan.axes) for n in numbers):
        raise SurgeryError("plan.choices", max(numbers), f"an axis below {len(plan.axes)}")
    memory = plan.memory
    if memory is not None:
        axis_of_memory = plan.axis(memory.axis)
        none = axis_of_memory is None and memory.old_shape
        if (
            not memory.new_shape
            or none
            or (
                axis_of_memory is not None
                and (
                    memory.old_shape[-1:] != (axis_of_memory.old,)
                    or memory.new_shape[-1:] != (axis_of_memory.new,)
                    or memory.old_shape[:-1] != memory.new_shape[:-1]
                )
            )
        ):
            raise SurgeryError("plan.memory", memory.new_shape, "shapes that its axis fits")


def _check_axis(path: str, axis: AxisPlan) -> None:
    new = [(r.new, r.new + r.length) for r in axis.kept] + [(c.new, c.new + 1) for c in axis.copied]
    old = [(r.old, r.old + r.length) for r in axis.kept]
    outside = [c.old for c in axis.copied if c.old >= axis.old]
    for what, spans, size in (("new", new, axis.new), ("old", old, axis.old)):
        at = 0
        for start, end in sorted(spans):
            if start < at or end > size:
                raise SurgeryError(
                    f"plan.{path}", f"{what} places {start} to {end}", f"distinct places below {size}"
                )
            at = end
    if outside:
        raise SurgeryError(f"plan.{path}", f"a copy of place {outside[0]}", f"old places below {axis.old}")


def _check_tensor(plan: ConversionPlan, tensor: TensorPlan) -> None:
    path = f"plan.{tensor.name}"
    if max(math.prod(tensor.old_shape), math.prod(tensor.new_shape)) > MAX_ENTRIES:
        raise SurgeryError(path, tensor.new_shape, f"at most {MAX_ENTRIES} entries")
    if not tensor.source:
        return
    if not tensor.axes:
        if tensor.old_shape != tensor.new_shape:
            raise SurgeryError(path, tensor.new_shape, f"the old shape {list(tensor.old_shape)}")
        return
    old, new = tensor.old_shape or (1,), tensor.new_shape or (1,)
    if len(tensor.axes) != len(new) or len(old) != len(new) or tensor.reads >= len(new):
        raise SurgeryError(path, tensor.axes, f"an axis for each of {list(new)}")
    for number, a, b in zip(tensor.axes, old, new, strict=True):
        if number >= len(plan.axes):
            raise SurgeryError(path, number, f"an axis below {len(plan.axes)}")
        axis = plan.axis(number)
        if (a != b) if axis is None else ((a, b) != (axis.old, axis.new)):
            raise SurgeryError(path, f"{a} to {b} places", "the lengths of its axes")
    if tensor.start == "rotated":
        out = plan.axis(tensor.axes[0])
        whole = out is not None and out.old > 0 and out.new % out.old == 0
        if out is None or not whole or out.copied or sum(r.length for r in out.kept) != out.old:
            raise SurgeryError(path, list(new), "a whole multiple of the old outputs")
