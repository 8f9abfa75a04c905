"""Faults of floors: a figure of players needs the floor of untrained ones, in the same setting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tools.figures import floor_label
from tools.line_faults import COSTS
from tools.play_lines import floor_kinds
from tools.raw_lines import Line, Setting
from tools.records import BOT, DERIVED, INITIAL, UNIFORM, Figure, Record


def floor_faults(record: Record, lines: Sequence[Line]) -> Iterator[str]:
    """Yield the faults of the floors of a record of players."""
    figures = {figure.label: figure for figure in record.figures}
    seen: set[tuple[str, str]] = set()
    for floor in record.floors:
        key = floor.floor, floor.floor_of
        if key in seen:
            yield f"two floors are {floor.label!r}"
        seen.add(key)
        yield from _of_floor(floor, figures.get(floor.floor_of), lines)
    for figure in record.figures:
        if figure.kind in DERIVED or figure.unit in COSTS:
            continue
        yield from (
            f"{figure.label!r} has no floor {kind!r}: expected the same measure of it"
            for kind in _wanted(record, figure, lines)
            if (kind, figure.label) not in seen
        )


def _mine(lines: Sequence[Line], label: str) -> list[Line]:
    return [line for line in lines if line.label == label]


def _wanted(record: Record, figure: Figure, lines: Sequence[Line]) -> list[str]:
    """Return the kinds of floors that a figure must have."""
    mine = _mine(lines, figure.label)
    setting = next((line.setting for line in mine if line.setting is not None), None)
    if setting is None:
        return []
    trained = any(line.run for line in mine)
    if trained and all(run.unkept for run in record.runs) and setting.measure == "matches":
        trained = any(f.floor == INITIAL and f.floor_of == figure.label for f in record.floors) or trained
    try:
        return floor_kinds(setting, trained)
    except Exception:  # a game that is not installed here: its bots are not known
        return [*([INITIAL] if trained else []), UNIFORM]


def _of_floor(floor: Figure, figure: Figure | None, lines: Sequence[Line]) -> Iterator[str]:
    if figure is None:
        yield f"floor {floor.label!r}: no figure {floor.floor_of!r}"
        return
    if floor.floor not in (INITIAL, UNIFORM) and not floor.floor.startswith(BOT):
        yield f"floor {floor.label!r}: of {floor.floor!r}, expected {INITIAL}, {UNIFORM} or {BOT}NAME"
        return
    if floor.label != floor_label(floor.floor, figure.label):
        yield f"floor {floor.label!r}: expected the label {floor_label(floor.floor, figure.label)!r}"
    if (floor.unit, floor.lower_is_better) != (figure.unit, figure.lower_is_better):
        yield f"floor {floor.label!r}: in {floor.unit!r}, its figure in {figure.unit!r}"
    own, mine = _mine(lines, figure.label), _mine(lines, floor.label)
    settings = [line.setting for line in (*own[:1], *mine)]
    for setting in settings[1:]:
        if difference := _difference(settings[0], setting):
            yield f"floor {floor.label!r}: {difference}"
            break
    if {line.eval_seed for line in mine} - {line.eval_seed for line in own}:
        yield f"floor {floor.label!r}: other seeds of matches than its figure"
    if {x.against_weights for x in mine} != {x.against_weights for x in own}:
        yield f"floor {floor.label!r}: other opponents than its figure"
    yield from _players(floor, own, mine)


def _players(floor: Figure, own: Sequence[Line], mine: Sequence[Line]) -> Iterator[str]:
    """Yield a fault where a floor was played by another player than its name."""
    if floor.floor == INITIAL:
        wanted = {(line.run, line.seed) for line in own}
        if {(line.run, line.seed) for line in mine} != wanted:
            yield f"floor {floor.label!r}: expected the initial weights of the same runs, one line each"
        return
    name = floor.floor.removeprefix(BOT) if floor.floor.startswith(BOT) else UNIFORM
    for line in mine:
        if line.player != name or line.weights or line.run:
            yield f"floor {floor.label!r}: played by {line.player or 'a network'}, expected {name}"
            return


def _difference(first: Setting | None, second: Setting | None) -> str:
    """Return in what two settings differ, or an empty text."""
    if first is None or second is None:
        return "no setting"
    for name in Setting.__struct_fields__:
        a, b = getattr(first, name), getattr(second, name)
        if a != b:
            return f"{name} {b!r}, its figure has {a!r}"
    return ""
