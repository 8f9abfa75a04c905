"""RunView is the one reader of a run: strict for reports, bounded and lenient while a run trains."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import ludus
from ludus.reporting.columns import Columns
from ludus.reporting.metrics import UpdateMetrics, metrics_row
from ludus.reporting.run_view import Newest, RunView
from ludus.storage import RunDirectory
from ludus.storage.jsonl import TAIL_BYTES

SOURCE = Path(ludus.__file__).parent
BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
FILES = "metrics.jsonl", "events.jsonl"
PATHS = {"metrics_path", "events_path"}
READERS = {"rows_from", "rows_back", "last_rows", "read_jsonl"}
#: A module without any of them names no log: it need not be parsed, which is slow.
WORDS = {"jsonl", *PATHS, *READERS}
#: The view, the layout of a run with its writers, and what the view is made of.
OF_THE_LOGS = {"storage/rundir.py", "storage/last_state.py", "reporting/run_view.py"}
#: Readers of other files of lines: changes of a run, points of a sweep, an import, matches of programs.
OF_LINES = {
    "storage/jsonl.py",
    "storage/__init__.py",
    "reporting/changes.py",
    "sweep/directory.py",
    "datasets/staging.py",
    "gtp/standings.py",
    "throughput/data_import.py",
}


def docstrings(tree: ast.AST) -> set[int]:
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def named(tree: ast.AST) -> Iterator[str]:
    """Yield the names of logs, of their paths and of readers of lines in a module."""
    prose = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield from (name for name in FILES if name in node.value)
        elif isinstance(node, ast.Attribute) and node.attr in PATHS | READERS:
            yield node.attr
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.name for alias in node.names if alias.name in READERS)


def test_only_the_view_and_the_writers_name_the_logs_of_a_run() -> None:
    found: dict[str, set[str]] = {}
    for folder in (SOURCE, BENCHMARKS):
        for path in folder.rglob("*.py"):
            text = path.read_text()
            if any(word in text for word in WORDS) and (names := set(named(ast.parse(text)))):
                found[path.relative_to(folder).as_posix()] = names
    logs = {path for path, names in found.items() if names - READERS}
    assert logs == OF_THE_LOGS
    assert set(found) - OF_THE_LOGS <= OF_LINES
    assert "metrics.jsonl" in set(named(ast.parse('read(run / "metrics.jsonl")')))


def test_the_view_loads_no_torch() -> None:
    code = "import sys, ludus.reporting.run_view; print('torch' in sys.modules)"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout == "False\n"


def update(steps: int, player: str = "", **numbers: float) -> bytes:
    scalars = {name.replace("__", "/"): value for name, value in numbers.items()}
    return line(metrics_row(UpdateMetrics(1, steps, steps, 0, 0, 0.5, scalars, player=player)))


def line(row: dict[str, object]) -> bytes:
    return msgspec.json.encode(row) + b"\n"


@pytest.fixture
def view(tmp_path: Path) -> RunView:
    return RunView(RunDirectory(tmp_path))


def points(columns: Columns, name: str) -> list[tuple[float, float]]:
    steps, (values,) = columns.table(("steps", name))
    return list(zip(steps.tolist(), values.tolist(), strict=True))


def test_columns_continue_where_they_ended(view: RunView) -> None:
    view.source.write_bytes(update(100, loss__value=1.0) + update(200, lag__mean=0.0))
    columns = view.columns(["loss/value"])
    first = columns.read()
    assert points(columns, "loss/value") == [(100.0, 1.0)]
    assert columns.offset == view.source.stat().st_size
    assert columns.read() == first
    with view.source.open("ab") as file:
        file.write(update(300, loss__value=3.0) + b'{"torn')
    assert columns.read() > first
    assert points(columns, "loss/value") == [(100.0, 1.0), (300.0, 3.0)]
    assert columns.offset == view.source.stat().st_size - len(b'{"torn')


def test_columns_of_a_log_that_was_cut_are_read_again(view: RunView) -> None:
    """A resume cuts the log at its checkpoint and writes on, so that it may be longer by the next look."""
    kept, lost = update(100, loss__value=1.0), update(200, loss__value=2.0)
    view.source.write_bytes(kept + lost)
    columns = view.columns(["loss/value"])
    seen, stamp = columns.read(), columns.stamp
    for later in (b"", update(200, loss__value=9.0), update(150, loss__value=8.0) * 3):
        view.source.write_bytes(kept + later)
        assert columns.read() > seen
        assert columns.stamp != stamp
        assert points(columns, "loss/value")[0] == (100.0, 1.0)
        assert 2.0 not in [value for _, value in points(columns, "loss/value")]
        view.source.write_bytes(kept + lost)
        seen = columns.read()
        assert columns.stamp == stamp


def test_a_value_that_is_no_number_is_left_out_of_columns(view: RunView) -> None:
    rows: list[dict[str, object]] = [
        {"steps": 100, "a/b": "text", "c/d": 1},
        {"steps": 200, "a/b": True, "c/d": 2.5},
        {"steps": 300, "a/b": None, "c/d": 3},
        {"steps": 400, "a/b": 10**19, "deep": [[1] * 100]},
        {"steps": 500, "a/b": 1e308, "initial": True},
        {"steps": None, "a/b": 7.0},
    ]
    view.source.write_bytes(b"".join(map(line, rows)) + b'{"steps":600,"a/b":NaN}\n' + update(700, a__b=1.0))
    columns = view.columns(["a/b", "c/d", "steps", "initial", "a/b"])
    columns.read()
    steps, (first, second) = columns.table(("steps", "a/b", "c/d"))
    assert steps.tolist()[:4] == [100.0, 200.0, 300.0, 400.0]
    assert second.tolist()[:3] == [1.0, 2.5, 3.0]
    assert first.tolist()[3:] == [1e19, 7.0]
    assert len(steps) == 5


def test_a_damaged_line_ends_columns_and_is_skipped_in_the_newest_rows(view: RunView) -> None:
    view.source.write_bytes(update(100, a__b=1.0) + b"\xff{\n" + update(200, a__b=2.0))
    columns = view.columns(["a/b"])
    columns.read()
    assert points(columns, "a/b") == [(100.0, 1.0)]
    assert columns.offset == len(update(100, a__b=1.0))
    assert view.newest() == Newest(200)
    assert view.names() == ("a/b",)


@pytest.mark.parametrize("size", [10, 100_000])
def test_evaluations_are_found_from_the_end(size: int, view: RunView) -> None:
    """Also over the ends of the parts in which a file is read, and with a line longer than a part."""
    rows = []
    for number in range(40):
        rows.append(update(number, pad__a=1.0) * 20)
        rows.append(line({"kind": "evaluation", "version": number, "pad": "x" * size}))
    view.source.write_bytes(b"".join(rows) + b'{"kind":"evaluation","version":99')
    found = [row["version"] for row in view.newest_evaluations()]
    assert found == list(reversed(range(40)))


def test_the_newest_steps_of_a_league_are_of_all_its_members(view: RunView) -> None:
    """A member whose last update is far from the end counts too, also after a resume cut the log."""
    league = view.directory.league
    league.touch()
    rest = update(100, "main", time__minutes=1.0) * (TAIL_BYTES // 50)
    view.source.write_bytes(update(500, "exploiter", time__minutes=0.5) + rest)
    assert view.newest() == Newest(600, 1.0)
    with view.source.open("ab") as file:
        file.write(update(200, "main", time__minutes=2.0))
    assert view.newest() == Newest(700, 2.0)
    view.source.write_bytes(update(500, "exploiter", time__minutes=0.5))
    assert view.newest() == Newest(500, 0.5)
    view.source.write_bytes(update(500, "exploiter") + b"damaged\n" + update(300, "main"))
    assert view.newest() == Newest(800)


@pytest.mark.parametrize("kind", ["none", "pipe", "folder"])
def test_a_log_that_is_no_file_is_an_empty_one_while_it_is_shown(kind: str, view: RunView) -> None:
    if kind == "pipe":
        os.mkfifo(view.source)
    elif kind == "folder":
        view.source.mkdir()
    assert view.newest() == Newest()
    assert view.newest_update() is None
    assert view.initial() is None
    assert list(view.evaluations()) == list(view.newest_evaluations()) == []
    columns = view.columns(["a/b"])
    assert (columns.read(), points(columns, "a/b")) == (0, [])
    assert view.names() == ()
    assert view.events(10) == ()


def test_the_last_events_before_a_damaged_line_are_shown(view: RunView) -> None:
    events: list[dict[str, object]] = [{"event": str(number)} for number in range(5)]
    lines = b"".join(map(line, events))
    view.directory.events_path.write_bytes(lines + b"[]\n" + line({"event": "later"}))
    assert view.events(3) == tuple(events[2:])
