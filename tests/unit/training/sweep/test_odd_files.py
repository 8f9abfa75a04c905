"""Reports of runs whose files hold what no run writes: one line for each; the others are reported."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ludus.cli import __main__ as cli
from ludus.flow.inputs.decode import to_json
from ludus.reporting.metrics import metrics_of, metrics_row
from ludus.storage.run_info import RunInfo
from ludus.storage.rundir import RunDirectory
from ludus.sweep.plan import known_points, planned_cells, runs_of
from ludus.web.serve import runs as pages
from ludus.web.serve.library import Library
from tests.unit.training.sweep.test_directory import opened
from tests.unit.training.sweep.test_report import evaluation, update

CONFIG = """title = "odd"

[game]
name = "tic_tac_toe"

[pool]
slots = 16
groups = 2

[algorithm]
name = "appo"
learning_rate = 1e-3

[run]
max_steps = 1000
"""
ODD: list[Any] = [
    None, True, -1, 0, 2**31, 2**53 + 1, 2**63, 2**64, 10**19, -(2**64), 1e300, -1e300, 1e308, 0.5,
    "best", "", "nan", "1e400", "\x1b[31m", [], [[]], {}, {"a": 1}, "x" * 5000,
]  # fmt: skip
ODD_TOML = [
    '"best"', "[]", "1979-05-27", "1e400", "nan", "-inf", "{}", "-1", "true", "07:32:00", "9" * 30,
    '""', "[[1]]",
]  # fmt: skip


def make_run(path: Path, seed: int = 1) -> RunDirectory:
    info = RunInfo(1, "0.1.0", "tic_tac_toe", "0" * 16, seed, "2026-01-01T00:00:00Z", ("ludus", "train", "x"))
    run = RunDirectory.create(path, CONFIG, info)
    metrics: list[Any] = [update(100 * k, 30 + k, 10) for k in range(1, 5)]
    run.metrics_path.write_bytes(b"".join(to_json(metrics_row(m)) + b"\n" for m in metrics))
    run.add_event("started")
    run.add_event("finished", reason="max_steps", best=4)
    with run.metrics_path.open("ab") as file:
        file.write(to_json(metrics_row(evaluation(400, 0.7, final=True))) + b"\n")
    run.matches.write_bytes(b'{"match": 1, "players": ["a", "b"], "outcome": [1, -1], "ticks": 9}\n')
    run.add_result({"against": "random", "win_rate": 0.5})
    return run


def run_of_sweep(folder: Path) -> tuple[Path, RunDirectory]:
    """Return a sweep of four finished runs, and the first of them."""
    sweep = opened(folder)
    settings = sweep.info().config
    cells = planned_cells(settings, known_points(settings))
    found = [make_run(sweep.run(r.name).path, n) for n, r in enumerate(runs_of(cells, settings.seeds))]
    return sweep.path, found[0]


def command(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = cli.main(list(words))
    out, err = capsys.readouterr()
    assert "internal error" not in err, err
    assert "Traceback" not in err, err
    return code, out, err


@pytest.mark.parametrize("value", ODD_TOML)
def test_an_odd_setting_is_one_line(value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path / "a")
    run.config.write_text(CONFIG.replace("slots = 16", f"slots = {value}"))
    code, _, err = command("report", str(run.path), capsys=capsys)
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert str(run.config) in err
    assert "slots" in err or value.startswith("9")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda row: row["outcomes"].update(simple=[2**64 - 1, 0, 0]), "outcomes"),
        (lambda row: row["outcomes"].update(simple=[-1, 0, 0]), "outcomes"),
        (lambda row: row["outcomes"].update(simple=["3", 0, 0]), "outcomes"),
        (lambda row: row.update(steps=-5), "steps"),
        (lambda row: row.update(matches=2**63), "matches"),
        (lambda row: row.update(lag={"0": -1}), "lag"),
        (lambda row: row.update({"loss/value": "nan"}), "numbers"),
        (lambda row: row.update({"loss/value": 1e301}), "numbers"),
        (lambda row: row.update(progress="nan"), "progress"),
    ],
)
def test_an_odd_row_is_one_line_and_the_other_runs_are_reported(
    change: Callable[[dict[str, Any]], object],
    place: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, run = run_of_sweep(tmp_path)
    lines = run.metrics_path.read_text().splitlines()
    row = json.loads(lines[1])
    change(row)
    run.metrics_path.write_text("\n".join([lines[0], json.dumps(row), *lines[2:]]) + "\n")
    code, out, err = command("report", str(run.path), capsys=capsys)
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert re.search(rf"{re.escape(str(run.metrics_path))}:2: .*{place}", err), err
    code, out, err = command("report", str(folder), capsys=capsys)
    assert code == 2
    assert f"left out: {run.metrics_path}:2: " in err
    assert "of 4 runs are finished" in out
    assert err.count("left out: ") == 1
    assert "## Left out" in (folder / "report.md").read_text()


def test_a_row_is_read_as_it_was_written() -> None:
    for metrics in (update(100, 30, 10), evaluation(400, 0.7, final=True)):
        assert metrics_of(json.loads(json.dumps(metrics_row(metrics)))) == metrics


# ---- any value of any file -------------------------------------------------------------------------


def spoiled(data: bytes, name: str, rng: random.Random) -> bytes:
    """Return ``data`` with one odd value, or with a part missing or doubled."""
    if rng.random() < 0.1:
        cut = rng.randrange(len(data) + 1)
        return rng.choice([data[:cut], data[cut:], data + data[:cut], data[:cut] + b"\xff\x00" + data[cut:]])
    lines = data.decode().splitlines()
    if name.endswith(".toml"):
        at = rng.choice([i for i, line in enumerate(lines) if "=" in line])
        lines[at] = f"{lines[at].partition('=')[0]}= {rng.choice(ODD_TOML)}"
    else:
        jsonl = name.endswith(".jsonl")
        at = rng.randrange(len(lines)) if jsonl else 0
        document = json.loads(lines[at] if jsonl else data)
        _replace(document, rng)
        text = json.dumps(document).replace("1e+308", "1e400")
        lines = [*lines[:at], text, *lines[at + 1 :]] if jsonl else [text]
    return ("\n".join(lines) + "\n").encode()


def _replace(document: Any, rng: random.Random) -> None:  # noqa: ANN401
    """Replace, remove or rename one value somewhere in ``document``."""
    places: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        value = waiting.pop()
        keys = (
            list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
        )
        places += [(value, key) for key in keys]
        waiting += [value[key] for key in keys]
    owner, key = rng.choice(places)
    if isinstance(owner, dict) and rng.random() < 0.15:
        owner[rng.choice(["", "x/y", "-1", "9" * 30])] = owner.pop(key)
    else:
        owner[key] = rng.choice(ODD)


def read_pages(root: Path) -> None:
    """Read what ``ludus serve`` shows of the runs below ``root``."""
    for run in Library(root).runs().values():
        shown = pages.page_of(run)
        to_json((pages.line_of(run), shown))
        to_json(pages.curves_of(run, ["loss/value", "eval/simple/win_rate"], "steps", 10))


def fuzz(folder: Path, capsys: pytest.CaptureFixture[str], count: int, seed: int) -> None:
    rng = random.Random(seed)
    sweep, run = run_of_sweep(folder)
    whole = {p: p.read_bytes() for p in sorted(run.path.rglob("*")) if p.is_file() and p.stat().st_size}
    whole = {p: data for p, data in whole.items() if p.suffix in (".json", ".jsonl", ".toml")}
    assert {p.name for p in whole} >= {"config.toml", "run.json", "metrics.jsonl", "events.jsonl"}
    for number in range(count):
        path = rng.choice(list(whole))
        path.write_bytes(spoiled(whole[path], path.name, rng))
        try:
            code, _, err = command("report", str(run.path), capsys=capsys)
            assert code in (0, 2), err
            assert code == 0 or len(err.strip().splitlines()) == 1, err
            code, out, err = command("report", str(sweep), capsys=capsys)
            assert code in (0, 2), err
            assert "of 4 runs are finished" in out
            read_pages(folder)
        except Exception as error:
            kept = folder.parent / f"spoiled-{number}{path.suffix}"
            shutil.copy(path, kept)
            raise AssertionError(f"seed {seed}, number {number}: {path.name} as in {kept}") from error
        path.write_bytes(whole[path])


def test_no_value_of_a_runs_files_ends_in_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fuzz(tmp_path, capsys, 25, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_no_value_of_a_runs_files_ends_in_a_traceback_at_length(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fuzz(tmp_path, capsys, 400, seed)
