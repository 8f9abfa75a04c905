"""Data sets: recorded matches of one game as files, to learn from and to measure with."""

from __future__ import annotations

from ludus.datasets.dataset import DataSet, RecordedMatch
from ludus.datasets.errors import DataSetError

__all__ = ["DataSet", "DataSetError", "RecordedMatch"]
