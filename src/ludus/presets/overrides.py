"""Settings on the command line, put into the document of a preset before it is checked.

An option is the dotted path of a setting (``--algorithm.learning-rate``) or its last parts alone
(``--learning-rate``). Its text is read by the type of the setting.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec.inspect as mi

from ludus.flow.problem import Problem, Setting
from ludus.presets import schema
from ludus.presets.config import preset_type
from ludus.presets.document import Document
from ludus.presets.options import full_path, path_of


def apply_overrides(
    document: Document,
    overrides: Mapping[str, str],
    kind: mi.StructType,
    params: Callable[[str], Iterable[str]] = lambda game: (),
) -> tuple[list[str], list[Problem]]:
    """Put the text of options into a document, which changes in place.

    Args:
        document: A preset as plain data.
        overrides: Setting as the user wrote it -> text.
        kind: The type of the preset (:func:`ludus.presets.config.preset_type`).
        params: From a game's reference to the names of its parameters.

    Returns:
        The paths that were set, in the preset's own spelling, and the options that name no setting.
    """
    if not overrides:
        return [], []
    typed = {path_of(key): key for key in overrides}
    tags = _tag_fields(kind)
    whole, problems = _whole_paths(document, overrides, kind, params, tags)
    paths: list[str] = []
    # the name that chooses a table precedes the keys of that table
    for path, text in sorted(whole.items(), key=lambda entry: entry[0].rpartition(".")[2] not in tags):
        result = _override(document, path, text, kind)
        if isinstance(result, Problem):
            problems.append(result.within(Setting(typed.get(path, path))))
        else:
            paths.append(result)
    return paths, problems


def setting_paths(kind: mi.Type | None = None, path: str = "", chosen: object = None) -> dict[str, mi.Type]:
    """Return every setting that a preset can hold, with its type; entry 0 stands for a list of tables.

    Args:
        kind: The type of a preset or of a part of it (default: of a preset with the built-in methods).
        path: The dotted path of that part.
        chosen: A document: then only the settings that exist with its method, network and tables.
    """
    optional = isinstance(kind, mi.UnionType) and any(isinstance(t, mi.NoneType) for t in kind.types)
    if optional and isinstance(chosen, (dict, list)) and not chosen:
        return {}
    kind = schema.present(kind or preset_type())
    some = chosen is not None
    if schema.variants(kind):
        fitting = schema.variant_of(chosen, kind) if some else None
        every: dict[str, mi.Type] = {}
        for struct in schema.variants(kind).values() if fitting is None else (fitting,):
            every = setting_paths(struct, path, chosen) | every | {f"{path}.{struct.tag_field}": mi.StrType()}
        return every
    if isinstance(kind, mi.StructType):
        out: dict[str, mi.Type] = {}
        for field in kind.fields:
            name = field.encode_name
            below = (chosen.get(name, {}) if isinstance(chosen, dict) else {}) if some else None
            out |= setting_paths(field.type, f"{path}.{name}" if path else name, below)
        return out
    if isinstance(kind, mi.VarTupleType) and _has_parts(kind.item_type):
        first = (chosen[0] if isinstance(chosen, list) and chosen else {}) if some else None
        return setting_paths(kind.item_type, f"{path}.0", first)
    return {path: kind}


def _whole_paths(
    document: Document,
    overrides: Mapping[str, str],
    kind: mi.StructType,
    params: Callable[[str], Iterable[str]],
    tags: set[str],
) -> tuple[dict[str, str], list[Problem]]:
    """Return ``overrides`` by whole paths, and the options that name no setting or several.

    An option may be only the last part of a path.
    """
    top = {field.encode_name for field in kind.fields}
    short = [key for key in overrides if path_of(key).partition(".")[0] not in top]
    whole = {path_of(key): text for key, text in overrides.items() if key not in short}
    if not short:
        return whole, []
    chosen = copy.deepcopy(document)
    for key, value in whole.items():
        if key.rpartition(".")[2] in tags:
            _override(chosen, key, value, kind)
    here, every = setting_paths(kind, chosen=chosen), setting_paths(kind)
    game = chosen.get("game")
    name = whole.get("game.name", game.get("name", "") if isinstance(game, dict) else "")
    problems: list[Problem] = []
    for key in short:
        path = full_path(key, here, every, lambda: params(str(name)))
        if isinstance(path, Problem):
            problems.append(path.within(Setting(key)))
        elif path in whole:
            text = ("is ", Setting(path), ", which is given twice")
            problems.append(Problem(path, text, where=(Setting(key),)))
        else:
            whole[path] = overrides[key]
    return whole, problems


def _override(document: Document, key: str, text: str, kind: mi.Type) -> str | Problem:
    """Put ``text`` at the path ``key`` into the document. Return the path, without quotes in its keys."""
    here: Any = document  # the container that the next part names a place in
    path: list[str] = []
    parts = key.split(".")
    for depth, given in enumerate(parts):
        last = depth == len(parts) - 1
        at = ".".join(path)
        owners: dict[str, str] = {}
        kind = schema.present(kind)
        if schema.variants(kind):
            chosen = schema.variant_of(here, kind)
            owners = schema.owners_of(kind, chosen) if chosen is not None else {}
            kind = next(iter(schema.variants(kind).values())) if chosen is None else chosen
        if isinstance(kind, mi.StructType) and isinstance(here, dict):
            fields = {f.encode_name: f.type for f in kind.fields}
            if kind.tag_field:
                fields[kind.tag_field] = mi.StrType()
            if given not in fields:
                return schema.unknown_key(at, given, kind, owners)
            kind = fields[given]
            slot: str | int = given
            name = given
        elif isinstance(kind, mi.DictType) and isinstance(here, dict):
            kind = kind.value_type
            parts[depth:] = _with_dotted_key(parts[depth:], table=_has_parts(kind))
            last = depth == len(parts) - 1
            slot = name = parts[depth]
        elif isinstance(kind, mi.VarTupleType) and isinstance(here, list):
            if not given.isdecimal() or int(given) > len(here):
                return Problem(key, f"{at} has {len(here)} entries; expected an index from 0 to {len(here)}")
            kind, name, slot = kind.item_type, given, int(given)
            if slot == len(here):
                here.append({} if _has_parts(kind) else None)
        else:
            return Problem(key, f"{at} is {schema.expected(kind)}, it has no part {given}")
        path.append(name)
        kind = schema.present(kind)
        if last:
            if isinstance(kind, (mi.StructType, mi.DictType)) or schema.variants(kind):
                return Problem(key, f"{'.'.join(path)} is a table; set one of its keys")
            here[slot] = schema.from_text(text, kind)
        elif isinstance(here, dict) and _has_parts(kind):
            here = here.setdefault(slot, [] if isinstance(kind, mi.VarTupleType) else {})
        else:
            here = here[slot] if _has_parts(kind) else None
    return ".".join(path)


def _with_dotted_key(parts: list[str], table: bool) -> list[str]:
    """Join the parts of a key that holds dots (``tune.algorithm.learning_rate.low``).

    Args:
        parts: Parts of a path, from those below the table on.
        table: Whether the values of the table are tables, so that the last part is a key of one of them.
    """
    end = len(parts) - 1 if table and len(parts) > 1 else len(parts)
    return [".".join(parts[:end]).replace('"', ""), *parts[end:]]


def _tag_fields(kind: mi.Type) -> set[str]:
    """Return the keys that choose among several tables, in the type and everywhere below it."""
    kind = schema.present(kind)
    if isinstance(kind, mi.VarTupleType):
        return _tag_fields(kind.item_type)
    below = schema.variants(kind).values()
    if below:
        return {str(struct.tag_field) for struct in below}
    fields = kind.fields if isinstance(kind, mi.StructType) else ()
    return {tag for field in fields for tag in _tag_fields(field.type)}


def _has_parts(kind: mi.Type) -> bool:
    """Return whether a path may continue below a value of this type: tables, and lists of tables."""
    kind = schema.present(kind)
    if isinstance(kind, mi.VarTupleType):
        return _has_parts(kind.item_type)
    return isinstance(kind, (mi.StructType, mi.DictType)) or bool(schema.variants(kind))
