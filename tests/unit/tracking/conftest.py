"""A small run that all tests of trackers read."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.training.runs import start_run
from tests.unit.training.runs import small_preset


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished run, which no test changes."""
    path = tmp_path_factory.mktemp("trained") / "small"
    start_run(small_preset(), path)
    return path
