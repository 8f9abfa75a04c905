"""The runs of a sweep: cells times grid times points times seeds, each with its settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import product

import msgspec

from ludus.flow.problem import Problem, Setting
from ludus.presets.checks.game import check_game
from ludus.presets.file import LoadedPreset, PresetError, load_preset
from ludus.sweep.config import MAX_RUNS, SweepConfig, cell_problems, origin_of, run_count, unlike
from ludus.sweep.ranges import Range, Value, draw

Settings = dict[str, str]  # dotted path -> text, as options give them
MAX_NAME = 120  # bytes of a folder's name
SEED_IN_TEXT = "{seed}"


class PlannedRun(msgspec.Struct, frozen=True):
    """One run. ``name``: its folder; ``cell``: what differs from other runs, the seed left out."""

    name: str
    cell: str
    seed: int
    preset: str
    settings: Settings
    point: int = -1  # of a random search


class PlannedCell(msgspec.Struct, frozen=True):
    """Settings that all seeds of a cell share, in the order of the file."""

    name: str
    preset: str
    values: dict[str, Value]  # what the cell sets itself
    settings: Settings  # with the settings of all cells
    base: str = ""  # its name under [cells]
    point: int = -1


def text_of(value: Value) -> str:
    """Return a value as the command line takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(text_of, value)) if isinstance(value, list) else str(value)


def known_points(config: SweepConfig) -> list[dict[str, Value]]:
    """Return the points of a random search; a search that asks has none beforehand."""
    if config.search == "tpe":
        return []
    return [draw(config.random, config.search_seed, i) for i in range(config.count)]


def planned_cells(config: SweepConfig, points: Sequence[Mapping[str, Value]]) -> list[PlannedCell]:
    """Return all cells, of ``points`` that were drawn or asked for. Without ranges there are no points."""
    shared = {path: text_of(value) for path, value in config.settings.items()}
    numbered = list(enumerate(points)) if config.random else [(-1, {})]
    cells = []
    for base, cell in config.cells.items():
        for values in product(*config.grid.values()):
            gridded = dict(zip(config.grid, values, strict=True))
            for index, point in numbered:
                own = {**cell.settings, **gridded, **point}
                parts = [base, *(_label(path, value) for path, value in gridded.items())]
                parts += [f"point={index}"] if index >= 0 else []
                texts = {path: text_of(value) for path, value in own.items()}
                name = ", ".join(p for p in parts if p) or "all"
                cells.append(PlannedCell(name, cell.preset, own, shared | texts, base, index))
    return cells


def _label(path: str, value: Value) -> str:
    """Return ``learning_rate=0.001``; of a name only the value."""
    key = path.rpartition(".")[2]
    return text_of(value) if key == "name" else f"{key}={text_of(value)}"


def runs_of(cells: Sequence[PlannedCell], seeds: Sequence[int]) -> list[PlannedRun]:
    """Return all runs, the first seed of every cell before the second of any."""
    return [
        PlannedRun(
            name=f"{folder_name(cell.name)},seed={seed}",
            cell=cell.name,
            seed=seed,
            preset=cell.preset,
            settings={k: v.replace(SEED_IN_TEXT, str(seed)) for k, v in cell.settings.items()},
            point=cell.point,
        )
        for seed in seeds
        for cell in cells
    ]


def folder_name(cell: str) -> str:
    """Return a cell's name with the characters that a path may have."""
    safe = re.sub(r"[^A-Za-z0-9_.=,+-]+", "-", cell.replace(", ", ",")).lstrip(".-") or "cell"
    return safe if len(safe) <= MAX_NAME else f"{safe[:MAX_NAME]}-{sha256(cell.encode()).hexdigest()[:6]}"


def check_sweep(config: SweepConfig) -> list[PlannedCell]:
    """Return the cells of a sweep; of ranges, those at their corners.

    It loads the preset of each under its settings. Raises :class:`PresetError` with every mistake, each once.
    """
    count = run_count(config)
    if count > MAX_RUNS:
        raise PresetError(f"{config.source}: {count:,} runs; expected at most {MAX_RUNS:,}")
    cells = planned_cells(config, corner_points(config.random))
    names = [c.name for c in planned_cells(config, known_points(config))]
    problems = cell_problems(config, names)
    for cell in cells:
        problems += _cell_problems(config, cell)
    folders = [folder_name(n) for n in names]
    if len(set(folders)) < len(folders):
        twice = next(f for f in folders if folders.count(f) > 1)
        text = f"cells: two have the folder {twice}; expected other names"
        problems.append(Problem("cells", text, where=(config.source,)))
    if problems:
        raise PresetError(*unlike(problems))
    return cells


def corner_points(space: Mapping[str, Range]) -> list[dict[str, Value]]:
    """Return points at which every range is at each of its corners once, the others at their first."""
    first = {path: r.corners()[0] for path, r in space.items()}
    points = [{**first, path: corner} for path, r in space.items() for corner in r.corners()]
    return [p for i, p in enumerate(points) if p not in points[:i]]


def _cell_problems(config: SweepConfig, cell: PlannedCell) -> list[Problem]:
    try:
        loaded = loaded_run(runs_of([cell], config.seeds[:1])[0])
    except PresetError as error:
        return [_in_file(config, problem, cell) for problem in error.problems]
    run, evaluation, cluster = loaded.preset.run, loaded.preset.evaluation, loaded.preset.cluster
    found = []
    if cluster.rollouts:
        found.append(Problem("cluster.rollouts", value=cluster.rollouts, expected="0 in a sweep"))
    if cluster.members != "turns":
        found.append(Problem("cluster.members", value=cluster.members, expected='"turns" in a sweep'))
    if evaluation.final_matches == 0:
        wanted = ">= 1; a sweep compares final matches"
        found.append(Problem("evaluation.final_matches", value=0, expected=wanted))
    if not run.max_steps and not run.max_minutes:
        text = "run.max_steps = 0, run.max_minutes = 0: expected a budget above 0"
        found.append(Problem("run.max_steps", text))
    return [problem.within(origin_of(config, problem.path, cell.base)) for problem in found]


def loaded_run(run: PlannedRun) -> LoadedPreset:
    """Return the checked preset of a run. Raises :class:`PresetError`."""
    loaded = load_preset(run.preset, {**run.settings, "run.seed": str(run.seed)})
    check_game(loaded)
    return loaded


def _in_file(config: SweepConfig, problem: Problem, cell: PlannedCell) -> Problem:
    """Return a problem of a run's setting as one of the sweep file's table."""
    place = problem.where[0] if problem.where else ""
    if not isinstance(place, Setting):
        return problem.within(config.source, "preset")
    where = (origin_of(config, place.path, cell.base), *problem.where[1:])
    return msgspec.structs.replace(problem, where=where)
