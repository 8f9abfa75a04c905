"""Units of work: order of lines, jobs, stops, records on the way; and an analysis that plays no matches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec
import pytest

from ludus.analyses import conduct as module
from ludus.analyses.analysis import UNIT, PreparedAnalysis, TableCurve, WorkUnit
from ludus.analyses.conduct import conduct, new_record
from ludus.analyses.page import render
from ludus.analyses.record import AnalysisRecord, Line, RecordColumn, RecordTable
from ludus.evaluation.settings import NO_HOOKS, MatchHooks
from ludus.games import spec
from ludus.presets.errors import ConfigError


class SquaresAnalysis:
    """An analysis of positions: one line each, no matches."""

    name: ClassVar[str] = "squares"
    title: ClassVar[str] = "Squares"
    curves: ClassVar[tuple[TableCurve, ...]] = (TableCurve(0, "number", ("square",)),)

    @staticmethod
    def tables(lines: Sequence[Line]) -> tuple[RecordTable, ...]:
        rows = tuple((line["number"], line["square"]) for line in lines)
        return (RecordTable("Squares", (RecordColumn("number"), RecordColumn("square", "", 1)), rows),)


def units(count: int, play: Callable[[int], None] = lambda k: None) -> list[WorkUnit]:
    def unit(k: int) -> WorkUnit:
        def lines(hooks: MatchHooks) -> list[Line] | None:
            play(k)
            if hooks.should_stop is not None and hooks.should_stop():
                return None
            return [{UNIT: f"u{k}", "number": k, "square": float(k * k)}]

        return WorkUnit(f"u{k}", 3, lines, plays=False)

    return [unit(k) for k in range(count)]


def prepared(work: list[WorkUnit]) -> PreparedAnalysis:
    return PreparedAnalysis(
        SquaresAnalysis, "RUN", spec("tic_tac_toe"), {}, 1, {"count": len(work)}, {}, work, things="positions"
    )


def numbers(record: AnalysisRecord) -> list[object]:
    return [line["number"] for line in record.lines]


@pytest.mark.parametrize("jobs", [1, 3])
def test_lines_are_in_the_order_of_units_and_units_are_counted(jobs: int) -> None:
    first = threading.Event()

    def play(k: int) -> None:
        if k == 0 and jobs > 1:
            first.wait(10)  # ends last
        if k == 4:
            first.set()

    work = prepared(units(5, play))
    counted: list[int] = []
    record = conduct(
        work,
        new_record(work, ("ludus",)),
        NO_HOOKS,
        jobs=jobs,
        over=lambda unit: counted.append(unit.matches),
    )
    assert numbers(record) == [0, 1, 2, 3, 4]
    assert record.complete
    assert counted == [3] * 5
    assert record.budget.matches == 0
    assert ">16.0<" in render(SquaresAnalysis, record)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_stop_keeps_whole_units_and_the_rest_follows(jobs: int) -> None:
    done: list[int] = []
    work = prepared(units(6, done.append))
    hooks = MatchHooks(should_stop=lambda: len(done) >= 3)
    part = conduct(work, new_record(work, ()), hooks, jobs=jobs)
    assert not part.complete
    assert len(part.lines) < 6
    kept = numbers(part)
    done.clear()
    whole = conduct(work, part, NO_HOOKS, jobs=jobs)
    assert numbers(whole) == list(range(6))
    assert set(done).isdisjoint(kept)  # nothing is made twice
    assert whole.budget.seconds >= part.budget.seconds


def test_records_are_saved_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAVE_EVERY_S", -1.0)
    work = prepared(units(3))
    saved: list[AnalysisRecord] = []
    conduct(work, new_record(work, ()), NO_HOOKS, save=saved.append)
    assert [len(record.lines) for record in saved] == [1, 2, 3, 3]
    assert [record.complete for record in saved] == [False, False, True, True]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_a_unit_ends_the_analysis(jobs: int) -> None:
    def play(k: int) -> None:
        if k == 1:
            raise ConfigError("no such player")

    work = prepared(units(3, play))
    saved: list[AnalysisRecord] = []
    with pytest.raises(ConfigError, match="no such player"):
        conduct(work, new_record(work, ()), NO_HOOKS, jobs=jobs, save=saved.append)
    if jobs == 1:
        assert numbers(saved[-1]) == [0]


def test_lines_of_units_that_are_none_are_left_out() -> None:
    work = prepared(units(2))
    other: Line = {UNIT: "other", "number": 9, "square": 81.0}
    start = new_record(work, ())
    record = conduct(work, msgspec.structs.replace(start, lines=(other,)), NO_HOOKS)
    assert numbers(record) == [0, 1]
