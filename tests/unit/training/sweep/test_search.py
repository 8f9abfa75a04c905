"""Searches with Optuna: points in their ranges, better ones with time, equal ones from equal results."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ludus.cli import __main__ as cli
from ludus.sweep.ranges import Range
from ludus.sweep.search import Trial, ask

TPE = """
preset = "tic_tac_toe"
seeds = 1
search = "tpe"
count = 4
[random]
algorithm.epochs = { integer = [1, 3] }
"""
SPACE = {
    "rate": Range("log_uniform", (1e-4, 1e-1)),
    "size": Range("integer", (1, 4)),
    "share": Range("uniform", (0.0, 1.0)),
    "widths": Range("choice", ([8], [16, 16], [32])),
}


def test_without_optuna_the_extra_is_named_and_nothing_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    (tmp_path / "s.toml").write_text(TPE)
    out = tmp_path / "out"
    assert cli.main(["sweep", str(tmp_path / "s.toml"), "--run-dir", str(out)]) == 2
    assert (
        "needs optuna, which is not installed: pip install '.[sweep]' in the clone of Ludus"
        in capsys.readouterr().err
    )
    assert not out.exists()


def tried(count: int, seed: int) -> list[Trial]:
    """Run a search for small ``share`` and the widths [16, 16]."""
    found: list[Trial] = []
    for _ in range(count):
        point = ask(SPACE, found, seed)
        share = point["share"]
        assert isinstance(share, float)
        found.append((point, -share + (point["widths"] == [16, 16])))
    return found


def test_points_lie_in_their_ranges_and_get_better() -> None:
    pytest.importorskip("optuna")
    found = tried(60, seed=1)
    for point, _ in found:
        assert 1e-4 <= float(point["rate"]) <= 1e-1  # type: ignore[arg-type]
        assert point["size"] in (1, 2, 3, 4)
        assert isinstance(point["size"], int)
        assert point["widths"] in ([8], [16, 16], [32])
    results = [result for _, result in found if result is not None]
    early, late = sum(results[:10]) / 10, sum(results[-20:]) / 20
    assert late > early + 0.4


def test_the_next_point_depends_on_known_results_alone() -> None:
    pytest.importorskip("optuna")
    known = tried(12, seed=1)
    assert ask(SPACE, known, 1) == ask(SPACE, known, 1)
    assert ask(SPACE, known, 1) != ask(SPACE, known, 2)
    other = [(point, -(result or 0.0)) for point, result in known]
    assert ask(SPACE, known, 1) != ask(SPACE, other, 1)
    unknown: list[Trial] = [*known, (known[0][0], None), (known[1][0], float("nan"))]
    assert set(ask(SPACE, unknown, 1)) == set(SPACE)
