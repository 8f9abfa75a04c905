"""``ludus presets list | show``."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE
from ludus.presets.file import find_preset, load_preset, shipped_presets

JSON = option("one JSON document on stdout")


class PresetsList(msgspec.Struct, frozen=True):
    """The presets that come with ludus: ludus train NAME."""

    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        presets = {name: load_preset(name).preset for name in shipped_presets()}
        if self.json:
            console.document(
                [{"name": name, "game": p.game.name, "title": p.title} for name, p in presets.items()]
            )
        else:
            rows = [(name, p.game.name, p.title) for name, p in presets.items()]
            console.result(console.table(rows, ("preset", "game", "")))
        return DONE


class PresetsShow(msgspec.Struct, frozen=True):
    """The file of a preset, to read or to start one of your own from: ludus presets show minirts > mine.toml.

    What it leaves out has its default; ludus train PRESET --explain shows every setting."""

    preset: Annotated[str, positional("the name of a preset that comes with ludus, or a TOML file")]
    json: Annotated[bool, option("the preset with every default, as one JSON document on stdout")] = False

    def run(self) -> int:
        loaded = load_preset(self.preset)
        if self.json:
            console.document({"preset": loaded.source, **msgspec.to_builtins(loaded.preset)})
        else:
            console.result(find_preset(self.preset).read_text(encoding="utf-8").rstrip())
        return DONE
