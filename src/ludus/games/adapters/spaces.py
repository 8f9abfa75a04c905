"""Gymnasium's spaces as tensors and heads. Every leaf of a Dict or Tuple is a tensor or some heads.

Box of bytes, 2 or 3 axes   planes [C, H, W], as bytes, read as x / high (see :mod:`.pictures`)
other Box                   float32 vector (int8, uint8, int16, uint16, int32 keep their type)
Discrete, MultiDiscrete     one-hot bits
MultiBinary                 bits
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ludus.flow.inputs.finite import not_finite
from ludus.flow.slab import Array
from ludus.flow.spec import HeadSpec, TensorSpec
from ludus.games.adapters.boxes import BoxNumbers
from ludus.games.adapters.boxes import UnsupportedSpace as UnsupportedSpace
from ludus.games.adapters.boxes import continuous as continuous
from ludus.games.adapters.pictures import Layouts, meaning_of_flat, picture
from ludus.games.adapters.values import KEPT, kept, shaped, short, whole, zeros_and_ones
from ludus.games.python_game import Ints, tensor

if TYPE_CHECKING:
    from gymnasium import Space

MAX_ONE_HOT = 1 << 16
MAX_CHOICES = 1 << 16  # of all heads: a mask has a byte for each
MAX_HEADS = 64

Path = tuple[str | int, ...]
Write = Callable[[Any, Array], None]


def leaves(space: Space[Any], path: Path = ()) -> list[tuple[Path, Space[Any]]]:
    """Return every leaf with its path. Raises ``UnsupportedSpace`` for spaces without a fixed size.

    Those are Graph, Text, Sequence and OneOf.
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return [leaf for key, part in space.spaces.items() for leaf in leaves(part, (*path, key))]
    if isinstance(space, spaces.Tuple):
        return [leaf for i, part in enumerate(space.spaces) for leaf in leaves(part, (*path, i))]
    known = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)
    if not isinstance(space, known):
        where = ".".join(map(str, path)) or "the space"
        raise UnsupportedSpace(
            f"{where} is {space}: only Box, Discrete, MultiDiscrete, MultiBinary, Tuple and Dict have a "
            "fixed size; wrap the environment so that it gives one of them"
        )
    return [(path, space)]


def _name(path: Path, alone: str) -> str:
    return "_".join(str(p) for p in path) or alone


def _what(name: str) -> str:
    return name if name == "observation" else f"observation {name}"


def at(value: Any, path: Path) -> Any:
    """Return the part of a sample at ``path``."""
    for part in path:
        value = value[part]
    return value


# ---- observations --------------------------------------------------------------------------------


class Observation:
    """Tensors of an observation space, and the conversion of samples.

    Args:
        space: The environment's space.
        layouts: How its pictures are read.
        mask: Key of a Dict that is legality and no input. A Dict of only this key and ``observation`` gives
            the tensors of its ``observation``.
    """

    def __init__(self, space: Space[Any], layouts: Layouts | None = None, mask: str = "") -> None:
        """Declare the tensors. Raises ``UnsupportedSpace`` for a space that tensors cannot hold."""
        from gymnasium import spaces

        self.space = space
        #: Leaves that become tensors, with their paths.
        self.leaves = leaves(space)
        inner = 0  # leading keys that names leave out
        if mask and isinstance(space, spaces.Dict) and mask in space.spaces:
            self.leaves = [(path, leaf) for path, leaf in self.leaves if path[0] != mask]
            inner = int(set(space.spaces) == {"observation", mask})
        if not self.leaves:
            raise UnsupportedSpace(f"the observation space {space} is empty")
        layouts = layouts or Layouts()
        self.tensors: list[TensorSpec] = []
        self._writers: list[tuple[str, Path, Write]] = []
        for path, leaf in self.leaves:
            spec, write = _observed(_name(path[inner:], "observation"), leaf, layouts)
            self.tensors.append(spec)
            self._writers.append((spec.name, path, write))
        names = [t.name for t in self.tensors]
        if len(set(names)) != len(names):
            raise UnsupportedSpace(f"the observation space {space} has two parts called the same: {names}")
        layouts.check(names)
        self._single = self._writers[0] if len(self.leaves) == 1 and not self.leaves[0][0] else None

    def write(self, value: Any, out: Mapping[str, Array]) -> None:
        """Write ``value`` into one row, or raise ``ValueError`` that names the tensor and the value.

        A value that the tensor cannot hold as it is, or of another shape, is refused.
        """
        if self._single is not None:
            name, _, write = self._single
            write(value, out[name])
            return
        for name, path, write in self._writers:
            try:
                part = at(value, path)
            except (KeyError, IndexError, TypeError):
                raise ValueError(f"{_what(name)}: missing in {short(value)}") from None
            write(part, out[name])

    def check_finite(self, value: Any) -> None:
        """Raise ``ValueError`` for NaN or infinity in ``value``, which :meth:`write` has taken.

        The pool looks at the tensors of all its matches at once instead.
        """
        for name, path, _ in self._writers:
            if broken := not_finite(_what(name), np.asarray(at(value, path))):
                raise ValueError(broken)

    def write_many(self, value: Any, out: Array) -> None:
        """Write a batch ``[k, ...]`` of a space without parts, whose tensor is a vector."""
        ((_, leaf),) = self.leaves
        what = _what(self.tensors[0].name)
        batch = shaped(what, value, (len(out), *cast("Any", leaf).shape))
        out[...] = kept(what, batch, out.dtype).reshape(out.shape)


def _observed(name: str, space: Space[Any], layouts: Layouts) -> tuple[TensorSpec, Write]:
    from gymnasium import spaces

    if isinstance(space, spaces.Box):
        return _observed_box(name, space, layouts.of(name))
    if isinstance(space, spaces.MultiBinary):
        count = int(np.prod(space.shape))
        return tensor(name, (count,), "bits", low=0, high=1), functools.partial(
            _write_bits, _what(name), space.shape
        )
    if isinstance(space, spaces.Discrete):
        sizes: tuple[int, ...] = (int(space.n),)
        starts: tuple[int, ...] = (int(space.start),)
        shape: tuple[int, ...] = ()
    else:
        discrete = cast("spaces.MultiDiscrete", space)
        sizes = tuple(int(n) for n in np.ravel(discrete.nvec))
        starts = tuple(int(n) for n in np.ravel(discrete.start))
        shape = tuple(discrete.shape)
    if sum(sizes) > MAX_ONE_HOT:
        raise UnsupportedSpace(f"observation {name}: {space} has {sum(sizes)} choices, at most {MAX_ONE_HOT}")
    return tensor(name, (sum(sizes),), "bits", low=0, high=1), _one_hot_writer(name, sizes, starts, shape)


def _observed_box(name: str, space: Any, layout: str) -> tuple[TensorSpec, Write]:
    shape = tuple(int(n) for n in space.shape)
    if not shape or 0 not in shape:
        low, high = float(np.min(space.low)), float(np.max(space.high))
    else:
        raise UnsupportedSpace(f"observation {name}: {space} has no numbers; leave it out")
    dtype: str = KEPT.get(str(space.dtype), "f32")
    of_bytes = dtype == "u8"
    seen = picture(shape, of_bytes, layout)
    if seen is None:
        size = (int(np.prod(shape, dtype=np.int64)),)
        meaning = meaning_of_flat(shape, of_bytes, layout)
        return tensor(name, size, dtype, low=low, high=high, meaning=meaning), _array_writer(
            name, shape, None
        )
    scale, meaning = 1.0, seen.meaning
    if of_bytes:
        scale = 1.0 / max(1.0, high)
        meaning += f", read as x / {max(1.0, high):g}"
    spec = tensor(name, seen.planes, dtype, low=low, high=high, scale=scale, meaning=meaning)
    return spec, _array_writer(name, shape, seen.axes)


def _array_writer(name: str, shape: tuple[int, ...], axes: tuple[int, ...] | None) -> Write:
    if axes is None and len(shape) == 1:
        return functools.partial(_write_vector, _what(name), shape)
    return functools.partial(_write_array, _what(name), shape, axes)


# Writers are partials of these functions: a policy that holds them can be pickled for another process.


def _write_array(
    what: str, shape: tuple[int, ...], axes: tuple[int, ...] | None, value: Any, out: Array
) -> None:
    array = kept(what, shaped(what, value, shape), out.dtype)
    if axes is not None:
        array = array.transpose(axes)
    out[...] = array if array.shape == out.shape else array.reshape(out.shape)


def _write_vector(what: str, shape: tuple[int, ...], value: Any, out: Array) -> None:
    if getattr(value, "shape", None) != shape or getattr(value, "dtype", None) != out.dtype:
        value = kept(what, shaped(what, value, shape), out.dtype)
    out[...] = value


def _write_bits(what: str, shape: tuple[int, ...], value: Any, out: Array) -> None:
    bits = zeros_and_ones(what, shaped(what, value, shape))
    out[...] = np.packbits(bits.ravel(), bitorder="little")


def _one_hot_writer(
    name: str, sizes: tuple[int, ...], starts: tuple[int, ...], shape: tuple[int, ...]
) -> Write:
    offsets = np.cumsum((0, *sizes[:-1])).tolist()
    return functools.partial(
        _write_one_hot, _what(name), shape, tuple(zip(sizes, starts, offsets, strict=True))
    )


def _write_one_hot(
    what: str, shape: tuple[int, ...], parts: Sequence[tuple[int, int, int]], value: Any, out: Array
) -> None:
    """Set a bit for each number; ``parts``: size, least number and first bit of each."""
    out[...] = 0
    given = whole(what, value, shape)
    for number, (size, start, offset) in zip(given, parts, strict=True):
        if not start <= number < start + size:
            raise ValueError(f"{what}: {number} is not in [{start}, {start + size})")
        bit = offset + number - start
        out[bit >> 3] |= np.uint8(1 << (bit & 7))


# ---- actions -------------------------------------------------------------------------------------


class Actions:
    """Heads of an action space, and the conversion of decisions to actions."""

    def __init__(self, space: Space[Any]) -> None:
        """Declare the heads of ``space``.

        Raises ``UnsupportedSpace`` for a space that heads cannot express.
        """
        from gymnasium import spaces

        self.space = space
        self.heads: list[HeadSpec] = []
        #: Leaves of the space with the slice of their heads, in the order of :func:`leaves`.
        self.parts: list[tuple[Path, Space[Any], slice]] = []
        self._boxes: dict[int, BoxNumbers] = {}
        for path, leaf in leaves(space):
            first, name = len(self.heads), _name(path, "action")
            if isinstance(leaf, spaces.Box):
                self._boxes[first] = BoxNumbers(name, leaf)
                self.heads += self._boxes[first].heads
            else:
                self.heads += _choices(name, leaf)
            self.parts.append((path, leaf, slice(first, len(self.heads))))
        if not self.heads or len(self.heads) > MAX_HEADS:
            count = len(self.heads)
            raise UnsupportedSpace(f"the action space {space} has {count} heads, expected 1 to {MAX_HEADS}")
        choices = sum(head.size for head in self.heads)
        if choices > MAX_CHOICES:
            raise UnsupportedSpace(f"the action space {space} has {choices} choices, at most {MAX_CHOICES}")
        self._plain = isinstance(space, spaces.Discrete) and int(space.start) == 0

    @property
    def discrete(self) -> bool:
        """Whether the whole space is one Discrete."""
        from gymnasium import spaces

        return isinstance(self.space, spaces.Discrete)

    @property
    def single(self) -> bool:
        """Whether the space has no parts, so that :meth:`decode_many` can be used."""
        return len(self.parts) == 1 and not self.parts[0][0]

    def decode(self, decision: Ints) -> Any:
        """Convert ``int32[K]`` to a member of the space."""
        if self._plain:
            return int(decision[0])
        return self._build(self.space, iter(self.parts), decision)

    def _build(self, space: Any, parts: Any, decision: Ints) -> Any:
        from gymnasium import spaces

        if isinstance(space, spaces.Dict):
            return {key: self._build(part, parts, decision) for key, part in space.spaces.items()}
        if isinstance(space, spaces.Tuple):
            return tuple(self._build(part, parts, decision) for part in space.spaces)
        _, leaf, heads = next(parts)
        numbers = decision[heads]
        if isinstance(leaf, spaces.Box):
            return self._boxes[heads.start].decode(numbers)
        if isinstance(leaf, spaces.Discrete):
            return int(leaf.start) + int(numbers[0])
        if isinstance(leaf, spaces.MultiDiscrete):
            return (numbers.reshape(leaf.shape) + leaf.start).astype(leaf.dtype)
        return numbers.reshape(leaf.shape).astype(leaf.dtype)

    def decode_many(self, decisions: Ints) -> Array:
        """Convert ``int32[k, K]`` to a batch of a space without parts, in its own dtype."""
        leaf: Any = self.parts[0][1]
        if self._boxes:
            return self._boxes[0].decode(decisions)
        start = np.asarray(getattr(leaf, "start", 0))
        many = decisions[:, 0] if self.discrete else decisions.reshape(-1, *leaf.shape)
        batch: Array = (many + start).astype(leaf.dtype)
        return batch


def _choices(name: str, space: Space[Any]) -> list[HeadSpec]:
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return [HeadSpec(name, int(space.n))]
    if isinstance(space, spaces.MultiDiscrete):
        return [HeadSpec(f"{name}_{i}", int(n)) for i, n in enumerate(np.ravel(space.nvec))]
    return [HeadSpec(f"{name}_{i}", 2) for i in range(int(np.prod(cast("Any", space).shape)))]
