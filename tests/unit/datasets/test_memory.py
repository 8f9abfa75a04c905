"""Imports need memory for a part of the records only, whatever their number."""

from __future__ import annotations

import hashlib
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from ludus.datasets import order, staging, walk, writer
from ludus.datasets.content import ReadMatch
from ludus.datasets.manifest import Manifest, SplitRule
from ludus.datasets.order import ROW, Rows, ordered
from ludus.datasets.shards import StoredMatch
from ludus.datasets.staging import Cursor, StagedSetup, Staging
from ludus.datasets.walk import files_of
from ludus.datasets.writer import Finishing, finish


def _rows(count: int, keys: int, seed: int = 1) -> Iterator[Rows]:
    """Yield random rows, a hundred at a time, with so many keys; each has its own above 1,000."""
    draw = np.random.default_rng(seed)
    known = draw.integers(0, 1 << 64, (min(keys, 1000), 2), dtype=np.uint64)
    for start in range(0, count, 100):
        rows = np.zeros(min(100, count - start), ROW)
        rows["digest"] = draw.integers(0, 1 << 64, (len(rows), 4), dtype=np.uint64)
        rows["key"] = draw.integers(0, 1 << 64, (len(rows), 2), dtype=np.uint64)
        if keys <= len(known):
            rows["key"] = known[draw.integers(0, keys, len(rows))]
        rows["poor"] = draw.integers(0, 4, len(rows))
        rows["row"] = np.arange(start, start + len(rows))
        yield rows


@pytest.mark.parametrize("keys", [1, 30, 100_000])
@pytest.mark.parametrize("held", [16, 1 << 15])
def test_the_order_is_that_of_one_sort(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: int, held: int
) -> None:
    monkeypatch.setattr(order, "_ROWS", held)
    best: dict[bytes, tuple[int, bytes, int]] = {}
    for row in np.concatenate([rows.astype(ROW) for rows in _rows(950, keys)]).astype(ROW):
        key, found = row["key"].tobytes(), (int(row["poor"]), row["digest"].tobytes(), int(row["row"]))
        best[key] = min(found, best.get(key, found))
    expected = sorted((digest, number) for _, digest, number in best.values())
    made = ordered(tmp_path, 950, _rows(950, keys))
    kept = [(row["digest"].tobytes(), int(row["row"])) for rows in made.pieces() for row in rows]
    assert kept == expected
    assert (made.matches, made.repeated) == (len(expected), 950 - len(expected))
    assert [path.name for path in tmp_path.iterdir()] == ["order"]


def _peak(work: Callable[[], object]) -> int:
    """Return the largest memory of ``work`` in bytes beyond what was there before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("keys", [1, 100_000])
def test_sorting_needs_as_much_memory_for_more_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: int
) -> None:
    monkeypatch.setattr(order, "_ROWS", 1000)
    peaks = []
    for count in (1000, 5000, 40_000):
        (tmp_path / str(count)).mkdir()
        rows = _rows(count, keys)
        peaks.append(_peak(lambda folder=tmp_path / str(count), n=count, r=rows: ordered(folder, n, r)))  # type: ignore[misc]
    assert peaks[2] < 1.5 * peaks[1] + 100_000
    assert peaks[2] < 40_000 * ROW.itemsize / 2


def _staged(folder: Path, first: int, count: int) -> Staging:
    """Add matches that were never played."""
    staged = Staging(folder, StagedSetup("test"))
    if not staged.setup.game:
        staged.decide("go", 1, "0" * 16, 2)
    for number in range(first, first + count):
        digest = hashlib.sha256(str(number).encode()).digest()
        stored = StoredMatch(digest * 20, (9, 9), (1.0, -1.0), "B+R", 20000101 + number % 9, 0, 0)
        if staged.add(ReadMatch(stored, {"size": str(number % 3)}, digest, digest[:16])):
            staged.flush(Cursor(records=number + 1), [])
    staged.flush(Cursor(records=first + count), [])
    return staged


@pytest.mark.parametrize("by", ["match", pytest.param("date", marks=pytest.mark.slow)])
def test_an_import_that_continues_needs_as_much_memory_for_more_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    monkeypatch.setattr(staging, "_MOST_ROWS", 100)
    monkeypatch.setattr(writer, "TARGET_BYTES", 64_000)
    monkeypatch.setattr(writer, "_MOST_MATCHES", 200)
    monkeypatch.setattr(order, "_ROWS", 100)
    said = Finishing(SplitRule("date" if by == "date" else "match"), "")
    made: dict[tuple[int, bool], Manifest] = {}

    def work(count: int, cut: bool) -> None:
        folder = tmp_path / f"{count} {cut}"
        if cut:
            _staged(folder, 0, count // 2).close()
            (folder / "parts" / "order").mkdir()
            (folder / "parts" / "order" / "key-0000").write_bytes(b"of a call that was killed")
        first = count // 2 if cut else 0
        made[count, cut] = finish(folder, _staged(folder, first, count - first), said)

    work(100, True)  # what is made once a process
    few, many = (_peak(lambda n=n: work(n, True)) for n in (400, 1500))  # type: ignore[misc]
    assert many < few + 320_000  # Python keeps some thousand tuples
    work(400, False)
    assert made[400, True].sha256 == made[400, False].sha256
    assert made[400, True].held_out == made[400, False].held_out > 0
    assert len(made[1500, True].shards) > 10


def test_a_folder_of_many_files_is_read_some_names_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = sorted((f"{number * 7919 % 101}.sgf" for number in range(100)), key=str.encode)
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / "50.sgf.d").mkdir()
    (tmp_path / "50.sgf.d" / "in.ludus").touch()
    whole = list(files_of([tmp_path]))
    assert [file.name for file in whole if "/" not in file.name] == names
    for most in (1, 7, 102):
        monkeypatch.setattr(walk, "_MOST_NAMES", most)
        assert list(files_of([tmp_path])) == whole
