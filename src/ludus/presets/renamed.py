"""Keys of presets that have another name now.

An old key in a user's file or option is a mistake, and the error names the new key. The ``config.toml`` of a
stored run is translated instead, so that runs of earlier versions resume.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec.inspect as mi

from ludus.flow.decode import TomlError, from_toml
from ludus.policies.config import name_network
from ludus.presets.config import preset_type
from ludus.presets.schema import Problem, variant_of, variants

#: Old path -> new path, of settings and of whole tables.
RENAMED = {
    "pool.matches": "pool.slots",
    "pool.steps": "pool.rollout_length",
    "search": "algorithm.search",
    "self_play": "algorithm.self_play",
}
_MAX_TRIALS, _MAX_PARSED = 100, 1 << 21  # parts of a file that are parsed, and their characters


def new_name(path: str) -> str:
    """The present path of the setting that was called ``path``; "" where no name has changed."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        new = RENAMED.get(".".join(parts[:length]))
        if new is not None:
            return ".".join([new, *parts[length:]])
    return ""


def renamed_keys(document: dict[str, object]) -> Iterator[Problem]:
    """Every old key of a document, with the new one."""
    for old, new in RENAMED.items():
        *above, last = old.split(".")
        table = _table(document, above)
        if table is not None and last in table:
            what = "table" if isinstance(table[last], dict) else "key"
            yield Problem(old, f"{old}: this {what} is now {new}")


def translate(document: dict[str, object]) -> None:
    """Moves every old key of a stored document to its present place."""
    for old, new in RENAMED.items():
        *above, last = old.split(".")
        table = _table(document, above)
        if table is None or last not in table:
            continue
        *below, name = new.split(".")
        value, target = table.pop(last), _table(document, below)
        if target is not None and _is_key(document, new):
            target[name] = value
    policy = _table(document, ["policy"])
    if policy is not None:
        name_network(policy)


def _is_key(document: dict[str, object], path: str) -> bool:
    """Whether ``path`` is a key of its preset: tables that one method reads were once in every file."""
    table, _, name = path.partition(".")
    chosen = _table(document, [table]) or {}
    known = {f.encode_name: f.type for f in preset_type().fields}[table]
    struct = variant_of(chosen, known) if variants(known) else known
    return isinstance(struct, mi.StructType) and name in {f.encode_name for f in struct.fields}


def line_of(text: str, path: str) -> int:
    """The line of ``text``, which is TOML, that sets ``path`` (a key or table); 0 where it is not found.

    That is where the shortest whole part of the document ends that holds the path.
    """
    *above, last = path.split(".")
    lines = text.split("\n")
    mentions = [n for n, line in enumerate(lines, 1) if last in line]
    for number in mentions[: min(_MAX_TRIALS, _MAX_PARSED // max(1, len(text)))]:
        try:
            table = _table(from_toml("\n".join(lines[:number])), above)
        except TomlError:
            continue
        if table is not None and last in table:
            return number
    return 0


def _table(document: dict[str, object], path: list[str]) -> dict[str, object] | None:
    """The table at ``path``; None where there is none."""
    here: object = document
    for part in path:
        here = here.get(part) if isinstance(here, dict) else None
    return here if isinstance(here, dict) else None
