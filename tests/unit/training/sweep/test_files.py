"""Sweep files: what they plan, and how their mistakes are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.cli import __main__ as cli
from ludus.presets.file import PresetError
from ludus.sweep.config import SweepConfig, preset_hashes, read_sweep
from ludus.sweep.plan import (
    PlannedRun,
    check_sweep,
    corner_points,
    known_points,
    loaded_run,
    planned_cells,
    runs_of,
)
from ludus.sweep.ranges import Range, draw
from tests.unit.preset_choice import need

SHIPPED = Path(__file__).parents[4] / "sweeps"
HEAD = 'preset = "tic_tac_toe"\nseeds = 2\n'


def read(folder: Path, text: str) -> SweepConfig:
    path = folder / "s.toml"
    path.write_text(text)
    return read_sweep(str(path))


def planned(config: SweepConfig) -> list[PlannedRun]:
    check_sweep(config)
    return runs_of(planned_cells(config, known_points(config)), config.seeds)


def test_runs_are_cells_times_grid_times_seeds(tmp_path: Path) -> None:
    text = HEAD + (
        "[settings]\nrun.max_steps = 3000\npool.slots = 32\n"
        "[grid]\nalgorithm.epochs = [1, 2]\npolicy.hidden = [[8], [8, 8]]\n"
        '[cells.sync]\nrun.lag = "sync"\n[cells.free]\npool.slots = 64\n'
    )
    runs = planned(read(tmp_path, text))
    assert len(runs) == 2 * 2 * 2 * 2
    assert len({r.name for r in runs}) == len(runs)
    assert [r.seed for r in runs] == [1] * 8 + [2] * 8  # every cell once, before any twice
    assert runs[0].cell == "sync, epochs=1, hidden=8"
    last = loaded_run(runs[-1]).preset
    assert runs[-1].cell == "free, epochs=2, hidden=8,8"
    assert (last.run.seed, last.run.max_steps, last.pool.slots) == (2, 3000, 64)
    assert (last.policy.hidden, last.algorithm.epochs) == ((8, 8), 2)  # type: ignore[union-attr, attr-defined]
    assert loaded_run(runs[0]).preset.run.lag == "sync"
    assert loaded_run(runs[0]).preset.pool.slots == 32


def test_runs_have_one_thread_and_are_measured_by_their_last_weights(tmp_path: Path) -> None:
    preset = loaded_run(planned(read(tmp_path, HEAD))[0]).preset
    assert (preset.run.threads, preset.evaluation.every_steps, preset.evaluation.matches) == (1, 0, 0)
    text = HEAD + "[settings]\nrun.threads = 2\nevaluation.every_steps = 100\nevaluation.matches = 3\n"
    preset = loaded_run(planned(read(tmp_path, text))[0]).preset
    assert (preset.run.threads, preset.evaluation.every_steps, preset.evaluation.matches) == (2, 100, 3)


def test_a_cell_may_have_its_own_preset_beside_the_sweep(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[game]\nname = "connect_four"\n[run]\nmax_steps = 77\n')
    text = HEAD + '[cells.a]\npreset = "mine.toml"\n[cells.b]\nrun.max_steps = 5\n'
    config = read(tmp_path, text)
    a, b = (loaded_run(r).preset for r in planned(config)[:2])
    assert (a.game.name, a.run.max_steps, b.game.name, b.run.max_steps) == (
        "connect_four",
        77,
        "tic_tac_toe",
        5,
    )
    assert set(preset_hashes(config)) == {str(tmp_path / "mine.toml"), "tic_tac_toe"}


def test_seeds_are_a_number_or_a_list(tmp_path: Path) -> None:
    text = 'preset = "tic_tac_toe"\nseeds = [7, 3]\n[settings]\ntitle = "with {seed}"\n'
    runs = planned(read(tmp_path, text))
    assert [(r.seed, loaded_run(r).preset.title) for r in runs] == [(7, "with 7"), (3, "with 3")]


def test_points_lie_in_their_ranges(tmp_path: Path) -> None:
    text = HEAD + (
        "count = 40\nsearch_seed = 5\n[random]\n"
        "algorithm.learning_rate = { log_uniform = [1e-4, 1e-2] }\n"
        "algorithm.discount = { uniform = [0.9, 0.99] }\n"
        "algorithm.epochs = { integer = [1, 3] }\n"
        "policy.dense = { choice = [[8], [16, 16]] }\n"
    )
    config = read(tmp_path, text)
    points = known_points(config)
    runs = planned(config)
    assert len(runs) == 80
    assert runs[0].cell == "point=0"
    rates = [float(p["algorithm.learning_rate"]) for p in points]  # type: ignore[arg-type]
    assert all(1e-4 <= r <= 1e-2 for r in rates)
    assert 8 < sum(r < 1e-3 for r in rates) < 32  # half of them, by the logarithm
    assert {p["algorithm.epochs"] for p in points} == {1, 2, 3}
    assert {str(p["policy.dense"]) for p in points} == {"[8]", "[16, 16]"}
    assert all(0.9 <= float(p["algorithm.discount"]) <= 0.99 for p in points)  # type: ignore[arg-type]
    assert points[:3] == [draw(config.random, 5, i) for i in range(3)]
    assert points != [draw(config.random, 6, i) for i in range(40)]


def test_ranges_are_checked_at_their_corners() -> None:
    space = {"a": Range("uniform", (1.0, 2.0)), "b": Range("choice", ("x", "y", "z"))}
    assert corner_points(space) == [
        {"a": 1.0, "b": "x"},
        {"a": 2.0, "b": "x"},
        {"a": 1.0, "b": "y"},
        {"a": 1.0, "b": "z"},
    ]


RATE = "algorithm.learning_rate"
MISTAKES = {
    "seeds = 2": "missing preset: expected a non-empty string",
    'preset = "tic_tac_toe"': "missing seeds: expected a value",
    HEAD + "sedes = 3": "unknown key sedes (did you mean seeds?)",
    HEAD.replace("2", "0"): "seeds = 0: expected a number of seeds >= 1, or a list of different seeds >= 0",
    HEAD.replace("2", "[]"): "seeds = []: expected a number of seeds >= 1, or a list",
    HEAD.replace("2", "[1, 1]"): "seeds = [1, 1]: expected a number of seeds >= 1, or a list of different",
    HEAD.replace("2", "true"): "seeds = true: expected a number",
    HEAD + "workers = -1": "workers = -1: expected an integer >= 0",
    HEAD + 'search = "tpa"\n': 'search = "tpa": expected one of random, tpe (did you mean tpe?)',
    HEAD.replace("tac", "tak"): "preset: tic_tak_toe: no such preset or game (did you mean tic_tac_toe?)",
    HEAD + f"[grid]\n{RATE} = []": f"grid.{RATE} = []: expected a list of at least one value",
    HEAD + f"[grid]\n{RATE} = 1e-3": f"grid.{RATE} = 0.001: expected a list of at least one value",
    HEAD + "[grid]\nrun.lag = ['sync', 'sync']": "grid.run.lag = ['sync', 'sync']: expected different values",
    HEAD + "[grid]\nalgorithm.learnin_rate = [1e-3]": (
        "grid: unknown key algorithm.learnin_rate (did you mean learning_rate?)"
    ),
    HEAD + f"[grid]\n{RATE} = [1e-3, -1.0]": f"grid: {RATE} = -1.0: expected a number > 0",
    HEAD + "[grid]\nalgorithm.search.visits = [10]": (
        'grid: algorithm.search: this key needs algorithm.name = "alphazero", here it is "appo"'
    ),
    HEAD + "[grid]\nrun.seed = [1, 2]": "grid.run.seed: expected the seeds in the key seeds",
    HEAD + "[settings]\nrun.max_stepz = 1": "settings: unknown key run.max_stepz (did you mean max_steps?)",
    HEAD + "[settings]\ngame.params.siz = 1": "settings: unknown parameter game.params.siz",
    HEAD + "[settings]\nopponents.0.name = 'perfekt'": "settings: opponents.0.name: unknown bot perfekt",
    HEAD + "[settings]\npool.slots = 8\n[grid]\npool.slots = [8]": (
        "grid.pool.slots: set in settings too; expected one of them"
    ),
    HEAD + "[settings]\nevaluation.final_matches = 0": (
        "settings: evaluation.final_matches = 0: expected >= 1; a sweep compares final matches"
    ),
    HEAD + "[settings]\nrun.max_steps = 0": (
        "settings: run.max_steps = 0, run.max_minutes = 0: expected a budget above 0"
    ),
    HEAD + "[cells.a]\npool.slot = 3": "cells.a: unknown key pool.slot (did you mean slots?)",
    HEAD + "[cells.a]\npreset = 'minirst'": "preset: minirst: no such preset or game (did you mean minirts?)",
    HEAD + 'baseline = "b"\n[cells.a]\n[cells.bb]': (
        'baseline = "b": expected the name of a cell (did you mean bb?)'
    ),
    HEAD + f"[random]\n{RATE} = {{ uniform = [1e-4, 1e-2] }}": (
        "count = 0: expected how many points are drawn from the ranges of [random]"
    ),
    HEAD + "count = 3": "count = 3: expected ranges in [random] to draw from",
    HEAD + f"count = 1\n[random]\n{RATE} = {{ uniform = [1e-2, 1e-2] }}": (
        f"random.{RATE}.uniform = [0.01, 0.01]: expected two numbers, low < high"
    ),
    HEAD + f"count = 1\n[random]\n{RATE} = {{ log_uniform = [0, 1] }}": (
        f"random.{RATE}.log_uniform = [0, 1]: expected two numbers, low < high, low > 0"
    ),
    HEAD + "count = 1\n[random]\nalgorithm.epochs = { integer = [1, 2.5] }": (
        "random.algorithm.epochs.integer = [1, 2.5]: expected two integers, low < high"
    ),
    HEAD + f"count = 1\n[random]\n{RATE} = {{ unifrom = [1e-4, 1e-2] }}": (
        f"random.{RATE}.unifrom: expected a table with one of uniform, log_uniform, integer, choice "
        "(did you mean uniform?)"
    ),
    HEAD + "count = 1\n[random]\npolicy.dense = { choice = [] }": (
        "random.policy.dense.choice = []: expected a list of at least one value"
    ),
    HEAD + "count = 1\n[random]\nalgorithm.discount = { uniform = [0.5, 1.5] }": (
        "random: algorithm.discount = 1.5: expected"
    ),
    HEAD + 'search = "tpe"': 'search = "tpe": expected ranges in [random] to search in',
    HEAD + 'search = "tpe"\ncount = 2\n[random]\nalgorithm.epochs = { integer = [1, 2] }\n[cells.a]': (
        'search = "tpe": expected no [grid] and no [cells]'
    ),
    HEAD + "[cells.'a b']\n[cells.'a:b']": "cells: two have the folder a-b; expected other names",
    HEAD + "[cells.'a/b']": "cells.'a/b': expected a name without slashes",
    "preset = [": "not valid TOML",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_one_line_and_leave_no_directory(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(text)
    assert cli.main(["sweep", "s.toml", "--run-dir", "out"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1, err
    assert err.startswith("s.toml: ")
    assert MISTAKES[text] in err
    assert not Path("out").exists()


def test_a_missing_sweep_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(PresetError, match="no such file; expected a sweep file"):
        read_sweep(str(tmp_path / "x.toml"))
    with pytest.raises(PresetError, match="is a folder"):
        read_sweep(str(tmp_path))


def test_options_set_settings_of_all_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.toml"
    path.write_text(HEAD + "[grid]\nrun.lag = ['sync', 'async']\n[cells.a]\nrun.max_steps = 9\n[cells.b]")
    assert cli.main(["sweep", str(path), "--run.max-steps", "123", "--explain"]) == 0
    shown = capsys.readouterr().out
    assert "run.max_steps=123" in shown.splitlines()[-1]
    assert "b,lag=async,seed=2" in shown
    assert "run.max_steps=9" not in shown
    assert cli.main(["sweep", str(path), "--run.max-stepz", "123"]) == 2
    assert "settings: unknown key run.max_stepz (did you mean max_steps?)" in capsys.readouterr().err


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.toml")), ids=lambda p: p.stem)
def test_shipped_sweeps_are_valid_and_their_cells_differ(path: Path) -> None:
    config = read_sweep(str(path))
    need(config.preset)
    check_sweep(config)
    cells = planned_cells(config, known_points(config))
    presets = [loaded_run(run).preset for run in runs_of(cells, config.seeds[:1])]
    assert all(a != b for i, a in enumerate(presets) for b in presets[:i])
    assert config.title
    assert config.seeds


def test_every_shipped_sweep_is_tested() -> None:
    assert len(list(SHIPPED.glob("*.toml"))) >= 9
