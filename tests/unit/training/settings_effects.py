"""Check whether a setting has an effect: a small run with it and one without it give different results."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from ludus.presets.file import load_preset

from .settings_probes import Probe
from .settings_table import BOTS, METHODS, PREFIXES, SELF, SELF_PLAYED, TABLE


@cache
def looked_at(probe: Probe, text: str, settings: tuple[tuple[str, str], ...]) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "preset.toml"
        path.write_text(text)
        preset = load_preset(str(path), dict(settings)).preset
    return probe(preset)


def cases(of_methods: bool) -> list[tuple[str, str]]:
    """Return struct and field of each row: those of methods other than the default one, or all others."""
    return [(struct, n) for struct, rows in TABLE.items() if (struct in METHODS) == of_methods for n in rows]


def has_an_effect(struct: str, name: str) -> bool:
    seen, path = TABLE[struct][name], PREFIXES[struct] + name
    base = seen.base or (SELF if struct in SELF_PLAYED else BOTS)
    under = seen.under | ({"algorithm.name": METHODS[struct]} if struct in METHODS else {})
    changed = dict(under) if seen.text else under | {seen.path or path: seen.value}
    before = looked_at(seen.probe, base, tuple(sorted(under.items())))
    after = looked_at(seen.probe, base + seen.text, tuple(sorted(changed.items())))
    return before != after
