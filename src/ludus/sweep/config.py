"""A sweep file: a preset, the settings in which its runs differ, and their seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec
import msgspec.inspect as mi

from ludus.flow.inputs.regular import why_unusable
from ludus.flow.inputs.whole import whole
from ludus.flow.problem import Problem, Setting, message, near_of, quoted
from ludus.presets import schema
from ludus.presets.file import MAX_BYTES, PresetError, preset_bytes, preset_document
from ludus.presets.options import full_path, path_of
from ludus.presets.overrides import setting_paths
from ludus.storage.errors import StorageError
from ludus.storage.files import read_bounded
from ludus.sweep.ranges import KINDS, Range, Value, range_problem

Natural = Annotated[int, msgspec.Meta(ge=0)]
Table = dict[str, Any]
#: Settings that every run gets unless the file sets them: its last weights are what is measured.
DEFAULTS: dict[str, Value] = {
    "run.threads": 1,
    "evaluation.every_steps": 0,
    "evaluation.matches": 0,
    "evaluation.floor_matches": 100,
}
#: Settings that change nothing that is trained or compared.
FLOORS = ("evaluation.initial", "evaluation.floor_matches")
MAX_SEED = 2**31 - 1
MAX_SEEDS = 10_000


class _File(msgspec.Struct, frozen=True):
    """The keys of a sweep file."""

    preset: Annotated[str, msgspec.Meta(min_length=1)]
    seeds: Any
    title: str = ""
    workers: Natural = 0
    baseline: str = ""
    greedy: bool = False
    search: Literal["random", "tpe"] = "random"
    search_seed: Natural = 1
    count: Natural = 0
    settings: Table = {}
    cells: dict[str, Table] = {}
    grid: Table = {}
    random: Table = {}


class CellConfig(msgspec.Struct, frozen=True):
    """Settings that are set together, and the preset that they change."""

    preset: str
    settings: dict[str, Value] = {}


MAX_RUNS = 100_000


class SweepConfig(msgspec.Struct, frozen=True):
    """A sweep file whose keys are whole; the settings in it are not checked yet.

    ``cells``: by name, one with the name "" where the file has none. ``workers``: runs at a time, 0 = as many
    as there are processors. ``count``: points that are drawn from the ranges ``random``. ``greedy``: the
    measured weights also play their likeliest actions. Paths of settings are dotted.
    """

    source: str
    title: str
    preset: str
    seeds: tuple[int, ...]
    cells: dict[str, CellConfig]
    settings: dict[str, Value] = {}
    grid: dict[str, tuple[Value, ...]] = {}
    random: dict[str, Range] = {}
    search: Literal["random", "tpe"] = "random"
    search_seed: int = 1
    count: int = 0
    workers: int = 0
    baseline: str = ""
    greedy: bool = False


def run_count(config: SweepConfig) -> int:
    """Return the number of runs of a sweep, counted without listing them."""
    count = len(config.cells) * len(config.seeds) * max(1, config.count)
    return count * math.prod(len(values) for values in config.grid.values())


def read_sweep(source: str, overrides: Mapping[str, str] | None = None) -> SweepConfig:
    """Read a sweep file.

    Args:
        source: Its path.
        overrides: Dotted path -> text: settings of all runs from the command line.

    Raises:
        PresetError: The file's own keys have mistakes; every one is listed.
    """
    path = Path(source)
    if why := why_unusable(path):
        raise PresetError(f"{source}: {why}; expected a sweep file (.toml); see: docs/guides/sweeps.md")
    try:
        raw = read_bounded(path, MAX_BYTES)
    except (StorageError, OSError) as error:
        raise PresetError(error, where=f"{source}: cannot be read") from None
    return parse_sweep(preset_document(raw, source), source, overrides)


def _given(overrides: Mapping[str, str]) -> dict[str, str]:
    """Return settings of the command line by whole paths, where the last part alone is unambiguous."""
    every = setting_paths()
    top = {path.partition(".")[0] for path in every}
    whole: dict[str, str] = {}
    for key, text in overrides.items():
        path: str | Problem = path_of(key)
        if str(path).partition(".")[0] not in top:
            path = full_path(key, [p for p in every if not p.startswith("league.")], every)
        if isinstance(path, Problem):
            raise PresetError(path.within(Setting(key)))
        whole[path] = text
    return whole


def parse_sweep(document: Table, source: str, overrides: Mapping[str, str] | None = None) -> SweepConfig:
    """Return a sweep from the content of its file; see :func:`read_sweep`."""
    document = cast(Table, schema.with_integers(document, mi.type_info(_File)))
    document |= {"seeds": _whole_seeds(document.get("seeds"))} if "seeds" in document else {}
    problems = [*schema.check(document, mi.type_info(_File))] or [*_seed_problems(document["seeds"])]
    if problems:
        raise PresetError(*problems, where=source)
    file = msgspec.convert(document, _File)
    folder = Path(source).parent
    settings = dict(DEFAULTS) | _flat(file.settings)
    given = _given(overrides or {})
    settings |= given
    config = SweepConfig(
        source=source,
        title=file.title,
        preset=_placed(file.preset, folder),
        seeds=_seeds(file.seeds),
        cells=_cells(file, folder, given),
        settings=settings,
        grid={k: tuple(v) if isinstance(v, list) else (v,) for k, v in _flat(file.grid).items()},
        random=_ranges(file.random),
        search=file.search,
        search_seed=file.search_seed,
        count=file.count,
        workers=file.workers,
        baseline=file.baseline,
        greedy=file.greedy,
    )
    if problems := unlike([*_table_problems(file), *_together(config, file)]):
        raise PresetError(*problems, where=source)
    return config


def _whole_seeds(given: object) -> object:
    return [whole(seed) for seed in given] if isinstance(given, list) else whole(given)


def _seeds(given: object) -> tuple[int, ...]:
    return tuple(range(1, given + 1)) if isinstance(given, int) else tuple(given)  # type: ignore[arg-type]


def _seed_problems(given: object) -> Iterator[Problem]:
    fits = type(given) is int and 1 <= given <= MAX_SEEDS
    if isinstance(given, list):
        seeds = [s for s in given if type(s) is int and 0 <= s <= MAX_SEED]
        fits = 0 < len(given) <= MAX_SEEDS and len(set(seeds)) == len(given)
    if not fits:
        wanted = "a number of seeds >= 1, or a list of different seeds >= 0"
        yield Problem("seeds", value=given, expected=wanted)


def _placed(preset: str, folder: Path) -> str:
    """Return a preset's file from the sweep file's folder or from here, or a shipped preset's name."""
    near = folder / preset
    return str(near) if preset.endswith(".toml") and near.exists() else preset


def _cells(file: _File, folder: Path, given: Mapping[str, str]) -> dict[str, CellConfig]:
    """Return the cells without the settings that the command line gives to all runs."""
    if not file.cells:
        return {"": CellConfig(_placed(file.preset, folder))}
    cells = {}
    for name, table in file.cells.items():
        preset = table.get("preset", file.preset)
        settings = _flat({k: v for k, v in table.items() if k != "preset"})
        own = {path: value for path, value in settings.items() if path not in given}
        cells[name] = CellConfig(_placed(str(preset), folder), own)
    return cells


def _ranges(table: Table) -> dict[str, Range]:
    found = {}
    for path, value in _flat(table).items():
        key, _, kind = path.rpartition(".")
        if kind in KINDS and not range_problem(kind, value):
            ends = [whole(v) for v in value] if kind == "integer" else value
            found[key] = Range(kind, tuple(ends))  # type: ignore[arg-type]
    return found


def _flat(table: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Return dotted paths of a table's values, as settings are named."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        below = f"{path}.{key}" if path else key
        below = below.replace("-", "_")
        found |= _flat(value, below) if isinstance(value, dict) else {below: value}
    return found


def _table_problems(file: _File) -> Iterator[Problem]:
    """Yield mistakes inside of the tables that do not depend on the preset."""
    for path, values in _flat(file.grid).items():
        if not isinstance(values, list) or not values:
            yield Problem(f"grid.{path}", value=values, expected="a list of at least one value")
        elif any(values.index(v) != i for i, v in enumerate(values)):
            yield Problem(f"grid.{path}", value=values, expected="different values")
        else:
            for value in values:
                yield from _value_problems(f"grid.{path}", value)
    for path, value in _flat(file.settings).items():
        yield from _value_problems(f"settings.{path}", value)
    for path, value in _flat(file.random).items():
        key, _, kind = path.rpartition(".")
        if kind not in KINDS:
            text = f"random.{path}: expected a table with one of {', '.join(KINDS)}"
            yield Problem(f"random.{path}", text, value, near=near_of(kind, KINDS, kind=""))
        elif problem := range_problem(kind, value):
            yield Problem(f"random.{key}.{kind}", f"random.{key}.{kind} = {quoted(value)}: {problem}", value)
    for name, table in file.cells.items():
        if not name.strip() or any(c in name for c in "/\\\n\0"):
            yield Problem(f"cells.{name}", f"cells.{name!r}: expected a name without slashes")
        if not isinstance(table.get("preset", ""), str):
            yield Problem(f"cells.{name}.preset", value=table["preset"], expected="a string")
        for path, value in _flat({k: v for k, v in table.items() if k != "preset"}).items():
            yield from _value_problems(f"cells.{name}.{path}", value)


def _value_problems(path: str, value: object) -> Iterator[Problem]:
    items = value if isinstance(value, list) else [value]
    for item in items:
        if not isinstance(item, (str, int, float, bool)):
            text = "expected a number, a string, true or false, or a list of these"
            yield Problem(path, f"{path}: {quoted(value)}: {text}", value)
            return


def _together(config: SweepConfig, file: _File) -> Iterator[Problem]:
    """Yield tables that do not fit together."""
    tables = {
        "settings": set(config.settings) - set(DEFAULTS),
        **{f"cells.{name}": set(cell.settings) for name, cell in config.cells.items() if name},
        "grid": set(config.grid),
        "random": set(config.random),
    }
    for table, paths in tables.items():
        if "run.seed" in paths:
            yield Problem(f"{table}.run.seed", f"{table}.run.seed: expected the seeds in the key seeds")
        for other in ("grid", "random"):
            if table != other and (both := sorted(paths & tables[other])):
                path = f"{other}.{both[0]}"
                yield Problem(path, f"{path}: set in {table} too; expected one of them")
    if file.random and not config.count:
        yield Problem("count", value=0, expected="how many points are drawn from the ranges of [random]")
    if config.count and not file.random:
        yield Problem("count", value=config.count, expected="ranges in [random] to draw from")
    if config.search == "tpe":
        if not file.random:
            yield Problem("search", value="tpe", expected="ranges in [random] to search in")
        if config.grid or file.cells:
            wanted = "no [grid] and no [cells]; choices are ranges: { choice = [...] }"
            yield Problem("search", value="tpe", expected=wanted)


def origin_of(config: SweepConfig, setting: str, cell: str) -> str:
    """Return the place of a mistake in ``setting`` of a cell's runs: ``FILE: grid``."""
    cell_settings = config.cells[cell].settings if cell in config.cells else {}
    for table, paths in (
        ("grid", config.grid),
        ("random", config.random),
        (f"cells.{cell}", cell_settings),
        ("settings", config.settings),
    ):
        if any(f"{path}.".startswith(f"{setting}.") for path in paths):
            return f"{config.source}: {table}"
    return config.source


def preset_hashes(config: SweepConfig) -> dict[str, str]:
    """Return preset -> SHA-256 of its file. Raises :class:`PresetError` for a missing preset."""
    import hashlib

    found = {}
    for cell in config.cells.values():
        try:
            found[cell.preset] = hashlib.sha256(preset_bytes(cell.preset)).hexdigest()
        except PresetError as error:
            raise PresetError(*(p.within(config.source, "preset") for p in error.problems)) from None
        except (OSError, StorageError) as error:
            raise PresetError(Problem(text=str(error), where=(config.source, "preset"))) from None
    return found


def cell_problems(config: SweepConfig, names: list[str]) -> list[Problem]:
    """Return the mistake in ``baseline``, which names one of the cells ``names``, if there is one."""
    named = config.baseline
    if not named or named in names:
        return []
    near = near_of(named, names, "cells")
    wanted = "the name of a cell"
    return [Problem("baseline", value=named, expected=wanted, near=near, where=(config.source,))]


def unlike(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems, each message once."""
    return list({message(problem): problem for problem in problems}.values())
