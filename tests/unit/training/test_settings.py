"""Every setting of a preset has an effect: a changed one changes something in a run.

The settings are those of the config structs; one that is new and not in the table fails here.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec.inspect as mi
import pytest

from ludus.presets import schema
from ludus.presets.config import Preset, preset_type
from ludus.presets.file import parse_preset

from .settings_effects import cases, has_an_effect
from .settings_probes import run
from .settings_table import BOTS, SELF, TABLE, TABLES


def structs(kind: mi.Type) -> Iterator[mi.StructType]:
    """Yield every table that a preset may have but a league's."""
    if isinstance(kind, mi.StructType):
        yield kind
        for f in kind.fields:
            if f.encode_name != "league":
                yield from structs(schema.present(f.type))
    elif isinstance(kind, mi.VarTupleType):
        yield from structs(kind.item_type)
    else:
        for struct in schema.variants(kind).values():
            yield from structs(struct)


def test_every_setting_is_in_the_table() -> None:
    there = {s.cls.__name__: {f.encode_name for f in s.fields} - TABLES for s in structs(preset_type())}
    assert {name: set(fields) for name, fields in TABLE.items()} == there
    assert {f.encode_name for s in structs(preset_type()) if s.cls is Preset for f in s.fields} == {
        *(TABLES - {"search", "self_play", "before"}),
        *TABLE["Preset"],
    }


@pytest.mark.parametrize(("struct", "name"), cases(of_methods=False))
def test_a_setting_has_an_effect(struct: str, name: str) -> None:
    assert has_an_effect(struct, name)


@pytest.mark.parametrize("base", [BOTS, SELF], ids=["appo", "alphazero"])
def test_compared_runs_are_reproducible(base: str) -> None:
    """Otherwise any two runs would differ, and every setting would seem to have an effect."""
    preset = parse_preset(base.encode(), "base").preset
    assert run(preset) == run(preset)
