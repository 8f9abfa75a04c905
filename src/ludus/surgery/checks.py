"""Refused conversions, by configuration and spec."""

from __future__ import annotations

import msgspec

from ludus.codecs.registry import layout_of
from ludus.flow import GameSpec, HeadSpec, TensorSpec
from ludus.policies.actions.coordinates import choice_labels, column_count, column_labels
from ludus.policies.config import EncoderConfig
from ludus.policies.protocol import inputs_of
from ludus.surgery.plan import Side, SurgeryError

#: Settings of a network that a conversion cannot change.
_FIXED = (
    "encoder",
    "strides",
    "kernels",
    "convolution",
    "gather",
    "activation",
    "norm",
    "deviation",
    "critic_sees",
    "output",
    "duelling",
    "normalise_observations",
    "normalise_values",
)
_WIDTHS = ("channels", "dense", "hidden")


def encoder_config(side: Side, path: str) -> EncoderConfig:
    """Return the configuration of an encoder. Raise :class:`SurgeryError` for a residual tower."""
    if not isinstance(side.config, EncoderConfig):
        raise SurgeryError(
            f"{path}.policy.network",
            "resnet",
            'policy.network = "encoder": residual towers are not converted yet',
        )
    return side.config


def check_configs(old: EncoderConfig, new: EncoderConfig) -> None:
    """Raise :class:`SurgeryError` for settings that a conversion cannot change."""
    for key in _FIXED:
        before, after = getattr(old, key), getattr(new, key)
        if before != after:
            raise SurgeryError(f"policy.{key}", after, f"{_json(before)}, as in the old network")
    if new.activation == "leaky_relu" and old.leaky_slope != new.leaky_slope:
        raise SurgeryError("policy.leaky_slope", new.leaky_slope, f"{old.leaky_slope}, as in the old network")
    if old.memory != new.memory and (old.memory, new.memory) != ("none", "recall"):
        also = ' or "recall"' if old.memory == "none" else ""
        raise SurgeryError("policy.memory", new.memory, f'"{old.memory}"{also}, as in the old network')
    if old.critic == "own" and new.critic == "shared":
        raise SurgeryError(
            "policy.critic", "shared", '"own": the value cannot move to the encoder of the policy'
        )
    if old.critic != new.critic and new.memory in ("gru", "lstm"):
        raise SurgeryError(
            "policy.critic",
            "own",
            f'"shared": with policy.memory = "{new.memory}" a new critic remembers nothing',
        )
    if old.critic != new.critic and new.critic_sees != "own":
        raise SurgeryError("policy.critic_sees", new.critic_sees, '"own" with a critic that is new')
    for key in _WIDTHS:
        before, after = getattr(old, key), getattr(new, key)
        if len(before) != len(after):
            raise SurgeryError(f"policy.{key}", after, f"{len(before)} layers, as in {_json(before)}")
        for i, (a, b) in enumerate(zip(before, after, strict=True)):
            if b < a:
                raise SurgeryError(f"policy.{key}[{i}]", b, f"at least {a}, the width in the old network")
    for key in ("memory_size", "context", "value_heads"):
        before, after = getattr(old, key), getattr(new, key)
        unused = key == "memory_size" and new.memory not in ("gru", "lstm")
        if after < before and not unused:
            raise SurgeryError(f"policy.{key}", after, f"at least {before}, as in the old network")


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def check_games(old: GameSpec, new: GameSpec) -> None:
    """Raise :class:`SurgeryError` for another game, or other seats."""
    if old.name != new.name:
        raise SurgeryError("game.name", new.name, f"{old.name}, the old network's game", valid=[old.name])
    for key in ("seats", "teams", "turn_based"):
        before, after = getattr(old, key), getattr(new, key)
        if before != after:
            raise SurgeryError(f"game.{key}", after, f"{_json(before)}, as in the old game")


def check_tensors(old: Side, new: Side) -> list[tuple[TensorSpec, TensorSpec]]:
    """Return the tensors that both networks read.

    Raises:
        SurgeryError: One of them cannot be converted.
    """
    before = {t.name: t for t in inputs_of(old.config, old.spec)}
    pairs = [(before[t.name], t) for t in inputs_of(new.config, new.spec) if t.name in before]
    for a, b in pairs:
        path = f"observation.{b.name}"
        for key in ("codec", "dtype", "scale"):
            if getattr(a, key) != getattr(b, key):
                raise SurgeryError(
                    f"{path}.{key}", getattr(b, key), f"{_json(getattr(a, key))}, as in the old game"
                )
        one, two = layout_of(a), layout_of(b)
        if one.kind != two.kind or (one.kind == "planes" and one.shape[1:] != two.shape[1:]):
            size = "x".join(map(str, one.shape[1:])) if one.kind == "planes" else ""
            raise SurgeryError(
                f"{path}.shape", list(b.shape), f"{one.kind} {size}".strip() + ", as in the old game"
            )
        _check_names(
            path,
            (a.labels, column_labels(a, one), column_count(one)),
            (b.labels, column_labels(b, two), column_count(two)),
        )
    config = new.config
    if isinstance(config, EncoderConfig) and config.encoder:
        _check_own(inputs_of(old.config, old.spec), inputs_of(config, new.spec), config.encoder)
    return pairs


def _check_own(old: tuple[TensorSpec, ...], new: tuple[TensorSpec, ...], name: str) -> None:
    """Raise :class:`SurgeryError` unless an encoder of the user reads the same tensors."""

    def read(tensors: tuple[TensorSpec, ...]) -> list[tuple[object, ...]]:
        return [(t.name, t.shape, t.labels) for t in tensors]

    if read(old) != read(new):
        raise SurgeryError(
            "policy.encoder", name, "the observations of the old game: an encoder of your own has no names"
        )


_Named = tuple[tuple[str, ...], tuple[str, ...], int]


def _check_names(path: str, old: _Named, new: _Named) -> None:
    """Raise :class:`SurgeryError` if places changed that have no name each.

    Args:
        path: Tensor or head.
        old: Labels of the spec, names of the places (``#0`` where labels do not fit), number of places.
        new: The same of the new game.
    """
    if old[0] == new[0] and old[2] == new[2]:
        return
    for labels, names, count in (new, old):
        if not names or not names[-1].startswith("#"):
            continue
        double = next((x for i, x in enumerate(labels) if x in labels[:i]), "")
        found = f"{double} twice" if double else f"{len(labels)} labels"
        raise SurgeryError(f"{path}.labels", found, f"{count} different ones, where places were changed")


def check_heads(old: Side, new: Side, in_turn: bool) -> list[tuple[HeadSpec, HeadSpec]]:
    """Return the heads of both games.

    Args:
        old: Network before.
        new: Network after.
        in_turn: Whether heads are decided one after the other.

    Raises:
        SurgeryError: One of them cannot be converted.
    """
    before = {h.name: h for h in old.spec.heads}
    pairs = [(before[h.name], h) for h in new.spec.heads if h.name in before]
    if not pairs:
        raise SurgeryError(
            "game.heads",
            [h.name for h in new.spec.heads],
            "a head of the old game",
            valid=list(before),
            name="?",
        )
    for a, b in pairs:
        path = f"heads.{b.name}"
        for key in ("kind", "low", "high", "integer", "points_at", "by_columns"):
            if getattr(a, key) != getattr(b, key):
                raise SurgeryError(
                    f"{path}.{key}", getattr(b, key), f"{_json(getattr(a, key))}, as in the old game"
                )
        if a.rows != b.rows and (not b.rows or not a.rows):
            raise SurgeryError(f"{path}.rows", b.rows, f"{a.rows}, as in the old game")
        plain = (a.labels, choice_labels(a)[a.rows :], a.size - a.rows)
        _check_names(path, plain, (b.labels, choice_labels(b)[b.rows :], b.size - b.rows))
    names = [b.name for _, b in pairs]
    ordered = [h.name for h in old.spec.heads if h.name in names]
    if in_turn and names != ordered:
        raise SurgeryError("game.heads", names, f"the old order: {', '.join(ordered)}")
    return pairs
