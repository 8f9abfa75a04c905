"""Checks of plain data against msgspec structs, with the path of every mistake.

msgspec's own conversion stops at the first mistake and suggests no names. Paths are dotted
(``opponents.0.weight``), the same in a file and on the command line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

import msgspec.inspect as mi

from ludus.flow.inputs.whole import whole, whole_text
from ludus.flow.problem import NONE_NEAR, Near, Problem, near_of

#: Name of a setting in other programs -> its name here.
SYNONYMS = {
    "lr": "learning_rate",
    "gamma": "discount",
    "lam": "gae_lambda",
    "lambda": "gae_lambda",
    "ent_coef": "entropy_coefficient",
    "entropy_coef": "entropy_coefficient",
    "entropy_cost": "entropy_coefficient",
    "vf_coef": "value_coefficient",
    "value_loss_coef": "value_coefficient",
    "clip_range": "clip_ratio",
    "clip_coef": "clip_ratio",
    "ppo_clip_ratio": "clip_ratio",
    "n_epochs": "epochs",
    "num_epochs": "epochs",
    "update_epochs": "epochs",
    "num_minibatches": "minibatches",
    "n_steps": "rollout_length",
    "num_steps": "rollout_length",
    "rollout": "rollout_length",
    "n_envs": "slots",
    "num_envs": "slots",
    "total_timesteps": "max_steps",
    "timesteps": "max_steps",
    "steps": "max_steps",
    "train_for_env_steps": "max_steps",
    "minutes": "max_minutes",
    "num_workers": "run.threads",
    "workers": "run.threads",
    "env": "game.name",
    "env_id": "game.name",
    "game": "game.name",
    "algo": "algorithm.name",
    "algorithm": "algorithm.name",
    "method": "algorithm.name",
    "opponent": "opponents.0.name",
    "buffer_size": "buffer_slabs",
    "num_simulations": "visits",
    "simulations": "visits",
    "hidden_size": "hidden",
}

_LARGEST = 2**63 - 1  # integer of a setting


def expected(kind: mi.Type) -> str:
    """Return a description of a value of this type."""
    if isinstance(kind, mi.BoolType):
        return "true or false"
    if isinstance(kind, (mi.IntType, mi.FloatType)):
        noun = "an integer" if isinstance(kind, mi.IntType) else "a number"
        if kind.ge is not None and kind.le is not None:
            return f"{noun} from {_bound(kind.ge)} to {_bound(kind.le)}"
        bounds = [
            f"{sign} {_bound(bound)}"
            for sign, bound in ((">", kind.gt), (">=", kind.ge), ("<", kind.lt), ("<=", kind.le))
            if bound is not None
        ]
        return noun + (" " + " and ".join(bounds) if bounds else "")
    if isinstance(kind, mi.StrType):
        return "a non-empty string" if kind.min_length else "a string"
    if isinstance(kind, mi.LiteralType):
        names = ", ".join(str(v) for v in kind.values)
        return names if len(kind.values) == 1 else f"one of {names}"
    if isinstance(kind, mi.VarTupleType):
        most = f"at most {kind.max_length} " if kind.max_length is not None else ""
        return f"a list of {most}{_plural(kind.item_type)}"
    if isinstance(kind, mi.TupleType):
        return f"a list of {len(kind.item_types)} values: " + ", ".join(expected(t) for t in kind.item_types)
    if isinstance(kind, mi.UnionType):
        return " or ".join(expected(t) for t in kind.types)
    if isinstance(kind, mi.StructType):
        needed = [f.encode_name for f in kind.fields if f.required]
        return "a table" + (f" with {', '.join(needed)}" if needed else "")
    if isinstance(kind, mi.DictType):
        return "a table"
    return "a value"


def _bound(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else f"{value:g}"


def _plural(kind: mi.Type) -> str:
    if isinstance(kind, mi.StructType):
        return "tables"
    return re.sub(r"^an? (.*?\b(?:integer|number|string))", r"\1s", expected(kind))


def check(value: object, kind: mi.Type, path: str = "") -> Iterator[Problem]:
    """Yield every mistake of plain data ``value`` (dict, list, str, int, float, bool) against ``kind``."""
    kind = present(kind)
    if isinstance(kind, mi.UnionType) and variants(kind):
        yield from _check_variant(value, kind, path)
    elif isinstance(kind, mi.StructType):
        yield from _check_struct(value, kind, path)
    elif isinstance(kind, mi.VarTupleType) and isinstance(value, (list, tuple)):
        if kind.max_length is not None and len(value) > kind.max_length:
            yield _mismatch(value, kind, path)
            return
        for i, item in enumerate(value):
            yield from check(item, kind.item_type, f"{path}.{i}")
    elif isinstance(kind, mi.TupleType) and isinstance(value, (list, tuple)):
        if len(value) != len(kind.item_types):
            yield _mismatch(value, kind, path)
            return
        for i, (item, item_type) in enumerate(zip(value, kind.item_types, strict=True)):
            yield from check(item, item_type, f"{path}.{i}")
    elif isinstance(kind, mi.DictType) and isinstance(value, dict):
        for key, item in value.items():
            yield from check(item, kind.value_type, f"{path}.{key}")
    elif isinstance(kind, mi.LiteralType) and isinstance(value, str):
        if value not in kind.values:
            yield _mismatch(value, kind, path, near_of(value, [str(v) for v in kind.values], kind=""))
    elif not _fits(value, kind):
        yield _mismatch(value, kind, path)


def canonical(value: object, kind: mi.Type) -> object:
    """Return plain data with the name of each table that may be one of several.

    A table without a name is the first of them. Whole floats become integers if ``kind`` has them
    (:mod:`ludus.flow.inputs.whole`). Values that :func:`check` refuses stay as they are.
    """
    kind = present(kind)
    if isinstance(kind, mi.IntType):
        return whole(value)
    if isinstance(kind, mi.UnionType) and variants(kind) and isinstance(value, dict):
        chosen = variant_of(value, kind)
        if chosen is None:
            return value
        value, kind = {str(chosen.tag_field): chosen.tag, **value}, chosen
    if isinstance(kind, mi.StructType) and isinstance(value, dict):
        types = {f.encode_name: f.type for f in kind.fields}
        return {k: canonical(item, types[k]) if k in types else item for k, item in value.items()}
    if isinstance(kind, mi.DictType) and isinstance(value, dict):
        return {key: canonical(item, kind.value_type) for key, item in value.items()}
    if isinstance(kind, mi.VarTupleType) and isinstance(value, (list, tuple)):
        return [canonical(item, kind.item_type) for item in value]
    if isinstance(kind, mi.TupleType) and isinstance(value, (list, tuple)):
        types_of = [*kind.item_types, *([mi.AnyType()] * len(value))]
        return [canonical(item, t) for item, t in zip(value, types_of, strict=False)]
    return value


def present(kind: mi.Type) -> mi.Type:
    """Return the type without ``None``, of a value that may be left out."""
    if not isinstance(kind, mi.UnionType):
        return kind
    types = tuple(t for t in kind.types if not isinstance(t, mi.NoneType))
    return types[0] if len(types) == 1 else mi.UnionType(types)


def variants(kind: mi.Type) -> dict[str, mi.StructType]:
    """Return the tables that a value of this type may be, by their tag; empty for other types."""
    if not isinstance(kind, mi.UnionType):
        return {}
    structs = [t for t in kind.types if isinstance(t, mi.StructType) and isinstance(t.tag, str)]
    return {str(t.tag): t for t in structs} if len(structs) == len(kind.types) else {}


def variant_of(value: object, kind: mi.Type) -> mi.StructType | None:
    """Return the table that the tag of ``value`` names: the first without a tag, None for an unknown one."""
    known = variants(kind)
    first = next(iter(known.values()))
    if not isinstance(value, dict) or first.tag_field not in value:
        return first
    return known.get(str(value[first.tag_field]))


def owners_of(kind: mi.Type, chosen: mi.StructType) -> dict[str, str]:
    """Return key -> the setting that enables it, for keys that only other tables of ``kind`` have."""
    here = {f.encode_name for f in chosen.fields}
    return {
        f.encode_name: f'{struct.tag_field} = "{name}"'
        for name, struct in reversed(variants(kind).items())
        for f in struct.fields
        if f.encode_name not in here
    }


def _check_variant(value: object, kind: mi.Type, path: str) -> Iterator[Problem]:
    chosen = variant_of(value, kind)
    known = variants(kind)
    if chosen is not None:
        yield from _check_struct(value, chosen, path, owners_of(kind, chosen))
        return
    field = next(iter(known.values())).tag_field
    assert isinstance(value, dict)
    given = value[str(field)]
    wanted = f"one of {', '.join(known)}"
    yield Problem(f"{path}.{field}", value=given, expected=wanted, near=near_of(str(given), known, kind=""))


def _check_struct(
    value: object, kind: mi.StructType, path: str, owners: Mapping[str, str] | None = None
) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield _mismatch(value, kind, path)
        return
    fields = {f.encode_name: f for f in kind.fields}
    prefix = f"{path}." if path else ""
    for key, item in value.items():
        field = fields.get(key)
        if key == kind.tag_field:
            continue
        if field is None:
            yield unknown_key(path, key, kind, owners or {})
        else:
            yield from check(item, field.type, prefix + key)
    for name, field in fields.items():
        if field.required and name not in value:
            yield Problem(prefix + name, f"missing {prefix}{name}: expected {expected(field.type)}")


def unknown_key(path: str, key: str, kind: mi.StructType, owners: Mapping[str, str]) -> Problem:
    """Return the problem of a key that the table ``path`` lacks.

    Args:
        path: Path of the table; "" = the document.
        key: The key.
        kind: Type of the table.
        owners: See :func:`owners_of`.
    """
    full = f"{path}.{key}" if path else key
    if key in owners:
        return Problem(full, f'{full}: this key needs {path}.{owners[key]}, here it is "{kind.tag}"')
    known = [f.encode_name for f in kind.fields]
    same = SYNONYMS.get(key, "")
    near = Near((same,)) if same in known else near_of(key, known, "keys here")
    return Problem(full, f"unknown key {full}", near=near)


def _mismatch(value: object, kind: mi.Type, path: str, near: Near = NONE_NEAR) -> Problem:
    wanted = expected(kind)
    if isinstance(value, int) and isinstance(kind, (mi.IntType, mi.FloatType)) and value > _LARGEST:
        wanted = wanted if kind.le is not None else f"{wanted}, at most {_LARGEST}"
    return Problem(path, value=value, expected=wanted, near=near)


def _fits(value: object, kind: mi.Type) -> bool:
    if isinstance(kind, mi.AnyType):
        return True
    if isinstance(kind, mi.UnionType):
        return any(_fits(value, t) for t in kind.types)
    if isinstance(kind, mi.BoolType):
        return isinstance(value, bool)
    if isinstance(kind, mi.LiteralType):
        return isinstance(value, str) and value in kind.values
    if isinstance(kind, mi.StrType):
        return isinstance(value, str) and len(value) >= (kind.min_length or 0)
    if isinstance(kind, mi.IntType):
        return isinstance(value, int) and not isinstance(value, bool) and _in_range(value, kind)
    if isinstance(kind, mi.FloatType):
        return isinstance(value, (int, float)) and not isinstance(value, bool) and _in_range(value, kind)
    return False


def _in_range(value: float, kind: mi.IntType | mi.FloatType) -> bool:
    if isinstance(value, int) and not -_LARGEST <= value <= _LARGEST:
        return False
    if not math.isfinite(value):
        return False
    return (
        (kind.gt is None or value > kind.gt)
        and (kind.ge is None or value >= kind.ge)
        and (kind.lt is None or value < kind.lt)
        and (kind.le is None or value <= kind.le)
    )


def from_text(text: str, kind: mi.Type) -> object:
    """Return the plain value that ``text`` of a command line means; the text itself where it fits nothing.

    Lists are written ``16,32`` or ``[16, 32]``. The result still has to pass :func:`check`.
    """
    if isinstance(kind, mi.BoolType):
        return {"true": True, "false": False}.get(text.lower(), text)
    if isinstance(kind, mi.IntType):
        integer = whole_text(text)
        return text if integer is None else integer
    if isinstance(kind, mi.FloatType):
        integer = _integer(text)
        return _float(text) if integer is None else integer
    if isinstance(kind, mi.UnionType):  # a parameter of a game: a truth value, a number or a string
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        return number(text)
    if isinstance(kind, (mi.VarTupleType, mi.TupleType)):
        inner = text.strip().removeprefix("[").removesuffix("]")
        items = [item.strip() for item in inner.split(",") if item.strip()]
        if isinstance(kind, mi.VarTupleType):
            return [from_text(item, kind.item_type) for item in items]
        types = [*kind.item_types, *([mi.AnyType()] * len(items))]
        return [from_text(item, t) for item, t in zip(items, types, strict=False)]
    return text


def number(text: str) -> int | float | str:
    """Return ``text`` as an integer or float if it is one, or unchanged: ``1e3`` is 1000, ``16.0`` a float.

    For values of unknown type. Where an integer is expected, ``16.0`` is one (:func:`from_text`).
    """
    integer = whole_text(text) if "e" in text.lower() else _integer(text)
    return _float(text) if integer is None else integer


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _float(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
