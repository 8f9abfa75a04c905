"""Check whether a setting has an effect: a small run with it and one without it give different results."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from ludus.presets.file import load_preset

from .settings_probes import Probe
from .settings_table import BOTS, METHODS, PREFIXES, SELF, SELF_PLAY_STRUCTS, TABLE


@cache
def probed(probe: Probe, text: str, settings: tuple[tuple[str, str], ...]) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "preset.toml"
        path.write_text(text)
        preset = load_preset(str(path), dict(settings)).preset
    return probe(preset)


def cases(of_methods: bool) -> list[ParameterSet]:
    """Return struct and field of each row. All rows but the first of a struct are slow cases.

    Args:
        of_methods: Whether rows of methods other than the default one are wanted, or all others.
    """
    return [
        pytest.param(struct, name, marks=[pytest.mark.slow] if number else [])
        for struct, rows in TABLE.items()
        if (struct in METHODS) == of_methods
        for number, name in enumerate(rows)
    ]


def has_an_effect(struct: str, name: str) -> bool:
    variant, path = TABLE[struct][name], PREFIXES[struct] + name
    base = variant.base or (SELF if struct in SELF_PLAY_STRUCTS else BOTS)
    under = variant.under | ({"algorithm.name": METHODS[struct]} if struct in METHODS else {})
    changed = dict(under) if variant.text else under | {variant.path or path: variant.value}
    before = probed(variant.probe, base, tuple(sorted(under.items())))
    after = probed(variant.probe, base + variant.text, tuple(sorted(changed.items())))
    return before != after
