"""No setting of a preset is without effect: changed, something that a run does differs.

The settings are those of the config structs; one that is new and not in the table fails here.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec.inspect as mi
import pytest

from ludus.presets import schema
from ludus.presets.config import Preset, preset_type
from ludus.presets.file import load_preset, parse_preset

from .settings_probes import Probe, run
from .settings_table import BOTS, METHODS, PREFIXES, SELF, SELF_PLAYED, TABLE, TABLES


def structs(kind: mi.Type) -> Iterator[mi.StructType]:
    """Every table that a preset may have."""
    if isinstance(kind, mi.StructType):
        yield kind
        for f in kind.fields:
            yield from structs(f.type)
    elif isinstance(kind, mi.VarTupleType):
        yield from structs(kind.item_type)
    else:
        for struct in schema.variants(kind).values():
            yield from structs(struct)


def test_every_setting_has_a_place_in_the_table() -> None:
    there = {s.cls.__name__: {f.encode_name for f in s.fields} - TABLES for s in structs(preset_type())}
    assert {name: set(fields) for name, fields in TABLE.items()} == there
    assert {f.encode_name for s in structs(preset_type()) if s.cls is Preset for f in s.fields} == {
        *(TABLES - {"search", "self_play"}),
        *TABLE["Preset"],
    }


@cache
def looked_at(probe: Probe, text: str, settings: tuple[tuple[str, str], ...]) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "preset.toml"
        path.write_text(text)
        preset = load_preset(str(path), dict(settings)).preset
    return probe(preset)


CASES = [
    pytest.param(struct, name, id=f"{struct}.{name}") for struct, fields in TABLE.items() for name in fields
]


@pytest.mark.parametrize(("struct", "name"), CASES)
def test_a_setting_has_an_effect(struct: str, name: str) -> None:
    seen, path = TABLE[struct][name], PREFIXES[struct] + name
    base = seen.base or (SELF if struct in SELF_PLAYED else BOTS)
    under = seen.under | ({"algorithm.name": METHODS[struct]} if struct in METHODS else {})
    changed = dict(under) if seen.text else under | {seen.path or path: seen.value}
    before = looked_at(seen.probe, base, tuple(sorted(under.items())))
    after = looked_at(seen.probe, base + seen.text, tuple(sorted(changed.items())))
    assert before != after


@pytest.mark.parametrize("base", [BOTS, SELF], ids=["appo", "alphazero"])
def test_what_is_compared_repeats(base: str) -> None:
    """Or any two runs would differ, and every setting seem to have an effect."""
    preset = parse_preset(base.encode(), "base").preset
    assert run(preset) == run(preset)
