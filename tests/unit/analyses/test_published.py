"""Published records of analyses: their tables follow from their lines, and each has its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.analyses.page import render
from ludus.analyses.registry import ANALYSES, read_checked

FOLDER = Path(__file__).parents[3] / "benchmarks" / "results" / "analyses"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_a_published_analysis_follows_from_its_lines(path: Path) -> None:
    analysis, record = read_checked(path)
    assert path.stem.startswith(analysis.name)
    assert record.complete
    assert not any(run.strip().startswith("/") for run in record.run.split(","))
    assert f"<h1>{analysis.title}" in render(analysis, record)


def test_every_analysis_is_published() -> None:
    assert {read_checked(path)[1].name for path in FOLDER.glob("*.json")} == set(ANALYSES)
