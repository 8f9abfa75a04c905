"""Operators of a conversion, in words: the change, and whether outputs of old inputs stay as they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ludus.codecs.registry import layout_of
from ludus.flow import HeadSpec, TensorSpec
from ludus.policies.actions.coordinates import choice_labels, column_labels
from ludus.policies.config import EncoderConfig
from ludus.policies.protocol import inputs_of
from ludus.surgery.labels import replaced, some
from ludus.surgery.plan import ConversionHints, Operator, Side

REMOVE = "remove"
_WIDTHS = {
    "channels": "convolution",
    "dense": "dense layer",
    "hidden": "hidden layer",
    "memory_size": "memory",
    "context": "context of heads",
}
Tensors = Sequence[tuple[TensorSpec, TensorSpec]]
HeadPairs = Sequence[tuple[HeadSpec, HeadSpec]]


def operators_of(
    old: Side, new: Side, hints: ConversionHints, tensors: Tensors, heads: HeadPairs
) -> tuple[Operator, ...]:
    """Return the operators that lead from ``old`` to ``new``, in the order of the network.

    Args:
        old: Network before, with renamed labels.
        new: Network after.
        hints: Hints of the user.
        tensors: Observation tensors that both read.
        heads: Heads of both games.
    """
    assert isinstance(old.config, EncoderConfig)
    assert isinstance(new.config, EncoderConfig)
    return (
        *_renames(hints),
        *_tensors(old, new, hints, tensors),
        *_widths(old.config, new.config),
        *_values(old.config, new.config),
        *_heads(old, new, hints, heads),
    )


def _renames(hints: ConversionHints) -> Iterator[Operator]:
    for before, after in hints.rename.items():
        yield Operator("rename", f"rename.{before}", True, f"{before} is called {after}")


def _tensors(old: Side, new: Side, hints: ConversionHints, pairs: Tensors) -> Iterator[Operator]:
    shared = {b.name for _, b in pairs}
    for tensor in inputs_of(new.config, new.spec):
        if tensor.name not in shared:
            text = f"new input {tensor.name}: the join reads 0 from it"
            yield Operator("add input", f"observation.{tensor.name}", True, text)
    for tensor in inputs_of(old.config, old.spec):
        if tensor.name not in shared:
            text = f"input {tensor.name} is removed: exact only while its features were 0"
            yield Operator(REMOVE, f"observation.{tensor.name}", False, text)
    kept = [t.name for t in inputs_of(old.config, old.spec) if t.name in shared]
    if kept != [b.name for _, b in pairs]:
        yield Operator("reorder", "observation", True, "the inputs are in another order")
    for a, b in pairs:
        yield from _columns(a, b, hints, new.config)


def _columns(a: TensorSpec, b: TensorSpec, hints: ConversionHints, config: object) -> Iterator[Operator]:
    path = f"observation.{b.name}"
    one, two = layout_of(a), layout_of(b)
    kind = {"planes": "planes", "rows": "entity columns", "vector": "columns"}[two.kind]
    before, after = column_labels(a, one), column_labels(b, two)
    known, there = set(before), set(after)
    added = [x for x in after if x not in known]
    gone = [x for x in before if x not in there]
    copied = [x for x in added if replaced(x, hints.like) in known]
    plain = [x for x in added if x not in set(copied)]
    if plain:
        yield Operator("add", path, True, f"new {kind}: {some(plain)}; old units read 0 from them")
    if copied:
        pairs = some(f"{x} like {replaced(x, hints.like)}" for x in copied)
        yield Operator("like", path, False, f"{kind} that start as copies: {pairs}; exact while they are 0")
    if gone:
        normalised = isinstance(config, EncoderConfig) and config.normalise_observations
        at = "their running mean" if two.kind == "vector" and normalised else "0"
        text = f"{kind} are removed: {some(gone)}; exact only while they were {at}"
        yield Operator(REMOVE, path, False, text)
    if [x for x in before if x in there] != [x for x in after if x in known]:
        yield Operator("reorder", path, True, f"the {kind} of {b.name} are in another order")
    if one.kind == "rows" and one.shape[0] != two.shape[0]:
        text = f"{one.shape[0]} -> {two.shape[0]} entity rows; exact while no further row is present"
        yield Operator("rows", path, two.shape[0] > one.shape[0], text)


def _widths(old: EncoderConfig, new: EncoderConfig) -> Iterator[Operator]:
    for key, noun in _WIDTHS.items():
        before, after = getattr(old, key), getattr(new, key)
        unused = key == "memory_size" and new.memory not in ("gru", "lstm")
        if before == after or unused:
            continue
        if key == "context":
            rule = "queries are scaled by the root of the ratio, new ones are 0"
        elif key == "memory_size":
            rule = "old units read 0 from new ones, a row's memory gets zeros"
        elif new.norm in ("layer", "group"):
            rule = "new units are rotations of the old ones under LayerNorm, old units read 0 from them"
        else:
            rule = "old units read 0 from new ones"
        yield Operator("widen", f"policy.{key}", True, f"{noun} {_width(before)} -> {_width(after)}: {rule}")
    if old.memory != new.memory:
        yield Operator(
            "memory", "policy.memory", True, "columns are recalled: old units read 0 from recalled ones"
        )


def _width(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _values(old: EncoderConfig, new: EncoderConfig) -> Iterator[Operator]:
    if old.critic != new.critic:
        text = "the critic starts as a copy of the policy's encoder"
        yield Operator("own critic", "policy.critic", True, text)
    if old.value_heads != new.value_heads:
        more = "; acting gives no values any more" if old.value_heads == 1 else ""
        text = f"value heads {old.value_heads} -> {new.value_heads}{more}"
        yield Operator("add values", "policy.value_heads", True, text)


def _heads(old: Side, new: Side, hints: ConversionHints, pairs: HeadPairs) -> Iterator[Operator]:
    shared = {b.name for _, b in pairs}
    if len(old.spec.heads) != len(new.spec.heads):
        numbers = "; draws of the other heads change, because their number is part of the random key"
    else:
        numbers = ""
    for head in new.spec.heads:
        if head.name not in shared:
            yield Operator("add head", f"heads.{head.name}", True, f"new head {head.name}{numbers}")
    for head in old.spec.heads:
        if head.name not in shared:
            yield Operator(REMOVE, f"heads.{head.name}", False, f"head {head.name} is removed{numbers}")
    if [h.name for h in old.spec.heads if h.name in shared] != [b.name for _, b in pairs]:
        yield Operator("reorder", "heads", True, "the heads are in another order: their draws change")
    q = isinstance(new.config, EncoderConfig) and new.config.output == "q"
    for a, b in pairs:
        yield from _choices(a, b, hints.like, q)


def _choices(a: HeadSpec, b: HeadSpec, like: Mapping[str, str], q: bool) -> Iterator[Operator]:
    path = f"heads.{b.name}"
    before, after = choice_labels(a), choice_labels(b)
    known, there = set(before), set(after)
    added = [x for x in after if x not in known]
    gone = [x for x in before if x not in there]
    copied = [f"{x} like {replaced(x, like)}" for x in added if replaced(x, like) in known]
    if added:
        start = f"; copies: {some(copied)}" if copied else ""
        share = "values without a mask count them" if q else "a legal one takes its share of the probability"
        text = f"new choices: {some(added)}{start}; exact while they are illegal, {share}"
        yield Operator("add choices", path, True, text)
    if gone:
        text = f"choices are removed: {some(gone)}; exact only if they were never legal"
        yield Operator(REMOVE, path, False, text)
    if [x for x in before if x in there] != [x for x in after if x in known]:
        yield Operator(
            "reorder", path, True, f"the choices of {b.name} are in another order: their draws change"
        )
