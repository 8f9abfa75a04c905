"""Surgery on a weights file: the network alone, without optimiser, matches or players."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ludus.flow.inputs.shown import utf8
from ludus.flow.process.as_found import as_found
from ludus.flow.weights import Ancestor, Weights
from ludus.policies.weights import WeightsError, load_weights
from ludus.presets.checks.game import resolve_spec
from ludus.presets.config import Preset
from ludus.reporting.changes import run_settings
from ludus.reporting.provenance import provenance_of
from ludus.storage import name_of, resolve_weights, run_of
from ludus.surgery.plan import ConversionHints, SurgeryError
from ludus.training.surgery.calibration import calibrate, new_places
from ludus.training.surgery.conversion import Pair, conversion_of, side_of
from ludus.training.surgery.operate import Outline, count_parameters, network_after


@as_found()
def convert(text: str, preset: Preset, hints: ConversionHints, *, play: bool) -> tuple[Pair, Outline]:
    """Convert the weights that ``text`` names to the network of ``preset``.

    Args:
        text: A weights file, or a name such as ``RUN@best``.
        preset: Settings after surgery: its game and its network.
        hints: Names that the settings cannot tell.
        play: Whether new observation columns are calibrated in matches.

    Raises:
        SurgeryError: The file cannot be used, or the change is not covered.
        StorageError: There is no such file.
    """
    path = resolve_weights(text)
    try:
        old = load_weights(path)
    except WeightsError as error:
        raise SurgeryError("source", str(error), "weights of a network") from error
    spec, _ = resolve_spec(preset)
    side = side_of(old.meta, text)
    if side.spec.name != spec.name:
        raise SurgeryError("game.name", spec.name, side.spec.name)
    conversion = conversion_of(side, network_after(preset, spec), hints)
    plan = conversion.plan
    operators = tuple(o.text for o in plan.operators) if plan is not None else ()
    name = name_of(Path(path), old.meta.version)
    ancestor = Ancestor(utf8(Path(name).name)[:256], old.meta.version, old.meta.spec_hash, "", operators)
    if play:
        calibrate(conversion, preset, conversion.weights(old, ancestor))
    outline = Outline(
        source=name,
        version=old.meta.version,
        parameters=(count_parameters(side.config, side.spec), count_parameters(preset.policy, spec)),
        operators=operators,
        exact=plan is None or plan.exact,
        new_matches="",
        matches="",
        empty_replay_buffer="",
        players=0,
        settle=0,
        calibrated=new_places(plan).counts,
    )
    run = run_of(Path(path))
    before = run_settings(run).preset if run is not None else None
    new = conversion.weights(old, ancestor)
    meta = msgspec.structs.replace(new.meta, provenance=provenance_of(preset))
    return Pair(conversion, old, Weights(meta, new.tensors), preset, before), outline
