"""The numbers of one network carried over to another: weights, moments of the optimiser, memory of rows."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from ludus.flow import GameSpec, Weights, WeightsMeta, decode_spec
from ludus.flow.slab import Array
from ludus.flow.weights import MAX_LINEAGE, Ancestor, Lineage
from ludus.policies.config import PolicyConfig, decode_config, encode_config
from ludus.presets.config import Preset
from ludus.surgery.apply import apply, apply_memory, apply_moments, drawn_tensors
from ludus.surgery.diff import make_plan
from ludus.surgery.plan import ConversionHints, ConversionPlan, Side, SurgeryError

Arrays = dict[str, Array]
Places = npt.NDArray[np.int64]


class NewNetwork(NamedTuple):
    """The network that a conversion leads to: configuration and spec, and its numbers before any training.

    ``fresh`` returns these for a configuration; it may leave the matrices undrawn that are not named.
    """

    config: PolicyConfig
    spec: GameSpec
    fresh: Callable[[PolicyConfig, Collection[str]], Arrays]


@dataclass
class Conversion:
    """One plan, applied to everything that belongs to a network.

    Args:
        plan: The plan; None: the network stays as it is.
        target: The new network.
        architecture: Its configuration as weights files hold it.
        hints: The hints of the plan.
    """

    plan: ConversionPlan | None
    target: NewNetwork
    architecture: str
    hints: ConversionHints = field(default_factory=ConversionHints)
    #: tensor -> places of its only axis and their numbers, which :meth:`tensors` sets
    statistics: dict[str, tuple[Places, Array]] = field(default_factory=dict, init=False)
    _fresh: Arrays | None = field(default=None, init=False)
    _last: tuple[Arrays, Arrays, object] | None = field(default=None, init=False)

    @property
    def identical(self) -> bool:
        """Whether weights stay as they are, bit by bit."""
        return self.plan is None

    def tensors(self, old: Arrays) -> Arrays:
        """Return parameters and buffers. Raises ``SurgeryError`` where ``old`` is not of the old network."""
        if self.plan is None:
            return dict(old)
        if self._last is not None and self._last[2] is self.statistics:
            before, made, _ = self._last  # a checkpoint holds a network as weights and as a learner's
            if before.keys() == old.keys() and all(same_bits(old[n], a) for n, a in before.items()):
                return dict(made)
        if self._fresh is None:
            self._fresh = self.target.fresh(self.target.config, drawn_tensors(self.plan))
        new = apply(self.plan, old, self._fresh)
        for name, (places, numbers) in self.statistics.items():
            new[name] = np.array(new[name])
            new[name][places] = numbers
        self._last = dict(old), dict(new), self.statistics
        return new

    def moments(self, first: Arrays, second: Arrays) -> tuple[Arrays, Arrays]:
        """Return the moments of Adam; ``second`` is empty for SGD. Raises ``SurgeryError``."""
        if self.plan is None:
            return dict(first), dict(second)
        return apply_moments(self.plan, first, second)

    def memory(self, rows: Array) -> Array:
        """Return the memory ``[R, ...]`` of rows. Raises ``SurgeryError``."""
        return rows if self.plan is None else apply_memory(self.plan, rows)

    def weights(self, old: Weights, ancestor: Ancestor) -> Weights:
        """Return weights, with ``ancestor`` as the last of their lineage where they changed."""
        if self.plan is None:
            return old
        spec = self.target.spec
        meta = msgspec.structs.replace(
            old.meta,
            spec_hash=spec.spec_hash,
            architecture=self.architecture,
            spec=msgspec.json.encode(spec).decode(),
            lineage=longer(old.meta.lineage, ancestor),
        )
        return Weights(meta, self.tensors(old.tensors))


def same_bits(one: Array, two: Array) -> bool:
    """Return whether two arrays have the same type, shape and bits."""
    if (one.dtype, one.shape) != (two.dtype, two.shape):
        return False
    a, b = (np.ascontiguousarray(x).reshape(-1).view(np.uint8) for x in (one, two))
    return bool(np.array_equal(a, b))


class Pair(NamedTuple):
    """Weights before and after surgery, and the settings after and before it; None: these are not known."""

    conversion: Conversion
    old: Weights
    new: Weights
    preset: Preset
    before: Preset | None


def longer(lineage: Lineage | msgspec.UnsetType, ancestor: Ancestor) -> Lineage:
    """Return ``lineage`` with ``ancestor`` at its end; the oldest is left out where there are too many."""
    before = () if lineage is msgspec.UNSET else lineage
    return (*before, ancestor)[-MAX_LINEAGE:]


def side_of(meta: WeightsMeta, where: str) -> Side:
    """Return configuration and spec of weights. Raises ``SurgeryError`` where they cannot be read."""
    try:
        return Side(decode_config(meta.architecture), decode_spec(meta.spec))
    except (ValueError, msgspec.MsgspecError) as error:
        raise SurgeryError(where, str(error), "weights of a network") from error


def conversion_of(old: Side, target: NewNetwork, hints: ConversionHints) -> Conversion:
    """Return the conversion from ``old`` to ``target``.

    Raises:
        SurgeryError: The change is not covered, or not exact and the hints do not allow that.
    """
    same = old.config == target.config and old.spec.spec_hash == target.spec.spec_hash
    plan = None
    if not same or hints.rename or hints.like:  # names are checked even where nothing changes
        plan = make_plan(old, Side(target.config, target.spec), hints)
    if same:
        plan = None
    return Conversion(plan, target, encode_config(target.config), hints)
