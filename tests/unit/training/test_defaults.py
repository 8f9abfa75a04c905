"""Pinned defaults of all settings: a changed one alters the training of the same preset.

``python -m tests.unit.training.test_defaults`` rewrites the file.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import msgspec.inspect as mi

from ludus.presets.config import Preset

from .test_settings import structs

PINNED = Path(__file__).with_name("defaults.json")


def defaults() -> dict[str, dict[str, object]]:
    """Return defaults by table and setting; required settings have none."""
    found: dict[str, dict[str, object]] = {}
    for table in structs(mi.type_info(Preset)):
        own = found.setdefault(table.cls.__name__, {})
        for field in table.fields:
            if field.default is not msgspec.NODEFAULT:
                own[field.encode_name] = msgspec.to_builtins(field.default)
            elif field.default_factory is not msgspec.NODEFAULT:
                own[field.encode_name] = msgspec.to_builtins(field.default_factory())
    return found


def as_text() -> str:
    return json.dumps(defaults(), indent=1, sort_keys=True) + "\n"


def test_defaults_are_those_that_are_pinned() -> None:
    pinned = json.loads(PINNED.read_text(encoding="utf-8"))
    found = json.loads(as_text())
    assert found == pinned


if __name__ == "__main__":
    PINNED.write_text(as_text(), encoding="utf-8")
