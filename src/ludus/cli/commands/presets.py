"""``ludus presets list | show``."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE
from ludus.flow.inputs.decode import text_of
from ludus.presets.file import MAX_BYTES, find_preset, load_preset, shipped_presets
from ludus.storage.files import read_bounded

JSON = option("print one JSON document")


class PresetsList(msgspec.Struct, frozen=True):
    """List the shipped presets. Each name can be given to ludus train."""

    EXAMPLES: ClassVar = ("ludus presets list",)

    json: Annotated[bool, JSON] = False

    def run(self) -> int:
        """Print the list and return the exit code."""
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
    """Print the file of a preset, to read or to start your own.

    Settings left out have their default; ludus train PRESET --explain shows all of them.
    """

    EXAMPLES: ClassVar = ("ludus presets show minirts > mine.toml",)

    preset: Annotated[str, positional("name of a shipped preset, or a TOML file")]
    json: Annotated[bool, option("print the preset with all defaults as one JSON document")] = False

    def run(self) -> int:
        """Print the preset and return the exit code."""
        loaded = load_preset(self.preset)
        if self.json:
            console.document({"preset": loaded.source, **msgspec.to_builtins(loaded.preset)})
        else:
            console.result(text_of(read_bounded(find_preset(self.preset), MAX_BYTES)).rstrip())
        return DONE
