"""Difference of two networks as a plan. One rule: old outputs never read new inputs.

Places of both networks have names (``policies/actions/coordinates.py``). A place that both have keeps its
number, a new output starts as in a fresh network, and an old output reads 0 from a new input.
``docs/surgery.md`` proves that the old outputs then stay as they were, and lists the few layers that need
more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from ludus.flow import GameSpec
from ludus.policies.actions.coordinates import Axis, Coordinates, Place, describe
from ludus.surgery import checks
from ludus.surgery.labels import check_like, parent_of, renamed, shown
from ludus.surgery.operators import REMOVE, operators_of
from ludus.surgery.plan import (
    MAX_NAMES,
    AxisPlan,
    ConversionHints,
    ConversionPlan,
    MemoryPlan,
    PlaceCopy,
    PlaceRun,
    Side,
    SurgeryError,
    TensorPlan,
    check_plan,
)

_HEAD = "policy_head.each."
_CRITIC = "critic."
_VALUE_INPUT = "value_head.weight"
_STATISTICS = ("normaliser.mean", "normaliser.variance")


def make_plan(old: Side, new: Side, hints: ConversionHints | None = None) -> ConversionPlan:
    """Return the plan from the network ``old`` to the network ``new``.

    Raises:
        SurgeryError: The change is not covered, or not exact and ``hints.approximate`` is not set.
    """
    hints = hints or ConversionHints()
    before, after = checks.encoder_config(old, "old"), checks.encoder_config(new, "new")
    checks.check_games(old.spec, new.spec)
    checks.check_configs(before, after)
    changed = renamed(old, new.spec, hints.rename)
    check_like(changed.spec, new.spec, hints.like)
    in_turn = [any(h.points_at or h.depends_on for h in spec.heads) for spec in (changed.spec, new.spec)]
    if in_turn[0] != in_turn[1]:
        expected = "that depend on each other" if in_turn[0] else "that are independent"
        raise SurgeryError(
            "game.heads", [h.name for h in new.spec.heads], f"heads {expected}, as in the old game"
        )
    draft = _Draft(_described(changed, "old"), _described(new, "new"), hints)
    tensors = checks.check_tensors(changed, new)
    heads = checks.check_heads(changed, new, in_turn[0])
    draft.copied_critic = (before.critic, after.critic) == ("shared", "own")
    draft.heads = _head_numbers(changed.spec, new.spec)
    stored = _stored_names(old, draft.old)
    made = [draft.tensor(name) for name in draft.new.axes]
    made = [msgspec.structs.replace(t, source=stored.get(t.source, "")) for t in made]
    used = {t.source for t in made}
    plan = ConversionPlan(
        old_spec=old.spec.spec_hash,
        new_spec=new.spec.spec_hash,
        choices=draft.number(Axis(draft.old.choices), Axis(draft.new.choices)),
        memory=draft.memory(),
        tensors=tuple(made),
        axes=tuple(draft.axes),
        dropped=tuple(n for n in stored.values() if n not in used),
        operators=operators_of(changed, new, hints, tensors, heads),
    )
    check_plan(plan)
    _check_losses(plan, hints)
    return plan


def _check_losses(plan: ConversionPlan, hints: ConversionHints) -> None:
    """Raise :class:`SurgeryError` for places lost without ``hints.approximate``."""
    lost = [o for o in plan.operators if o.kind == REMOVE]
    if lost and not hints.approximate:
        raise SurgeryError(lost[0].path, lost[0].text, "to keep it, or approximate conversions to be allowed")
    gone = [a.removed[0] for a in plan.axes if a.removed]
    if not lost and (gone or plan.dropped):
        raise SurgeryError("new network", [*gone, *plan.dropped][0], "every place of the old network")


def _described(side: Side, which: str) -> Coordinates:
    try:
        return describe(side.config, side.spec)
    except ValueError as error:
        raise SurgeryError(f"{which} network", str(error), "a configuration that fits its game") from None


def _stored_names(old: Side, renamed: Coordinates) -> dict[str, str]:
    """Return the name that each tensor of a renamed network has in the old one: they are of one structure."""
    there = _described(old, "old")
    if [*there.shapes.values()] != [*renamed.shapes.values()]:
        raise SurgeryError("rename", len(there.shapes), "names that leave the order of the network's parts")
    return dict(zip(renamed.axes, there.axes, strict=True))


def _head_numbers(old: GameSpec, new: GameSpec) -> dict[int, int]:
    """Return the old number of each new head that has one."""
    numbers = {h.name: k for k, h in enumerate(old.heads)}
    return {k: numbers[h.name] for k, h in enumerate(new.heads) if h.name in numbers}


class _Draft:
    """Axes and tensors of a plan while it is made."""

    def __init__(self, old: Coordinates, new: Coordinates, hints: ConversionHints) -> None:
        self.old, self.new, self.hints = old, new, hints
        self.axes: list[AxisPlan] = []
        self.copied_critic = False
        self.heads: Mapping[int, int] = {}
        self._numbers: dict[tuple[Any, ...], int] = {}
        #: outputs of the old network's tensors: what reads nothing new
        self._known = {
            place
            for axes in old.axes.values()
            for axis in axes
            if not axis.reads and axis.named
            for place in axis.places
        }

    def source(self, name: str) -> str:
        """Return the old tensor that a new one continues; "" without one."""
        old = name
        if name.startswith(_HEAD):
            number, _, rest = name.removeprefix(_HEAD).partition(".")
            before = self.heads.get(int(number))
            old = f"{_HEAD}{before}.{rest}" if before is not None else ""
        elif self.copied_critic and name.startswith(_CRITIC):
            old = name.removeprefix(_CRITIC)
        return old if old in self.old.axes else ""

    def number(self, old: Axis, new: Axis) -> int:
        """Return the number of the plan of an axis, made once for equal axes."""
        if not new.named:
            return -1
        key = (old.places, new.places)
        if key not in self._numbers:
            self._numbers[key] = len(self.axes)
            self.axes.append(_axis(old.places, new.places, self.hints.like))
        return self._numbers[key]

    def tensor(self, name: str) -> TensorPlan:
        """Return the plan of one tensor of the new network."""
        source, axes = self.source(name), self.new.axes[name]
        shape, parameter = self.new.shapes[name], name in self.new.parameters
        reads = next((i for i, axis in enumerate(axes) if axis.reads), -1)
        if not source:
            outputs = [p for axis in axes if not axis.reads and axis.named for p in axis.places]
            touches = reads >= 0 and any(p in self._known for p in outputs)
            return TensorPlan(
                name, "", (), shape, reads=reads, parameter=parameter, start="zero" if touches else "fresh"
            )
        alias = self.copied_critic and source != name and name.startswith(_CRITIC)
        before = self.old.axes[source]
        if self.copied_critic and (alias or name == _VALUE_INPUT):
            before = tuple(replace(a, places=tuple(map(_of_critic, a.places))) for a in before)
        scalar = Axis((("value", 0),))
        if axes and not before:  # values.mean of one head and of several
            before = (scalar,)
        numbers = tuple(self.number(a, b) for a, b in zip(before, axes, strict=True))
        start, scale = self._start(name, source, before, axes)
        return TensorPlan(
            name,
            source,
            self.old.shapes[source],
            shape,
            numbers,
            reads,
            parameter,
            scale,
            start,
            name == _STATISTICS[0],
            alias,
        )

    def _start(self, name: str, source: str, old: Sequence[Axis], new: Sequence[Axis]) -> tuple[Any, float]:
        """Return how new outputs start, and the factor of kept entries."""
        if name.startswith(_HEAD) and ".query." in name and old[0].size != new[0].size:
            return "zero", (new[0].size / old[0].size) ** 0.5
        prefix, _, leaf = name.rpartition(".")
        if prefix in self.new.mixed and leaf == "weight":
            self._check_norm(prefix, old[0].size, new[0].size)
        norm = self.new.mixed.get(_norm_behind(prefix))
        if norm is None or not norm.rotates or norm.by_eight(old[0].size, new[0].size):
            return "fresh", 1.0
        return ("rotated" if old[0].size != new[0].size else "fresh"), 1.0

    def _check_norm(self, name: str, old: int, new: int) -> None:
        """Raise :class:`SurgeryError` if a norm that mixes coordinates cannot get another width."""
        norm = self.new.mixed[name]
        if old == new or norm.by_eight(old, new):
            return
        before = self.old.mixed.get(name.removeprefix(_CRITIC) if self.copied_critic else name, norm)
        if norm.rotates and (before.groups, norm.groups) == (1, 1) and new % old == 0:
            return
        expected = f"{old} or a whole multiple" if norm.rotates and before.groups == 1 else f"{old}"
        if norm.eights and old % 8 == 0:
            expected = "a multiple of 8"
        raise SurgeryError(
            f"width behind {name}",
            new,
            f"{expected}: this norm mixes coordinates (policy.norm none and batch do not)",
        )

    def memory(self) -> MemoryPlan | None:
        """Return the plan of a row's memory; None where the new network has none."""
        shape, before = self.new.memory_shape, self.old.memory_shape
        if not shape:
            return None
        if not before:
            return MemoryPlan((), shape, -1)
        return MemoryPlan(before, shape, self.number(Axis(self.old.memory), Axis(self.new.memory)))


def _norm_behind(prefix: str) -> str:
    """Return the norm that follows a layer: ``join.layers.0`` -> ``join.norms.0``; "" for other modules."""
    for layers in (".layers.", ".convolutions."):
        torso, found, number = prefix.rpartition(layers)
        if found:
            return f"{torso}.norms.{number}"
    return ""


def _of_critic(place: Place) -> Place:
    """Return the place of a critic's encoder that copies one of the policy's."""
    first = "critic" if place[0] == "policy" else place[0]
    return (first, *(_of_critic(x) if isinstance(x, tuple) else x for x in place[1:]))


def _axis(old: Sequence[Place], new: Sequence[Place], like: Mapping[str, str]) -> AxisPlan:
    at = {place: i for i, place in enumerate(old)}
    if len(at) != len(old) or len(set(new)) != len(new):
        raise SurgeryError("labels", "a name twice", "a unique name for every place")
    pairs = [(i, at[place]) for i, place in enumerate(new) if place in at]
    copied: list[PlaceCopy] = []
    added: list[str] = []
    for i, place in enumerate(new):
        if place in at:
            continue
        parent = at.get(parent_of(place, like)) if like else None
        if parent is not None:
            copied.append(PlaceCopy(i, parent))
        if len(added) < MAX_NAMES:
            added.append(shown(place)[:512])
    removed: list[str] = []
    if len(pairs) < len(old):
        there = set(new)
        removed = [shown(p)[:512] for p in old if p not in there][:MAX_NAMES]
    return AxisPlan(len(old), len(new), _runs(pairs), tuple(copied), tuple(added), tuple(removed))


def _runs(pairs: Sequence[tuple[int, int]]) -> tuple[PlaceRun, ...]:
    """Return neighbouring pairs of places as runs."""
    runs: list[list[int]] = []
    for new, old in pairs:
        if runs and (new, old) == (runs[-1][0] + runs[-1][2], runs[-1][1] + runs[-1][2]):
            runs[-1][2] += 1
        else:
            runs.append([new, old, 1])
    return tuple(PlaceRun(*run) for run in runs)
