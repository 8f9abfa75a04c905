"""Settings by which weights continue to learn: the preset that their file carries.

The file may come from another person. Unlike a preset that a user names, its settings load no code of games
or players that is not installed, and no file of rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from ludus.flow.inputs.shown import shell
from ludus.flow.weights import WeightsMeta
from ludus.games import spec
from ludus.games.names import may_load
from ludus.presets.file import LoadedPreset, PresetError, load_preset, parse_preset
from ludus.presets.game_presets import run_title
from ludus.storage import zoo

SUFFIX = ".safetensors"


def is_weights(text: str) -> bool:
    """Return whether a name in a preset's place is weights: of the zoo, of a run, or a file."""
    return zoo.is_zoo(text) or text.endswith(SUFFIX) or ("@" in text and not Path(text).is_file())


def load_settings(name: str, overrides: Mapping[str, str] | None = None) -> LoadedPreset:
    """Return the settings of a new run: of a preset or a game, or of weights, with which it starts then.

    Args:
        name: As for :func:`ludus.presets.file.load_preset`; or ``zoo:NAME``, ``RUN@best`` or a weights file.
        overrides: Setting as the user wrote it -> text.

    Raises:
        PresetError: Every mistake that was found.
        StorageError: No such weights.
    """
    return started_from(name, overrides) if is_weights(name) else load_preset(name, overrides)


def started_from(reference: str, overrides: Mapping[str, str] | None = None) -> LoadedPreset:
    """Return the settings of a run that starts with weights, by the preset in their file.

    Raises as :func:`load_settings`.
    """
    loaded = settings_of(reference, overrides)
    preset = loaded.preset
    if not preset.run.start:
        preset = msgspec.structs.replace(preset, run=msgspec.structs.replace(preset.run, start=reference))
    note = f"{reference}: settings of the preset in its file; the run starts with these weights"
    return msgspec.structs.replace(loaded, preset=preset, note=note)


def settings_of(reference: str, overrides: Mapping[str, str] | None = None) -> LoadedPreset:
    """Return the preset in the file of weights, or in the run that the file lies in.

    Raises as :func:`load_settings`.
    """
    from ludus.policies.weights import WeightsError, load_meta  # torch: only for weights
    from ludus.storage.references import resolve_weights, run_of

    path = resolve_weights(reference)
    try:
        meta = load_meta(path)
    except WeightsError as error:
        raise PresetError(error) from error
    raw, source = preset_in(meta).encode(), f"the preset in {reference}"
    run = run_of(path)
    if not raw and run is not None and run.config.is_file():
        raw, source = run.config_bytes(), str(run.config)
    if not raw:
        raise PresetError(
            f"{reference}: the file carries no preset; name one: ludus train PRESET --run.start "
            f"{shell(reference)}"
        )
    name = reference.removeprefix(zoo.ZOO) if zoo.is_zoo(reference) else run_title(meta.game)
    return parse_preset(raw, source, name, overrides, params=_params)


def preset_in(meta: WeightsMeta) -> str:
    """Return the preset that weights carry, "" without one."""
    return "" if meta.provenance is msgspec.UNSET else meta.provenance.preset


def _params(game: str) -> Iterable[str]:
    """Return the names of the game's parameters; none for a game that a file may not load."""
    try:
        return [p.name for p in spec(game).params] if game and may_load(game) else []
    except ValueError:
        return []
