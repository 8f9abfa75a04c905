"""Leagues of thousands of frozen players: counted, what reading and rating them costs; never timed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ludus.flow.league import JournalRow, Tally
from ludus.league import strengths as strengths_module
from ludus.league.events import AnyEvent, Frozen, Joined, Results, to_row
from ludus.league.payoff import GROWTH, Payoff
from ludus.league.record import MAKE_PLAYERS, Record
from ludus.league.strengths import strengths
from ludus.reporting.run_view import RunView
from ludus.storage.journal import Journal

from .recorded import recorded_run

PLAYERS = 300


def events(players: int = PLAYERS) -> Iterator[AnyEvent]:
    """``main`` freezes after each round, in which it met seven others."""
    rng = random.Random(1)
    yield Joined("main", "learner", "main")
    yield Joined("random", "bot")
    yield Frozen("main", 0, "asked")
    for k in range(1, players):
        met = rng.sample(range(k), min(k, 6))
        tallies = [Tally("main", f"main:{j}", 0, "pfsp", rng.randrange(5), 1, 2) for j in met]
        yield Results("main", k - 1, 1000 * k, k, k, (*tallies, Tally("main", "random", 1, "bot", 4, 0, 1)))
        yield Frozen("main", k, "timeout")


@pytest.fixture(scope="module")
def rows() -> list[JournalRow]:
    return [to_row(event, number, 1e9 + number) for number, event in enumerate(events(), 1)]


def test_tables_of_known_size_are_never_copied(rows: list[JournalRow]) -> None:
    made = sum(row.kind in MAKE_PLAYERS for row in rows)
    known, unknown = Record().read(rows, made), Record().read(rows)
    assert known.league.standings.payoff.grown == 1
    assert unknown.league.standings.payoff.grown == int(np.ceil(np.log2(PLAYERS / GROWTH))) + 1
    everyone = np.arange(PLAYERS + 2)
    for player in (0, 1, 2, PLAYERS + 1):
        for name in ("rates", "matches"):
            one, other = (
                getattr(r.league.standings.payoff, name)(player, everyone) for r in (known, unknown)
            )
            np.testing.assert_array_equal(one, other)


def test_the_journal_of_a_run_holds_the_number_of_players(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "run", list(events(100)))
    with Journal.read(run.league) as journal:
        assert journal.count(*MAKE_PLAYERS) == 102
        assert journal.count("results") == 99
    record = RunView(run).league()
    assert (len(record.players), record.league.standings.payoff.grown) == (102, 1)


def test_a_result_is_in_one_place_and_an_heir_is_one_row() -> None:
    """Far places of a large table cost most: what changes is counted, whatever the number of players."""
    payoff = Payoff()
    payoff.reserve(PLAYERS)
    for _ in range(PLAYERS - 1):
        payoff.add(live=False)
    before = payoff._counts.copy(), payoff._recent.copy()
    payoff.record(7, 250, 3, 1, 2)
    changed = np.argwhere(
        (payoff._counts != before[0]).any(axis=-1) | (payoff._recent != before[1]).any(axis=-1)
    )
    assert changed.tolist() == [[250, 7]]
    before = payoff._counts.copy(), payoff._recent.copy()
    heir = payoff.add(live=False, parent=250)
    for new, old in zip((payoff._counts, payoff._recent), before, strict=True):
        assert set(np.argwhere(new != old)[:, 0].tolist()) <= {heir}
    assert payoff.rate(heir, 7) == pytest.approx(payoff.rate(250, 7), abs=0.2)


def test_many_entrants_are_rated_without_tables_and_alike(
    rows: list[JournalRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Record().read(rows[: 2 * 120])
    dense = strengths(record)
    monkeypatch.setattr(strengths_module, "MAX_DENSE", 50)

    def refused(*given: object) -> None:
        raise AssertionError("a table of all entrants")

    monkeypatch.setattr(strengths_module, "bradley_terry", refused)
    monkeypatch.setattr(Record, "points", refused)
    sparse = strengths(record)
    assert len(sparse.players) == len(dense.players) > 100
    for one, other in zip(sparse.players, dense.players, strict=True):
        assert (one.player, one.matches, one.rating is None) == (
            other.player,
            other.matches,
            other.rating is None,
        )
        if one.rating is not None and other.rating is not None:
            assert one.rating == pytest.approx(other.rating, abs=1e-3)
            assert one.error == pytest.approx(other.error, rel=1e-2, abs=1e-3)
            assert one.nash_rating == pytest.approx(other.nash_rating, abs=1e-2)
